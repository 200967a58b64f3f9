"""Qrels: what people judged, as a mapping and as columns, frozen and checked when it is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from pytest_retrieval.errors import InputError
from pytest_retrieval.model.columns import check_id, check_mapping, objects, read_only, rows_of, selected
from pytest_retrieval.model.spans import Spans

if TYPE_CHECKING:
    from pytest_retrieval.model.columns import IntArray, ObjectArray

__all__ = ["Qrels"]

_EMPTY: Mapping[str, Any] = {}
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
        check_mapping(judgments, "judgments", "{query_id: {doc_id: grade}}")
        doc_ids: list[str] = []
        grades: list[int] = []
        names: list[str] = []
        starts = [0]
        for query_id, documents in judgments.items():
            check_id(query_id, "query_id")
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
        put(self, "starts", read_only(starts))
        put(self, "doc_ids", read_only(doc_ids))
        put(self, "grades", read_only(grades))
        put(self, "groups", None if groups is None else read_only(groups))
        put(self, "relevance_level", relevance_level)
        put(self, "strata", None if strata is None else dict(strata))
        put(self, "splits", None if splits is None else dict(splits))
        put(self, "slices", None if slices is None else {q: tuple(names) for q, names in slices.items()})
        put(self, "unanswerable", frozenset(unanswerable))
        put(self, "spans", spans)
        put(self, "_place", place)

    def __getitem__(self, query_id: str) -> dict[str, int]:
        rows = rows_of(self._place[query_id], self.starts)
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
        rows = rows_of(self._place[query_id], self.starts)
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


def _level(level: object) -> int:
    if isinstance(level, bool) or not isinstance(level, int | np.integer) or level < 1:
        raise InputError(f"relevance_level is {level!r}; allowed is a whole number of at least 1")
    return int(level)


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
        check_id(doc_id, "doc_id", query_id)
        number = isinstance(grade, int | float | np.integer | np.floating) and not isinstance(grade, bool)
        whole = number and grade == grade and abs(grade) != float("inf") and grade == int(grade)
        if not whole or abs(grade) >= _TOO_LARGE:
            raise InputError(
                f"grade {grade!r} of document {doc_id!r} in query {query_id!r} is"
                f" {'too large' if whole else 'not a whole number'}; allowed are integers such as 0, 1, 2"
            )
        graded[doc_id] = int(grade)
    return graded
