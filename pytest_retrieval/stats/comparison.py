"""A planned comparison of two score vectors: what it found, and whether that is established.

The permutation p decides alone. The t-test and the interval stand beside it and only say whether they agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pytest_retrieval.errors import InputError, counted, listed
from pytest_retrieval.stats.bootstrap import INTERVAL_CAUTION, bootstrap_interval
from pytest_retrieval.stats.pairing import Pairs, Scores, pair_scores
from pytest_retrieval.stats.signflip import changes_needed, sign_flip
from pytest_retrieval.stats.thresholds import format_p, format_threshold, format_value, threshold_iv
from pytest_retrieval.stats.ttest import paired_t_p

__all__ = ["Comparison", "compare_scores"]

COMPARED = "compared: "
"""How the line on what was compared begins."""

UNANSWERED = "unanswered by "
"""How the line on queries without results begins."""

LEFT_OUT = "left out, undefined on a side: "
"""How the line on queries without a score begins."""


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """What a comparison of system a with system b found. ``str()`` gives the block that a person reads.

    Attributes
    ----------
    name, measure : str
        As given; either may be empty.
    n : int
        Queries compared.
    undefined : tuple of str
        Queries left out because their score is undefined on one side or on both.
    mean_difference : float
        Mean of a - b, in the measure's unit, whichever direction is good.
    wins, losses, ties : int
        Queries on which a scored better than b, worse, and the same to 12 decimals. For a measure whose lower
        values are better, a lower score of a is a win.
    permutation_p : float
        Two-sided p of the paired sign-flip test, in (0, 1].
    threshold : float
        What p had to be below.
    established : bool
        p < threshold and not exploratory: a difference exists, in whichever direction.
    better : bool
        Established, and a is the better one.
    t_p : float or None
        Two-sided p of the paired t-test; None where it is undefined.
    t_agrees : bool or None
        Whether `t_p` stands on the same side of the threshold as `permutation_p`; None where t is undefined.
    interval : tuple of float
        Percentile bootstrap interval of the mean difference at level 1 - threshold, (low, high).
    interval_degenerate : bool
        Whether all differences are the same, so that the interval is a point.
    interval_agrees : bool or None
        Whether the interval excludes 0 exactly where p < threshold; None where it is degenerate.
    changed : int
        Queries with a difference other than 0, wins + losses.
    smallest_p : float
        The smallest p that so many changed queries could have given.
    decidable : bool
        ``smallest_p < threshold``. Where it is false, nothing could have been established, whatever the
        scores.
    exploratory : bool
        Not planned, so never established.
    exact : bool
        Whether p is exact; otherwise it was sampled.
    method : str
        How p was found, see `SignFlip`.
    resamples : int
        Sign patterns sampled for p; 0 if exact.
    seed : int
        Seed of everything sampled.
    identical : bool
        Whether all differences are 0.
    strata : tuple of Comparison
        One exploratory comparison per stratum, if asked for.
    plan_reason : str
        Why the plan was last locked anew; empty where it never was, or where there is no plan.
    unanswered : tuple of (str, tuple of str)
        Each run that left queries without any result, which score 0, and which queries; empty for scores.
    a, b : str
        Names of both sides; empty where neither run nor column of scores says one.
    split : str
        Whose queries were compared; empty where there are no splits, or where that was not said.
    higher_is_better : bool
        The measure's direction.
    given : str
        What of it a test brought along: ``"scores"``, made from whatever judgments, or ``"runs"``, returned
        by no retriever of the session; else empty.
    """

    name: str
    measure: str
    n: int
    undefined: tuple[str, ...]
    mean_difference: float
    wins: int
    losses: int
    ties: int
    permutation_p: float
    threshold: float
    established: bool
    better: bool
    t_p: float | None
    t_agrees: bool | None
    interval: tuple[float, float]
    interval_degenerate: bool
    interval_agrees: bool | None
    changed: int
    smallest_p: float
    decidable: bool
    exploratory: bool
    exact: bool
    method: str
    resamples: int
    seed: int
    identical: bool
    strata: tuple[Comparison, ...] = ()
    plan_reason: str = ""
    unanswered: tuple[tuple[str, tuple[str, ...]], ...] = ()
    a: str = ""
    b: str = ""
    split: str = ""
    higher_is_better: bool = True
    given: str = ""

    def __repr__(self) -> str:
        return (
            f"<Comparison {self.name or self.measure or 'a over b'!r}: mean difference"
            f" {format_value(self.mean_difference)}; wins, losses, ties {self.wins}, {self.losses},"
            f" {self.ties}; p {format_p(self.permutation_p, self.threshold)}; established at"
            f" {format_threshold(self.threshold)}: {self._established_text()}>"
        )

    def __str__(self) -> str:
        label = self.name or self.measure or "a over b"
        kind = "exploratory permutation p" if self.exploratory else "permutation p"
        low, high = (format_value(end) for end in self.interval)
        lines = [
            f"{COMPARED}{self._compared_text()}",
            f"mean difference: {format_value(self.mean_difference)}",
            f"wins, losses, ties: {self.wins}, {self.losses}, {self.ties}",
            f"{kind}: {format_p(self.permutation_p, self.threshold)}",
            f"established at {format_threshold(self.threshold)}: {self._established_text()}",
            f"better: {self._better_text()}",
            f"t-test p: {'n/a' if self.t_p is None else format_p(self.t_p, self.threshold)}",
            f"t-test agrees: {_yes_no(self.t_agrees)}",
            f"{100 * (1 - self.threshold):.6g}% interval: {low} to {high}"
            + (", degenerate" if self.interval_degenerate else ""),
            f"interval agrees: {_yes_no(self.interval_agrees)}",
        ]
        if self.interval_agrees is False:
            lines.append(f"note: {INTERVAL_CAUTION}")
        if not self.exact:
            lines.append(f"sign patterns sampled: {self.resamples:,}, seed {self.seed}")
        if self.undefined:
            lines.append(f"{LEFT_OUT}{len(self.undefined)} ({listed(self.undefined)})")
        for run, queries in self.unanswered:
            lines.append(f"{UNANSWERED}{run}, score 0: {len(queries)} ({listed(queries)})")
        if self.plan_reason:
            lines.append(f"plan locked anew: {self.plan_reason}")
        block = [f"{label}, {line}" for line in lines]
        return "\n".join([*block, *(row._row_text() for row in self.strata)])

    def _compared_text(self) -> str:
        sides = f"{self.a} with {self.b}" if self.a and self.b else ""
        what = " on ".join(part for part in (sides, self.measure) if part)
        direction = "" if self.higher_is_better else "lower is better"
        queries = counted(self.n + len(self.undefined), "query", "queries")
        if self.undefined:
            queries = f"{self.n} of {queries}"
        if self.split:
            queries += f" of the split {self.split!r}"
        given = f"{self.given} given by the test" if self.given else ""
        if given and not sides:
            given += ", sides without names"
        return ", ".join(part for part in (what, direction, queries, given) if part)

    def _established_text(self) -> str:
        if self.established:
            return "yes"
        if self.identical:
            return "no, identical on every query"
        if not self.decidable:
            return f"cannot be established: {self._why_undecidable()}"
        return "never, exploratory (not planned)" if self.exploratory else "no"

    def _why_undecidable(self) -> str:
        needed = changes_needed(self.threshold)
        if self.changed < needed:
            return f"{counted(self.changed, 'changed query', 'changed queries')}, {needed} needed"
        return f"{self.resamples:,} sign patterns sampled, more needed"

    def _better_text(self) -> str:
        if self.better:
            return "yes"
        return "no, worse" if self.established else "no"

    def _row_text(self) -> str:
        """The row of a stratum, in one line."""
        found = "identical on every query"
        if not self.identical:
            found = f"exploratory permutation p: {format_p(self.permutation_p, self.threshold)}"
            if not self.decidable:
                found += f" (cannot be established: {self._why_undecidable()})"
        return (
            f"{self.name}, mean difference: {format_value(self.mean_difference)}; "
            f"wins, losses, ties: {self.wins}, {self.losses}, {self.ties}; {found}"
        )


def _yes_no(answer: bool | None) -> str:
    return "n/a" if answer is None else "yes" if answer else "no"


def compare_scores(
    a: Scores,
    b: Scores,
    *,
    threshold: float = 0.05,
    higher_is_better: bool = True,
    name: str = "",
    measure: str = "",
    seed: int = 0,
    exploratory: bool = False,
    by: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare two systems' scores on the same queries.

    Parameters
    ----------
    a, b : mapping of query id to score, or pandas Series indexed by query id
        Joined by query id. Queries whose score is NaN or None on a side are left out and named.
    threshold : float, optional
        Established where p is strictly below it, in (0, 1). For one of several planned comparisons use
        `bonferroni`.
    higher_is_better : bool, optional
        The measure's direction.
    name : str, optional
        Name of the comparison; it labels the report and, with `seed`, decides over everything sampled.
    measure : str, optional
        Name of the measure.
    seed : int, optional
        Any integer.
    exploratory : bool, optional
        Not planned: p is shown, nothing is established.
    by : mapping of query id to stratum, optional
        Adds one exploratory comparison per stratum.

    Returns
    -------
    Comparison
        The same whatever the order of the queries.

    Raises
    ------
    QueryMismatchError
        If the two sides hold different queries.
    InputError
        If scores or arguments cannot be used, or no query is defined on both sides.

    Examples
    --------
    >>> old = {f"q{i}": 0.5 for i in range(30)}
    >>> new = old | {f"q{i}": 0.3 for i in range(9)}
    >>> result = compare_scores(new, old, threshold=0.025, name="new over old")
    >>> result.permutation_p, result.established, result.better
    (0.00390625, True, False)
    """
    threshold_iv(threshold)
    pairs = pair_scores(a, b)
    if not pairs.query_ids:
        left_out = f": all {len(pairs.undefined)} are undefined on a side" if pairs.undefined else ""
        raise InputError(f"there is no query to compare{left_out}; a comparison needs at least one")
    compared = partial(
        _compared, threshold=threshold, higher_is_better=higher_is_better, measure=measure, seed=seed
    )
    strata = tuple(
        compared(part, name=f"{name}, {stratum}" if name else stratum, exploratory=True)
        for stratum, part in ({} if by is None else _strata(pairs, by)).items()
    )
    return replace(compared(pairs, name=name, exploratory=exploratory), strata=strata)


