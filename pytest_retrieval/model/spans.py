"""Gold as spans of documents, which outlives a new chunking, and where each chunk stands in its document.

Offsets count characters of the document's text from 0; the end is exclusive, as in Python's slices. These
values stand on the ground: files make them, judgments carry them, measures and evidence read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, final

from pytest_retrieval.errors import InputError

__all__ = ["GoldSpan", "Place", "Spans", "overlap"]


class Place(NamedTuple):
    """Where a chunk stands: characters `start` up to `end` of a document."""

    document: str
    start: int
    end: int


class GoldSpan(NamedTuple):
    """A passage that answers a query: characters `start` up to `end` of a document, with its grade."""

    document: str
    start: int
    end: int
    grade: int = 1


@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class Spans:
    """Gold spans by query, and the places of today's chunks.

    Parameters
    ----------
    gold
        ``{query_id: spans}``; each a `GoldSpan` or ``(document, start, end[, grade])``.
    places
        ``{doc_id: place}`` of every chunk; each a `Place` or ``(document, start, end)``.

    Raises
    ------
    InputError
        A span or a chunk ends before it begins, or begins before its document.

    Examples
    --------
    >>> spans = Spans({"q": [("guide", 40, 60)]}, {"c1": ("guide", 0, 50), "c2": ("guide", 50, 100)})
    >>> spans.grades("q")
    {'c1': 1, 'c2': 1}
    >>> spans.covered("q", [Place("guide", 0, 50)]), spans.length("q")
    (10, 20)
    """

    gold: Mapping[str, tuple[GoldSpan, ...]]
    places: Mapping[str, Place]
    _chunks: Mapping[str, tuple[tuple[str, Place], ...]] = field(repr=False)

    def __init__(
        self,
        gold: Mapping[str, Iterable[Sequence[object]]],
        places: Mapping[str, Sequence[object]],
    ) -> None:
        found = {query_id: tuple(GoldSpan(*span) for span in of_query) for query_id, of_query in gold.items()}  # type: ignore[arg-type]
        chunks = {doc_id: Place(*place) for doc_id, place in places.items()}  # type: ignore[arg-type]
        for what, (document, start, end) in [
            *(
                (f"a gold span of query {q!r}", span[:3])
                for q, of_query in found.items()
                for span in of_query
            ),
            *((f"chunk {doc_id!r}", place) for doc_id, place in chunks.items()),
        ]:
            if not 0 <= start < end:
                raise InputError(
                    f"{what} goes from {start} to {end} of {document!r}; allowed are 0 ≤ start < end"
                )
        of_document: dict[str, list[tuple[str, Place]]] = {}
        for doc_id, place in chunks.items():
            of_document.setdefault(place.document, []).append((doc_id, place))
        put = object.__setattr__
        put(self, "gold", found)
        put(self, "places", chunks)
        put(self, "_chunks", {document: tuple(of_one) for document, of_one in of_document.items()})

    def grades(self, query_id: str) -> dict[str, int]:
        """Return chunk → grade: the best grade of the gold spans that it overlaps."""
        found: dict[str, int] = {}
        for span in self.gold.get(query_id, ()):
            for doc_id, _ in self.chunks_of(span):
                found[doc_id] = max(span.grade, found.get(doc_id, span.grade))
        return found

    def chunks_of(self, span: GoldSpan) -> list[tuple[str, Place]]:
        """Return the chunks that a gold span overlaps, in the order of the document."""
        held = [chunk for chunk in self._chunks.get(span.document, ()) if overlap(span, chunk[1])]
        return sorted(held, key=lambda chunk: (chunk[1].start, chunk[1].end, chunk[0]))

    def length(self, query_id: str, level: int = 1) -> int:
        """Return how many characters the gold spans of a grade hold, those of two spans once."""
        return self.covered(query_id, [Place(*span[:3]) for span in self.gold.get(query_id, ())], level)

    def covered(self, query_id: str, places: Iterable[Place | None], level: int = 1) -> int:
        """Return how many characters of the gold spans of a grade lie in some places, each counted once."""
        by_document: dict[str, list[tuple[int, int]]] = {}
        for place in places:
            if place is not None:
                by_document.setdefault(place.document, []).append((place.start, place.end))
        gold: dict[str, list[tuple[int, int]]] = {}
        for span in self.gold.get(query_id, ()):
            if span.grade >= level:
                gold.setdefault(span.document, []).append((span.start, span.end))
        return sum(
            max(0, min(end, stop) - max(start, begin))
            for document, spans in gold.items()
            for start, end in _merged(spans)
            for begin, stop in _merged(by_document.get(document, []))
        )

    def boundaries_in(self, span: GoldSpan) -> tuple[int, ...]:
        """Return the chunk boundaries that cut a gold span; none where one chunk holds the whole of it."""
        chunks = [place for _, place in self.chunks_of(span)]
        if any(place.start <= span.start and span.end <= place.end for place in chunks):
            return ()
        cuts = {offset for place in chunks for offset in (place.start, place.end)}
        return tuple(sorted(offset for offset in cuts if span.start < offset < span.end))

    def cut(self) -> list[tuple[str, GoldSpan, tuple[int, ...]]]:
        """Return the gold spans that no chunk holds whole: query, span, and the boundaries that cut it.

        A span that lies in no chunk at all has no boundaries.
        """
        return [
            (query_id, span, self.boundaries_in(span))
            for query_id, of_query in self.gold.items()
            for span in of_query
            if not any(p.start <= span.start and span.end <= p.end for _, p in self.chunks_of(span))
        ]


def overlap(one: Place | GoldSpan, other: Place | GoldSpan) -> int:
    """Return how many characters two passages share.

    Examples
    --------
    >>> overlap(Place("a", 0, 10), Place("a", 8, 20)), overlap(Place("a", 0, 10), Place("b", 8, 20))
    (2, 0)
    """
    if one.document != other.document:
        return 0
    return max(0, min(one.end, other.end) - max(one.start, other.start))


def _merged(passages: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return passages in order, those that touch as one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(passages):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
