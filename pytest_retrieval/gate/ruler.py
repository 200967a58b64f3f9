"""The ruler: what is different about judgments, queries, strata and catalog, each told apart and named.

None of it decides a verdict. A reader who sees a number that moved needs to know which of these moved it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from pytest_retrieval.errors import counted, listed
from pytest_retrieval.gate.pin import Evidence, Pin, document_ids, grades_used, in_cell, short, text_digest
from pytest_retrieval.model.goldset import GoldSet

__all__ = ["Pairing", "counted", "input_notes", "judgment_changes", "pairing", "ruler_notes", "strays"]


@final
@dataclass(frozen=True, slots=True)
class Pairing:
    """Which queries both sides know, and which only one does.

    Attributes
    ----------
    paired
        Pinned and gated today, with the same text.
    added
        Gated today and never pinned.
    reworded
        Pinned with another text; such a query counts as a new one.
    removed
        Pinned and gated no longer.
    """

    paired: tuple[str, ...]
    added: tuple[str, ...]
    reworded: tuple[str, ...]
    removed: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence on each kind of query that stays out of the pairs."""
        return tuple(
            f"{counted(len(queries), 'query', 'queries')} {what}: {listed(queries)}"
            for queries, what in (
                (self.added, "added and not pinned yet; --retrieval-pin=new pins"),
                (self.reworded, "reworded: the text changed, so it counts as new; --retrieval-pin=new pins"),
                (self.removed, "removed: pinned, and gated no longer"),
            )
            if queries
        )


def pairing(goldset: GoldSet, evidence: Mapping[str, Evidence]) -> Pairing:
    """Return how today's gated queries and the pinned ones meet."""
    gated = goldset.gated_queries
    known = [query_id for query_id in gated if query_id in evidence]
    same = {
        query_id for query_id in known if evidence[query_id].query == text_digest(goldset.text_of(query_id))
    }
    return Pairing(
        paired=tuple(query_id for query_id in gated if query_id in same),
        added=tuple(query_id for query_id in gated if query_id not in evidence),
        reworded=tuple(query_id for query_id in known if query_id not in same),
        removed=tuple(sorted(evidence.keys() - set(gated))),
    )


def judgment_changes(
    goldset: GoldSet, evidence: Mapping[str, Evidence], queries: Iterable[str]
) -> list[tuple[str, str, int | None, int | None]]:
    """Return (query, document, pinned grade, grade today) wherever the two differ; None is unjudged."""
    changes: list[tuple[str, str, int | None, int | None]] = []
    for query_id in queries:
        then, now = evidence[query_id].grades, grades_used(goldset.qrels, evidence[query_id])
        changes += (
            (query_id, doc_id, then.get(doc_id), now.get(doc_id))
            for doc_id in sorted(then.keys() | now.keys())
            if then.get(doc_id) != now.get(doc_id)
        )
    return changes


def ruler_notes(
    goldset: GoldSet,
    pin: Pin,
    evidence: Mapping[str, Evidence],
    members: Sequence[str],
    stratum: str,
) -> tuple[str, ...]:
    """Return what changed about the judgments and the strata of one cell since it was pinned.

    Parameters
    ----------
    goldset
        Today's.
    pin
        Of the cell.
    evidence
        Of the paired queries of the whole subject.
    members
        The paired queries that belong to the cell today.
    stratum
        Of the cell.
    """
    notes = []
    level = goldset.qrels.relevance_level
    if pin.level is not None and pin.level != level:
        notes.append(f"ruler changed: relevance level {pin.level} → {level}")
    changes = judgment_changes(goldset, evidence, members)
    if changes:
        shown = listed((_change(goldset, *change) for change in changes), most=5)
        notes.append(f"ruler changed: {counted(len(changes), 'judgment', 'judgments')}: {shown}")
    inside = set(members)
    came = [query_id for query_id in members if not in_cell(evidence[query_id], stratum)]
    left = [q for q, line in evidence.items() if in_cell(line, stratum) and q not in inside]
    for moved, where in ((came, "came into"), (left, "left")):
        if moved:
            count = counted(len(moved), "query", "queries")
            notes.append(f"strata moved: {count} {where} {stratum}: {listed(moved)}")
    return tuple(notes)


def strays(goldset: GoldSet, evidence: Mapping[str, Evidence]) -> tuple[str, ...]:
    """Return the documents of pinned rankings that the catalog does not list, sorted.

    What an agent picked need not be a document at all; that is what its score says.
    """
    known = goldset.doc_ids
    if known is None:
        return ()
    lines = (  # places say where a chunk stood, whatever it is called today
        line
        for line in evidence.values()
        if not line.places and not any(reply.picks for reply in line.replies)
    )
    return tuple(sorted({doc for line in lines for doc in line.ranking if doc not in known}))


def input_notes(goldset: GoldSet, pin: Pin, gone: Sequence[str]) -> tuple[str, ...]:
    """Return what changed about the catalog since a cell was pinned.

    Parameters
    ----------
    goldset
        Today's.
    pin
        Of the cell.
    gone
        Documents of the pinned rankings that are not in the catalog (`strays`).
    """
    notes = []
    if pin.catalog and pin.catalog != short(goldset.digests.catalog):
        now = 0 if goldset.doc_ids is None else len(goldset.doc_ids)
        if pin.document_ids and pin.document_ids == document_ids(goldset.doc_ids):
            notes.append(
                f"input changed: the catalog lists the same {counted(now, 'document', 'documents')}, and the"
                " text of some changed"
            )
        else:
            size = "" if pin.documents is None else f", {pin.documents} → {now} documents"
            notes.append(f"input changed: documents were added to the catalog or deleted from it{size}")
    if gone:
        notes.append(
            f"input changed: {counted(len(gone), 'document', 'documents')} of the pinned rankings not in the"
            f" catalog, and not relevant today: {listed(gone)}"
        )
    return tuple(notes)


def _change(goldset: GoldSet, query_id: str, doc_id: str, then: int | None, now: int | None) -> str:
    names = {grade: name for name, grade in goldset.grades.items()}
    words = ["unjudged" if grade is None else names.get(grade, str(grade)) for grade in (then, now)]
    return f"{query_id} {doc_id} {words[0]} → {words[1]}"
