"""Recordings on disk: a manifest beside answers, traces, a run or labels, checked against their gold set."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pytest_retrieval.answers.support import is_calibrated, told_uncalibrated
from pytest_retrieval.errors import FileError, InputError, Problem, listed
from pytest_retrieval.files.content import Unreadable, label_of, lines_of, read_bytes
from pytest_retrieval.files.json_lines import NoJson, value_of
from pytest_retrieval.files.manifest import MANIFEST, contexts_of, read_manifest
from pytest_retrieval.files.trec import load_run
from pytest_retrieval.model.goldset import GoldSet
from pytest_retrieval.model.records import AGENT, ANSWERS, RUN, Answer, Call, Context, Recording, Trace

__all__ = ["FILES", "line_of_answer", "line_of_trace", "load_recording", "trace_from"]

FILES = {ANSWERS: "answers.jsonl", AGENT: "traces.jsonl", RUN: "run.trec"}
LABELS = "labels.jsonl"
MOST_NAMED = 20

_Record = TypeVar("_Record", Answer, Trace)


def load_recording(path: str | os.PathLike[str], goldset: GoldSet | None = None) -> Recording:
    r"""Read a recording.

    Parameters
    ----------
    path
        Its folder or its manifest.toml.
    goldset
        The gold set it was made for. Where it is given, every query and every document that was shown must
        be there; what changed about it since is told in `Recording.notes`.

    Returns
    -------
    Recording

    Raises
    ------
    FileError
        The manifest, a line of answers, traces or labels cannot be used, or the recording was made for
        another gold set; every problem is named with file and line.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp(), "rag")
    >>> folder.mkdir()
    >>> _ = (folder / "manifest.toml").write_text('kind = "answers"\ngoldset = "store"\n')
    >>> line = '{"query_id": "q1", "context": "bm25", "context_ids": ["a"], "cited_ids": ["a"]}\n'
    >>> _ = (folder / "answers.jsonl").write_text(line)
    >>> load_recording(folder)
    <Recording 'rag': 1 answers, contexts bm25>
    """
    folder = Path(path)
    folder = folder.parent if folder.name == MANIFEST else folder
    manifest = read_manifest(folder)
    problems: list[Problem] = []
    kind = manifest["kind"]
    answers: dict[int, Answer] = {}
    traces: dict[int, Trace] = {}
    run = None
    file = folder / FILES[kind]
    if kind == RUN:
        gzipped = file.with_name(file.name + ".gz")
        run = load_run(gzipped if gzipped.is_file() and not file.is_file() else file, folder.name)
    elif kind == ANSWERS:
        schema = manifest.get("schemas", {}).get("answer")
        answers = _records(file, lambda line: _answer(line, schema), problems)
    else:
        traces = _records(file, trace_from, problems)
    records: Mapping[int, Answer | Trace] = answers or traces
    contexts = contexts_of(manifest) or {record.context: Context() for record in records.values()}
    problems += _undeclared(manifest, records, label_of(file))
    notes: tuple[str, ...] = ()
    if goldset is not None:
        problems += _against(goldset, folder, manifest, records, label_of(file))
        notes = _changed(goldset, folder.name, manifest)
    uncalibrated: set[str] = set()
    labels = _labels(folder / LABELS, records, manifest, problems, uncalibrated)
    if problems:
        raise FileError(f"recording {label_of(folder)}", problems)
    recording = Recording(
        name=folder.resolve().name,
        kind=kind,
        goldset=manifest["goldset"],
        manifest=manifest,
        contexts=contexts,
        answers=tuple(answers.values()),
        traces=tuple(traces.values()),
        run=run,
        labels=labels,
        uncalibrated=frozenset(uncalibrated),
        notes=notes,
        folder=label_of(folder),
    )
    told = tuple(told_uncalibrated(recording, label) for label in sorted(uncalibrated))
    return replace(recording, notes=(*notes, *told))


def line_of_answer(answer: Answer, reply: object = None) -> dict[str, Any]:
    """Return an answer as a line of answers.jsonl holds it; `reply` is the object that the model wrote."""
    line: dict[str, Any] = {
        "query_id": answer.query_id,
        "context": answer.context,
        "context_ids": list(answer.context_ids),
        "cited_ids": list(answer.cited_ids),
        "text": answer.text,
    }
    optional = {
        "error": answer.error,
        "latency": answer.latency,
        "scores": list(answer.scores),
        "reply": reply,
    }
    return line | {name: value for name, value in optional.items() if value not in ("", None, [])}


def line_of_trace(trace: Trace) -> dict[str, Any]:
    """Return a trace as a line of traces.jsonl holds it."""
    return {
        "query_id": trace.query_id,
        "context": trace.context,
        "request": trace.request,
        "calls": [
            {
                name: value
                for name, value in {
                    "tool": call.tool,
                    "arguments": dict(call.arguments),
                    "observation": call.observation,
                    "returned_ids": list(call.returned_ids),
                    "error": call.error,
                    "tokens": call.tokens,
                }.items()
                if name in ("tool", "arguments") or value not in ("", None, [])
            }
            for call in trace.calls
        ],
        "outcome": trace.outcome,
        "picks": list(trace.picks),
        "message": trace.message,
        **({} if trace.latency is None else {"latency": trace.latency}),
    }


def trace_from(line: Mapping[str, Any]) -> Trace:
    """Return the trace in one line of traces.jsonl.

    Raises
    ------
    InputError
        It is none; the message says what was needed.
    """
    _check_keys(line, _TRACE, ("query_id",), "a trace")
    calls = line.get("calls", [])
    if not isinstance(calls, list):
        raise InputError(f"calls are {calls!r}; a list is needed")
    return Trace(**{**line, "calls": tuple(_call(call) for call in calls)})


_ANSWER = (
    "query_id", "context", "context_ids", "cited_ids", "text", "error", "latency", "scores", "reply",
)  # fmt: skip
_TRACE = ("query_id", "context", "request", "calls", "outcome", "picks", "message", "latency")
_CALL = ("tool", "arguments", "observation", "returned_ids", "error", "tokens")
_LABEL = ("query_id", "context", "reply", "label", "value", "judge")


def _call(value: object) -> Call:
    if not isinstance(value, Mapping):
        raise InputError(f"a call is {value!r}; an object with {listed(_CALL)} is needed")
    _check_keys(value, _CALL, ("tool",), "a call")
    return Call(**value)


def _answer(line: Mapping[str, Any], schema: Any) -> Answer:
    _check_keys(line, _ANSWER, ("query_id", "context_ids", "cited_ids"), "an answer")
    answer = Answer(**{name: value for name, value in line.items() if name != "reply"})
    if schema is not None and "reply" in line and not answer.error:
        fault = broken_schema(line["reply"], schema)
        if fault:
            raise InputError(f"the reply breaks its schema: {fault}")
    return answer


def broken_schema(reply: Any, schema: Any) -> str:
    """Return how a reply breaks a JSON schema, or an empty string. A schema is never fetched from anywhere.

    Raises
    ------
    InputError
        The schema is none, or refers to one that is not part of it.
    """
    import jsonschema
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:
        validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        validator.check_schema(schema)
        found = validator(schema, registry=Registry()).iter_errors(reply)
        faults = sorted(found, key=lambda fault: list(map(str, fault.path)))
    except Unresolvable as error:
        raise InputError(f"schemas.answer refers to {error.ref!r}, which it does not hold") from None
    except jsonschema.SchemaError as error:
        raise InputError(f"schemas.answer is no JSON schema: {error.message}") from None
    return "; ".join(f"{'.'.join(map(str, fault.path)) or 'it'}: {fault.message}" for fault in faults[:3])


def _check_keys(line: object, known: Iterable[str], needed: Iterable[str], what: str) -> None:
    if not isinstance(line, Mapping):
        raise InputError(f"is no JSON object; {what} is an object with {listed(known, most=20)}")
    unknown = sorted(set(line) - set(known))
    if unknown:
        raise InputError(f"unknown key {listed(map(repr, unknown))}; {what} has {listed(known, most=20)}")
    missing = [name for name in needed if name not in line]
    if missing:
        raise InputError(f"has no {listed(map(repr, missing))}; {what} needs {listed(needed)}")


def _lines(path: Path, problems: list[Problem]) -> Iterable[tuple[int, Any]]:
    """Yield line number and JSON value; a line that is none is a problem."""
    gzipped = path.with_name(path.name + ".gz")
    chosen = gzipped if gzipped.is_file() and not path.is_file() else path
    label = label_of(chosen)
    try:
        data = read_bytes(chosen, label)
    except Unreadable as error:
        problems.append(error.problem)
        return
    lines, faults = lines_of(data, label)
    problems += faults
    for number, text in lines:
        try:
            yield number, value_of(text)
        except NoJson as error:
            problems.append(Problem(str(error), label, number))


def _records(
    path: Path, make: Callable[[Mapping[str, Any]], _Record], problems: list[Problem]
) -> dict[int, _Record]:
    """Return line → record; what is none becomes a problem with its line."""
    records = {}
    for number, line in _lines(path, problems):
        try:
            records[number] = make(line)
        except (InputError, TypeError) as error:
            problems.append(Problem(str(error), label_of(path), number))
    return records


def _undeclared(
    manifest: Mapping[str, Any], records: Mapping[int, Answer | Trace], label: str
) -> list[Problem]:
    """Return a problem for each kind of context that the manifest does not declare, where it declares any."""
    declared = manifest.get("contexts")
    if not declared:
        return []
    first: dict[str, int] = {}
    for number, record in records.items():
        first.setdefault(record.context, number)
    return [
        Problem(
            f"context {context!r} is not declared in {MANIFEST}; it declares {listed(declared)}: add"
            f" [contexts.{context or 'name'}]",
            label,
            number,
        )
        for context, number in first.items()
        if context not in declared
    ]


def _against(
    goldset: GoldSet,
    folder: Path,
    manifest: Mapping[str, Any],
    records: Mapping[int, Answer | Trace],
    label: str,
) -> list[Problem]:
    """Return what does not fit the gold set."""
    made_for = manifest["goldset"]
    if made_for != goldset.name:
        hint = "record again for this gold set, or name the one it was made for"
        problem = f"was made for the gold set {made_for!r}, not {goldset.name!r}; {hint}"
        return [Problem(problem, label_of(folder / MANIFEST))]
    known_queries = set(goldset.qrels.query_ids)
    known_documents = None if goldset.catalog is None else set(goldset.catalog.index)
    problems = []
    for number, record in records.items():
        if record.query_id not in known_queries:
            problem = f"query {record.query_id!r} is not in the gold set {goldset.name!r}"
            problems.append(Problem(f"{problem}; remove the line, or add the query", label, number))
        if known_documents is None:
            continue
        shown = record.context_ids if isinstance(record, Answer) else record.returned_ids
        strange = [doc_id for doc_id in shown if doc_id not in known_documents]
        if strange:
            what = "context_ids" if isinstance(record, Answer) else "returned_ids"
            problem = (
                f"query {record.query_id!r}: {what} hold {listed(map(repr, strange), most=3)}, which the"
            )
            problems.append(Problem(f"{problem} catalog does not; record again", label, number))
    return problems


def _changed(goldset: GoldSet, name: str, manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what changed about the gold set since the recording was made."""
    then = manifest.get("digests", {})
    now = {"judgments": goldset.digests.judgments, "catalog": goldset.digests.catalog}
    words = {
        "judgments": "the judgments or query texts changed since; today's decide",
        "catalog": "the catalog changed since; the model read the old one",
    }
    return tuple(
        f"recording {name}: {words[key]}"
        for key, digest in now.items()
        if then.get(key) and digest and not digest.startswith(str(then[key]))
    )


