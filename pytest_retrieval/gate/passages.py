"""What became of gold spans: which characters a ranking no longer covers, and which boundary cut them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_retrieval.errors import counted, listed
from pytest_retrieval.gate.pin import Evidence
from pytest_retrieval.model.goldset import GoldSet
from pytest_retrieval.model.run import Run
from pytest_retrieval.model.spans import GoldSpan, Place, Spans

__all__ = ["SPAN_KINDS", "cut_note", "lost_spans", "rechunked"]

SPAN_KINDS = frozenset({"span_recall"})
"""Measures that read places, not ids, and so hold across chunkings."""


def rechunked(goldset: GoldSet, evidence: Mapping[str, Evidence]) -> tuple[str, ...]:
    """Return the chunks of pinned rankings that stand elsewhere today, or nowhere."""
    spans = goldset.qrels.spans
    if spans is None:
        return ()
    moved = {
        doc_id
        for line in evidence.values()
        for doc_id, place in zip(line.ranking, line.places, strict=False)
        if spans.places.get(doc_id) != place
    }
    return tuple(sorted(moved))


def cut_note(spans: Spans) -> tuple[str, ...]:
    """Return a sentence on the gold spans that no chunk holds whole, if there are any."""
    cut = spans.cut()
    if not cut:
        return ()
    total = sum(len(of_query) for of_query in spans.gold.values())
    shown = listed((f"{query_id} {_span(span)}{_at(cuts)}" for query_id, span, cuts in cut), most=3)
    return (f"{len(cut)} of {counted(total, 'gold span', 'gold spans')} in no chunk as a whole: {shown}",)


def lost_spans(
    goldset: GoldSet,
    evidence: Mapping[str, Evidence],
    run: Run,
    queries: Sequence[str],
    k: int | None,
    level: int,
) -> tuple[str, ...]:
    """Return a sentence per gold span that is covered less than when it was pinned, for some queries."""
    spans = goldset.qrels.spans
    if spans is None:
        return ()
    notes = []
    for query_id in queries:
        before = evidence[query_id].places[:k]
        after = [spans.places.get(doc_id) for doc_id in run.get(query_id, ())[:k]]
        for span in spans.gold.get(query_id, ()):
            if span.grade < level:
                continue
            one = Spans({query_id: [span]}, {})
            then, now = one.covered(query_id, before), one.covered(query_id, after)
            if now < then:
                notes.append(
                    f"{query_id}: {_span(span)}: {then} → {now} of {span.end - span.start} characters"
                    f" covered{_at(spans.boundaries_in(span), spans.chunks_of(span))}"
                )
    return tuple(notes)


def _span(span: GoldSpan) -> str:
    return f"{span.document} {span.start}–{span.end}"


def _at(cuts: Sequence[int], chunks: Sequence[tuple[str, Place]] = ()) -> str:
    if not cuts:
        return ""
    names = " | ".join(doc_id for doc_id, _ in chunks)
    return f"; cut at {listed(cuts)}" + (f" ({names})" if names else "")
