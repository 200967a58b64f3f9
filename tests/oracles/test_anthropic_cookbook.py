"""Precision, recall and MRR that the cookbook's authors logged for each question under three systems.

They divide precision by the number of documents returned, we by k = 3: the same but for seven short lists.
"""

import gzip
import json

import pytest

from pytest_retrieval.measures.table import evaluate
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Run

COLLECTION = "anthropic_cookbook_rag"
K = 3


def logged_scores(node):
    """Return every named score in a tree of assertions."""
    found = {}
    if isinstance(node, dict):
        found.update(node.get("named_scores") or {})
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            found.update(logged_scores(child))
    return found


@pytest.fixture(scope="module")
def log(data):
    with gzip.open(data / "retrieval_results.json.gz", "rt") as lines:
        rows = json.load(lines)["results"]["results"]
    return [row for row in rows if "response" in row]  # one call failed


def test_log_is_the_one_described(log):
    assert len(log) == 299
    assert sum(len(row["response"]["output"]) < K for row in log) == 7
    assert max(len(row["response"]["output"]) for row in log) == K


@pytest.mark.parametrize("system, questions", [("base", 99), ("level_two", 100), ("level_three", 100)])
def test_every_question(log, system, questions):
    rows = {row["vars"]["query"]: row for row in log if row["provider"]["id"].endswith(f"retrieve_{system}")}
    assert len(rows) == questions
    gold = Qrels({query: json.loads(row["vars"]["correct_chunks"]) for query, row in rows.items()})
    run = Run({query: row["response"]["output"] for query, row in rows.items()})
    table = evaluate(gold, run, [f"precision@{K}", f"recall@{K}", f"mrr@{K}"])
    for query, precision, recall, mrr in table.to_frame().itertuples():
        theirs = logged_scores(rows[query]["gradingResult"])
        assert precision * K / len(run[query]) == pytest.approx(theirs["Precision"], abs=1e-12), query
        assert recall == pytest.approx(theirs["Recall"], abs=1e-12), query
        assert mrr == pytest.approx(theirs["MRR"], abs=1e-12), query
        if len(run[query]) == K:
            assert precision == pytest.approx(theirs["Precision"], abs=1e-12), query
