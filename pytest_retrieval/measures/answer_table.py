"""Scores per answer: what its context held, what it cites, and how people judged that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from pytest_retrieval.errors import InputError, QueryMismatchError, listed
from pytest_retrieval.measures.rows import frame_of, mean_over_queries, series_of
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.records import Answer, answers_from

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AnswerRow", "AnswerTable", "score_answers", "spearman_with_share"]

_NAN = float("nan")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRow:
    """What is known of one answer. Counts are of distinct documents.

    Attributes
    ----------
    query_id, context, stratum
        Which answer it is; the stratum is empty where the judgments name none.
    shown, exact_in_context, unjudged_in_context
        Documents in its context, the relevant ones, and those that nobody judged.
    cited, exact_cited, partial_cited, irrelevant_cited, unjudged_cited
        Documents it cites, by grade. Partial: a grade above 0 and below the relevance level.
    exact_share
        exact_cited / cited; 0 where nothing is cited, NaN where no document is relevant to the query.
    grounded
        Share of what it cites that its context held; NaN where nothing is cited.
    recommends_nothing
        Whether it cites nothing.
    outside_context
        Documents it cites that its context did not hold.
    cited_twice
        Documents it cites more than once.
    over_allowed
        Documents beyond the number allowed; 0 where no number is given.
    differs_from_text
        Documents that its text names and the cited field does not, or the other way round; 0 where texts are
        not read.
    answerable
        Whether any document is relevant to the query.
    broken
        Whether the reply could not be used.
    latency
        Seconds that the reply took; NaN where nobody measured.
    top_score
        Highest score of a document in its context, in its retriever's own unit; NaN without scores.
    """

    query_id: str
    context: str
    stratum: str
    shown: int
    exact_in_context: int
    unjudged_in_context: int
    cited: int
    exact_cited: int
    partial_cited: int
    irrelevant_cited: int
    unjudged_cited: int
    exact_share: float
    grounded: float
    recommends_nothing: bool
    outside_context: int
    cited_twice: int
    over_allowed: int
    differs_from_text: int
    answerable: bool
    broken: bool
    latency: float
    top_score: float


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnswerTable:
    """One row per answer.

    Attributes
    ----------
    rows
        In the order of the answers.
    """

    rows: tuple[AnswerRow, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[AnswerRow]:
        return iter(self.rows)

    def __getitem__(self, column: str) -> pd.Series[float]:
        """Return one column as a Series indexed by (query_id, context).

        Raises
        ------
        KeyError
            There is no such column.
        """
        return self.to_frame().set_index(["query_id", "context"])[column]

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with one row per answer and the attributes of `AnswerRow` as columns."""
        return frame_of(self.rows, AnswerRow)

    def per_query(self, column: str = "exact_share") -> pd.Series[float]:
        """Return query_id → mean of a column over the replies to the query; undefined ones stay out.

        The table must hold one kind of context: select one first.

        Raises
        ------
        InputError
            There are several kinds of context, or no such column.
        """
        return series_of(self.rows, AnswerRow, column)

    def select(self, *, context: str | None = None, stratum: str | None = None) -> AnswerTable:
        """Return the answers under one context, of one stratum, or both."""
        wanted = (
            row for row in self.rows if context in (None, row.context) and stratum in (None, row.stratum)
        )
        return AnswerTable(tuple(wanted))

    def by_context(self) -> dict[str, dict[str, float]]:
        """Return context → figure → value, in the order of first appearance; figures as in `summary`."""
        return _grouped(self.rows, lambda row: row.context)

    def by_stratum(self) -> dict[str, dict[str, float]]:
        """Return stratum → figure → value, sorted; figures as in `summary`."""
        return dict(sorted(_grouped(self.rows, lambda row: row.stratum).items()))

    def mean(self) -> dict[str, float]:
        """Return the means of `exact_share` and `grounded` over queries, and the two shares of declining.

        Replies to one query are averaged first. ``declined`` is over unanswerable queries,
        ``declined_wrongly`` over the rest and among contexts that held something relevant.
        """
        answerable = [row for row in self.rows if row.answerable]
        return {
            "exact_share": mean_over_queries(self.rows, lambda row: row.exact_share),
            "grounded": mean_over_queries(self.rows, lambda row: row.grounded),
            "declined": mean_over_queries(
                [row for row in self.rows if not row.answerable], lambda row: float(row.recommends_nothing)
            ),
            "declined_wrongly": mean_over_queries(
                answerable, lambda row: float(row.recommends_nothing and row.exact_in_context > 0)
            ),
        }

    def summary(self) -> dict[str, float]:
        """Return counts over all answers and the means of `mean`: what a report prints of a context.

        ``nothing_share`` is the share of answers that cite nothing. ``latency_p50`` and ``latency_p95`` are
        quantiles in seconds, ``top_score_p10``, ``top_score_p50`` and ``top_score_p90`` those of the highest
        score in a context, all over answers and interpolated linearly; NaN where nothing was recorded.
        """
        return _figures(self.rows)

    def crossed(self) -> dict[tuple[bool, bool], int]:
        """Return (context held something exact, answer recommends nothing) → answers; all four are there.

        ``(True, True)`` are answers that declined with something exact in front of them, ``(False, False)``
        answers that recommended something although nothing exact was there.
        """
        counts = dict.fromkeys(((True, True), (True, False), (False, True), (False, False)), 0)
        for row in self.rows:
            counts[row.exact_in_context > 0, row.recommends_nothing] += 1
        return counts

    def above_ceiling(self) -> tuple[AnswerRow, ...]:
        """Return the answers that cite more exact documents than their context holds: there should be none.

        A grounded answer can only cite what was in front of it, so such an answer came from elsewhere.
        """
        return tuple(row for row in self.rows if row.exact_cited > row.exact_in_context)

    def __repr__(self) -> str:
        contexts = listed(dict.fromkeys(row.context for row in self.rows if row.context))
        share = self.mean()["exact_share"]
        shown = "n/a" if share != share else f"{share:.3f}"
        under = f" under {contexts}" if contexts else ""
        return f"<AnswerTable: {len(self.rows)} answers{under}; exact_share {shown}>"


