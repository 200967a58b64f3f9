"""The two tie rules, and nothing else that orders documents.

A run whose scores somebody else made is ordered as trec_eval orders it: score descending, equal scores by
document id descending. A ranking that this package derives (BM25, fusion, pooled units) breaks ties by id
ascending. Ids are compared as strings, by code point. One ranking then serves every measure, so no two
measures can disagree about which document stood first.

This module stands on the ground, beside the values that need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["by_score", "first_of_each", "place_in_each", "query_of_each"]


def query_of_each(starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return, for every row, the number of the query it belongs to.

    Parameters
    ----------
    starts
        Shape (Q + 1,): rows ``starts[q]`` up to ``starts[q + 1]`` belong to query ``q``.

    Returns
    -------
    ndarray of int64, shape (N,)

    Examples
    --------
    >>> query_of_each(np.array([0, 2, 2, 3])).tolist()
    [0, 0, 2]
    """
    return np.repeat(np.arange(len(starts) - 1, dtype=np.int64), np.diff(starts))


def first_of_each(groups: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return where each run of equal neighbours begins.

    Parameters
    ----------
    groups
        Shape (N,), equal values side by side.

    Returns
    -------
    ndarray of bool, shape (N,)

    Examples
    --------
    >>> first_of_each(np.array([4, 4, 7])).tolist()
    [True, False, True]
    """
    first = np.ones(len(groups), dtype=np.bool_)
    first[1:] = groups[1:] != groups[:-1]
    return first


def place_in_each(groups: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return 1, 2, 3, … within each run of equal neighbours.

    Parameters
    ----------
    groups
        Shape (N,), equal values side by side.

    Returns
    -------
    ndarray of int64, shape (N,)

    Examples
    --------
    >>> place_in_each(np.array([4, 4, 7])).tolist()
    [1, 2, 1]
    """
    first = np.flatnonzero(first_of_each(groups))
    before = np.repeat(first, np.diff(np.append(first, len(groups))))
    return np.arange(1, len(groups) + 1, dtype=np.int64) - before


def by_score(
    doc_ids: npt.NDArray[np.object_],
    scores: npt.NDArray[np.float64],
    starts: npt.NDArray[np.int64],
    *,
    ties: str = "descending",
) -> npt.NDArray[np.int64]:
    """Return the order that ranks each query's documents by score descending.

    Parameters
    ----------
    doc_ids
        Shape (N,), strings.
    scores
        Shape (N,), no NaN; infinities are ordinary values.
    starts
        Shape (Q + 1,): rows ``starts[q]`` up to ``starts[q + 1]`` belong to query ``q``.
    ties
        How equal scores of one query are ordered by document id: ``"descending"`` (trec_eval's rule) or
        ``"ascending"`` (ours, for rankings we derive).

    Returns
    -------
    ndarray of int64, shape (N,)
        Row numbers; each query keeps its block of rows.

    References
    ----------
    trec_eval, ``form_res_rels.c``: results are sorted by score, then by document number, both descending.

    Examples
    --------
    >>> ids = np.array(["kea", "tui"], dtype=object)
    >>> by_score(ids, np.array([0.5, 0.5]), np.array([0, 2])).tolist()
    [1, 0]
    >>> by_score(ids, np.array([0.5, 0.5]), np.array([0, 2]), ties="ascending").tolist()
    [0, 1]
    """
    query = query_of_each(starts)
    if ((scores[1:] > scores[:-1]) & (query[1:] == query[:-1])).any():
        order = np.lexsort((-scores, query))
    else:
        order = np.arange(len(scores), dtype=np.int64)  # most runs come ranked already
    sorted_query, sorted_scores = query[order], scores[order]
    equal = (sorted_query[1:] == sorted_query[:-1]) & (sorted_scores[1:] == sorted_scores[:-1])
    if not equal.any():
        return order
    tied = np.zeros(len(order), dtype=np.bool_)
    tied[1:] |= equal
    tied[:-1] |= equal
    places = np.flatnonzero(tied)
    rows = order[places]
    id_rank = _rank_of_ids(doc_ids[rows])
    if ties == "descending":
        id_rank = -id_rank
    order[places] = rows[np.lexsort((id_rank, -scores[rows], query[rows]))]
    return order


def _rank_of_ids(doc_ids: npt.NDArray[np.object_]) -> npt.NDArray[np.int64]:
    """Return each id's place among the distinct ids, by code point (Python's own order of strings)."""
    distinct: list[Any] = sorted(set(doc_ids.tolist()))
    rank = {doc_id: place for place, doc_id in enumerate(distinct)}
    return np.fromiter((rank[doc_id] for doc_id in doc_ids.tolist()), dtype=np.int64, count=len(doc_ids))
