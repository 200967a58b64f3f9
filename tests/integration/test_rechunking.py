"""Gold spans outlive a new chunking: the same pins hold, or the text says what a boundary destroyed."""

from __future__ import annotations

import csv
import gzip
import json
import os
from itertools import pairwise
from pathlib import Path

import pytest

from pytest_retrieval import Run, load_goldset
from pytest_retrieval.files.pins import load_pins
from pytest_retrieval.gate.branch import branch_changes
from pytest_retrieval.gate.cells import measures_of

from .test_against import commit, git

CONFTEST = """
import pytest

from pytest_retrieval import BM25


@pytest.fixture(scope="session")
def retrievers(catalog):
    return {"bm25": BM25(catalog, "text")}
"""
TOML = """
name = "spans"
depth = 30

[subjects.bm25]
measures = [MEASURES]
"""
DATA = Path(os.environ.get("PYTEST_RETRIEVAL_DATA", "/nowhere")) / "chunking_evaluation"
CORPUS = "state_of_the_union"


def chunked(text, size, overlap=0):
    """Return (start, end) of chunks that end at a space where there is one."""
    start = 0
    while start < len(text):
        end = min(len(text), start + size)
        if end < len(text):
            end = text.rfind(" ", start + size // 2, end) + 1 or end
        yield start, end
        if end == len(text):
            return
        start = max(start + 1, end - overlap)


@pytest.fixture
def book(project):
    """A function that chunks a short document whose four sentences are the gold of four questions."""
    sentences = [
        "The kea is an alpine parrot of the South Island. ",
        "A kiwi lays eggs of remarkable size underground. ",
        "Tui mimic the voices of people and other birds. ",
        "The takahe was thought extinct until rediscovery. ",
    ]
    text = "".join(sentences)
    folder = project.goldset
    for path in folder.iterdir():
        path.unlink()
    asked = {
        "q1": "alpine parrot",
        "q2": "eggs underground",
        "q3": "voices mimic",
        "q4": "extinct rediscovery",
    }
    offsets = [sum(map(len, sentences[:n])) for n in range(5)]
    folder.joinpath("queries.jsonl").write_text(
        "".join(json.dumps({"query_id": q, "query": query}) + "\n" for q, query in asked.items())
    )
    folder.joinpath("spans.jsonl").write_text(
        "".join(
            json.dumps({"query_id": q, "document": "birds", "start": start, "end": end, "grade": 1}) + "\n"
            for q, start, end in zip(asked, offsets, offsets[1:], strict=False)
        )
    )
    project.write("conftest.py", CONFTEST)

    def write(places, prefix="c", measures='"span_recall@1"'):
        folder.joinpath("goldset.toml").write_text(TOML.replace("MEASURES", measures))
        folder.joinpath("catalog.jsonl").write_text(
            "".join(
                json.dumps(
                    {
                        "doc_id": f"{prefix}{n}",
                        "document": "birds",
                        "start": start,
                        "end": end,
                        "text": text[start:end],
                    }
                )
                + "\n"
                for n, (start, end) in enumerate(places)
            )
        )

    project.chunk, project.offsets = write, offsets
    return project


def test_the_same_pins_hold_across_chunkings(book):
    o = book.offsets
    book.chunk(list(pairwise(o)))
    book.pin().assert_outcomes(passed=2)
    line = json.loads((book.goldset / "pins" / "bm25.jsonl").read_text().splitlines()[0])
    assert line["places"][0] == ["birds", 0, o[1]]
    assert line["grades"] == {}
    # Two sentences a chunk, under other names: every span still lies in the first chunk found.
    book.chunk([(0, o[2]), (o[2], o[4])], prefix="wide")
    result = book.run()
    result.assert_outcomes(passed=2)
    assert "judgments" not in result.stdout.str()
    book.run("-n2").assert_outcomes(passed=2)


@pytest.mark.parametrize("measures", ['"span_recall@1"', '"recall@1"'])
def test_gold_spans_that_were_changed_are_told(book, measures):
    """The span of q1 also takes in the second sentence: its chunk covers 49 of 98 characters, one of two."""
    o = book.offsets
    book.chunk(list(pairwise(o)), measures=measures)
    book.pin().assert_outcomes(passed=2)
    book.run().stdout.no_fnmatch_line("*ruler changed*")
    spans = book.goldset / "spans.jsonl"
    first = f'"end": {o[1]}'
    spans.write_text(spans.read_text().replace(first, f'"end": {o[2]}', 1))
    assert 2 * o[1] == o[2]
    result = book.run()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "note: ruler changed: gold spans, their grades or the level, and with them what the pinned"
            " rankings score for 1 query: q1 1.000 → 0.500"
        ]
    )


