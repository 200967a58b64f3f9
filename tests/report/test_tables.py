"""Tables of a session, and the rows that they are made of."""

from __future__ import annotations

from dataclasses import replace

from pytest_retrieval.gate.cells import Cell
from pytest_retrieval.gate.verdict import Counts, Verdict
from pytest_retrieval.report.scorecard import CellRow, row_of
from pytest_retrieval.report.tables import table

CELL = Cell("bm25", "recall@5", "words")


def regressed(**changed):
    verdict = Verdict(
        cell=CELL, status="regressed", k=5, pinned=0.8, before=0.8, after=0.6, n=10, lost=2, gained=0,
        unchanged=8, best=0.8, attainable=1.0, counts=Counts(queries=10, results=50),
    )  # fmt: skip
    return replace(verdict, **changed)


def row(**changed):
    return replace(row_of("store", regressed()), **changed)


def test_a_row_travels_as_plain_values():
    found = row_of("store", regressed(notes=("x",)))
    assert CellRow.from_plain(found.plain()) == found
    assert found.plain()["notes"] == ["x"]
    assert CellRow.from_plain({**found.plain(), "of a later version": 1}) == found
    assert row_of("store", regressed(), "pinned").status == "pinned"
    assert row_of("store", Verdict(cell=CELL, status="error")).after is None


def test_a_table_per_gold_set_and_subject():
    rows = [row(goldset=goldset, subject=subject) for goldset in "ba" for subject in "yx"]
    lines = table(rows)
    assert [line for line in lines if " · " in line] == ["a · x", "a · y", "b · x", "b · y"]
    assert lines[-1] == "4 cells: 4 regressed"
    assert table([]) == []


def test_measures_go_across_by_cutoff_and_strata_down():
    rows = [
        row(measure="mrr@10", k=10),
        row(measure="ndcg", k=None),
        row(),
        row(stratum="all"),
        row(stratum="a", status="held", after=0.8),
        row(stratum="slice:x", status="described"),
        row(stratum="b", status="described"),
    ]
    lines = table(rows)
    assert lines[1].split()[-3:] == ["recall@5", "mrr@10", "ndcg"]
    assert [line.split()[0] for line in lines[3:8]] == ["a", "words", "all", "(b)", "(slice:x)"]
    assert lines[1].startswith("stratum (not gated)")
    assert "0.800 → 0.600 regressed" in lines[4]
    assert lines[-1] == "5 cells: 1 held, 4 regressed"


def test_what_a_cell_shows():
    text = "\n".join(
        table(
            [
                row(stratum="a", status="held", before=0.6),
                row(stratum="b", status="error", after=None, before=None),
                row(stratum="c", status="described", after=None),
                row(stratum="d", status="held", before=None, attainable=0.7),
            ]
        )
    )
    assert "a           10  0.600\n" in text.replace("(c)", "c  ") or "0.600" in text
    assert "– error" in text
    assert "n/a" in text
    assert "0.600 (at most 0.700)" in text


def test_what_stands_behind_the_means_is_counted():
    rows = [
        row(stratum="a", undefined=1, missing=2, unjudged=30, tied=4),
        row(stratum="b", undefined=0, missing=1, unjudged=10, tied=0),
        row(stratum="all", undefined=1, missing=3, unjudged=40, tied=4, queries=20, results=100),
    ]
    lines = table(rows)
    assert "undefined: 1 of 20 queries have no score and stay out of the means (a 1)" in lines
    assert "missing: 3 of 20 queries got no results and score 0 (a 2, b 1)" in lines
    assert any(line.startswith("unjudged: 40 of 100 results in the recall@5 window") for line in lines)
    assert "tied: 4 of 20 queries have equal scores on both sides of the cutoff of recall@5 (a 4)" in lines
    without_all = table(rows[:2])
    assert "missing: 3 of 20 queries got no results and score 0 (a 2, b 1)" in without_all


def test_a_note_of_many_rows_is_told_once():
    rows = [row(stratum=name, notes=("input changed",)) for name in "abc"]
    assert table(rows).count("note: input changed") == 1
