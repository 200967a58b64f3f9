"""The smallest drop that a test of so many queries would find four times out of five.

A gate that cannot see a drop should say so before it is trusted. The answer depends on how many queries
change at all, so the share assumed is part of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pytest_retrieval.errors import InputError
from pytest_retrieval.stats.seeding import bit_generator
from pytest_retrieval.stats.signflip import differences_iv
from pytest_retrieval.stats.thresholds import format_threshold, format_value, threshold_iv

__all__ = ["DetectableDrop", "detectable_drop"]

Floats = NDArray[np.float64]

_DATA_SETS = 2_000
_PATTERNS = 4_999
_LEAST_HITS = 20
_VALUES_AT_ONCE = 20_000_000
_MOST_SCORES = 4_000_000
_NORMAL_FROM = 400
_HALVINGS = 30


@dataclass(frozen=True, slots=True)
class DetectableDrop:
    """The smallest drop found with the power asked for, and what that assumes.

    Attributes
    ----------
    drop : float or None
        Drop of the mean, in the measure's unit, positive. None where no drop of any size is found often
        enough.
    n : int
        Queries.
    changed_share : float
        Share of the queries assumed to change at all, in [0, 1].
    alpha : float
        What the one-sided p must be below.
    power : float
        Chance of finding it, in (0, 1).
    exact : bool
        Whether every outcome was enumerated; otherwise data sets were simulated.
    """

    drop: float | None
    n: int
    changed_share: float
    alpha: float
    power: float
    exact: bool

    def __str__(self) -> str:
        what = "no drop of any size" if self.drop is None else f"a drop of {format_value(self.drop)}"
        return (
            f"{what} is found with {100 * self.power:.6g}% power (n = {self.n}, one-sided p below "
            f"{format_threshold(self.alpha)}, assuming "
            f"that {100 * self.changed_share:.3g}% of the queries change)"
        )


def detectable_drop(
    n: int,
    *,
    changed_share: float,
    threshold: float,
    two_sided: bool = False,
    sizes: ArrayLike | None = None,
    power: float = 0.8,
    seed: int = 0,
    name: str = "",
) -> DetectableDrop:
    """Return the smallest drop of the mean that the sign-flip test finds with a given power.

    Each query changes with chance `changed_share`; a changed one is a loss with a chance that follows from
    the drop.

    Parameters
    ----------
    n : int
        Queries, at least 1.
    changed_share : float
        Share of queries that change at all, in [0, 1]. No drop can be larger than this share of all sizes.
    threshold : float
        Threshold of the test, in (0, 1).
    two_sided : bool, optional
        False for the gate, whose rule is one-sided. True for a planned comparison: the p of each side must
        then be below threshold / 2.
    sizes : array_like of float, optional
        Sizes |d| by which queries change, as observed; zeros are ignored. None means a measure that is 0 or
        1.
    power : float, optional
        In (0, 1).
    seed, name : int and str, optional
        Used only where sizes differ and data sets are simulated.

    Returns
    -------
    DetectableDrop
        Enumerated where all sizes are equal: m ~ Bin(n, s) queries change and Bin(m, (s + drop) / 2s) of them
        are losses, for a share s and size 1. Otherwise simulated from 2,000 data sets (fewer beyond 2,000
        queries), with a standard error of about 0.01 in the power. The same data sets serve every drop, so
        the power rises with the drop without jitter. Where 400 queries or more change, the flipped total is
        taken to be normal.

    Raises
    ------
    InputError
        If an argument lies outside its range.

    Examples
    --------
    >>> print(detectable_drop(6, changed_share=0.3, threshold=0.05))  # doctest: +NORMALIZE_WHITESPACE
    no drop of any size is found with 80% power (n = 6, one-sided p below 0.05, assuming that 30% of the
    queries change)
    >>> round(detectable_drop(100, changed_share=0.3, threshold=0.05).drop, 3)
    0.141
    """
    threshold_iv(threshold)
    threshold_iv(power, "power")
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise InputError(f"n counts queries, so it must be a whole number of at least 1, got {n!r}")
    if not 0 <= changed_share <= 1:
        raise InputError(f"changed_share must lie between 0 and 1, got {changed_share!r}")
    alpha = threshold / 2 if two_sided else threshold
    magnitudes = np.ones(1) if sizes is None else np.abs(differences_iv(sizes))
    magnitudes = np.sort(magnitudes[magnitudes > 0])
    if changed_share == 0 or not len(magnitudes):
        return DetectableDrop(None, n, changed_share, alpha, power, True)
    exact = bool(magnitudes[0] == magnitudes[-1])
    if exact:
        found = _enumerated_power(n, changed_share, alpha)
    else:
        rng = np.random.Generator(bit_generator(seed, name))
        found = _simulated_power(n, changed_share, alpha, magnitudes, rng)
    loss_share = _smallest_reaching(found, power)
    largest = changed_share * math.fsum(magnitudes) / len(magnitudes)
    drop = None if loss_share is None else (2 * loss_share - 1) * largest
    return DetectableDrop(drop, n, changed_share, alpha, power, exact)


def _smallest_reaching(found: Callable[[float], float], power: float) -> float | None:
    """The smallest share of losses among changed queries, from a half to 1, that is found with this power."""
    low, high = 0.5, 1.0
    if found(high) < power:
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) >= power else (middle, high)
    return high


def _enumerated_power(n: int, changed_share: float, alpha: float) -> Callable[[float], float]:
    """Power by the share of losses, for sizes that are all equal."""
    from scipy.special import bdtrc, bdtrik, gammaln, xlog1py, xlogy

    changed = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(changed + 1) - gammaln(n - changed + 1)
    chances = np.exp(ways + xlogy(changed, changed_share) + xlog1py(n - changed, -changed_share))
    needed = np.zeros(n + 1)
    needed[1:] = np.maximum(np.ceil(bdtrik(1 - alpha, changed[1:], 0.5)) - 1, 0)  # at most a few too small
    while (short := bdtrc(needed - 1, changed, 0.5) >= alpha).any():
        needed[short] += 1

    def found(loss_share: float) -> float:
        return float(chances @ bdtrc(needed - 1, changed, loss_share))

    return found


def _simulated_power(
    n: int, changed_share: float, alpha: float, magnitudes: Floats, rng: np.random.Generator
) -> Callable[[float], float]:
    """Power by the share of losses, for sizes drawn from those observed.

    The sign patterns of a data set do not depend on which of its changes are losses, so each data set's
    critical value is found once.
    """
    data_sets = min(_DATA_SETS, max(_MOST_SCORES // n, 1))
    changed = rng.random((data_sets, n)) < changed_share
    sizes = np.where(changed, rng.choice(magnitudes, size=(data_sets, n)), 0.0)
    order = rng.random((data_sets, n))
    limit = _critical(sizes, alpha, rng, normal=n * changed_share >= _NORMAL_FROM)

    def found(loss_share: float) -> float:
        return float(np.mean(np.sum(np.where(order < loss_share, sizes, -sizes), axis=1) > limit))

    return found


def _critical(sizes: Floats, alpha: float, rng: np.random.Generator, *, normal: bool) -> Floats:
    """For each data set, the total loss above which the one-sided p is below `alpha`."""
    if normal:
        from scipy.special import ndtri

        spread: Floats = np.sqrt(np.sum(sizes**2, axis=1))
        return -float(ndtri(alpha)) * spread
    patterns = max(_PATTERNS, math.ceil(_LEAST_HITS / alpha) - 1)
    hits = math.ceil(alpha * (patterns + 1)) - 2  # the most for which (hits + 1) / (patterns + 1) < alpha
    signs = 2.0 * rng.integers(0, 2, size=(patterns, sizes.shape[1]), dtype=np.int8) - 1.0
    critical = np.empty(len(sizes))
    rows = max(1, _VALUES_AT_ONCE // patterns)
    for start in range(0, len(sizes), rows):
        sums = sizes[start : start + rows] @ signs.T
        critical[start : start + rows] = np.partition(sums, patterns - 1 - hits, axis=1)[
            :, patterns - 1 - hits
        ]
    critical += 1e-9 * sizes.sum(axis=1)
    return critical
