"""The three ways to a tail of a random subset's sum agree with integer counting and with each other."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_retrieval.stats import subsets
from pytest_retrieval.stats.seeding import bit_generator
from pytest_retrieval.stats.subsets import enumerated_tail, group_sizes, lattice_tail, sampled_hits


def by_counting(units: list[int], limit: int) -> Fraction:
    """Share of the subsets of whole numbers that sum to the limit or more."""
    ways = {0: 1}
    for unit in units:
        grown = dict(ways)
        for total, count in ways.items():
            grown[total + unit] = grown.get(total + unit, 0) + count
        ways = grown
    return Fraction(sum(count for total, count in ways.items() if total >= limit), 2 ** len(units))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=40), st.sampled_from([1, 6, 60, 7]), st.data())
def test_both_exact_ways_count_without_rounding(units, denominator, data):
    limit = data.draw(st.integers(0, sum(units)))
    sizes = group_sizes(np.array(units) / denominator)
    expected = by_counting(units, limit)
    for tail in (enumerated_tail(sizes, limit / denominator), lattice_tail(sizes, limit / denominator)):
        assert tail is None or Fraction(tail) == expected
    assert lattice_tail(sizes, limit / denominator) is not None


@pytest.mark.parametrize("share", [0.5, 0.6, 0.7, 0.9])
def test_hundreds_of_queries_to_small_relative_error(share):
    units = np.random.default_rng(0).integers(1, 7, size=300).tolist()
    limit = int(share * sum(units))
    expected = float(by_counting(units, limit))
    sizes = group_sizes(np.array(units) / 7)
    assert enumerated_tail(sizes, limit / 7) is None or enumerated_tail(sizes, limit / 7) == pytest.approx(
        expected, rel=1e-10
    )
    assert lattice_tail(sizes, limit / 7) == pytest.approx(expected, rel=1e-11)


def test_enumeration_of_two_sizes_that_repeat_a_thousand_times():
    units = [2] * 1_000 + [3] * 1_000
    sizes = group_sizes(np.array(units) / 10)
    assert enumerated_tail(sizes, 270.0) == pytest.approx(float(by_counting(units, 2_700)), rel=1e-10)


@pytest.mark.parametrize("count", [2_000, 2_001])
def test_a_large_group_of_equal_sizes(count):
    sizes = group_sizes(np.full(count, 0.3))
    for limit in (count // 2, count // 2 + 1, count // 2 + 100, count - 500):
        expected = float(by_counting([1] * count, limit))
        assert enumerated_tail(sizes, 0.3 * limit) == pytest.approx(expected, rel=1e-11)


def test_equal_sizes_are_grouped_in_spite_of_float_noise():
    sizes = group_sizes(np.array([0.1 + 0.2, 0.3, 1 - 0.7, 0.5]))
    assert sizes.counts.tolist() == [3, 1]
    assert sizes.total == pytest.approx(1.4)


def test_sizes_apart_stay_apart():
    assert group_sizes(np.array([0.3, 0.3 + 1e-6])).counts.tolist() == [1, 1]


def test_no_sizes():
    sizes = group_sizes(np.array([]))
    assert len(sizes.values) == len(sizes.counts) == 0
    assert sizes.total == 0.0


def test_sums_equal_to_the_limit_count_as_reached():
    sizes = group_sizes(np.array([0.1] * 10))
    assert enumerated_tail(sizes, 0.1 + 0.2) == enumerated_tail(sizes, 0.3)
    assert lattice_tail(sizes, 0.1 + 0.2) == lattice_tail(sizes, 0.3) == float(by_counting([1] * 10, 3))


def test_enumeration_knows_its_bound():
    rng = np.random.default_rng(1)
    assert enumerated_tail(group_sizes(rng.random(43)), 10.0) is None
    assert enumerated_tail(group_sizes(rng.random(24)), 7.0) is not None


def test_no_lattice_in_reals_and_none_too_wide():
    sizes = np.random.default_rng(2).random(60)
    assert lattice_tail(group_sizes(sizes), 15.0) is None
    # reciprocal ranks up to 1,000 are rational, but their unit is far too small
    assert lattice_tail(group_sizes(1 / np.arange(1, 1_000)), 4.0) is None


def test_a_lattice_too_wide_to_walk_is_left_alone(monkeypatch):
    sizes = group_sizes(np.arange(1.0, 41.0))
    assert lattice_tail(sizes, 400.0) is not None
    monkeypatch.setattr(subsets, "MOST_STEPS", 8_000)  # the walk takes 40 * 820 / 4 additions
    assert lattice_tail(sizes, 400.0) is None


def test_no_lattice_in_whole_numbers_with_small_noise():
    rng = np.random.default_rng(4)
    whole = rng.integers(1, 6, size=1_000)
    assert lattice_tail(group_sizes(whole.astype(float)), 2_000.0) is not None
    assert lattice_tail(group_sizes(whole + 1e-6 * rng.random(1_000)), 2_000.0) is None


def test_lattice_of_many_scales():
    units = [3, 5, 5, 8, 13]
    for scale in (1e-6, 1.0, 1e6):
        assert lattice_tail(group_sizes(np.array(units) * scale), 20 * scale) == float(by_counting(units, 20))


@pytest.mark.parametrize("both", [False, True])
def test_sampling_agrees_with_counting(both):
    draws = 200_000
    sizes = group_sizes(np.random.default_rng(3).random(30))
    limit = 0.6 * sizes.total
    tail = enumerated_tail(sizes, limit)
    expected = tail * (2 if both else 1)
    hits = sampled_hits(sizes, limit, draws, bit_generator(0), both_tails=both)
    assert hits / draws == pytest.approx(expected, abs=5 * math.sqrt(expected / draws))


def test_sampling_draws_as_many_as_asked(monkeypatch):
    monkeypatch.setattr(subsets, "SAMPLES_AT_ONCE", 64)
    sizes = group_sizes(np.ones(70))
    for draws in (1, 63, 64, 65, 1_000):
        assert sampled_hits(sizes, 0.0, draws, bit_generator(0), both_tails=False) == draws


def test_sampled_signs_are_fair_and_independent():
    draws = 100_000
    sizes = group_sizes(2.0 ** np.arange(10))  # every subset has a sum of its own
    for limit in (1, 5, 512, 700, 1_023):
        expected = (1_024 - limit) / 1_024
        hits = sampled_hits(sizes, float(limit), draws, bit_generator(1), both_tails=False)
        assert hits / draws == pytest.approx(expected, abs=5 * math.sqrt(expected * (1 - expected) / draws))
