"""The sign-flip test against rational arithmetic, scipy, hand arithmetic and public bug reports."""

import itertools
import math
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_retrieval.errors import InputError
from pytest_retrieval.stats.signflip import ALTERNATIVES, changes_needed, sign_flip, smallest_p

THIRDS = [2 / 3, 2 / 3, 2 / 3, 1 / 3, 2 / 3, -1 / 3, 1 / 3]


def by_counting(differences: list[Fraction], alternative: str) -> Fraction:
    """Count all sign patterns in rational arithmetic."""
    observed = sum(differences)
    hits = 0
    for signs in itertools.product((1, -1), repeat=len(differences)):
        total = sum(sign * abs(d) for sign, d in zip(signs, differences, strict=True))
        hits += {
            "two-sided": abs(total) >= abs(observed),
            "greater": total >= observed,
            "less": total <= observed,
        }[alternative]
    return Fraction(hits, 2 ** len(differences))


@pytest.mark.parametrize(
    "case, differences, alternative, p",
    [
        ("perm-01", [-0.2] * 9 + [0.0] * 21, "two-sided", 2 / 2**9),
        ("perm-02", [-0.2] * 8 + [0.2] + [0.0] * 21, "two-sided", 20 / 512),
        ("perm-04", THIRDS, "two-sided", 0.0625),
        ("same-01", [0.0] * 30, "two-sided", 1.0),
        ("power-01", [-0.2] * 5 + [0.0] * 25, "two-sided", 0.0625),
        ("pair-01", [-0.05, -0.06, -0.04, -0.05, -0.06, -0.04, -0.05, -0.06], "two-sided", 1 / 128),
        ("sides-01", [-0.1] * 6 + [0.0] * 24, "less", 1 / 64),
        ("sides-01", [-0.1] * 6 + [0.0] * 24, "two-sided", 1 / 32),
        ("strata-01", [-0.4] * 6, "less", 1 / 64),
        ("one query", [0.3], "two-sided", 1.0),
        ("one query", [0.3], "greater", 0.5),
        ("one query", [0.3], "less", 1.0),
        ("balanced", [0.1, -0.1], "two-sided", 1.0),
        ("no queries", [], "two-sided", 1.0),
    ],
)
def test_known_p(case, differences, alternative, p):
    found = sign_flip(differences, alternative=alternative)
    assert found.p == p, case  # exact p-values carry no rounding: no approx here
    assert found.exact
    assert found.resamples == 0


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=9),
    st.sampled_from([3, 7, 12, 60]),
    st.sampled_from(ALTERNATIVES),
)
def test_lattice_differences_agree_with_rational_arithmetic(scores, denominator, alternative):
    in_floats = [a / denominator - b / denominator for a, b in scores]
    exactly = [Fraction(a - b, denominator) for a, b in scores]
    assert Fraction(sign_flip(in_floats, alternative=alternative).p) == by_counting(exactly, alternative)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-99_999, 99_999), max_size=9), st.sampled_from(ALTERNATIVES))
def test_arbitrary_differences_agree_with_rational_arithmetic(hundred_thousandths, alternative):
    in_floats = [units / 100_000 for units in hundred_thousandths]
    exactly = [Fraction(units, 100_000) for units in hundred_thousandths]
    assert Fraction(sign_flip(in_floats, alternative=alternative).p) == by_counting(exactly, alternative)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("seed", range(3))
def test_twelve_queries_agree_with_rational_arithmetic(seed, alternative):
    tenths = np.random.default_rng(seed).integers(-9, 10, size=12).tolist()
    assert Fraction(sign_flip(np.array(tenths) / 10, alternative=alternative).p) == by_counting(
        [Fraction(t, 10) for t in tenths], alternative
    )


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("seed", range(4))
def test_scipy_agrees_where_its_test_is_exact(seed, alternative):
    from scipy.stats import permutation_test

    differences = np.round(np.random.default_rng(seed).normal(0.2, 1, size=12), 6)
    oracle = permutation_test(
        (differences,), np.sum, permutation_type="samples", alternative=alternative, n_resamples=np.inf
    )
    assert sign_flip(differences, alternative=alternative).p == pytest.approx(oracle.pvalue, rel=1e-12)


def test_ties_do_not_change_p():
    differences = [0.3, -0.1, 0.2, 0.25]
    assert sign_flip(differences + [0.0] * 500).p == sign_flip(differences).p
    assert sign_flip([*differences, 4e-13, -4e-13]) == sign_flip(differences)


@pytest.mark.parametrize("n", [30, 60], ids=["exact", "sampled"])
def test_order_and_swapped_systems_do_not_change_p(n):
    rng = np.random.default_rng(5)
    differences = rng.normal(0.2, 1, size=n)
    found = sign_flip(differences, name="x")
    assert found.exact == (n == 30)
    assert sign_flip(rng.permutation(differences), name="x") == found
    assert sign_flip(-differences, name="x") == found
    less, greater = sign_flip(-differences, alternative="less"), sign_flip(differences, alternative="greater")
    assert less.p == greater.p


