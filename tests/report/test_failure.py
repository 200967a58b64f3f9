"""A failure says what a reader needs next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_retrieval.gate.cells import Cell
from pytest_retrieval.gate.difference import Move, QueryChange
from pytest_retrieval.gate.verdict import Counts, Overall, Verdict
from pytest_retrieval.report.failure import failure

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


def test_too_little_judged_where_nothing_fell():
    """There is no loss to explain, to accept, or to hide, and no pin would mend it."""
    verdict = regressed(
        status="undecided", before=0.4, after=0.4, pinned=0.4, best=0.4, changes=(), lost=0, unchanged=10,
        overall=Overall(0.5, 0.5, 40), p=1.0, smallest_p=1.0,
        message="mean judged@5 is 0.058, below min_judged = 0.1",
    )  # fmt: skip
    assert told(verdict).splitlines() == [
        "store: bm25 · recall@5 · words is undecided",
        "  0.400 → 0.400  (tolerance 0) over 10 queries: 0 lost, 0 gained, 10 unchanged",
        "  all 40 queries: 0.500 → 0.500",
        "  mean judged@5 is 0.058, below min_judged = 0.1",
        "",
        'this cell alone:  pytest "test_x.py::test[a]"',
        "to decide it:  judge what it returns; no pin mends this, only a lower min_judged in goldset.toml",
    ]


def test_too_little_judged_where_it_rose():
    text = told(regressed(status="undecided", before=0.4, after=0.5, message="mean judged@5 is 0.1, below"))
    assert "  0.400 → 0.500  (+0.100; tolerance 0)" in text
    assert "hides" not in text


def test_signs_are_signs():
    text = told(regressed(pinned=0.9))
    assert "  pinned as 0.900: −0.1 by changed judgments, queries or strata, then −0.2 by the ranking" in text
