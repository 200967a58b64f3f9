"""Undecided: a verdict that something nobody knows could change.

Two things are not known: how unjudged results would be judged, and how documents of equal score would be
ordered by another tie rule. The smallest set of judgments that would change it is searched greedily, the
most telling document first, query by query.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from pytest_retrieval.gate.pin import Evidence, pinned_run
from pytest_retrieval.gate.verdict import Flip, worse_by
from pytest_retrieval.measures.notation import Measure
from pytest_retrieval.measures.ranking import ranks_of, tied_at
from pytest_retrieval.measures.table import evaluate, mean_of
from pytest_retrieval.model.goldset import GoldSet
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Reply, Run

__all__ = ["flip_of", "reddening_of"]

MOST = 25
"""Judgments beyond which the search ends, unless more than these are predicted to be relevant."""

CHEAP = 500
"""Unjudged documents beyond which nobody asks what would turn a passing cell red."""


def flip_of(
    goldset: GoldSet,
    measure: Measure,
    evidence: Mapping[str, Evidence],
    run: Run,
    pairs: Mapping[str, tuple[float, float]],
    tolerance: float,
) -> Flip:
    """Return what it would take to undo a red.

    Parameters
    ----------
    goldset, measure
        Of the cell.
    evidence, run
        The rankings as pinned and as they are.
    pairs
        Query → (before, after), of the cell's paired queries.
    tolerance
        Largest fall that is held.
    """
    if measure.kind.reads == "numbers":
        return Flip()
    by_ties = _undone_by_ties(goldset, measure, run, pairs, tolerance)
    window = measure.k or goldset.depth
    unjudged, share = _unjudged(goldset, measure, run, pairs, window)
    count = sum(len(documents) for documents in unjudged.values())
    if goldset.unjudged != "unknown" or not count:
        return Flip(by_ties=by_ties)
    search = _Search(goldset, measure, evidence, run, unjudged, ranks=run)
    return Flip(
        documents=search.smallest(pairs, tolerance, max(MOST, math.floor(share * count))),
        unjudged=count,
        predicted=share * count,
        by_ties=by_ties,
    )


def reddening_of(
    goldset: GoldSet,
    measure: Measure,
    evidence: Mapping[str, Evidence],
    run: Run,
    pairs: Mapping[str, tuple[float, float]],
    tolerance: float,
) -> Flip | None:
    """Return what it would take to turn a passing cell red: judging what was found before and is not now.

    Parameters are those of `flip_of`. None where no judging could: unjudged is irrelevant, or the rankings
    are the same; and where there is so much to judge that asking would cost time.
    """
    if goldset.unjudged != "unknown" or measure.kind.reads != "ranking":
        return None
    window = measure.k or goldset.depth
    pinned = pinned_run({query_id: evidence[query_id] for query_id in pairs})
    moved = {q: pairs[q] for q in pairs if pinned[q][:window] != run.get(q, ())[:window]}
    unjudged, share = _unjudged(goldset, measure, pinned, moved, window)
    count = sum(len(documents) for documents in unjudged.values())
    if not 0 < count <= CHEAP:
        return None
    search = _Search(goldset, measure, evidence, run, unjudged, ranks=pinned, toward=-1.0)
    documents = search.smallest(pairs, tolerance, max(MOST, math.floor(share * count)))
    return Flip(documents=documents, unjudged=count, predicted=share * count) if documents else None


def mean_judged(goldset: GoldSet, measure: Measure, run: Run, queries: Sequence[str]) -> float:
    """Return mean judged@k over some queries, at the measure's cutoff or the gold set's depth."""
    table = evaluate(
        goldset.qrels.select(queries), run.select(queries), [f"judged@{measure.k or goldset.depth}"]
    )
    return mean_of(table.values[:, 0].tolist())


def _level(goldset: GoldSet, measure: Measure) -> int:
    return measure.level or goldset.qrels.relevance_level


def _unjudged(
    goldset: GoldSet, measure: Measure, run: Run, queries: Mapping[str, object], window: int
) -> tuple[dict[str, list[str]], float]:
    """Return query → unjudged documents in its window, and the relevant share of the judged ones."""
    unjudged: dict[str, list[str]] = {}
    relevant = judged = 0
    for query_id in queries:
        grades = goldset.qrels[query_id]
        shown = _read(measure, run, query_id)[:window]
        found = [doc_id for doc_id in shown if doc_id not in grades]
        judged += len(shown) - len(found)
        relevant += sum(grades.get(doc_id, 0) >= _level(goldset, measure) for doc_id in shown)
        if found:
            unjudged[query_id] = found
    return unjudged, relevant / judged if judged else 0.0


def _read(measure: Measure, run: Run, query_id: str) -> tuple[str, ...]:
    """Return the documents whose grades a measure reads: of the ranking, or of the replies' own."""
    if measure.kind.reads == "ranking":
        return run.get(query_id, ())
    replies = run.replies.get(query_id, ())
    return tuple(dict.fromkeys(doc_id for reply in replies for doc_id in getattr(reply, measure.kind.reads)))


