"""Re-ranking: the first documents of a ranking put into a new order by a scorer of question and text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np

from pytest_retrieval.errors import InputError, listed
from pytest_retrieval.model.columns import objects
from pytest_retrieval.model.run import Run
from pytest_retrieval.retrievers.best import best, check_count
from pytest_retrieval.retrievers.texts import texts_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CANDIDATES", "RERANKED", "Reranked", "rerank"]

CANDIDATES = "candidates"
"""Name of the stage before, where the retriever or run names none."""

RERANKED = "reranked"
"""Name of the stage after."""

Pairs = list[tuple[str, str]]


def rerank(
    run: Run,
    scorer: object,
    depth: int,
    *,
    queries: Mapping[str, str],
    catalog: pd.DataFrame | Mapping[str, Any],
    fields: Sequence[str] | None = None,
    name: str = RERANKED,
) -> Run:
    """Re-rank the first `depth` documents of every ranking.

    Parameters
    ----------
    run
        Rankings to start from.
    scorer
        A sentence-transformers `CrossEncoder` or any object with ``predict(pairs)``, or ``callable(pairs)``;
        `pairs` are (query, text) and one score each comes back, higher for better.
    depth
        How many documents to re-rank. The rest is cut off: a document below it is lost at this stage.
    queries
        query_id → text; ``dict(queries["query"])`` of the fixture.
    catalog, fields
        Texts to score, as for `BM25`.
    name
        Name of the result.

    Returns
    -------
    Run
        Equal scores by id ascending. Its stages are those of `run`, or `run` itself, and ``"reranked"``.

    Raises
    ------
    InputError
        A query or document without a text, a scorer that cannot be called, or one that returns something
        that is not one finite number per pair.

    Examples
    --------
    >>> texts = {"d1": "oak", "d2": "oak table", "d3": "table"}
    >>> def shared(pairs):
    ...     return [len(set(query.split()) & set(text.split())) for query, text in pairs]
    >>> run = Run({"q": ["d3", "d2", "d1"]}, "bm25")
    >>> result = rerank(run, shared, 2, queries={"q": "oak table"}, catalog=texts)
    >>> result["q"], list(result.stages)
    (('d2', 'd3'), ['bm25', 'reranked'])
    """
    check_count("depth", depth)
    score = _scorer(scorer)
    texts = texts_of(catalog, fields)
    unknown = [query_id for query_id in run.query_ids if query_id not in queries]
    if unknown:
        raise InputError(f"queries without a text: {listed(map(repr, unknown))}")
    rankings = {
        query_id: _reranked(score, queries[query_id], run[query_id][:depth], texts)
        for query_id in run.query_ids
    }
    before = dict(run.stages) or {run.name or CANDIDATES: run}
    return Run(rankings, name, stages={**before, RERANKED: Run(rankings, name)})


@final
class Reranked:
    """A retriever whose first documents are re-ranked; it returns the stages before, and ``"reranked"``.

    Parameters
    ----------
    retriever
        ``callable(query, k)`` or object with ``search(query, k)``, such as `Hybrid`; not async.
    scorer, depth, catalog, fields
        As for `rerank`. No more than `depth` documents are returned.

    Raises
    ------
    InputError
        A retriever or scorer that cannot be asked; and as `rerank`, when asked.

    Examples
    --------
    >>> texts = {"d1": "oak", "d2": "oak table", "d3": "table"}
    >>> def longest(pairs):
    ...     return [len(text) for query, text in pairs]
    >>> search = Reranked(lambda query, k: ["d3", "d2", "d1"], longest, 2, catalog=texts)
    >>> search("oak table", 5)
    {'candidates': ['d3', 'd2', 'd1'], 'reranked': [('d2', 9.0), ('d3', 5.0)]}
    """

    def __init__(
        self,
        retriever: object,
        scorer: object,
        depth: int,
        *,
        catalog: pd.DataFrame | Mapping[str, Any],
        fields: Sequence[str] | None = None,
    ) -> None:
        check_count("depth", depth)
        search = getattr(retriever, "search", retriever)
        if not callable(search):
            raise InputError(
                f"retriever is {retriever!r}; allowed are callable(query, k) and an object with"
                " search(query, k)"
            )
        self._search = cast("Callable[[str, int], Any]", search)
        self._score = _scorer(scorer)
        self._depth = depth
        self._texts = texts_of(catalog, fields)

    def __call__(self, query: str, k: int) -> dict[str, Any]:
        """Return stage → ranking; the last is the re-ranked one, of at most `depth` documents."""
        answer = self._search(query, max(k, self._depth))
        staged = isinstance(answer, Mapping) and not all(np.isscalar(value) for value in answer.values())
        stages: dict[str, Any] = dict(answer) if staged else {CANDIDATES: answer}
        candidates = Run({_QUERY: list(stages.values())[-1]})[_QUERY][: self._depth]
        stages[RERANKED] = _reranked(self._score, query, candidates, self._texts)[:k]
        return stages


_QUERY = "query"
"""Stands for the one query that is asked."""


def _scorer(scorer: object) -> Callable[[Pairs], Any]:
    score = getattr(scorer, "predict", scorer)
    if not callable(score):
        raise InputError(
            f"scorer is {scorer!r}; allowed are an object with predict(pairs) and callable(pairs), where"
            " pairs are (query, text)"
        )
    return cast("Callable[[Pairs], Any]", score)


def _reranked(
    score: Callable[[Pairs], Any], query: str, doc_ids: Sequence[str], texts: Mapping[str, str]
) -> list[tuple[str, float]]:
    """Return documents with their new scores, best first."""
    if not doc_ids:
        return []
    unknown = [doc_id for doc_id in doc_ids if doc_id not in texts]
    if unknown:
        raise InputError(f"documents that the catalog does not list: {listed(map(repr, unknown))}")
    in_order = sorted(doc_ids)  # a scorer that works in batches sees the same ones however they were ranked
    given = score([(query, texts[doc_id]) for doc_id in in_order])
    scores = np.asarray(given, dtype=np.float64)
    if scores.shape not in ((len(in_order),), (len(in_order), 1)) or not np.isfinite(scores).all():
        raise InputError(
            f"the scorer returned {_shown(given)} for {len(in_order)} pairs of {query!r}; allowed is one"
            " finite number per pair"
        )
    return best(objects(in_order), scores.reshape(-1), len(in_order))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
