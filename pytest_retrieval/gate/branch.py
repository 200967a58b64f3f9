"""A branch against its base: what it changed about the ruler, and whether that favours it.

Both sides' rankings are scored under today's judgments, so a branch can make a loss invisible by changing
the judgments, the queries, the strata or the tolerances. Each such change is listed here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from pytest_retrieval.errors import counted
from pytest_retrieval.gate.cells import Cell
from pytest_retrieval.gate.pin import ESTABLISHED, Evidence, Pins, pinned_run, text_digest
from pytest_retrieval.measures.notation import Measure
from pytest_retrieval.measures.table import evaluate, mean_of
from pytest_retrieval.model.goldset import ALL, GoldSet
from pytest_retrieval.model.run import Run

__all__ = ["BranchChange", "branch_changes"]


@final
@dataclass(frozen=True, slots=True)
class BranchChange:
    """One thing that a branch changed about how it is judged."""

    what: str
    favours: bool


def branch_changes(
    then: GoldSet,
    now: GoldSet,
    subject: str,
    measure: Measure,
    run: Run,
    pins_then: Pins,
    pins_now: Pins,
) -> list[BranchChange]:
    """Return what changed between a base and today for one subject, by its primary measure.

    Parameters
    ----------
    then, now
        The gold set at the base and today.
    subject, measure, run
        What is judged, by its primary measure, with today's rankings.
    pins_then, pins_now
        What was pinned at the base and what is pinned today.
    """
    evidence = pins_then.evidence.get(subject, {})
    before, after = set(then.gated_queries), set(now.gated_queries)
    strata_then, strata_now = then.qrels.strata or {}, now.qrels.strata or {}
    means = _stratum_means(then, evidence, measure)
    changes = _tolerances(then, now, subject, pins_then, pins_now)
    for query_id in sorted(then.must & after - now.must):
        changes.append(BranchChange(f"query {query_id} may fall now: it is no must-query any more", True))
    for query_id in sorted(before - after):
        score = _pinned(evidence, query_id, measure)
        stratum = strata_then.get(query_id, ALL)
        hard = score < means.get(stratum, math.nan)
        must = query_id in then.must
        what = f"{'must-query' if must else 'query'} {query_id} removed"
        changes.append(BranchChange(f"{what} (pinned {score:.3f} in {stratum})", hard or must))
    added = sorted(after - before)
    if added:
        changes.append(BranchChange(f"{counted(len(added), 'query', 'queries')} added", False))
    both = sorted(before & after)
    known = [query_id for query_id in both if query_id in evidence]
    run = _placed(run, now)
    old, new = _scores(then, evidence, run, known, measure), _scores(now, evidence, run, known, measure)
    for query_id in both:
        if text_digest(then.text_of(query_id)) != text_digest(now.text_of(query_id)):
            changes.append(BranchChange(f"query {query_id} reworded, so it is paired no longer", True))
        flipped = _flipped(_gold(then, query_id), _gold(now, query_id))
        if flipped:
            helps = query_id in known and _helps(old[query_id], new[query_id], measure)
            changes.append(
                BranchChange(f"query {query_id}: judgments of {', '.join(flipped)} changed", helps)
            )
        if strata_then.get(query_id, ALL) != strata_now.get(query_id, ALL):
            moved = f"{strata_then.get(query_id, ALL)} → {strata_now.get(query_id, ALL)}"
            hard = _pinned(evidence, query_id, measure) < means.get(strata_then.get(query_id, ALL), math.nan)
            lost = query_id in known and _gain(new[query_id], measure) < 0
            changes.append(BranchChange(f"query {query_id} moved, {moved}", hard or lost))
    if then.qrels.relevance_level != now.qrels.relevance_level:
        levels = f"{then.qrels.relevance_level} → {now.qrels.relevance_level}"
        helps = any(_helps(old[query_id], new[query_id], measure) for query_id in known)
        changes.append(BranchChange(f"relevance level {levels}", helps))
    return changes


def lowered_with_reason(cell: Cell, pins_then: Pins, pins_now: Pins) -> str:
    """Return the reason that a branch stored with a cell it lowered, or an empty string."""
    then, now = pins_then.cells.get(cell), pins_now.cells.get(cell)
    if then is None or now is None or (now.reason, now.value) == (then.reason, then.value):
        return ""
    return now.reason  # two lowerings may have the same reason


def _tolerances(
    then: GoldSet, now: GoldSet, subject: str, pins_then: Pins, pins_now: Pins
) -> list[BranchChange]:
    changes = []
    if then.tolerance != now.tolerance:
        text = f"tolerance of the gold set {then.tolerance:g} → {now.tolerance:g}"
        changes.append(BranchChange(text, now.tolerance > then.tolerance))
    for cell, old in pins_then.cells.items():
        new = pins_now.cells.get(cell)
        if cell.subject != subject or new is None:
            continue
        was = then.tolerance if old.tolerance is None else old.tolerance
        is_now = now.tolerance if new.tolerance is None else new.tolerance
        if (old.tolerance, new.tolerance) != (None, None) and was != is_now:
            changes.append(BranchChange(f"tolerance of {cell} {was:g} → {is_now:g}", is_now > was))
        if old.rule != new.rule:
            text = f"rule of {cell} {old.rule or 'any'} → {new.rule or 'any'}"
            changes.append(BranchChange(text, new.rule == ESTABLISHED))
    return changes


def _gold(goldset: GoldSet, query_id: str) -> Mapping[str, int]:
    """Return what is judged of a query: documents, or passages, which no new chunking changes."""
    spans = goldset.qrels.spans
    if spans is None:
        return goldset.qrels[query_id]
    return {f"{s.document} {s.start}–{s.end}": s.grade for s in spans.gold.get(query_id, ())}


def _placed(run: Run, goldset: GoldSet) -> Run:
    """Return a run that knows the places of its chunks, which the base may have cut otherwise."""
    spans = goldset.qrels.spans
    if spans is None:
        return run
    places = {q: [spans.places[doc] for doc in run[q] if doc in spans.places] for q in run}
    return Run.from_columns(
        run.query_ids, run.starts, run.doc_ids, run.scores, name=run.name, replies=run.replies, places=places
    )


def _stratum_means(then: GoldSet, evidence: Mapping[str, Evidence], measure: Measure) -> dict[str, float]:
    by_stratum: dict[str, list[float]] = {}
    for query_id in then.gated_queries:
        if query_id in evidence:
            stratum = (then.qrels.strata or {}).get(query_id, ALL)
            by_stratum.setdefault(stratum, []).append(_pinned(evidence, query_id, measure))
    return {stratum: mean_of(scores) for stratum, scores in by_stratum.items()}


def _pinned(evidence: Mapping[str, Evidence], query_id: str, measure: Measure) -> float:
    score = evidence[query_id].scores.get(measure.name) if query_id in evidence else None
    return math.nan if score is None else score


def _scores(
    goldset: GoldSet,
    evidence: Mapping[str, Evidence],
    run: Run,
    queries: Sequence[str],
    measure: Measure,
) -> dict[str, tuple[float, float]]:
    """Return query → (pinned ranking's score, today's ranking's score) under one gold set's judgments."""
    if not queries:
        return {}
    qrels = goldset.qrels.select(queries)
    lines = {query_id: evidence[query_id] for query_id in queries}
    was = evaluate(qrels, pinned_run(lines, [measure]), [measure]).values[:, 0].tolist()
    now = evaluate(qrels, run.select(queries), [measure]).values[:, 0].tolist()
    return dict(zip(queries, zip(was, now, strict=True), strict=True))


def _flipped(then: Mapping[str, int], now: Mapping[str, int]) -> list[str]:
    return sorted(doc_id for doc_id in then.keys() | now.keys() if then.get(doc_id) != now.get(doc_id))


def _gain(pair: tuple[float, float], measure: Measure) -> float:
    """Return how much better today's ranking is than the pinned one; NaN where one is undefined."""
    sign = 1.0 if measure.higher_is_better else -1.0
    return round(sign * (pair[1] - pair[0]), 12)


def _helps(old: tuple[float, float], new: tuple[float, float], measure: Measure) -> bool:
    """Return whether today's ranking stands better against the pinned one under the new judgments."""
    before, after = _gain(old, measure), _gain(new, measure)
    return after > before or (before < 0 and math.isnan(after))
