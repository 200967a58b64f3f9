"""The one predicate: what is worse, by how much, and whether that fails."""

from __future__ import annotations

import math

import pytest

from pytest_retrieval.gate.cells import Cell
from pytest_retrieval.gate.verdict import (
    ERROR,
    HELD,
    IMPROVED,
    PASSING,
    REGRESSED,
    UNDECIDED,
    UNPINNED,
    VANISHED,
    Flip,
    Verdict,
    status_of,
    worse_by,
)


@pytest.mark.parametrize(
    "before, after, higher, expected",
    [
        (0.8, 0.7, True, 0.1),
        (0.7, 0.8, True, -0.1),
        (0.8, 0.7, False, -0.1),
        (0.1 + 0.2, 0.3, True, 0.0),
        (1.0, 1.0 - 1e-12, True, 1e-12),
        (1.0, 1.0 - 4e-13, True, 0.0),
    ],
)
def test_differences_are_rounded_to_twelve_decimals(before, after, higher, expected):
    assert worse_by(before, after, higher) == expected
    assert math.copysign(1, worse_by(before, before, higher)) == 1


@pytest.mark.parametrize(
    "worse, tolerance, status",
    [
        (0.0, 0.0, HELD),
        (1e-12, 0.0, REGRESSED),
        (-1e-12, 0.0, IMPROVED),
        (0.05, 0.05, HELD),
        (0.050000000001, 0.05, REGRESSED),
        (-0.5, 0.9, IMPROVED),
    ],
)
def test_the_predicate(worse, tolerance, status):
    assert status_of(worse, tolerance) == status


def test_a_fall_that_does_not_count_is_held():
    assert status_of(0.5, 0.1, counts=False) == HELD
    assert status_of(-0.5, 0.1, counts=False) == IMPROVED


def test_what_passes():
    assert {HELD, IMPROVED} == PASSING
    for status in (HELD, IMPROVED, REGRESSED, UNDECIDED, ERROR, UNPINNED, VANISHED):
        verdict = Verdict(cell=Cell("s", "recall@5", "all"), status=status)
        assert verdict.passes == (status in (HELD, IMPROVED))


def test_the_difference_is_split_in_two_that_add_up():
    verdict = Verdict(cell=Cell("s", "recall@5", "all"), status=REGRESSED, pinned=0.9, before=0.75, after=0.5)
    assert verdict.gold_changed == pytest.approx(-0.15)
    assert verdict.ranking_changed == -0.25
    assert verdict.gold_changed + verdict.ranking_changed == pytest.approx(0.5 - 0.9)


def test_without_a_pin_the_gold_changed_by_nothing_known():
    assert math.isnan(Verdict(cell=Cell("s", "recall@5", "all"), status=UNPINNED).gold_changed)


@pytest.mark.parametrize(
    "documents, predicted, by_ties, undecides",
    [
        (0, 5.0, (), False),
        (1, 1.0, (), True),
        (2, 1.9, (), False),
        (0, 0.0, ("q1",), True),
        (3, 0.0, ("q1",), True),
    ],
)
def test_a_red_rests_on_something_unknown(documents, predicted, by_ties, undecides):
    judged = tuple(("q", f"d{n}", n + 1) for n in range(documents))
    assert Flip(documents=judged, predicted=predicted, by_ties=by_ties).undecides == undecides
