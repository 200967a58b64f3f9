"""A comparison's fields and its report, on public bug reports and on a report shape that people know."""

import math

import numpy as np
import pandas as pd
import pytest

from pytest_retrieval.errors import InputError, QueryMismatchError
from pytest_retrieval.stats import bonferroni, bootstrap_interval, sign_flip
from pytest_retrieval.stats.comparison import compare_scores


def scores(differences):
    """Two score vectors with these differences."""
    b = {f"q{i:02}": 0.5 for i in range(len(differences))}
    return {query: b[query] + d for query, d in zip(b, differences, strict=True)}, b


def compared(differences, **arguments):
    return compare_scores(*scores(differences), **arguments)


def lines(result):
    return dict(line.rsplit(": ", 1) for line in str(result).splitlines())


def test_nine_losses_are_established_and_not_better():
    # perm-01
    result = compared([-0.2] * 9 + [0.0] * 21, threshold=bonferroni(0.05, 2))
    assert result.permutation_p == 2 / 2**9
    assert (result.wins, result.losses, result.ties) == (0, 9, 21)
    assert result.established is True
    assert result.better is False
    assert "better: no, worse" in str(result)


def test_eight_losses_and_a_win_are_not_established():
    # perm-02
    result = compared([-0.2] * 8 + [0.2] + [0.0] * 21, threshold=0.025)
    assert result.permutation_p == 0.0390625
    assert result.mean_difference == pytest.approx(-0.0467, abs=5e-5)
    assert result.established is result.better is False
    assert result.decidable is True
    assert lines(result)["a over b, established at 0.025"] == "no"


def test_identical_systems():
    # same-01, ci-01
    result = compared([0.0] * 30, threshold=0.025, name="x")
    assert result.permutation_p == 1.0
    assert result.t_p is result.t_agrees is result.interval_agrees is None
    assert result.interval == (0.0, 0.0)
    assert result.interval_degenerate
    assert (result.wins, result.losses, result.ties) == (0, 0, 30)
    assert result.identical
    assert not result.decidable
    assert "x, established at 0.025: no, identical on every query" in str(result)
    assert "x, t-test p: n/a" in str(result)


def test_five_changed_queries_cannot_establish_anything():
    # power-01
    result = compared([-0.2] * 5 + [0.0] * 25, threshold=0.025, name="x")
    assert result.permutation_p == result.smallest_p == 0.0625
    assert result.t_p == pytest.approx(0.022608, abs=5e-7)
    assert result.changed == 5
    assert result.decidable is result.established is False
    assert result.interval[1] < 0
    assert result.t_agrees is result.interval_agrees is False
    assert "x, established at 0.025: cannot be established: 5 changed queries, 7 needed" in str(result)
    assert "the permutation p decides" in str(result)


def test_decidable_is_strict():
    assert not compared([-0.2] * 5 + [0.0] * 25, threshold=0.0625).decidable
    assert compared([-0.2] * 5 + [0.0] * 25, threshold=0.0626).decidable


def test_seed_name_and_threshold_reach_what_is_sampled():
    differences = np.random.default_rng(4).normal(0.2, 1, size=60)
    result = compared(differences, threshold=0.01, name="x", seed=3)
    interval = bootstrap_interval(differences, level=0.99, name="x", seed=3)
    assert result.permutation_p == sign_flip(differences, name="x", seed=3).p
    assert result.permutation_p != sign_flip(differences, name="x", seed=0).p
    assert result.permutation_p != sign_flip(differences, name="", seed=3).p
    assert result.interval == pytest.approx((interval.low, interval.high), abs=1e-9)


def test_one_changed_query_in_the_singular():
    assert "1 changed query, 6 needed" in str(compared([0.2] + [0.0] * 5))


def test_paired_not_pooled():
    # pair-01
    old = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    new = [0.85, 0.74, 0.66, 0.55, 0.44, 0.36, 0.25, 0.14]
    result = compare_scores(dict(zip("abcdefgh", new, strict=True)), dict(zip("abcdefgh", old, strict=True)))
    assert result.permutation_p == 0.0078125
    assert result.mean_difference == pytest.approx(-0.05125, abs=1e-12)


def test_float_noise_is_a_tie():
    # tie-tol-01
    result = compare_scores(pd.Series({"x": 0.3, "y": 0.5, "z": 0.6}), {"x": 0.1 + 0.2, "y": 0.5, "z": 0.7})
    assert (result.wins, result.losses, result.ties) == (0, 1, 2)


def test_two_sided_although_the_gate_is_one_sided():
    # sides-01
    result = compared([-0.1] * 6 + [0.0] * 24, threshold=0.025)
    assert result.permutation_p == 0.03125
    assert not result.established


@pytest.mark.parametrize("threshold, established", [(0.0390625, False), (0.0390626, True)])
def test_established_is_strict(threshold, established):
    assert compared([-0.2] * 8 + [0.2], threshold=threshold).established is established


def test_lower_is_better():
    better = compared([-0.2] * 9, higher_is_better=False)
    assert (better.wins, better.losses) == (9, 0)
    assert better.mean_difference == pytest.approx(-0.2)
    assert better.established
    assert better.better
    assert not compared([0.2] * 9, higher_is_better=False).better
    assert compared([0.2] * 9).better


