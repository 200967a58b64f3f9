"""Judging: one subject's rankings, as pinned and as they are, scored alike and held against each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from pytest_retrieval.errors import InputError, counted, listed
from pytest_retrieval.gate.cells import Cell, groups
from pytest_retrieval.gate.difference import QueryChange, changes_of, worst_first
from pytest_retrieval.gate.noise import differing, mean_table
from pytest_retrieval.gate.passages import SPAN_KINDS, lost_spans, rechunked
from pytest_retrieval.gate.pin import (
    ESTABLISHED,
    Evidence,
    Pin,
    Pins,
    pinned_run,
    rule_threshold,
    short,
)
from pytest_retrieval.gate.ruler import input_notes, judgment_changes, pairing, ruler_notes, strays
from pytest_retrieval.gate.undecided import flip_of, mean_judged, reddening_of
from pytest_retrieval.gate.verdict import (
    DECIMALS,
    DESCRIBED,
    ERROR,
    PASSING,
    REGRESSED,
    UNDECIDED,
    UNPINNED,
    VANISHED,
    Counts,
    Overall,
    Verdict,
    status_of,
    worse_by,
)
from pytest_retrieval.measures.notation import Measure
from pytest_retrieval.measures.ranking import straddling
from pytest_retrieval.measures.table import ScoreTable, evaluate, mean_of
from pytest_retrieval.model import ALL, GoldSet, Run
from pytest_retrieval.stats.signflip import sign_flip, smallest_p

SAME = 1e-9
"""Scores closer than this are the same; they were made by the same code, perhaps on another machine."""

_MOST_SPANS = 10
"""Queries whose gold spans a failure tells of."""

_TAKE_BACK = "take pins/ back from version control, or delete the pins and pin again"

__all__ = ["fault_of", "infeasible", "judge", "must_fallen"]


def fault_of(goldset: GoldSet, run: Run) -> str:
    """Return why a run cannot be judged at all, or an empty string.

    A run that returned nothing for every query, documents that are not in the catalog, or one document
    twice for one query is a fault of the retriever, not a regression. A recording was checked when it was
    read, and what it cites outside its context is a score, not a fault.
    """
    gated = goldset.gated_queries
    if run.replies:
        answered = any(query_id in run.replies for query_id in gated)
        return "" if answered else f"the recording answers none of the {len(gated)} gated queries"
    if all(query_id not in run or not run[query_id] for query_id in gated):
        which = "the only query" if len(gated) == 1 else f"each of the {len(gated)} queries"
        return f"the retriever returned nothing for {which}"
    try:
        evaluate(goldset.qrels, run, ["judged@1"])
    except InputError as error:
        return str(error)
    known = goldset.doc_ids
    if known is None:
        return ""
    strange = {doc_id for doc_id in run.doc_ids.tolist() if doc_id not in known}
    if not strange:
        return ""
    places = [
        f"{query_id!r} returned {listed(map(repr, found), most=3)}"
        for query_id in run.query_ids
        if (found := [doc_id for doc_id in run[query_id] if doc_id in strange])
    ]
    return (
        f"{counted(len(strange), 'returned id is', 'returned ids are')} not in the catalog of"
        f" {counted(len(known), 'document', 'documents')}: query"
        f" {listed(places, most=3)}. Index this catalog, or return the catalog's own ids"
    )


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
    evidence = pins.evidence.get(subject, {})
    gated = goldset.gated_queries
    meeting = pairing(goldset, evidence)
    paired = {query_id: evidence[query_id] for query_id in meeting.paired}
    of_gated = goldset.qrels.select(gated)
    now = mean_table([evaluate(of_gated, one.select(gated), measures) for one in (run, *again)])
    then = evaluate(goldset.qrels.select(paired), pinned_run(paired, measures), measures)
    sides = _Sides(
        goldset=goldset,
        run=run,
        evidence=evidence,
        paired=paired,
        now=now,
        place={query_id: row for row, query_id in enumerate(now.query_ids)},
        both={measure.name: _both(measure, now, then) for measure in measures},
        by_name=groups(goldset),
        notes=meeting.notes if evidence else (),
        threshold=rule_threshold(pins, goldset.alpha),
        gone=strays(goldset, evidence),
        repeats=1 + len(again),
        differs=any(differing(run, one, gated) for one in again),
    )
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
        found[cell] = sides.verdict(cell, measure, queries, pins.cells.get(cell))
    for cell in described:
        measure = next(m for m in measures if m.name == cell.measure)
        found[cell] = sides.description(cell, measure, sides.by_name[cell.stratum])
    return found


def infeasible(pin: Pin, n: int, threshold: float) -> str:
    """Return why a pin's statistical rule could never fail over n queries, or an empty string."""
    if pin.rule != ESTABLISHED or smallest_p(n, "less") < threshold:
        return ""
    return (
        f"rule = established can never fail here: {counted(n, 'query gives', 'queries give')} a p of"
        f" {smallest_p(n, 'less'):.2g} at the least; the threshold is {threshold:.2g}; add queries, have"
        " fewer such pins, or drop the rule"
    )


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


