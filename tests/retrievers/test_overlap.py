"""Overlap with an exact search: by hand, in strata, under narrow filters, and of a real HNSW index."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pytest_retrieval import (
    DuplicateDocumentError,
    InputError,
    Qrels,
    QueryMismatchError,
    Run,
    Semantic,
    ann_recall,
    evaluate,
    filtered,
    overlap_at_k,
    retrieve,
)

EXACT = Run({"q1": ["a", "b", "c", "d"], "q2": ["c", "d"]})


def test_the_share_of_the_exact_top_k():
    run = Run({"q1": ["b", "x", "a"], "q2": ["d", "c"]})
    assert overlap_at_k(run, EXACT, 2) == {"q1": 0.5, "q2": 1.0}
    assert overlap_at_k(run, EXACT, 3) == {"q1": 2 / 3, "q2": 1.0}


def test_an_unanswered_query_scores_zero():
    assert overlap_at_k(Run({"q1": []}), EXACT, 2) == {"q1": 0.0, "q2": 0.0}


def test_what_ties_with_the_last_is_as_good_as_the_last():
    exact = Run({"q": [("a", 0.9), ("b", 0.5), ("c", 0.5), ("d", 0.5), ("e", 0.1)]})
    assert overlap_at_k(Run({"q": ["d", "c"]}), exact, 2) == {"q": 1.0}
    assert overlap_at_k(Run({"q": ["a", "e"]}), exact, 2) == {"q": 0.5}


def test_the_measure_is_the_function_and_goes_by_strata():
    qrels = Qrels({"q1": {"zzz": 1}, "q2": {}}, strata={"q1": "short", "q2": "long"})
    run = Run({"q1": ["b", "x", "a"], "q2": ["d", "c"]})
    table = evaluate(qrels, run, ["ann_recall@2"], kinds=[ann_recall(EXACT)])
    assert dict(table["ann_recall@2"]) == overlap_at_k(run, EXACT, 2)
    assert {stratum: dict(means) for stratum, means in table.by_stratum().items()} == {
        "long": {"ann_recall@2": 1.0},
        "short": {"ann_recall@2": 0.5},
    }


def test_an_exact_run_is_made_when_it_is_first_needed_and_once():
    made = []

    def exact():
        made.append(1)
        return EXACT

    kind = ann_recall(exact, name="hnsw_recall")
    assert made == []
    for _ in range(2):
        evaluate(Qrels({"q1": {}}), Run({"q1": ["a"]}), ["hnsw_recall@2"], kinds=[kind])
    assert made == [1]


def test_faults_are_told():
    run = Run({"q1": ["a", "a"]})
    with pytest.raises(DuplicateDocumentError, match="query 'q1'"):
        overlap_at_k(run, EXACT, 2)
    with pytest.raises(QueryMismatchError, match="1 queries that the exact one does not: q9"):
        overlap_at_k(Run({"q9": ["a"]}), EXACT, 2)
    with pytest.raises(InputError, match="no document for query 'q1'"):
        overlap_at_k(Run({}), Run({"q1": []}), 2)
    with pytest.raises(InputError, match="no document for query 'q9'"):
        evaluate(Qrels({"q9": {}}), Run({}), ["ann_recall@2"], kinds=[ann_recall(EXACT)])
    with pytest.raises(InputError, match="k is 0"):
        overlap_at_k(run, EXACT, 0)


def test_filtering_leaves_order_and_scores():
    run = Run({"q1": [("c", 0.9), ("a", 0.5), ("b", 0.5)], "q2": [("a", 0.1)]}, "flat")
    kept = filtered(run, {"a", "b"})
    assert kept.scored("q1") == (("a", 0.5), ("b", 0.5))
    assert kept.name == "flat"
    per_query = filtered(EXACT, {"q1": ["d", "b"], "q2": []})
    assert dict(per_query) == {"q1": ("b", "d"), "q2": ()}
    with pytest.raises(InputError, match="nothing is said about queries 'q2'"):
        filtered(EXACT, {"q1": ["a"]})
    with pytest.raises(InputError, match="allowed is the string 'a'"):
        filtered(EXACT, "a")


# --- a real index ------------------------------------------------------------------------------------------

DIMENSIONS, SIZE = 24, 2000
DRAWN = np.random.default_rng(20)
VECTORS = DRAWN.normal(size=(SIZE, DIMENSIONS)).astype(np.float32)
ASKED = {
    f"q{n:02d}": vector for n, vector in enumerate(DRAWN.normal(size=(40, DIMENSIONS)).astype(np.float32))
}
QUERIES = {query_id: query_id for query_id in ASKED}
IDS = [f"d{n:04d}" for n in range(SIZE)]
QRELS = Qrels(
    {query_id: {} for query_id in ASKED}, strata={q: "even" if int(q[1:]) % 2 else "odd" for q in ASKED}
)


@pytest.fixture(scope="module")
def exact():
    rows = {str(n): vector for n, vector in enumerate(VECTORS)} | ASKED
    search = Semantic(
        {doc_id: str(n) for n, doc_id in enumerate(IDS)},
        model=lambda texts: np.stack([rows[text] for text in texts]),
        batch_size=SIZE,
    )
    return retrieve(search, QUERIES, SIZE, name="exact")


def hnsw(expansion_search=64, allowed=None, search_among=None, exact=False):
    """Return a factory that builds an index anew, on four threads."""
    usearch = pytest.importorskip("usearch.index", reason="needs usearch")

    def make():
        index = usearch.Index(
            ndim=DIMENSIONS, metric="cos", dtype="f32", connectivity=8, expansion_add=32,
            expansion_search=expansion_search,
        )  # fmt: skip
        index.add(np.arange(SIZE), VECTORS, threads=4)

        def search(query, k):
            found = index.search(ASKED[query], search_among or k, threads=1, exact=exact)
            pairs = zip(found.keys.tolist(), found.distances.tolist(), strict=True)
            kept = [
                (IDS[key], 1.0 - distance)
                for key, distance in pairs
                if allowed is None or IDS[key] in allowed
            ]
            return kept[:k]

        return search

    return make


def built(factory, kind):
    run = retrieve(factory, QUERIES, 10, name="hnsw")
    return evaluate(QRELS, run, ["ann_recall@10"], kinds=[kind]).mean()["ann_recall@10"]


def test_twenty_builds_stay_in_the_band_that_twenty_measured_and_a_broken_one_does_not(exact):
    kind = ann_recall(exact)
    measured = [built(hnsw(), kind) for _ in range(20)]
    band = 2 * (max(measured) - min(measured))
    builds = [built(hnsw(), kind) for _ in range(20)]
    assert measured[0] > 0.8
    assert [score for score in builds if measured[0] - score > band] == []
    assert measured[0] - built(hnsw(expansion_search=1), kind) > band


def test_a_narrow_filter_loses_neighbours_that_a_flat_scan_finds(exact):
    """One document in fifty may be read: an index that filters what it found first runs out of candidates."""
    allowed = set(IDS[::50])
    flat = filtered(exact, allowed)
    assert min(len(flat[query_id]) for query_id in flat) == len(allowed)
    after = retrieve(hnsw(allowed=allowed, search_among=50), QUERIES, 10)
    scan = retrieve(hnsw(allowed=allowed, search_among=SIZE, exact=True), QUERIES, 10)
    lost = overlap_at_k(after, flat, 10)
    assert math.fsum(lost.values()) / len(lost) < 0.5
    assert math.fsum(overlap_at_k(scan, flat, 10).values()) / len(lost) > 0.99


def test_the_flat_scan_itself_is_exact(exact):
    length = np.linalg.norm(VECTORS, axis=1)
    for query_id, vector in ASKED.items():
        nearest = np.argsort(-(VECTORS @ vector) / length, kind="stable")[:10]
        assert exact[query_id][:10] == tuple(IDS[place] for place in nearest)
