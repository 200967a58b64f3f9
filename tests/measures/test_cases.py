"""Small inputs from public bug reports that are about more than one number; each test names its case."""

from __future__ import annotations

import pytest

from pytest_retrieval.errors import InputError
from pytest_retrieval.measures.notation import parse
from pytest_retrieval.measures.ranking import straddling, tied_at
from pytest_retrieval.measures.table import evaluate
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Run


def test_tie_05_a_group_of_equal_scores_at_the_cutoff_is_named():
    run = Run({"q": {"a": 0.81, "b": 0.8, "c": 0.8, "d": 0.8, "e": 0.7}})
    assert straddling(run, 2) == ("q",)
    assert tied_at(run, "q", 2) == ("b", "c", "d")


def test_cover_01_a_judged_query_without_results_scores_0_and_is_named():
    qrels = Qrels({"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}})
    table = evaluate(qrels, Run({"q1": ["a"], "q3": ["x", "c"]}), ["rr@5"])
    assert table["rr@5"].to_dict() == {"q1": 1.0, "q2": 0.0, "q3": 0.5}
    assert table.mean()["rr@5"] == 0.5
    assert table.missing == ("q2",)


def test_dup_01_a_repeat_earns_nothing():
    qrels, run = Qrels({"q": {"a": 1, "b": 1}}), Run({"q": ["a", "a", "x"]})
    names = ["recall@3", "precision@3", "ap@3", "ndcg@3"]
    with pytest.raises(InputError, match="id 'a' at ranks 1 and 2"):
        evaluate(qrels, run, names)
    right = {"recall@3": 0.5, "precision@3": 1 / 3, "ap@3": 0.5, "ndcg@3": pytest.approx(0.613147, abs=5e-7)}
    assert dict(evaluate(qrels, run, names, duplicates="no_credit").mean()) == right
    assert dict(evaluate(qrels, run, names, duplicates="collapse").mean()) == right


@pytest.mark.parametrize("k", ["0", "-1", "2.5", "True"])
def test_in_02_a_cutoff_is_a_whole_number_of_at_least_1(k):
    with pytest.raises(ValueError, match=r"recall@"):
        parse(f"recall@{k}")


@pytest.mark.parametrize("k", [0, -1, 2.5, True])
def test_in_02_a_cutoff_given_as_a_number(k):
    with pytest.raises((ValueError, TypeError)):
        straddling(Run({"q": ["a"]}), k)


def test_in_03_a_score_that_is_no_number_has_no_order():
    with pytest.raises(InputError, match=r"\bb\b"):
        Run({"q": {"a": 2.0, "b": float("nan"), "c": 1.0}})
    assert Run({"q": {"a": float("-inf"), "b": float("inf")}})["q"] == ("b", "a")
