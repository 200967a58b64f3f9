"""Recordings on disk: every line read or refused with its place, and held against the gold set."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from pytest_retrieval import Answer, Call, FileError, InputError, Trace, judge_digest, load_recording
from pytest_retrieval.files.goldset import goldset_from_frames
from pytest_retrieval.files.recording import broken_schema, line_of_answer, line_of_trace, trace_from

MANIFEST = 'kind = "answers"\ngoldset = "store"\n'
AGENT = MANIFEST.replace("answers", "agent")
ONE = {"query_id": "q1", "context": "bm25", "context_ids": ["a", "b"], "cited_ids": ["a"]}


@pytest.fixture
def record(write):
    """Write a recording of these lines, and return its folder."""

    def recorded(*lines: Any, manifest: str = MANIFEST, file: str = "rec/answers.jsonl", labels: Any = ()):
        write("rec/manifest.toml", manifest)
        for name, content in ((file, lines), ("rec/labels.jsonl", labels)):
            if content:
                text = (line if isinstance(line, str) else json.dumps(line) for line in content)
                write(name, "".join(one + "\n" for one in text))
        return "rec"

    return recorded


@pytest.fixture
def store():
    """A gold set of two queries and three documents."""

    def made(*, documents: str | None = "abc", **settings: Any):
        return goldset_from_frames(
            "store",
            pd.DataFrame({"query_id": ["q1", "q2"], "query": ["one", "two"], "stratum": "s"}),
            pd.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["a", "b"], "grade": [1, 1]}),
            None if documents is None else pd.DataFrame({"doc_id": list(documents), "text": "…"}),
            **settings,
        )

    return made


def refused(folder, goldset=None):
    with pytest.raises(FileError) as error:
        load_recording(folder, goldset)
    return str(error.value)


def test_answers(record):
    full = {**ONE, "text": "Take a.", "latency": 1.5, "scores": [2, 1], "reply": {"ids": ["a"]}}
    recording = load_recording(record(full, {**ONE, "context": "random", "error": "no JSON"}))
    assert recording.answers == (
        Answer("q1", "bm25", ["a", "b"], ["a"], "Take a.", latency=1.5, scores=[2.0, 1.0]),
        Answer("q1", "random", ["a", "b"], ["a"], error="no JSON"),
    )
    assert (recording.name, recording.kind, recording.goldset) == ("rec", "answers", "store")
    assert recording.subjects == ("rec.bm25", "rec.random")
    assert list(recording.contexts) == ["bm25", "random"]
    assert repr(recording) == "<Recording 'rec': 2 answers, contexts bm25, random>"


def test_the_manifest_or_the_folder_and_gzip(record):
    record(ONE, file="rec/answers.jsonl.gz")
    assert load_recording("rec/manifest.toml").answers == load_recording("rec").answers != ()


def test_a_run(record, write):
    manifest = MANIFEST.replace("answers", "run")
    folder = record("q1 Q0 a 1 2.0 x", "q1 Q0 b 2 1.0 x", manifest=manifest, file="rec/run.trec")
    recording = load_recording(folder)
    assert dict(recording.run) == {"q1": ("a", "b")}
    assert recording.subjects == ()
    assert repr(recording) == "<Recording 'rec': 1 rankings, contexts none>"


def test_lines_survive_writing_and_reading(record):
    answers = [
        Answer("q1", "bm25", ["a", "b"], ["a", "a"], "Take a.", latency=0.0, scores=[2.0, 1.0]),
        Answer("q2", error="no JSON"),
    ]
    folder = record(*(line_of_answer(answer, {"ids": []}) for answer in answers))
    assert load_recording(folder).answers == tuple(answers)
    trace = Trace(
        query_id="q1",
        context="bm25",
        request="one",
        calls=[
            Call(tool="search", arguments={"query": "x"}, observation=[{"id": "a"}], returned_ids=["a"]),
            Call(tool="refund", arguments={}, error="closed", tokens=7),
        ],
        outcome="exhausted",
        picks=["a"],
        message="a",
        latency=2.5,
    )
    plain = Trace(query_id="q2")
    lines = [json.loads(json.dumps(line_of_trace(one))) for one in (trace, plain)]
    assert [trace_from(line) for line in lines] == [trace, plain]
    assert "latency" not in lines[1]
    assert lines[0]["calls"][1] == {"tool": "refund", "arguments": {}, "error": "closed", "tokens": 7}
    assert load_recording(record(*lines, manifest=AGENT, file="rec/traces.jsonl")).traces == (trace, plain)


@pytest.mark.parametrize(
    "line, told",
    [
        ("[1]", "is no JSON object; an answer is an object with query_id, context, context_ids"),
        ("{", "is no JSON: Expecting property name"),
        ("[" * 100_000, "is JSON nested too deeply"),
        (
            '{"query_id": "q1", "context_ids": [], "cited_ids": ["a"], "cited_ids": []}',
            "names a key twice: 'cited_ids'",
        ),
        ({**ONE, "reply": {"sure": float("nan")}}, "holds NaN, which is no JSON; write null"),
        ({**ONE, "cite_ids": []}, "unknown key 'cite_ids'; an answer has query_id"),
        ({"query_id": "q1", "cited_ids": []}, "has no 'context_ids'; an answer needs query_id, context_ids"),
        ({**ONE, "context_ids": "ab"}, "context_ids of the answer to 'q1' are 'ab'; a list of ids"),
        (
            {**ONE, "cited_ids": [7]},
            "cited_ids of the answer to 'q1' hold 7, which is of type int; ids are strings",
        ),
        ({**ONE, "query_id": ""}, "query_id of an answer is ''; a non-empty string is needed"),
        ({**ONE, "latency": -1}, "latency of the answer to 'q1' is -1; seconds are needed"),
        ({**ONE, "scores": ["high"]}, "scores of the answer to 'q1' are"),
    ],
)
def test_answers_that_are_none(record, line, told):
    message = refused(record(ONE, line))
    assert f"rec/answers.jsonl:2: {told}" in message


@pytest.mark.parametrize(
    "line, told",
    [
        ({}, "has no 'query_id'; a trace needs query_id"),
        ({"query_id": "q", "calls": {}}, "calls are {}; a list is needed"),
        ({"query_id": "q", "calls": ["search"]}, "a call is 'search'; an object with tool, arguments"),
        ({"query_id": "q", "calls": [{}]}, "has no 'tool'; a call needs tool"),
        ({"query_id": "q", "calls": [{"tool": "a", "args": {}}]}, "unknown key 'args'; a call has tool"),
        ({"query_id": "q", "calls": [{"tool": "a", "arguments": []}]}, "arguments of the call of 'a' are []"),
        ({"query_id": "q", "outcome": "done"}, "outcome of the trace of 'q' is 'done'; allowed are finished"),
    ],
)
def test_traces_that_are_none(record, line, told):
    message = refused(record(line, manifest=AGENT, file="rec/traces.jsonl"))
    assert f"rec/traces.jsonl:1: {told}" in message


def test_every_problem_is_told_at_once(record):
    message = refused(record({**ONE, "query_id": ""}, ONE, "{", {"query_id": "q"}))
    assert [f"answers.jsonl:{number}:" in message for number in (1, 2, 3, 4)] == [True, False, True, True]


def test_a_recording_without_a_line_or_a_file(record, write):
    assert "rec/answers.jsonl: the file is empty" in refused(record("\n"))
    record(manifest=AGENT)
    assert "rec/traces.jsonl: no such file" in refused("rec")
    write("rec/answers.jsonl", b"\xff\xfe")
    write("rec/manifest.toml", MANIFEST)
    assert "rec/answers.jsonl" in refused("rec")


SCHEMA = """
[schemas.answer]
type = "object"
required = ["ids"]
[schemas.answer.properties.ids]
type = "array"
maxItems = 1
"""


def test_a_reply_is_held_against_its_schema(record):
    good = {**ONE, "reply": {"ids": ["a"]}}
    broken = {**ONE, "reply": {"ids": ["a", "b"]}}
    assert len(load_recording(record(good, ONE, manifest=MANIFEST + SCHEMA)).answers) == 2
    message = refused(record(good, broken, manifest=MANIFEST + SCHEMA))
    assert "rec/answers.jsonl:2: the reply breaks its schema: ids: ['a', 'b'] is too long" in message
    told = {**broken, "error": "too many ids"}
    assert len(load_recording(record(told, manifest=MANIFEST + SCHEMA)).answers) == 1


def test_a_schema_that_is_none():
    assert broken_schema({}, {"type": "object"}) == ""
    assert broken_schema([], {"type": "object"}) == "it: [] is not of type 'object'"
    with pytest.raises(InputError, match=r"schemas.answer is no JSON schema"):
        broken_schema({}, {"type": "thing"})
    assert broken_schema({}, {"$schema": "http://nowhere.invalid/x", "type": "object"}) == ""


@pytest.mark.parametrize("ref", ["#/nowhere", "http://127.0.0.1:9/schema", "file:///etc/hostname"])
def test_a_schema_is_never_fetched(ref, monkeypatch):
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: pytest.fail("a schema was fetched"))
    with pytest.raises(InputError, match=r"schemas\.answer refers to .*, which it does not hold"):
        broken_schema({}, {"$ref": ref})
    inside = {"$ref": "#/$defs/ids", "$defs": {"ids": {"type": "array"}}}
    assert broken_schema([], inside) == ""
    assert broken_schema({}, inside) == "it: {} is not of type 'array'"


def test_a_context_that_is_not_declared(record):
    manifest = MANIFEST + "[contexts.bm25]\n[contexts.floor]\n"
    assert list(load_recording(record(ONE, manifest=manifest)).contexts) == ["bm25", "floor"]
    other = {**ONE, "context": "dense"}
    message = refused(record(ONE, other, other, manifest=manifest))
    assert (
        "answers.jsonl:2: context 'dense' is not declared in manifest.toml; it declares bm25, floor: add"
        in (message)
    )
    assert "answers.jsonl:3" not in message


def test_a_recording_for_another_gold_set(record, store):
    message = refused(record(ONE, manifest=MANIFEST.replace("store", "shop")), store())
    assert (
        "rec/manifest.toml: was made for the gold set 'shop', not 'store'; record again for this" in message
    )


def test_queries_and_documents_that_the_gold_set_does_not_hold(record, store):
    lines = [ONE, {**ONE, "query_id": "q9"}, {**ONE, "context_ids": ["a", "x", "y"]}]
    assert len(load_recording(record(*lines)).answers) == 3
    message = refused(record(*lines), store())
    assert "answers.jsonl:2: query 'q9' is not in the gold set 'store'; remove the line, or add" in message
    assert "answers.jsonl:3: query 'q1': context_ids hold 'x', 'y', which the catalog does not" in message
    assert "answers.jsonl:1" not in message
    # Without a catalog any document may be shown, and a model may cite what nobody holds.
    assert "'x'" not in refused(record(*lines), store(documents=None))
    cites = {**ONE, "cited_ids": ["invented"]}
    assert load_recording(record(cites), store()).answers[0].outside == ("invented",)


def test_documents_that_a_trace_was_shown(record, store):
    call = {"tool": "search", "arguments": {"query": "x"}, "returned_ids": ["a", "z"]}
    folder = record({"query_id": "q1", "calls": [call]}, manifest=AGENT, file="rec/traces.jsonl")
    assert "traces.jsonl:1: query 'q1': returned_ids hold 'z', which the catalog" in refused(folder, store())


def test_what_changed_since_is_told_and_decides_nothing(record, store):
    goldset = store()
    digests = f'[digests]\njudgments = "{goldset.digests.judgments[:12]}"\ncatalog = "{"0" * 12}"\n'
    recording = load_recording(record(ONE, manifest=MANIFEST + digests), goldset)
    assert recording.notes == ("recording rec: the catalog changed since; the model read the old one",)
    assert load_recording("rec").notes == ()
    digests = digests.replace(goldset.digests.judgments[:12], "1" * 12)
    notes = load_recording(record(ONE, manifest=MANIFEST + digests), store(documents=None)).notes
    assert notes == ("recording rec: the judgments or query texts changed since; today's decide",)


# Labels.

LABEL = {"query_id": "q1", "context": "bm25", "label": "faithful", "value": True}
JUDGE = '[judges.nli]\nmodel = "nli"\nprompt = "Does it?"\n'
CALIBRATED = JUDGE + f'[judges.nli.calibration]\njudge = "{judge_digest("nli", "Does it?")}"\n'


def test_labels(record):
    labels = [LABEL, {**LABEL, "reply": 1, "value": 0.25}, {**LABEL, "label": "tone", "value": 3}]
    recording = load_recording(record(ONE, ONE, labels=labels))
    assert recording.labels == {
        "faithful": {("q1", "bm25", 0): 1.0, ("q1", "bm25", 1): 0.25},
        "tone": {("q1", "bm25", 0): 3.0},
    }
    assert recording.uncalibrated == frozenset()


def test_a_judge_counts_with_its_calibration(record):
    labels = [{**LABEL, "judge": "nli"}]
    recording = load_recording(record(ONE, manifest=MANIFEST + CALIBRATED, labels=labels))
    assert (recording.uncalibrated, recording.notes) == (frozenset(), ())
    changed = CALIBRATED.replace("Does it?", "Does it say so?", 1)
    for judges in (JUDGE, changed):
        recording = load_recording(record(ONE, manifest=MANIFEST + judges, labels=labels))
        assert recording.uncalibrated == {"faithful"}
        assert recording.notes == (
            "recording rec: label faithful is uncalibrated: mean 1.000 over 1 labels; calibrate its judge"
            " (model and prompt as they are) to gate it",
        )


@pytest.mark.parametrize(
    "label, told",
    [
        ({"query_id": "q1"}, "has no 'label', 'value'; a label needs query_id, label, value"),
        ({**LABEL, "note": "x"}, "unknown key 'note'; a label has query_id"),
        ({**LABEL, "value": "yes"}, "value is 'yes'; a number, true or false is needed"),
        ({**LABEL, "value": float("inf")}, "holds Infinity, which is no JSON"),
        ({**LABEL, "value": float("nan")}, "holds NaN, which is no JSON"),
        (
            '{"query_id": "q1", "context": "bm25", "label": "faithful", "value": 1e999}',
            "value is inf; a number",
        ),
        ('{"query_id": "q1", "label": "faithful", "value": 1, "value": 0}', "names a key twice: 'value'"),
        ({**LABEL, "label": ""}, "label is ''; a name is needed"),
        ({**LABEL, "reply": True}, "reply is True; the number of the reply, from 0, is needed"),
        ({**LABEL, "reply": 1}, "there is no reply 1 to 'q1' under 'bm25'"),
        ({**LABEL, "reply": -1}, "there is no reply -1 to 'q1' under 'bm25'"),
        ({**LABEL, "query_id": "q2"}, "there is no reply 0 to 'q2' under 'bm25'"),
        ({**LABEL, "context": "dense"}, "there is no reply 0 to 'q1' under 'dense'"),
        ({**LABEL, "judge": "llm"}, "judge 'llm' is not declared in manifest.toml; it declares none"),
        ({**LABEL, "query_id": ["q1"]}, "query_id is ['q1']; a string is needed"),
        ({**LABEL, "context": {}}, "context is {}; a string is needed"),
        ({**LABEL, "context": None}, "context is None; a string is needed"),
        ({**LABEL, "judge": ["nli"]}, "judge is ['nli']; a string is needed"),
        (LABEL, "label 'faithful' of ('q1', 'bm25', 0) is given twice"),
        ("7", "is no JSON object; a label is an object with query_id"),
    ],
)
def test_labels_that_are_none(record, label, told):
    assert f"rec/labels.jsonl:2: {told}" in refused(record(ONE, labels=[LABEL, label]))


def test_a_label_too_large_for_a_float(record):
    assert "rec/labels.jsonl:1: value is 1000" in refused(record(ONE, labels=[{**LABEL, "value": 10**400}]))


@pytest.mark.parametrize(
    "manifest, told",
    [
        # A subject that is misspelt would leave the contexts unchecked, and the recording green for ever.
        ('[contexts.bm25]\nsubjct = "x"\n', "[contexts.bm25]: unknown key 'subjct'; allowed are subject, k"),
        (
            '[digests]\njudgement = "ab"\n',
            "[digests]: unknown key 'judgement'; allowed are judgments, catalog",
        ),
        ("[digests]\ncatalog = 5\n", "[digests]: catalog is 5; a string is needed"),
    ],
)
def test_what_a_manifest_may_not_say(record, manifest, told):
    assert f"rec/manifest.toml: {told}" in refused(record(ONE, manifest=MANIFEST + manifest))
