"""Pinning one cell: whether this session pins it, and the evidence that the controller is to keep for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_retrieval.gate.cells import SLICE, Cell, groups
from pytest_retrieval.gate.judging import must_fallen
from pytest_retrieval.gate.pin import evidence_of
from pytest_retrieval.gate.repin import depth_fault
from pytest_retrieval.gate.verdict import (
    DESCRIBED,
    REGRESSED,
    UNDECIDED,
    UNPINNED,
    VANISHED,
    Verdict,
    worse_by,
)
from pytest_retrieval.model.goldset import ALL
from pytest_retrieval.plugin.settings import PIN_ALL, PIN_NEW, PIN_RAISE

if TYPE_CHECKING:
    from pytest_retrieval.gate.difference import QueryChange
    from pytest_retrieval.plugin.bench import Bench

__all__ = ["evidence", "fault_of_depth", "is_pinned"]


def is_pinned(verdict: Verdict, mode: str) -> bool:
    """Return whether a session that pins in this mode pins a cell, so that its test passes."""
    if not mode or not verdict.can_be_pinned:
        return False
    if verdict.status in (REGRESSED, UNDECIDED) or verdict.is_rechunked:
        return mode == PIN_ALL
    return True


def fault_of_depth(bench: Bench, verdict: Verdict) -> str:
    """Return why a new measure cannot be scored from the rankings that are pinned already, or nothing."""
    if verdict.status != UNPINNED or bench.session.settings.pin == PIN_ALL:
        return ""
    cell = verdict.cell
    pinned = bench.pins.evidence.get(cell.subject, {})
    members = groups(bench.goldset).get(cell.stratum, ())
    measure = next(m for m in bench.measures(cell.subject) if m.name == cell.measure)
    return depth_fault(measure, {query: pinned[query] for query in members if query in pinned})


def evidence(bench: Bench, verdict: Verdict, *, pinned: bool) -> dict[str, Any]:
    """Return what pinning a cell would keep, for the item's payload; nothing in a session that pins nothing.

    Parameters
    ----------
    bench
        What the cell was judged with.
    verdict
        On the cell.
    pinned
        Whether the cell is pinned, and not only its rankings refreshed.

    Raises
    ------
    RetrievalError
        Its subject, retrieved again to measure its noise, failed.
    """
    session, cell = bench.session, verdict.cell
    if verdict.status == VANISHED:
        return {"gone": [list(cell)] if pinned else []}
    if not session.settings.pin or not verdict.can_be_pinned:
        return {}
    goldset = bench.goldset
    run, measures = bench.run(cell.subject), bench.measures(cell.subject)
    lines = session.evidence(
        (goldset.name, cell.subject),
        run,
        lambda: evidence_of(goldset, run, measures, goldset.gated_queries),
    )
    accepted = _accepted(bench, cell)
    of_cell = [lines[query].plain() for query in groups(goldset)[cell.stratum]]
    kept = {"evidence": of_cell, "accepted": accepted}
    if pinned and (verdict.status == UNPINNED or verdict.is_new or accepted):
        number, bands = bench.noise(cell.subject)
        kept["noise"] = [bands.get(cell, 0.0), number] if number else [None, None]
    return kept


def _accepted(bench: Bench, cell: Cell) -> list[str]:
    """Return the queries whose pinned rankings are to be replaced by today's."""
    mode, goldset = bench.session.settings.pin, bench.goldset
    by_name = groups(goldset)
    if mode == PIN_ALL:
        return list(by_name[cell.stratum])
    strata = set((goldset.qrels.strata or {}).values()) or {ALL}
    if mode == PIN_NEW or cell.stratum not in strata:
        return []
    assert mode == PIN_RAISE
    primary, run = bench.measures(cell.subject)[0], bench.run(cell.subject)
    fallen = {q.query_id for q in must_fallen(goldset, cell.subject, primary, run, bench.pins)}
    risen: set[str] = set()
    for other, verdict in bench.verdicts(cell.subject).items():
        if verdict.status == DESCRIBED:
            continue
        if other.stratum != cell.stratum and not other.stratum.startswith(SLICE):
            continue
        worse = worse_by(verdict.before, verdict.after, verdict.higher_is_better)
        if worse > verdict.band:
            fallen |= set(by_name[other.stratum])
        elif worse < -verdict.band:
            risen |= {change.query_id for change in verdict.changes if _rose(verdict, change)}
    members = set(by_name[cell.stratum])
    return list(by_name[cell.stratum]) if members & risen and not members & fallen else []


def _rose(verdict: Verdict, change: QueryChange) -> bool:
    return worse_by(change.before, change.after, verdict.higher_is_better) < 0
