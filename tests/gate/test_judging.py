"""Judging: both sides under today's judgments, paired by query, and what cannot be judged at all."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pytest_retrieval.gate.cells import Cell, declared, described, measures_of
from pytest_retrieval.gate.judging import judge, must_fallen
from pytest_retrieval.gate.pin import Pins
from pytest_retrieval.model.run import Reply, Run

from .conftest import GOLD, QUERIES, measures, run

WORDS, IDENTIFIER = Cell("bm25", "recall@2", "words"), Cell("bm25", "recall@2", "identifier")
ALL = Cell("bm25", "recall@2", "all")


def verdicts(goldset, pins, now):
    cells = sorted({*declared(goldset, measures_of(goldset)), *pins.cells})
    of_subject = measures(goldset)
    beside = described(goldset, "bm25", of_subject, cells)
    return judge(goldset, "bm25", of_subject, now, pins, cells, beside)


def test_the_same_rankings_hold_everywhere(make, pin):
    found = verdicts(make(), pin(make()), run())
    gated = {cell: verdict for cell, verdict in found.items() if not cell.stratum.startswith("slice")}
    assert {verdict.status for verdict in gated.values()} == {"held"}
    assert all(verdict.before == verdict.after == verdict.pinned for verdict in gated.values())
    assert found[WORDS].unchanged == 2


def test_a_fall_a_rise_and_their_numbers(make, pin):
    found = verdicts(make(), pin(make()), run(i1=["x"], w2=["e"]))
    fell, rose = found[IDENTIFIER], found[WORDS]
    assert (fell.status, fell.before, fell.after) == ("regressed", 1.0, 0.5)
    assert (fell.lost, fell.gained, fell.unchanged, fell.n) == (1, 0, 1, 2)
    assert [change.query_id for change in fell.changes] == ["i1"]
    assert (rose.status, rose.lost, rose.gained) == ("improved", 0, 1)
    assert (fell.overall.before, fell.overall.after, fell.overall.n) == (0.625, 0.625, 4)
    assert (fell.p, fell.smallest_p) == (0.5, 0.5)


def test_slices_are_described_and_never_fail(make, pin):
    found = verdicts(make(), pin(make()), run(w1=["x"]))
    of_slice = found[Cell("bm25", "recall@2", "slice:colour")]
    assert (of_slice.status, of_slice.before, of_slice.after) == ("described", 0.5, 0.0)


def test_queries_are_paired_by_id_and_not_by_position(make, pin):
    turned = Run({query_id: run()[query_id] for query_id in reversed(list(run()))}, "bm25")
    assert {v.status for c, v in verdicts(make(), pin(make()), turned).items() if c in (WORDS, ALL)} == {
        "held"
    }


def test_a_score_on_one_side_only_is_not_compared_and_says_of_which_measure(make, pin):
    """Nothing is returned, so nothing is judged or not: the summary has such notes of several measures."""
    goldset = make(subjects={"bm25": {"measures": ["recall@2", "judged@2"]}})
    found = verdicts(goldset, pin(goldset), run(w1=[]))
    note = "1 query has a score of judged@2 on one side only, not compared: w1"
    assert note in found[Cell("bm25", "judged@2", "words")].notes
    assert note not in found[WORDS].notes


def test_without_a_pin(make):
    found = verdicts(make(), Pins(), run())[WORDS]
    assert (found.status, found.after, found.n) == ("unpinned", 0.25, 2)
    assert found.pinned is None
    assert math.isnan(found.before)


def test_both_sides_are_scored_under_todays_judgments(make, pin):
    today = make(gold={**GOLD, "w2": {"x": 2}})
    found = verdicts(today, pin(make()), run())[WORDS]
    assert (found.status, found.pinned, found.before, found.after) == ("held", 0.25, 0.75, 0.75)
    assert found.gold_changed == 0.5
    assert found.best is None


def test_todays_strata_class_both_sides(make, pin):
    queries = [
        {**query, "stratum": "identifier" if query["query_id"] == "w2" else query["stratum"]}
        for query in QUERIES
    ]
    found = verdicts(make(queries), pin(make()), run())[IDENTIFIER]
    assert (found.status, found.n, found.pinned, found.before) == ("held", 3, 1.0, pytest.approx(2 / 3))


def test_new_queries_stay_out_of_the_pairs(make, pin):
    queries = [*QUERIES, {"query_id": "w3", "query": "rug", "stratum": "words"}]
    found = verdicts(make(queries, {**GOLD, "w3": {"a": 2}}), pin(make()), run(w3=[]))[WORDS]
    assert (found.status, found.n, found.counts.queries, found.counts.missing) == ("held", 2, 3, 1)
    assert any("w3" in note and "not pinned yet" in note for note in found.notes)


def test_a_reworded_query_is_a_new_one(make, pin):
    queries = [
        {**query, "query": query["query"] + "!"} if query["query_id"] == "w1" else query for query in QUERIES
    ]
    found = verdicts(make(queries), pin(make()), run(w1=["x"]))[WORDS]
    assert (found.status, found.n) == ("held", 1)
    assert any("w1" in note and "reworded" in note for note in found.notes)


def test_a_cell_without_pairs_is_an_error(make, pin):
    queries = [{**query, "query": query["query"] + "!"} for query in QUERIES]
    found = verdicts(make(queries), pin(make()), run())[WORDS]
    assert found.status == "error"
    assert "none of its queries was pinned as it is today" in found.message
    assert found.is_new


def test_what_is_pinned_and_no_longer_there_has_vanished(make, pin):
    pins = pin(make())
    queries = [{**query, "stratum": "other"} if query["stratum"] == "words" else query for query in QUERIES]
    found = verdicts(make(queries), pins, run())[WORDS]
    assert (found.status, found.pinned) == ("vanished", 0.25)
    assert "stratum words" in found.message
    found = verdicts(make(subjects={"bm25": {"measures": ["mrr@3"]}}), pins, run())[WORDS]
    assert "measure recall@2" in found.message


@pytest.mark.parametrize(
    "of_set, of_pin, status",
    [
        (0.0, None, "regressed"),
        (0.5, None, "held"),
        (0.49, None, "regressed"),
        (0.0, 0.5, "held"),
        (0.9, 0.1, "regressed"),
    ],
)
def test_the_tolerance_of_a_pin_goes_before_the_gold_sets(make, pin, of_set, of_pin, status):
    pins = pin(make())
    pins.cells[IDENTIFIER] = replace(pins.cells[IDENTIFIER], tolerance=of_pin)
    assert verdicts(make(tolerance=of_set), pins, run(i1=["x"]))[IDENTIFIER].status == status


def test_a_rule_that_can_never_fail_is_an_error(make, pin):
    pins = pin(make())
    pins.cells[IDENTIFIER] = replace(pins.cells[IDENTIFIER], rule="established")
    found = verdicts(make(), pins, run())[IDENTIFIER]
    assert found.status == "error"
    assert "rule = established can never fail here: 2 queries give a p of 0.25 at the least" in found.message


def test_under_the_rule_a_fall_must_be_established(make, pin):
    pins = pin(make())
    pins.cells[IDENTIFIER] = replace(pins.cells[IDENTIFIER], rule="established")
    assert verdicts(make(alpha=0.3), pins, run(i1=["x"]))[IDENTIFIER].status == "held"
    assert verdicts(make(alpha=0.3), pins, run(i1=["x"], i2=["x"]))[IDENTIFIER].status == "regressed"


def test_counts_of_what_stands_behind_a_mean(make, pin):
    now = Run({**run(), "w1": [("x", 1.0), ("c", 1.0), ("d", 1.0)], "w2": []}, "bm25")
    found = verdicts(make(), pin(make()), now)[WORDS]
    assert (found.counts.queries, found.counts.missing, found.counts.tied) == (2, 1, 1)
    assert (found.counts.unjudged, found.counts.results) == (1, 2)
    assert found.attainable == 1.0


def test_must_queries_that_fell_on_the_primary_measure(make, pin):
    queries = [{**query, "must": query["query_id"] in ("i1", "w1")} for query in QUERIES]
    goldset = make(queries)
    primary = measures(goldset)[0]
    assert must_fallen(goldset, "bm25", primary, run(), pin(goldset)) == ()
    (fallen,) = must_fallen(goldset, "bm25", primary, run(i1=["x"], i2=["x"]), pin(goldset))
    assert (fallen.query_id, fallen.before, fallen.after) == ("i1", 1.0, 0.0)
    assert must_fallen(goldset, "bm25", primary, run(w1=["c", "d"]), pin(goldset)) == ()
    assert must_fallen(goldset, "bm25", primary, run(i1=["x"]), Pins()) == ()


def test_too_little_judged_for_any_verdict(make, pin):
    """Of the words' four results in the window one is judged."""
    found = verdicts(make(min_judged=0.5), pin(make()), run())
    assert found[WORDS].status == "undecided"
    assert "mean judged@2 is 0.250, below min_judged = 0.5" in found[WORDS].message
    assert found[IDENTIFIER].status == "held"