def _labels(
    path: Path,
    records: Mapping[int, Answer | Trace],
    manifest: Mapping[str, Any],
    problems: list[Problem],
    uncalibrated: set[str],
) -> dict[str, dict[tuple[str, str, int], float]]:
    """Return label → (query_id, context, reply) → value; labels of uncalibrated judges are named."""
    if not path.is_file() and not path.with_name(path.name + ".gz").is_file():
        return {}
    label = label_of(path)
    known: dict[tuple[str, str], int] = {}
    for record in records.values():
        key = (record.query_id, record.context)
        known[key] = known.get(key, 0) + 1
    found: dict[str, dict[tuple[str, str, int], float]] = {}
    for number, line in _lines(path, problems):
        try:
            _check_keys(line, _LABEL, ("query_id", "label", "value"), "a label")
            fault = _label_fault(line, known, manifest)
        except InputError as error:
            fault = str(error)
        if fault:
            problems.append(Problem(fault, label, number))
            continue
        judge = line.get("judge")
        if judge is not None and not is_calibrated(manifest["judges"][judge]):
            uncalibrated.add(line["label"])
        place = (line["query_id"], line.get("context", ""), line.get("reply", 0))
        of_name = found.setdefault(line["label"], {})
        if place in of_name:
            problems.append(Problem(f"label {line['label']!r} of {place} is given twice", label, number))
        of_name[place] = float(line["value"])
    return found


