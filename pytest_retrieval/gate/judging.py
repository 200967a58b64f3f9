"""Judging: one subject's cells, as pinned and as they are, held against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from pytest_retrieval.errors import counted, listed
from pytest_retrieval.gate.cells import Cell
from pytest_retrieval.gate.difference import QueryChange, changes_of, worst_first
from pytest_retrieval.gate.faults import cut_otherwise, forged, infeasible, too_little_judged
from pytest_retrieval.gate.passages import SPAN_KINDS, lost_spans, rechunked
from pytest_retrieval.gate.pin import ESTABLISHED, Pin, Pins, pinned_run, short
from pytest_retrieval.gate.ruler import input_notes, pairing, ruler_notes
from pytest_retrieval.gate.sides import Sides, sides_of
from pytest_retrieval.gate.undecided import flip_of, reddening_of
from pytest_retrieval.gate.verdict import (
    DECIMALS,
    DESCRIBED,
    ERROR,
    PASSING,
    REGRESSED,
    UNDECIDED,
    UNPINNED,
    VANISHED,
    Verdict,
    status_of,
    worse_by,
)
from pytest_retrieval.measures.notation import Measure
from pytest_retrieval.measures.table import evaluate, mean_of
from pytest_retrieval.model.goldset import GoldSet
from pytest_retrieval.model.run import Run
from pytest_retrieval.stats.signflip import sign_flip, smallest_p

__all__ = ["judge", "must_fallen"]

_MOST_SPANS = 10
"""Queries whose gold spans a failure tells of."""


def judge(
    goldset: GoldSet,
    subject: str,
    measures: Sequence[Measure],
    run: Run,
    pins: Pins,
    cells: Sequence[Cell],
    described: Sequence[Cell] = (),
    again: Sequence[Run] = (),
) -> dict[Cell, Verdict]:
    """Return the verdict on every cell of one subject.

    Queries are paired by id. Both sides are scored under today's judgments and classed by today's strata.

    Parameters
    ----------
    goldset
        As it is today.
    subject, measures
        What is judged.
    run
        Today's rankings, without faults (`fault_of`).
    pins
        What was pinned.
    cells
        The subject's declared and pinned cells.
    described
        Cells that are printed and not gated.
    again
        Further retrievals by the same subject: today's scores are then the mean over all.
    """
    sides = sides_of(goldset, subject, measures, run, pins, again)
    found = {}
    for cell in cells:
        measure = next((m for m in measures if m.name == cell.measure), None)
        queries = sides.by_name.get(cell.stratum)
        if measure is None or queries is None:
            gone = f"measure {cell.measure}" if measure is None else f"stratum {cell.stratum}"
            found[cell] = Verdict(
                cell=cell,
                status=VANISHED,
                message=f"pinned, but {gone} is no longer part of the gold set",
                pinned=pins.cells[cell].value,
            )
            continue
        found[cell] = _verdict(sides, cell, measure, queries, pins.cells.get(cell))
    for cell in described:
        measure = next(m for m in measures if m.name == cell.measure)
        found[cell] = _description(sides, cell, measure)
    return found


def must_fallen(
    goldset: GoldSet, subject: str, measure: Measure, run: Run, pins: Pins
) -> tuple[QueryChange, ...]:
    """Return the must-queries whose primary score is worse than the pinned one."""
    evidence = pins.evidence.get(subject, {})
    paired = [query_id for query_id in pairing(goldset, evidence).paired if query_id in goldset.must]
    if not paired:
        return ()
    qrels = goldset.qrels.select(paired)
    now = evaluate(qrels, run.select(paired), [measure]).values[:, 0].tolist()
    then = (
        evaluate(qrels, pinned_run({q: evidence[q] for q in paired}, [measure]), [measure])
        .values[:, 0]
        .tolist()
    )
    fallen = {
        query_id: (before, after)
        for query_id, before, after in zip(paired, then, now, strict=True)
        if worse_by(before, after, measure.higher_is_better) > 0
    }
    return changes_of(goldset, evidence, run, fallen, measure.level or goldset.qrels.relevance_level)


def _verdict(sides: Sides, cell: Cell, measure: Measure, queries: Sequence[str], pin: Pin | None) -> Verdict:
    """Return the verdict on one cell."""
    today = _today(sides, cell, measure, queries)
    if pin is None:
        return replace(today, status=UNPINNED, message="declared, and never pinned")
    pairs, halves = sides.pairs(measure, queries)
    if not pairs:
        is_new = not sides.members(cell.stratum)
        why = "pinned, but no query has a score on both sides, so nothing can be compared"
        if is_new:
            why = "pinned, but none of its queries was pinned as it is today, so nothing can be compared"
        if not sides.evidence:
            why = "the pin has no evidence that could be scored under today's judgments: pin it again"
        return replace(today, status=ERROR, message=why, pinned=pin.value, notes=sides.notes, is_new=is_new)
    why = cut_otherwise(sides, measure, pairs)
    if why:
        notes = sides.notes
        return replace(today, status=ERROR, message=why, pinned=pin.value, notes=notes, is_rechunked=True)
    why = forged(sides, measure, pin, pairs)
    if why:
        return replace(today, status=ERROR, message=why, pinned=pin.value, notes=sides.notes)
    return _compared(sides, today, measure, pin, pairs, halves)


def _description(sides: Sides, cell: Cell, measure: Measure) -> Verdict:
    """Return the numbers of a class of queries that is not gated."""
    queries = sides.by_name[cell.stratum]
    pairs, _ = sides.pairs(measure, queries)
    before = mean_of(was for was, _ in pairs.values())
    return replace(_today(sides, cell, measure, queries), status=DESCRIBED, before=before)


def _today(sides: Sides, cell: Cell, measure: Measure, queries: Sequence[str]) -> Verdict:
    """Return what today's ranking alone says of a cell."""
    rows, column = sides.rows(queries), sides.now.column(measure)
    counts = sides.counts(measure, queries)
    return Verdict(
        cell=cell,
        status=UNPINNED,
        k=measure.k,
        higher_is_better=measure.higher_is_better,
        after=mean_of(sides.now.values[rows, column].tolist()),
        n=len(rows) - counts.undefined,
        attainable=mean_of(sides.now.attainable[rows, column].tolist()),
        counts=counts,
    )


