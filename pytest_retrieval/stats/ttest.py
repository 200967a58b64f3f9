"""Student's paired t-test, shown beside the permutation p and never in its place.

With few changed queries t promises more than the data can hold: five losses of 0.2 among 30 queries give t a
p of 0.023, while no sign flip of five queries can be rarer than 0.0625.
"""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from pytest_retrieval.stats.signflip import differences_iv

__all__ = ["paired_t_p"]

_NO_SPREAD = 1e-12


def paired_t_p(differences: ArrayLike) -> float | None:
    """Return the two-sided p of the paired t-test.

    Parameters
    ----------
    differences : array_like of float, shape (n,)
        One difference per query, finite. Rounded to 12 decimals.

    Returns
    -------
    float or None
        In [0, 1]. None where t is undefined: fewer than two queries, or no spread (all differences 0, or all
        the same).

    Raises
    ------
    InputError
        If `differences` is not one-dimensional and finite.

    References
    ----------
    .. [1] Student (1908). The probable error of a mean. Biometrika 6(1), 1-25.

    Examples
    --------
    >>> round(paired_t_p([-0.2] * 5 + [0.0] * 25), 6)
    0.022608
    >>> paired_t_p([0.1, 0.1, 0.1]) is None
    True
    """
    values = differences_iv(differences)
    n = len(values)
    if n < 2 or values[-1] - values[0] <= _NO_SPREAD * abs(values).max():
        return None
    from scipy.special import stdtr

    mean = math.fsum(values) / n
    error = math.sqrt(math.fsum((values - mean) ** 2) / (n - 1) / n)
    return float(2 * stdtr(n - 1, -abs(mean) / error))
