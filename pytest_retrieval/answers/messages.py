"""Traces from the message logs that agents leave: OpenAI chat and responses, Anthropic messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pytest_retrieval.answers.reading import Reading, read
from pytest_retrieval.answers.wire import READABLE, items_of, refuse_foreign
from pytest_retrieval.errors import InputError
from pytest_retrieval.model.records import Trace

__all__ = ["trace_from_messages"]


def trace_from_messages(
    log: object,
    query_id: str,
    *,
    ids: str | Callable[[Any], Iterable[str]] | None = None,
    context: str = "",
    picks: Iterable[str] = (),
) -> Trace:
    """Return the trace in a log of messages.

    Parameters
    ----------
    log
        A list of messages or items, or an exchange ``{"request": …, "response": …}`` as it went over the
        wire, of OpenAI's chat completions, OpenAI's responses or Anthropic's messages. Parallel calls, failed
        calls and calls that the log no longer answers are kept, in the order in which they were made.
    query_id
        The task.
    ids
        How documents are found in what a tool returned: the key that holds an id, wherever in the result it
        stands, or a function from the result to ids. None: no tool returns documents.
    context
        Which retriever stood behind the search tool.
    picks
        Documents that the agent chose, where its last message says so in a form of your own.

    Returns
    -------
    Trace
        Its outcome is ``"exhausted"`` where the provider cut the reply short, ``"failed"`` where the log ends
        with calls that nobody answered, else ``"finished"``.

    Raises
    ------
    InputError
        The log is of another provider, which the message names, or holds something that none of these does.

    Examples
    --------
    >>> call = {"id": "c1", "function": {"name": "search", "arguments": '{"query": "sofa"}'}}
    >>> log = [
    ...     {"role": "user", "content": "a blue sofa"},
    ...     {"role": "assistant", "tool_calls": [call]},
    ...     {"role": "tool", "tool_call_id": "c1", "content": '[{"id": "F7"}]'},
    ...     {"role": "assistant", "content": "Take F7."},
    ... ]
    >>> trace = trace_from_messages(log, "q1", ids="id")
    >>> trace.calls[0].tool, trace.returned_ids, trace.message
    ('search', ('F7',), 'Take F7.')
    """
    reading = Reading()
    items = items_of(log)
    if not items:
        raise InputError(f"the log holds no message; {READABLE}")
    for item in items:
        if not isinstance(item, Mapping):
            raise InputError(f"a log holds messages, and this is {item!r}")
        refuse_foreign(item)
        read(item, reading)
    find = _finder(ids)
    calls = tuple(made.call(find) for made in reading.calls)
    unanswered = any(not made.answered for made in reading.calls)
    outcome = "exhausted" if reading.cut else "failed" if unanswered else "finished"
    return Trace(
        query_id=query_id,
        context=context,
        request=reading.request,
        calls=calls,
        outcome=outcome,
        picks=tuple(picks),
        message=reading.message,
    )


def _finder(ids: object) -> Callable[[Any], tuple[str, ...]]:
    if ids is None:
        return lambda observation: ()
    if isinstance(ids, str):
        key = ids
        return lambda observation: tuple(dict.fromkeys(str(value) for value in _under(observation, key)))
    if callable(ids):
        return lambda observation: () if observation is None else tuple(ids(observation))
    raise InputError(
        f"ids is {ids!r}; the key that holds an id, or a function from a result to ids, is needed"
    )


def _under(value: Any, key: str) -> Iterable[Any]:
    """Yield every string or number under a key, wherever in nested JSON."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            if name == key and isinstance(part, str | int) and not isinstance(part, bool):
                yield part
            else:
                yield from _under(part, key)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _under(part, key)