def score_answers(
    answers: object,
    qrels: Qrels,
    *,
    strata: Mapping[str, str] | None = None,
    allowed: int | None = None,
    pattern: str | None = None,
    unknown_queries: str = "error",
) -> AnswerTable:
    """Score answers by the documents they cite, on people's judgments.

    Parameters
    ----------
    answers
        `Answer` values, mappings with the same keys, a DataFrame with such columns, or a `Recording`.
    qrels
        Judgments. A document is exact where its grade reaches the relevance level.
    strata
        ``{query_id: stratum}``; by default those of the qrels.
    allowed
        How many documents an answer may cite.
    pattern
        Regular expression of an id as texts write it; then the ids in the text are held against the field.
        By default the ids of the context and the field are looked for as whole tokens, but those that look
        like numbers are not: prose holds numbers that are no ids.
    unknown_queries
        ``"error"`` or ``"ignore"``: answers to queries that nobody judged.

    Returns
    -------
    AnswerTable

    Raises
    ------
    InputError
        A value is no answer.
    QueryMismatchError
        An answer's query has no judgments.

    Examples
    --------
    >>> qrels = Qrels({"q1": {"a": 2, "b": 1}}, relevance_level=2)
    >>> answers = [Answer("q1", "bm25", ["a", "b"], ["a", "x"])]
    >>> table = score_answers(answers, qrels)
    >>> table.rows[0].exact_share, table.rows[0].outside_context
    (0.5, 1)
    """
    values = answers_from(answers)
    if unknown_queries not in ("error", "ignore"):
        raise InputError(f"unknown_queries is {unknown_queries!r}; allowed are 'error' and 'ignore'")
    if not isinstance(qrels, Qrels):
        raise InputError(
            f"qrels is of type {type(qrels).__name__}; judgments are Qrels: score_answers(answers, qrels)"
        )
    unknown = [answer.query_id for answer in values if answer.query_id not in qrels]
    if unknown and unknown_queries == "error":
        names = dict.fromkeys(unknown)
        raise QueryMismatchError(
            f"{len(names)} answered queries have no judgments: {listed(names)}; mend the ids, or pass"
            " unknown_queries='ignore'"
        )
    by_query = qrels.strata if strata is None else strata
    known = [answer for answer in values if answer.query_id in qrels]
    return AnswerTable(tuple(_row(answer, qrels, by_query or {}, allowed, pattern) for answer in known))


def spearman_with_share(answers: object, qrels: Qrels, measure: str = "context_precision@5") -> float:
    """Return Spearman's correlation of a context's measure with the exact share of its answer.

    It describes one recording. Both sides use the same judgments, and an answer can only cite what its
    context holds, so some of it is built in.

    Parameters
    ----------
    answers
        Answers, mappings, a DataFrame or a recording, of one kind of context or several.
    qrels
        Judgments.
    measure
        Measure of a ranking, scored on each answer's context.

    Returns
    -------
    float
        In [−1, 1]; NaN where either side never varies or fewer than two answers have both.

    Raises
    ------
    InputError, QueryMismatchError, MeasureError
        As `score_answers` and `evaluate` do.

    References
    ----------
    Spearman, The proof and measurement of association between two things, 1904.
    """
    import numpy as np

    from pytest_retrieval.measures.table import evaluate, repeated
    from pytest_retrieval.model.run import Run

    values = answers_from(answers)
    shares = [row.exact_share for row in score_answers(values, qrels).rows]
    judgments = repeated(qrels, [answer.query_id for answer in values])
    contexts = [list(dict.fromkeys(answer.context_ids)) for answer in values]
    run = Run(dict(zip(judgments.query_ids, contexts, strict=True)))
    scores = evaluate(judgments, run, [measure]).values[:, 0].tolist()
    both = [(a, b) for a, b in zip(scores, shares, strict=True) if a == a and b == b]
    columns = np.array(both, dtype=np.float64).reshape(-1, 2).T
    if len(both) < 2 or (columns.min(axis=1) == columns.max(axis=1)).any():
        return _NAN
    from scipy.stats import spearmanr

    return float(spearmanr(columns[0], columns[1]).statistic)


