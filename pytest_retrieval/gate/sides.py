"""One subject as it was pinned and as it is, scored alike: under today's judgments, by today's strata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from pytest_retrieval.errors import counted, listed
from pytest_retrieval.gate.cells import groups
from pytest_retrieval.gate.noise import differing, mean_table
from pytest_retrieval.gate.pin import Evidence, Pins, pinned_run, rule_threshold
from pytest_retrieval.gate.ruler import pairing, strays
from pytest_retrieval.gate.verdict import Counts, Overall
from pytest_retrieval.measures.notation import Measure
from pytest_retrieval.measures.ranking import straddling
from pytest_retrieval.measures.table import ScoreTable, evaluate, mean_of
from pytest_retrieval.model.goldset import ALL, GoldSet
from pytest_retrieval.model.run import Run

__all__ = ["Sides", "sides_of"]


@final
@dataclass(frozen=True, slots=True)
class Sides:
    """One subject as it was and as it is. Queries are paired by id.

    Attributes
    ----------
    goldset, run
        As they are today.
    evidence, paired
        Query → what was pinned, of all and of those that are compared.
    now, place
        Today's scores of the gated queries, over several retrievals their means; and query → its row.
    both
        Measure → query → (before, after), NaN where undefined, for the paired queries.
    by_name
        Class of queries → its members.
    notes
        On queries that are not compared.
    threshold
        What p must be below where a rule is statistical.
    gone
        Pinned documents that are not in the catalog any more.
    repeats
        How many retrievals today's scores are the mean of.
    differs
        Whether these retrievals differ.
    """

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

    def members(self, stratum: str) -> list[str]:
        """Return the paired queries of a class, also those without a score: they have not left it."""
        return [query_id for query_id in self.by_name[stratum] if query_id in self.paired]

    def pairs(
        self, measure: Measure, queries: Sequence[str]
    ) -> tuple[dict[str, tuple[float, float]], tuple[str, ...]]:
        """Return query → (before, after) where both are defined, and a note on those where one is not."""
        of_measure = self.both[measure.name]
        both = {query_id: of_measure[query_id] for query_id in queries if query_id in of_measure}
        pairs = {q: (was, now) for q, (was, now) in both.items() if was == was and now == now}
        halves = [q for q, (was, now) in both.items() if (was == was) != (now == now)]
        verb = "has" if len(halves) == 1 else "have"
        note = (
            f"{counted(len(halves), 'query', 'queries')} {verb} a score of {measure.name} on one side"
            f" only, not compared: {listed(halves)}"
        )
        return pairs, ((note,) if halves else ())

    def rows(self, queries: Sequence[str]) -> list[int]:
        """Return the rows of today's scores that are of these queries."""
        return [self.place[query_id] for query_id in queries]

    def counts(self, measure: Measure, queries: Sequence[str]) -> Counts:
        """Return what stands behind a mean: the queries and results that it is made of."""
        rows, column = self.rows(queries), self.now.column(measure)
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

    def overall(self, measure: Measure) -> Overall | None:
        """Return the means over all queries, None where none has a score on both sides."""
        pairs, _ = self.pairs(measure, self.by_name[ALL])
        if not pairs:
            return None
        before = mean_of(a for a, _ in pairs.values())
        return Overall(before, mean_of(b for _, b in pairs.values()), len(pairs))


def sides_of(
    goldset: GoldSet,
    subject: str,
    measures: Sequence[Measure],
    run: Run,
    pins: Pins,
    again: Sequence[Run] = (),
) -> Sides:
    """Score what was pinned of a subject and what it returns today."""
    evidence = pins.evidence.get(subject, {})
    gated = goldset.gated_queries
    meeting = pairing(goldset, evidence)
    paired = {query_id: evidence[query_id] for query_id in meeting.paired}
    of_gated = goldset.qrels.select(gated)
    now = mean_table([evaluate(of_gated, one.select(gated), measures) for one in (run, *again)])
    then = evaluate(goldset.qrels.select(paired), pinned_run(paired, measures), measures)
    return Sides(
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


def _both(measure: Measure, now: ScoreTable, then: ScoreTable) -> dict[str, tuple[float, float]]:
    """Return query → (before, after), NaN where undefined, for the paired queries."""
    after = dict(zip(now.query_ids, now.values[:, now.column(measure)].tolist(), strict=True))
    before = then.values[:, then.column(measure)].tolist()
    return {query_id: (was, after[query_id]) for query_id, was in zip(then.query_ids, before, strict=True)}
