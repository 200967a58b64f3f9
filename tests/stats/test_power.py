"""The detectable drop against hand arithmetic and against simulating the gate's test itself."""

from math import comb

import numpy as np
import pytest

from pytest_retrieval.errors import InputError
from pytest_retrieval.stats.power import _critical, detectable_drop
from pytest_retrieval.stats.signflip import sign_flip


def power_by_hand(n, share, alpha, drop):
    """Power of the one-sided sign test in whole-number arithmetic, size 1."""
    loses = (share + drop) / (2 * share)
    power = 0.0
    for m in range(n + 1):
        changed = comb(n, m) * share**m * (1 - share) ** (n - m)
        for losses in range(m + 1):
            p = sum(comb(m, k) for k in range(losses, m + 1)) / 2**m
            if p < alpha:
                power += changed * comb(m, losses) * loses**losses * (1 - loses) ** (m - losses)
    return power


@pytest.mark.parametrize(
    "n, share, threshold",
    [(30, 0.3, 0.05), (30, 0.5, 0.0625), (60, 0.2, 0.025), (100, 1.0, 0.05), (12, 1.0, 2**-6)],
)
def test_enumerated_drop_has_the_power_asked_for(n, share, threshold):
    found = detectable_drop(n, changed_share=share, threshold=threshold)
    assert found.exact
    assert power_by_hand(n, share, threshold, found.drop) == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize("changed, found", [(4, False), (5, False), (6, True)])
def test_p_must_be_strictly_below_the_threshold(changed, found):
    # six changed queries are needed for p < 1/32; five give p = 1/32
    drop = detectable_drop(changed, changed_share=1.0, threshold=2**-5).drop
    assert (drop is not None) == found


def test_two_sided_halves_the_threshold():
    two_sided = detectable_drop(40, changed_share=0.5, threshold=0.05, two_sided=True)
    assert two_sided.drop == detectable_drop(40, changed_share=0.5, threshold=0.025).drop
    assert two_sided.alpha == 0.025


def test_equal_sizes_scale_the_drop():
    whole = detectable_drop(40, changed_share=0.5, threshold=0.05)
    half = detectable_drop(40, changed_share=0.5, threshold=0.05, sizes=[0.5, -0.5, 0.0])
    assert half.exact
    assert half.drop == pytest.approx(whole.drop / 2)


def test_simulated_drop_has_the_power_asked_for():
    rng = np.random.default_rng(0)
    sizes = rng.random(40).round(3)
    n, share, threshold = 40, 0.5, 0.05
    found = detectable_drop(n, changed_share=share, threshold=threshold, sizes=sizes)
    assert not found.exact
    loses = 0.5 + found.drop / (2 * share * sizes.mean())
    seen = 0
    for _ in range(400):
        magnitudes = rng.choice(sizes, size=rng.binomial(n, share))
        signs = np.where(rng.random(len(magnitudes)) < loses, -1, 1)
        seen += sign_flip(signs * magnitudes, alternative="less").p < threshold
    assert seen / 400 == pytest.approx(0.8, abs=0.08)


def test_simulation_knows_that_few_changes_prove_nothing():
    sizes = [0.1, 0.2, 0.35]
    assert detectable_drop(4, changed_share=1.0, threshold=0.05, sizes=sizes).drop is None
    assert detectable_drop(6, changed_share=1.0, threshold=0.05, sizes=sizes).drop is not None


def test_simulation_keeps_to_the_threshold():
    # the rarest pattern of five changes has p = 1/32, which no threshold of 3/128 is above
    assert detectable_drop(5, changed_share=1.0, threshold=3 / 128, sizes=[0.1, 0.2, 0.35]).drop is None
    assert detectable_drop(5, changed_share=1.0, threshold=5 / 128, sizes=[0.1, 0.2, 0.35]).drop is not None


def test_a_sum_equal_to_the_critical_one_is_not_beyond_it():
    rng = np.random.default_rng(1)
    sizes = rng.choice([0.1, 0.2, 0.3, 0.7], size=(500, 6))
    critical = _critical(sizes, 0.008, rng, normal=False)
    for order in range(6):  # added up in another order, the same sum differs in its last digits
        assert (np.roll(sizes, order, axis=1).cumsum(axis=1)[:, -1] <= critical).all()


def test_many_queries_are_taken_as_normal():
    sizes = np.linspace(0.1, 1, 50)
    few = detectable_drop(399, changed_share=1.0, threshold=0.05, sizes=sizes)
    many = detectable_drop(400, changed_share=1.0, threshold=0.05, sizes=sizes)
    assert many.drop == pytest.approx(few.drop, rel=0.05)


def test_same_seed_and_name_same_drop():
    arguments = {"changed_share": 0.5, "threshold": 0.05, "sizes": [0.1, 0.2, 0.7]}
    first = detectable_drop(30, name="a", **arguments)
    assert detectable_drop(30, name="a", **arguments) == first
    assert detectable_drop(30, name="b", **arguments).drop != first.drop


def test_no_drop_of_any_size_is_said():
    found = detectable_drop(30, changed_share=0.1, threshold=0.05)
    assert found.drop is None
    assert str(found).startswith(
        "no drop of any size is found with 80% power (n = 30, one-sided p below 0.05"
    )
    assert "assuming that 10% of the queries change" in str(found)
    assert detectable_drop(30, changed_share=0.0, threshold=0.05).drop is None
    assert detectable_drop(30, changed_share=0.5, threshold=0.05, sizes=[0.0]).drop is None


@pytest.mark.parametrize(
    "arguments",
    [{"n": 0}, {"n": 3.0}, {"changed_share": 1.1}, {"threshold": 0}, {"power": 1}, {"sizes": [np.nan]}],
)
def test_refused(arguments):
    with pytest.raises(InputError):
        detectable_drop(**({"n": 30, "changed_share": 0.5, "threshold": 0.05} | arguments))
