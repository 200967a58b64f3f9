"""Scores per query and measure, and their means: what `evaluate` returns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from pytest_retrieval.errors import InputError, MeasureError, listed
from pytest_retrieval.measures.notation import Measure, parse, parse_all
from pytest_retrieval.measures.rank import MeasureKind
from pytest_retrieval.measures.ranking import Judged, join
from pytest_retrieval.measures.strata import aligned, members
from pytest_retrieval.model.columns import selected
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Run
from pytest_retrieval.model.spans import Spans

if TYPE_CHECKING:
    import pandas as pd

    from pytest_retrieval.measures.ranking import FloatArray

__all__ = ["RUN", "Means", "ScoreTable", "evaluate", "mean_of"]

RUN = "run"
"""Key of a column's ``attrs``: the name of the run that it scores."""


def mean_of(scores: Iterable[float]) -> float:
    """Return the mean of the scores that are defined, by `math.fsum`; NaN where none is.

    The result does not depend on the order of the scores.

    Examples
    --------
    >>> mean_of([1.0, float("nan"), 0.5])
    0.75
    """
    defined = [float(score) for score in scores if score == score]
    return math.fsum(defined) / len(defined) if defined else math.nan


@final
class Means(Mapping[str, float]):
    """Canonical measure name → mean score; any spelling of a measure may be used to look one up.

    Examples
    --------
    >>> means = evaluate(Qrels({"q": {"a": 1}}), Run({"q": ["a"]}), ["recall@5"]).mean()
    >>> means["R@5"], list(means)
    (1.0, ['recall@5'])
    """

    __slots__ = ("_means", "_table")

    def __init__(self, table: ScoreTable, rows: Sequence[int] | None = None) -> None:
        values = table.values if rows is None else table.values[list(rows)]
        self._table = table
        self._means = {
            measure.name: mean_of(values[:, column].tolist()) for column, measure in enumerate(table.measures)
        }

    def __getitem__(self, name: str) -> float:
        return self._means[self._table.measures[self._table.column(name)].name]

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and self._table.column(name) >= 0
        except MeasureError:
            return False

    def get(self, name: str, default: Any = None, /) -> Any:
        """Return the mean of a measure, or the default where the table does not hold it."""
        try:
            return self[name]
        except MeasureError:
            return default

    def __iter__(self) -> Iterator[str]:
        return iter(self._means)

    def __len__(self) -> int:
        return len(self._means)

    def __repr__(self) -> str:
        return repr(self._means)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScoreTable:
    """One score per query and measure.

    Attributes
    ----------
    query_ids : tuple of str, length Q
        Every judged query, in the order of the judgments.
    measures : tuple of Measure, length M
    values : ndarray of float64, shape (Q, M)
        NaN where a measure is undefined for a query.
    attainable : ndarray of float64, shape (Q, M)
        Best score any ranking could get under these judgments; NaN where undefined.
    strata : tuple of str, length Q, or None
    judged : Judged
        The join the scores were made from.
    run : str
        Name of the run; empty where it has none. A column carries it as ``attrs["run"]``.
    """

    query_ids: tuple[str, ...]
    measures: tuple[Measure, ...]
    values: FloatArray
    attainable: FloatArray
    strata: tuple[str, ...] | None
    judged: Judged
    run: str = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """Judged queries that the run does not name; they score 0."""
        return self.judged.missing

    @property
    def undefined(self) -> dict[str, tuple[str, ...]]:
        """Measure → queries that it leaves undefined and that stay out of its mean."""
        holes = np.isnan(self.values)
        return {
            measure.name: tuple(self.query_ids[row] for row in np.flatnonzero(holes[:, column]))
            for column, measure in enumerate(self.measures)
            if holes[:, column].any()
        }

    def column(self, name: str | Measure) -> int:
        """Return the column of a measure, by any of its spellings.

        Raises
        ------
        MeasureError
            The table does not hold it.
        """
        names = [measure.name for measure in self.measures]
        try:
            wanted = parse(name, [measure.kind for measure in self.measures]).name
            return names.index(wanted)
        except (MeasureError, ValueError):
            raise MeasureError(f"the table has no {name!r}; it has {', '.join(names)}") from None

    def __getitem__(self, name: str | Measure) -> pd.Series[float]:
        """Return the scores of one measure as a Series indexed by query_id."""
        import pandas as pd

        column = self.column(name)
        index = pd.Index(self.query_ids, dtype=object, name="query_id")
        scores = pd.Series(self.values[:, column].copy(), index=index, name=self.measures[column].name)
        if self.run:
            scores.attrs[RUN] = self.run
        return scores

    def mean(self) -> Means:
        """Return canonical measure name → mean over the queries for which it is defined."""
        return Means(self)

    def by_stratum(self) -> dict[str, Means]:
        """Return stratum → measure → mean, sorted by stratum.

        Raises
        ------
        InputError
            The table has no strata.
        """
        if self.strata is None:
            raise InputError(
                "this table has no strata: pass strata={query_id: name} to evaluate, or qrels with strata"
            )
        return {stratum: Means(self, rows) for stratum, rows in members(self.strata).items()}

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame indexed by query_id, one column per measure, `stratum` first where known."""
        import pandas as pd

        frame = pd.DataFrame(
            self.values.copy(),
            index=pd.Index(self.query_ids, dtype=object, name="query_id"),
            columns=[measure.name for measure in self.measures],
        )
        if self.strata is not None:
            frame.insert(0, "stratum", list(self.strata))
        return frame

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {_shown(mean)}" for name, mean in self.mean().items())
        notes = f"; {len(self.missing)} missing from the run" if self.missing else ""
        return f"<ScoreTable: {len(self.query_ids)} queries; {means}{notes}>"


def evaluate(
    qrels: Qrels,
    run: Run,
    measures: Sequence[str | Measure],
    *,
    strata: Mapping[str, str] | None = None,
    duplicates: str = "error",
    unknown_queries: str = "error",
    kinds: Sequence[MeasureKind] = (),
) -> ScoreTable:
    """Score a run against judgments.

    A judged query that the run does not answer scores 0 and is named in `ScoreTable.missing`. A query
    without a relevant document is undefined (NaN), stays out of the mean and is named in
    `ScoreTable.undefined`.

    Parameters
    ----------
    qrels, run
        Judgments and rankings, joined by id.
    measures
        Names in our spelling or ir_measures', or measures.
    strata
        ``{query_id: stratum}``; by default those of the qrels.
    duplicates
        ``"error"``, ``"no_credit"`` (a repeated document keeps its rank and earns nothing) or ``"collapse"``
        (it is removed before the cut).
    unknown_queries
        ``"error"`` or ``"ignore"``: queries of the run that nobody judged.
    kinds
        Measures of a project's own.

    Returns
    -------
    ScoreTable

    Raises
    ------
    MeasureError
        A measure is not known.
    QueryMismatchError, DuplicateDocumentError
        As the options say.
    InputError
        A judged query has no stratum in `strata`, or an argument of another type.

    Examples
    --------
    >>> qrels = Qrels({"q1": {"c12": 1}, "q2": {"c88": 1}})
    >>> table = evaluate(qrels, Run({"q1": ["c12", "c07"], "q2": ["c90", "c88"]}), ["recall@1", "mrr@10"])
    >>> dict(table.mean())
    {'recall@1': 0.5, 'mrr@10': 0.75}
    """
    parsed = parse_all(measures, kinds)
    if not parsed:
        raise MeasureError("no measure was given; name at least one, such as recall@5")
    judged = join(qrels, run, duplicates=duplicates, unknown_queries=unknown_queries)
    by_query = qrels.strata if strata is None else strata
    several = any(len(replies) > 1 for replies in run.replies.values())
    return ScoreTable(
        query_ids=qrels.query_ids,
        measures=parsed,
        values=_averaged(qrels, run, parsed)
        if several
        else _columns([measure.scores(judged) for measure in parsed]),
        attainable=_columns([measure.attainable(judged) for measure in parsed]),
        strata=None if by_query is None else aligned(by_query, qrels.query_ids),
        judged=judged,
        run=run.name,
    )


def repeated(qrels: Qrels, query_ids: Sequence[str]) -> Qrels:
    """Return the judgments of queries that may be named more than once, under the names 0, 1, 2, ….

    So several rankings for one query are scored in one join.

    Examples
    --------
    >>> twice = repeated(Qrels({"q1": {"a": 1}, "q2": {"b": 1}}), ["q2", "q1", "q2"])
    >>> dict(twice)
    {'0': {'b': 1}, '1': {'a': 1}, '2': {'b': 1}}
    """
    place = {query_id: number for number, query_id in enumerate(qrels.query_ids)}
    names = [str(number) for number in range(len(query_ids))]
    starts, rows = selected([place[query_id] for query_id in query_ids], qrels.starts)
    spans = qrels.spans
    if spans is not None:
        gold = {name: spans.gold.get(of, ()) for name, of in zip(names, query_ids, strict=True)}
        spans = Spans(gold, spans.places)
    return Qrels.from_columns(
        names,
        starts,
        qrels.doc_ids[rows],
        qrels.grades[rows],
        relevance_level=qrels.relevance_level,
        groups=None if qrels.groups is None else qrels.groups[rows],
        spans=spans,
    )


def _averaged(qrels: Qrels, run: Run, measures: Sequence[Measure]) -> FloatArray:
    """Return scores averaged over the replies to each query, shape (Q, M); undefined ones stay out."""
    replies = [run.replies.get(query_id, ()) for query_id in qrels.query_ids]
    owner = [number for number, of_query in enumerate(replies) for _ in of_query or (None,)]
    judgments = repeated(qrels, [qrels.query_ids[number] for number in owner])
    one_by_one = [reply for of_query in replies for reply in (of_query or (None,))]
    named = zip(judgments.query_ids, one_by_one, strict=True)
    given = {name: reply for name, reply in named if reply is not None}
    each = Run(
        {name: reply.ranking for name, reply in given.items()},
        replies={name: (reply,) for name, reply in given.items()},
    )
    judged = join(judgments, each)
    scores = np.stack([measure.scores(judged) for measure in measures], axis=1)
    places = _rows_of(owner, len(replies))
    means = [
        [mean_of(scores[of_query, column].tolist()) for column in range(len(measures))] for of_query in places
    ]
    return _columns(list(np.array(means, dtype=np.float64).reshape(len(replies), len(measures)).T))


def _rows_of(owner: Sequence[int], count: int) -> list[list[int]]:
    """Return the rows of each of `count` owners."""
    rows: list[list[int]] = [[] for _ in range(count)]
    for row, number in enumerate(owner):
        rows[number].append(row)
    return rows


def _columns(columns: Sequence[FloatArray]) -> FloatArray:
    table = np.stack(columns, axis=1)
    table.flags.writeable = False
    return table


def _shown(value: float) -> str:
    return "n/a" if math.isnan(value) else f"{value:.3f}"


def unanswered(table: ScoreTable) -> str:
    """Return a sentence that names the judged queries without results, or an empty string."""
    if not table.missing:
        return ""
    count = len(table.missing)
    subject = (
        "1 judged query got no ranking and scores"
        if count == 1
        else f"{count} judged queries got no ranking and score"
    )
    return f"{subject} 0: {listed(table.missing)}"
