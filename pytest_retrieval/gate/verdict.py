"""Verdicts: what the gate says of a cell. One predicate decides both the text and the outcome."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import final

from pytest_retrieval.gate.cells import Cell
from pytest_retrieval.gate.difference import QueryChange

__all__ = [
    "DECIMALS",
    "DESCRIBED",
    "ERROR",
    "HELD",
    "IMPROVED",
    "PASSING",
    "REGRESSED",
    "STALE",
    "UNDECIDED",
    "UNPINNED",
    "VANISHED",
    "Counts",
    "Flip",
    "Overall",
    "Verdict",
    "status_of",
    "worse_by",
]

HELD, IMPROVED = "held", "improved"
REGRESSED, UNDECIDED = "regressed", "undecided"
ERROR, STALE, UNPINNED, VANISHED = "error", "stale", "unpinned", "vanished"
DESCRIBED = "described"
"""Of a class of queries that is printed and not gated."""

PASSING = frozenset({HELD, IMPROVED})
"""Verdicts of a cell whose test passes."""

DECIMALS = 12
"""Differences are rounded to this many decimals before they are compared with anything."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a reader should know of the queries behind a mean."""

    queries: int = 0
    undefined: int = 0
    missing: int = 0
    unjudged: int = 0
    results: int = 0
    tied: int = 0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """What it would take to undo a red without touching the retriever.

    Attributes
    ----------
    documents
        (query, document, rank) to judge relevant, the most telling first; empty where no judging could. The
        rank is today's, or the pinned one where judging would turn a passing cell red.
    unjudged
        Results in the windows of that ranking that nobody judged.
    predicted
        How many of them the relevant share of its judged results predicts to be relevant.
    by_ties
        Queries whose documents of equal score, ordered otherwise, would undo it; empty where they would not.
    """

    documents: tuple[tuple[str, str, int], ...] = ()
    unjudged: int = 0
    predicted: float = 0.0
    by_ties: tuple[str, ...] = ()

    @property
    def undecides(self) -> bool:
        """Whether the red rests on something that nobody knows."""
        return bool(self.by_ties) or 0 < len(self.documents) <= self.predicted


@final
@dataclass(frozen=True, slots=True)
class Overall:
    """The same measure over every gated query, to stand beside a stratum's."""

    before: float
    after: float
    n: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the gate says of one cell.

    Attributes
    ----------
    status
        ``held``, ``improved``, ``regressed``, ``undecided``, ``error``, ``stale``, ``unpinned`` or
        ``vanished``; ``described`` where nothing is gated.
    k
        The measure's cutoff.
    message
        Why, where there are no numbers to show.
    pinned
        The value in pins.toml.
    before, after
        Means over the paired queries, the pinned rankings scored under today's judgments, and today's.
    n
        Paired queries.
    lost, gained, unchanged
        How many of them.
    changes
        Queries whose score changed, worst first.
    p, smallest_p
        Exact paired p of a drop (one-sided), and the smallest that this many changed queries allow.
    best
        Best value ever pinned under these judgments.
    attainable
        Best mean any ranking could get.
    notes
        What else was different: catalog, queries on one side only.
    flip
        What it would take to undo a red, or to make one of a passing cell.
    is_rechunked
        Whether a pinned cell goes by the ids of chunks that are cut otherwise today, so that it can only be
        pinned anew.
    band, retrievals
        The noise band of the pin and how many retrievals it was measured over, 0 and None unless measured; a
        drop within tolerance and band is held.
    repeats
        How many retrievals `after` is the mean of.
    is_new
        Whether a pinned cell lost every query that it was pinned over, so that pinning it anew hides nothing.
    """

    cell: Cell
    status: str
    k: int | None = None
    message: str = ""
    higher_is_better: bool = True
    pinned: float | None = None
    before: float = math.nan
    after: float = math.nan
    n: int = 0
    lost: int = 0
    gained: int = 0
    unchanged: int = 0
    tolerance: float = 0.0
    changes: tuple[QueryChange, ...] = ()
    overall: Overall | None = None
    p: float | None = None
    smallest_p: float | None = None
    best: float | None = None
    attainable: float = math.nan
    counts: Counts = field(default_factory=Counts)
    notes: tuple[str, ...] = ()
    flip: Flip | None = None
    is_new: bool = False
    is_rechunked: bool = False
    band: float = 0.0
    retrievals: int | None = None
    repeats: int = 1

    @property
    def can_be_pinned(self) -> bool:
        """Whether there is anything that pinning could accept: a cell judged, new, or only cut otherwise."""
        if self.status == ERROR:
            return self.is_new or self.is_rechunked
        return self.status != STALE

    @property
    def within_noise(self) -> bool:
        """Whether the cell fell by more than the tolerance and is held for its noise band alone."""
        worse = worse_by(self.before, self.after, self.higher_is_better)
        return self.passes and self.tolerance < worse <= self.tolerance + self.band

    @property
    def gold_changed(self) -> float:
        """How much of the difference to the pinned value came from judgments, queries and strata."""
        return math.nan if self.pinned is None else self.before - self.pinned

    @property
    def ranking_changed(self) -> float:
        """How much of the difference to the pinned value came from the rankings: what decides."""
        return self.after - self.before

    @property
    def passes(self) -> bool:
        """Whether the cell's test passes."""
        return self.status in PASSING


def worse_by(before: float, after: float, higher_is_better: bool) -> float:
    """Return how much worse `after` is, in the measure's own direction, rounded to 12 decimals.

    Examples
    --------
    >>> worse_by(0.8, 0.7, True), worse_by(0.8, 0.7, False)
    (0.1, -0.1)
    """
    return round(before - after if higher_is_better else after - before, DECIMALS) + 0.0


def status_of(worse: float, tolerance: float, *, counts: bool = True, band: float = 0.0) -> str:
    """Return held, improved or regressed: the one predicate of the gate.

    Parameters
    ----------
    worse
        How much the mean fell, in the measure's own direction (`worse_by`).
    tolerance
        Largest fall that is held.
    counts
        Whether a fall counts; under a statistical rule only an established one does.
    band
        Noise band: a fall within tolerance and band is held, and so is a rise within the band.
    """
    if worse > round(tolerance + band, DECIMALS) and counts:
        return REGRESSED
    return IMPROVED if worse < -band else HELD
