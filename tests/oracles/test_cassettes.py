"""Exchanges that went over the wire: OpenAI's and Anthropic's are read, the others are refused by name."""

from __future__ import annotations

import json

import pytest

from pytest_retrieval import InputError, trace_from_messages

COLLECTION = "pydantic_ai_cassettes"

# Per exchange with a model: the tools called in it and before it, as counted by reading the files.
READ = {
    "test_tool_search_eval_anthropic": [1, 2, 2, 1, 2, 3, 3, 1, 1, 1, 1],
    "test_tool_search_eval_openai-chat": [1, 2, 2, 1, 2, 2, 0, 0],
    "test_anthropic_web_search_tool": [1, 2],
    "test_pause_turn_web_search_vcr": [11, 15],
    "test_openai_responses_model_builtin_tools_web_search": [6],
    "test_openai_responses_model_web_search_tool": [1, 2],
    "test_openai_responses_model_file_search_tool": [1, 1],
}
REFUSED = {
    "test_google_model_file_search_grounding_gemini_3_True": "Google Gemini",
    "test_google_model_web_search_tool": "Google Gemini",
    "test_groq_model_web_search_tool": "Groq compound",
    "test_groq_web_search_tool_domain_filters": "Groq compound",
}
MODELS = ("/messages", "/responses", "/chat/completions", ":generateContent", ":streamGenerateContent")


@pytest.fixture(scope="module")
def exchanges(data):
    """Return file → its exchanges with a model; those that upload files and the like are left out."""
    return {
        path.stem: [
            one
            for one in json.loads(path.read_text(encoding="utf-8"))
            if one["path"].partition("?")[0].endswith(MODELS)
        ]
        for path in sorted(data.glob("*.json"))
    }


def test_every_file_is_accounted_for(exchanges):
    assert set(exchanges) == set(READ) | set(REFUSED)
    assert all(exchanges.values())


def made_in(node):
    """Return every call of a tool in an exchange, counted by the marks that the formats put on one."""
    if isinstance(node, list):
        return sum(map(made_in, node))
    if not isinstance(node, dict):
        return 0
    kind = node.get("type")
    own = kind in ("tool_use", "server_tool_use", "web_search_call", "file_search_call", "function_call")
    own = own or (kind == "function" and "arguments" in node.get("function", {}))
    return own + sum(made_in(part) for name, part in node.items() if name not in ("tools", "input_schema"))


@pytest.mark.parametrize("name", READ)
def test_calls_are_counted_in_every_exchange(exchanges, name):
    traces = [trace_from_messages(one, "q") for one in exchanges[name]]
    assert [len(trace.calls) for trace in traces] == READ[name]
    assert [made_in(one) for one in exchanges[name]] == READ[name]
    assert all(call.tool and not call.failed for trace in traces[-1:] for call in trace.calls)
    assert all(trace.request for trace in traces if trace.calls)


@pytest.mark.parametrize("name", REFUSED)
def test_other_providers_are_refused_by_name(exchanges, name):
    for one in exchanges[name]:
        with pytest.raises(InputError, match=f"this is a log of {REFUSED[name]}; OpenAI chat, OpenAI resp"):
            trace_from_messages(one, "q")


def test_an_exchange_that_uploads_a_file_is_no_log(data):
    everything = json.loads((data / "test_openai_responses_model_file_search_tool.json").read_text())
    for one in everything:
        if not one["path"].endswith("/responses"):
            with pytest.raises(InputError):
                trace_from_messages(one, "q")


def test_what_was_searched_and_found(exchanges):
    """Read off the files."""
    last = exchanges["test_openai_responses_model_web_search_tool"][0]
    call = trace_from_messages(last, "q").calls[0]
    (item,) = [item for item in last["response"]["output"] if item["type"] == "web_search_call"]
    assert call.arguments["query"] == item["action"]["query"] != ""
    files = exchanges["test_openai_responses_model_file_search_tool"][0]
    trace = trace_from_messages(files, "q", ids="file_id")
    (item,) = [item for item in files["response"]["output"] if item["type"] == "file_search_call"]
    assert trace.calls[0].arguments["query"] == item["queries"][0]
    assert trace.returned_ids == tuple(dict.fromkeys(hit["file_id"] for hit in item["results"] or ()))
    web = exchanges["test_anthropic_web_search_tool"][0]
    trace = trace_from_messages(web, "q", ids="url")
    (result,) = [one for one in web["response"]["content"] if one["type"] == "web_search_tool_result"]
    assert trace.returned_ids == tuple(hit["url"] for hit in result["content"])
    assert len(trace.returned_ids) == 10
    assert trace.message.startswith(web["response"]["content"][3]["text"])


def test_a_turn_that_was_paused_is_exhausted_until_it_goes_on(exchanges):
    paused, resumed = (trace_from_messages(one, "q") for one in exchanges["test_pause_turn_web_search_vcr"])
    assert (paused.outcome, resumed.outcome) == ("exhausted", "finished")
    assert paused.calls[-1].failed
    assert len(resumed.searches) == 15


def test_functions_with_their_answers(exchanges):
    """The last exchange of the first conversation holds both calls and what they returned."""
    for name in ("test_tool_search_eval_openai-chat", "test_tool_search_eval_anthropic"):
        trace = trace_from_messages(exchanges[name][2], "q")
        assert [call.tool for call in trace.calls] == ["search_tools", "get_exchange_rate"]
        assert trace.calls[1].arguments == {"from_currency": "USD", "to_currency": "EUR"}
        assert trace.calls[1].observation == "1 USD = 0.92 EUR"
        assert "0.92" in trace.message
        assert trace.outcome == "finished"
        unanswered = trace_from_messages(exchanges[name][1], "q")
        assert (unanswered.outcome, unanswered.calls[1].error) == (
            "failed",
            "the log ends before the tool answered",
        )
