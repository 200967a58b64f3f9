"""Assertions on traces: which tools were called, with what, in which order, within which budget."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from pytest_retrieval.answers.trajectory import same_call, values_in
from pytest_retrieval.errors import InputError, listed
from pytest_retrieval.measures.tokens import compiled
from pytest_retrieval.model.records import Call, Recording, Trace

__all__ = [
    "Observed",
    "assert_called",
    "assert_called_before",
    "assert_from_observations",
    "assert_no_repeated_calls",
    "assert_picks_returned",
    "assert_stated",
    "assert_within_budget",
]


@final
@dataclass(frozen=True, slots=True)
class Observed:
    """A value that an earlier call must have returned: the expected value of an argument.

    Attributes
    ----------
    tool
        Which tool returned it.
    path
        Keys, or numbers of list entries, that lead to it, joined by dots.

    Examples
    --------
    >>> lookup = Call(tool="lookup_order", observation={"order": {"total": 4299}})
    >>> refund = Call(tool="refund_order", arguments={"amount": 4299})
    >>> trace = Trace(query_id="t1", calls=[lookup, refund])
    >>> assert_called(trace, "refund_order", arguments={"amount": Observed("lookup_order", "order.total")})
    """

    tool: str
    path: str

    def values(self, before: Sequence[Call]) -> list[Any]:
        """Return what the earlier successful calls of the tool returned there, in order."""
        found = []
        for call in before:
            if call.tool == self.tool and not call.failed:
                value = call.observation
                for key in self.path.split("."):
                    value = _step(value, key)
                if value is not _NOTHING:
                    found.append(value)
        return found

    def __str__(self) -> str:
        return f"{self.tool}.{self.path}"


_NOTHING = object()


def _step(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(key, _NOTHING)
    if isinstance(value, list | tuple) and key.isdigit() and int(key) < len(value):
        return value[int(key)]
    return _NOTHING


def assert_called(
    trace: object,
    tool: str,
    *,
    arguments: Mapping[str, Any] | None = None,
    times: int | None = None,
) -> None:
    """Assert that a tool was called, with the given arguments, as often as given.

    Parameters
    ----------
    trace
        A `Trace`, several, or a recording: each is checked.
    tool
        Name of the tool.
    arguments
        Argument → what it must be: a value, a function that takes the value and returns whether it will do,
        or `Observed`, the latest value that an earlier call returned. Arguments that are not named may be
        anything.
    times
        How many such calls there must be; None for at least one, 0 for none.

    Raises
    ------
    AssertionError
        There are more or fewer such calls.
    InputError
        There is no trace, or `times` is no count.

    Examples
    --------
    >>> trace = Trace(query_id="t1", calls=[Call(tool="search", arguments={"query": "blue sofa"})])
    >>> assert_called(trace, "search", arguments={"query": lambda text: "sofa" in text}, times=1)
    """
    __tracebackhide__ = True
    if times is not None and (isinstance(times, bool) or not isinstance(times, int) or times < 0):
        raise InputError(f"times is {times!r}; a whole number from 0, or None for at least once, is needed")
    wanted = dict(arguments or {})
    problems = []
    for of in _traces(trace):
        calls = [(place, call) for place, call in enumerate(of.calls) if call.tool == tool]
        fitting = [
            call
            for place, call in calls
            if all(_fits(call.arguments, name, want, of.calls[:place]) for name, want in wanted.items())
        ]
        if len(fitting) == times or (times is None and fitting):
            continue
        asked = "at least once" if times is None else f"{times} times"
        with_arguments = f" with {_shown(wanted)}" if wanted else ""
        there = listed((f"{call.tool}({_shown(call.arguments)})" for _, call in calls), most=5)
        what = there or f"nothing; tools called: {listed(dict.fromkeys(c.tool for c in of.calls)) or 'none'}"
        problems.append(
            f"{of.query_id}: {tool}{with_arguments} was called {len(fitting)} times, {asked} is asked for;"
            f" called was {what}"
        )
    _raise(problems)


def assert_called_before(trace: object, first: str, then: str) -> None:
    """Assert that one tool has returned without an error before another is called.

    Every call of `then` must come after a successful call of `first`. A trace that never calls `then` passes
    as long as it did call `first`.

    Raises
    ------
    AssertionError
        A call of `then` came too early, or `first` never succeeded.
    InputError
        There is no trace.
    """
    __tracebackhide__ = True
    problems = []
    for of in _traces(trace):
        done = [step for step, call in enumerate(of.calls) if call.tool == first and not call.failed]
        early = [
            step for step, call in enumerate(of.calls) if call.tool == then and (not done or step < done[0])
        ]
        if early:
            steps = listed(step + 1 for step in early)
            problems.append(f"{of.query_id}: {then} was called at step {steps} before {first} had returned")
        elif not done:
            problems.append(f"{of.query_id}: {first} never returned without an error")
    _raise(problems)


def assert_no_repeated_calls(trace: object, *, tools: Iterable[str] | None = None) -> None:
    """Assert that no tool was called twice with the same arguments.

    Parameters
    ----------
    trace
        A `Trace`, several, or a recording: each is checked.
    tools
        Tools to look at; None for all.

    Raises
    ------
    AssertionError
        A call was repeated.
    InputError
        There is no trace.
    """
    __tracebackhide__ = True
    looked_at = None if tools is None else {tools} if isinstance(tools, str) else set(tools)
    problems = []
    for of in _traces(trace):
        for step, call in enumerate(of.calls):
            first = next((n for n in range(step) if same_call(of.calls[n], call)), None)
            if first is not None and (looked_at is None or call.tool in looked_at):
                again = f"{call.tool}({_shown(call.arguments)})"
                problems.append(f"{of.query_id}: step {step + 1} repeats step {first + 1}: {again}")
    _raise(problems)


def assert_within_budget(
    trace: object,
    *,
    steps: int | None = None,
    searches: int | None = None,
    tokens: int | None = None,
    errors: int | None = None,
) -> None:
    """Assert that a task took no more than it may, and ended by itself.

    Parameters
    ----------
    trace
        A `Trace`, several, or a recording: each is checked.
    steps, searches, tokens, errors
        Most calls, searches, tokens and failed calls; None where it does not matter.

    Raises
    ------
    AssertionError
        A budget is exceeded, or ended the task, or tokens were not counted.
    InputError
        There is no trace, no budget, or one that is no count.
    """
    __tracebackhide__ = True
    budgets = {"steps": steps, "searches": searches, "tokens": tokens, "errors": errors}
    given = {name: most for name, most in budgets.items() if most is not None}
    if not given:
        raise InputError("no budget is given; name at least one of steps, searches, tokens and errors")
    for name, most in given.items():
        if isinstance(most, bool) or not isinstance(most, int) or most < 0:
            raise InputError(f"{name} is {most!r}; a whole number from 0 is needed")
    problems = []
    for of in _traces(trace):
        spent = {
            "steps": len(of.calls),
            "searches": len(of.searches),
            "tokens": of.tokens,
            "errors": sum(call.failed for call in of.calls),
        }
        for name, most in given.items():
            if spent[name] is None:
                problems.append(f"{of.query_id}: nobody counted its tokens; at most {most} are asked for")
            elif spent[name] > most:  # type: ignore[operator]
                problems.append(f"{of.query_id}: {spent[name]} {name}, at most {most} are allowed")
        if of.outcome == "exhausted":
            problems.append(f"{of.query_id}: a budget ended it: its outcome is exhausted")
    _raise(problems)


def assert_picks_returned(trace: object) -> None:
    """Assert that everything an agent picked was returned by one of its calls.

    Raises
    ------
    AssertionError
        A pick came from elsewhere.
    InputError
        There is no trace.

    Examples
    --------
    >>> call = Call(tool="search", arguments={"query": "sofa"}, returned_ids=["a", "b"])
    >>> assert_picks_returned(Trace(query_id="t1", calls=[call], picks=["b"]))
    """
    __tracebackhide__ = True
    problems = []
    for of in _traces(trace):
        strange = [pick for pick in dict.fromkeys(of.picks) if pick not in set(of.returned_ids)]
        if strange:
            problems.append(f"{of.query_id}: picks {listed(strange)}, which no call returned")
    _raise(problems)


def assert_stated(trace: object, *patterns: str) -> None:
    r"""Assert that the last message holds something for each pattern.

    Parameters
    ----------
    trace
        A `Trace`, several, or a recording: each is checked.
    *patterns
        Regular expressions, such as ``r"\bORD-\d{8}\b"``.

    Raises
    ------
    AssertionError
        Something is not stated.
    InputError
        There is no trace or no pattern, or one is no regular expression.
    """
    __tracebackhide__ = True
    expressions = _patterns(patterns)
    problems = [
        f"{of.query_id}: its last message states nothing like {expression.pattern!r}: {of.message!r}"
        for of in _traces(trace)
        for expression in expressions
        if not expression.search(of.message)
    ]
    _raise(problems)


def assert_from_observations(
    trace: object, *patterns: str, normal: Callable[[str], str] | None = None
) -> None:
    r"""Assert that whatever the last message states of a pattern, a call returned.

    A claim that no observation supports is made up, whether its source should have been a document or a tool.

    Parameters
    ----------
    trace
        A `Trace`, several, or a recording: each is checked.
    *patterns
        Regular expressions of claims, such as a date; the first group, if there is one, is the claim.
    normal
        Brings claims and observed values to one form before they are compared, such as digits only; by
        default white space and case do not count.

    Raises
    ------
    AssertionError
        A claim occurs in no observation and not in the request.
    InputError
        There is no trace or no pattern, or one is no regular expression.
    """
    __tracebackhide__ = True
    plain = normal or (lambda text: " ".join(text.split()).casefold())
    problems = []
    for of in _traces(trace):
        seen = [plain(str(value)) for call in of.calls for value in values_in(call.observation)]
        seen += [plain(doc_id) for call in of.calls for doc_id in call.returned_ids]
        seen.append(plain(of.request))
        for expression in _patterns(patterns):
            for match in expression.finditer(of.message):
                claim = match.group(1 if expression.groups else 0)
                if not any(_holds(text, plain(claim)) for text in seen):
                    problems.append(f"{of.query_id}: states {claim!r}, which no observation holds")
    _raise(problems)


def _holds(text: str, claim: str) -> bool:
    return bool(claim) and re.search(rf"(?<!\w){re.escape(claim)}(?!\w)", text) is not None


def _patterns(patterns: Sequence[str]) -> list[re.Pattern[str]]:
    if not patterns:
        raise InputError("no pattern is given; name at least one regular expression")
    return [compiled(pattern) for pattern in patterns]


def _traces(value: object) -> tuple[Trace, ...]:
    if isinstance(value, Trace):
        return (value,)
    if isinstance(value, Recording):
        value = value.traces
    traces = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str | Mapping) else ()
    if not traces or not all(isinstance(trace, Trace) for trace in traces):
        raise InputError(f"there is no trace to check in {value!r}; a Trace, a list of them, or a recording")
    return traces


def _fits(arguments: Mapping[str, Any], name: str, want: Any, before: Sequence[Call]) -> bool:
    if name not in arguments:
        return False
    value = arguments[name]
    if isinstance(want, Observed):
        observed = want.values(before)
        return bool(observed) and bool(observed[-1] == value)
    if callable(want):
        return bool(want(value))
    return bool(want == value) and isinstance(want, bool) == isinstance(value, bool)


def _shown(arguments: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name}={value if isinstance(value, Observed) else repr(value)}" for name, value in arguments.items()
    )


def _raise(problems: Sequence[str]) -> None:
    __tracebackhide__ = True
    if problems:
        raise AssertionError("\n".join(problems))
