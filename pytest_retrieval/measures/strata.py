"""Strata: disjoint classes of queries, and the slices that cut across them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_retrieval.errors import InputError, counted, listed

__all__ = ["aligned", "members"]


def aligned(strata: Mapping[str, str], query_ids: Sequence[str]) -> tuple[str, ...]:
    """Return each query's stratum, in the order of the queries.

    Raises
    ------
    InputError
        Some queries have no stratum; the message names them.

    Examples
    --------
    >>> aligned({"q2": "long", "q1": "short"}, ["q1", "q2"])
    ('short', 'long')
    """
    without = [query_id for query_id in query_ids if query_id not in strata]
    if without:
        subject = counted(len(without), "judged query has", "judged queries have")
        raise InputError(f"{subject} no stratum: {listed(without)}")
    return tuple(strata[query_id] for query_id in query_ids)


def members(strata: Sequence[str]) -> dict[str, list[int]]:
    """Return stratum → positions of its queries, sorted by stratum.

    Examples
    --------
    >>> members(["b", "a", "b"])
    {'a': [1], 'b': [0, 2]}
    """
    rows: dict[str, list[int]] = {}
    for row, stratum in enumerate(strata):
        rows.setdefault(stratum, []).append(row)
    return dict(sorted(rows.items()))
