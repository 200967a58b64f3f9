"""Calling a retriever: the one place that knows what shapes one may have and what it may return."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from pytest_retrieval.errors import InputError, RetrieverError, Unavailable, listed
from pytest_retrieval.model.run import Run, is_table
from pytest_retrieval.retrievers.telling import told

__all__ = ["Await", "retrieve"]

Await = Callable[[Awaitable[Any]], Any]
"""Runs an awaitable to its end and returns its result."""


def retrieve(
    retriever: object,
    queries: Mapping[str, str],
    k: int,
    *,
    name: str = "",
    run_async: Await | None = None,
    on_query: Callable[[], object] = lambda: None,
    show_text: bool = True,
    passes: tuple[type[BaseException], ...] = (),
) -> Run:
    """Ask a retriever every query and return its rankings.

    Parameters
    ----------
    retriever
        ``callable(query, k)``, an async callable, an object with ``search(query, k)``, or a callable without
        arguments that makes one of these. It returns ids, (id, score) pairs, a mapping id → score, or a
        mapping stage → any of these whose last stage is the ranking. A stage may also be a mapping with the
        key ``ranking``, and ``query`` (the rewritten text that it searched with) and ``latency`` (seconds).
    queries
        query_id → text.
    k
        How many documents to ask for; more are cut off.
    name
        Name of the run.
    run_async
        How to wait for what an async retriever returns; by default on one event loop for all queries.
    on_query
        Called after each query.
    show_text
        Whether a message may hold a query's text; an exception's own text is then cleared of it too.
    passes
        Exceptions that are not the retriever's failure and reach the caller as they are, such as the one by
        which a test runner is told to end.

    Raises
    ------
    RetrieverError
        It raised, or returned something that is no ranking; the message names the query.
    Unavailable
        It is an `Unavailable`, or raised one.

    Examples
    --------
    >>> retrieve(lambda query, k: ["d2", "d1"], {"q": "oak table"}, 1)["q"]
    ('d2',)
    """
    if run_async is None:
        with _one_loop() as wait:
            return retrieve(
                retriever, queries, k, name=name, run_async=wait, on_query=on_query, show_text=show_text,
                passes=passes,
            )  # fmt: skip
    named, name = name, name or "the retriever"
    search = _search(retriever, name, run_async, passes)
    rankings: dict[str, Any] = {}
    stages: dict[str, dict[str, Any]] = {}
    told_of: dict[str, dict[str, dict[str, Any]]] = {}
    try:
        for query_id, text in queries.items():
            try:
                answer = _ask(search, name, query_id, text, k, run_async, passes)
                place = _place(name, query_id, text)
                staged = {
                    stage: _unpacked(found, f"{place}, stage {stage!r}")
                    for stage, found in _stages(answer, place).items()
                }
            except RetrieverError as error:
                if show_text:
                    raise
                raise RetrieverError(str(error).replace(text, "…")) from None
            for stage, (ranking, told_by) in staged.items():
                stages.setdefault(stage, {})[query_id] = _cut(query_id, ranking, k)
                for key, value in told_by.items():
                    told_of.setdefault(stage, {}).setdefault(key, {})[query_id] = value
            last = list(staged.values())[-1][0] if staged else answer
            rankings[query_id] = _cut(query_id, last, k)
            on_query()
        of_stage = {stage: Run(found, stage, **told_of.get(stage, {})) for stage, found in stages.items()}
        run = Run(rankings, named, stages=of_stage)
    except InputError as error:
        raise RetrieverError(f"{name} returned no ranking: {error}") from error
    for stage, found in {"": run, **of_stage}.items():
        _check_direction(found, f"{name}, stage {stage!r}" if stage else name)
    return run


def _check_direction(run: Run, place: str) -> None:
    """Raise where scores rise from the first rank to the last and nowhere fall, for whichever query.

    A list is the ranking, whatever its scores; a reranker may keep those it was given. But scores that only
    ever rise are distances, or a list that is worst first.
    """
    if run.scores is None:
        return
    steps = np.diff(run.scores)
    inner = np.ones(len(steps), dtype=np.bool_)
    borders = run.starts[1:-1] - 1
    inner[borders[(borders >= 0) & (borders < len(steps))]] = False
    if not np.any(inner & (steps > 0)) or np.any(inner & (steps < 0)):
        return
    row = int(np.flatnonzero(inner & (steps > 0))[0])
    query_id = run.query_ids[int(np.searchsorted(run.starts, row, side="right")) - 1]
    raise RetrieverError(
        f"{place} returned scores that only rise, for query {query_id!r} {run.scores[row]:g} and then"
        f" {run.scores[row + 1]:g}; pairs come best first, and a higher score is better. Sort them, or if a"
        " lower one is better, return the ids alone or negate the scores"
    )


@contextmanager
def _one_loop() -> Iterator[Await]:
    """Yield how to wait on one event loop, made only when something has to be waited for."""
    with ExitStack() as stack:
        runner: Any = None

        async def result(awaitable: Awaitable[Any]) -> Any:
            return await awaitable

        def wait(awaitable: Awaitable[Any]) -> Any:
            nonlocal runner
            if runner is None:
                import asyncio

                runner = stack.enter_context(asyncio.Runner())
            return runner.run(result(awaitable))

        yield wait


def _search(
    retriever: object, name: str, run_async: Await, passes: tuple[type[BaseException], ...]
) -> Callable[..., Any]:
    """Return the function to ask, making the retriever first where a factory stands for it."""
    if isinstance(retriever, Unavailable):
        raise retriever
    if callable(retriever) and _is_factory(retriever):
        try:
            made = retriever()
            retriever = run_async(made) if inspect.isawaitable(made) else made
        except Unavailable:
            raise
        except passes:
            raise
        except (Exception, SystemExit) as error:  # a program's way to say that it failed
            raise RetrieverError(f"the factory of {name} raised {told(error)}") from error
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


def _is_factory(function: Callable[..., Any]) -> bool:
    """Return whether a callable is one that makes a retriever: it can only be called without arguments."""
    if hasattr(function, "search") and not inspect.isclass(function):
        return False
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
        return False
    needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    return not needed and sum(parameter.kind in positional for parameter in parameters) < 2


def _ask(
    search: Callable[..., Any],
    name: str,
    query_id: str,
    text: str,
    k: int,
    run_async: Await,
    passes: tuple[type[BaseException], ...],
) -> Any:
    place = _place(name, query_id, text)
    try:
        answer = search(text, k)
        if inspect.isawaitable(answer):
            answer = run_async(answer)
        if isinstance(answer, Mapping):
            return {part: _as_list(value) for part, value in answer.items()}
        answer = _as_list(answer)
    except Unavailable:
        raise
    except passes:
        raise
    except (Exception, SystemExit) as error:
        raise RetrieverError(f"{place} raised {told(error)}") from error
    if isinstance(answer, list | tuple):
        return answer
    raise RetrieverError(
        f"{place} returned {_shown(answer)}; allowed are ids, (id, score) pairs, a mapping id → score, or a"
        " mapping stage → ranking" + _why(answer)
    )


def _place(name: str, query_id: str, text: str) -> str:
    return f"{name}, query {query_id!r} ({text!r})"


def _as_list(value: Any) -> Any:
    """Return what can be gone through in order, such as an array, as a list; any other value as it is."""
    plain = isinstance(value, Mapping | list | tuple | str | bytes | set | frozenset) or is_table(value)
    return value if plain or _is_number(value) or not isinstance(value, Iterable) else list(value)


def _is_number(value: object) -> bool:
    """Return whether a value is one number; an array of one dimension or more is none."""
    return isinstance(value, int | float) or (hasattr(value, "__float__") and getattr(value, "ndim", 0) == 0)


def _shown(answer: object) -> str:
    """Return an answer for a message; a table by its type, for its text has many lines."""
    return f"a {type(answer).__name__}" if is_table(answer) else repr(answer)


def _why(answer: object) -> str:
    if is_table(answer):
        return "; a table does not say which column is which: write list(table['doc_id'])"
    return "; a set has no order" if isinstance(answer, set | frozenset) else ""


def _stages(answer: Any, place: str) -> dict[str, Any]:
    """Return the stages of a staged answer, in their order; empty where it is a plain ranking."""
    if not isinstance(answer, Mapping) or not answer:
        return {}
    numbers = [_is_number(value) for value in answer.values()]
    if all(numbers):
        return {}
    if any(numbers):
        raise RetrieverError(f"{place} returned a mapping that mixes scores and stages: {listed(answer)}")
    for stage, ranking in answer.items():
        if not isinstance(ranking, Mapping | list | tuple):
            raise RetrieverError(
                f"{place} returned {_shown(ranking)} as stage {stage!r}; allowed are ids, (id, score) pairs"
                " or a mapping id → score" + _why(ranking)
            )
    return {str(stage): ranking for stage, ranking in answer.items()}


def _unpacked(found: Any, place: str) -> tuple[Any, dict[str, Any]]:
    """Return a stage's ranking, and what it tells beside it as keywords of `Run`."""
    if not isinstance(found, Mapping) or _is_number(found.get("ranking", 0)):
        return found, {}
    unknown = found.keys() - {"ranking", "query", "latency"}
    if unknown:
        raise RetrieverError(
            f"{place} has the unknown keys {listed(sorted(map(str, unknown)))}; allowed are ranking, query"
            " and latency"
        )
    ranking = _as_list(found["ranking"])
    if not isinstance(ranking, Mapping | list | tuple):
        raise RetrieverError(
            f"{place} has the ranking {_shown(ranking)}; allowed are ids, (id, score) pairs or a mapping"
            " id → score" + _why(ranking)
        )
    told_by: dict[str, Any] = {}
    query, latency = found.get("query"), found.get("latency")
    if query is not None:
        if not isinstance(query, str):
            raise RetrieverError(f"{place} has the query {query!r}; allowed is the text it searched with")
        told_by["queries"] = query
    if latency is not None:
        if isinstance(latency, bool) or not _is_number(latency) or not 0 <= float(latency) < float("inf"):
            raise RetrieverError(f"{place} has the latency {latency!r}; allowed are seconds of at least 0")
        told_by["latency"] = float(latency)
    return ranking, told_by


def _cut(query_id: str, ranking: Any, k: int) -> Any:
    """Return the best k of a ranking; a mapping is put into order first."""
    if isinstance(ranking, Mapping):
        ranking = Run({query_id: ranking}).scored(query_id)
    return ranking[:k]
