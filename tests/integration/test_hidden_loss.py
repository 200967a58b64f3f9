"""The loss an average hides: one kind of query falls, the mean rises, and the build turns red.

A retriever drops every word with a digit in it and stems the rest. Stemming helps most queries; those that
ask for an exact identifier have nothing left to go by.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from pytest_retrieval.files.sheets import shape_of

from .conftest import of_bm25

pytest.importorskip("Stemmer", reason="needs PyStemmer: pip install 'pytest-retrieval[test]'")

FURNITURE = Path(__file__).parents[2] / "goldsets" / "furniture"
DATA = Path(os.environ.get("PYTEST_RETRIEVAL_DATA") or Path(__file__).parents[3] / "shared" / "data")
CHORUS = DATA / "chorus_icecat"

WHOLE = """
import pytest
from pytest_retrieval import BM25

@pytest.fixture(scope="session")
def retrievers(catalog):
    return {"bm25": BM25(catalog)}
"""

WITHOUT_DIGITS = """
import pytest
import Stemmer
from pytest_retrieval import BM25

@pytest.fixture(scope="session")
def retrievers(catalog):
    stem = Stemmer.Stemmer("english").stemWord
    return {"bm25": BM25(catalog, stemmer=stem, token_pattern=r"(?u)\\b[^\\W\\d]+\\b")}
"""


def failed(result):
    return {
        line.partition("[")[2].partition("]")[0] for line in result.stdout.lines if line.startswith("FAILED")
    }


def row(result, stratum):
    """Return the figures (n, was, now) of one line of the summary's table."""
    line = next(line for line in result.stdout.lines if re.match(rf"\(?{stratum}\)?\s+\d", line))
    n, was, now = re.search(r"(\d+)\s+(\d\.\d+) → (\d\.\d+)", line).groups()
    return int(n), float(was), float(now)


def test_furniture(project):
    shutil.rmtree(project.goldset)
    folder = project.path / "goldsets" / "furniture"
    folder.mkdir(parents=True)
    for name in ("catalog.jsonl", "queries.jsonl", "qrels.trec"):
        shutil.copy(FURNITURE / name, folder)
    toml = of_bm25((FURNITURE / "goldset.toml").read_text(encoding="utf-8"))
    assert '["recall@5", "mrr@10"]' in toml
    project.write("goldsets/furniture/goldset.toml", toml.replace('["recall@5", "mrr@10"]', '["recall@5"]'))
    project.write("conftest.py", WHOLE)
    assert project.pin().ret == 0
    project.write("conftest.py", WITHOUT_DIGITS)
    result = project.run("-rf")
    assert result.ret == 1
    assert failed(result) == {"furniture-bm25-recall_5-exact_identifier", "furniture"}
    result.stdout.fnmatch_lines(
        ["furniture: * must-queries of bm25 fell on recall@5:", "  exact-identifier-* “*”  1.000 → 0.000"]
    )
    _, was, now = row(result, "all")
    assert now > was
    n, was, now = row(result, "exact_identifier")
    assert now < was - 0.3
    result.stdout.fnmatch_lines(
        [
            "furniture: bm25 · recall@5 · exact_identifier is regressed",
            f"  {was:.3f} → {now:.3f}  (−* over {n} queries: *",
            "  all * queries: * (the average hides this loss)",
            "lost, worst first:",
            "  exact-identifier-* “*”  1.000 → 0.000",
            "      F* (exact)  rank * → *",
        ]
    )


@pytest.fixture
def chorus(project):
    """The collection as a gold set: 19,406 products with four fields, 135 queries, 3,668 judgments."""
    if not CHORUS.is_dir():
        pytest.skip(f"no chorus_icecat under {DATA}; set PYTEST_RETRIEVAL_DATA to the data's folder")
    judged: dict[str, dict[str, int]] = {}
    with (CHORUS / "Broad_Query_Set_rated.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            judged.setdefault(line["query"], {})[line["docid"]] = int(line["rating"])
    project.write_goldset(
        toml='name = "chorus"\nrelevance_level = 1\nno_relevant = "undefined"\nunjudged = "unknown"\n'
        'gate_also = ["all"]\n[subjects.bm25]\nmeasures = ["recall@5"]\n',
        queries={f"q{n:03d}": (text, shape_of(text)) for n, text in enumerate(judged)},
        gold={f"q{n:03d}": grades for n, grades in enumerate(judged.values())},
    )
    fields = ("name", "title", "supplier", "short_description")
    with gzip.open(CHORUS / "catalog.jsonl.gz", "rt", encoding="utf-8") as file:
        products = [json.loads(line) for line in file]
    rows = [{"doc_id": p["id"], **{field: p.get(field) for field in fields}} for p in products]
    project.write("goldsets/store/catalog.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert (len(rows), len(judged), sum(map(len, judged.values()))) == (19_406, 135, 3_668)
    project.write("conftest.py", WHOLE)
    return project


def test_chorus(chorus):
    """The figures are those of a trial by others; BM25's defaults reproduce them.

    That is bm25s with method lucene, k1 1.5, b 0.75, lower case, words ``\\b\\w+\\b``, no stop words.
    """
    assert chorus.pin().ret == 0
    chorus.write("conftest.py", WITHOUT_DIGITS)
    result = chorus.run("-rf")
    assert result.ret == 1
    assert failed(result) == {"chorus-bm25-recall_5-digits"}
    assert row(result, "all") == (116, pytest.approx(0.369, abs=0.001), pytest.approx(0.373, abs=0.001))
    assert row(result, "digits") == (7, pytest.approx(0.644, abs=0.001), pytest.approx(0.085, abs=0.001))
    result.stdout.fnmatch_lines(
        [
            "chorus: bm25 · recall@5 · digits is regressed",
            "  0.644 → 0.085  (−0.559; tolerance 0) over 7 queries: 6 lost, 0 gained, 1 unchanged",
            "  all 116 queries: 0.369 → 0.373 (the average hides this loss)",
            "lost, worst first:",
            "  q* “*”  1.000 → 0.000",
            "      * (grade [123])  rank [1-5] → *",
        ]
    )
