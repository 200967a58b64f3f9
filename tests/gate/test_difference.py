"""Differences: which documents moved, and which stage lost them."""

from __future__ import annotations

import pytest

from pytest_retrieval.gate.difference import NOT_FOUND, Move, changes_of, worst_first
from pytest_retrieval.gate.pin import evidence_of
from pytest_retrieval.model.run import Run

from .conftest import measures, run


def changes(goldset, now, scores, level=2):
    lines = evidence_of(goldset, run(), measures(goldset), goldset.gated_queries)
    return changes_of(goldset, lines, now, scores, level)


def test_a_change_tells_query_scores_and_ranks(make):
    (change,) = changes(make(), run(w1=["x", "d"]), {"w1": (0.5, 0.0)})
    assert (change.query_id, change.text, change.before, change.after) == ("w1", "red lamp", 0.5, 0.0)
    assert [(move.doc_id, move.grade, move.before, move.after) for move in change.moves] == [
        ("c", 2, 1, None),
        ("d", 2, 3, 2),
    ]


def test_documents_below_the_level_and_those_that_stayed_are_left_out(make):
    (change,) = changes(make(), run(w1=["c", "a"]), {"w1": (0.5, 0.5)})
    assert [move.doc_id for move in change.moves] == ["d"]
    (change,) = changes(make(), run(w1=["c", "a"]), {"w1": (0.5, 0.5)}, level=1)
    assert [move.doc_id for move in change.moves] == ["d", "a"]


def test_a_query_that_is_no_longer_answered(make):
    (change,) = changes(make(), Run({"i1": ["a"]}), {"w2": (0.5, 0.0)})
    assert [(move.before, move.after) for move in change.moves] == [(3, None)]


def test_what_stood_highest_comes_first_then_what_stands_highest(make):
    goldset = make(
        gold={"i1": {"a": 2}, "i2": {"b": 2}, "w1": {"a": 2, "b": 2, "c": 2, "d": 2}, "w2": {"e": 2}}
    )
    (change,) = changes(goldset, run(w1=["b", "a", "d"]), {"w1": (1.0, 0.0)})
    assert [move.doc_id for move in change.moves] == ["c", "b", "a"]


@pytest.mark.parametrize(
    "stages, last",
    [
        ({}, None),
        ({"lexical": 3, "fused": None}, "lexical"),
        ({"lexical": 3, "dense": 1, "fused": None}, "dense"),
        ({"lexical": None, "fused": None}, NOT_FOUND),
        ({"lexical": None, "fused": 2}, "fused"),
    ],
)
def test_the_stage_that_held_it_last(stages, last):
    assert Move(doc_id="a", grade=2, before=1, after=None, stages=stages).last_held == last


def test_stages_tell_each_documents_rank(make):
    now = Run(
        {"i1": ["x"]},
        stages={"lexical": Run({"i1": ["x", "a"]}), "fused": Run({"i1": ["x"]}), "late": Run({})},
    )
    (change,) = changes(make(), now, {"i1": (1.0, 0.0)})
    assert dict(change.moves[0].stages) == {"lexical": 2, "fused": None, "late": None}


@pytest.mark.parametrize(
    "then, now, lost",
    [
        ({"lexical": 1, "fused": 1}, {"lexical": None, "fused": 9}, "lexical"),
        ({"lexical": 1, "fused": 1}, {"lexical": None, "fused": None}, "lexical"),
        ({"lexical": 1, "fused": 1}, {"fused": 9}, "lexical"),
        ({"lexical": None, "dense": 4, "fused": 1}, {"lexical": None, "dense": 4, "fused": None}, "fused"),
        ({"fused": 37, "reranked": 1}, {"fused": 38, "reranked": 50}, "reranked"),
        ({"fused": 3, "reranked": 1}, {"fused": 5, "reranked": 3}, "fused"),
        ({"fused": 1, "reranked": 1, "context": 1}, {"fused": 2, "reranked": 9, "context": None}, "reranked"),
        ({"fused": 1, "reranked": 1, "context": 1}, {"fused": 2, "reranked": 2, "context": None}, "context"),
        ({"fused": 3}, {"fused": 3}, None),
        ({}, {"fused": None}, None),
    ],
)
def test_the_stage_that_lost_it(then, now, lost):
    """The first that held it and does so no more, or not within the limit; else the largest fall."""
    moved = Move(doc_id="a", grade=2, before=1, after=9, stages=now, stages_before=then)
    assert moved.lost_by(5) == lost


@pytest.mark.parametrize(
    "then, now, lost, found",
    [
        # One leg fell, and fusion made up for it: the re-ranker lost it.
        (
            {"lexical": 2, "dense": 1, "fused": 1, "reranked": 1},
            {"lexical": 9, "dense": 1, "fused": 1, "reranked": 12},
            "reranked",
            1,
        ),
        (
            {"lexical": 2, "dense": 1, "fused": 1, "reranked": 1},
            {"lexical": None, "dense": 1, "fused": 1, "reranked": None},
            "reranked",
            1,
        ),
        # The other leg is no later step.
        ({"lexical": 1, "dense": 7, "fused": 1}, {"lexical": None, "dense": 7, "fused": 12}, "lexical", None),
        ({"lexical": 1, "dense": 7, "fused": 1}, {"lexical": 3, "dense": 8, "fused": 12}, "fused", 3),
        # Without a stage called fused any stage may be a leg.
        ({"one": 1, "two": 7, "both": 1}, {"one": None, "two": 7, "both": 12}, "one", None),
        ({"candidates": 4, "prompt": 1}, {"candidates": 50, "prompt": None}, "candidates", None),
        ({"candidates": 40, "prompt": 1}, {"candidates": 50, "prompt": None}, "prompt", 50),
    ],
)
def test_a_stage_that_others_made_up_for_lost_nothing(then, now, lost, found):
    moved = Move(doc_id="a", grade=2, before=1, after=None, stages=now, stages_before=then)
    assert moved.lost_by(5) == lost
    assert moved.found_at(lost) == found


@pytest.mark.parametrize("before, after", [(None, 3), (3, 1), (3, 3), (None, None)])
def test_what_did_not_fall_was_lost_by_no_stage(before, after):
    stages = {"stages_before": {"fused": 1}, "stages": {"fused": None}}
    assert Move(doc_id="a", grade=2, before=before, after=after, **stages).lost_by() is None


def test_pinned_stages_are_those_of_relevant_documents(make):
    goldset = make()
    staged = Run(run(), stages={"lexical": run(), "late": Run({})})
    lines = evidence_of(goldset, staged, measures(goldset), goldset.gated_queries)
    assert {doc for line in lines.values() for doc in line.stages["lexical"]} <= {
        doc for query in goldset.gated_queries for doc in goldset.qrels.relevant(query)
    }
    assert dict(lines["w1"].stages) == {"lexical": {"c": 1, "d": 3}, "late": {}}
    (change,) = changes_of(goldset, lines, run(w1=["x", "d"]), {"w1": (0.5, 0.0)}, 2)
    assert [move.lost_by() for move in change.moves] == ["lexical", None]


@pytest.mark.parametrize("sign, order", [(1.0, ["c", "a", "b", "d"]), (-1.0, ["d", "a", "b", "c"])])
def test_the_worst_comes_first_then_the_id(sign, order):
    scores = {"d": (0.0, 1.0), "b": (0.5, 0.5), "a": (0.5, 0.5), "c": (1.0, 0.0)}
    assert list(worst_first(scores, sign)) == order
