"""Replay: tools that answer from a recording, so that the only thing that varies is the model."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, final

from pytest_retrieval.errors import InputError, ReplayError, listed
from pytest_retrieval.model.records import Call, Recording, Trace

__all__ = ["ReplayedTool", "replay"]


@final
class ReplayedTool:
    """A tool that answers from a recording: called with the arguments the agent gives by name.

    Attributes
    ----------
    name
        Of the tool.
    """

    def __init__(self, name: str, calls: Iterable[Call]) -> None:
        self.name = name
        self._recorded: dict[str, list[Call]] = {}
        for call in calls:
            self._recorded.setdefault(_key(call.arguments), []).append(call)
        self._asked: dict[str, int] = {}

    def __call__(self, **arguments: Any) -> Any:
        """Return what the tool returned when it was recorded with these arguments.

        Asked again, it returns what it returned the next time, and at last the same again and again.

        Raises
        ------
        ReplayError
            It was never recorded with these arguments, or failed then; the message says which.
        """
        key = _key(arguments)
        calls = self._recorded.get(key)
        if calls is None:
            raise ReplayError(self._unseen(key))
        turn = self._asked.get(key, 0)
        self._asked[key] = turn + 1
        call = calls[min(turn, len(calls) - 1)]
        if call.failed:
            raise ReplayError(f"{self.name}: {call.error}")
        return list(call.returned_ids) if call.observation is None and call.returned_ids else call.observation

    def _unseen(self, key: str) -> str:
        near = difflib.get_close_matches(key, self._recorded, n=1, cutoff=0.0)
        nearest = f"the nearest recorded call is {self.name}({near[0]})" if near else "nothing was recorded"
        return f"{self.name}({key}) is not in the recording; {nearest}. Record again, or replay another one"

    def __repr__(self) -> str:
        return f"<ReplayedTool {self.name!r}: {len(self._recorded)} recorded calls>"


def replay(
    recording: Recording | Trace | Iterable[Trace], *, context: str | None = None
) -> Mapping[str, Callable[..., Any]]:
    """Return tools that answer from a recording: name → function of the tool's arguments.

    Parameters
    ----------
    recording
        A recording of an agent, or traces.
    context
        Only traces of this kind of context; needed where tools answered differently under several.

    Returns
    -------
    mapping of str to ReplayedTool

    Raises
    ------
    InputError
        There is no trace to replay, or the traces are of several contexts and none was named.

    Examples
    --------
    >>> call = Call(tool="search", arguments={"query": "sofa"}, observation=["F7"])
    >>> tools = replay(Trace(query_id="q1", calls=[call]))
    >>> tools["search"](query="sofa")
    ['F7']
    >>> tools["search"](query="sofas")
    Traceback (most recent call last):
    ...
    pytest_retrieval.errors.ReplayError: search({"query": "sofas"}) is not in the recording; the nearest \
recorded call is search({"query": "sofa"}). Record again, or replay another one
    """
    if isinstance(recording, Recording):
        traces: tuple[Trace, ...] = recording.traces
    else:
        traces = (recording,) if isinstance(recording, Trace) else tuple(recording)
    contexts = dict.fromkeys(trace.context for trace in traces)
    if context is None and len(contexts) > 1:
        raise InputError(f"the traces are of {len(contexts)} contexts; name one: {listed(contexts)}")
    chosen = [trace for trace in traces if context in (None, trace.context)]
    if not chosen:
        raise InputError(f"there is no trace to replay; contexts are {listed(map(repr, contexts)) or 'none'}")
    calls: dict[str, list[Call]] = {}
    for trace in chosen:
        for call in trace.calls:
            calls.setdefault(call.tool, []).append(call)
    return {name: ReplayedTool(name, of_tool) for name, of_tool in sorted(calls.items())}


def _key(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str)
