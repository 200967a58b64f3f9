"""A recording's part as a run with replies: what is its ranking, what was shown, and which numbers it has."""

from __future__ import annotations

import pytest

from pytest_retrieval import Answer, Call, InputError, Recording, Run, Trace
from pytest_retrieval.answers.planted import Planted
from pytest_retrieval.answers.subjects import context_of, run_of, shown_then
from pytest_retrieval.model.run import Reply


def recording(**changed):
    return Recording(**{"name": "rag", "kind": "answers", **changed})


ANSWERS = (
    Answer("q1", "bm25", ["a", "b", "a"], ["b", "z"]),
    Answer("q1", "random", ["z"], []),
    Answer("q1", "bm25", ["b"], ["b"]),
    Answer("q2", "bm25", ["c"], []),
)


@pytest.mark.parametrize(
    "subject, context",
    [
        ("rag", ""),
        ("rag.bm25", "bm25"),
        ("rag.llama-3.1", "llama-3.1"),
        ("ragged.bm25", None),
        ("bm25", None),
    ],
)
def test_names(subject, context):
    assert context_of(recording(), subject) == context


def test_answers_rank_their_context_and_keep_every_reply():
    run = run_of(recording(answers=ANSWERS), "bm25")
    assert run.name == "rag.bm25"
    assert dict(run) == {"q1": ("a", "b"), "q2": ("c",)}
    assert run.replies["q1"] == (Reply(("a", "b", "a"), ("b", "z")), Reply(("b",), ("b",)))
    assert run_of(recording(answers=(Answer("q1", context_ids=["a"]),)), "").name == "rag"


def test_traces_rank_their_picks_and_count_their_calls():
    calls = [
        Call(tool="search", arguments={"query": "x"}, returned_ids=["a", "b"]),
        Call(tool="search", arguments={"query": "y"}, error="late"),
        Call(tool="stock", arguments={}, returned_ids=["c"]),
    ]
    traces = (Trace(query_id="q1", calls=calls, picks=["b", "b", "a"], outcome="exhausted"),)
    run = run_of(recording(kind="agent", traces=traces), "")
    (reply,) = run.replies["q1"]
    assert run["q1"] == ("b", "a")
    assert reply.shown == ("a", "b", "c")
    assert reply.picks
    assert reply.numbers == {"searches": 2, "steps": 3, "tool_errors": 1, "exhausted": 1}


def test_labels_go_to_the_reply_they_were_given_to():
    labels = {
        "faithful": {("q1", "bm25", 0): 1.0, ("q1", "bm25", 1): 0.0, ("q1", "random", 0): 0.5},
        "tone": {("q1", "bm25", 1): 3.0},
        "guess": {("q1", "bm25", 0): 1.0},
    }
    judged = recording(answers=ANSWERS, labels=labels, uncalibrated=frozenset({"guess"}))
    first, second = run_of(judged, "bm25").replies["q1"]
    assert first.numbers == {"label:faithful": 1.0}
    assert second.numbers == {"label:faithful": 0.0, "label:tone": 3.0}
    assert run_of(judged, "bm25").replies["q2"][0].numbers == {}


def test_planted_items_are_counted():
    planted = [Planted(doc_id="z", canary="OWL")]
    first, second = run_of(recording(answers=ANSWERS), "bm25", planted).replies["q1"]
    assert (first.numbers["planted_cited"], second.numbers["planted_cited"]) == (1, 0)


def test_a_recorded_run_is_itself():
    run = Run({"q1": ["a"]})
    assert run_of(recording(kind="run", run=run), "anything") is run


def test_a_context_that_is_not_there():
    with pytest.raises(InputError, match="rag has nothing under the context 'dense'; it has bm25, random"):
        run_of(recording(answers=ANSWERS), "dense")
    with pytest.raises(InputError, match="it has none"):
        run_of(recording(), "dense")


def test_what_was_shown_then():
    assert shown_then(recording(answers=ANSWERS), "bm25") == {
        "answer 1": ("q1", ("a", "b", "a")),
        "answer 3": ("q1", ("b",)),
        "answer 4": ("q2", ("c",)),
    }
    calls = [
        Call(tool="search", arguments={"query": "x"}, returned_ids=["a"]),
        Call(tool="stock", arguments={"id": "a"}, returned_ids=["a"]),
        Call(tool="search", arguments={"query": "y"}, error="late"),
        Call(tool="search", arguments={"query": "w"}),
    ]
    traces = (Trace(query_id="q0", context="other"), Trace(query_id="q1", context="bm25", calls=calls))
    assert shown_then(recording(kind="agent", traces=traces), "bm25") == {
        "trace 2, search 1": ("x", ("a",)),
        "trace 2, search 3": ("w", ()),
    }
