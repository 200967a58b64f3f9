"""What a model or an agent did once: answers with what they cite, and traces of tool calls.

These values stand on the ground beside `model`: files make them, measures and checks read them. They know
nothing of who recorded them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from pytest_retrieval.errors import InputError, listed

if TYPE_CHECKING:
    import pandas as pd

    from pytest_retrieval.model.run import Run

__all__ = [
    "AGENT",
    "ANSWERS",
    "KINDS",
    "OUTCOMES",
    "RUN",
    "Answer",
    "Call",
    "Context",
    "Recording",
    "Trace",
    "answers_from",
]

ANSWERS, AGENT, RUN = "answers", "agent", "run"
KINDS = (ANSWERS, AGENT, RUN)
"""What a recording may hold."""

OUTCOMES = ("finished", "exhausted", "failed")
"""How a trace may end: the agent stopped by itself, its budget did, or something broke."""


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a model to one query.

    Attributes
    ----------
    query_id
        The query.
    context
        Kind of context it was given, such as the name of a retriever; empty where there is one kind only.
    context_ids
        Documents that the context held, in the order the model read them.
    cited_ids
        Documents that the answer cites, in its order; repeats are kept.
    text
        What it says.
    error
        Why the reply could not be used, such as a broken schema; empty where it could.
    latency
        Seconds that the reply took, or None.
    scores
        Scores of the context's documents, where its retriever gave any.

    Raises
    ------
    InputError
        An id that is not a non-empty string, or ids that are no list.

    Examples
    --------
    >>> Answer("q1", "bm25", ["F0001", "F0002"], ["F0002"]).cited_ids
    ('F0002',)
    """

    query_id: str
    context: str = ""
    context_ids: tuple[str, ...] = ()
    cited_ids: tuple[str, ...] = ()
    text: str = ""
    error: str = ""
    latency: float | None = None
    scores: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _check_text(self.query_id, "query_id", "an answer", needed=True)
        place = f"the answer to {self.query_id!r}"
        for name in ("context", "text", "error"):
            _check_text(getattr(self, name), name, place)
        object.__setattr__(self, "latency", _seconds(self.latency, place))
        object.__setattr__(self, "scores", _numbers(self.scores, place))
        for name in ("context_ids", "cited_ids"):
            object.__setattr__(self, name, ids_of(getattr(self, name), name, place))

    @property
    def distinct_cited(self) -> tuple[str, ...]:
        """What it cites, each document once, in order."""
        return tuple(dict.fromkeys(self.cited_ids))

    @property
    def outside(self) -> tuple[str, ...]:
        """What it cites that its context did not hold, each document once."""
        held = set(self.context_ids)
        return tuple(doc_id for doc_id in self.distinct_cited if doc_id not in held)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a tool by an agent.

    Attributes
    ----------
    tool
        Name of the tool.
    arguments
        As the agent gave them.
    observation
        What the tool returned and the agent read: any JSON value.
    returned_ids
        Documents that the observation showed, in order; empty for tools that search nothing.
    error
        Message of a failed call; empty where it went well.
    tokens
        Tokens spent on the step, or None where nobody counted.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    observation: Any = None
    returned_ids: tuple[str, ...] = ()
    error: str = ""
    tokens: int | None = None

    def __post_init__(self) -> None:
        _check_text(self.tool, "tool", "a call", needed=True)
        place = f"the call of {self.tool!r}"
        if not isinstance(self.arguments, Mapping):
            raise InputError(f"arguments of {place} are {self.arguments!r}; a mapping name → value is needed")
        _check_text(self.error, "error", place)
        if self.tokens is not None and (not isinstance(self.tokens, int) or isinstance(self.tokens, bool)):
            raise InputError(f"tokens of {place} are {self.tokens!r}; a whole number or None is needed")
        object.__setattr__(self, "returned_ids", ids_of(self.returned_ids, "returned_ids", place))

    @property
    def failed(self) -> bool:
        """Whether the tool answered with an error."""
        return bool(self.error)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The record of an agent's calls on one task, and how it ended.

    Attributes
    ----------
    query_id
        The task: a query of the gold set, or any id.
    context
        Which retriever stood behind the search tool; empty where there is one only.
    request
        What the agent was asked.
    calls
        In order.
    outcome
        ``"finished"``, ``"exhausted"`` (a budget ended it) or ``"failed"``.
    picks
        Documents it chose in the end, in its order.
    message
        Its last message.
    latency
        Seconds that the task took, or None.
    """

    query_id: str
    context: str = ""
    request: str = ""
    calls: tuple[Call, ...] = ()
    outcome: str = "finished"
    picks: tuple[str, ...] = ()
    message: str = ""
    latency: float | None = None

    def __post_init__(self) -> None:
        _check_text(self.query_id, "query_id", "a trace", needed=True)
        place = f"the trace of {self.query_id!r}"
        for name in ("context", "request", "message"):
            _check_text(getattr(self, name), name, place)
        object.__setattr__(self, "latency", _seconds(self.latency, place))
        if self.outcome not in OUTCOMES:
            raise InputError(f"outcome of {place} is {self.outcome!r}; allowed are {listed(OUTCOMES)}")
        calls = tuple(self.calls)
        if not all(isinstance(call, Call) for call in calls):
            raise InputError(f"calls of {place} hold something that is no Call")
        object.__setattr__(self, "calls", calls)
        object.__setattr__(self, "picks", ids_of(self.picks, "picks", place))

    @property
    def searches(self) -> tuple[Call, ...]:
        """The calls that carry a search text in the argument ``query``."""
        return tuple(call for call in self.calls if isinstance(call.arguments.get("query"), str))

    @property
    def returned_ids(self) -> tuple[str, ...]:
        """Every document that a tool returned, each once, in the order of their first sight."""
        return tuple(dict.fromkeys(doc_id for call in self.calls for doc_id in call.returned_ids))

    @property
    def tokens(self) -> int | None:
        """Tokens spent on all calls together, or None where nobody counted."""
        counted = [call.tokens for call in self.calls if call.tokens is not None]
        return sum(counted) if counted else None


@final
@dataclass(frozen=True, slots=True)
class Context:
    """One kind of context of a recording.

    Attributes
    ----------
    subject
        Retriever that made it; None where none did (random documents, another system's).
    k
        How many documents it asked for.
    """

    subject: str | None = None
    k: int | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Recording:
    """What a model or an agent did once, with the manifest that says how.

    Attributes
    ----------
    name
        Name of its folder.
    kind
        ``"answers"``, ``"agent"`` or ``"run"``.
    goldset
        Name of the gold set it was made for.
    manifest
        Everything that manifest.toml says, as it stands there.
    contexts
        Name → kind of context.
    answers, traces
        One of them is filled, or neither for a recorded run.
    run
        The recorded rankings, or None.
    labels
        Label → (query_id, context, reply) → value; human, or of a calibrated judge.
    uncalibrated
        Labels by a judge without a calibration for its model and prompt: described, never gated.
    notes
        What differs from the gold set of today: named beside verdicts, never decisive.
    folder
        Where it was read from, as a label.
    """

    name: str
    kind: str
    goldset: str = ""
    manifest: Mapping[str, Any] = field(default_factory=dict)
    contexts: Mapping[str, Context] = field(default_factory=dict)
    answers: tuple[Answer, ...] = ()
    traces: tuple[Trace, ...] = ()
    run: Run | None = None
    labels: Mapping[str, Mapping[tuple[str, str, int], float]] = field(default_factory=dict)
    uncalibrated: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    folder: str = ""

    @property
    def subjects(self) -> tuple[str, ...]:
        """What the gate may judge of it: ``<recording>.<context>``, or the name alone without contexts."""
        records: Sequence[Answer | Trace] = self.answers or self.traces
        contexts = dict.fromkeys(record.context for record in records)
        return tuple(f"{self.name}.{context}" if context else self.name for context in contexts)

    def __repr__(self) -> str:
        count = len(self.answers) or len(self.traces) or len(self.run or ())
        what = {ANSWERS: "answers", AGENT: "traces", RUN: "rankings"}[self.kind]
        return f"<Recording {self.name!r}: {count} {what}, contexts {listed(self.contexts) or 'none'}>"


def answers_from(value: object, *, cited: bool = True) -> tuple[Answer, ...]:
    """Return answers given as `Answer` values, as mappings, or as a DataFrame with columns of those names.

    Parameters
    ----------
    value
        The answers.
    cited
        Whether a mapping must say what it cites: without the field, a typing error would read as nothing.

    Raises
    ------
    InputError
        Something among them is no answer.

    Examples
    --------
    >>> answers_from([{"query_id": "q1", "context_ids": ["a"], "cited_ids": ["a"]}])[0].context_ids
    ('a',)
    """
    if isinstance(value, Recording):
        value = value.answers
    if isinstance(value, Answer | Mapping):
        value = [value]
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        value = _records(value)
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InputError(f"answers are {value!r}; a list of Answer, of mappings, or a DataFrame is needed")
    return tuple(answer if isinstance(answer, Answer) else _answer(answer, cited) for answer in value)


def _records(frame: Any) -> list[dict[str, Any]]:
    table: pd.DataFrame = frame
    if table.index.name is not None and table.index.name not in table.columns:
        table = table.reset_index()
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


_FIELDS = ("query_id", "context", "context_ids", "cited_ids", "text", "error", "latency", "scores")


def _answer(value: object, cited: bool) -> Answer:
    if not isinstance(value, Mapping):
        raise InputError(f"an answer is {value!r}; an Answer or a mapping with {listed(_FIELDS)} is needed")
    if "query_id" not in value:
        raise InputError(f"an answer has no query_id; it has {listed(value) or 'nothing'}")
    if cited and "cited_ids" not in value:
        raise InputError(
            f"the answer to {value['query_id']!r} has no cited_ids; it has {listed(value)}: give an"
            " empty list where it cites nothing"
        )
    given = {name: value[name] for name in _FIELDS if name in value}
    return Answer(**{name: of_name for name, of_name in given.items() if not _is_missing(of_name)})


def _is_missing(value: object) -> bool:
    """Return whether a cell of a DataFrame holds nothing."""
    return value is None or (isinstance(value, float) and value != value)


def ids_of(value: object, what: str, place: str) -> tuple[str, ...]:
    """Return ids as a tuple of strings.

    Raises
    ------
    InputError
        They are none.
    """
    if isinstance(value, str | bytes | Mapping | set | frozenset) or not isinstance(value, Iterable):
        raise InputError(f"{what} of {place} are {value!r}; a list of ids is needed")
    ids = tuple(value)
    for doc_id in ids:
        if not isinstance(doc_id, str) or not doc_id:
            kind = "empty" if doc_id == "" else f"of type {type(doc_id).__name__}"
            raise InputError(f"{what} of {place} hold {doc_id!r}, which is {kind}; ids are strings")
    return ids


def _check_text(value: object, what: str, place: str, *, needed: bool = False) -> None:
    if not isinstance(value, str) or (needed and not value):
        shape = "a non-empty string" if needed else "a string"
        raise InputError(f"{what} of {place} is {value!r}; {shape} is needed")


def _seconds(value: object, place: str) -> float | None:
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= float(value) < float("inf"):  # type: ignore[arg-type]
        raise InputError(f"latency of {place} is {value!r}; seconds are needed, a number from 0")
    return float(value)  # type: ignore[arg-type]


def _numbers(value: object, place: str) -> tuple[float, ...]:
    numbers = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float) or number != number:
            raise InputError(f"scores of {place} are {value!r}; a list of numbers is needed")
    return tuple(float(number) for number in numbers if isinstance(number, int | float))
