"""Figures worked out by hand before there was any code; they need no data."""

import math

import pytest

from pytest_retrieval.measures.table import evaluate
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Run

RANKING = ["d1", "d2", "d3", "d4", "d5"]
GRADED = Qrels({"q": dict(zip(RANKING, [1, 1, 2, 2, 2], strict=True))}, relevance_level=2)


def means(qrels, ranking, *measures):
    return dict(evaluate(qrels, Run({"q": ranking}), measures).mean())


def test_context_of_two_partial_and_three_exact():
    """Precision at ranks 3, 4, 5 is 1/3, 2/4, 3/5."""
    figures = means(GRADED, RANKING, "context_precision@5", "precision@5", "recall@5", "success@5")
    assert figures["context_precision@5"] == pytest.approx((1 / 3 + 2 / 4 + 3 / 5) / 3)
    assert f"{figures['context_precision@5']:.3f}" == "0.478"
    assert f"{figures['precision@5']:.3f}" == "0.600"
    assert figures["recall@5"] == figures["success@5"] == 1.0


def test_grades_count_in_ndcg_alone():
    gains = [grade / math.log2(rank + 1) for rank, grade in enumerate([1, 1, 2, 2, 2], 1)]
    ideal = [grade / math.log2(rank + 1) for rank, grade in enumerate([2, 2, 2, 1, 1], 1)]
    assert means(GRADED, RANKING, "ndcg@5")["ndcg@5"] == pytest.approx(sum(gains) / sum(ideal))


def test_recall_of_170_relevant_at_5():
    qrels = Qrels({"q": [f"d{number}" for number in range(1, 171)]})
    table = evaluate(qrels, Run({"q": RANKING}), ["recall@5", "precision@5"])
    assert table.attainable[0].tolist() == [5 / 170, 1.0]
    assert f"{table.attainable[0, 0]:.3f}" == "0.029"
    assert table.values[0].tolist() == [5 / 170, 1.0]  # a perfect top five reaches it


def test_precision_of_one_relevant_is_at_most_a_fifth():
    table = evaluate(Qrels({"q": ["d1"]}), Run({"q": RANKING}), ["precision@5"])
    assert table.values[0, 0] == table.attainable[0, 0] == 0.2
