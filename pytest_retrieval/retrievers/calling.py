"""Calling a retriever: the one place that knows what shapes one may have and what it may return."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from pytest_retrieval.errors import InputError, RetrieverError, Unavailable, listed
from pytest_retrieval.model import Run

__all__ = ["Await", "retrieve"]

Await = Callable[[Awaitable[Any]], Any]
"""Runs an awaitable to its end and returns its result."""

_FRAMES = 3


def retrieve(
    retriever: object,
    queries: Mapping[str, str],
    k: int,
    *,
    name: str,
    run_async: Await,
    on_query: Callable[[], object] = lambda: None,
) -> Run:
    """Ask a retriever every query and return its rankings.

    Parameters
    ----------
    retriever
        ``callable(query, k)``, an async callable, an object with ``search(query, k)``, or a callable without
        arguments that makes one of these. It returns ids, (id, score) pairs, a mapping id → score, or a
        mapping stage → any of these whose last stage is the ranking.
    queries
        query_id → text.
    k
        How many documents to ask for; more are cut off.
    name
        Name of the run.
    run_async
        How to wait for what an async retriever returns.
    on_query
        Called after each query.

    Raises
    ------
    RetrieverError
        It raised, or returned something that is no ranking; the message names the query.
    Unavailable
        It is an `Unavailable`, or raised one.
    """
    search = _search(retriever, name, run_async)
    rankings: dict[str, Any] = {}
    stages: dict[str, dict[str, Any]] = {}
    try:
        for query_id, text in queries.items():
            answer = _ask(search, name, query_id, text, k, run_async)
            staged = _stages(answer, f"{name}, query {query_id!r} ({text!r})")
            for stage, ranking in staged.items():
                stages.setdefault(stage, {})[query_id] = _cut(query_id, ranking, k)
            last = list(staged.values())[-1] if staged else answer
            rankings[query_id] = _cut(query_id, last, k)
            on_query()
        of_stage = {stage: Run(found, stage) for stage, found in stages.items()}
        return Run(rankings, name, stages=of_stage)
    except InputError as error:
        raise RetrieverError(f"{name} returned no ranking: {error}") from error


def _search(retriever: object, name: str, run_async: Await) -> Callable[..., Any]:
    """Return the function to ask, making the retriever first where a factory stands for it."""
    if isinstance(retriever, Unavailable):
        raise retriever
    if callable(retriever) and not hasattr(retriever, "search") and _takes_nothing(retriever):
        try:
            made = retriever()
            retriever = run_async(made) if inspect.isawaitable(made) else made
        except Unavailable:
            raise
        except Exception as error:
            raise RetrieverError(f"the factory of {name} raised {_told(error)}") from error
        if isinstance(retriever, Unavailable):
            raise retriever
    search: Callable[..., Any] | None = getattr(retriever, "search", None)
    if callable(search):
        return search
    if callable(retriever):
        return retriever
    raise RetrieverError(
        f"{name} is {retriever!r}; a retriever is callable(query, k), an object with search(query, k), or a"
        " callable without arguments that makes one"
    )


def _takes_nothing(function: Callable[..., Any]) -> bool:
    """Return whether a callable can only be called without arguments, which makes it a factory."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
        return False
    needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    return not needed and sum(parameter.kind in positional for parameter in parameters) < 2


def _ask(search: Callable[..., Any], name: str, query_id: str, text: str, k: int, run_async: Await) -> Any:
    place = f"{name}, query {query_id!r} ({text!r})"
    try:
        answer = search(text, k)
        if inspect.isawaitable(answer):
            answer = run_async(answer)
    except Unavailable:
        raise
    except Exception as error:
        raise RetrieverError(f"{place} raised {_told(error)}") from error
    if answer is None or isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        raise RetrieverError(
            f"{place} returned {answer!r}; allowed are ids, (id, score) pairs, a mapping id → score, or a"
            " mapping stage → ranking"
        )
    return answer if isinstance(answer, Mapping | Sequence) else list(answer)


def _stages(answer: Any, place: str) -> dict[str, Any]:
    """Return the stages of a staged answer, in their order; empty where it is a plain ranking."""
    if not isinstance(answer, Mapping) or not answer:
        return {}
    numbers = [isinstance(value, int | float) or hasattr(value, "__float__") for value in answer.values()]
    if all(numbers):
        return {}
    if any(numbers):
        raise RetrieverError(f"{place} returned a mapping that mixes scores and stages: {listed(answer)}")
    return {
        str(stage): ranking if isinstance(ranking, Mapping | Sequence) else list(ranking)
        for stage, ranking in answer.items()
    }


def _cut(query_id: str, ranking: Any, k: int) -> Any:
    """Return the best k of a ranking; a mapping is put into order first."""
    if isinstance(ranking, Mapping):
        ranking = Run({query_id: ranking}).scored(query_id)
    return ranking[:k]


def _told(error: BaseException) -> str:
    """Return an exception in one line with the places in the project's code that led to it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename != __file__][-_FRAMES:]
    places = " ← ".join(f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in reversed(own))
    text = f"{type(error).__name__}: {error}"
    return f"{text}\n  at {places}" if places else text
