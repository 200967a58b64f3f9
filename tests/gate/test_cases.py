"""Small inputs from public bug reports, judged by the gate; each test names its case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_retrieval.gate.cells import Cell
from pytest_retrieval.gate.judging import judge
from pytest_retrieval.gate.pin import ESTABLISHED, Pins
from pytest_retrieval.model.run import Run
from pytest_retrieval.stats.compare import compare

from .conftest import measures

DOCUMENTS = "abcdefghijvwxyz"
NOTHING = list("vwxyz")


def queries(**strata):
    """Return so many queries of each stratum."""
    return [
        {"query_id": f"{stratum}{number:02}", "query": f"{stratum} {number}", "stratum": stratum}
        for stratum, count in strata.items()
        for number in range(count)
    ]


def found(goldset, documents, counts):
    """Return a run that finds so many of each query's documents, and then others."""
    return Run(
        {q: [*documents[: counts(number, q)], *NOTHING] for number, q in enumerate(goldset.gated_queries)}
    )


def test_gold_03_a_pin_is_comparable_under_the_same_judgments_only(make, pin):
    """Five relevant documents, four of them found: 0.8. Then one of the four turns out irrelevant: 0.6."""
    subjects = {"bm25": {"measures": ["recall@5"]}}
    asked = queries(words=1)
    ranking = Run({"words00": ["a", "b", "c", "d", "x"]})
    before = make(asked, {"words00": dict.fromkeys("abcde", 2)}, DOCUMENTS, subjects=subjects)
    pins = pin(before, ranking)
    cell = Cell("bm25", "recall@5", "words")
    assert pins.cells[cell].value == 0.8
    today = make(asked, {"words00": {**dict.fromkeys("abcef", 2), "d": 0}}, DOCUMENTS, subjects=subjects)
    verdict = judge(today, "bm25", measures(today), ranking, pins, [cell])[cell]
    assert verdict.status == "held"
    assert (verdict.pinned, verdict.before, verdict.after) == (0.8, 0.6, 0.6)
    assert verdict.gold_changed == pytest.approx(-0.2, abs=1e-12)
    assert verdict.ranking_changed == 0.0
    without = judge(today, "bm25", measures(today), ranking, Pins(pins.cells), [cell])[cell]
    assert without.status == "error"
    assert without.message == (
        "the pin has no evidence that could be scored under today's judgments: pin it again"
    )


def test_strata_01_a_stratum_that_halves_while_the_mean_rises(make, pin):
    goldset = make(
        queries(multi_hop=6, single_hop=24),
        {query["query_id"]: dict.fromkeys("abcde", 2) for query in queries(multi_hop=6, single_hop=24)},
        DOCUMENTS,
        subjects={"bm25": {"measures": ["recall@5"]}},
    )
    old = found(goldset, "abcde", lambda number, q: 4 if q.startswith("multi") else 3 + number % 2)
    new = found(goldset, "abcde", lambda number, q: 2 if q.startswith("multi") else 4 + (number % 4 == 0))
    cells = {name: Cell("bm25", "recall@5", name) for name in ("all", "single_hop", "multi_hop")}
    verdicts = judge(goldset, "bm25", measures(goldset), new, pin(goldset, old), list(cells.values()))
    told = {name: verdicts[cell] for name, cell in cells.items()}
    assert {name: verdict.status for name, verdict in told.items()} == {
        "all": "improved",
        "single_hop": "improved",
        "multi_hop": "regressed",
    }
    assert (told["all"].before, told["all"].after) == (pytest.approx(0.72), pytest.approx(0.76))
    assert (told["single_hop"].before, told["single_hop"].after) == (pytest.approx(0.7), pytest.approx(0.85))
    assert (told["multi_hop"].before, told["multi_hop"].after) == (pytest.approx(0.8), pytest.approx(0.4))
    assert told["multi_hop"].overall.after - told["multi_hop"].overall.before == pytest.approx(0.04)
    assert told["multi_hop"].p == told["multi_hop"].smallest_p == 1 / 64


def test_sides_01_the_gate_is_one_sided_and_a_planned_comparison_two_sided(make, pin):
    goldset = make(
        queries(words=30),
        {query["query_id"]: dict.fromkeys("abcdefghij", 2) for query in queries(words=30)},
        DOCUMENTS,
        subjects={"bm25": {"measures": ["recall@10"]}},
    )
    old = found(goldset, "abcdefghij", lambda number, q: 5)
    new = found(goldset, "abcdefghij", lambda number, q: 4 if number < 6 else 5)
    pins = pin(goldset, old)
    statistical = {cell: replace(one, rule=ESTABLISHED) for cell, one in pins.cells.items()}
    assert len(statistical) == 2
    cell = Cell("bm25", "recall@10", "words")
    pins = replace(pins, cells=statistical)
    verdict = judge(goldset, "bm25", measures(goldset), new, pins, [cell])[cell]
    assert (verdict.status, verdict.p) == ("regressed", 1 / 64)
    planned = compare(new, old, "recall@10", qrels=goldset.qrels, threshold=0.05 / 2)
    assert (planned.permutation_p, planned.established) == (1 / 32, False)