def test_a_gold_span_of_a_document_that_is_not_there_is_stale(book):
    """A misspelt document would otherwise score 0 on both sides for ever."""
    book.chunk(list(pairwise(book.offsets)))
    spans = book.goldset / "spans.jsonl"
    spans.write_text(spans.read_text().replace('"birds"', '"brids"', 1))
    result = book.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "  goldsets/store/spans.jsonl:1: document 'brids', of a gold span of query 'q1', has no chunk in"
            " the catalog: the gold set is stale. Remove the span or bring the document back"
        ]
    )


def test_what_a_new_boundary_destroyed_is_told(book):
    o = book.offsets
    book.chunk(list(pairwise(o)))
    book.pin().assert_outcomes(passed=2)
    cut = o[1] + 20
    book.chunk([(0, o[1]), (o[1], cut), (cut, o[2]), (o[2], o[3]), (o[3], o[4])])
    result = book.run()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "note: input changed: * of the pinned rankings cut otherwise today; both sides are compared by*",
            f"note: q2: birds {o[1]}–{o[2]}: {o[2] - o[1]} → * of {o[2] - o[1]} characters covered;"
            f" cut at {cut} (c1 | c2)",
            f"note: spans: 1 of 4 gold spans in no chunk as a whole: q2 birds {o[1]}–{o[2]}; cut at {cut}",
        ]
    )


def test_measures_of_ids_say_that_they_cannot_be_held_across_chunkings(book):
    o = book.offsets
    book.chunk(list(pairwise(o)), measures='"recall@1"')
    book.pin().assert_outcomes(passed=2)
    book.run().assert_outcomes(passed=2)
    book.chunk([(0, o[2]), (o[2], o[4])], measures='"recall@1"')
    result = book.run()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*cut otherwise today, and recall@1 goes by the ids of chunks*", "to pin it anew:  pytest *=all *"]
    )
    book.pin().assert_outcomes(passed=1, failed=1)
    book.pin("all", "--retrieval-reason", "chunked anew").assert_outcomes(passed=2)
    book.run().assert_outcomes(passed=2)


def test_ranks_are_those_of_places_not_of_names(book):
    """Chunk c1 of today is another than the pinned c1, which stood at rank 1 for another question."""
    o = book.offsets
    book.chunk(list(pairwise(o)))
    book.pin().assert_outcomes(passed=2)
    cut = o[1] + 20
    book.chunk([(0, o[1]), (o[1], cut), (cut, o[2]), (o[2], o[3]), (o[3], o[4])])
    text = book.run().stdout.str()
    assert "c1 (grade 1)  rank 1" not in text
    assert "c2 (grade 1)  not among the " in text


def test_a_branch_that_chunks_anew_changed_no_judgment(book):
    o = book.offsets
    book.chunk(list(pairwise(o)))
    book.pin().assert_outcomes(passed=2)
    pins, then = load_pins(book.goldset), load_goldset(book.goldset)
    book.chunk([(0, o[2]), (o[2], o[4])], prefix="wide")
    now = load_goldset(book.goldset)
    run = Run({"q1": ["wide0"], "q2": ["wide0"], "q3": ["wide1"], "q4": ["wide1"]}, "bm25")
    (measure,) = measures_of(now)["bm25"]
    assert branch_changes(then, now, "bm25", measure, run, pins, pins) == []
    spans = book.goldset / "spans.jsonl"
    spans.write_text(spans.read_text().replace(f'"end": {o[1]}', f'"end": {o[1] + 200}', 1))
    (change,) = branch_changes(then, load_goldset(book.goldset), "bm25", measure, run, pins, pins)
    assert change.what == f"query q1: judgments of birds 0–{o[1] + 200}, birds 0–{o[1]} changed"


def test_a_branch_that_chunks_anew_may_bring_its_own_pins_of_measures_of_ids(book):
    """The base's pins can never judge them again; a reviewer lets the branch's own do so, and only those."""
    o = book.offsets
    book.write(".gitignore", "__pycache__/\n.pytest_cache/\n")
    book.chunk(list(pairwise(o)), measures='"recall@1"')
    book.pin().assert_outcomes(passed=2)
    git(book, "init", "-q", "-b", "main")
    commit(book, "base")
    git(book, "switch", "-q", "-c", "feature")
    book.chunk([(0, o[2]), (o[2], o[4])], measures='"recall@1"')
    accept = ("--retrieval-against=main", "--retrieval-accept-lowered")
    result = book.run(*accept)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["to have this branch's pins judge it:  pytest *=all *"])
    book.pin("all", "--retrieval-reason", "chunked anew").assert_outcomes(passed=2)
    book.run("--retrieval-against=main").assert_outcomes(passed=1, failed=1)
    result = book.run(*accept)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["note: bm25 · recall@1 · all can be judged by the pins of this branch alone, and they*"]
    )
    book.write("conftest.py", CONFTEST.replace('BM25(catalog, "text")', "lambda query, k: ['c1', 'c0']"))
    book.run(*accept).assert_outcomes(passed=1, failed=1)  # its own pins hold it


