"""Logs of OpenAI and Anthropic: parallel calls, errors, truncated logs; others are refused by name."""

from __future__ import annotations

import contextlib
import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_a_request_a_response_and_exchanges_by_themselves():
    request, response = {"messages": CHAT[:5]}, {"choices": [{"message": CHAT[5]}]}
    whole = trace_from_messages({"request": request, "response": response}, "q1", ids="id")
    assert whole == trace_from_messages(CHAT, "q1", ids="id")
    assert len(trace_from_messages(request, "q1").calls) == 2
    assert trace_from_messages(response, "q1").message == "Take F7."
    # Of several exchanges the last one holds what went before.
    log = [{"request": {"messages": CHAT[:2]}, "response": None}, {"request": request, "response": response}]
    assert trace_from_messages(log, "q1", ids="id") == whole
    assert trace_from_messages({"input": "a sofa"}, "q1").request == "a sofa"
    message = {"role": "assistant", "content": [{"type": "text", "text": "Take F7."}], "usage": {}}
    assert trace_from_messages(message, "q1").message == "Take F7."


def test_functions_as_they_were_called_before_tools():
    log = [
        {"role": "user", "content": "a sofa"},
        {"role": "assistant", "function_call": {"name": "search", "arguments": '{"query": "sofa"}'}},
        {"role": "function", "name": "search", "content": '[{"id": "F7"}]'},
    ]
    trace = trace_from_messages(log, "q1", ids="id")
    assert [(c.tool, c.arguments, c.returned_ids) for c in trace.calls] == [
        ("search", {"query": "sofa"}, ("F7",))
    ]


def test_arguments_that_are_no_json_are_kept_as_they_are():
    broken = {"id": "c1", "function": {"name": "search", "arguments": '{"query": "so'}}
    free = {"id": "c2", "custom": {"name": "shell", "input": "ls"}}
    trace = trace_from_messages([{"role": "assistant", "tool_calls": [broken, free]}], "q1")
    assert [c.arguments for c in trace.calls] == [{"input": '{"query": "so'}, {"input": "ls"}]


def test_other_items_of_responses():
    output = [
        {"type": "mcp_list_tools", "tools": []},
        {"type": "custom_tool_call", "call_id": "c1", "name": "grep", "input": "sofa"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "F7"},
        {"type": "code_interpreter_call", "id": "i1", "status": "completed", "code": "1+1", "outputs": [2]},
        {"type": "mcp_call", "id": "m1", "name": "x", "arguments": '{"a": 1}', "error": "down",
         "status": "failed"},
        {"type": "computer_call", "call_id": "s1", "id": "s1", "status": "in_progress"},
        {"type": "web_search_call", "id": "w1", "status": "completed",
         "action": {"type": "search", "query": "sofa", "sources": [{"url": "u1"}]}},
        {"type": "file_search_call", "id": "f1", "status": "completed", "queries": ["a", "b"]},
    ]  # fmt: skip
    trace = trace_from_messages({"response": {"output": output, "status": "incomplete"}}, "q1", ids="url")
    assert [(c.tool, dict(c.arguments), c.observation, c.error) for c in trace.calls] == [
        ("grep", {"input": "sofa"}, "F7", ""),
        ("code_interpreter", {"code": "1+1"}, [2], ""),
        ("mcp", {"arguments": {"a": 1}}, None, "down"),
        ("computer", {}, None, "the log ends before the tool answered"),
        ("web_search", {"query": "sofa"}, [{"url": "u1"}], ""),
        ("file_search", {"queries": ["a", "b"]}, None, ""),
    ]
    assert trace.returned_ids == ("u1",)
    assert trace.outcome == "exhausted"


