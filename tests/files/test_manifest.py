"""manifest.toml: every key, and every fault told with its line."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from pytest_retrieval import FileError
from pytest_retrieval.files.manifest import contexts_of, read_manifest
from pytest_retrieval.model.records import Context

FULL = """\
kind = "answers"
goldset = "store"
model = "SmolLM2"
digest = "sha256:00"
licence = "Apache-2.0"
provenance = "made here"
recorded = 2026-11-30
results_shown = 5
max_searches = 2
allowed_citations = 3
[prompts]
instructions = "Recommend."
[options]
temperature = 0
[schemas.answer]
type = "object"
[digests]
judgments = "00"
[tools]
llama = "1"
[contexts.bm25]
subject = "bm25"
k = 4
[contexts.random]
[judges.nli]
model = "nli"
[extra]
mood = "good"
"""
NEEDED = 'kind = "answers"\ngoldset = "store"\n'


def message(write, text):
    write("rec/manifest.toml", text)
    with pytest.raises(FileError) as error:
        read_manifest(Path("rec"))
    return str(error.value)


def test_every_key_is_returned_as_it_stands(write):
    write("rec/manifest.toml", FULL)
    manifest = read_manifest(Path("rec"))
    assert len(manifest) == 18
    assert manifest["recorded"] == datetime.date(2026, 11, 30)
    assert manifest["schemas"] == {"answer": {"type": "object"}}
    assert contexts_of(manifest) == {"bm25": Context("bm25", 4), "random": Context(None, None)}


def test_two_keys_suffice_and_a_byte_order_mark_is_no_fault(write):
    write("rec/manifest.toml", b"\xef\xbb\xbf" + NEEDED.encode())
    assert read_manifest(Path("rec")) == {"kind": "answers", "goldset": "store"}
    assert contexts_of({}) == {}


@pytest.mark.parametrize(
    "text, told",
    [
        ("kind = ", "rec/manifest.toml: is no TOML"),
        (b"kind = '\xff'", "is no TOML"),
        ("", "the key 'kind' is missing; one of answers, agent, run is needed"),
        ('kind = "run"', "the key 'goldset' is missing; the name of a gold set is needed"),
        ('kind = "chat"\ngoldset = "s"', "manifest.toml:1: kind is 'chat'; one of answers, agent, run is"),
        ('kind = "run"\ngoldset = ""', "manifest.toml:2: goldset is ''; the name of a gold set is needed"),
        (NEEDED + "modell = 'x'", "manifest.toml:3: unknown key 'modell'; allowed are kind, goldset, model"),
        (NEEDED + "[promts]", "manifest.toml:3: unknown key 'promts'"),
        (NEEDED + "results_shown = 0", "manifest.toml:3: results_shown is 0; a whole number of at least 1"),
        (NEEDED + "results_shown = true", "results_shown is True; a whole number of at least 1"),
        (NEEDED + "max_searches = 1.5", "max_searches is 1.5; a whole number"),
        (NEEDED + "model = 7", "model is 7; a string is needed"),
        (NEEDED + "recorded = 7", "recorded is 7; a date or a string is needed"),
        (NEEDED + "options = 'hot'", "options is 'hot'; a table is needed"),
        (NEEDED + "[judges]\nnli = 'nli'", "judges is {'nli': 'nli'}; a table name → {model, prompt, cal"),
        (NEEDED + "[contexts]\nbm25 = 'bm25'", "[contexts.bm25] is 'bm25'; a table is needed"),
        (NEEDED + "[contexts.a]\nsubject = 1\nk = 2", "[contexts.a]: subject is 1; a retriever's name"),
        (NEEDED + "[contexts.a]\nk = 0", "[contexts.a]: k is 0; a whole number of at least 1"),
        (NEEDED + "[contexts.a]\nsubject = 'b'", "names the subject 'b' and no k; say how many documents"),
    ],
)
def test_faults(write, text, told):
    assert told in message(write, text)


def test_every_fault_is_told_at_once(write):
    told = message(write, "kind = 1\nmodel = 2\nstranger = 3\n")
    for part in ("kind is 1", "model is 2", "unknown key 'stranger'", "'goldset' is missing"):
        assert part in told


def test_results_shown_stands_in_for_k(write):
    write("rec/manifest.toml", "results_shown = 5\n" + NEEDED + "[contexts.a]\nsubject = 'bm25'\n")
    assert contexts_of(read_manifest(Path("rec"))) == {"a": Context("bm25", None)}


def test_a_folder_without_a_manifest(write):
    write("rec/answers.jsonl", "{}")
    with pytest.raises(FileError, match=r"rec/manifest.toml: no such file; a recording is a folder with a"):
        read_manifest(Path("rec"))


def test_a_manifest_that_is_a_folder(write):
    write("rec/manifest.toml/x", "")
    with pytest.raises(FileError, match="cannot be read"):
        read_manifest(Path("rec"))
