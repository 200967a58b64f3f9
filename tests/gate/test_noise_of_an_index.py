"""An HNSW graph, built anew on four threads: no false red, and a broken setting is caught."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pytest_retrieval import goldset_from_frames, retrieve
from pytest_retrieval.gate.cells import declared, measures_of
from pytest_retrieval.gate.judging import judge
from pytest_retrieval.gate.noise import RETRIEVALS, differing, noise_bands
from pytest_retrieval.gate.pin import Pins, evidence_of
from pytest_retrieval.gate.repin import repin
from pytest_retrieval.gate.verdict import REGRESSED

FIRST = 100
BUILDS = 20
MEASURED = 4 * RETRIEVALS
"""With ten a test of one cell would be red in 0.5 % of its runs, by chance alone; more are allowed."""


@pytest.fixture(scope="module")
def space():
    """Documents and queries as unit vectors, and each query's ten nearest documents."""
    rng = np.random.default_rng(7)
    documents, queries = (rng.standard_normal((n, 24)).astype(np.float32) for n in (3000, 60))
    documents /= np.linalg.norm(documents, axis=1, keepdims=True)
    nearest = np.argsort(-(queries @ documents.T), axis=1)[:, :10]
    goldset = goldset_from_frames(
        "space",
        pd.DataFrame(
            {
                "query_id": [f"q{n:02}" for n in range(60)],
                "query": [str(n) for n in range(60)],
            }
        ),
        pd.DataFrame(
            [
                {"query_id": f"q{n:02}", "doc_id": str(doc), "grade": 1}
                for n, row in enumerate(nearest)
                for doc in row
            ]
        ),
        subjects={"hnsw": {"measures": ["recall@10"]}},
    )
    return goldset, documents, queries


def retrieved(space, expansion):
    """Return one retrieval by a factory that builds the graph anew, as the plugin calls it."""
    usearch = pytest.importorskip("usearch.index", reason="needs usearch")
    goldset, documents, queries = space

    def make():
        index = usearch.Index(
            ndim=24, metric="cos", connectivity=8, expansion_add=32, expansion_search=expansion
        )
        keys = np.arange(len(documents))
        # Threads that start with an empty graph may leave it in two parts, once in a thousand builds or so.
        index.add(keys[:FIRST], documents[:FIRST], threads=1)
        index.add(keys[FIRST:], documents[FIRST:], threads=4)
        return lambda query, k: [str(key) for key in index.search(queries[int(query)], k).keys]

    texts = {query_id: goldset.text_of(query_id) for query_id in goldset.gated_queries}
    return retrieve(make, texts, 10, name="hnsw")


def test_no_false_red_in_twenty_builds_and_a_broken_setting_is_caught(space):
    goldset = space[0]
    measures = measures_of(goldset)
    cells = declared(goldset, measures)
    runs = [retrieved(space, 32) for _ in range(MEASURED)]
    first = runs[0]
    assert any(differing(first, run, goldset.gated_queries) for run in runs[1:])
    bands = noise_bands(goldset, measures["hnsw"], runs)
    pins, _ = repin(
        Pins(),
        goldset,
        measures,
        today={"hnsw": evidence_of(goldset, first, measures["hnsw"], goldset.gated_queries)},
        accepted={},
        reported=dict.fromkeys(cells, "t.py::t"),
        noise={cell: (bands[cell], MEASURED) for cell in cells},
    )

    def verdicts(run):
        return judge(goldset, "hnsw", measures["hnsw"], run, pins, cells)

    for _ in range(BUILDS):
        assert all(verdict.passes for verdict in verdicts(retrieved(space, 32)).values())
    # What the band is for: without it some of these builds would have been red.
    assert 0 < max(bands.values()) < 0.25
    broken = verdicts(retrieved(space, 1))
    assert {verdict.status for verdict in broken.values()} == {REGRESSED}
