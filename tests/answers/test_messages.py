"""Logs of OpenAI and Anthropic: parallel calls, errors, truncated logs; others are refused by name."""

from __future__ import annotations

import json

import pytest

from pytest_retrieval import InputError, trace_from_messages


def call(name, arguments, number):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"c{number}", "type": "function", "function": function}


CHAT = [
    {"role": "system", "content": "You search."},
    {"role": "user", "content": "a blue sofa"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [call("search", {"query": "blue sofa"}, 1), call("search", {"query": "navy sofa"}, 2)],
    },
    {"role": "tool", "tool_call_id": "c2", "content": '[{"id": "F2"}]'},
    {"role": "tool", "tool_call_id": "c1", "content": '{"hits": [{"id": "F7", "near": {"id": "F9"}}]}'},
    {"role": "assistant", "content": "Take F7."},
]
ANTHROPIC = [
    {"role": "user", "content": [{"type": "text", "text": "a blue sofa"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "…", "signature": "x"},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "u1", "name": "search", "input": {"query": "blue sofa"}},
            {"type": "tool_use", "id": "u2", "name": "stock", "input": {"id": "F7"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "u1",
                "content": [{"type": "text", "text": '[{"id": "F7"}]'}],
            },
            {"type": "tool_result", "tool_use_id": "u2", "is_error": True, "content": "no such shop"},
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "Take "}, {"type": "text", "text": "F7."}]},
]
RESPONSES = {
    "request": {"input": "a blue sofa", "model": "m"},
    "response": {
        "status": "completed",
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "web_search_call", "id": "w1", "status": "completed",
             "action": {"type": "search", "query": "sofa"}},
            {"type": "file_search_call", "id": "f1", "status": "completed", "queries": ["blue"],
             "results": [{"file_id": "F7"}]},
            {"type": "function_call", "call_id": "c1", "name": "stock", "arguments": '{"id": "F7"}'},
            {"type": "function_call_output", "call_id": "c1", "output": '{"error": "closed"}'},
            {"type": "message", "role": "assistant",
             "content": [{"type": "output_text", "text": "Take F7."}]},
        ],
    },
}  # fmt: skip


def test_chat_with_parallel_calls_answered_in_another_order():
    trace = trace_from_messages(CHAT, "q1", ids="id", context="bm25", picks=["F7"])
    assert [call.arguments for call in trace.calls] == [{"query": "blue sofa"}, {"query": "navy sofa"}]
    assert [call.returned_ids for call in trace.calls] == [("F7", "F9"), ("F2",)]
    assert (trace.request, trace.message, trace.outcome) == ("a blue sofa", "Take F7.", "finished")
    assert (trace.context, trace.picks) == ("bm25", ("F7",))


def test_anthropic_with_an_error():
    trace = trace_from_messages(ANTHROPIC, "q1", ids="id")
    assert [(call.tool, call.error, call.returned_ids) for call in trace.calls] == [
        ("search", "", ("F7",)),
        ("stock", "no such shop", ()),
    ]
    assert (trace.request, trace.message) == ("a blue sofa", "Take F7.")


def test_responses_with_hosted_tools():
    trace = trace_from_messages(RESPONSES, "q1", ids="file_id")
    assert [(call.tool, dict(call.arguments), call.error) for call in trace.calls] == [
        ("web_search", {"query": "sofa"}, ""),
        ("file_search", {"query": "blue"}, ""),
        ("stock", {"id": "F7"}, "closed"),
    ]
    assert trace.returned_ids == ("F7",)
    assert len(trace.searches) == 2


def test_ids_by_a_function():
    trace = trace_from_messages(CHAT, "q1", ids=lambda found: [str(found)[:3]])
    assert trace.calls[1].returned_ids == ("[{'",)


@pytest.mark.parametrize("log", [CHAT[:4], ANTHROPIC[:2]])
def test_a_truncated_log_keeps_the_unanswered_call(log):
    trace = trace_from_messages(log, "q1")
    assert trace.outcome == "failed"
    assert "the log ends before the tool answered" in [call.error for call in trace.calls]


def test_a_reply_cut_short_by_the_provider():
    cut = {
        "response": {
            "choices": [{"finish_reason": "length", "message": {"role": "assistant", "content": "Ta"}}]
        }
    }
    assert trace_from_messages(cut, "q1").outcome == "exhausted"


def test_tokens_of_an_exchange():
    exchange = {
        "request": {"messages": CHAT[:2]},
        "response": {
            "choices": [{"message": CHAT[2], "finish_reason": "tool_calls"}],
            "usage": {"total_tokens": 70},
        },
    }
    assert trace_from_messages(exchange, "q1").tokens == 70


@pytest.mark.parametrize(
    "log, message",
    [
        ({"response": {"candidates": []}}, "a log of Google Gemini"),
        ([{"role": "model", "parts": [{"text": "x"}]}], "a log of Google Gemini"),
        ({"response": {"choices": [{"message": {"executed_tools": []}}]}}, "a log of Groq compound"),
        ({"response": {"id": 1}}, "of no format that can be read"),
        (
            [{"role": "tool", "tool_call_id": "c9", "content": "x"}],
            "answers the call 'c9', which it never made",
        ),
        ([{"role": "user", "content": [{"type": "hologram"}]}], "a block of type 'hologram'"),
        (["hello"], "a log holds messages"),
        ([], "the log holds no message"),
        ("hello", "a log is str"),
    ],
)
def test_what_is_refused(log, message):
    with pytest.raises(InputError, match=message):
        trace_from_messages(log, "q1")
