"""Cells: which there are, in one order, with ids that do not collide."""

from __future__ import annotations

import pytest

from pytest_retrieval.errors import InputError, MeasureError
from pytest_retrieval.gate.cells import Cell, cell_id, declared, described, groups, measures_of, slug

from .conftest import GOLD, QUERIES, measures


@pytest.mark.parametrize(
    "text, expected",
    [
        ("recall@5", "recall_5"),
        ("Several  modifiers", "several_modifiers"),
        ("slice:follow_up", "slice_follow_up"),
        ("P(rel=2)@5", "p_rel_2_5"),
        ("--x--", "x"),
        ("ÄÖ", "äö"),
        ("!?", ""),
    ],
)
def test_slugs(text, expected):
    assert slug(text) == expected


def test_an_id_is_made_of_its_parts():
    assert cell_id(Cell("BM25", "nDCG@10", "Exact identifier")) == "bm25-ndcg_10-exact_identifier"
    assert str(Cell("bm25", "recall@5", "all")) == "bm25 · recall@5 · all"


def test_cells_are_subjects_times_measures_times_strata_sorted(make):
    goldset = make(
        subjects={"dense": {"measures": ["recall@2"]}, "bm25": {"measures": ["recall@2", "mrr@3"]}},
        gate_also=["all", "slice:colour"],
    )
    cells = declared(goldset, measures_of(goldset))
    assert list(cells) == sorted(cells)
    assert {cell.stratum for cell in cells} == {"identifier", "words", "all", "slice:colour"}
    assert len(cells) == 3 * 4


def test_only_what_is_named_is_gated_beside_the_strata(make):
    goldset = make(gate_also=[])
    cells = declared(goldset, measures_of(goldset))
    assert {cell.stratum for cell in cells} == {"identifier", "words"}
    beside = described(goldset, "bm25", measures(goldset), cells)
    assert {cell.stratum for cell in beside} == {"all", "slice:colour"}
    assert len(beside) == 4


def test_groups_hold_the_gated_queries_alone(make):
    queries = [{**query, "split": "test" if query["query_id"] == "w2" else "train"} for query in QUERIES]
    assert groups(make(queries)) == {
        "all": ("i1", "i2", "w1"),
        "identifier": ("i1", "i2"),
        "slice:colour": ("w1",),
        "words": ("w1",),
    }
    assert groups(make(queries, gate_splits=["test"])) == {"all": ("w2",), "words": ("w2",)}


def test_without_strata_everything_is_one_cell(make):
    queries = [{"query_id": query["query_id"], "query": query["query"]} for query in QUERIES]
    goldset = make(queries)
    assert [cell.stratum for cell in declared(goldset, measures_of(goldset))] == ["all", "all"]
    assert set(groups(goldset)) == {"all"}


def test_a_measure_that_is_undefined_on_a_stratum_makes_no_cell_there(make):
    queries = [*QUERIES, {"query_id": "n1", "query": "cars", "stratum": "nothing", "answerable": False}]
    goldset = make(queries, subjects={"bm25": {"measures": ["recall@2", "judged@2"]}})
    cells = declared(goldset, measures_of(goldset))
    assert Cell("bm25", "recall@2", "nothing") not in cells
    assert Cell("bm25", "recall@2", "words") in cells


def test_two_cells_with_one_id(make):
    queries = [{**QUERIES[0], "stratum": "A-b"}, {**QUERIES[1], "stratum": "a B"}]
    goldset = make(queries, {"i1": GOLD["i1"], "i2": GOLD["i2"]})
    with pytest.raises(InputError, match="have the same pytest id 'bm25-recall_2-a_b'; rename one"):
        declared(goldset, measures_of(goldset))


def test_a_measure_that_nobody_knows(make):
    with pytest.raises(MeasureError, match="recal@2"):
        measures_of(make(subjects={"bm25": {"measures": ["recal@2"]}}))
