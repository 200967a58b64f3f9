"""Two score vectors joined by query id, and the differences between them.

Scores are paired by id, never by position: two systems that were asked different queries have no difference.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pytest_retrieval.errors import InputError, QueryMismatchError, listed

__all__ = ["DECIMALS", "LARGEST", "Pairs", "Scores", "pair_scores"]

DECIMALS = 12
"""Differences are rounded to this many decimals, so that 0.1 + 0.2 and 0.3 tie."""

LARGEST = 1e100
"""No score and no difference may be this large: rounding it would overflow."""


class Scores(Protocol):
    """Scores by query id: a dict, a pandas Series, anything whose ``items()`` are (query id, score)."""

    def items(self) -> Iterable[tuple[Hashable, Any]]:
        """Query ids and their scores."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Scores of two systems on the same queries.

    Attributes
    ----------
    query_ids : tuple of str
        The queries paired, ascending by code point.
    a, b : ndarray of float64, shape (n,)
        Their scores, in that order, finite.
    differences : ndarray of float64, shape (n,)
        a - b, rounded to 12 decimals.
    undefined : tuple of str
        Queries left out because their score is undefined on one side or on both.
    """

    query_ids: tuple[str, ...]
    a: NDArray[np.float64]
    b: NDArray[np.float64]
    differences: NDArray[np.float64]
    undefined: tuple[str, ...]


def pair_scores(a: Scores, b: Scores) -> Pairs:
    """Join two score vectors by query id.

    Parameters
    ----------
    a, b : mapping of query id to score, or pandas Series indexed by query id
        Ids are strings, or all of them integers. A score of NaN or None is undefined.

    Returns
    -------
    Pairs
        One pair per query that has a defined score on both sides.

    Raises
    ------
    QueryMismatchError
        If one side holds queries that the other does not; it names them.
    InputError
        If an id occurs twice, ids are of mixed types, or a score is infinite or no number.

    Examples
    --------
    >>> pairs = pair_scores({"q2": 0.3, "q1": 1.0}, {"q1": 0.5, "q2": 0.1 + 0.2})
    >>> pairs.query_ids, pairs.differences.tolist()
    (('q1', 'q2'), [0.5, 0.0])
    """
    left, right = _scores_iv(a, "a"), _scores_iv(b, "b")
    only_a, only_b = sorted(left.keys() - right.keys()), sorted(right.keys() - left.keys())
    if only_a or only_b:
        raise QueryMismatchError(
            f"the two score vectors are not about the same queries: only a holds {_some(only_a)}; only b "
            f"holds {_some(only_b)}; both hold {len(left.keys() & right.keys())}. Score both systems on the "
            "same queries, or drop from both what only one has"
        )
    defined = [
        query for query in sorted(left) if not math.isnan(left[query]) and not math.isnan(right[query])
    ]
    scores_a = np.array([left[query] for query in defined], dtype=np.float64)
    scores_b = np.array([right[query] for query in defined], dtype=np.float64)
    differences = np.round(scores_a - scores_b, DECIMALS) + 0.0  # + 0.0 turns -0.0 into 0.0
    undefined = tuple(sorted(left.keys() - set(defined)))
    return Pairs(tuple(defined), scores_a, scores_b, differences, undefined)


def _scores_iv(scores: Scores, side: str) -> dict[str, float]:
    if not callable(getattr(scores, "items", None)):
        raise InputError(
            f"{side} must give a score per query id (a dict or a pandas Series), got "
            f"{type(scores).__name__}; without ids they could only be paired by position, which is never done"
        )
    checked: dict[str, float] = {}
    kinds: set[str] = set()
    for query, score in scores.items():
        kinds.add(
            "string" if isinstance(query, str) else "integer" if _is_integer(query) else type(query).__name__
        )
        key = str(query)
        if key in checked and len(kinds) == 1:
            raise InputError(f"{side} holds query {key!r} more than once; keep one score per query")
        checked[key] = _number(score, key, side)
    if kinds - {"string", "integer"} or len(kinds) > 1:
        raise InputError(
            f"{side} has query ids of type {', '.join(sorted(kinds))}; query ids must be strings, "
            "or all of them integers"
        )
    return checked


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _number(score: Any, query: str, side: str) -> float:
    if score is None:
        return math.nan
    try:
        number = float(score) if not isinstance(score, str) else None
    except (TypeError, ValueError):
        number = None
    if number is None or abs(number) >= LARGEST:
        raise InputError(
            f"{side} has score {score!r} for query {query!r}; a score is a finite number, or NaN if undefined"
        )
    return number


def _some(queries: list[str]) -> str:
    """How many ids there are, and the first few."""
    return f"{len(queries)} ({listed(queries)})" if queries else "none"