def _undone_by_ties(
    goldset: GoldSet,
    measure: Measure,
    run: Run,
    pairs: Mapping[str, tuple[float, float]],
    tolerance: float,
) -> tuple[str, ...]:
    """Return the queries whose ties at the cutoff, ordered the other way, would undo the red."""
    if measure.k is None:
        return ()
    reordered = {
        query_id: _relevant_first(run[query_id], group, goldset.qrels[query_id])
        for query_id in pairs
        if query_id in run and (group := set(tied_at(run, query_id, measure.k)))
    }
    if not reordered:
        return ()
    table = evaluate(goldset.qrels.select(reordered), Run(reordered), [measure])
    best = dict(zip(table.query_ids, table.values[:, 0].tolist(), strict=True))
    before = mean_of(was for was, _ in pairs.values())
    after = mean_of(best.get(query_id, now) for query_id, (_, now) in pairs.items())
    if worse_by(before, after, measure.higher_is_better) > tolerance:
        return ()
    return tuple(query_id for query_id, score in best.items() if score != pairs[query_id][1])


def _relevant_first(ranking: Sequence[str], group: set[str], grades: Mapping[str, int]) -> list[str]:
    """Return a ranking in which the best-judged documents of a tied group come first within its places."""
    places = [place for place, doc_id in enumerate(ranking) if doc_id in group]
    chosen = sorted((ranking[place] for place in places), key=lambda doc_id: -grades.get(doc_id, 0))
    ordered = list(ranking)
    for place, doc_id in zip(places, chosen, strict=True):
        ordered[place] = doc_id
    return ordered


@final
@dataclass(frozen=True, slots=True)
class _Search:
    """The greedy search for the fewest documents to judge.

    `ranks` is the run that says where they stand; `toward` is 1 to undo a red and −1 to make one.
    """

    goldset: GoldSet
    measure: Measure
    evidence: Mapping[str, Evidence]
    run: Run
    unjudged: Mapping[str, Sequence[str]]
    ranks: Run
    toward: float = 1.0

    def smallest(
        self, pairs: Mapping[str, tuple[float, float]], tolerance: float, most: int
    ) -> tuple[tuple[str, str, int], ...]:
        """Return the documents to judge relevant, most telling first; empty where they would not do."""
        sign = self.toward if self.measure.higher_is_better else -self.toward
        gain = {query_id: sign * (now - was) for query_id, (was, now) in pairs.items()}
        chosen: dict[str, list[str]] = {}
        found: list[tuple[str, str, int]] = []
        next_best = self._best(list(self.unjudged), chosen, sign)
        wants_red = self.toward < 0
        while (-self.toward * round(math.fsum(gain.values()) / len(gain), 12) > tolerance) != wants_red:
            best = max(next_best, key=lambda query: (next_best[query][1] - gain[query], query), default=None)
            if best is None or next_best[best][1] <= gain[best] or len(found) == most:
                return ()
            doc_id, gain[best] = next_best.pop(best)
            chosen.setdefault(best, []).append(doc_id)
            found.append((best, doc_id, ranks_of(self.ranks.get(best, ())).get(doc_id, 0)))
            next_best |= self._best([best], chosen, sign)
        return tuple(found)

    def _best(
        self, queries: Sequence[str], chosen: Mapping[str, Sequence[str]], sign: float
    ) -> dict[str, tuple[str, float]]:
        """Return query → the next document to judge, and the query's difference if it were relevant."""
        trials = [
            (query_id, doc_id)
            for query_id in queries
            for doc_id in self.unjudged[query_id]
            if doc_id not in chosen.get(query_id, ())
        ]
        if not trials:
            return {}
        level = _level(self.goldset, self.measure)
        names = [str(number) for number in range(len(trials))]
        qrels = Qrels(
            {
                name: {
                    **self.goldset.qrels[query_id],
                    **dict.fromkeys([*chosen.get(query_id, ()), doc_id], level),
                }
                for name, (query_id, doc_id) in zip(names, trials, strict=True)
            },
            self.goldset.qrels.relevance_level,
            groups=None
            if self.goldset.qrels.groups is None
            else {n: self.goldset.qrels.groups_of(q) for n, (q, _) in zip(names, trials, strict=True)},
        )
        before = {n: self.evidence[q].ranking for n, (q, _) in zip(names, trials, strict=True)}
        after = {n: self.run.get(q, ()) for n, (q, _) in zip(names, trials, strict=True)}
        replied_then = {n: self.evidence[q].replies for n, (q, _) in zip(names, trials, strict=True)}
        replied_now = {n: self.run.replies.get(q, ()) for n, (q, _) in zip(names, trials, strict=True)}
        was = evaluate(qrels, Run(before, replies=_some(replied_then)), [self.measure]).values[:, 0]
        now = evaluate(qrels, Run(after, replies=_some(replied_now)), [self.measure]).values[:, 0]
        best: dict[str, tuple[str, float]] = {}
        for (query_id, doc_id), difference in zip(trials, (sign * (now - was)).tolist(), strict=True):
            if not np.isnan(difference) and (query_id not in best or difference > best[query_id][1]):
                best[query_id] = (doc_id, difference)
        return best


def _some(replies: Mapping[str, tuple[Reply, ...]]) -> dict[str, tuple[Reply, ...]]:
    """Return the replies of the queries that have any."""
    return {name: of_query for name, of_query in replies.items() if of_query}
