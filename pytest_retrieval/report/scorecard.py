"""The scorecard: one row per cell, as plain values that travel between processes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, final

from pytest_retrieval.gate.verdict import Verdict

__all__ = ["CellRow", "ReplyRow", "StageRow", "row_of"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CellRow:
    """What the summary says of one cell; None where there is no number.

    Attributes
    ----------
    k
        The measure's cutoff.
    n, queries
        Queries with a score, and all of the stratum's.
    before, after
        Pinned rankings and today's, both under today's judgments.
    undefined, missing, tied
        Queries without a score, without results, and with documents of equal score on both sides of k.
    unjudged, results
        Results in the top k that nobody judged, of how many.
    near, dropped
        How many results that dropped out would have to be judged relevant to turn a passing cell red, if as
        many are likely to be, and the most telling of them; 0 where that is far.
    """

    goldset: str
    subject: str
    measure: str
    stratum: str
    status: str
    k: int | None
    n: int
    queries: int
    before: float | None
    after: float | None
    attainable: float | None
    undefined: int
    missing: int
    unjudged: int
    results: int
    tied: int
    near: int = 0
    dropped: str = ""
    notes: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return the row as JSON can hold it."""
        return {**asdict(self), "notes": list(self.notes)}

    @classmethod
    def from_plain(cls, value: Mapping[str, Any]) -> CellRow:
        """Return the row that `plain` made."""
        known = {field.name for field in fields(cls)}
        row = {name: of_row for name, of_row in value.items() if name in known}
        return cls(**{**row, "notes": tuple(row.get("notes", ()))})


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StageRow:
    """What the summary says of one stage of a pipeline over one stratum; None where there is no number.

    Attributes
    ----------
    shallow, deep
        Names of two measures: at the depth of the prompt, and at the depth of the candidates.
    at_shallow, at_deep
        Their means.
    latency
        Mean seconds, where the stage says them.
    """

    goldset: str
    subject: str
    stage: str
    stratum: str
    shallow: str
    deep: str
    at_shallow: float | None
    at_deep: float | None
    latency: float | None = None

    def plain(self) -> dict[str, Any]:
        """Return the row as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_plain(cls, value: Mapping[str, Any]) -> StageRow:
        """Return the row that `plain` made."""
        return cls(**value)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyRow:
    """What the summary describes of a recording's replies over one class of queries; nothing here is gated.

    Attributes
    ----------
    replies
        How many there are.
    nothing
        Share of them that cite, or pick, nothing.
    latency
        Median and 95 % quantile in seconds; None where nobody measured.
    top_score
        10 %, 50 % and 90 % quantile of the highest score in a context; None without scores.
    unusable
        How many could not be used, or failed: they cite and pick nothing as if that were said.
    """

    goldset: str
    subject: str
    stratum: str
    replies: int
    nothing: float
    latency: tuple[float, ...] | None = None
    top_score: tuple[float, ...] | None = None
    unusable: int = 0

    def plain(self) -> dict[str, Any]:
        """Return the row as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_plain(cls, value: Mapping[str, Any]) -> ReplyRow:
        """Return the row that `plain` made, whatever JSON made of it since."""
        quantiles = {name: tuple(value[name]) for name in ("latency", "top_score") if value[name] is not None}
        return cls(**{**value, **quantiles})


def row_of(goldset: str, verdict: Verdict, status: str = "") -> CellRow:
    """Return the summary of a verdict; a status given stands in place of its own."""
    flip = verdict.flip if verdict.passes else None
    near = flip.documents if flip is not None and flip.undecides else ()
    return CellRow(
        goldset=goldset,
        subject=verdict.cell.subject,
        measure=verdict.cell.measure,
        stratum=verdict.cell.stratum,
        status=status or verdict.status,
        k=verdict.k,
        n=verdict.n,
        queries=verdict.counts.queries,
        before=_number(verdict.before),
        after=_number(verdict.after),
        attainable=_number(verdict.attainable),
        undefined=verdict.counts.undefined,
        missing=verdict.counts.missing,
        unjudged=verdict.counts.unjudged,
        results=verdict.counts.results,
        tied=verdict.counts.tied,
        near=len(near),
        dropped=" ".join(near[0][:2]) if near else "",
        notes=verdict.notes,
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