def test_errors_by_every_means_the_formats_have():
    def failed(answer):
        asked = {"role": "assistant", "tool_calls": [call("stock", {}, 1)]}
        (made,) = trace_from_messages([asked, {"role": "tool", "tool_call_id": "c1", **answer}], "q1").calls
        return made.error

    assert failed({"content": '{"error": {"message": "no such shop"}}'}) == "no such shop"
    assert failed({"content": '{"error": "closed", "code": 7}'}) == "closed"
    assert failed({"content": "gone", "is_error": True}) == "gone"
    assert failed({"content": "", "status": "failed", "error": "late"}) == "late"
    assert failed({"content": '{"error": "", "stock": 3}'}) == ""
    assert failed({"content": '{"error": "one of many", "a": 1, "b": 2}'}) == ""
    web = [
        {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "w",
         "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}},
    ]  # fmt: skip
    trace = trace_from_messages([{"role": "assistant", "content": web}], "q1")
    assert trace.calls[0].error == "max_uses_exceeded"


def test_tokens_of_anthropic_are_those_in_and_out():
    usage = {"input_tokens": 30, "output_tokens": 12}
    exchange = {"request": {"messages": ANTHROPIC[:1]}, "response": {**ANTHROPIC[1], "usage": usage}}
    trace = trace_from_messages(exchange, "q1")
    assert [c.tokens for c in trace.calls] == [42, None]
    assert trace_from_messages({"response": {**ANTHROPIC[1], "usage": {}}}, "q1").tokens is None


@pytest.mark.parametrize(
    "log, message",
    [
        ({"request": "x", "response": None}, "a request is 'x'; an object is needed"),
        ({"request": {"messages": {"role": "user"}}}, "the messages of a request are .*; a list is needed"),
        ({"request": {"input": 7}}, "the input of a request are 7; a list is needed"),
        ({"response": [1]}, r"a response is \[1\]; an object is needed"),
        ({"response": {"choices": ["x"]}}, "a choice of a response is 'x'"),
        ({"response": {"choices": [{"delta": {"content": "T"}}]}}, "a piece of a stream; join its pieces"),
        ({"response": {"choices": [{"index": 0}]}}, "the message of a choice is None; an object is needed"),
        ([{"role": "assistant", "tool_calls": "search"}], "the tool_calls of a message are 'search'"),
        ([{"role": "assistant", "tool_calls": ["search"]}], "a call of a message is 'search'"),
        ([{"role": "assistant", "content": ["text"]}], "a message of assistant holds 'text', which is no bl"),
        ({"response": {"model": "compound-beta", "choices": []}}, "a log of Groq compound"),
        ({"output": {"message": {"content": [{"toolUse": {}}]}}, "toolUse": 1}, "a log of Amazon Bedrock"),
    ],
)
def test_what_is_of_no_shape_is_refused_with_its_place(log, message):
    with pytest.raises(InputError, match=message):
        trace_from_messages(log, "q1")


def test_ids_that_say_nothing():
    with pytest.raises(InputError, match="ids is 7; the key that holds an id, or a function"):
        trace_from_messages(CHAT, "q1", ids=7)


def places(value, path=()):
    """Return the path of every value in nested JSON."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, part in parts for place in places(part, (*path, key)))]


@given(st.data())
def test_a_log_that_is_damaged_anywhere_is_read_or_refused(data):
    """One value of a log that is in order is replaced by any other: no traceback of ours."""
    exchange = {"request": {"messages": CHAT[:5]}, "response": {"choices": [{"message": CHAT[5]}]}}
    log = copy.deepcopy(data.draw(st.sampled_from([CHAT, ANTHROPIC, RESPONSES, exchange])))
    *way, last = data.draw(st.sampled_from([path for path in places(log) if path]))
    holder = log
    for key in way:
        holder = holder[key]
    odd = st.sampled_from([None, True, 7, "x", "[", "{}", [], [1], [[]], {}, {"a": 1}, [None], [{}]])
    holder[last] = data.draw(odd)
    with contextlib.suppress(InputError):
        assert trace_from_messages(log, "q1", ids="id").query_id == "q1"
