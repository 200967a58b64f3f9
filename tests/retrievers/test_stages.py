"""Scores of stages: each is what evaluate says of that stage alone."""

from __future__ import annotations

import math

import pytest

from pytest_retrieval import InputError, MeasureError, Qrels, Run, evaluate, stage_scores

QRELS = Qrels(
    {"q1": {"a": 1, "b": 1}, "q2": {"c": 1}, "q3": {}},
    strata={"q1": "words", "q2": "codes", "q3": "nothing"},
)
LEXICAL = Run({"q1": ["a", "x", "b"], "q2": ["c"], "q3": []}, "lexical")
CONTEXT = Run({"q1": ["x", "a"]}, "context")
RUN = Run(dict(CONTEXT), "mine", stages={"lexical": LEXICAL, "context": CONTEXT})


def test_every_stage_and_stratum_by_hand():
    scores = stage_scores(QRELS, RUN, ["recall@1", "recall@3"])
    assert scores.columns.tolist() == ["recall@1", "recall@3"]
    assert scores.index.names == ["stage", "stratum"]
    assert scores.index.tolist() == [
        (stage, stratum)
        for stage in ("lexical", "context")
        for stratum in ("codes", "nothing", "words", "all")
    ]
    assert scores.loc[("lexical", "words")].tolist() == [0.5, 1.0]
    assert scores.loc[("lexical", "all")].tolist() == [0.75, 1.0]
    assert scores.loc[("context", "words")].tolist() == [0.0, 0.5]
    assert all(math.isnan(score) for score in scores.loc[("context", "nothing")])


def test_a_query_that_did_not_reach_a_stage_scores_zero_there():
    assert stage_scores(QRELS, RUN, ["recall@3"]).at[("context", "codes"), "recall@3"] == 0.0
    assert stage_scores(QRELS, RUN, ["recall@3"]).at[("context", "all"), "recall@3"] == 0.25


def test_they_are_what_evaluate_says_of_the_stage_alone():
    scores = stage_scores(QRELS, RUN, ["mrr@10"])
    assert scores.at[("lexical", "all"), "mrr@10"] == evaluate(QRELS, LEXICAL, ["mrr@10"]).mean()["mrr@10"]


def test_queries_that_nobody_judged_are_left_out_and_strata_may_be_missing():
    scores = stage_scores(Qrels({"q2": {"c": 1}}), RUN, ["R@1"])
    assert scores.index.tolist() == [("lexical", "all"), ("context", "all")]
    assert scores["recall@1"].tolist() == [1.0, 0.0]


def test_what_has_no_stages():
    with pytest.raises(InputError, match="the run 'lexical' has no stages"):
        stage_scores(QRELS, LEXICAL, ["recall@1"])
    with pytest.raises(MeasureError):
        stage_scores(QRELS, RUN, ["recal@1"])
