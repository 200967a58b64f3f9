"""Comparing two systems, from runs or from scores: what comes before the statistics.

It finds out what the measure is and which direction is good, and makes scores of runs; `compare_scores` does
the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from pytest_retrieval.errors import InputError, MeasureError, QueryMismatchError, listed
from pytest_retrieval.measures.notation import Measure, parse
from pytest_retrieval.measures.rank import MeasureKind
from pytest_retrieval.measures.table import RUN, ScoreTable, evaluate
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Run
from pytest_retrieval.stats.comparison import Comparison, compare_scores
from pytest_retrieval.stats.pairing import Scores

__all__ = ["Compared", "compare", "compared_of"]


def compare(
    a: Run | Scores,
    b: Run | Scores,
    measure: str | Measure | None = None,
    *,
    qrels: Qrels | None = None,
    threshold: float = 0.05,
    by: str | Mapping[str, str] | None = None,
    name: str = "",
    seed: int = 0,
    exploratory: bool = False,
    kinds: Sequence[MeasureKind] = (),
) -> Comparison:
    """Compare two systems on the same queries: how far apart they are, and whether that is established.

    Parameters
    ----------
    a, b : Run, pandas Series or mapping of query id to score
        Two runs, which need a measure and their judgments; or two sides' scores, such as columns
        ``table["recall@5"]`` of a `ScoreTable`, paired by query id.
    measure : str or Measure, optional
        What the scores are. Columns of a `ScoreTable` say it themselves. Scores that say nothing are better
        the higher they are.
    qrels : Qrels, optional
        Judgments of two runs; also where `by` finds strata and splits by name.
    threshold : float, optional
        Established where the permutation p is strictly below it. For one of several planned comparisons that
        is alpha / their number, see `bonferroni`.
    by : {"stratum", "split"} or mapping of query id to name, optional
        Adds one exploratory row per class.
    name : str, optional
        Labels the report; by default the two runs' names and the measure.
    seed : int, optional
        Of everything sampled; any integer.
    exploratory : bool, optional
        Not planned: p is shown, nothing is established.
    kinds : sequence of MeasureKind, optional
        Measures of a project's own.

    Returns
    -------
    Comparison
        Of a with b: positive differences mean that a has the higher scores.

    Raises
    ------
    MeasureError
        The measure is missing, unknown, or another one than the scores'.
    QueryMismatchError
        The two sides are not about the same queries, or a run answers none of them.
    InputError
        Anything else that cannot be compared.

    Examples
    --------
    >>> qrels = Qrels({f"q{i}": ["kea"] for i in range(8)})
    >>> new, old = Run(dict.fromkeys(qrels, ["kea"]), "new"), Run(dict.fromkeys(qrels, ["tui", "kea"]), "old")
    >>> result = compare(new, old, "mrr@10", qrels=qrels)
    >>> result.mean_difference, result.permutation_p, result.better
    (0.5, 0.0078125, True)
    >>> compare({"q1": 0.2, "q2": 0.4}, {"q1": 0.1, "q2": 0.4}).decidable
    False
    """
    compared = compared_of(a, b, measure, kinds)
    known = compared.measure
    sides: tuple[Scores, Scores]
    without: list[tuple[str, tuple[str, ...]]] = []
    if known is not None and isinstance(a, Run) and isinstance(b, Run):
        if qrels is None:
            raise InputError("two runs are compared on judgments: compare(a, b, measure, qrels=qrels)")
        sides = _scored(a, known, qrels, "a"), _scored(b, known, qrels, "b")
        without = [(run.name or side, _unanswered(run, known, qrels)) for side, run in (("a", a), ("b", b))]
    else:
        sides = _scores(a, "a"), _scores(b, "b")
    result = compare_scores(
        *sides,
        threshold=threshold,
        higher_is_better=known is None or known.higher_is_better,
        name=name or compared.label,
        measure=compared.measure_name,
        seed=seed,
        exploratory=exploratory,
        by=_classes(by, qrels),
    )
    left_out = set(result.undefined)
    scored = ((run, tuple(query for query in queries if query not in left_out)) for run, queries in without)
    unanswered = tuple((run, queries) for run, queries in scored if queries)
    return replace(result, unanswered=unanswered, a=compared.a, b=compared.b)


@final
@dataclass(frozen=True, slots=True)
class Compared:
    """What a comparison is of, known before anything is scored.

    Attributes
    ----------
    measure
        None where nothing says what the scores are.
    a, b
        Names of both sides; empty where nothing says one.
    """

    measure: Measure | None
    a: str
    b: str

    @property
    def measure_name(self) -> str:
        """The measure's name, or an empty string."""
        return "" if self.measure is None else self.measure.name

    @property
    def label(self) -> str:
        """The comparison's name where none was given: empty unless measure and both sides have one."""
        named = self.a and self.b and self.measure_name
        return f"{self.a} over {self.b} on {self.measure_name}" if named else ""