def test_what_no_judgment_could_change_needs_none(make, pin):
    """Nothing that is shown or cited was judged: searches are counted, and citations found, all the same."""
    goldset = make(subjects={"rag": {"measures": ["searches", "grounded", "recall@2"]}}, min_judged=0.5)
    reply = Reply(shown=("x", "y"), cited=("x",), numbers={"searches": 2.0})
    now = Run(dict.fromkeys(GOLD, reply.shown), replies=dict.fromkeys(GOLD, (reply,)))
    of_subject = measures(goldset, "rag")
    cells = declared(goldset, {"rag": of_subject})
    found = judge(goldset, "rag", of_subject, now, pin(goldset, now, "rag"), cells)
    status = {measure: found[Cell("rag", measure, "words")].status for measure in ("searches", "grounded")}
    assert status == {"searches": "held", "grounded": "held"}
    assert found[Cell("rag", "recall@2", "words")].status == "undecided"


def test_a_red_that_ties_could_undo_is_undecided(make, pin):
    now = Run({**run(), "i1": [("x", 2.0), ("z", 1.0), ("a", 1.0)]}, "bm25")
    found = verdicts(make(), pin(make()), now)[IDENTIFIER]
    assert (found.status, found.flip.by_ties) == ("undecided", ("i1",))
    assert not found.passes


