"""The values everything else is about: judgments, rankings, gold sets.

They are frozen and columnar, and do nothing beyond checking what they are made of. This module stands on the
ground: files make these values, measures read them, and neither knows the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from pytest_retrieval.errors import InputError, listed
from pytest_retrieval.order import by_score
from pytest_retrieval.spans import Place, Spans

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    IntArray = npt.NDArray[np.int64]
    FloatArray = npt.NDArray[np.float64]
    ObjectArray = npt.NDArray[np.object_]

__all__ = ["ALL", "Digests", "GoldSet", "Qrels", "Reply", "Run", "Subject", "selected"]

ALL = "all"
"""The stratum that holds every query: the only one of a gold set without strata."""

_EMPTY: Mapping[str, Any] = {}
_UNSCORED = float("nan")
_TOO_LARGE = 2**53  # beyond it, whole numbers that were read as floats are no longer exact


@final
@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Qrels(Mapping[str, "dict[str, int]"]):
    """Judgments: query → document → grade, as a mapping and as columns.

    Parameters
    ----------
    judgments
        ``{query_id: {doc_id: grade}}``, or ``{query_id: [doc_id, …]}`` where every listed document is
        relevant. Grades are whole numbers; 0 and below mean judged and not relevant. A query may have no
        judgments at all.
    relevance_level
        Smallest grade that counts as relevant, at least 1.
    groups
        ``{query_id: {doc_id: group}}``: documents of one group are interchangeable (`group_recall@k`).
    strata, splits
        ``{query_id: name}``.
    slices
        ``{query_id: names}``: overlapping tags.
    unanswerable
        Queries that are meant to have no relevant document.
    spans
        Gold spans and the places of chunks, for measures of characters (`span_recall@k`). `from_spans` makes
        the judgments of them too.

    Attributes
    ----------
    query_ids : tuple of str, length Q
    starts : ndarray of int64, shape (Q + 1,)
        Rows ``starts[q]`` up to ``starts[q + 1]`` of the columns belong to query ``q``.
    doc_ids : ndarray of object (str), shape (N,)
    grades : ndarray of int64, shape (N,)
    groups : ndarray of object (str), shape (N,), or None

    Raises
    ------
    InputError
        An id that is not a non-empty string, a grade that is not a whole number, a level below 1.

    Examples
    --------
    >>> qrels = Qrels({"q1": {"c12": 2, "c40": 1}}, relevance_level=2)
    >>> qrels["q1"]
    {'c12': 2, 'c40': 1}
    """

    query_ids: tuple[str, ...]
    starts: IntArray
    doc_ids: ObjectArray
    grades: IntArray
    groups: ObjectArray | None
    relevance_level: int
    strata: Mapping[str, str] | None
    splits: Mapping[str, str] | None
    slices: Mapping[str, tuple[str, ...]] | None
    unanswerable: frozenset[str]
    spans: Spans | None
    _place: Mapping[str, int]

    def __init__(
        self,
        judgments: Mapping[str, Mapping[str, int] | Iterable[str]],
        relevance_level: int = 1,
        *,
        groups: Mapping[str, Mapping[str, str]] | None = None,
        strata: Mapping[str, str] | None = None,
        splits: Mapping[str, str] | None = None,
        slices: Mapping[str, Iterable[str]] | None = None,
        unanswerable: Iterable[str] = (),
        spans: Spans | None = None,
    ) -> None:
        level = _level(relevance_level)
        _check_mapping(judgments, "judgments", "{query_id: {doc_id: grade}}")
        doc_ids: list[str] = []
        grades: list[int] = []
        names: list[str] = []
        starts = [0]
        for query_id, documents in judgments.items():
            _check_id(query_id, "query_id")
            graded = _graded(query_id, documents, level)
            doc_ids += graded
            grades += graded.values()
            starts.append(len(doc_ids))
            if groups is not None:
                of_query = groups.get(query_id, _EMPTY)
                names += (of_query.get(doc_id, doc_id) for doc_id in graded)
        self._fill(
            tuple(judgments),
            np.array(starts, dtype=np.int64),
            objects(doc_ids),
            np.array(grades, dtype=np.int64),
            None if groups is None else objects(names),
            level,
            strata,
            splits,
            slices,
            unanswerable,
            spans,
        )

    @classmethod
    def from_spans(cls, spans: Spans, relevance_level: int = 1, **known: Any) -> Qrels:
        """Return the judgments of chunks: each has the best grade of the gold spans that it overlaps.

        Parameters
        ----------
        spans
            Gold spans, and the places of the chunks.
        relevance_level
            As for the class.
        **known
            Strata, splits, slices and unanswerable queries, as for the class.

        Examples
        --------
        >>> spans = Spans({"q": [("guide", 40, 60)]}, {"c1": ("guide", 0, 50), "c2": ("guide", 60, 100)})
        >>> Qrels.from_spans(spans)["q"]
        {'c1': 1}
        """
        grades = {query_id: spans.grades(query_id) for query_id in spans.gold}
        return cls(grades, relevance_level, spans=spans, **known)

    @classmethod
    def from_columns(
        cls,
        query_ids: Sequence[str],
        starts: IntArray,
        doc_ids: ObjectArray,
        grades: IntArray,
        *,
        relevance_level: int = 1,
        groups: ObjectArray | None = None,
        strata: Mapping[str, str] | None = None,
        splits: Mapping[str, str] | None = None,
        slices: Mapping[str, Iterable[str]] | None = None,
        unanswerable: Iterable[str] = (),
        spans: Spans | None = None,
    ) -> Qrels:
        """Return judgments from columns that the caller has checked already (a file reader has).

        Shapes and types are those of the attributes of the same names.
        """
        qrels = object.__new__(cls)
        level = _level(relevance_level)
        qrels._fill(
            tuple(query_ids),
            starts,
            doc_ids,
            grades,
            groups,
            level,
            strata,
            splits,
            slices,
            unanswerable,
            spans,
        )
        return qrels

    def _fill(
        self,
        query_ids: tuple[str, ...],
        starts: IntArray,
        doc_ids: ObjectArray,
        grades: IntArray,
        groups: ObjectArray | None,
        relevance_level: int,
        strata: Mapping[str, str] | None,
        splits: Mapping[str, str] | None,
        slices: Mapping[str, Iterable[str]] | None,
        unanswerable: Iterable[str],
        spans: Spans | None,
    ) -> None:
        place = {query_id: number for number, query_id in enumerate(query_ids)}
        put = object.__setattr__
        put(self, "query_ids", query_ids)
        put(self, "starts", _read_only(starts))
        put(self, "doc_ids", _read_only(doc_ids))
        put(self, "grades", _read_only(grades))
        put(self, "groups", None if groups is None else _read_only(groups))
        put(self, "relevance_level", relevance_level)
        put(self, "strata", None if strata is None else dict(strata))
        put(self, "splits", None if splits is None else dict(splits))
        put(self, "slices", None if slices is None else {q: tuple(names) for q, names in slices.items()})
        put(self, "unanswerable", frozenset(unanswerable))
        put(self, "spans", spans)
        put(self, "_place", place)

    def __getitem__(self, query_id: str) -> dict[str, int]:
        rows = _rows(self._place[query_id], self.starts)
        return dict(zip(self.doc_ids[rows].tolist(), self.grades[rows].tolist(), strict=True))

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._place

    def __iter__(self) -> Iterator[str]:
        return iter(self.query_ids)

    def __len__(self) -> int:
        return len(self.query_ids)

    def __repr__(self) -> str:
        return (
            f"<Qrels: {len(self)} queries, {len(self.doc_ids)} judgments,"
            f" relevant from grade {self.relevance_level}>"
        )

    def relevant(self, query_id: str) -> dict[str, int]:
        """Return the relevant documents of one query with their grades."""
        return {doc: grade for doc, grade in self[query_id].items() if grade >= self.relevance_level}

    def groups_of(self, query_id: str) -> dict[str, str]:
        """Return document → group of one query; empty where no groups are named."""
        if self.groups is None:
            return {}
        rows = _rows(self._place[query_id], self.starts)
        return dict(zip(self.doc_ids[rows].tolist(), self.groups[rows].tolist(), strict=True))

    def select(self, query_ids: Iterable[str]) -> Qrels:
        """Return the judgments of some queries, each once, in the order given.

        Raises
        ------
        KeyError
            A query id that has no judgments here.
        """
        query_ids = tuple(dict.fromkeys(query_ids))
        starts, rows = selected([self._place[query_id] for query_id in query_ids], self.starts)
        return Qrels.from_columns(
            query_ids,
            starts,
            self.doc_ids[rows],
            self.grades[rows],
            relevance_level=self.relevance_level,
            groups=None if self.groups is None else self.groups[rows],
            strata=self.strata,
            splits=self.splits,
            slices=self.slices,
            unanswerable=self.unanswerable,
            spans=self.spans,
        )


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
        _check_mapping(rankings, "rankings", "{query_id: [doc_id, …]} or {query_id: {doc_id: score}}")
        doc_ids: list[str] = []
        scores: list[float] = []
        starts = [0]
        to_sort: list[int] = []
        for query_id, ranking in rankings.items():
            _check_id(query_id, "query_id")
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
        put(self, "starts", _read_only(starts))
        put(self, "doc_ids", _read_only(doc_ids))
        put(self, "scores", None if scores is None else _read_only(scores))
        put(self, "name", name)
        put(self, "stages", dict(stages or {}))
        put(self, "replies", {query_id: tuple(of_query) for query_id, of_query in (replies or {}).items()})
        put(self, "queries", dict(queries or {}))
        put(self, "latency", {query_id: float(seconds) for query_id, seconds in (latency or {}).items()})
        put(self, "places", {query_id: tuple(of_query) for query_id, of_query in (places or {}).items()})
        put(self, "_place", {query_id: number for number, query_id in enumerate(query_ids)})

    def __getitem__(self, query_id: str) -> tuple[str, ...]:
        return tuple(self.doc_ids[_rows(self._place[query_id], self.starts)].tolist())

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
        rows = _rows(self._place[query_id], self.starts)
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


@final
@dataclass(frozen=True, slots=True)
class Subject:
    """What is gated: a run's name, its measures (primary first) and the packages it cannot do without."""

    name: str
    measures: tuple[str, ...]
    requires: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Digests:
    """SHA-256 of what a pin stands on, as hexadecimal; whitespace, key and line order do not change them."""

    catalog: str
    judgments: str
    strata: str


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GoldSet:
    """A gold set: catalog, queries and judgments, and how they are to be gated.

    Attributes
    ----------
    name, version, provenance, licence
        What it is and where it comes from; the name identifies it.
    qrels
        The judgments, with strata, splits, slices and unanswerable queries.
    queries
        DataFrame indexed by query_id, with at least the column ``query``.
    catalog
        DataFrame indexed by doc_id, or None where the gold set lists no documents.
    grades
        Name → grade.
    subjects
        What is gated, by name.
    gate_splits
        Splits whose queries are gated; None where the queries have no splits.
    gate_also
        Cells beyond the strata: ``"all"``, ``"slice:<name>"``.
    unjudged
        ``"irrelevant"``: only positives are listed; ``"unknown"``: nobody looked at the rest.
    depth
        How deep retrievers are asked to rank.
    context_size
        How many documents the prompt holds, if it says.
    min_judged
        Smallest mean judged@k that a verdict may rest on, or None.
    tolerance, alpha, recording_drift
        Defaults of the gate: largest drop that is held, level of statistical rules, share of stale contexts.
    must
        Queries whose primary score may never fall.
    folder
        Where it was read from, as a label; empty where it was made in memory.
    doc_ids
        The ids of the catalog as they were read, whatever becomes of the DataFrame; None without a catalog.
    """

    name: str
    qrels: Qrels
    queries: pd.DataFrame
    digests: Digests
    catalog: pd.DataFrame | None = None
    version: str = ""
    provenance: str = ""
    licence: str = ""
    grades: Mapping[str, int] = field(default_factory=dict)
    subjects: Mapping[str, Subject] = field(default_factory=dict)
    gate_splits: tuple[str, ...] | None = None
    gate_also: tuple[str, ...] = ()
    unjudged: str = "irrelevant"
    depth: int = 100
    context_size: int | None = None
    min_judged: float | None = None
    tolerance: float = 0.0
    alpha: float = 0.05
    recording_drift: float = 0.0
    must: frozenset[str] = frozenset()
    folder: str = ""
    doc_ids: frozenset[str] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.catalog is not None:
            object.__setattr__(self, "doc_ids", frozenset(self.catalog.index))

    @property
    def gated_queries(self) -> tuple[str, ...]:
        """The queries of the gate's splits, sorted by id."""
        splits = self.qrels.splits
        if self.gate_splits is None or splits is None:
            return tuple(sorted(self.qrels.query_ids))
        wanted = set(self.gate_splits)
        return tuple(sorted(query_id for query_id in self.qrels.query_ids if splits[query_id] in wanted))

    def text_of(self, query_id: str) -> str:
        """Return the text of one query."""
        return str(self.queries.at[query_id, "query"])

    def __repr__(self) -> str:
        documents = "no catalog" if self.catalog is None else f"{len(self.catalog)} documents"
        return f"<GoldSet {self.name!r}: {len(self.queries)} queries, {documents}, {self.qrels!r}>"