def _label_fault(
    line: Mapping[str, Any], known: Mapping[tuple[str, str], int], manifest: Mapping[str, Any]
) -> str:
    value, reply = line["value"], line.get("reply", 0)
    # True and False are 1 and 0; what no float can hold is refused with what is no number.
    if not (isinstance(value, int | float) and abs(value) <= sys.float_info.max):
        return f"value is {value!r}; a number, true or false is needed"
    if not isinstance(line["label"], str) or not line["label"]:
        return f"label is {line['label']!r}; a name is needed"
    for name in ("query_id", "context", "judge"):
        if not isinstance(line.get(name, ""), str) and (name, line.get(name)) != ("judge", None):
            return f"{name} is {line[name]!r}; a string is needed"
    if isinstance(reply, bool) or not isinstance(reply, int):
        return f"reply is {reply!r}; the number of the reply, from 0, is needed"
    count = known.get((line["query_id"], line.get("context", "")), 0)
    if not 0 <= reply < count:
        return f"there is no reply {reply} to {line['query_id']!r} under {line.get('context', '')!r}"
    judge = line.get("judge")
    judges = manifest.get("judges", {})
    if judge is not None and judge not in judges:
        return f"judge {judge!r} is not declared in {MANIFEST}; it declares {listed(judges) or 'none'}"
    return ""
