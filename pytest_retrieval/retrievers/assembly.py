"""Checks of contexts: what was put into a prompt, whatever the judgments say of it.

A context is short, so two texts in it are compared exactly: by the share of common runs of words, which
MinHash estimates where there are too many to compare.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations
from typing import TYPE_CHECKING, Any, final

from pytest_retrieval.errors import InputError
from pytest_retrieval.model.records import Answer
from pytest_retrieval.model.run import Run
from pytest_retrieval.retrievers.best import check_count
from pytest_retrieval.retrievers.texts import fields_of, records_of, text_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ContextFinding", "check_contexts"]

NEAR_DUPLICATE, OVERLAP, OVER_BUDGET = "near-duplicate", "overlapping chunks", "over budget"
TRUNCATED, SUPERSEDED = "truncated", "superseded"

SHINGLE = 3
"""Words of the runs that two texts are compared by (Broder, On the resemblance and containment of documents,
1997)."""

_WORD = re.compile(r"\w+")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFinding:
    """Something wrong with one context.

    Attributes
    ----------
    query_id
        Whose context.
    kind
        ``"near-duplicate"``, ``"overlapping chunks"``, ``"over budget"``, ``"truncated"`` or
        ``"superseded"``.
    doc_ids
        Documents that it is about.
    why
        What was found, with its number.
    """

    query_id: str
    kind: str
    doc_ids: tuple[str, ...]
    why: str

    def __str__(self) -> str:
        return f"{self.query_id}: {self.kind}: {self.why}"


def check_contexts(
    contexts: Run | Sequence[Answer] | Mapping[str, Sequence[str]],
    catalog: pd.DataFrame | Mapping[str, Any],
    *,
    fields: str | Sequence[str] | None = None,
    k: int | None = None,
    near: float = 0.8,
    budget: int | None = None,
    count: Callable[[str], int] | None = None,
    shown: Mapping[str, str] | None = None,
    superseded: Collection[str] = ("superseded",),
    on: str | date | None = None,
) -> tuple[ContextFinding, ...]:
    """Return what is wrong with contexts, judged or not.

    Parameters
    ----------
    contexts
        A run, cut at `k`; answers, with their context ids; or ``{query_id: [doc_id, …]}``.
    catalog
        DataFrame indexed by doc_id, or a mapping from doc_id. Chunks may carry ``document``, ``start`` and
        ``end``; items ``status``, ``effective_from`` and ``effective_to`` (ISO dates, the last day included).
    fields
        Which fields make up an item's text; by default all but those named above.
    k
        How many documents of a ranking the prompt holds.
    near
        Two texts that share this part of their runs of three words, or more, are near-duplicates; in (0, 1].
    budget, count
        Largest size of a context, and the function that sizes a text: by default its words.
    shown
        Document → text as the prompt held it: one that is shorter than the catalog's is truncated.
    superseded
        Values of ``status`` that no context should hold.
    on
        The day on which a document has to be in force.

    Returns
    -------
    tuple of ContextFinding
        In the order of the contexts.

    Raises
    ------
    InputError
        A document is not in the catalog, or a value is not allowed.

    References
    ----------
    Broder, On the resemblance and containment of documents, 1997: resemblance of texts by runs of words.

    Examples
    --------
    >>> catalog = {"old": {"text": "returns within 45 days", "status": "superseded"},
    ...            "new": {"text": "returns within 30 days", "status": "current"}}
    >>> for finding in check_contexts({"q": ["new", "old"]}, catalog):
    ...     print(finding)
    q: superseded: old has the status 'superseded'
    """
    if not 0 < near <= 1:
        raise InputError(f"near is {near!r}; allowed is a number above 0, to 1")
    if k is not None:
        check_count("k", k)
    records, columns = records_of(catalog)
    wanted = fields_of([name for name in columns if name not in _KNOWN], None) if fields is None else None
    names = fields_of(columns, fields) if wanted is None else wanted
    texts = {doc: "\n".join(text_of(item.get(name)) for name in names) for doc, item in records.items()}
    day = date.fromisoformat(on) if isinstance(on, str) else on
    size = count or (lambda text: len(_WORD.findall(text)))
    findings: list[ContextFinding] = []
    runs: dict[str, frozenset[tuple[str, ...]]] = {}
    for query_id, doc_ids in _contexts(contexts, k):
        unknown = [doc_id for doc_id in doc_ids if doc_id not in records]
        if unknown:
            raise InputError(f"the context of {query_id!r} holds {unknown[0]!r}, which is not in the catalog")

        def add(kind: str, docs: tuple[str, ...], why: str, query_id: str = query_id) -> None:
            findings.append(ContextFinding(query_id=query_id, kind=kind, doc_ids=docs, why=why))

        for doc_id in doc_ids:
            if doc_id not in runs:
                runs[doc_id] = _runs(texts[doc_id])
        for one, other in combinations(dict.fromkeys(doc_ids), 2):
            shared = _overlap(records[one], records[other])
            if shared:
                add(OVERLAP, (one, other), f"{one} and {other} share {shared} characters")
                continue  # texts that overlap are alike, and one finding is enough
            alike = _resemblance(runs[one], runs[other])
            if alike >= near:
                add(
                    NEAR_DUPLICATE,
                    (one, other),
                    f"{one} and {other} share {alike:.2f} of their runs of words",
                )
        held = [(shown or {}).get(doc_id, texts[doc_id]) for doc_id in doc_ids]
        total = sum(map(size, held))
        if budget is not None and total > budget:
            add(OVER_BUDGET, tuple(doc_ids), f"{total} of {budget} allowed, over {len(doc_ids)} documents")
        for doc_id in dict.fromkeys(doc_ids):
            given = (shown or {}).get(doc_id)
            if given is not None and len(given.strip(" …\n")) < len(texts[doc_id].strip()):
                what = f"{len(given)} of {len(texts[doc_id])} characters of {doc_id}"
                add(TRUNCATED, (doc_id,), f"the prompt held {what}")
            why = _not_in_force(records[doc_id], superseded, day)
            if why:
                add(SUPERSEDED, (doc_id,), f"{doc_id} {why}")
    return tuple(findings)


_KNOWN = ("document", "start", "end", "status", "effective_from", "effective_to")


def _contexts(contexts: object, k: int | None) -> list[tuple[str, Sequence[str]]]:
    if isinstance(contexts, Mapping):
        return [(str(query_id), list(ids)[:k]) for query_id, ids in contexts.items()]
    if isinstance(contexts, Sequence) and all(isinstance(answer, Answer) for answer in contexts):
        return [(answer.query_id, answer.context_ids) for answer in contexts]
    raise InputError(
        f"contexts are of type {type(contexts).__name__}; allowed are a Run, a list of Answer or"
        " {query_id: [doc_id, …]}"
    )


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    words = [word.lower() for word in _WORD.findall(text)]
    size = min(SHINGLE, len(words)) or 1
    return frozenset(tuple(words[n : n + size]) for n in range(len(words) - size + 1))


def _resemblance(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    """Return Jaccard's share of common runs of words; 0 where both texts are empty."""
    either = len(one | other)
    return len(one & other) / either if either else 0.0


def _overlap(one: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    if not one.get("document") or one.get("document") != other.get("document"):
        return 0
    try:
        ends = [int(chunk[key]) for chunk in (one, other) for key in ("start", "end")]
    except (KeyError, TypeError, ValueError):
        return 0
    return max(0, min(ends[1], ends[3]) - max(ends[0], ends[2]))


def _not_in_force(item: Mapping[str, Any], superseded: Collection[str], day: date | None) -> str:
    status = item.get("status")
    if status in superseded:
        return f"has the status {status!r}"
    if day is None:
        return ""
    for key, too_early in (("effective_from", True), ("effective_to", False)):
        value = item.get(key)
        if not isinstance(value, str | date) or not value:
            continue
        limit = date.fromisoformat(value) if isinstance(value, str) else value
        if (day < limit) if too_early else (day > limit):
            return f"is {'not in force before' if too_early else 'in force no longer than'} {limit}, on {day}"
    return ""
