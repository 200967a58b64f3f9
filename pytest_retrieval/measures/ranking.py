"""The join: what of each ranking was judged, made once and read by every measure.

Everything a measure needs is which judged documents a ranking held, at which rank and with which grade,
and how many there are to find. Rankings are long and judgments few, so the join keeps only the judged rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from pytest_retrieval.errors import DuplicateDocumentError, InputError, QueryMismatchError, counted, listed
from pytest_retrieval.measures.replies import JudgedReplies, join_replies
from pytest_retrieval.model.order import by_score, first_of_each, place_in_each, query_of_each
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Run
from pytest_retrieval.model.spans import Spans

if TYPE_CHECKING:
    import numpy.typing as npt

    IntArray = npt.NDArray[np.int64]
    FloatArray = npt.NDArray[np.float64]
    BoolArray = npt.NDArray[np.bool_]

__all__ = ["Judged", "join", "straddling", "tie_sensitivity", "tied_at"]

DUPLICATES = ("error", "no_credit", "collapse")
UNKNOWN_QUERIES = ("error", "ignore")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Rankings joined with judgments: one row per judged document that a ranking held.

    A measure is a function of this value. Queries are those of the judgments, in their order; Q is their
    number, H the number of hits (judged documents in rankings), G the number of judgments.

    Attributes
    ----------
    query_ids : tuple of str, length Q
    level : int
        Smallest grade that counts as relevant.
    lengths : ndarray of int64, shape (Q,)
        Documents returned; 0 where the run has nothing for the query.
    hit_query, hit_rank, hit_grade, hit_group : ndarray of int64, shape (H,)
        Sorted by query, then rank; ranks count from 1.
    gold_query, gold_grade, gold_group : ndarray of int64, shape (G,)
        Sorted by query. Groups are numbers that mean something only within one query.
    has_groups : bool
        Whether the judgments name groups; without them every document is a group of its own.
    run : Run
        The whole rankings, for a measure that looks at documents nobody judged.
    missing : tuple of str
        Queries that the run does not name.
    spans : Spans or None
        Gold spans and the places of chunks, where the judgments have them.
    replies : JudgedReplies or None
        What a model replied on seeing these documents; None for a plain run.
    """

    query_ids: tuple[str, ...]
    level: int
    lengths: IntArray
    hit_query: IntArray
    hit_rank: IntArray
    hit_grade: IntArray
    hit_group: IntArray
    gold_query: IntArray
    gold_grade: IntArray
    gold_group: IntArray
    has_groups: bool
    run: Run
    missing: tuple[str, ...] = ()
    replies: JudgedReplies | None = None
    spans: Spans | None = None

    def at_level(self, level: int) -> Judged:
        """Return the same join with another relevance level."""
        return replace(self, level=level)

    def relevant(self) -> IntArray:
        """Return how many relevant documents each query has, shape (Q,)."""
        return self.per_query(self.gold_query[self.gold_grade >= self.level])

    def hits(self, k: int | None = None) -> BoolArray:
        """Return which hits are relevant and stand at rank k or better, shape (H,)."""
        relevant = self.hit_grade >= self.level
        return relevant if k is None else relevant & (self.hit_rank <= k)

    def per_query(self, queries: IntArray) -> IntArray:
        """Return how often each query occurs in an array of query numbers, shape (Q,)."""
        return np.bincount(queries, minlength=len(self.query_ids)).astype(np.int64)

    def sum_per_query(self, queries: IntArray, values: FloatArray) -> FloatArray:
        """Return the sum of values by query number, shape (Q,)."""
        return np.bincount(queries, weights=values, minlength=len(self.query_ids)).astype(np.float64)

    def place_in_query(self, rows: BoolArray) -> IntArray:
        """Return 1, 2, 3, … within each query for the chosen hits, in order of rank."""
        return place_in_each(self.hit_query[rows])


