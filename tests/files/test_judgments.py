from __future__ import annotations

import math

import pytest

from pytest_retrieval.errors import Problem
from pytest_retrieval.files.judgments import Judgment, agreeing, whole_number


@pytest.mark.parametrize(
    "value, number",
    [
        (2, 2),
        ("2", 2),
        (-1, -1),
        ("-1", -1),
        (2.0, 2),
        ("2.0", 2),
        (2**53 - 1, 2**53 - 1),
        (2**53, None),
        (10**400, None),
        ("1_0", None),
        ("\u0663", None),
        ("0.5", None),
        (0.5, None),
        (math.nan, None),
        (math.inf, None),
        ("inf", None),
        ("x", None),
        ("", None),
        (True, None),
        (None, None),
        ([1], None),
    ],
)
def test_whole_numbers(value, number):
    assert whole_number(value) == number


def test_contradictions_name_both_places():
    problems: list[Problem] = []
    first = Judgment("q", "d", 1, "a", "one", 3)
    rest = [
        Judgment("q", "d", 1, "a", "one", 4),
        Judgment("q", "d", 0, "a", "one", 5),
        Judgment("q", "d", 1, "b", "two", 6),
        Judgment("p", "d", 0, "c", "two", 7),
    ]
    assert agreeing([first, *rest], problems) == {("q", "d"): first, ("p", "d"): rest[-1]}
    assert [str(problem) for problem in problems] == [
        "one:5: document 'd' of query 'q' has grade 0 here and grade 1 in line 3; keep one",
        "two:6: document 'd' of query 'q' is in group 'b' here and in group 'a' in one:3; a document belongs"
        " to one group",
    ]
