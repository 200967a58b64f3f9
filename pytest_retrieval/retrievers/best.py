"""The best k of scored documents: what every ranking derived here ends with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_retrieval.errors import InputError
from pytest_retrieval.model.order import by_score

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["best", "check_count"]


def best(
    doc_ids: npt.NDArray[np.object_], scores: npt.NDArray[np.float64], k: int
) -> list[tuple[str, float]]:
    """Return the k documents of highest score, best first, equal scores by id ascending.

    Parameters
    ----------
    doc_ids, scores
        Shape (N,), side by side; scores hold no NaN.
    k
        How many; fewer documents are fine.

    Examples
    --------
    >>> best(np.array(["tui", "kea", "moa"], dtype=object), np.array([0.5, 0.5, 0.1]), 1)
    [('kea', 0.5)]
    """
    if len(scores) > k:
        least = np.partition(scores, -k)[-k]
        kept = np.flatnonzero(scores >= least)  # with everything tied at the cut: the ids decide, below
        doc_ids, scores = doc_ids[kept], scores[kept]
    order = by_score(doc_ids, scores, np.array([0, len(doc_ids)]), ties="ascending")[:k]
    return list(zip(doc_ids[order].tolist(), scores[order].tolist(), strict=True))


def check_count(name: str, value: object, least: int = 1) -> None:
    """Raise InputError unless a value is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} is {value!r}; allowed is a whole number of at least {least}")
