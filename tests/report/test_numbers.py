"""Numbers that differ look different."""

from __future__ import annotations

import math

import pytest

from pytest_retrieval.report.numbers import number, numbers


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