def _row(
    answer: Answer, qrels: Qrels, strata: Mapping[str, str], allowed: int | None, pattern: str | None
) -> AnswerRow:
    from pytest_retrieval.measures.tokens import ids_in_text

    grades, level = qrels[answer.query_id], qrels.relevance_level
    shown, cited = dict.fromkeys(answer.context_ids), answer.distinct_cited
    exact = sum(grades.get(doc_id, 0) >= level for doc_id in cited)
    answerable = any(grade >= level for grade in grades.values())
    written = ids_in_text(answer.text, {*shown, *cited}, pattern)
    text_counts = bool(written) or pattern is not None
    return AnswerRow(
        query_id=answer.query_id,
        context=answer.context,
        stratum=strata.get(answer.query_id, ""),
        shown=len(shown),
        exact_in_context=sum(grades.get(doc_id, 0) >= level for doc_id in shown),
        unjudged_in_context=sum(doc_id not in grades for doc_id in shown),
        cited=len(cited),
        exact_cited=exact,
        partial_cited=sum(0 < grades.get(doc_id, 0) < level for doc_id in cited),
        irrelevant_cited=sum(doc_id in grades and grades[doc_id] <= 0 for doc_id in cited),
        unjudged_cited=sum(doc_id not in grades for doc_id in cited),
        exact_share=(exact / len(cited) if cited else 0.0) if answerable else _NAN,
        grounded=1 - len(answer.outside) / len(cited) if cited else _NAN,
        recommends_nothing=not cited,
        outside_context=len(answer.outside),
        cited_twice=len({doc_id for doc_id in cited if answer.cited_ids.count(doc_id) > 1}),
        over_allowed=0 if allowed is None else max(0, len(cited) - allowed),
        differs_from_text=len(set(written) ^ set(cited)) if text_counts else 0,
        answerable=answerable,
        broken=bool(answer.error),
        latency=_NAN if answer.latency is None else answer.latency,
        top_score=max(answer.scores, default=_NAN),
    )


def _grouped(rows: Sequence[AnswerRow], key: Callable[[AnswerRow], str]) -> dict[str, dict[str, float]]:
    groups: dict[str, list[AnswerRow]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return {name: _figures(of_group) for name, of_group in groups.items()}


_COUNTED = (
    "cited", "exact_cited", "partial_cited", "irrelevant_cited", "unjudged_cited", "unjudged_in_context",
    "outside_context", "over_allowed",
)  # fmt: skip


def _figures(rows: Sequence[AnswerRow]) -> dict[str, float]:
    held = [row for row in rows if row.exact_in_context]
    near = [row for row in rows if not row.exact_in_context]
    return {
        "answers": len(rows),
        "contexts_with_exact": len(held),
        "answers_citing_exact": sum(row.exact_cited > 0 for row in rows),
        **{name: sum(getattr(row, name) for row in rows) for name in _COUNTED},
        "answers_citing_outside": sum(row.outside_context > 0 for row in rows),
        "answers_citing_twice": sum(row.cited_twice > 0 for row in rows),
        "answers_over_allowed": sum(row.over_allowed > 0 for row in rows),
        "answers_differing_from_text": sum(row.differs_from_text > 0 for row in rows),
        "broken": sum(row.broken for row in rows),
        "recommend_nothing": sum(row.recommends_nothing for row in rows),
        "nothing_share": sum(row.recommends_nothing for row in rows) / len(rows) if rows else _NAN,
        "recommend_nothing_with_exact": sum(row.recommends_nothing for row in held),
        "recommend_something_without_exact": sum(not row.recommends_nothing for row in near),
        "cited_without_exact": sum(row.cited for row in near),
        "partial_cited_without_exact": sum(row.partial_cited for row in near),
        **quantiles_of("latency", [row.latency for row in rows], (50, 95)),
        **quantiles_of("top_score", [row.top_score for row in rows], (10, 50, 90)),
        **AnswerTable(tuple(rows)).mean(),
    }


def quantiles_of(name: str, values: Sequence[float], percents: Sequence[int]) -> dict[str, float]:
    """Return ``<name>_p<percent>`` → quantile of the values that are there, or NaN where none is.

    Examples
    --------
    >>> quantiles_of("latency", [1.0, 2.0, float("nan"), 4.0], [50])
    {'latency_p50': 2.0}
    """
    import numpy as np

    known = [value for value in values if value == value]
    found = np.percentile(known, percents).tolist() if known else [_NAN] * len(percents)
    return {f"{name}_p{percent}": value for percent, value in zip(percents, found, strict=True)}
