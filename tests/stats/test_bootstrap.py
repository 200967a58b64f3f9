"""The percentile interval: reproducible, degenerate where it says nothing, and close to scipy's."""

import numpy as np
import pytest

from pytest_retrieval.errors import InputError
from pytest_retrieval.stats.bootstrap import bootstrap_interval

FIVE_LOSSES = [-0.2] * 5 + [0.0] * 25


@pytest.mark.parametrize("repeats", [1, 40], ids=["by index", "by count"])
def test_scipy_agrees(repeats):
    from scipy.stats import bootstrap

    differences = np.tile(np.random.default_rng(0).normal(0.1, 1, size=25).round(3), repeats)
    ours = bootstrap_interval(differences, level=0.9)
    theirs = bootstrap(
        (differences,), np.mean, confidence_level=0.9, n_resamples=20_000, method="percentile", rng=1
    ).confidence_interval
    error = differences.std() / np.sqrt(len(differences))
    assert ours.low == pytest.approx(theirs.low, abs=0.05 * error)
    assert ours.high == pytest.approx(theirs.high, abs=0.05 * error)


def test_five_losses_exclude_zero_though_nothing_can_be_established():
    # power-01: the trap that the permutation test does not fall into
    assert bootstrap_interval(FIVE_LOSSES, level=0.975).excludes_zero is True


def test_no_difference_is_a_point():
    # ci-01, same-01
    interval = bootstrap_interval([0.0] * 30)
    assert (interval.low, interval.high) == (0.0, 0.0)
    assert interval.degenerate
    assert interval.excludes_zero is None


def test_constant_difference_excludes_nothing():
    interval = bootstrap_interval([0.1] * 30)
    assert (interval.low, interval.high) == (0.1, 0.1)
    assert interval.excludes_zero is None


def test_order_does_not_matter_but_seed_and_name_do():
    rng = np.random.default_rng(3)
    differences = rng.normal(size=40)
    found = bootstrap_interval(differences, name="x")
    assert bootstrap_interval(rng.permutation(differences), name="x") == found
    assert bootstrap_interval(differences, name="y").low != found.low
    assert bootstrap_interval(differences, name="x", seed=1).low != found.low


def test_repeated_values_keep_their_mean():
    interval = bootstrap_interval([10.0] * 50 + [11.0] * 50)
    assert 10.25 < interval.low < 10.5 < interval.high < 10.75


def test_a_higher_level_is_wider():
    narrow, wide = bootstrap_interval(FIVE_LOSSES, level=0.5), bootstrap_interval(FIVE_LOSSES, level=0.99)
    assert wide.low < narrow.low < -1 / 30 < narrow.high < wide.high


@pytest.mark.parametrize(
    "differences, arguments",
    [
        ([], {}),
        ([np.nan], {}),
        ([0.1], {"level": 1.0}),
        ([0.1], {"level": 0}),
        ([0.1], {"resamples": 19_999}),
    ],
)
def test_refused(differences, arguments):
    with pytest.raises(InputError):
        bootstrap_interval(differences, **arguments)
