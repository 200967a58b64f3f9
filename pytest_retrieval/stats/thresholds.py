"""Thresholds of planned comparisons, and p-values printed on the right side of them."""

from __future__ import annotations

import math
from decimal import Decimal

from pytest_retrieval.errors import InputError

__all__ = ["bonferroni", "format_p", "format_threshold", "format_value", "threshold_iv"]

_DECIMALS = 3
_DIGITS = 6
_SCIENTIFIC_BELOW = 1e-4


def bonferroni(alpha: float, planned: int) -> float:
    """Return the threshold of each of several planned comparisons.

    Parameters
    ----------
    alpha : float
        Chance of establishing anything at all where there is nothing, in (0, 1).
    planned : int
        Comparisons in the plan, at least 1. What was not planned is not counted, and never established.

    Returns
    -------
    float
        alpha / planned. It needs no other comparison's p, so a single test can be judged alone.

    Raises
    ------
    InputError
        If `alpha` is outside (0, 1) or `planned` is no whole number of at least 1.

    References
    ----------
    .. [1] Dunn, O. J. (1961). Multiple comparisons among means. Journal of the American Statistical
       Association 56(293), 52-64.

    Examples
    --------
    >>> bonferroni(0.05, 2)
    0.025
    """
    threshold_iv(alpha, "alpha")
    if isinstance(planned, bool) or not isinstance(planned, int) or planned < 1:
        raise InputError(
            f"planned counts comparisons, so it must be a whole number of at least 1, got {planned!r}"
        )
    return alpha / planned


def threshold_iv(threshold: float, what: str = "threshold") -> float:
    """Return a threshold as it came, or raise an InputError if it does not lie between 0 and 1."""
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold < 1:
        raise InputError(f"{what} must lie between 0 and 1, got {threshold!r}")
    return threshold


def format_threshold(threshold: float) -> str:
    """Return a threshold with up to six digits, rounded up so that no p below it reads as above it.

    Examples
    --------
    >>> format_threshold(0.025), format_threshold(0.05 / 3), format_threshold(0.05 / 11)
    ('0.025', '0.0166667', '0.00454546')
    """
    text = f"{threshold:.{_DIGITS}g}"
    if float(text) >= threshold or math.isclose(float(text), threshold, rel_tol=1e-12):
        return text
    rounded = Decimal(text)
    return f"{float(rounded + Decimal(1).scaleb(rounded.adjusted() - _DIGITS + 1)):.{_DIGITS}g}"


def format_p(p: float, threshold: float) -> str:
    """Return p with three decimals, or with as many as it takes to stand on the right side of the threshold.

    Parameters
    ----------
    p : float
        In (0, 1].
    threshold : float
        What p is held against, in (0, 1).

    Returns
    -------
    str
        Never reads as 0, and reads as below, at or above the threshold as p is, whether the threshold is read
        in full or as `format_threshold` prints it.

    Examples
    --------
    >>> format_p(0.7654, 0.025), format_p(0.02496, 0.025), format_p(2**-20, 0.025)
    ('0.765', '0.02496', '9.54e-07')
    """
    printed = float(format_threshold(threshold))
    for digits in range(_DECIMALS, 18):
        text = f"{p:.{digits - 1}e}" if p < _SCIENTIFIC_BELOW else f"{p:.{digits}f}"
        read = float(text)
        if read > 0 and _side(read, threshold) == _side(p, threshold) and (read < printed) == (p < threshold):
            return text
    return repr(p) if p < threshold else format_threshold(threshold)  # p rounded up to what is printed


def _side(p: float, limit: float) -> int:
    return (p > limit) - (p < limit)


def format_value(value: float) -> str:
    """Return a number with three decimals, or with more where it would read as 0 and is not.

    Examples
    --------
    >>> format_value(0.0193), format_value(-0.00012), format_value(0.0)
    ('0.019', '-0.00012', '0.000')
    """
    if value and math.isfinite(value) and abs(value) < 0.5 * 10**-_DECIMALS:
        return f"{value:.2g}"
    return f"{value + 0.0:.{_DECIMALS}f}"