def _compared(
    sides: Sides,
    today: Verdict,
    measure: Measure,
    pin: Pin,
    pairs: Mapping[str, tuple[float, float]],
    halves: tuple[str, ...],
) -> Verdict:
    before = mean_of(was for was, _ in pairs.values())
    after = mean_of(now for _, now in pairs.values())
    sign = 1.0 if measure.higher_is_better else -1.0
    moved = {q: (was, now) for q, (was, now) in pairs.items() if round(now - was, DECIMALS) != 0}
    lost = sum(1 for was, now in moved.values() if sign * (now - was) < 0)
    tolerance = sides.goldset.tolerance if pin.tolerance is None else pin.tolerance
    gains = np.array([sign * (now - was) for was, now in pairs.values()])
    level = measure.level or sides.goldset.qrels.relevance_level
    ordered = {query_id: moved[query_id] for query_id in worst_first(moved, sign)}
    worse = worse_by(before, after, measure.higher_is_better)
    p = sign_flip(gains, alternative="less").p
    statistical = pin.rule == ESTABLISHED
    why = infeasible(pin, len(pairs), sides.threshold)
    if why:
        return replace(today, status=ERROR, message=why, pinned=pin.value, before=before, after=after)
    counts = not statistical or p < sides.threshold
    band = pin.noise or 0.0
    allowed = tolerance + band
    fell = f"{today.cell} fell by {worse:.3g}, not established for other queries like these: p {p:.3g}"
    why = too_little_judged(sides, measure, pairs)
    status = status_of(worse, tolerance, counts=counts, band=band)
    flip = None
    single = sides.repeats == 1  # of means over several retrievals no single judgment can be told
    if status == REGRESSED and single:
        flip = flip_of(sides.goldset, measure, sides.evidence, sides.run, pairs, allowed)
    if why or (flip is not None and flip.undecides):
        status = UNDECIDED
    if status in PASSING and not statistical and single:
        flip = reddening_of(sides.goldset, measure, sides.evidence, sides.run, pairs, allowed)
    return replace(
        today,
        status=status,
        message=why,
        flip=flip,
        pinned=pin.value,
        before=before,
        after=after,
        n=len(pairs),
        lost=lost,
        gained=len(moved) - lost,
        unchanged=len(pairs) - len(moved),
        tolerance=tolerance,
        band=band,
        retrievals=pin.retrievals,
        repeats=sides.repeats,
        changes=changes_of(sides.goldset, sides.evidence, sides.run, ordered, level),
        overall=sides.overall(measure),
        p=p,
        smallest_p=smallest_p(len(moved), "less"),
        best=pin.best if pin.judgments == short(sides.goldset.digests.judgments) else None,
        notes=(
            *ruler_notes(
                sides.goldset, pin, sides.paired, sides.members(today.cell.stratum), today.cell.stratum
            ),
            *input_notes(sides.goldset, pin, sides.gone),
            *sides.notes,
            *halves,
            *([fell] if worse > round(allowed, DECIMALS) and not counts else []),
            *_span_notes(sides, measure, ordered, sign, level, pairs),
            *_noise_notes(sides, today.cell, pin, before, worse, tolerance, status, measure.higher_is_better),
        ),
    )


