"""The README of each gold set and the page of results say what is pinned, and what BM25 finds."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from pytest_retrieval import BM25, evaluate, load_goldset, retrieve

ROOT = Path(__file__).parent.parent
GOLDSETS = ROOT / "goldsets"
NAMES = ("furniture", "helpdesk")
ALL = "all answerable"


def tables(text):
    """Return every Markdown table of a text as a list of rows, each a mapping from the heads to the cells."""
    found = []
    for block in re.findall(r"(?:^\|.*\|\n)+", text, re.M):
        head, _, *rows = (
            [cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()
        )
        found.append([dict(zip(head, row, strict=True)) for row in rows])
    return found


def table(name, *heads):
    """Return the one table of a gold set's README that has these heads."""
    page = (GOLDSETS / name / "README.md").read_text(encoding="utf-8")
    (found,) = (rows for rows in tables(page) if set(heads) <= set(rows[0]))
    return found


def number(cell):
    """Return what a cell shows, without the marks of bold text."""
    return cell.strip("*")


def shown(value):
    return f"{value:.3f}"


@cache
def pins(name):
    return tomllib.loads((GOLDSETS / name / "pins.toml").read_text(encoding="utf-8"))


@cache
def queries(name):
    lines = (GOLDSETS / name / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@cache
def relevant(name):
    """Return query_id → how many documents of grade 2 it has, read without the package."""
    found = {}
    for line in (GOLDSETS / name / "qrels.trec").read_text(encoding="utf-8").splitlines():
        query_id, _, _, grade = line.split()
        found[query_id] = found.get(query_id, 0) + (int(grade) >= 2)
    return found


def asked(name, stratum, split):
    """Return ids of the questions of a stratum, or of all that have an answer, in a split."""
    return [
        query["query_id"]
        for query in queries(name)
        if query["split"] == split
        and (query["stratum"] == stratum or (stratum == ALL and relevant(name).get(query["query_id"])))
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_strata_and_their_sizes(name):
    rows = table(name, "stratum", "train", "test")
    assert {row["stratum"] for row in rows} == {query["stratum"] for query in queries(name)} | {ALL}
    for row in rows:
        sizes = [str(len(asked(name, row["stratum"], split))) for split in ("train", "test")]
        assert [row["train"], row["test"]] == sizes, row["stratum"]


@pytest.mark.parametrize(
    "name, recall, mrr",
    [("furniture", "recall@5", "MRR@10"), ("helpdesk", "recall@5, train", "MRR@10, train")],
)
def test_the_figures_of_bm25_are_those_pinned(name, recall, mrr):
    pinned, checked = pins(name)["bm25"], 0
    for row in table(name, "stratum", recall, mrr):
        cells = pinned.get("all" if row["stratum"] == ALL else row["stratum"])
        expected = (
            ["n/a", "n/a"] if cells is None else [shown(cells[m]["value"]) for m in ("recall@5", "mrr@10")]
        )
        assert [row[recall], row[mrr]] == expected, row["stratum"]
        checked += cells is not None
    assert checked == 6


def test_what_is_attainable():
    for row in table("furniture", "stratum", "attainable"):
        counts = [relevant("furniture").get(q, 0) for q in asked("furniture", row["stratum"], "train")]
        best = [min(5, count) / count for count in counts if count]
        assert row["attainable"] == (shown(sum(best) / len(best)) if best else "n/a"), row["stratum"]


def test_what_bm25_finds_of_the_test_split_and_of_the_slices():
    goldset = load_goldset(GOLDSETS / "helpdesk")
    texts = {query_id: goldset.text_of(query_id) for query_id in goldset.qrels.query_ids}
    scores = evaluate(goldset.qrels, retrieve(BM25(goldset.catalog), texts, 5), ["recall@5"])["recall@5"]
    for row in table("helpdesk", "stratum", "recall@5, test"):
        mean = scores[asked("helpdesk", row["stratum"], "test")].mean()
        assert row["recall@5, test"] == ("n/a" if mean != mean else shown(mean)), row["stratum"]
    for row in table("helpdesk", "slice"):
        members = {
            split: [
                q["query_id"]
                for q in queries("helpdesk")
                if row["slice"] in q["slices"] and q["split"] == split
            ]
            for split in ("train", "test")
        }
        assert [row["train"], row["test"]] == [str(len(ids)) for ids in members.values()]
        assert row["recall@5, train"] == shown(scores[members["train"]].mean()), row["slice"]


@pytest.mark.parametrize("name", NAMES)
def test_the_table_of_subjects_shows_what_is_pinned(name):
    rows = table(name, "bm25", "semantic", "hybrid")
    assert len(rows) == 6
    for row in rows:
        stratum = "all" if row["stratum"] == ALL else row["stratum"]
        for subject in ("bm25", "semantic", "hybrid"):
            pinned = pins(name)[subject][stratum]["recall@5"]["value"]
            assert number(row[subject]) == shown(pinned), (subject, stratum)


def test_stems_without_digits():
    stemmer = pytest.importorskip("Stemmer").Stemmer("english")
    goldset = load_goldset(GOLDSETS / "furniture")
    search = BM25(goldset.catalog, stemmer=stemmer.stemWord, token_pattern=r"(?u)\b(?!\w*\d)\w+\b")
    texts = {query_id: goldset.text_of(query_id) for query_id in goldset.gated_queries}
    scores = evaluate(goldset.qrels.select(texts), retrieve(search, texts, 5), ["recall@5"])["recall@5"]
    for row in table("furniture", "BM25", "stems, drops digits"):
        stratum = row["stratum"]
        pinned = pins("furniture")["bm25"]["all" if stratum == ALL else stratum]["recall@5"]["value"]
        found = scores[asked("furniture", stratum, "train")].mean()
        assert [number(row["BM25"]), number(row["stems, drops digits"])] == [shown(pinned), shown(found)]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_results_shows_what_is_pinned(name):
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    (rows,) = tables(page.partition(f"### {name}\n")[2].partition("\n#")[0])
    checked = 0
    for row in rows:
        cells = pins(name).get(row["system"].lower(), {}).get(row["stratum"])
        if cells is not None:
            expected = [shown(cells[measure]["value"]) for measure in ("recall@5", "mrr@10")]
            assert [row["recall@5"], row["mrr@10"]] == expected, (row["stratum"], row["system"])
            checked += 1
    assert checked == 18
