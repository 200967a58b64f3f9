"""The paired sign-flip test: how often chance alone gives a mean difference this large.

If two systems are equally good, each query's difference could as well have had the other sign. The p-value is
the share of all sign patterns whose mean is at least as extreme as the one observed. It is computed exactly
almost always, and sampled only where the exact distribution is out of reach.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pytest_retrieval.errors import InputError
from pytest_retrieval.stats.pairing import DECIMALS, LARGEST
from pytest_retrieval.stats.seeding import bit_generator
from pytest_retrieval.stats.subsets import Sizes, enumerated_tail, group_sizes, lattice_tail, sampled_hits

__all__ = ["ALTERNATIVES", "SignFlip", "changes_needed", "differences_iv", "sign_flip", "smallest_p"]

ALTERNATIVES = ("two-sided", "less", "greater")

_SMALLEST = math.ulp(0.0)


@dataclass(frozen=True, slots=True)
class SignFlip:
    """What a sign-flip test found.

    Attributes
    ----------
    p : float
        In (0, 1]. Never 0: the observed pattern is one of the patterns.
    exact : bool
        Whether every sign pattern was counted; otherwise they were sampled.
    method : str
        "identical" (nothing changed), "enumeration", "convolution" or "sampling".
    alternative : str
        "two-sided", "less" (the mean is below 0) or "greater".
    changed : int
        Queries whose difference is not 0. Only these can say anything.
    smallest_p : float
        The smallest p that this many changed queries could have given, by this method.
    resamples : int
        Sign patterns drawn; 0 if exact.
    seed : int
        Seed asked for; without influence if exact.
    """

    p: float
    exact: bool
    method: str
    alternative: str
    changed: int
    smallest_p: float
    resamples: int
    seed: int


def sign_flip(
    differences: ArrayLike,
    *,
    alternative: str = "two-sided",
    resamples: int = 99_999,
    seed: int = 0,
    name: str = "",
) -> SignFlip:
    """Test whether the mean of paired differences is 0.

    Parameters
    ----------
    differences : array_like of float, shape (n,)
        One difference per query, finite, in the measure's unit, in any order. Rounded to 12 decimals.
        Differences of 0 are ties; they cannot change p.
    alternative : {"two-sided", "less", "greater"}, optional
        "less" asks whether the mean is below 0, "greater" whether it is above.
    resamples : int, optional
        Sign patterns to draw where the test cannot be exact, at least 1.
    seed : int, optional
        Used only where patterns are drawn, together with `name`.
    name : str, optional
        Name of the comparison.

    Returns
    -------
    SignFlip
        Exact for any differences of up to 42 different sizes, and far beyond where sizes repeat or are
        multiples of one unit. Otherwise p = (hits + 1) / (resamples + 1). Exact p-values of up to 53 changed
        queries carry no rounding at all; a p below 5e-324 is given as that.

    Raises
    ------
    InputError
        If `differences` is not one-dimensional and finite, or another argument is not one of those allowed.

    References
    ----------
    .. [1] Fisher, R. A. (1935). The Design of Experiments, section 21. Oliver and Boyd.
    .. [2] Smucker, M. D., Allan, J. and Carterette, B. (2007). A comparison of statistical significance tests
       for information retrieval evaluation. CIKM 2007, 623-632.
    .. [3] Phipson, B. and Smyth, G. K. (2010). Permutation p-values should never be zero. Statistical
       Applications in Genetics and Molecular Biology 9(1), article 39.

    Examples
    --------
    >>> sign_flip([-0.2] * 9 + [0.0] * 21).p
    0.00390625
    >>> sign_flip([-0.2] * 6 + [0.0] * 24, alternative="less").p
    0.015625
    """
    values = differences_iv(differences)
    _alternative_iv(alternative)
    if isinstance(resamples, bool) or not isinstance(resamples, int) or resamples < 1:
        raise InputError(f"resamples must be a whole number of at least 1, got {resamples!r}")
    bits = bit_generator(seed, name)
    changed = values[values != 0]
    if not len(changed):
        return SignFlip(1.0, True, "identical", alternative, 0, 1.0, 0, seed)

    sizes = group_sizes(np.abs(changed))
    gained = math.fsum(changed[changed > 0])
    lost = math.fsum(-changed[changed < 0])
    limit = {"two-sided": max(gained, lost), "greater": gained, "less": lost}[alternative]
    both = alternative == "two-sided"
    best = smallest_p(len(changed), alternative)
    if both and abs(gained - lost) <= sizes.slack:
        return SignFlip(1.0, True, "enumeration", alternative, len(changed), best, 0, seed)

    tail, method = _exact_tail(sizes, limit)
    if tail is not None:
        p = max(min(2 * tail if both else tail, 1.0), _SMALLEST)
        return SignFlip(p, True, method, alternative, len(changed), best, 0, seed)
    hits = sampled_hits(sizes, limit, resamples, bits, both_tails=both)
    p, best = (hits + 1) / (resamples + 1), max(best, 1 / (resamples + 1))
    return SignFlip(p, False, "sampling", alternative, len(changed), best, resamples, seed)


def _exact_tail(sizes: Sizes, limit: float) -> tuple[float | None, str]:
    tail = enumerated_tail(sizes, limit)
    if tail is not None:
        return tail, "enumeration"
    return lattice_tail(sizes, limit), "convolution"


def smallest_p(changed: int, alternative: str = "two-sided") -> float:
    """Return the smallest p that a sign-flip test of so many changed queries can give.

    Parameters
    ----------
    changed : int
        Queries whose difference is not 0, at least 0.
    alternative : {"two-sided", "less", "greater"}, optional
        The test's alternative.

    Returns
    -------
    float
        2^(1 - changed) two-sided, 2^(-changed) one-sided, and 1 where nothing changed.

    Raises
    ------
    InputError
        If `changed` is negative or `alternative` unknown.

    Examples
    --------
    >>> smallest_p(5), smallest_p(5, "less")
    (0.0625, 0.03125)
    """
    _alternative_iv(alternative)
    if changed < 0:
        raise InputError(f"changed counts queries, so it must be 0 or more, got {changed!r}")
    if changed == 0:
        return 1.0
    return max(2.0 ** (1 - changed if alternative == "two-sided" else -changed), _SMALLEST)


def changes_needed(threshold: float, alternative: str = "two-sided") -> int:
    """Return how many queries must change before p can fall below a threshold.

    Parameters
    ----------
    threshold : float
        In (0, 1]. p must be strictly below it.
    alternative : {"two-sided", "less", "greater"}, optional
        The test's alternative.

    Returns
    -------
    int
        The smallest number of changed queries whose `smallest_p` is below `threshold`.

    Raises
    ------
    InputError
        If `threshold` is outside (0, 1] or `alternative` unknown.

    Examples
    --------
    >>> changes_needed(0.025), changes_needed(0.025, "less")
    (7, 6)
    """
    if not 0 < threshold <= 1:
        raise InputError(f"threshold must lie in (0, 1], got {threshold!r}")
    if threshold <= _SMALLEST:
        raise InputError(
            f"no number of changed queries gives a p below {threshold!r}; use a larger threshold"
        )
    changed = 1
    while smallest_p(changed, alternative) >= threshold:
        changed += 1
    return changed


def differences_iv(differences: ArrayLike) -> NDArray[np.float64]:
    """Differences as a sorted array of float64 rounded to 12 decimals, or an InputError."""
    try:
        values = np.asarray(differences, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"differences must be numbers, one per query, got {differences!r}") from None
    if values.ndim != 1:
        raise InputError(
            f"differences must have one dimension, one value per query, got the shape {values.shape}"
        )
    usable = np.abs(values) < LARGEST  # false for NaN, too
    if not usable.all():
        raise InputError(
            f"differences hold {np.count_nonzero(~usable)} values that are NaN, infinite or as large as "
            f"{LARGEST:g}; leave out the queries that are undefined on either side"
        )
    return np.sort(np.round(values, DECIMALS)) + 0.0


def _alternative_iv(alternative: str) -> None:
    if alternative not in ALTERNATIVES:
        raise InputError(f"alternative must be one of {', '.join(ALTERNATIVES)}, got {alternative!r}")
