"""Text: numbers that differ look different, and a failure says what a reader needs next."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pytest_retrieval.gate.cells import Cell
from pytest_retrieval.gate.difference import Move, QueryChange
from pytest_retrieval.gate.verdict import Counts, Overall, Verdict
from pytest_retrieval.report.scorecard import CellRow, row_of
from pytest_retrieval.report.text import failure, number, numbers, table

CELL = Cell("bm25", "recall@5", "words")


def change(n, before=1.0, after=0.0, moves=()):
    return QueryChange(query_id=f"q{n}", text=f"text {n}", before=before, after=after, moves=tuple(moves))


def move(doc_id="d1", before=1, after=None, stages=None, grade=2):
    return Move(doc_id=doc_id, grade=grade, before=before, after=after, stages=stages or {})


def regressed(**changed):
    verdict = Verdict(
        cell=CELL, status="regressed", k=5, pinned=0.8, before=0.8, after=0.6, n=10, lost=2, gained=0,
        unchanged=8, changes=(change(1, moves=[move()]), change(2, 1.0, 0.5)), p=0.25, smallest_p=0.25,
        overall=Overall(0.5, 0.6, 40), best=0.8, attainable=1.0,
        counts=Counts(queries=10, results=50),
    )  # fmt: skip
    return replace(verdict, **changed)


def told(verdict, **options):
    return failure("store", verdict, **{"depth": 100, "reproduce": "test_x.py::test[a]", **options})


@pytest.mark.parametrize(
    "values, texts",
    [
        ((0.5, 0.5), ["0.500", "0.500"]),
        ((0.6444, 0.6441), ["0.6444", "0.6441"]),
        ((0.5, None, math.nan), ["0.500", "n/a", "n/a"]),
        ((1 / 3, 1 / 3 + 1e-9), ["0.333333333", "0.333333334"]),
        ((0.5, 0.5 + 1e-15), ["0.500000000000", "0.500000000000"]),
        ((), []),
    ],
)
def test_different_numbers_look_different(values, texts):
    assert numbers(*values) == texts


def test_a_number_that_is_none():
    assert [number(None), number(math.nan), number(0.0), number(2 / 3, 2)] == ["n/a", "n/a", "0.000", "0.67"]


@pytest.mark.parametrize(
    "returned, text",
    [
        ((100, 100), "d1 (exact)  rank 1 → not in 100"),
        ((100, 37), "d1 (exact)  rank 1 → not among the 37 returned"),
        ((3, 0), "d1 (exact)  rank 1 → nothing returned"),
        ((None, None), "d1 (exact)  rank 1 → not in 100"),
    ],
)
def test_a_document_is_not_in_more_than_was_returned(returned, text):
    verdict = regressed(changes=(replace(change(1, moves=[move()]), returned=returned),))
    assert text in told(verdict, grades={2: "exact"})


@pytest.mark.parametrize(
    "stratum, also",
    [
        ("words", "commit the pins)"),
        ("all", "commit the pins; it pins every ranking anew, and so every stratum)"),
        ("slice:x", "commit the pins; it pins the rankings of these queries anew, and so their strata)"),
    ],
)
def test_what_accepting_a_loss_pins_besides(stratum, also):
    assert told(regressed(cell=Cell("bm25", "recall@5", stratum))).endswith(also)


def test_one_query_is_one_query():
    text = told(regressed(n=1, overall=Overall(0.5, 0.4, 1)))
    assert "over 1 query: " in text
    assert "  the only query: 0.500 → 0.400" in text


def test_a_regression():
    lines = told(regressed()).splitlines()
    assert lines[0] == "store: bm25 · recall@5 · words is regressed"
    assert lines[1].startswith(
        "  0.800 → 0.600  (−0.200; tolerance 0) over 10 queries: 2 lost, 0 gained, 8 unch"
    )
    assert lines[2] == "  all 40 queries: 0.500 → 0.600 (the average hides this loss)"
    assert "lost, worst first:" in lines
    assert "  q1 “text 1”  1.000 → 0.000" in lines
    assert "      d1 (grade 2)  rank 1 → not in 100" in lines
    assert 'this cell alone:  pytest "test_x.py::test[a]"' in lines
    assert lines[-1].startswith('if the loss is meant:  pytest "test_x.py::test[a]" --retrieval-pin=all')


def test_an_average_that_falls_too_hides_nothing():
    text = told(regressed(overall=Overall(0.5, 0.4, 40)))
    assert "  all 40 queries: 0.500 → 0.400\n" in text
    assert "hides" not in text


def test_a_cell_over_all_queries_needs_no_line_on_all_queries():
    assert "queries: 0.500" not in told(regressed(cell=Cell("bm25", "recall@5", "all")))


def test_a_measure_where_lower_is_better():
    text = told(regressed(before=0.2, after=0.4, higher_is_better=False, overall=Overall(0.3, 0.2, 40)))
    assert "  0.200 → 0.400  (+0.200; tolerance 0)" in text
    assert "(the average hides this loss)" in text


def test_the_best_ever_pinned_is_told_where_the_pin_is_lower():
    assert "best ever pinned: 0.900" in told(regressed(best=0.9))
    assert "best ever" not in told(regressed())
    assert "best ever" not in told(regressed(best=None))


def test_grades_have_their_names():
    assert "d1 (exact)  rank 1" in told(regressed(), grades={2: "exact"})


def test_texts_may_be_kept_out():
    text = told(regressed(), show_text=False)
    assert "  q1  1.000 → 0.000" in text
    assert "text 1" not in text


def test_ten_queries_and_six_documents_are_shown_unless_all_are_asked_for():
    changes = tuple(change(n, moves=[move(f"d{m}") for m in range(8)]) for n in range(12))
    short, whole = told(regressed(changes=changes)), told(regressed(changes=changes), details=True)
    assert short.count("“text") == 10
    assert "  … and 2 more: --retrieval-details shows them" in short
    assert short.count("      … and 2 more documents moved") == 10
    assert whole.count("“text") == 12
    assert whole.count("not in 100") == 12 * 8
    assert "more" not in whole.partition("lost, worst first")[2].partition("The drop")[0]


def test_gained_queries_stand_apart_best_first():
    changes = (change(1), change(2, 0.0, 0.1), change(3, 0.0, 1.0))
    lines = told(regressed(changes=changes)).splitlines()
    place = lines.index("gained:")
    assert lines[place + 1 : place + 3] == ["  q3 “text 3”  0.000 → 1.000", "  q2 “text 2”  0.000 → 0.100"]


@pytest.mark.parametrize(
    "stages, text",
    [
        ({"lexical": 2, "fused": None}, "; last held by lexical (lexical 2, fused –)"),
        ({"lexical": None, "fused": None}, "; no stage holds it (lexical –, fused –)"),
        ({}, "rank 1 → not in 100\n"),
    ],
)
def test_the_stage_that_lost_a_document(stages, text):
    assert text in told(regressed(changes=(change(1, moves=[move(stages=stages)]),)))


@pytest.mark.parametrize(
    "after, then, now, text",
    [
        (None, {"a": 1, "b": 1}, {"a": None, "b": None}, "; lost by a (a 1 → –, b 1 → –)"),
        (9, {"a": 1, "b": 1}, {"b": 9}, "; lost by a (a 1 → no such stage, b 1 → 9)"),
        (
            6,
            {"a": 4, "b": 1},
            {"a": 4, "b": 6},
            "rank 1 → rank 6; found at depth 4, lost by b (a 4, b 1 → 6)",
        ),
        (5, {"a": 4, "b": 1}, {"a": 4, "b": 5}, "rank 1 → rank 5; pushed down by b (a 4, b 1 → 5)"),
        (6, {"a": 1}, {"a": 6, "new": 2}, "; lost by a (a 1 → 6, new 2)"),
    ],
)
def test_the_stage_that_lost_a_document_since_it_was_pinned(after, then, now, text):
    moved = Move(doc_id="d", grade=2, before=1, after=after, stages=now, stages_before=then)
    assert text in told(regressed(changes=(change(1, moves=[moved]),)))


def test_stages_are_summed_up_most_first():
    def moved(stage, after=None):
        stages = {"stages_before": {stage: 1}, "stages": {stage: after}}
        return Move(doc_id="d", grade=2, before=1, after=after, **stages)

    changes = (
        change(1, moves=[moved("lexical"), moved("fused", 8)]),
        change(2, moves=[moved("lexical"), moved("fused", 3)]),
        change(3, 0.0, 1.0, moves=[moved("gained")]),
    )
    lines = told(regressed(changes=changes)).splitlines()
    place = lines.index("lost by: lexical 2, fused 1")
    assert lines[place + 1] == "pushed down by: fused 1"


@pytest.mark.parametrize(
    "status, message, mend",
    [
        ("error", "bm25 raised", None),
        ("unpinned", "declared, and never pinned", "to pin what is new:  pytest --retrieval-pin=new"),
        ("vanished", "pinned, but gone", "if it is meant to go:  pytest"),
    ],
)
def test_what_has_no_numbers(status, message, mend):
    text = told(Verdict(cell=CELL, status=status, message=message))
    assert text.splitlines()[:2] == [f"store: bm25 · recall@5 · words is {status}", f"  {message}"]
    assert "→" not in text
    assert mend is None or mend in text


def test_notes_are_told():
    assert "\nnote: input changed\n" in told(regressed(notes=("input changed",)))


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