def join(
    qrels: Qrels,
    run: Run,
    *,
    duplicates: str = "error",
    unknown_queries: str = "error",
) -> Judged:
    """Join rankings with judgments.

    Parameters
    ----------
    qrels, run
        Joined by query id and document id, never by position.
    duplicates
        A document named twice in one ranking: ``"error"``; ``"no_credit"``: it keeps its rank and earns
        nothing; ``"collapse"``: it is removed before any cut.
    unknown_queries
        Queries of the run that the judgments do not know: ``"error"`` or ``"ignore"``.

    Returns
    -------
    Judged

    Raises
    ------
    QueryMismatchError
        The run answers queries that were not judged.
    DuplicateDocumentError
        A ranking names a document twice and `duplicates` is ``"error"``.
    InputError
        Judgments or rankings of another type, or an option that is none of those named.

    Examples
    --------
    >>> judged = join(Qrels({"q": {"a": 1, "n": 0}}), Run({"q": ["u", "a", "n"]}))
    >>> judged.hit_rank.tolist(), judged.hit_grade.tolist(), judged.lengths.tolist()
    ([2, 3], [1, 0], [3])
    """
    _check_type("qrels", qrels, Qrels)
    _check_type("run", run, Run)
    _check_choice("duplicates", duplicates, DUPLICATES)
    _check_choice("unknown_queries", unknown_queries, UNKNOWN_QUERIES)
    place = {query_id: number for number, query_id in enumerate(qrels.query_ids)}
    missing = tuple(query_id for query_id in qrels.query_ids if query_id not in run)
    unknown = [query_id for query_id in run.query_ids if query_id not in place]
    if unknown and unknown_queries == "error":
        raise QueryMismatchError(
            f"the run answers {counted(len(unknown), 'query', 'queries')} that the qrels do not"
            f" judge: {listed(unknown)}; the qrels judge {len(missing)} that the run does not answer:"
            f" {listed(missing) or 'none'}. Mend the ids, or pass unknown_queries='ignore'"
        )
    number_of = np.array([place.get(query_id, -1) for query_id in run.query_ids], dtype=np.int64)
    run_query = np.repeat(number_of, np.diff(run.starts))
    gold_doc, run_doc, distinct = _numbered(qrels, run)
    run_rank = np.arange(len(run_query), dtype=np.int64) - np.repeat(run.starts[:-1], np.diff(run.starts)) + 1
    keys = run_query * distinct + run_doc
    repeat = _repeats(keys, run_query)
    if repeat.any():
        if duplicates == "error":
            raise DuplicateDocumentError(_duplicate_message(run, repeat))
        if duplicates == "collapse":
            run_query, run_rank, keys = _collapsed(run, number_of, repeat, keys)
            repeat = np.zeros(len(keys), dtype=np.bool_)

    lengths = np.bincount(run_query[run_query >= 0], minlength=len(place)).astype(np.int64)
    gold_query = query_of_each(qrels.starts)
    gold_row = _find(keys, gold_query * distinct + gold_doc)
    hit = (gold_row >= 0) & (run_query >= 0) & ~repeat
    row = gold_row[hit]
    order = np.lexsort((run_rank[hit], run_query[hit]))
    row = row[order]
    gold_group = _groups(qrels)
    return Judged(
        query_ids=qrels.query_ids,
        level=qrels.relevance_level,
        lengths=lengths,
        hit_query=run_query[hit][order],
        hit_rank=run_rank[hit][order],
        hit_grade=qrels.grades[row],
        hit_group=gold_group[row],
        gold_query=gold_query,
        gold_grade=qrels.grades,
        gold_group=gold_group,
        has_groups=qrels.groups is not None,
        run=run,
        missing=missing,
        replies=join_replies(qrels, run),
        spans=qrels.spans,
    )


def straddling(run: Run, k: int) -> tuple[str, ...]:
    """Return the queries in which documents of equal score stand on both sides of rank k.

    Their top k depends on the tie rule, so every measure cut at k does too.

    Examples
    --------
    >>> straddling(Run({"q": {"a": 0.81, "b": 0.8, "c": 0.8, "d": 0.8, "e": 0.7}}), 2)
    ('q',)
    """
    _check_depth(k)
    if run.scores is None:
        return ()
    lengths = np.diff(run.starts)
    long = np.flatnonzero(lengths > k)
    last_in = run.starts[long] + k - 1
    tied = run.scores[last_in] == run.scores[last_in + 1]
    return tuple(run.query_ids[number] for number in long[tied].tolist())


def tied_at(run: Run, query_id: str, k: int) -> tuple[str, ...]:
    """Return the documents of the group of equal scores that straddles rank k, sorted; empty without one.

    Examples
    --------
    >>> tied_at(Run({"q": {"a": 0.81, "b": 0.8, "c": 0.8, "d": 0.8, "e": 0.7}}), "q", 2)
    ('b', 'c', 'd')
    """
    _check_depth(k)
    scored = run.scored(query_id)
    if len(scored) <= k or scored[k - 1][1] != scored[k][1]:
        return ()
    return tuple(sorted(doc_id for doc_id, score in scored if score == scored[k][1]))


