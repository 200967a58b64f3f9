"""How much of an exact search an approximate one finds.

An approximate index leaves out true neighbours in exchange for speed, and never says which. So it is held
against an exact search over the same vectors, question by question. No judgment plays a part.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from pytest_retrieval.errors import DuplicateDocumentError, InputError, QueryMismatchError, listed
from pytest_retrieval.measures.rank import MeasureKind, always
from pytest_retrieval.measures.ranking import Judged
from pytest_retrieval.model.run import Run
from pytest_retrieval.retrievers.best import check_count

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["ann_recall", "filtered", "overlap_at_k"]


def overlap_at_k(run: Run, exact_run: Run, k: int = 10) -> dict[str, float]:
    """Return, per query, the share of the exact top k that a run has in its own top k.

    Parameters
    ----------
    run
        Of the approximate search. A query that it does not answer scores 0.
    exact_run
        Of an exact search over the same vectors, such as `Semantic`. Where it has scores and goes deeper
        than k, a document that ties with its k-th is as good as that one.
    k
        Depth of both sets. The share is taken of min(k, documents of the exact search).

    Returns
    -------
    dict
        query_id → share from 0 to 1, for the queries of the exact run, in their order.

    Raises
    ------
    QueryMismatchError
        The run answers queries that the exact one does not.
    DuplicateDocumentError
        A ranking names a document twice within the first k.
    InputError
        The exact run has no document for a query, or k is no whole number of at least 1.

    References
    ----------
    Aumüller, Bernhardsson and Faithfull, ANN-Benchmarks, Information Systems 2020.

    Examples
    --------
    >>> exact = Run({"q": [("a", 0.9), ("b", 0.8), ("c", 0.8), ("d", 0.1)]})
    >>> overlap_at_k(Run({"q": ["a", "c"]}), exact, 2)
    {'q': 1.0}
    >>> overlap_at_k(Run({"q": ["a", "d"]}), exact, 2)
    {'q': 0.5}
    """
    check_count("k", k)
    unknown = [query_id for query_id in run.query_ids if query_id not in exact_run]
    if unknown:
        raise QueryMismatchError(
            f"the run answers {len(unknown)} queries that the exact one does not: {listed(unknown)}"
        )
    return {query_id: _share(run, exact_run, query_id, k) for query_id in exact_run.query_ids}


def ann_recall(exact: Run | Callable[[], Run], *, name: str = "ann_recall") -> MeasureKind:
    """Return the measure ``ann_recall@k``: `overlap_at_k` with an exact run, to evaluate, gate and pin.

    Parameters
    ----------
    exact
        The exact run, or a function that makes it, called when the measure is first scored.
    name
        Name of the measure.

    Returns
    -------
    MeasureKind
        Make it once, at the top of a module, and return it from the hook ``pytest_retrieval_measures``.
        Its score raises InputError where the exact run does not answer a query.

    Examples
    --------
    >>> from pytest_retrieval import Qrels, evaluate
    >>> kind = ann_recall(Run({"q1": ["a", "b"], "q2": ["c", "d"]}))
    >>> run = Run({"q1": ["b", "a"], "q2": ["c", "a"]})
    >>> dict(evaluate(Qrels({"q1": {}, "q2": {}}), run, ["ann_recall@2"], kinds=[kind]).mean())
    {'ann_recall@2': 0.75}
    """
    made: list[Run] = [exact] if isinstance(exact, Run) else []

    def score(judged: Judged, k: int | None) -> npt.NDArray[np.float64]:
        assert k is not None
        if not made:
            assert not isinstance(exact, Run)
            made.append(exact())
        return np.array([_share(judged.run, made[0], query_id, k) for query_id in judged.query_ids])

    return MeasureKind(
        name,
        score,
        "share of the exact search's top k that was found",
        "ours: recall of ANN-Benchmarks (Aumüller, Bernhardsson and Faithfull, 2020)",
        defined=always,
        uses_level=False,
    )


def filtered(run: Run, allowed: Collection[str] | Mapping[str, Collection[str]]) -> Run:
    """Return the rankings with only some documents left in them: what a flat scan under a filter returns.

    Take it of a run over the whole catalog, and cut it or compare it at k afterwards.

    Parameters
    ----------
    run
        Rankings; stages are left out.
    allowed
        Documents that may stay, for all queries or per query.

    Raises
    ------
    InputError
        `allowed` is a string, or says nothing about a query.

    Examples
    --------
    >>> filtered(Run({"q": ["a", "b", "c"]}), {"a", "c"})["q"]
    ('a', 'c')
    """
    if isinstance(allowed, str):
        raise InputError(f"allowed is the string {allowed!r}; allowed is a set of document ids")
    if isinstance(allowed, Mapping):
        silent = [query_id for query_id in run.query_ids if query_id not in allowed]
        if silent:
            raise InputError(f"nothing is said about queries {listed(map(repr, silent))}")
        of_query = {query_id: frozenset(allowed[query_id]) for query_id in run.query_ids}
    else:
        of_query = dict.fromkeys(run.query_ids, frozenset(allowed))
    if run.scores is None:
        return Run(
            {q: [doc_id for doc_id in run[q] if doc_id in of_query[q]] for q in run.query_ids}, run.name
        )
    return Run(
        {q: [pair for pair in run.scored(q) if pair[0] in of_query[q]] for q in run.query_ids}, run.name
    )


def _share(run: Run, exact_run: Run, query_id: str, k: int) -> float:
    exact = exact_run.scored(query_id) if query_id in exact_run else ()
    if not exact:
        raise InputError(
            f"the exact run has no document for query {query_id!r}; an exact search always finds some"
        )
    wanted = min(k, len(exact))
    least = exact[wanted - 1][1]
    right = {doc_id for place, (doc_id, score) in enumerate(exact) if place < wanted or score >= least}
    found = run.get(query_id, ())[:k]
    if len(set(found)) < len(found):
        raise DuplicateDocumentError(f"query {query_id!r}: a document stands in the first {k} more than once")
    return min(len(right.intersection(found)), wanted) / wanted
