"""Runs: rankings by one system, and what a model replied on seeing them, frozen and checked when made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from pytest_retrieval.errors import InputError, listed
from pytest_retrieval.model.columns import check_id, check_mapping, objects, read_only, rows_of, selected
from pytest_retrieval.model.order import by_score
from pytest_retrieval.model.spans import Place

if TYPE_CHECKING:
    from pytest_retrieval.model.columns import FloatArray, IntArray, ObjectArray

__all__ = ["Reply", "Run", "is_table"]

_UNSCORED = float("nan")


@final
@dataclass(frozen=True, slots=True)
class Reply:
    """One reply to one query as the gate keeps it: what was shown, what was cited, and plain numbers.

    Attributes
    ----------
    shown
        Documents that were in front of the model: its context, or all that its searches returned.
    cited
        Documents it cites or picks; repeats are kept.
    numbers
        Scores that do not follow from judgments: counts of a trace, labels.
    picks
        Whether measures of a ranking read what was picked; else they read what was shown.
    """

    shown: tuple[str, ...]
    cited: tuple[str, ...]
    numbers: Mapping[str, float] = field(default_factory=dict)
    picks: bool = False

    @property
    def ranking(self) -> tuple[str, ...]:
        """What measures of a ranking read: each document once, in order."""
        return tuple(dict.fromkeys(self.cited if self.picks else self.shown))


@final
@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Run(Mapping[str, "tuple[str, ...]"]):
    """Rankings: query → documents in order, by one system.

    Parameters
    ----------
    rankings
        ``{query_id: [doc_id, …]}``: the list is the ranking and is never re-sorted, or
        ``{query_id: {doc_id: score}}``: ranked by score descending, equal scores by id descending as
        trec_eval does, or ``{query_id: [(doc_id, score), …]}``: the order of the list, scores kept.
    name
        Name of the system.
    stages
        Earlier rankings of the same system, by stage, in the order the system runs them.
    replies
        Query → what a model replied on seeing these documents, for measures of answers. Where there are
        several replies to a query, every score is averaged over them first.
    queries
        Query → the text that was searched with, where the system rewrote it.
    latency
        Query → seconds that it took, where the system says so.
    places
        Query → where each document of its ranking stood, for a ranking of chunks that there may be no more;
        otherwise the judgments know (`Qrels.spans`).

    Attributes
    ----------
    query_ids : tuple of str, length Q
    starts : ndarray of int64, shape (Q + 1,)
        Rows ``starts[q]`` up to ``starts[q + 1]`` hold the ranking of query ``q``, best first.
    doc_ids : ndarray of object (str), shape (N,)
    scores : ndarray of float64, shape (N,), or None
        NaN in rows whose query came without scores; None where no query had any.

    Raises
    ------
    InputError
        An id that is not a non-empty string; a score that is NaN or no number; a set, which has no order.

    Examples
    --------
    >>> Run({"q1": {"kea": 0.5, "tui": 0.5}})["q1"]
    ('tui', 'kea')
    >>> Run({"q1": ["kea", "tui"]})["q1"]
    ('kea', 'tui')
    """

    query_ids: tuple[str, ...]
    starts: IntArray
    doc_ids: ObjectArray
    scores: FloatArray | None
    name: str
    stages: Mapping[str, Run]
    replies: Mapping[str, tuple[Reply, ...]]
    queries: Mapping[str, str]
    latency: Mapping[str, float]
    places: Mapping[str, tuple[Place, ...]]
    _place: Mapping[str, int]

    def __init__(
        self,
        rankings: Mapping[str, Sequence[str] | Sequence[tuple[str, float]] | Mapping[str, float]],
        name: str = "",
        *,
        stages: Mapping[str, Run] | None = None,
        replies: Mapping[str, Sequence[Reply]] | None = None,
        queries: Mapping[str, str] | None = None,
        latency: Mapping[str, float] | None = None,
        places: Mapping[str, Sequence[Place]] | None = None,
    ) -> None:
        check_mapping(rankings, "rankings", "{query_id: [doc_id, …]} or {query_id: {doc_id: score}}")
        doc_ids: list[str] = []
        scores: list[float] = []
        starts = [0]
        to_sort: list[int] = []
        for query_id, ranking in rankings.items():
            check_id(query_id, "query_id")
            if isinstance(ranking, Mapping):
                to_sort.append(len(starts) - 1)
            ids, of_ids = _ranking(query_id, ranking)
            doc_ids += ids
            scores += of_ids
            starts.append(len(doc_ids))
        columns = objects(doc_ids), np.array(scores, dtype=np.float64)
        offsets = np.array(starts, dtype=np.int64)
        order = _order_of_mappings(columns[0], columns[1], offsets, to_sort)
        known = len(scores) > 0 and not np.isnan(columns[1]).all()
        scored = columns[1][order] if known else None
        self._fill(
            tuple(rankings), offsets, columns[0][order], scored, name, stages, replies, queries, latency,
            places,
        )  # fmt: skip

    @classmethod
    def from_columns(
        cls,
        query_ids: Sequence[str],
        starts: IntArray,
        doc_ids: ObjectArray,
        scores: FloatArray | None = None,
        *,
        name: str = "",
        stages: Mapping[str, Run] | None = None,
        replies: Mapping[str, Sequence[Reply]] | None = None,
        queries: Mapping[str, str] | None = None,
        latency: Mapping[str, float] | None = None,
        places: Mapping[str, Sequence[Place]] | None = None,
    ) -> Run:
        """Return rankings from columns that are in order and checked already (a file reader's are).

        Shapes and types are those of the attributes of the same names.
        """
        run = object.__new__(cls)
        run._fill(tuple(query_ids), starts, doc_ids, scores, name, stages, replies, queries, latency, places)
        return run

    def _fill(
        self,
        query_ids: tuple[str, ...],
        starts: IntArray,
        doc_ids: ObjectArray,
        scores: FloatArray | None,
        name: str,
        stages: Mapping[str, Run] | None,
        replies: Mapping[str, Sequence[Reply]] | None,
        queries: Mapping[str, str] | None,
        latency: Mapping[str, float] | None,
        places: Mapping[str, Sequence[Place]] | None,
    ) -> None:
        put = object.__setattr__
        put(self, "query_ids", query_ids)
        put(self, "starts", read_only(starts))
        put(self, "doc_ids", read_only(doc_ids))
        put(self, "scores", None if scores is None else read_only(scores))
        put(self, "name", name)
        put(self, "stages", dict(stages or {}))
        put(self, "replies", {query_id: tuple(of_query) for query_id, of_query in (replies or {}).items()})
        put(self, "queries", dict(queries or {}))
        put(self, "latency", {query_id: float(seconds) for query_id, seconds in (latency or {}).items()})
        put(self, "places", {query_id: tuple(of_query) for query_id, of_query in (places or {}).items()})
        put(self, "_place", {query_id: number for number, query_id in enumerate(query_ids)})

    def __getitem__(self, query_id: str) -> tuple[str, ...]:
        return tuple(self.doc_ids[rows_of(self._place[query_id], self.starts)].tolist())

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._place

    def __iter__(self) -> Iterator[str]:
        return iter(self.query_ids)

    def __len__(self) -> int:
        return len(self.query_ids)

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"<Run{name}: {len(self)} queries, {len(self.doc_ids)} documents>"

    def scored(self, query_id: str) -> tuple[tuple[str, float], ...]:
        """Return one ranking as (doc_id, score) pairs; scores are NaN where the run has none."""
        rows = rows_of(self._place[query_id], self.starts)
        documents = self.doc_ids[rows].tolist()
        scores = [float("nan")] * len(documents) if self.scores is None else self.scores[rows].tolist()
        return tuple(zip(documents, scores, strict=True))

    def select(self, query_ids: Iterable[str]) -> Run:
        """Return the rankings of those of these queries that the run answered, each once, in this order."""
        query_ids = tuple(query_id for query_id in dict.fromkeys(query_ids) if query_id in self._place)
        starts, rows = selected([self._place[query_id] for query_id in query_ids], self.starts)
        return Run.from_columns(
            query_ids,
            starts,
            self.doc_ids[rows],
            None if self.scores is None else self.scores[rows],
            name=self.name,
            stages={stage: run.select(query_ids) for stage, run in self.stages.items()},
            replies={query_id: self.replies[query_id] for query_id in query_ids if query_id in self.replies},
            queries={query_id: self.queries[query_id] for query_id in query_ids if query_id in self.queries},
            latency={query_id: self.latency[query_id] for query_id in query_ids if query_id in self.latency},
            places={query_id: self.places[query_id] for query_id in query_ids if query_id in self.places},
        )


def _ranking(query_id: str, ranking: object) -> tuple[list[str], list[float]]:
    """Return one query's documents and scores (NaN without any) in the order given."""
    if isinstance(ranking, str | set | frozenset) or not isinstance(ranking, Iterable) or is_table(ranking):
        shown = f"a {type(ranking).__name__}" if is_table(ranking) else repr(ranking)
        raise InputError(f"ranking of query {query_id!r} is {shown}; {_ALLOWED}")
    ids: list[Any]
    given: list[Any]
    if isinstance(ranking, Mapping):
        ids, given = list(ranking), list(ranking.values())
    else:
        ids = list(ranking)
        given = [_UNSCORED] * len(ids)
        if not _are_plain(ids, str):
            pairs = [isinstance(entry, tuple | list) for entry in ids]
            if any(pairs) and not all(pairs):
                first, other = ids[0], ids[pairs.index(not pairs[0])]
                raise InputError(
                    f"ranking of query {query_id!r} mixes ids and pairs: {first!r} and {other!r}; {_ALLOWED}"
                )
            for place, entry in enumerate(ids if any(pairs) else ()):
                if len(entry) != 2:
                    raise InputError(
                        f"ranking of query {query_id!r} holds {entry!r}, which has {len(entry)} parts;"
                        f" {_ALLOWED}"
                    )
                ids[place] = entry[0]
                given[place] = _UNSCORED if entry[1] is None else entry[1]
    if not _are_plain(ids, str) or "" in ids:
        for doc_id in ids:
            check_id(doc_id, "doc_id", query_id)
    scores = given if _are_plain(given, float) else [_score(score) for score in given]
    not_numbers = [
        f"{doc_id} ({was!r})"
        for doc_id, was, score in zip(ids, given, scores, strict=True)
        if score != score and was is not _UNSCORED
    ]
    if not_numbers:
        raise InputError(
            f"query {query_id!r}: scores that are no numbers: {listed(not_numbers)}; allowed are finite"
            " numbers and infinities"
        )
    return ids, scores


_ALLOWED = "allowed are a list of doc ids, a list of (doc_id, score) pairs or a mapping doc_id → score"


def is_table(value: object) -> bool:
    """Return whether a value is a DataFrame or a Series: going through one gives columns, or scores alone."""
    return hasattr(value, "iloc") or hasattr(value, "iter_rows")


def _are_plain(values: list[Any], kind: type) -> bool:
    """Return whether every value is exactly of one type; the usual case, told without a look at each."""
    return set(map(type, values)) <= {kind}


def _score(score: Any) -> float:
    """Return a score as a float, NaN where it is no number."""
    if isinstance(score, str | bytes | bool | np.bool_):
        return _UNSCORED
    try:
        return float(score)
    except (TypeError, ValueError, OverflowError):
        return _UNSCORED


def _order_of_mappings(
    doc_ids: ObjectArray, scores: FloatArray, starts: IntArray, queries: list[int]
) -> IntArray:
    """Return the row order in which only the queries that came as mappings are sorted by score."""
    order = np.arange(len(doc_ids), dtype=np.int64)
    if queries:
        inner, rows = selected(queries, starts)
        order[rows] = rows[by_score(doc_ids[rows], scores[rows], inner)]
    return order