def _span_notes(
    sides: Sides,
    measure: Measure,
    changed: Mapping[str, tuple[float, float]],
    sign: float,
    level: int,
    pairs: Mapping[str, tuple[float, float]],
) -> tuple[str, ...]:
    """Return which gold spans are covered less than before, and whether chunks are others."""
    if measure.kind.name not in SPAN_KINDS:
        return _spans_changed(sides, measure, pairs)
    moved = rechunked(sides.goldset, sides.paired)
    note = (
        f"input changed: {counted(len(moved), 'chunk', 'chunks')} of the pinned rankings cut otherwise"
        f" today; both sides are compared by characters: {listed(moved, 3)}"
    )
    fallen = [query_id for query_id, (was, now) in changed.items() if sign * (now - was) < 0][:_MOST_SPANS]
    lost = lost_spans(sides.goldset, sides.evidence, sides.run, fallen, measure.k, level)
    return (*_spans_changed(sides, measure, pairs), *((note,) if moved else ()), *lost)


def _spans_changed(
    sides: Sides, measure: Measure, pairs: Mapping[str, tuple[float, float]]
) -> tuple[str, ...]:
    """Return which pinned rankings score otherwise under today's gold spans: evidence does not keep those."""
    if sides.goldset.qrels.spans is None:
        return ()
    changed = [
        f"{query_id} {score:.3f} → {was:.3f}"
        for query_id, (was, _) in pairs.items()
        if (score := sides.evidence[query_id].scores.get(measure.name)) is not None
        and round(score - was, DECIMALS) != 0
    ]
    if not changed:
        return ()
    return (
        "ruler changed: gold spans, their grades or the level, and with them what the pinned rankings score"
        f" for {counted(len(changed), 'query', 'queries')}: {listed(changed, 5)}",
    )


def _noise_notes(
    sides: Sides,
    cell: Cell,
    pin: Pin,
    before: float,
    worse: float,
    tolerance: float,
    status: str,
    higher_is_better: bool,
) -> tuple[str, ...]:
    """Return what to know of a subject that does not always return the same."""
    if pin.noise is None:
        why = (
            f"{cell.subject} differs between {sides.repeats} retrievals, and {cell} was pinned without a"
            " noise band: pin it anew"
        )
        return (why,) if sides.differs else ()
    notes: list[str] = []
    if status in PASSING and tolerance < worse:
        notes.append(
            f"{cell} fell by {worse:.3g}, within noise: its band is {pin.noise:.3g}, measured over"
            f" {pin.retrievals} retrievals"
        )
    if higher_is_better and 0 < before <= round(tolerance + pin.noise, DECIMALS) and pin.noise > 0:
        notes.append(
            f"{cell} can never fail: it stands at {before:.3g}, and its noise band of {pin.noise:.3g} reaches"
            " down to 0; fix the seed or search exactly, and pin it anew, or gate a larger class of queries"
        )
    return tuple(notes)
