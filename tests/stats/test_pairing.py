"""Scores are joined by query id; what does not meet is named, never dropped in silence."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pytest_retrieval.errors import InputError, QueryMismatchError
from pytest_retrieval.stats.pairing import pair_scores


def test_joined_by_id_and_not_by_position():
    pairs = pair_scores(
        {"q2": 0.2, "q10": 0.5, "q1": 0.9}, pd.Series([0.1, 0.1, 0.1], index=["q1", "q2", "q10"])
    )
    assert pairs.query_ids == ("q1", "q10", "q2")
    assert pairs.a.tolist() == [0.9, 0.5, 0.2]
    assert pairs.differences.tolist() == [0.8, 0.4, 0.1]
    assert pairs.undefined == ()


def test_float_noise_ties():
    # tie-tol-01
    old = {"q1": 0.30000000000000004, "q2": 0.5, "q3": 0.7}
    new = {"q1": 0.3, "q2": 0.5, "q3": 0.6}
    assert pair_scores(new, old).differences.tolist() == [0.0, 0.0, -0.1]


def test_no_negative_zero():
    differences = pair_scores({"q": 0.3}, {"q": 0.1 + 0.2}).differences
    assert math.copysign(1, differences[0]) == 1


def test_undefined_scores_leave_the_pair_and_are_named():
    a = {"q1": math.nan, "q2": 0.5, "q3": 1.0, "q4": None}
    b = {"q1": 0.5, "q2": math.nan, "q3": 0.5, "q4": None}
    pairs = pair_scores(a, b)
    assert pairs.query_ids == ("q3",)
    assert pairs.undefined == ("q1", "q2", "q4")


def test_ids_that_do_not_meet_are_named_for_each_side():
    a = {f"a{i:02}": 0.0 for i in range(12)} | {"both": 0.0}
    with pytest.raises(QueryMismatchError) as caught:
        pair_scores(a, {"both": 0.0, "b1": 0.0})
    said = str(caught.value)
    assert "only a holds 12 (a00, a01," in said
    assert "a09 and 2 more" in said
    assert "a10" not in said
    assert "only b holds 1 (b1)" in said
    assert "both hold 1" in said


@pytest.mark.parametrize("a, b", [({"q": 0.0}, {"q": 0.0, "x": 0.0}), ({"q": 0.0, "x": 0.0}, {"q": 0.0})])
def test_more_queries_on_either_side_are_refused(a, b):
    with pytest.raises(QueryMismatchError, match=r"only [ab] holds 1 \(x\)"):
        pair_scores(a, b)


def test_a_query_of_nan_is_still_a_query():
    with pytest.raises(QueryMismatchError, match="q2"):
        pair_scores({"q1": 0.0, "q2": math.nan}, {"q1": 0.0})


def test_integer_ids_are_one_kind_of_id():
    pairs = pair_scores(pd.Series({7: 0.5, 30: 0.25}), {30: np.float32(0.25), 7: 1})
    assert pairs.query_ids == ("30", "7")
    assert pairs.differences.tolist() == [0.0, -0.5]


def test_other_numbers_are_numbers():
    assert pair_scores({"q": Fraction(1, 2)}, {"q": True}).differences.tolist() == [-0.5]


def test_the_input_is_left_as_it_was():
    a, b = {"q2": 1.0, "q1": math.nan}, {"q1": 0.0, "q2": 0.0}
    pair_scores(a, b)
    assert list(a) == ["q2", "q1"]
    assert list(b) == ["q1", "q2"]


@pytest.mark.parametrize(
    "scores, said",
    [
        (pd.Series([0.1, 0.2], index=["q", "q"]), "'q' more than once"),
        ({"q": math.inf}, "inf"),
        ({"q": -1e300}, "-1e.300"),
        ({"q": "0.5"}, "'0.5' for query 'q'"),
        ({"q": [0.5, 0.6]}, "for query 'q'"),
        ({"q": 0.1, 1: 0.2}, "integer, string"),
        ({("q", 1): 0.1}, "tuple"),
        ({True: 0.1}, "bool"),
        ([0.1, 0.2], "by position"),
    ],
)
@pytest.mark.parametrize("side", ["a", "b"])
def test_refused(scores, said, side):
    pair = (scores, {"q": 0.0}) if side == "a" else ({"q": 0.0}, scores)
    with pytest.raises(InputError, match=f"^{side} .*{said}"):
        pair_scores(*pair)
