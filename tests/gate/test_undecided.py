"""Undecided: the fewest judgments, or the other order of equal scores, that would undo a red."""

from __future__ import annotations

import itertools

import pytest

from pytest_retrieval.gate.pin import evidence_of
from pytest_retrieval.gate.undecided import flip_of, mean_judged, reddening_of
from pytest_retrieval.measures.notation import parse
from pytest_retrieval.measures.table import evaluate
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Reply, Run

from .conftest import measures, run

RECALL = parse("recall@2")


def flip(goldset, now, queries, measure=RECALL, tolerance=0.0, of=flip_of):
    lines = evidence_of(goldset, run(), measures(goldset), goldset.gated_queries)
    qrels = goldset.qrels.select(queries)
    pinned = Run({query_id: lines[query_id].ranking for query_id in queries})
    was, is_now = (evaluate(qrels, side.select(queries), [measure]).values[:, 0] for side in (pinned, now))
    pairs = {q: (float(a), float(b)) for q, a, b in zip(queries, was, is_now, strict=True)}
    return of(goldset, measure, lines, now, pairs, tolerance)


def test_one_unjudged_result_in_the_place_of_the_lost_one(make):
    found = flip(make(unjudged="unknown"), run(i1=["y", "x"]), ["i1", "i2"], parse("success@2"))
    assert [(query, rank) for query, _, rank in found.documents] == [("i1", 1)]
    assert found.unjudged == 2
    assert found.predicted == pytest.approx(2 * 1 / 2)
    assert found.undecides


def test_where_only_positives_are_listed_nothing_is_unknown(make):
    found = flip(make(), run(i1=["y", "x"]), ["i1", "i2"], parse("success@2"))
    assert found.documents == ()
    assert not found.undecides


def test_judged_results_leave_nothing_open(make):
    goldset = make(
        gold={"i1": {"a": 2, "x": 0, "y": 0}, "i2": {"b": 2, "z": 0}},
        queries=QUERIES_OF_TWO,
        unjudged="unknown",
    )
    found = flip(goldset, run(i1=["y", "x"]).select(["i1", "i2"]), ["i1", "i2"])
    assert (found.documents, found.unjudged) == ((), 0)


QUERIES_OF_TWO = [
    {"query_id": "i1", "query": "HX-1", "stratum": "identifier"},
    {"query_id": "i2", "query": "HX-2", "stratum": "identifier"},
]


def test_a_document_of_both_rankings_lifts_both_sides_and_undoes_nothing(make):
    """The pinned ranking holds x too: a grade for it counts there as well."""
    found = flip(make(unjudged="unknown"), run(i1=["x"]), ["i1", "i2"], parse("precision@2"))
    assert (found.documents, found.unjudged) == ((), 1)


def test_the_search_finds_no_more_than_needed(make):
    """Against every set of judgments there is, for a mean over two queries."""
    goldset = make(unjudged="unknown")
    now = run(w1=["y", "z"], w2=["z", "a"])
    measure, queries = parse("precision@2"), ["w1", "w2"]
    found = flip(goldset, now, queries, measure)
    lines = evidence_of(goldset, run(), measures(goldset), queries)
    pinned = Run({query_id: lines[query_id].ranking for query_id in queries})
    unknown = [(q, d) for q in queries for d in now[q][:2] if d not in goldset.qrels[q]]

    def undone(chosen):
        judged = {q: {**goldset.qrels[q], **{d: 2 for of, d in chosen if of == q}} for q in queries}
        qrels = Qrels(judged, 2)
        was, is_now = (evaluate(qrels, side.select(queries), [measure]).mean() for side in (pinned, now))
        return is_now["precision@2"] >= was["precision@2"] - 1e-12

    sizes = [n for n in range(len(unknown) + 1) if any(map(undone, itertools.combinations(unknown, n)))]
    assert len(found.documents) == sizes[0] > 0
    assert undone([(query, doc) for query, doc, _ in found.documents])


def test_the_tolerance_is_part_of_what_is_held(make):
    goldset = make(unjudged="unknown")
    strict = flip(goldset, run(i1=["y", "x"], i2=["x", "y"]), ["i1", "i2"], parse("success@2"))
    lenient = flip(
        goldset, run(i1=["y", "x"], i2=["x", "y"]), ["i1", "i2"], parse("success@2"), tolerance=0.5
    )
    assert (len(strict.documents), len(lenient.documents)) == (2, 1)


