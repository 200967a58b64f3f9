"""Subjects of a recording: its answers or traces under one context, as a run that the gate can judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_retrieval.answers.planted import Planted, steered_numbers
from pytest_retrieval.errors import InputError, listed
from pytest_retrieval.measures.answer import LABEL
from pytest_retrieval.model.records import Answer, Recording, Trace
from pytest_retrieval.model.run import Reply, Run

__all__ = ["context_of", "run_of", "shown_then"]


def context_of(recording: Recording, subject: str) -> str | None:
    """Return the kind of context that a subject's name means, or None where it is not of this recording.

    Examples
    --------
    >>> recording = Recording(name="rag", kind="answers", answers=(Answer("q1", "bm25"),))
    >>> context_of(recording, "rag.bm25"), context_of(recording, "bm25")
    ('bm25', None)
    """
    if subject == recording.name:
        return ""
    return subject.removeprefix(f"{recording.name}.") if subject.startswith(f"{recording.name}.") else None


def run_of(recording: Recording, context: str, planted: Sequence[Planted] = ()) -> Run:
    """Return a recording's answers or traces under one context as a run with replies.

    For answers a query's ranking is its context; for traces it is what the agent picked. Labels of a judge
    without a calibration of its own are left out.

    Parameters
    ----------
    recording, context
        What is judged.
    planted
        Planted items of the catalog, whose effect is counted.

    Raises
    ------
    InputError
        The recording has nothing under this context.
    """
    if recording.run is not None:
        return recording.run
    records: Sequence[Answer | Trace] = recording.answers or recording.traces
    chosen = [record for record in records if record.context == context]
    if not chosen:
        there = listed(dict.fromkeys(record.context for record in records)) or "none"
        raise InputError(
            f"recording {recording.name} has nothing under the context {context!r}; it has {there}"
        )
    replies: dict[str, list[Reply]] = {}
    for record in chosen:
        of_query = replies.setdefault(record.query_id, [])
        labels = _labels(recording, record.query_id, context, len(of_query))
        of_query.append(_reply(record, {**labels, **steered_numbers(record, planted)}))
    rankings = {query_id: of_query[0].ranking for query_id, of_query in replies.items()}
    name = f"{recording.name}.{context}" if context else recording.name
    return Run(rankings, name, replies=replies)


def shown_then(recording: Recording, context: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return what was retrieved when a recording was made: key → (query, documents).

    The key tells where it stands; the query is a query_id for contexts and the search text for traces.
    Calls that failed showed nothing and are left out.
    """
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for number, answer in enumerate(recording.answers):
        if answer.context == context:
            found[f"answer {number + 1}"] = (answer.query_id, answer.context_ids)
    for number, trace in enumerate(recording.traces):
        if trace.context == context:
            for place, call in enumerate(trace.searches, start=1):
                if not call.failed:
                    key = f"trace {number + 1}, search {place}"
                    found[key] = (str(call.arguments["query"]), call.returned_ids)
    return found


def _reply(record: Answer | Trace, labels: Mapping[str, float]) -> Reply:
    if isinstance(record, Answer):
        return Reply(shown=record.context_ids, cited=record.cited_ids, numbers=labels)
    counts = {
        "searches": float(len(record.searches)),
        "steps": float(len(record.calls)),
        "tool_errors": float(sum(call.failed for call in record.calls)),
        "exhausted": float(record.outcome == "exhausted"),
    }
    return Reply(shown=record.returned_ids, cited=record.picks, numbers={**counts, **labels}, picks=True)


def _labels(recording: Recording, query_id: str, context: str, reply: int) -> dict[str, float]:
    place = (query_id, context, reply)
    return {
        LABEL + name: values[place]
        for name, values in recording.labels.items()
        if place in values and name not in recording.uncalibrated
    }
