"""A gold set knows which of its queries are gated."""

from __future__ import annotations

import pandas as pd

from pytest_retrieval.model.goldset import Digests, GoldSet, Subject
from pytest_retrieval.model.qrels import Qrels


def gold_set(qrels, **options):
    return GoldSet(
        name="desk",
        qrels=qrels,
        queries=pd.DataFrame({"query": ["refund?", "again?"]}, index=pd.Index(["q2", "q1"], name="query_id")),
        digests=Digests("", "", ""),
        **options,
    )


class TestGoldSet:
    def test_gated_queries_are_those_of_the_gates_splits_by_id(self):
        splits = {"q2": "test", "q1": "test", "q3": "train"}
        qrels = Qrels({"q2": ["a"], "q1": ["a"], "q3": ["a"]}, splits=splits)
        assert gold_set(qrels, gate_splits=("test",)).gated_queries == ("q1", "q2")
        assert gold_set(qrels, gate_splits=("test", "train")).gated_queries == ("q1", "q2", "q3")
        assert gold_set(qrels).gated_queries == ("q1", "q2", "q3")
        assert gold_set(Qrels({"q2": [], "q1": []}), gate_splits=("test",)).gated_queries == ("q1", "q2")

    def test_text_and_repr(self):
        gold = gold_set(Qrels({"q1": ["a"]}))
        assert gold.text_of("q1") == "again?"
        assert repr(gold) == (
            "<GoldSet 'desk': 2 queries, no catalog, <Qrels: 1 queries, 1 judgments, relevant from grade 1>>"
        )
        assert "3 documents" in repr(gold_set(Qrels({}), catalog=pd.DataFrame(index=list("abc"))))

    def test_subject(self):
        subject = Subject("bm25", ("recall@5", "mrr@10"))
        assert subject.requires == ()
        assert subject == Subject("bm25", ("recall@5", "mrr@10"))