def compared_of(
    a: Run | Scores, b: Run | Scores, measure: str | Measure | None = None, kinds: Sequence[MeasureKind] = ()
) -> Compared:
    """Return what would be compared, without looking into either side.

    Parameters are those of `compare`.

    Raises
    ------
    MeasureError
        The measure is missing, unknown, or another one than the scores'.
    InputError
        One side is a run and the other is not.

    Examples
    --------
    >>> compared_of(Run({}, "hybrid"), Run({}, "bm25"), "R@5").label
    'hybrid over bm25 on recall@5'
    """
    of_runs = [isinstance(side, Run) for side in (a, b)]
    if any(of_runs) and not all(of_runs):
        raise InputError(
            f"a is a {type(a).__name__} and b is a {type(b).__name__}; give two runs, or the scores of both:"
            " compare(a, b, measure, qrels=qrels)"
        )
    if all(of_runs) and measure is None:
        raise MeasureError('two runs are compared on a measure: compare(a, b, "recall@5", qrels=qrels)')
    known = (
        parse(measure, kinds) if measure is not None and all(of_runs) else _measure_of(a, b, measure, kinds)
    )
    return Compared(known, _side_name(a), _side_name(b))


def _side_name(side: object) -> str:
    """Return a run's name, or that of the run whose scores a column holds; empty where neither is said."""
    name = side.name if isinstance(side, Run) else getattr(side, "attrs", {}).get(RUN, "")
    return name if isinstance(name, str) else ""


def _unanswered(run: Run, measure: Measure, qrels: Qrels) -> tuple[str, ...]:
    answers = run if measure.kind.reads == "ranking" else run.replies
    return tuple(query_id for query_id in sorted(qrels) if not answers.get(query_id))


def _scored(run: Run, measure: Measure, qrels: Qrels, side: str) -> Scores:
    if not any(query_id in run for query_id in qrels):
        raise QueryMismatchError(
            f"{side}{f' ({run.name})' if run.name else ''} answers none of the {len(qrels)} judged queries;"
            f" it answers {listed(run, 3) or 'nothing'}, judged are {listed(qrels, 3) or 'none'}"
        )
    return evaluate(qrels, run, [measure])[measure]


def _scores(side: Any, what: str) -> Scores:
    if isinstance(side, ScoreTable):
        columns = ", ".join(f"table[{measure.name!r}]" for measure in side.measures)
        raise InputError(f"{what} is a table of scores; give one column of it: {columns}")
    scores: Scores = side
    return scores


def _measure_of(
    a: object, b: object, measure: str | Measure | None, kinds: Sequence[MeasureKind]
) -> Measure | None:
    """Return the measure that scores are of: as said, or as the columns' names say."""
    given = None if measure is None else parse(measure, kinds)
    found = {"measure": given, "a": _named(a, kinds), "b": _named(b, kinds)}
    known = {side: of_side for side, of_side in found.items() if of_side is not None}
    if len({of_side.name for of_side in known.values()}) > 1:
        said = ", ".join(f"{side} is {of_side.name}" for side, of_side in known.items())
        raise MeasureError(f"these are scores of different measures: {said}")
    return next(iter(known.values()), None)


def _named(scores: object, kinds: Sequence[MeasureKind]) -> Measure | None:
    """Return the measure that a Series is named after; None where its name is anything else."""
    name = getattr(scores, "name", None)
    if not isinstance(name, str):
        return None
    try:
        return parse(name, kinds)
    except MeasureError:
        return None


def _classes(by: str | Mapping[str, str] | None, qrels: Qrels | None) -> Mapping[str, str] | None:
    if not isinstance(by, str):
        return by
    known = {} if qrels is None else {"stratum": qrels.strata, "split": qrels.splits}
    names = known.get(by)
    if names is None:
        raise InputError(
            f"by is {by!r}; allowed are 'stratum' and 'split' beside qrels that carry them, or a mapping"
            " query_id → name"
        )
    return names
