"""Differences: which documents moved, and which stage lost them."""

from __future__ import annotations

import pytest

from pytest_retrieval.gate.difference import NOT_FOUND, Move, changes_of, worst_first
from pytest_retrieval.gate.pin import evidence_of
from pytest_retrieval.model import Run

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


@pytest.mark.parametrize("sign, order", [(1.0, ["c", "a", "b", "d"]), (-1.0, ["d", "a", "b", "c"])])
def test_the_worst_comes_first_then_the_id(sign, order):
    scores = {"d": (0.0, 1.0), "b": (0.5, 0.5), "a": (0.5, 0.5), "c": (1.0, 0.0)}
    assert list(worst_first(scores, sign)) == order
