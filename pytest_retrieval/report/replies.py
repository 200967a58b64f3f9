"""Rows of the summary for a recording's replies: what is described per class of queries and never gated."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_retrieval.gate.cells import groups
from pytest_retrieval.measures.answer_table import quantiles_of
from pytest_retrieval.model.goldset import GoldSet
from pytest_retrieval.model.records import Answer, Recording, Trace
from pytest_retrieval.report.scorecard import ReplyRow

__all__ = ["reply_rows"]


def reply_rows(goldset: GoldSet, subject: str, recording: Recording, context: str) -> tuple[ReplyRow, ...]:
    """Return a row per class of queries that has a reply.

    Parameters
    ----------
    goldset
        Whose gated queries and classes count.
    subject
        Recording and context, as it is gated.
    recording, context
        Whose replies are described.
    """
    by_query: dict[str, list[Answer | Trace]] = {}
    every: Sequence[Answer | Trace] = recording.answers or recording.traces
    for record in every:
        if record.context == context:
            by_query.setdefault(record.query_id, []).append(record)
    rows = []
    for stratum, members in groups(goldset).items():
        records = [record for query_id in members for record in by_query.get(query_id, ())]
        if not records:
            continue
        tops = [max(r.scores) for r in records if isinstance(r, Answer) and r.scores]
        rows.append(
            ReplyRow(
                goldset=goldset.name,
                subject=subject,
                stratum=stratum,
                replies=len(records),
                nothing=sum(not _chosen(record) for record in records) / len(records),
                latency=_quantiles([r.latency for r in records if r.latency is not None], (50, 95)),
                top_score=_quantiles(tops, (10, 50, 90)),
                unusable=sum(_unusable(record) for record in records),
            )
        )
    return tuple(rows)


def _chosen(record: Answer | Trace) -> tuple[str, ...]:
    return record.cited_ids if isinstance(record, Answer) else record.picks


def _unusable(record: Answer | Trace) -> bool:
    return bool(record.error) if isinstance(record, Answer) else record.outcome == "failed"


def _quantiles(values: Sequence[float], percents: Sequence[int]) -> tuple[float, ...] | None:
    return tuple(quantiles_of("", values, percents).values()) if values else None