def test_exploratory_is_never_established():
    result = compared([0.2] * 9, exploratory=True, name="x")
    assert result.permutation_p < result.threshold
    assert result.established is result.better is False
    assert "x, exploratory permutation p: 0.004" in str(result)
    assert "x, established at 0.05: never, exploratory (not planned)" in str(result)


def test_constant_difference_leaves_t_and_interval_out():
    result = compared([0.1] * 30)
    assert result.t_p is result.t_agrees is result.interval_agrees is None
    assert result.interval_degenerate
    assert result.better


def test_one_query():
    result = compared([0.3])
    assert result.permutation_p == 1.0
    assert result.t_p is None
    assert not result.decidable
    assert "cannot be established: 1 changed query, 6 needed" in str(result)


def test_undefined_queries_are_left_out_and_named():
    a, b = scores([0.1] * 8)
    result = compare_scores(a | {"q00": math.nan}, b | {"q03": None}, name="x")
    assert result.n == 6
    assert result.undefined == ("q00", "q03")
    assert "x, left out, undefined on a side: 2 (q00, q03)" in str(result)
    assert "x, compared: 6 of 8 queries" in str(result)


def test_ids_that_do_not_meet():
    with pytest.raises(QueryMismatchError, match="q9"):
        compare_scores({"q1": 0.5, "q9": 0.5}, {"q1": 0.5})


@pytest.mark.parametrize("a", [{}, {"q": math.nan}])
def test_nothing_to_compare(a):
    with pytest.raises(InputError, match="no query to compare"):
        compare_scores(a, dict.fromkeys(a, 0.5))


@pytest.mark.parametrize("threshold", [0, 1, -0.1, "0.05", math.nan])
def test_threshold_is_checked(threshold):
    with pytest.raises(InputError, match="threshold"):
        compared([0.1], threshold=threshold)


WINS_FOUR_LOSSES_FIVE = [0.6] * 2 + [0.33, 0.25] + [-0.4, -0.3, -0.2, -0.2, -0.1] + [0.0] * 21
WINS_FIVE_LOSSES_FOUR = [1 / 3] * 5 + [-1 / 3] * 4 + [0.0] * 21


@pytest.mark.parametrize(
    "name, differences, counts, p",
    [
        ("answers, semantic over bm25", WINS_FOUR_LOSSES_FIVE, "4, 5, 21", None),
        ("agent picks, semantic over bm25", WINS_FIVE_LOSSES_FOUR, "5, 4, 21", "1.000"),
    ],
)
def test_the_report_of_two_planned_comparisons(name, differences, counts, p):
    result = compared(differences, threshold=bonferroni(0.05, 2), name=name)
    assert result.n == 30
    low, high = result.interval
    expected = [
        f"{name}, compared: 30 queries",
        f"{name}, mean difference: {sum(differences) / 30:.3f}",
        f"{name}, wins, losses, ties: {counts}",
        f"{name}, permutation p: {p or f'{result.permutation_p:.3f}'}",
        f"{name}, established at 0.025: no",
        f"{name}, better: no",
        f"{name}, t-test p: {result.t_p:.3f}",
        f"{name}, t-test agrees: yes",
        f"{name}, 97.5% interval: {low:.3f} to {high:.3f}",
        f"{name}, interval agrees: yes",
    ]
    assert str(result).splitlines() == expected


def test_never_says_no_difference():
    for differences in ([0.0] * 9, [0.1] * 3, [0.1, -0.1] * 9, [0.1] * 9, [-0.2] * 5 + [0.0] * 25):
        said = str(compared(differences, by={f"q{i:02}": "s" for i in range(30)}))
        assert "no difference" not in said
        assert "no regression" not in said


def test_strata_are_exploratory_rows():
    differences = [0.2] * 20 + [-0.3] * 7 + [0.0] * 3
    by = {f"q{i:02}": "long" if i < 20 else "short" if i < 27 else "same" for i in range(30)}
    result = compared(differences, name="x", by=by)
    assert [row.name for row in result.strata] == ["x, long", "x, same", "x, short"]
    assert [row.n for row in result.strata] == [20, 3, 7]
    assert result.strata[2].permutation_p == 2 / 2**7
    assert all(row.exploratory and not row.established for row in result.strata)
    assert (
        "x, short, mean difference: -0.300; wins, losses, ties: 0, 7, 0; exploratory permutation p: 0.016"
        in str(result)
    )
    assert "x, same, mean difference: 0.000; wins, losses, ties: 0, 0, 3; identical on every query" in str(
        result
    )
    assert compared(differences, name="x").strata == ()


def test_every_query_needs_a_stratum():
    with pytest.raises(InputError, match="q01"):
        compared([0.1, 0.2], by={"q00": "s"})


def test_the_same_in_any_order():
    differences = np.random.default_rng(0).normal(0.1, 1, size=60)
    a, b = scores(differences)
    shuffled = {query: a[query] for query in np.random.default_rng(1).permutation(list(a)).tolist()}
    assert compare_scores(shuffled, b, name="x") == compare_scores(a, b, name="x")


def test_sampled_p_says_so():
    result = compared(np.random.default_rng(2).normal(0.1, 1, size=60), name="x", seed=3)
    assert not result.exact
    assert result.resamples == 99_999
    assert "x, sign patterns sampled: 99,999, seed 3" in str(result)