def test_equal_scores_across_the_cutoff(make):
    now = Run({**run(), "i1": [("x", 2.0), ("z", 1.0), ("a", 1.0)]}, "bm25")
    found = flip(make(), now, ["i1", "i2"])
    assert found.by_ties == ("i1",)
    assert found.undecides


@pytest.mark.parametrize(
    "ranking",
    [
        [("x", 2.0), ("z", 1.5), ("a", 1.0)],
        [("x", 2.0), ("z", 1.0), ("y", 1.0)],
        ["x", "z", "a"],
    ],
    ids=["not equal", "nothing relevant among them", "no scores"],
)
def test_ties_that_would_undo_nothing(make, ranking):
    found = flip(make(), Run({**run(), "i1": ranking}, "bm25"), ["i1", "i2"])
    assert found.by_ties == ()


def test_a_measure_without_a_cutoff_has_no_ties_across_it(make):
    now = Run({**run(), "i1": [("x", 2.0), ("z", 1.0), ("a", 1.0)]}, "bm25")
    assert flip(make(), now, ["i1", "i2"], parse("mrr")).by_ties == ()


def reddening(goldset, now, queries, measure=RECALL, tolerance=0.0):
    return flip(goldset, now, queries, measure, tolerance, of=reddening_of)


def test_a_passing_cell_that_one_judgment_would_turn_red(make):
    """x stood at rank 2 for i1 and nobody judged it; today y does. Were x relevant, something was lost."""
    goldset = make(unjudged="unknown")
    found = reddening(goldset, run(i1=["a", "y"]), ["i1", "i2"])
    assert found.documents == (("i1", "x", 2),)
    assert (found.unjudged, found.predicted) == (1, 1.0)
    assert found.undecides


def test_the_fewest_judgments_that_turn_a_cell_red_are_found(make):
    """One query gained a whole document, so one more that two others lost is not enough at a tolerance."""
    goldset = make(unjudged="unknown")
    now = run(w1=["c", "y"], w2=["z", "a"])
    measure, queries = parse("precision@2"), ["w1", "w2"]
    found = reddening(goldset, now, queries, measure, tolerance=0.25)
    lines = evidence_of(goldset, run(), measures(goldset), queries)
    pinned = Run({query_id: lines[query_id].ranking for query_id in queries})
    unknown = [(q, d) for q in queries for d in pinned[q][:2] if d not in goldset.qrels[q]]

    def red(chosen):
        judged = {q: {**goldset.qrels[q], **{d: 2 for of, d in chosen if of == q}} for q in queries}
        was, is_now = (
            evaluate(Qrels(judged, 2), side.select(queries), [measure]).mean() for side in (pinned, now)
        )
        return was["precision@2"] - is_now["precision@2"] > 0.25 + 1e-12

    sizes = [n for n in range(len(unknown) + 1) if any(map(red, itertools.combinations(unknown, n)))]
    assert len(found.documents) == sizes[0] > 1
    assert red([(query, doc) for query, doc, _ in found.documents])


@pytest.mark.parametrize(
    "settings, now, measure",
    [
        ({"unjudged": "unknown"}, {}, "recall@2"),
        ({"unjudged": "unknown"}, {"i1": ["a", "x", "y"]}, "recall@2"),
        ({}, {"i1": ["a", "y"]}, "recall@2"),
        ({"unjudged": "unknown"}, {"i1": ["a", "y"]}, "success@2"),
        ({"unjudged": "unknown"}, {"i1": ["x", "a"]}, "recall@2"),
    ],
    ids=["same ranking", "same window", "unjudged is irrelevant", "nothing to lose", "another order"],
)
def test_what_no_judging_could_turn_red(make, settings, now, measure):
    assert reddening(make(**settings), run(**now), ["i1", "i2"], parse(measure)) is None


def test_the_share_that_is_judged(make):
    assert mean_judged(make(), RECALL, run(), ["i1", "i2"]) == 0.75
    assert mean_judged(make(), RECALL, run(), ["w1"]) == 0.5


