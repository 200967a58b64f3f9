"""Scores as a reader expects them."""

from __future__ import annotations

import math

__all__ = ["number", "numbers"]


def number(value: float | None, digits: int = 3) -> str:
    """Return a score as a reader expects it; n/a where it is undefined.

    Examples
    --------
    >>> number(0.64444), number(None), number(float("nan"))
    ('0.644', 'n/a', 'n/a')
    """
    return "n/a" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def numbers(*values: float | None) -> list[str]:
    """Return scores with three digits, or with as many as it takes for different ones to look different.

    Examples
    --------
    >>> numbers(0.64444, 0.64441)
    ['0.64444', '0.64441']
    """
    distinct = {value for value in values if value is not None and not math.isnan(value)}
    for digits in range(3, 13):
        if len({number(value, digits) for value in distinct}) == len(distinct):
            return [number(value, digits) for value in values]
    return [number(value, 12) for value in values]
