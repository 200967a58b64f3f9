"""Answers, calls and traces as values: what they hold, and what is none."""

from __future__ import annotations

import dataclasses

import pandas as pd
import pytest

from pytest_retrieval import Answer, Call, InputError, Recording, Trace
from pytest_retrieval.model.records import answers_from


def test_an_answer_keeps_repeats_and_tells_what_is_outside():
    answer = Answer("q1", "bm25", ["a", "b"], ["z", "a", "z", "b"])
    assert answer.cited_ids == ("z", "a", "z", "b")
    assert answer.distinct_cited == ("z", "a", "b")
    assert answer.outside == ("z",)
    with pytest.raises(dataclasses.FrozenInstanceError):
        answer.text = "other"
    assert hash(answer) == hash(Answer("q1", "bm25", ("a", "b"), ("z", "a", "z", "b")))


def test_what_was_passed_is_not_changed_and_not_kept():
    ids = ["a"]
    answer = Answer("q1", context_ids=ids)
    ids.append("b")
    assert answer.context_ids == ("a",)


@pytest.mark.parametrize(
    "arguments, told",
    [
        ({"query_id": ""}, "query_id of an answer is ''; a non-empty string is needed"),
        ({"query_id": 7}, "query_id of an answer is 7"),
        ({"query_id": "q", "context": None}, "context of the answer to 'q' is None; a string is needed"),
        ({"query_id": "q", "text": 1}, "text of the answer to 'q' is 1"),
        ({"query_id": "q", "cited_ids": "ab"}, "cited_ids of the answer to 'q' are 'ab'; a list of ids"),
        ({"query_id": "q", "cited_ids": {"a"}}, "a list of ids is needed"),
        ({"query_id": "q", "cited_ids": {"a": 1}}, "a list of ids is needed"),
        ({"query_id": "q", "cited_ids": None}, "are None; a list of ids is needed"),
        (
            {"query_id": "q", "context_ids": ["a", ""]},
            "context_ids of the answer to 'q' hold '', which is em",
        ),
        ({"query_id": "q", "context_ids": ["a", 7]}, "hold 7, which is of type int; ids are strings"),
        ({"query_id": "q", "latency": "1"}, "latency of the answer to 'q' is '1'; seconds are needed"),
        ({"query_id": "q", "latency": -0.5}, "is -0.5; seconds are needed"),
        ({"query_id": "q", "latency": float("nan")}, "is nan; seconds are needed"),
        ({"query_id": "q", "latency": float("inf")}, "is inf; seconds are needed"),
        ({"query_id": "q", "latency": True}, "is True; seconds are needed"),
        ({"query_id": "q", "scores": "12"}, "scores of the answer to 'q' are '12'; a list of numbers"),
        ({"query_id": "q", "scores": [True]}, "a list of numbers is needed"),
        ({"query_id": "q", "scores": [float("nan")]}, "a list of numbers is needed"),
        ({"query_id": "q", "scores": [None]}, "a list of numbers is needed"),
    ],
)
def test_answers_that_are_none(arguments, told):
    with pytest.raises(InputError) as error:
        Answer(**arguments)
    assert told in str(error.value)


@pytest.mark.parametrize(
    "make, told",
    [
        (lambda: Call(tool=""), "tool of a call is ''; a non-empty string is needed"),
        (lambda: Call(tool="a", arguments=["x"]), "arguments of the call of 'a' are ['x']; a mapping"),
        (lambda: Call(tool="a", error=None), "error of the call of 'a' is None"),
        (lambda: Call(tool="a", tokens=1.5), "tokens of the call of 'a' are 1.5; a whole number or None"),
        (lambda: Call(tool="a", tokens=True), "tokens of the call of 'a' are True"),
        (lambda: Call(tool="a", returned_ids="x"), "returned_ids of the call of 'a' are 'x'"),
        (lambda: Trace(query_id=""), "query_id of a trace is ''"),
        (lambda: Trace(query_id="q", outcome="won"), "allowed are finished, exhausted, failed"),
        (lambda: Trace(query_id="q", calls=[{"tool": "a"}]), "calls of the trace of 'q' hold something that"),
        (lambda: Trace(query_id="q", picks="a"), "picks of the trace of 'q' are 'a'"),
        (lambda: Trace(query_id="q", message=1), "message of the trace of 'q' is 1"),
        (lambda: Trace(query_id="q", latency=-1), "latency of the trace of 'q' is -1"),
    ],
)
def test_calls_and_traces_that_are_none(make, told):
    with pytest.raises(InputError) as error:
        make()
    assert told in str(error.value)


def test_a_trace_tells_its_searches_what_it_saw_and_spent():
    calls = [
        Call(tool="find", arguments={"query": "x"}, returned_ids=["b", "a"], tokens=10),
        Call(tool="find", arguments={"query": 7}, returned_ids=["c"]),
        Call(tool="other", arguments={"query": "y"}, returned_ids=["a", "d"], tokens=5, error="late"),
        Call(tool="stock", arguments={"id": "a"}),
    ]
    trace = Trace(query_id="q", calls=calls)
    assert [call.arguments["query"] for call in trace.searches] == ["x", "y"]
    assert trace.returned_ids == ("b", "a", "c", "d")
    assert trace.tokens == 15
    assert [call.failed for call in trace.calls] == [False, False, True, False]
    assert Trace(query_id="q", calls=calls[-1:]).tokens is None


def test_the_subjects_of_a_recording():
    answers = (Answer("q1", "bm25"), Answer("q1", "random"), Answer("q2", "bm25"))
    recording = Recording(name="rag", kind="answers", answers=answers)
    assert recording.subjects == ("rag.bm25", "rag.random")
    assert repr(recording) == "<Recording 'rag': 3 answers, contexts none>"
    plain = Recording(name="agent", kind="agent", traces=(Trace(query_id="q"),))
    assert plain.subjects == ("agent",)
    assert repr(plain) == "<Recording 'agent': 1 traces, contexts none>"


def test_answers_in_every_form():
    one = Answer("q1", "bm25", ["a"], ["a"], latency=1.0)
    line = {"query_id": "q1", "context": "bm25", "context_ids": ["a"], "cited_ids": ["a"], "latency": 1}
    frame = pd.DataFrame([line, {**line, "latency": None, "text": None}])
    recording = Recording(name="r", kind="answers", answers=(one,))
    assert answers_from(one) == answers_from([one]) == answers_from(line) == answers_from(recording) == (one,)
    without = Answer("q1", "bm25", ["a"], ["a"])
    assert answers_from(frame) == answers_from(frame.set_index("query_id")) == (one, without)
    assert answers_from(answer for answer in [one, line]) == (one, one)
    assert answers_from({**line, "colour": "red"}) == (one,)


@pytest.mark.parametrize(
    "value, told",
    [
        ("q1", "answers are 'q1'; a list of Answer, of mappings, or a DataFrame is needed"),
        (7, "answers are 7; a list"),
        ([7], "an answer is 7; an Answer or a mapping with query_id"),
        ([{"id": "q1"}], "an answer has no query_id; it has id"),
        ([{}], "an answer has no query_id; it has nothing"),
    ],
)
def test_what_holds_no_answers(value, told):
    with pytest.raises(InputError) as error:
        answers_from(value)
    assert told in str(error.value)