def objects(values: Sequence[Any]) -> ObjectArray:
    """Return values as a one-dimensional array of objects, also where they are sequences themselves."""
    return np.fromiter(values, dtype=np.object_, count=len(values))


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view that refuses writing; the caller's own array stays as it was."""
    view = array.view()
    view.flags.writeable = False
    return view


def _check_mapping(value: object, what: str, shape: str) -> None:
    if not isinstance(value, Mapping):
        raise InputError(f"{what} are of type {type(value).__name__}; allowed is a mapping {shape}")


def _level(level: object) -> int:
    if isinstance(level, bool) or not isinstance(level, int | np.integer) or level < 1:
        raise InputError(f"relevance_level is {level!r}; allowed is a whole number of at least 1")
    return int(level)


def _check_id(value: object, what: str, query_id: str | None = None) -> None:
    if isinstance(value, str) and value:
        return
    place = "" if query_id is None else f" in query {query_id!r}"
    if value == "":
        raise InputError(f"empty {what}{place}; an id is a string of at least one character")
    hint = ": write str(...)" if isinstance(value, int | float | np.generic) else ""
    raise InputError(f"{what} {value!r}{place} is of type {type(value).__name__}; ids are strings{hint}")


def _graded(query_id: str, documents: object, level: int) -> dict[str, int]:
    """Return one query's documents with checked grades; a bare list of ids means relevant."""
    if isinstance(documents, str):
        raise InputError(
            f"judgments of query {query_id!r} are the string {documents!r}; allowed are a mapping"
            " doc_id → grade or a list of relevant ids"
        )
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(documents, Mapping):
        pairs = documents.items()
    elif isinstance(documents, Iterable):
        pairs = ((doc_id, level) for doc_id in documents)
    else:
        raise InputError(
            f"judgments of query {query_id!r} are {documents!r}; allowed are a mapping doc_id → grade or a"
            " list of relevant ids"
        )
    graded: dict[str, int] = {}
    for doc_id, grade in pairs:
        _check_id(doc_id, "doc_id", query_id)
        number = isinstance(grade, int | float | np.integer | np.floating) and not isinstance(grade, bool)
        whole = number and grade == grade and abs(grade) != float("inf") and grade == int(grade)
        if not whole or abs(grade) >= _TOO_LARGE:
            raise InputError(
                f"grade {grade!r} of document {doc_id!r} in query {query_id!r} is"
                f" {'too large' if whole else 'not a whole number'}; allowed are integers such as 0, 1, 2"
            )
        graded[doc_id] = int(grade)
    return graded


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
            _check_id(doc_id, "doc_id", query_id)
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


def _rows(query: int, starts: IntArray) -> slice:
    return slice(int(starts[query]), int(starts[query + 1]))


def selected(queries: Sequence[int], starts: IntArray) -> tuple[IntArray, IntArray]:
    """Return new starts and the rows of some queries, in the order given."""
    wanted = np.asarray(queries, dtype=np.int64)
    lengths = starts[wanted + 1] - starts[wanted]
    new_starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])
    rows = np.repeat(starts[wanted] - new_starts[:-1], lengths) + np.arange(new_starts[-1], dtype=np.int64)
    return new_starts, rows