# Answers: what an exact share rests on is what they cite, whatever else they were shown.

SHOWN = ("a", "x", "y", "u", "v")
ANSWERED = {"rag": {"measures": ["exact_share", "declined_wrongly", "grounded"]}}


def answered(goldset, then, now, name, tolerance=0.0, shown=SHOWN):
    """Return the flip of a measure of answers over i1 and i2, whose answers cite these documents."""
    queries = ["i1", "i2"]

    def run_of(cited):
        replies = {q: tuple(Reply(shown, of) for of in cited[q]) for q in queries}
        return Run(dict.fromkeys(queries, shown), "rag", replies=replies)

    measure = parse(name)
    lines = evidence_of(goldset, run_of(then), measures(goldset, "rag"), queries)
    qrels = goldset.qrels.select(queries)
    was, is_now = (evaluate(qrels, run_of(side), [measure]).values[:, 0] for side in (then, now))
    pairs = {q: (float(a), float(b)) for q, a, b in zip(queries, was, is_now, strict=True)}
    return flip_of(goldset, measure, lines, run_of(now), pairs, tolerance)


THEN = {"i1": [("a",)], "i2": [("b",)]}


def test_an_unjudged_citation_could_undo_a_red(make):
    """Where all judged citations of today are relevant, x is expected to be; where half are, it is not."""
    goldset = make(unjudged="unknown", subjects=ANSWERED)
    found = answered(goldset, THEN, {"i1": [("x",)], "i2": [("b",)]}, "exact_share")
    assert [(query, doc) for query, doc, _ in found.documents] == [("i1", "x")]
    assert (found.unjudged, found.predicted) == (1, 1.0)  # b alone is judged, and relevant
    assert found.undecides
    found = answered(goldset, THEN, {"i1": [("x",)], "i2": [("b", "z")]}, "exact_share", tolerance=0.25)
    assert (found.unjudged, found.predicted) == (1, 0.5)
    assert len(found.documents) == 1
    assert not found.undecides


def test_what_was_shown_and_not_cited_predicts_nothing(make):
    """Four more unjudged documents were shown to each; judging them would not move an exact share."""
    goldset = make(unjudged="unknown", subjects=ANSWERED)
    now = {"i1": [("x",)], "i2": [("b", "z", "a")]}
    few = answered(goldset, THEN, now, "exact_share", shown=("a", "x"))
    many = answered(goldset, THEN, now, "exact_share", shown=SHOWN)
    assert (few.unjudged, few.predicted) == (many.unjudged, many.predicted)
    assert few.unjudged == 2  # x, and a for i2


def test_a_document_cited_then_and_now_lifts_both_sides(make):
    goldset = make(unjudged="unknown", subjects=ANSWERED)
    found = answered(
        goldset, {"i1": [("a", "x")], "i2": [("b",)]}, {"i1": [("x",)], "i2": [()]}, "exact_share"
    )
    assert found.documents == ()
    assert not found.undecides


def test_replies_to_one_query_are_taken_together(make):
    """Judging x lifts one of two replies: half a step."""
    goldset = make(unjudged="unknown", subjects=ANSWERED)
    then = {"i1": [("a",), ("a",)], "i2": [("b",)]}
    found = answered(goldset, then, {"i1": [("x",), ("a",)], "i2": [("b",)]}, "exact_share")
    assert [(query, doc) for query, doc, _ in found.documents] == [("i1", "x")]
    assert answered(goldset, then, {"i1": [("x",), ()], "i2": [("b",)]}, "exact_share").documents == ()


@pytest.mark.parametrize("name", ["grounded", "declined_wrongly"])
def test_no_judging_could_undo_a_loss_of_grounding_or_a_refusal(make, name):
    goldset = make(unjudged="unknown", subjects=ANSWERED)
    found = answered(goldset, THEN, {"i1": [()], "i2": [("b", "nowhere")]}, name)
    assert found.documents == ()
    assert not found.undecides


def test_where_unjudged_is_irrelevant_no_citation_is_open(make):
    assert (
        answered(make(subjects=ANSWERED), THEN, {"i1": [("x",)], "i2": [("b",)]}, "exact_share").unjudged == 0
    )
