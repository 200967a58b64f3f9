"""What a gold set could show at all, said before anything is retrieved.

A gate that cannot fail and a plan that cannot establish anything look the same as good news.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from pytest_retrieval.gate.cells import declared, groups
from pytest_retrieval.gate.pin import Evidence, Pins, rule_threshold
from pytest_retrieval.measures.notation import Measure
from pytest_retrieval.measures.ranking import join
from pytest_retrieval.measures.table import mean_of
from pytest_retrieval.model.goldset import ALL, GoldSet
from pytest_retrieval.model.run import Run
from pytest_retrieval.stats.power import DetectableDrop, detectable_drop
from pytest_retrieval.stats.signflip import changes_needed, smallest_p

__all__ = ["CHANGED_SHARE", "Feasibility", "gate_feasibility", "plan_feasibility"]

CHANGED_SHARE = 0.3
"""Share of queries assumed to change, unless somebody knows better."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Feasibility:
    """What one test over one class of queries could show.

    Attributes
    ----------
    subject
        Name of the run; empty where the row is about any.
    measure, stratum
        Canonical name, and the class of queries.
    n, queries
        Queries for which the measure is defined, and all of the class.
    attainable
        Mean of the best scores that any ranking could get; NaN where n is 0, or nothing is known of it.
    at_zero, at_one
        Share of pinned scores at 0 (headroom) and at 1 (saturation); None without pins.
    smallest_p
        The smallest p that so many queries can give.
    threshold
        What p must be below.
    changes_needed
        Fewest changed queries that can bring p below it.
    drop
        The smallest drop found with 80 % power, and what that assumes.
    """

    subject: str
    measure: str
    stratum: str
    n: int
    queries: int
    attainable: float
    at_zero: float | None
    at_one: float | None
    smallest_p: float
    threshold: float
    changes_needed: int
    drop: DetectableDrop

    @property
    def possible(self) -> bool:
        """Whether anything can be established here at all."""
        return self.smallest_p < self.threshold


def gate_feasibility(
    goldset: GoldSet,
    measures: Mapping[str, Sequence[Measure]],
    pins: Pins,
    *,
    changed_share: float = CHANGED_SHARE,
) -> list[Feasibility]:
    """Return one row per declared cell: what the gate's statistical rule could see there.

    Parameters
    ----------
    goldset
        Whose gated queries are looked at.
    measures
        Subject → its measures.
    pins
        Whose evidence says how many scores are at 0 and at 1 and how much a query has to lose.
    changed_share
        Share of queries assumed to change, in [0, 1].
    """
    by_name = groups(goldset)
    threshold = rule_threshold(pins, goldset.alpha)
    known = {measure.name: measure for of_subject in measures.values() for measure in of_subject}
    return [
        _row(
            goldset,
            known[cell.measure],
            by_name[cell.stratum],
            subject=cell.subject,
            stratum=cell.stratum,
            threshold=threshold,
            two_sided=False,
            evidence=pins.evidence.get(cell.subject, {}),
            changed_share=changed_share,
        )
        for cell in declared(goldset, measures)
    ]


def plan_feasibility(
    goldset: GoldSet,
    measures: Sequence[Measure],
    query_ids: Sequence[str],
    threshold: float,
    *,
    changed_share: float = CHANGED_SHARE,
) -> list[Feasibility]:
    """Return one row per measure and class of queries: what a planned comparison could establish there.

    Parameters
    ----------
    goldset, measures
        Whose judgments are looked at, and for which measures.
    query_ids
        The queries of the plan's split.
    threshold
        The plan's, two-sided.
    changed_share
        Share of queries assumed to change, in [0, 1].
    """
    classes: dict[str, list[str]] = {ALL: list(query_ids)}
    for query_id in query_ids if goldset.qrels.strata else ():
        classes.setdefault((goldset.qrels.strata or {})[query_id], []).append(query_id)
    return [
        _row(
            goldset,
            measure,
            members,
            subject="",
            stratum=stratum,
            threshold=threshold,
            two_sided=True,
            evidence={},
            changed_share=changed_share,
        )
        for measure in measures
        for stratum, members in sorted(classes.items())
    ]


def _row(
    goldset: GoldSet,
    measure: Measure,
    query_ids: Sequence[str],
    *,
    subject: str,
    stratum: str,
    threshold: float,
    two_sided: bool,
    evidence: Mapping[str, Evidence],
    changed_share: float,
) -> Feasibility:
    judged = join(goldset.qrels.select(query_ids), Run({}))
    n = int(np.count_nonzero(measure.defined(judged)))
    best = measure.attainable(judged)
    best = best[~np.isnan(best)]  # a measure of answers may be defined and have no best score
    scores = _pinned(measure, query_ids, evidence)
    sizes = np.asarray(scores or best) if measure.higher_is_better and (scores or len(best)) else None
    alternative = "two-sided" if two_sided else "less"
    return Feasibility(
        subject=subject,
        measure=measure.name,
        stratum=stratum,
        n=n,
        queries=len(query_ids),
        attainable=mean_of(best.tolist()),
        at_zero=_share(scores, 0.0),
        at_one=_share(scores, 1.0),
        smallest_p=smallest_p(n, alternative),
        threshold=threshold,
        changes_needed=changes_needed(threshold, alternative),
        drop=detectable_drop(
            max(1, n),
            changed_share=changed_share if n else 0.0,
            threshold=threshold,
            two_sided=two_sided,
            sizes=sizes,
            name=f"{subject} {measure.name} {stratum}",
        ),
    )


def _pinned(measure: Measure, query_ids: Sequence[str], evidence: Mapping[str, Evidence]) -> list[float]:
    """Return the pinned scores of some queries that are defined, in the queries' order."""
    lines = (evidence[query_id] for query_id in query_ids if query_id in evidence)
    scores = (line.scores.get(measure.name) for line in lines)
    return [score for score in scores if score is not None]


def _share(scores: Sequence[float], value: float) -> float | None:
    return sum(score == value for score in scores) / len(scores) if scores else None