def test_answers_are_counted_by_what_they_cite(make, pin):
    """An exact share reads citations: of four, two were judged; a query without an answer is missing."""
    goldset = make(subjects={"rag": {"measures": ["exact_share", "recall@2"]}}, unjudged="unknown")
    answers = {
        "i1": Reply(shown=("a", "x", "y"), cited=("a",)),
        "i2": Reply(shown=(), cited=()),
        "w1": Reply(shown=("c", "x", "y"), cited=("c", "x", "y")),
    }
    now = Run({q: reply.shown for q, reply in answers.items()}, replies={q: (r,) for q, r in answers.items()})
    of_subject = measures(goldset, "rag")
    cells = declared(goldset, {"rag": of_subject})
    found = judge(goldset, "rag", of_subject, now, pin(goldset, now, "rag"), cells)
    share, recall = (found[Cell("rag", name, "all")] for name in ("exact_share", "recall@2"))
    assert (share.status, share.before, share.after) == ("held", (1 + 0 + 1 / 3 + 0) / 4, share.before)
    assert (share.counts.results, share.counts.unjudged, share.counts.missing) == (4, 2, 1)
    # A ranking is counted by its window, and one that is empty is missing too.
    assert (recall.counts.results, recall.counts.unjudged, recall.counts.missing) == (4, 2, 2)
