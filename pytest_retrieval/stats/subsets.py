"""The sum of a random subset: the one distribution behind a sign-flip test.

Flipping the sign of every difference at random is choosing, for every size |d|, whether it counts as a gain.
With U the sum of the sizes so chosen, the flipped total is 2U - sum |d|; so every tail of the flipped total
is a tail of U. Three ways to that tail stand here, the first two exact: `enumerated_tail` meets in the
middle, `lattice_tail` adds one size after the other where all sizes are multiples of one unit, and
`sampled_hits` draws subsets.

All of them take sizes grouped by `group_sizes` and count a sum that lies within `slack` of the limit as
reached: the same sum, added up in another order, differs in its last digits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.random import PCG64
from numpy.typing import NDArray

__all__ = ["Sizes", "enumerated_tail", "group_sizes", "lattice_tail", "sampled_hits"]

Floats = NDArray[np.float64]

RELATIVE_SLACK = 1e-9
MOST_STATES = 2**21
"""Enumeration holds at most this many sums in each half: 42 sizes that all differ, far more where sizes
repeat."""
MOST_STEPS = 500_000_000
"""A lattice is walked with at most this many additions, about half a second."""
MOST_TOSSES = 1_000
"""Binomial weights of larger groups are computed in floats, to about 1e-13 of their value."""
SAMPLES_AT_ONCE = 8_192


class Sizes(NamedTuple):
    """Sizes of the changes, equal ones together, ascending.

    Attributes
    ----------
    values : ndarray of float64, shape (g,)
        The sizes that occur, positive, ascending.
    counts : ndarray of int64, shape (g,)
        How many queries changed by each size.
    total : float
        Sum of all sizes.
    slack : float
        Two sums closer than this are the same sum: 1e-9 of `total`.
    """

    values: Floats
    counts: NDArray[np.int64]
    total: float
    slack: float


def group_sizes(sizes: Floats) -> Sizes:
    """Group equal sizes, where sizes that differ by less than a tenth of the slack a query has are equal.

    Parameters
    ----------
    sizes : ndarray of float64, shape (m,)
        Positive and finite, in any order; m may be 0.

    Returns
    -------
    Sizes
        Independent of the order of `sizes`.

    Examples
    --------
    >>> group_sizes(np.array([0.2, 0.1, 0.2])).counts.tolist()
    [1, 2]
    """
    ordered = np.sort(sizes)
    total = math.fsum(ordered)
    slack = RELATIVE_SLACK * total
    gap = 0.1 * slack / max(len(ordered), 1)
    starts = [0] if len(ordered) else []
    for candidate in np.flatnonzero(np.diff(ordered) > 0) + 1:
        if ordered[candidate] - ordered[starts[-1]] > gap:
            starts.append(int(candidate))
    counts = np.diff([*starts, len(ordered)]).astype(np.int64)
    return Sizes(ordered[starts], counts, total, slack)


def enumerated_tail(sizes: Sizes, limit: float) -> float | None:
    """Probability that a random subset sums to `limit` or more, by meeting in the middle.

    The groups are dealt to two halves. Each half's sums are written out, a group of c equal sizes giving c +
    1 sums with binomial weights; one half is sorted, and for every sum of the other a binary search finds
    where the rest begins [1]_.

    Parameters
    ----------
    sizes : Sizes
        Grouped sizes.
    limit : float
        In the units of the sizes.

    Returns
    -------
    float or None
        In [0, 1]; without any rounding for up to 53 sizes in all, to about 1e-10 of its value beyond. None
        where one half would hold more than `MOST_STATES` sums.

    References
    ----------
    .. [1] Horowitz, E. and Sahni, S. (1974). Computing partitions with applications to the knapsack problem.
       Journal of the ACM 21(2), 277-292.

    Examples
    --------
    >>> enumerated_tail(group_sizes(np.array([0.2, 0.2, 0.2])), 0.6)
    0.125
    """
    halves: tuple[list[int], list[int]] = ([], [])
    states = [1, 1]
    for group in np.argsort(-sizes.counts, kind="stable"):
        smaller = int(states[1] < states[0])
        halves[smaller].append(int(group))
        states[smaller] *= int(sizes.counts[group]) + 1
    if max(states) > MOST_STATES:
        return None
    sums, weights = _sums(sizes, halves[0])
    others, other_weights = _sums(sizes, halves[1])
    reached = np.append(np.cumsum(other_weights[::-1])[::-1], 0.0)
    first = np.searchsorted(others, limit - sizes.slack / 2 - sums)
    return min(float(np.sum(weights * reached[first])), 1.0)


def _sums(sizes: Sizes, groups: list[int]) -> tuple[Floats, Floats]:
    """All sums of one half, ascending, and the probability of each."""
    sums, weights = np.zeros(1), np.ones(1)
    for group in groups:
        count = int(sizes.counts[group])
        binomial = _binomial(count)
        sums = np.add.outer(sums, sizes.values[group] * np.arange(count + 1)).ravel()
        weights = np.multiply.outer(weights, binomial).ravel()
    if weights.min() == weights.max():
        sums.sort()  # many times faster than argsort, and with equal weights nothing else has to move
        return sums, weights
    order = np.argsort(sums)
    return sums[order], weights[order]


def _binomial(count: int) -> Floats:
    """Chance of each number of heads in `count` tosses; each correctly rounded up to `MOST_TOSSES`."""
    if count > MOST_TOSSES:
        heads = np.arange((count + 1) // 2, count)
        upper = np.cumprod(np.append(1.0, (count - heads) / (heads + 1)))  # from the middle outwards
        lower = upper[::-1] if count % 2 else upper[:0:-1]
        chances = np.concatenate([lower, upper])
        return np.asarray(chances / chances.sum(), dtype=np.float64)
    ways, exactly = 1, []
    for heads_now in range(count + 1):
        exactly.append(ways / 2**count)
        ways = ways * (count - heads_now) // (heads_now + 1)
    return np.array(exactly)


def lattice_tail(sizes: Sizes, limit: float) -> float | None:
    """Probability that a random subset sums to `limit` or more, where all sizes are multiples of one unit.

    Recall over at most six relevant items moves in steps of 1/60: thousands of queries then have few
    different sums, and their distribution is built by adding one query after the other [1]_.

    Parameters
    ----------
    sizes : Sizes
        Grouped sizes, at least one.
    limit : float
        In the units of the sizes.

    Returns
    -------
    float or None
        In [0, 1]; without any rounding for up to 53 sizes in all, to about 1e-12 of its value beyond. None
        where there is no such unit or the walk would take more than `MOST_STEPS` additions.

    References
    ----------
    .. [1] Pagano, M. and Tritchler, D. (1983). On obtaining permutation distributions in polynomial time.
       Journal of the American Statistical Association 78(382), 435-440.

    Examples
    --------
    >>> lattice_tail(group_sizes(np.array([0.2, 0.4, 0.6])), 1.0)
    0.25
    """
    queries = int(sizes.counts.sum())
    widest = 4 * MOST_STEPS / queries
    multiples = _multiples(sizes, widest)
    if multiples is None:
        return None
    unit = sizes.total / float(sizes.counts @ multiples)
    steps = np.repeat(multiples, sizes.counts)
    chances, others = _walk(steps[0::2]), _walk(steps[1::2])
    reached = np.append(np.cumsum(others[::-1])[::-1], 0.0)
    rest = math.ceil((limit - sizes.slack / 2) / unit - 1e-3) - np.arange(len(chances))
    return min(float(np.sum(chances * reached[np.clip(rest, 0, len(others))])), 1.0)


def _multiples(sizes: Sizes, widest: float) -> NDArray[np.int64] | None:
    """Each size as a multiple of their common unit, or None where their sum is more than `widest` units."""
    unit = float(sizes.values[0])
    for value in sizes.values:
        larger, smaller = float(value), unit
        while smaller > sizes.slack:
            larger, smaller = smaller, abs(math.remainder(larger, smaller))
        unit = larger
        if sizes.total > widest * unit:
            return None
    multiples = np.rint(sizes.values / unit).astype(np.int64)
    unit = sizes.total / float(sizes.counts @ multiples)
    off = np.abs(sizes.values - multiples * unit) @ sizes.counts
    return multiples if off <= sizes.slack else None


def _walk(steps: NDArray[np.int64]) -> Floats:
    """Distribution of the sum of a random subset of whole steps."""
    chances = np.zeros(int(steps.sum()) + 1)
    chances[0] = 1.0
    top = 0
    for step in steps.tolist():
        stay = chances[: top + 1] * 0.5
        chances[: top + 1] = stay
        chances[step : top + step + 1] += stay
        top += step
    return chances


def sampled_hits(sizes: Sizes, limit: float, resamples: int, bits: PCG64, *, both_tails: bool) -> int:
    """Count random subsets that sum to `limit` or more.

    One random bit decides over each size. Eight sizes have 256 subset sums, written out once; after that a
    random byte is looked up instead of being added bit by bit.

    Parameters
    ----------
    sizes : Sizes
        Grouped sizes, at least one.
    limit : float
        In the units of the sizes.
    resamples : int
        Number of subsets drawn.
    bits : numpy.random.PCG64
        Where the bits come from.
    both_tails : bool
        Count as well the subsets whose complement sums to `limit` or more.

    Returns
    -------
    int
        Between 0 and `resamples`. About 1 MB is held for every thousand sizes.
    """
    members = np.repeat(sizes.values, sizes.counts)
    words = -(-len(members) // 64)
    octets = np.zeros(words * 64)
    octets[: len(members)] = members
    tables = np.zeros((words * 8, 1))
    for column in octets.reshape(-1, 8).T:
        tables = np.concatenate([tables, tables + column[:, None]], axis=1)
    upper = limit - sizes.slack / 2
    lower = sizes.total - upper
    hits = 0
    for done in range(0, resamples, SAMPLES_AT_ONCE):
        raw = bits.random_raw(words * SAMPLES_AT_ONCE).astype("<u8", copy=False)
        sums = np.zeros(SAMPLES_AT_ONCE)
        for table, row in zip(tables, raw.view(np.uint8).reshape(len(tables), -1), strict=True):
            sums += np.take(table, row)
        sums = sums[: resamples - done]
        hits += int(np.count_nonzero(sums >= upper))
        if both_tails:
            hits += int(np.count_nonzero(sums <= lower))
    return hits