def tie_sensitivity(run: Run, k: int) -> tuple[str, ...]:
    """Return the queries whose set of top k documents changes when the tie rule is reversed.

    Parameters
    ----------
    run
        Rankings with scores; without scores there are no ties.
    k
        Depth of the set, at least 1.

    Returns
    -------
    tuple of str
        Query ids; their number is the tie sensitivity.

    Raises
    ------
    InputError
        k is not a whole number of at least 1.

    Examples
    --------
    >>> tie_sensitivity(Run({"q1": {"a": 1.0, "b": 1.0}, "q2": {"a": 2.0, "b": 1.0}}), 1)
    ('q1',)
    """
    _check_depth(k)
    if run.scores is None:
        return ()
    sets = []
    for ties in ("ascending", "descending"):
        ids = run.doc_ids[by_score(run.doc_ids, run.scores, run.starts, ties=ties)]
        sets.append([frozenset(ids[start : start + k]) for start in run.starts[:-1].tolist()])
    lengths = np.diff(run.starts).tolist()
    changed = zip(run.query_ids, lengths, *sets, strict=True)
    return tuple(query for query, length, up, down in changed if length > k and up != down)


def _swapped(value: object, wanted: type[Qrels] | type[Run]) -> bool:
    return isinstance(value, Run if wanted is Qrels else Qrels)


def _check_type(name: str, value: object, wanted: type[Qrels] | type[Run]) -> None:
    if not isinstance(value, wanted):
        raise InputError(
            f"{name} is of type {type(value).__name__}; allowed is {wanted.__name__}, as in"
            f" {wanted.__name__}({{query_id: …}})"
            + (
                "; the judgments come first: evaluate(qrels, run, measures)"
                if _swapped(value, wanted)
                else ""
            )
        )


def _check_depth(k: object) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError(f"k is {k!r}; allowed is a whole number of at least 1")


def _check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise InputError(f"{name} is {value!r}; allowed are {', '.join(map(repr, allowed))}")


def _numbered(qrels: Qrels, run: Run) -> tuple[IntArray, IntArray, int]:
    """Return whole numbers for the document ids of both sides, and how many there are."""
    import pandas as pd

    codes, distinct = pd.factorize(np.concatenate([qrels.doc_ids, run.doc_ids]))
    codes = codes.astype(np.int64)
    return codes[: len(qrels.doc_ids)], codes[len(qrels.doc_ids) :], max(len(distinct), 1)


def _groups(qrels: Qrels) -> IntArray:
    """Return a number for every judgment's group; each document is its own where none are named."""
    if qrels.groups is None:
        return np.arange(len(qrels.doc_ids), dtype=np.int64)
    import pandas as pd

    return pd.factorize(qrels.groups)[0].astype(np.int64)


def _repeats(keys: IntArray, run_query: IntArray) -> BoolArray:
    """Return which rows name a document that stands higher in the same ranking already."""
    repeat = np.zeros(len(keys), dtype=np.bool_)
    in_order = np.sort(keys)
    if not (in_order[1:] == in_order[:-1]).any():
        return repeat
    order = np.argsort(keys, kind="stable")
    repeat[order] = ~first_of_each(keys[order])
    return repeat & (run_query >= 0)


def _collapsed(
    run: Run, number_of: IntArray, repeat: BoolArray, keys: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return query, rank and key of every row that is left when repeats are taken out."""
    keep = ~repeat
    block = query_of_each(run.starts)[keep]
    return number_of[block], place_in_each(block), keys[keep]


def _find(keys: IntArray, gold_keys: IntArray) -> IntArray:
    """Return each key's row among the judgments, or -1."""
    if not len(gold_keys):
        return np.full(len(keys), -1, dtype=np.int64)
    order = np.argsort(gold_keys, kind="stable")
    at = np.minimum(np.searchsorted(gold_keys[order], keys), len(gold_keys) - 1)
    row: IntArray = order[at]
    return np.where(gold_keys[row] == keys, row, -1)


def _duplicate_message(run: Run, repeat: BoolArray) -> str:
    """Return a sentence that names the repeated documents with their ranks."""
    seen: dict[str, None] = {}
    block = query_of_each(run.starts)
    for row in np.flatnonzero(repeat).tolist():
        seen.setdefault(run.query_ids[block[row]])
    places = [f"query {query_id!r}: {_repeated(run[query_id])}" for query_id in seen]
    return (
        f"{len(places)} ranking{'s name' if len(places) != 1 else ' names'} a document more than once: "
        + listed(places, most=5)
        + ". Mend the retriever, or pass duplicates='no_credit' or 'collapse'"
    )


def _repeated(ranking: Sequence[str]) -> str:
    ranks: dict[str, list[int]] = {}
    for rank, doc_id in enumerate(ranking, start=1):
        ranks.setdefault(doc_id, []).append(rank)
    return listed(
        (
            f"id {doc_id!r} at ranks {' and '.join(map(str, places))}"
            for doc_id, places in ranks.items()
            if len(places) > 1
        ),
        most=3,
    )


def ranks_of(ranking: Sequence[str]) -> Mapping[str, int]:
    """Return document → rank, counted from 1; a repeated document keeps its first rank."""
    ranks: dict[str, int] = {}
    for rank, doc_id in enumerate(ranking, start=1):
        ranks.setdefault(doc_id, rank)
    return ranks
