"""Planned comparisons on the test splits of the gold sets in this folder, locked in their plan.toml.

Whether headings alone are enough to search, and whether fusing BM25 with semantic search finds more than
either, was asked before the test queries were looked at. A comparison that establishes nothing is a result
too, so what is asserted is that something could have been established.
"""

import pytest

from pytest_retrieval import score_answers


@pytest.mark.goldset("furniture")
@pytest.mark.planned_comparison("names alone over all fields on recall@5", split="test")
def test_names_over_all_fields(runs, compare):
    result = compare(runs["bm25_headings"], runs["bm25"], "recall@5", by="stratum")
    assert result.decidable, result


@pytest.mark.goldset("helpdesk")
@pytest.mark.planned_comparison("titles alone over all fields on mrr@10", split="test")
def test_titles_over_all_fields(runs, compare):
    result = compare(runs["bm25_headings"], runs["bm25"], "mrr@10", by="stratum")
    assert result.decidable, result


@pytest.mark.goldset("furniture")
@pytest.mark.planned_comparison("hybrid over bm25 on recall@5", split="test")
def test_hybrid_over_bm25(runs, compare):
    result = compare(runs["hybrid"], runs["bm25"], "recall@5", by="stratum")
    assert result.decidable, result


@pytest.mark.goldset("furniture")
@pytest.mark.planned_comparison("hybrid over semantic on recall@5", split="test")
def test_hybrid_over_semantic(runs, compare):
    result = compare(runs["hybrid"], runs["semantic"], "recall@5", by="stratum")
    assert result.decidable, result


@pytest.mark.goldset("helpdesk")
@pytest.mark.planned_comparison("hybrid over bm25 on mrr@10", split="test")
def test_hybrid_over_bm25_of_passages(runs, compare):
    result = compare(runs["hybrid"], runs["bm25"], "mrr@10", by="stratum")
    assert result.decidable, result


@pytest.mark.goldset("furniture")
@pytest.mark.planned_comparison("answers from all fields over names on exact share", split="test")
def test_answers_from_all_fields_over_names(recordings, qrels, compare):
    table = score_answers(recordings["shop-answers"], qrels)
    share = {context: table.select(context=context).per_query() for context in ("bm25", "bm25_headings")}
    result = compare(share["bm25"], share["bm25_headings"], by="stratum")
    assert result.decidable, result