def _both(measure: Measure, now: ScoreTable, then: ScoreTable) -> dict[str, tuple[float, float]]:
    """Return query → (before, after), NaN where undefined, for the paired queries."""
    after = dict(zip(now.query_ids, now.values[:, now.column(measure)].tolist(), strict=True))
    before = then.values[:, then.column(measure)].tolist()
    return {query_id: (was, after[query_id]) for query_id, was in zip(then.query_ids, before, strict=True)}


@final
@dataclass(frozen=True, slots=True)
class _Sides:
    """One subject as it was and as it is, scored alike."""

    goldset: GoldSet
    run: Run
    evidence: Mapping[str, Evidence]
    paired: Mapping[str, Evidence]
    now: ScoreTable
    place: Mapping[str, int]
    both: Mapping[str, Mapping[str, tuple[float, float]]]
    by_name: Mapping[str, Sequence[str]]
    notes: tuple[str, ...]
    threshold: float
    gone: tuple[str, ...]
    repeats: int
    differs: bool

    def _members(self, stratum: str) -> list[str]:
        """Return the paired queries of a class, also those without a score: they have not left it."""
        return [query_id for query_id in self.by_name[stratum] if query_id in self.paired]

    def _too_little_judged(self, measure: Measure, pairs: Mapping[str, tuple[float, float]]) -> str:
        """Return why too few results are judged for any verdict, or an empty string."""
        least = self.goldset.min_judged
        if least is None:
            return ""
        share = mean_judged(self.goldset, measure, self.run, list(pairs))
        if share >= least:
            return ""
        return f"mean judged@{measure.k or self.goldset.depth} is {share:.3f}, below min_judged = {least:g}"

    def verdict(self, cell: Cell, measure: Measure, queries: Sequence[str], pin: Pin | None) -> Verdict:
        """Return the verdict on one cell."""
        today = self._today(cell, measure, queries)
        if pin is None:
            return replace(today, status=UNPINNED, message="declared, and never pinned")
        pairs, halves = self._pairs(measure, queries)
        if not pairs:
            is_new = not self._members(cell.stratum)
            why = (
                "pinned, but none of its queries was pinned as it is today, so nothing can be compared"
                if is_new
                else "pinned, but no query has a score on both sides, so nothing can be compared"
            )
            return replace(
                today, status=ERROR, message=why, pinned=pin.value, notes=self.notes, is_new=is_new
            )
        why = self._rechunked(measure, pairs)
        if why:
            notes = self.notes
            return replace(today, status=ERROR, message=why, pinned=pin.value, notes=notes, is_rechunked=True)
        why = self._forged(measure, pin, pairs)
        if why:
            return replace(today, status=ERROR, message=why, pinned=pin.value, notes=self.notes)
        return self._compared(today, measure, pin, pairs, halves)

    def _rechunked(self, measure: Measure, queries: Iterable[str]) -> str:
        """Return why a measure that goes by the ids of chunks cannot be compared, or an empty string."""
        if measure.kind.name in SPAN_KINDS:
            return ""
        moved = rechunked(self.goldset, {query_id: self.evidence[query_id] for query_id in queries})
        if not moved:
            return ""
        return (
            f"{counted(len(moved), 'chunk', 'chunks')} of the pinned rankings"
            f" {'is' if len(moved) == 1 else 'are'} cut otherwise today, and {measure.name} goes by the"
            f" ids of chunks: {listed(moved)}; measures of spans such as span_recall@{measure.k or 5} hold"
            " across chunkings, this one has to be pinned anew"
        )

    def _forged(self, measure: Measure, pin: Pin, pairs: Mapping[str, tuple[float, float]]) -> str:
        """Return why pinned scores do not follow from the pinned rankings, under the very same judgments."""
        lines = {query_id: self.evidence[query_id] for query_id in pairs}
        cut = [query_id for query_id, line in lines.items() if not (line.replies or line.holds(measure.k))]
        if cut:
            return (
                f"pins and evidence disagree: {measure.name} is pinned, and the rankings of {listed(cut)} are"
                f" not as long as it needs, or as `returned` says; {_TAKE_BACK}"
            )
        if pin.judgments != short(self.goldset.digests.judgments):
            return ""
        graded = dict.fromkeys(change[0] for change in judgment_changes(self.goldset, self.evidence, pairs))
        if graded:
            return (
                f"pins and evidence disagree: the grades of {listed(graded)} are not those of the judgments,"
                f" which are the same as when it was pinned; {_TAKE_BACK}"
            )
        stored = {query_id: self.evidence[query_id].scores.get(measure.name) for query_id in pairs}
        wrong = [
            query_id
            for query_id, score in stored.items()
            if score is not None and abs(score - pairs[query_id][0]) > SAME
        ]
        if not wrong:
            return ""
        return (
            f"pins and evidence disagree: the pinned {measure.name} of {listed(wrong)} does not follow from"
            f" the pinned ranking, though the judgments are the same; {_TAKE_BACK} if the measure itself"
            " changed"
        )

    def description(self, cell: Cell, measure: Measure, queries: Sequence[str]) -> Verdict:
        """Return the numbers of a class of queries that is not gated."""
        pairs, _ = self._pairs(measure, queries)
        before = mean_of(was for was, _ in pairs.values())
        return replace(self._today(cell, measure, queries), status=DESCRIBED, before=before)

    def _today(self, cell: Cell, measure: Measure, queries: Sequence[str]) -> Verdict:
        """Return what today's ranking alone says of a cell."""
        rows = [self.place[query_id] for query_id in queries]
        column = self.now.column(measure)
        counts = self._counts(measure, queries, rows, column)
        return Verdict(
            cell=cell,
            status=UNPINNED,
            k=measure.k,
            higher_is_better=measure.higher_is_better,
            after=mean_of(self.now.values[rows, column].tolist()),
            n=len(rows) - counts.undefined,
            attainable=mean_of(self.now.attainable[rows, column].tolist()),
            counts=counts,
        )

    def _compared(
        self,
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
        tolerance = self.goldset.tolerance if pin.tolerance is None else pin.tolerance
        gains = np.array([sign * (now - was) for was, now in pairs.values()])
        level = measure.level or self.goldset.qrels.relevance_level
        ordered = {query_id: moved[query_id] for query_id in worst_first(moved, sign)}
        worse = worse_by(before, after, measure.higher_is_better)
        p = sign_flip(gains, alternative="less").p
        statistical = pin.rule == ESTABLISHED
        why = infeasible(pin, len(pairs), self.threshold)
        if why:
            return replace(today, status=ERROR, message=why, pinned=pin.value, before=before, after=after)
        counts = not statistical or p < self.threshold
        band = pin.noise or 0.0
        allowed = tolerance + band
        fell = f"{today.cell} fell by {worse:.3g}, not established for other queries like these: p {p:.3g}"
        why = self._too_little_judged(measure, pairs)
        status = status_of(worse, tolerance, counts=counts, band=band)
        flip = None
        single = self.repeats == 1  # of means over several retrievals no single judgment can be told
        if status == REGRESSED and single:
            flip = flip_of(self.goldset, measure, self.evidence, self.run, pairs, allowed)
        if why or (flip is not None and flip.undecides):
            status = UNDECIDED
        if status in PASSING and not statistical and single:
            flip = reddening_of(self.goldset, measure, self.evidence, self.run, pairs, allowed)
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
            repeats=self.repeats,
            changes=changes_of(self.goldset, self.evidence, self.run, ordered, level),
            overall=self._overall(measure),
            p=p,
            smallest_p=smallest_p(len(moved), "less"),
            best=pin.best if pin.judgments == short(self.goldset.digests.judgments) else None,
            notes=(
                *ruler_notes(
                    self.goldset, pin, self.paired, self._members(today.cell.stratum), today.cell.stratum
                ),
                *input_notes(self.goldset, pin, self.gone),
                *self.notes,
                *halves,
                *([fell] if worse > round(allowed, DECIMALS) and not counts else []),
                *self._span_notes(measure, ordered, sign, level),
                *self._noise_notes(today.cell, pin, worse, tolerance, status),
            ),
        )

    def _span_notes(
        self, measure: Measure, changed: Mapping[str, tuple[float, float]], sign: float, level: int
    ) -> tuple[str, ...]:
        """Return which gold spans are covered less than before, and whether chunks are others."""
        if measure.kind.name not in SPAN_KINDS:
            return ()
        moved = rechunked(self.goldset, self.paired)
        note = (
            f"input changed: {counted(len(moved), 'chunk', 'chunks')} of the pinned rankings cut otherwise"
            f" today; both sides are compared by characters: {listed(moved, 3)}"
        )
        fallen = [query_id for query_id, (was, now) in changed.items() if sign * (now - was) < 0][
            :_MOST_SPANS
        ]
        lost = lost_spans(self.goldset, self.evidence, self.run, fallen, measure.k, level)
        return (*((note,) if moved else ()), *lost)

    def _noise_notes(
        self, cell: Cell, pin: Pin, worse: float, tolerance: float, status: str
    ) -> tuple[str, ...]:
        """Return what to know of a subject that does not always return the same."""
        if pin.noise is None:
            why = (
                f"{cell.subject} differs between {self.repeats} retrievals, and {cell} was pinned without a"
                " noise band: pin it anew"
            )
            return (why,) if self.differs else ()
        if status in PASSING and tolerance < worse:
            return (
                f"{cell} fell by {worse:.3g}, within noise: its band is {pin.noise:.3g}, measured over"
                f" {pin.retrievals} retrievals",
            )
        return ()

    def _pairs(
        self, measure: Measure, queries: Sequence[str]
    ) -> tuple[dict[str, tuple[float, float]], tuple[str, ...]]:
        """Return query → (before, after) where both are defined, and a note on those where one is not."""
        of_measure = self.both[measure.name]
        both = {query_id: of_measure[query_id] for query_id in queries if query_id in of_measure}
        pairs = {q: (was, now) for q, (was, now) in both.items() if was == was and now == now}
        halves = [q for q, (was, now) in both.items() if (was == was) != (now == now)]
        verb = "has" if len(halves) == 1 else "have"
        note = (
            f"{counted(len(halves), 'query', 'queries')} {verb} a score on one side only, not compared:"
            f" {listed(halves)}"
        )
        return pairs, ((note,) if halves else ())

    def _counts(self, measure: Measure, queries: Sequence[str], rows: Sequence[int], column: int) -> Counts:
        judged = self.now.judged
        k = measure.k or self.goldset.depth
        replies = judged.replies if measure.kind.reads == "cited" else None
        if replies is not None:
            shown = judged.per_query(replies.cited_query)
            seen = judged.per_query(replies.cited_query[replies.cited_judged])
            missing = {q for q in queries if q not in self.run.replies}
        else:
            shown = np.minimum(judged.lengths, k)
            seen = judged.per_query(judged.hit_query[judged.hit_rank <= k])
            missing = {q for q in queries if q not in self.run or not self.run[q]}
        tied = set(straddling(self.run, measure.k)) if measure.k is not None else set()
        return Counts(
            queries=len(queries),
            undefined=int(np.isnan(self.now.values[rows, column]).sum()),
            missing=len(missing),
            unjudged=int((shown - seen)[rows].sum()),
            results=int(shown[rows].sum()),
            tied=sum(1 for query_id in queries if query_id in tied),
        )

    def _overall(self, measure: Measure) -> Overall | None:
        pairs, _ = self._pairs(measure, self.by_name[ALL])
        if not pairs:
            return None
        before = mean_of(a for a, _ in pairs.values())
        return Overall(before, mean_of(b for _, b in pairs.values()), len(pairs))
