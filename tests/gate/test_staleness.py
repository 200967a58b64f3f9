"""Staleness: what a recording was shown, held against what its retriever returns today."""

from __future__ import annotations

import pytest

from pytest_retrieval.gate.staleness import Drift, drift_of

THEN = {"answer 1": ["a", "b"], "answer 2": ["c", "d"], "answer 3": ["e"], "answer 4": []}


def drift(**changed):
    now = {**THEN, **{f"answer {name.removeprefix('a')}": ids for name, ids in changed.items()}}
    return drift_of("rag.bm25", "bm25", THEN, now)


def test_nothing_changed():
    found = drift()
    assert (found.checked, found.changed, found.reordered, found.share) == (4, (), (), 0)
    assert not found.is_stale(0)
    assert found.note == (
        "rag.bm25: 0 of 4 recorded contexts differ from what bm25 returns today, 0 only in order"
    )


def test_another_order_is_named_and_never_stale():
    found = drift(a1=["b", "a"], a2=["d", "c"])
    assert (found.changed, found.reordered) == ((), ("answer 1", "answer 2"))
    assert not found.is_stale(0)
    assert "2 of 4 recorded contexts differ" in found.note
    assert "2 only in order" in found.note


@pytest.mark.parametrize(
    "documents", [["a"], ["a", "b", "c"], ["a", "z"], []], ids=["fewer", "more", "another", "none"]
)
def test_other_documents_are_a_change(documents):
    found = drift(a1=documents)
    assert (found.changed, found.reordered) == (("answer 1",), ())
    assert found.share == 0.25


def test_what_was_empty_and_is_not():
    assert drift(a4=["a"]).changed == ("answer 4",)


def test_stale_is_more_than_allowed_strictly():
    found = drift(a1=["z"], a2=["d", "c"])
    assert found.is_stale(0)
    assert found.is_stale(0.24)
    assert not found.is_stale(0.25)
    assert found.message(0.1) == (
        "the recording is stale: 1 of 4 recorded contexts (25.0%; recording_drift allows 10.0%) are not what"
        " bm25 returns today: answer 1\nanswers to old contexts say nothing of today's search: record again"
        " (pytest-retrieval record), or take the change of the retriever back"
    )


def test_what_is_not_checked_is_not_stale_and_says_why():
    found = Drift("rag.random", unchecked="the manifest names no retriever for them")
    assert found.note == "rag.random: contexts not checked: the manifest names no retriever for them"
    assert (found.share, found.is_stale(0)) == (0, False)