def test_a_changed_span_is_a_changed_judgment(book):
    o = book.offsets
    book.chunk(list(pairwise(o)))
    book.pin().assert_outcomes(passed=2)
    spans = book.goldset / "spans.jsonl"
    spans.write_text(spans.read_text().replace(f'"end": {o[1]}', f'"end": {o[1] + 49}'))
    book.run().assert_outcomes(passed=2)  # both sides cover the same half of it


@pytest.mark.parametrize(
    "line, told",
    [
        ('{"query_id": "q1", "document": "birds", "start": 9, "end": 9}', "start is 9 and end is 9"),
        ('{"query_id": "q1", "document": "birds", "start": "x", "end": 9}', "start is 'x'"),
        ('{"query_id": "q1", "start": 0, "end": 9}', "document is None"),
        ('{"query_id": "zz", "document": "birds", "start": 0, "end": 9}', "query 'zz' is judged"),
        ('{"query_id": "q1", "document": "birds", "start": 0, "end": 9, "grade": 0.5}', "grade 0.5"),
    ],
)
def test_spans_that_cannot_be_read(book, line, told):
    o = book.offsets
    book.chunk(list(pairwise(o)))
    with (book.goldset / "spans.jsonl").open("a") as file:
        file.write(line + "\n")
    result = book.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*spans.jsonl:5: *{told}*"])


def test_chunks_without_a_place(book):
    o = book.offsets
    book.chunk(list(pairwise(o)))
    catalog = book.goldset / "catalog.jsonl"
    catalog.write_text(catalog.read_text().replace('"start": 0, ', "", 1))
    book.run().stdout.fnmatch_lines(["*catalog.jsonl: chunk 'c0': start is None*"])


def test_a_question_without_a_span(book):
    o = book.offsets
    book.chunk(list(pairwise(o)))
    spans = book.goldset / "spans.jsonl"
    spans.write_text("".join(spans.read_text().splitlines(keepends=True)[1:]))
    book.run().stdout.fnmatch_lines(["*query 'q1' has no gold span of grade 1 or above*"])


@pytest.mark.skipif(not DATA.exists(), reason="needs chunking_evaluation")
def test_a_real_collection_of_spans(project):
    """Pinned with chunks of 400 characters; chunks of 800 hold it, chunks of 100 do not, and say why."""
    text = gzip.decompress((DATA / "corpora" / f"{CORPUS}.md.gz").read_bytes()).decode()
    with (DATA / "questions_df.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["corpus_id"] == CORPUS]
    gold = {f"q{n:03}": json.loads(row["references"]) for n, row in enumerate(rows)}
    folder = project.goldset
    for path in folder.iterdir():
        path.unlink()
    project.write("conftest.py", CONFTEST)
    folder.joinpath("goldset.toml").write_text(TOML.replace("MEASURES", '"span_recall@5"'))
    folder.joinpath("queries.jsonl").write_text(
        "".join(
            json.dumps({"query_id": q, "query": row["question"]}) + "\n"
            for q, row in zip(gold, rows, strict=True)
        )
    )
    folder.joinpath("spans.jsonl").write_text(
        "".join(
            json.dumps(
                {"query_id": q, "document": CORPUS, "start": one["start_index"], "end": one["end_index"]}
            )
            + "\n"
            for q, references in gold.items()
            for one in references
        )
    )

    def chunk(size):
        folder.joinpath("catalog.jsonl").write_text(
            "".join(
                json.dumps(
                    {"doc_id": f"{size}-{n}", "document": CORPUS, "start": a, "end": b, "text": text[a:b]}
                )
                + "\n"
                for n, (a, b) in enumerate(chunked(text, size))
            )
        )

    chunk(400)
    project.pin().assert_outcomes(passed=2)
    chunk(800)
    project.run().assert_outcomes(passed=2)
    chunk(100)
    result = project.run()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.re_match_lines(
        [rf"note: q\d+: {CORPUS} \d+–\d+: \d+ → \d+ of \d+ characters covered; cut at .*"]
    )
