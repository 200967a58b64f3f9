"""Trajectories: what went wrong on an agent's way, whatever its last message says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

from pytest_retrieval.errors import InputError
from pytest_retrieval.model.records import Call, Trace

__all__ = [
    "CHANGED_ARGUMENT",
    "MISSING_KEY",
    "REPEATED_CALL",
    "RETRIED_REJECTION",
    "UNUSED_OBSERVATION",
    "Finding",
    "check_trajectory",
    "same_call",
    "values_in",
]

REPEATED_CALL = "repeated call"
RETRIED_REJECTION = "retried rejection"
CHANGED_ARGUMENT = "changed argument"
MISSING_KEY = "missing idempotency key"
UNUSED_OBSERVATION = "unused observation"

TRANSPORT = (
    r"(?i)timed?[ -]?out|connection|unreachable|temporar|try again|rate.?limit|too many requests"
    r"|\b(429|50[0234])\b"
)
"""Errors that a retry may mend; every other error is a rejection of what was asked."""

_TELLING = 3  # shorter values, such as 1 or "ok", turn up everywhere and prove no use


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that went wrong.

    Attributes
    ----------
    kind
        One of the constants of this module, such as ``"repeated call"``.
    step
        Number of the call, from 1.
    text
        A sentence on it.
    """

    kind: str
    step: int
    text: str

    def __str__(self) -> str:
        return f"step {self.step}: {self.kind}: {self.text}"


def check_trajectory(
    trace: Trace,
    *,
    side_effects: Iterable[str] = (),
    idempotency_key: str = "idempotency_key",
    transport: str = TRANSPORT,
) -> tuple[Finding, ...]:
    """Return what went wrong on an agent's way, in the order of its steps.

    - *repeated call*: a tool called again with the very same arguments. Nothing new could come of it, except
      after an error of transport.
    - *retried rejection*: the same, after an error that is no error of transport: a rejection is an answer.
    - *changed argument*: after a rejection, the same tool called with other arguments. The agent may have
      found its mistake, or a way around the rule: a person should look.
    - *missing idempotency key*: a tool with side effects called without one; a retry acts twice.
    - *unused observation*: nothing that a call returned occurs in a later call, the picks or the last
      message.

    Parameters
    ----------
    trace
        The record of the task.
    side_effects
        Tools that change something.
    idempotency_key
        Argument that carries the key.
    transport
        Regular expression of errors that a retry may mend.

    Raises
    ------
    InputError
        `transport` is no regular expression.

    Examples
    --------
    >>> call = Call(tool="lookup", arguments={"id": 7}, observation={"total": 4299})
    >>> [found.kind for found in check_trajectory(Trace(query_id="q1", calls=[call, call], message="4299"))]
    ['repeated call']
    """
    try:
        mendable = re.compile(transport)
    except re.error as error:
        raise InputError(f"transport {transport!r} is no regular expression: {error}") from None
    changing = {side_effects} if isinstance(side_effects, str) else set(side_effects)
    findings: list[Finding] = []
    for number, call in enumerate(trace.calls, start=1):
        before = trace.calls[: number - 1]
        findings += _repeats(number, call, before, mendable)
        if call.tool in changing and not call.arguments.get(idempotency_key):
            text = f"{call.tool} was called without {idempotency_key}; a retry would act twice"
            findings.append(Finding(MISSING_KEY, number, text))
        if not call.failed and not _is_used(call, trace.calls[number:], trace):
            text = f"nothing that {call.tool} returned is used afterwards"
            findings.append(Finding(UNUSED_OBSERVATION, number, text))
    return tuple(findings)


def same_call(a: Call, b: Call) -> bool:
    """Return whether two calls are of one tool with equal arguments, whatever the order of their names."""
    return a.tool == b.tool and _key(a) == _key(b)


def _key(call: Call) -> str:
    return json.dumps(call.arguments, sort_keys=True, ensure_ascii=False, default=str)


def _repeats(
    number: int, call: Call, before: tuple[Call, ...], mendable: re.Pattern[str]
) -> Iterator[Finding]:
    earlier = [(step, other) for step, other in enumerate(before, start=1) if other.tool == call.tool]
    same = [(step, other) for step, other in earlier if same_call(other, call)]
    if same:
        step, other = same[-1]
        if other.failed and not mendable.search(other.error):
            text = f"{call.tool} was rejected at step {step} ({other.error}) and called again unchanged"
            yield Finding(RETRIED_REJECTION, number, text)
        if not other.failed or not mendable.search(other.error):
            yield Finding(REPEATED_CALL, number, f"{call.tool} has the arguments of step {step}")
    elif earlier:
        step, other = earlier[-1]
        if other.failed and not mendable.search(other.error):
            names = sorted(
                name
                for name in {*call.arguments, *other.arguments}
                if call.arguments.get(name) != other.arguments.get(name)
            )
            changes = ", ".join(
                f"{name} {other.arguments.get(name)!r} → {call.arguments.get(name)!r}" for name in names
            )
            text = f"{call.tool} was rejected at step {step} ({other.error}); then {changes}"
            yield Finding(CHANGED_ARGUMENT, number, text)


def _is_used(call: Call, later: tuple[Call, ...], trace: Trace) -> bool:
    """Return whether anything telling of an observation occurs afterwards; one that tells nothing is used."""
    told = {text for value in values_in(call.observation) if len(text := str(value).strip()) >= _TELLING}
    told |= set(call.returned_ids)
    known = {str(value) for value in values_in(call.arguments)} | set(_words(trace.request))
    told = {text for text in told if text not in known}
    if not told:
        return True
    if set(call.returned_ids) & set(trace.picks):
        return True
    after = [str(value) for other in later for value in values_in(other.arguments)]
    after.append(trace.message)
    read = "\n".join(after).casefold()
    return any(_occurs(text.casefold(), read) for text in told)


def _occurs(told: str, read: str) -> bool:
    """Return whether what was told, or a telling word of a longer text, occurs in what followed."""
    if re.search(rf"(?<!\w){re.escape(told)}(?!\w)", read):
        return True
    words = [word for word in _words(told) if any(sign.isdigit() for sign in word) and len(word) >= _TELLING]
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", read) for word in words)


def _words(text: str) -> list[str]:
    return re.findall(r"[\w-]+", text)


def values_in(value: Any) -> Iterator[Any]:
    """Yield every value at the ends of nested JSON: strings, numbers, true and false; null tells nothing."""
    if isinstance(value, Mapping):
        for part in value.values():
            yield from values_in(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from values_in(part)
    elif value is not None:
        yield value
