"""Reciprocal rank fusion: several rankings made into one, from their ranks alone.

Scores of different retrievers are on different scales, so they play no part. A document that no ranking
holds cannot be brought back by fusing them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np

from pytest_retrieval.errors import DuplicateDocumentError, InputError, listed
from pytest_retrieval.model.columns import objects
from pytest_retrieval.model.order import by_score, place_in_each, query_of_each
from pytest_retrieval.model.run import Run
from pytest_retrieval.retrievers.best import check_count

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["FUSED", "Hybrid", "K", "fuse", "legs_of"]

K = 60
"""The constant of the published method."""

FUSED = "fused"
"""Name of the stage that fusing makes."""


def fuse(
    runs: Sequence[Run] | Mapping[str, Run],
    k: float = K,
    *,
    weights: Sequence[float] | Mapping[str, float] | None = None,
    name: str = FUSED,
) -> Run:
    """Fuse runs by reciprocal rank: a document scores the sum of weight / (k + rank) over the runs.

    Parameters
    ----------
    runs
        At least one run; as a mapping, its names become those of the stages, otherwise the runs' own.
        A query that a run does not answer gets nothing from it.
    k
        Constant, at least 0. A large one rewards being in several runs, a small one standing at the top
        of one.
    weights
        One weight above 0 per run; 1 each by default.
    name
        Name of the result.

    Returns
    -------
    Run
        Every document of any run, best first, equal scores by id ascending. Its stages are the runs and,
        last, ``"fused"``.

    Raises
    ------
    InputError
        No run, a constant below 0, a weight that is missing or not above 0.
    DuplicateDocumentError
        A ranking names a document twice.

    References
    ----------
    Cormack, Clarke and Büttcher, Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank Learning
    Methods, SIGIR 2009.

    Examples
    --------
    >>> dense, lexical = Run({"q": ["A", "B", "C"]}, "dense"), Run({"q": ["D", "A", "E"]}, "lexical")
    >>> [(doc_id, round(score, 6)) for doc_id, score in fuse([dense, lexical]).scored("q")]
    [('A', 0.032522), ('D', 0.016393), ('B', 0.016129), ('C', 0.015873), ('E', 0.015873)]
    """
    legs = legs_of(runs)
    _check_constant(k)
    weight = _weights(legs, weights)
    query_ids = tuple(dict.fromkeys(query_id for run in legs.values() for query_id in run.query_ids))
    number = {query_id: place for place, query_id in enumerate(query_ids)}
    query = np.concatenate([_numbers(run, number) for run in legs.values()])
    doc_ids = np.concatenate([run.doc_ids for run in legs.values()])
    leg = np.repeat(np.arange(len(legs)), [len(run.doc_ids) for run in legs.values()])
    rank = np.concatenate([place_in_each(query_of_each(run.starts)) for run in legs.values()])
    part = np.array(weight)[leg] / (float(k) + rank)

    document, distinct = _documents(doc_ids)
    pairs, pair = np.unique(query * max(len(distinct), 1) + document, return_inverse=True)
    table = np.zeros((len(pairs), len(legs)))
    _refuse_repeats(pair * len(legs) + leg, doc_ids, query, query_ids, list(legs), leg)
    table[pair, leg] = part
    table.sort(axis=1)  # one order of adding up, so that equal ranks give equal scores in whichever run
    scores = table.sum(axis=1)
    starts = np.searchsorted(pairs, np.arange(len(query_ids) + 1) * max(len(distinct), 1)).astype(np.int64)
    ids = distinct[pairs % max(len(distinct), 1)] if len(pairs) else objects([])
    order = by_score(ids, scores, starts, ties="ascending")
    fused = Run.from_columns(query_ids, starts, ids[order], scores[order], name=name)
    return Run.from_columns(
        query_ids, starts, fused.doc_ids, fused.scores, name=name, stages={**legs, FUSED: fused}
    )


@final
class Hybrid:
    """Several retrievers asked at once, their rankings fused by reciprocal rank.

    It returns its stages: each leg's ranking, then the fused one. So a document that is lost can be laid at
    the door of the leg that lost it.

    Parameters
    ----------
    legs
        Name → ``callable(query, k)`` or object with ``search(query, k)``, plain or async.
    k
        Constant of the fusion, see `fuse`.
    weights
        Name → weight above 0; 1 each by default.
    depth
        How many documents to ask of each leg, where that is more than the hybrid is asked for.

    Raises
    ------
    InputError
        No leg, a leg that cannot be asked, a constant or weight that cannot be used.

    Examples
    --------
    >>> search = Hybrid({"dense": lambda query, k: ["A", "B", "C"], "lexical": lambda query, k: ["D", "A"]})
    >>> stages = search("error 0x8007 on reset", 3)
    >>> list(stages), [doc_id for doc_id, score in stages["fused"]]
    (['dense', 'lexical', 'fused'], ['A', 'D', 'B'])
    """

    def __init__(
        self,
        legs: Mapping[str, object],
        *,
        k: float = K,
        weights: Mapping[str, float] | None = None,
        depth: int = 1,
    ) -> None:
        if not legs:
            raise InputError("a hybrid needs at least one leg: {name: retriever}")
        if FUSED in legs:
            raise InputError(f"a leg is named {FUSED!r}, which is the stage after the legs; rename it")
        _check_constant(k)
        check_count("depth", depth)
        self._legs = {name: _search(name, leg) for name, leg in legs.items()}
        self._k = k
        self._weights = dict(zip(legs, _weights(self._legs, weights), strict=True))
        self._depth = depth

    def __call__(self, query: str, k: int) -> Any:
        """Return stage → (doc_id, score) pairs; an awaitable of it where a leg is async."""
        depth = max(k, self._depth)
        answers = {name: search(query, depth) for name, search in self._legs.items()}
        if any(inspect.isawaitable(answer) for answer in answers.values()):
            return self._later(answers, k)
        return self._fused(answers, k)

    async def _later(self, answers: Mapping[str, Any], k: int) -> dict[str, Any]:
        found = {
            name: await answer if inspect.isawaitable(answer) else answer for name, answer in answers.items()
        }
        return self._fused(found, k)

    def _fused(self, answers: Mapping[str, Any], k: int) -> dict[str, Any]:
        runs = {name: Run({_QUERY: answer}, name) for name, answer in answers.items()}
        fused = fuse(runs, self._k, weights=self._weights)
        stages: dict[str, Any] = {name: _plain(run) for name, run in runs.items()}
        stages[FUSED] = _plain(fused)[:k]
        return stages


_QUERY = "query"
"""Stands for the one query that a hybrid is asked."""


def legs_of(runs: Sequence[Run] | Mapping[str, Run]) -> dict[str, Run]:
    """Return runs by name; a run without a name is called by its place.

    Raises
    ------
    InputError
        There are none, two have the same name, or one is no run.
    """
    if isinstance(runs, Run):
        raise InputError("runs is a single Run; allowed are a list of runs or a mapping name → run")
    named = (
        list(runs.items())
        if isinstance(runs, Mapping)
        else [(getattr(run, "name", "") or f"run {place}", run) for place, run in enumerate(runs, start=1)]
    )
    if not named:
        raise InputError("no run was given; name at least one")
    wrong = [f"{name} is of type {type(run).__name__}" for name, run in named if not isinstance(run, Run)]
    if wrong:
        raise InputError(f"runs: {listed(wrong)}; allowed is Run, as in Run({{query_id: …}})")
    names = [name for name, _ in named]
    if len(set(names)) < len(names):
        raise InputError(f"runs of the same name: {listed(names)}; pass a mapping name → run")
    return dict(named)


def _check_constant(k: object) -> None:
    number = isinstance(k, int | float | np.integer | np.floating) and not isinstance(k, bool)
    if not number or not 0 <= float(k) < math.inf:  # type: ignore[arg-type]
        raise InputError(f"the constant of the fusion is {k!r}; allowed is a number of at least 0")


def _weights(legs: Mapping[str, Any], weights: Sequence[float] | Mapping[str, float] | None) -> list[float]:
    """Return one weight per leg, in the order of the legs."""
    if weights is None:
        return [1.0] * len(legs)
    if isinstance(weights, Mapping):
        if set(weights) != set(legs):
            raise InputError(f"weights are given for {listed(weights)}; the runs are {listed(legs)}")
        found = [weights[name] for name in legs]
    else:
        found = list(weights)
        if len(found) != len(legs):
            raise InputError(f"{len(found)} weights for {len(legs)} runs; give one each")
    wrong = [weight for weight in found if not 0 < weight < math.inf]
    if wrong:
        raise InputError(f"weights {listed(wrong)}; allowed are numbers above 0")
    return [float(weight) for weight in found]


def _numbers(run: Run, number: Mapping[str, int]) -> npt.NDArray[np.int64]:
    """Return the query number of every row of a run."""
    of_query = np.array([number[query_id] for query_id in run.query_ids], dtype=np.int64)
    return np.repeat(of_query, np.diff(run.starts))


def _documents(doc_ids: npt.NDArray[np.object_]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.object_]]:
    """Return a number for every row's document, and the documents by number."""
    import pandas as pd

    codes, distinct = pd.factorize(doc_ids)
    return codes.astype(np.int64), np.asarray(distinct, dtype=np.object_)


def _refuse_repeats(
    keys: npt.NDArray[np.int64],
    doc_ids: npt.NDArray[np.object_],
    query: npt.NDArray[np.int64],
    query_ids: Sequence[str],
    legs: Sequence[str],
    leg: npt.NDArray[np.int64],
) -> None:
    _, first = np.unique(keys, return_index=True)
    if len(first) == len(keys):
        return
    row = int(np.setdiff1d(np.arange(len(keys)), first)[0])
    raise DuplicateDocumentError(
        f"{legs[int(leg[row])]}, query {query_ids[int(query[row])]!r}: document {doc_ids[row]!r} stands"
        " in the ranking more than once; a document has one rank in each run"
    )


def _search(name: str, leg: object) -> Callable[[str, int], Any]:
    search = getattr(leg, "search", None)
    found: Any = search if callable(search) else leg
    if not callable(found):
        raise InputError(
            f"leg {name!r} is {leg!r}; allowed are callable(query, k) and an object with search(query, k)"
        )
    return cast("Callable[[str, int], Any]", found)


def _plain(run: Run) -> list[Any]:
    """Return the one ranking of a run: (doc_id, score) pairs, or ids where there are no scores."""
    return list(run[_QUERY]) if run.scores is None else list(run.scored(_QUERY))
