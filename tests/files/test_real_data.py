"""Collections made by others, read as they are."""

from __future__ import annotations

import gzip
import json

import pytest

from pytest_retrieval.errors import RetrievalWarning
from pytest_retrieval.files.goldset import load_goldset
from pytest_retrieval.files.trec import load_qrels, load_run, save_run
from pytest_retrieval.measures.table import evaluate


@pytest.mark.parametrize(
    "name, queries, judgments",
    [
        ("qrels.test.gz", 3, 3681),
        ("qrels.rel_level.gz", 3, 3681),
        ("qrels-302.test", 1, 1061),
    ],
)
def test_trec_eval_qrels(real_data, name, queries, judgments):
    qrels = load_qrels(real_data / "trec_eval_tests" / name)
    assert (len(qrels), len(qrels.doc_ids)) == (queries, judgments)


def test_trec_eval_qrels_whose_ids_hold_the_sign_of_comments(real_data):
    with pytest.warns(RetrievalWarning, match="1 of 31 queries have no relevant document .*: 2024-36302$"):
        qrels = load_qrels(real_data / "trec_eval_tests" / "qrels.comment.test.gz")
    assert (len(qrels), len(qrels.doc_ids)) == (31, 5890)


@pytest.mark.parametrize(
    "name, queries, documents",
    [("results.test.gz", 3, 1500), ("results-302.test", 1, 500), ("results.trunc", 2, 584)],
)
def test_trec_eval_results(real_data, name, queries, documents):
    run = load_run(real_data / "trec_eval_tests" / name)
    assert (len(run), len(run.doc_ids)) == (queries, documents)


@pytest.mark.parametrize("edition, queries, judgments", [("dl19", 43, 9260), ("dl20", 54, 11386)])
def test_trec_deep_learning(real_data, edition, queries, judgments):
    folder = real_data / "trec_dl" / edition
    qrels = load_qrels(folder / "qrels.txt")
    assert (len(qrels), len(qrels.doc_ids)) == (queries, judgments)
    runs = {path.name: load_run(path) for path in (folder / "runs").iterdir()}
    assert len(runs) == 6
    for name, run in runs.items():
        assert name == f"{run.name}.run.gz"
        assert (len(run), len(run.doc_ids)) == (queries, queries * 100)
    # nDCG@10 of BM25 as its authors published it
    assert evaluate(qrels, runs["BM25.run.gz"], ["ndcg@10"]).mean()["ndcg@10"] == pytest.approx(
        {"dl19": 0.506, "dl20": 0.480}[edition], abs=5e-4
    )


def test_a_real_run_survives_saving(real_data, tmp_path):
    run = load_run(real_data / "trec_dl" / "dl19" / "runs" / "REP_LLAMA.run.gz")
    save_run(run, tmp_path / "again.run.gz")
    assert dict(load_run(tmp_path / "again.run.gz")) == dict(run)


def test_chorus(real_data):
    with pytest.warns(
        RetrievalWarning, match=r"19 of 135 queries have no relevant document at relevance_level 1"
    ):
        qrels = load_qrels(real_data / "chorus_icecat" / "qrels.txt")
    assert (len(qrels), len(qrels.doc_ids)) == (135, 3668)


def test_mtrag_in_beir_s_form(real_data):
    counts = {}
    for domain in ("clapnq", "cloud", "fiqa", "govt"):
        qrels = load_qrels(real_data / "mtrag" / "retrieval" / domain / "qrels.dev.tsv")
        counts[domain] = (len(qrels), len(qrels.doc_ids))
    assert counts == {"clapnq": (208, 578), "cloud": (188, 494), "fiqa": (180, 535), "govt": (201, 521)}


def test_chorus_as_a_gold_set(real_data, write):
    """19,406 products with 5,361 sparse attributes and their judgments; queries are their own ids."""
    with gzip.open(real_data / "chorus_icecat" / "catalog.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = [line.replace('{"id":', '{"doc_id":', 1) for line in file]
    qrels = (real_data / "chorus_icecat" / "qrels.txt").read_text()
    names = sorted({line.split()[0] for line in qrels.splitlines()})
    write("chorus/goldset.toml", 'name = "chorus"\nrelevance_level = 1\nno_relevant = "undefined"\n')
    write("chorus/catalog.jsonl.gz", "".join(lines))
    write(
        "chorus/queries.jsonl",
        "".join(json.dumps({"query_id": name, "query": name}) + "\n" for name in names),
    )
    write("chorus/qrels.trec", qrels)
    goldset = load_goldset("chorus")
    assert goldset.catalog is not None
    assert goldset.catalog.shape == (19406, 5361)
    assert (len(goldset.catalog), len(goldset.queries), len(goldset.qrels.doc_ids)) == (19406, 135, 3668)