def _compared(
    pairs: Pairs,
    *,
    threshold: float,
    higher_is_better: bool,
    name: str,
    measure: str,
    seed: int,
    exploratory: bool,
) -> Comparison:
    differences = pairs.differences
    mean = math.fsum(differences) / len(differences)
    above, below = int(np.count_nonzero(differences > 0)), int(np.count_nonzero(differences < 0))
    wins, losses = (above, below) if higher_is_better else (below, above)
    test = sign_flip(differences, seed=seed, name=name)
    t_p = paired_t_p(differences)
    interval = bootstrap_interval(differences, level=1 - threshold, seed=seed, name=name)
    significant = test.p < threshold
    established = significant and not exploratory
    return Comparison(
        name=name,
        measure=measure,
        n=len(differences),
        undefined=pairs.undefined,
        mean_difference=mean,
        wins=wins,
        losses=losses,
        ties=len(differences) - wins - losses,
        permutation_p=test.p,
        threshold=threshold,
        established=established,
        better=established and (mean > 0) == higher_is_better,
        t_p=t_p,
        t_agrees=None if t_p is None else (t_p < threshold) == significant,
        interval=(interval.low, interval.high),
        interval_degenerate=interval.degenerate,
        interval_agrees=None if interval.excludes_zero is None else interval.excludes_zero == significant,
        changed=test.changed,
        smallest_p=test.smallest_p,
        decidable=test.smallest_p < threshold,
        exploratory=exploratory,
        exact=test.exact,
        method=test.method,
        resamples=test.resamples,
        seed=seed,
        identical=test.changed == 0,
        higher_is_better=higher_is_better,
    )


def _strata(pairs: Pairs, by: Mapping[str, str]) -> dict[str, Pairs]:
    """The pairs of each stratum that has any, strata ascending."""
    stratum_of = {str(query): str(stratum) for query, stratum in by.items()}
    without = [query for query in pairs.query_ids if query not in stratum_of]
    if without:
        raise InputError(
            f"by gives no stratum for {listed(without)}; it must name one for every query compared"
        )
    parts = {}
    for stratum in sorted({stratum_of[query] for query in pairs.query_ids}):
        rows = [row for row, query in enumerate(pairs.query_ids) if stratum_of[query] == stratum]
        parts[stratum] = Pairs(
            query_ids=tuple(pairs.query_ids[row] for row in rows),
            a=pairs.a[rows],
            b=pairs.b[rows],
            differences=pairs.differences[rows],
            undefined=tuple(query for query in pairs.undefined if stratum_of.get(query) == stratum),
        )
    return parts
