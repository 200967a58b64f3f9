"""A small gold set in memory, and pins over it."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from pytest_retrieval.files.goldset import goldset_from_frames
from pytest_retrieval.gate.cells import Cell, measures_of
from pytest_retrieval.gate.pin import Pins, evidence_of
from pytest_retrieval.gate.repin import repin
from pytest_retrieval.model.goldset import GoldSet
from pytest_retrieval.model.run import Run

QUERIES = [
    {"query_id": "i1", "query": "HX-1", "stratum": "identifier"},
    {"query_id": "i2", "query": "HX-2", "stratum": "identifier"},
    {"query_id": "w1", "query": "red lamp", "stratum": "words", "slices": ["colour"]},
    {"query_id": "w2", "query": "oak table", "stratum": "words"},
]
GOLD = {"i1": {"a": 2}, "i2": {"b": 2, "z": 0}, "w1": {"c": 2, "d": 2, "a": 1}, "w2": {"e": 2}}
RANKINGS = {"i1": ["a", "x"], "i2": ["z", "b"], "w1": ["c", "x", "d"], "w2": ["x", "y", "e"]}
SUBJECTS = {"bm25": {"measures": ["recall@2", "mrr@3"]}}


@pytest.fixture
def make():
    """Return a gold set; keywords are keys of goldset.toml, but for the content."""

    def goldset(
        queries: Any = QUERIES, gold: Any = GOLD, documents: Any = "abcdexyz", **settings: Any
    ) -> GoldSet:
        judgments = [
            {"query_id": query_id, "doc_id": doc_id, "grade": grade}
            for query_id, judged in gold.items()
            for doc_id, grade in judged.items()
        ]
        catalog = None if documents is None else pd.DataFrame({"doc_id": list(documents), "text": "text"})
        settings = {"relevance_level": 2, "subjects": SUBJECTS, "gate_also": ["all"], **settings}
        if any("slices" in query for query in queries):
            settings["slices"] = "slices"
        return goldset_from_frames(
            "store",
            pd.DataFrame(queries),
            pd.DataFrame(judgments, columns=["query_id", "doc_id", "grade"]),
            catalog,
            **settings,
        )

    return goldset


def measures(goldset, subject="bm25"):
    return measures_of(goldset)[subject]


def run(rankings=RANKINGS, **changed):
    return Run({**rankings, **changed}, "bm25")


@pytest.fixture
def pin():
    """Return pins of rankings, as a first session with --retrieval-pin=new would make them."""

    def pinned(goldset: GoldSet, rankings: Run | None = None, subject: str = "bm25") -> Pins:
        of_subject = measures(goldset, subject)
        lines = evidence_of(goldset, rankings or run(), of_subject, goldset.gated_queries)
        strata = {*(goldset.qrels.strata or {}).values(), "all"}
        cells = {Cell(subject, m.name, name): "test.py::test" for m in of_subject for name in strata}
        pins, _ = repin(
            Pins(), goldset, {subject: of_subject}, today={subject: lines}, accepted={}, reported=cells
        )
        return pins

    return pinned