def test_seed_and_name_seed_what_is_sampled():
    differences = np.random.default_rng(6).normal(0.2, 1, size=60)
    found = {(seed, name): sign_flip(differences, seed=seed, name=name).p for seed in (0, 1) for name in "ab"}
    assert len(set(found.values())) > 1
    assert found == {(s, n): sign_flip(differences, seed=s, name=n).p for s, n in found}


def test_the_same_p_in_processes_with_different_hash_seeds():
    code = (
        "import numpy as np; from pytest_retrieval.stats import sign_flip, bootstrap_interval;"
        "d = np.random.default_rng(7).normal(0.2, 1, size=60);"
        "print(sign_flip(d, name='a over b').p, bootstrap_interval(d, name='a over b').low)"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1", "4242")
    }
    assert len(printed) == 1


def test_p_is_never_zero():
    sampled = sign_flip(1 + np.random.default_rng(12).random(100))
    assert not sampled.exact
    assert sampled.p == sampled.smallest_p == 1 / 100_000
    exact = sign_flip([-1.0] * 6_980)
    assert exact.exact
    assert exact.p > 0


def test_sampled_p_is_hits_plus_one():
    differences = np.random.default_rng(8).normal(0.3, 1, size=60)
    p = sign_flip(differences, resamples=999).p
    assert round(p * 1000, 9) == int(round(p * 1000, 9)) >= 1


def test_sampled_p_is_near_a_normal_tail():
    differences = np.random.default_rng(9).normal(0.02, 1, size=4_000)
    found = sign_flip(differences)
    z = abs(math.fsum(differences)) / math.sqrt(math.fsum(differences**2))
    expected = math.erfc(z / math.sqrt(2))
    assert not found.exact
    assert found.p == pytest.approx(expected, abs=5 * math.sqrt(expected / found.resamples) + 1e-3)


def test_balanced_differences_have_p_one_even_where_p_would_be_sampled():
    sizes = 1 + np.random.default_rng(13).random(60)
    found = sign_flip(np.concatenate([sizes, -sizes[::-1]]))
    assert found.exact
    assert found.p == 1.0


def test_forty_different_sizes_are_exact():
    found = sign_flip(np.random.default_rng(10).normal(0.3, 1, size=40))
    assert found.exact
    assert found.method == "enumeration"
    assert found.smallest_p == 2.0**-39


def test_thousands_of_queries_on_a_lattice_are_exact():
    sixths = np.random.default_rng(11).integers(-6, 7, size=3_000) / 6
    found = sign_flip(sixths)
    z = (abs(math.fsum(sixths)) - 1 / 6) / math.sqrt(math.fsum(sixths**2))  # sums lie 1/3 apart
    assert found.exact
    assert found.p == pytest.approx(math.erfc(z / math.sqrt(2)), abs=1e-4)


@pytest.mark.parametrize(
    "changed, alternative, p",
    [(0, "two-sided", 1.0), (1, "two-sided", 1.0), (5, "two-sided", 0.0625), (5, "less", 0.03125)],
)
def test_smallest_p(changed, alternative, p):
    assert smallest_p(changed, alternative) == p
    assert sign_flip([0.5] * changed, alternative="greater").smallest_p == smallest_p(changed, "greater")


@pytest.mark.parametrize(
    "threshold, alternative, changed",
    [
        (0.025, "two-sided", 7),
        (0.05, "two-sided", 6),
        (0.05, "less", 5),
        (0.0625, "two-sided", 6),
        (0.5, "less", 2),
    ],
)
def test_changes_needed_is_strict(threshold, alternative, changed):
    assert changes_needed(threshold, alternative) == changed
    assert smallest_p(changed, alternative) < threshold <= smallest_p(changed - 1, alternative)


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"differences": [0.1, math.nan]}, "NaN"),
        ({"differences": [0.1, -math.inf, 1e300]}, "2 values"),
        ({"differences": [[0.1], [0.2]]}, "one dimension"),
        ({"differences": ["x"]}, "numbers"),
        ({"differences": [0.1], "alternative": "both"}, "two-sided, less, greater"),
        ({"differences": [0.1], "resamples": 0}, "at least 1"),
        ({"differences": [0.1], "seed": 0.5}, "integer"),
    ],
)
def test_refused(arguments, said):
    with pytest.raises(InputError, match=said):
        sign_flip(**arguments)


@pytest.mark.parametrize(
    "call", [lambda: smallest_p(-1), lambda: changes_needed(0.0), lambda: changes_needed(5e-324)]
)
def test_impossible_plans_are_refused(call):
    with pytest.raises(InputError):
        call()
