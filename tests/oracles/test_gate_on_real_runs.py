"""The gate on real runs: an undecided change, and the split of a difference into ruler and ranking."""

import csv
import gzip
import json
import math

import numpy as np
import pandas as pd
import pytest

from pytest_retrieval.files.goldset import goldset_from_frames
from pytest_retrieval.files.trec import load_qrels, load_run
from pytest_retrieval.gate.cells import declared, measures_of
from pytest_retrieval.gate.judging import judge
from pytest_retrieval.gate.pin import Pins, evidence_of
from pytest_retrieval.gate.repin import repin
from pytest_retrieval.model.run import Run

from .conftest import ROOT


def need(name):
    folder = ROOT / name
    if not folder.is_dir():
        pytest.skip(f"no {name} under {ROOT}; set PYTEST_RETRIEVAL_DATA to the data's folder")
    return folder


def rows(path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def frames(judgments, strata):
    """Return queries and judgments of {query: {doc: grade}} as a gold set takes them."""
    queries = pd.DataFrame([{"query_id": q, "query": q, "stratum": strata[q]} for q in sorted(judgments)])
    judged = [(q, d, g) for q, docs in judgments.items() for d, g in docs.items()]
    return queries, pd.DataFrame(judged, columns=["query_id", "doc_id", "grade"])


def goldset_of(judgments, strata, **settings):
    queries, judged = frames(judgments, strata)
    settings = {"no_relevant": "undefined", "relevance_level": 1, **settings}
    return goldset_from_frames("real", queries, judged, **settings)


def pinned(goldset, run):
    """Return the pins that a session would write for this run."""
    measures = measures_of(goldset)
    cells = declared(goldset, measures)
    today = {"system": evidence_of(goldset, run, measures["system"], goldset.gated_queries)}
    reported = dict.fromkeys(cells, "test")
    pins, _ = repin(Pins(), goldset, measures, today=today, accepted={}, reported=reported)
    return pins


def verdicts(goldset, run, pins):
    measures = measures_of(goldset)
    return judge(goldset, "system", measures["system"], run, pins, declared(goldset, measures))


NDCG = {"system": {"measures": ["ndcg@10"]}}


@pytest.fixture(scope="module")
def vector_case():
    """Return two runs, the second gold set's ratings and the first's: the same change seen by two rulers."""
    party, shop = need("quepid_haystack_party"), need("chorus_icecat")
    runs = {}
    for name in ("no-vector", "with-vector"):
        found = {}
        for row in sorted(rows(party / "runs" / f"{name}.jsonl.gz"), key=lambda row: row["rank"]):
            ranking = found.setdefault(row["query"], [])
            if row["doc_id"] not in ranking:
                ranking.append(row["doc_id"])
        runs[name] = found
    ours = {}
    for row in rows(party / "case_ratings.jsonl.gz"):
        ours.setdefault(row["query"], {})[row["doc_id"]] = int(row["rating"])
    theirs = {}
    with (shop / "Broad_Query_Set_rated.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            theirs.setdefault(row["query"], {})[row["docid"]] = int(row["rating"])
    shared = sorted(set(runs["no-vector"]) & set(runs["with-vector"]) & set(ours) & set(theirs))
    cut = {name: Run({q: found[q] for q in shared}, name) for name, found in runs.items()}
    return cut, {q: ours[q] for q in shared}, {q: theirs[q] for q in shared}


def change(goldset, runs):
    pins = pinned(goldset, runs["no-vector"])
    (verdict,) = verdicts(goldset, runs["with-vector"], pins).values()
    return verdict


def test_vectors_are_judged_where_their_results_were_rated(vector_case):
    """Rated by the party itself, the change is a gain."""
    runs, ours, _ = vector_case
    goldset = goldset_of(ours, dict.fromkeys(ours, "queries"), unjudged="unknown", subjects=NDCG)
    verdict = change(goldset, runs)
    assert verdict.status == "improved"
    assert verdict.after > verdict.before


def test_vectors_are_undecided_where_three_quarters_of_their_results_were_not(vector_case):
    """The older ratings know 26 % of the vector results, and the same change looks like a heavy loss."""
    runs, _, theirs = vector_case
    goldset = goldset_of(theirs, dict.fromkeys(theirs, "queries"), unjudged="unknown", subjects=NDCG)
    verdict = change(goldset, runs)
    assert verdict.after < verdict.before - 0.2
    assert verdict.status == "undecided"
    assert 0 < len(verdict.flip.documents) <= verdict.flip.predicted
    for query_id, doc_id, rank in verdict.flip.documents:
        assert runs["with-vector"][query_id][rank - 1] == doc_id
        assert doc_id not in theirs[query_id]


def disturbed(judgments, seed):
    """Return judgments with a tenth of the grades dropped and as many others moved by one."""
    rng = np.random.default_rng(seed)
    changed = {}
    for query_id in sorted(judgments):
        kept = {}
        for doc_id, grade in sorted(judgments[query_id].items()):
            draw = rng.random()
            if draw < 0.1:
                continue
            kept[doc_id] = max(0, grade + (1 if draw > 0.95 else -1)) if draw > 0.9 else grade
        changed[query_id] = kept
    return changed


MEASURES = {"system": {"measures": ["ndcg@10", "recall@10", "mrr@10", "precision@5", "ap@100"]}}


def trec_dl():
    folder = need("trec_dl") / "dl19"
    runs = [load_run(folder / "runs" / f"{name}.run.gz") for name in ("BM25", "BM25_RM3")]
    return dict(load_qrels(folder / "qrels.txt", 2)), *runs


def trec_rag24():
    folder = need("trec_rag24")
    answers = {}
    for name in ("gpt-4o", "l31_70b_instruct"):
        path = folder / "answers" / f"baseline_rag24.test_{name}_top20.jsonl.gz"
        answers[name] = Run({row["topic_id"]: list(dict.fromkeys(row["references"])) for row in rows(path)})
    with pytest.warns(UserWarning, match="no relevant document"):
        qrels = dict(load_qrels(folder / "qrels.rag24.test.txt.gz", 2))
    return qrels, answers["gpt-4o"], answers["l31_70b_instruct"]


@pytest.mark.parametrize("collection", [trec_dl, trec_rag24])
def test_gold_changed_and_ranking_changed_are_the_whole_difference(collection):
    """By hand: the pinned value is of the old ruler, the observed one of the new; the middle is re-scored."""
    judgments, before, after = collection()
    strata = {q: f"part {number % 3}" for number, q in enumerate(sorted(judgments))}
    settings = {"subjects": MEASURES, "relevance_level": 2, "gate_also": ["all"], "depth": 100}
    then = goldset_of(judgments, strata, **settings)
    now = goldset_of(disturbed(judgments, 1), strata, **settings)
    run = {name: r.select(judgments) for name, r in (("before", before), ("after", after))}
    pins = pinned(then, run["before"])
    found = verdicts(now, run["after"], pins)
    assert len(found) == 5 * 4
    shifted = 0
    for cell, verdict in found.items():
        whole = verdict.after - pins.cells[cell].value
        assert verdict.gold_changed + verdict.ranking_changed == pytest.approx(whole, abs=1e-12)
        assert not math.isnan(verdict.gold_changed)
        same_run = verdicts(now, run["before"], pins)[cell]
        assert same_run.ranking_changed == 0
        assert same_run.status == "held"
        shifted += verdict.gold_changed != 0
    assert shifted >= 18
