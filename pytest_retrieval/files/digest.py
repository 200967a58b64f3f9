"""Digests of what a pin stands on: the catalog, the judgments, the strata.

SHA-256 over JSON lines in one canonical form, so that white space, the order of keys and lines, the suffix
and the compression of a file do not change them, and a changed grade does. Text is not normalised.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_retrieval.model.goldset import Digests
from pytest_retrieval.model.qrels import Qrels

__all__ = ["catalog_digest", "digests_of", "judgments_digest", "strata_digest"]


def digests_of(
    qrels: Qrels,
    texts: Mapping[str, str],
    grades: Mapping[str, int],
    items: Mapping[str, Mapping[str, Any]] | None,
) -> Digests:
    """Return all three digests of a gold set.

    Parameters
    ----------
    qrels
        Judgments with strata, splits and slices.
    texts
        query_id → text.
    grades
        Name → grade.
    items
        doc_id → field → value, or None where there is no catalog.

    Returns
    -------
    Digests
        The catalog's is empty where there is none.
    """
    return Digests(
        catalog="" if items is None else catalog_digest(items),
        judgments=judgments_digest(qrels, texts, grades),
        strata=strata_digest(qrels),
    )


def catalog_digest(items: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the digest of a catalog: per item ``[doc_id, {field: string}]``, sorted by id.

    Fields that are no strings count as compact JSON; null, missing and "" are left out.

    Examples
    --------
    >>> one = catalog_digest({"d1": {"name": "Kea", "price": 3}})
    >>> one == catalog_digest({"d1": {"price": "3", "note": None, "name": "Kea"}})
    True
    """
    texts = (
        [doc_id, {name: text for name, value in item.items() if (text := _text(value))}]
        for doc_id, item in items.items()
    )
    return _digest(_by_id(texts))


def judgments_digest(qrels: Qrels, texts: Mapping[str, str], grades: Mapping[str, int]) -> str:
    """Return the digest of what scores depend on: query texts, grades, groups, level and grade names.

    Examples
    --------
    >>> one = judgments_digest(Qrels({"q": {"d": 1}}), {"q": "blue sofa"}, {})
    >>> one == judgments_digest(Qrels({"q": {"d": 2}}), {"q": "blue sofa"}, {})
    False
    """
    head = {"grades": dict(grades), "relevance_level": qrels.relevance_level}
    if qrels.spans is not None:  # chunks may be cut anew without any judgment changing
        gold = qrels.spans.gold
        spans = [[query_id, texts[query_id], sorted(gold.get(query_id, ()))] for query_id in qrels.query_ids]
        return _digest([head, *_by_id(spans)])
    documents, values = qrels.doc_ids.tolist(), qrels.grades.tolist()
    groups = None if qrels.groups is None else qrels.groups.tolist()
    rows: list[list[Any]] = []
    for number, query_id in enumerate(qrels.query_ids):
        span = range(int(qrels.starts[number]), int(qrels.starts[number + 1]))
        judged = {
            documents[row]: [values[row]] if groups is None else [values[row], groups[row]] for row in span
        }
        rows.append([query_id, texts[query_id], judged])
    return _digest([head, *_by_id(rows)])


def strata_digest(qrels: Qrels) -> str:
    """Return the digest of strata, splits and slices: per query ``[query_id, stratum, split, slices]``.

    Examples
    --------
    >>> strata_digest(Qrels({"q": {"d": 1}}, strata={"q": "short"})) == strata_digest(Qrels({"q": {"d": 1}}))
    False
    """
    strata, splits, slices = qrels.strata or {}, qrels.splits or {}, qrels.slices or {}
    return _digest(
        _by_id(
            [query_id, strata.get(query_id), splits.get(query_id), sorted(slices.get(query_id, ()))]
            for query_id in qrels.query_ids
        )
    )


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return ""
    return _ENCODER.encode(value)


def _by_id(rows: Iterable[list[Any]]) -> list[list[Any]]:
    return sorted(rows, key=lambda row: str(row[0]))


_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def _digest(rows: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        digest.update(f"{_ENCODER.encode(row)}\n".encode())
    return digest.hexdigest()
