"""Sweeps: curves by hand, only the split that may be read, and the unit comparison in its known shape."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from pytest_retrieval import (
    BM25,
    Answer,
    InputError,
    Qrels,
    Run,
    context_sweep,
    depth_curve,
    evaluate,
    fuse,
    fusion_sweep,
    load_goldset,
    retrieve,
    unit_sweep,
    units_of,
)

GOLDSETS = Path(__file__).parents[2] / "goldsets"

QRELS = Qrels(
    {"q1": {"a": 1, "b": 1}, "q2": {"c": 1}, "q3": {"d": 1}, "q4": {}},
    strata={"q1": "words", "q2": "words", "q3": "identifier", "q4": "nothing"},
    splits={"q1": "train", "q2": "train", "q3": "test", "q4": "train"},
)
RUN = Run({"q1": ["a", "x", "y", "b"], "q2": ["x", "c"], "q3": ["d"], "q4": ["x"]}, "bm25")


def test_a_depth_curve_by_hand():
    curve = depth_curve(QRELS, RUN, [4, 1, 2])
    assert curve.table.index.tolist() == [1, 2, 4]
    assert curve.table["words"].tolist() == [0.25, 0.75, 1.0]
    assert curve.table["all"].tolist() == [0.25, 0.75, 1.0]
    assert curve.table["nothing"].isna().all()
    assert curve.chosen == {"words": 4, "all": 4, "nothing": None}


def test_a_curve_is_flat_from_where_nothing_beyond_adds_more_than_the_gain():
    assert depth_curve(QRELS, RUN, [1, 2, 4], gain=0.25).chosen["words"] == 2
    assert depth_curve(QRELS, RUN, [1, 2, 4], gain=0.2).chosen["words"] == 4
    assert depth_curve(QRELS, RUN, [1, 2, 4], gain=1.0).chosen["words"] == 1


def test_depths_go_as_far_as_the_run_unless_told():
    assert depth_curve(QRELS, RUN).table.index.tolist() == [1, 2]
    with pytest.raises(InputError, match="the longest ranking holds 4 documents"):
        depth_curve(QRELS, RUN, [5])
    with pytest.raises(InputError, match="depths are none; the longest ranking holds 0 documents"):
        depth_curve(QRELS, Run({}))
    with pytest.raises(InputError, match="a depth is 0"):
        depth_curve(QRELS, RUN, [0])


def test_the_test_split_plays_no_part():
    """The only document of the stratum `identifier` is of the test split."""
    assert "identifier" not in depth_curve(QRELS, RUN, [1]).table
    assert "3 queries of the train split" in depth_curve(QRELS, RUN, [1]).title
    worse = Run({**{query: RUN[query] for query in RUN}, "q3": ["x"]})
    assert depth_curve(QRELS, worse, [1]).table.equals(depth_curve(QRELS, RUN, [1]).table)


NO_SPLITS = Qrels({"q1": {"a": 1}})


@pytest.mark.parametrize(
    "qrels, split, message",
    [
        (QRELS, "test", "tuning on the test split"),
        (QRELS, "dev", "no query is of the split 'dev'; there are test, train"),
        (QRELS, None, "the judgments have splits: test, train; name the one to read"),
        (NO_SPLITS, "test", "tuning on the test split"),
        (NO_SPLITS, "dev", "the judgments have no split 'dev'"),
    ],
)
def test_splits_that_cannot_be_read(qrels, split, message):
    for sweep in (
        lambda: depth_curve(qrels, RUN, [1], split=split),
        lambda: fusion_sweep(qrels, [RUN], split=split),
        lambda: unit_sweep(qrels, {}, {"whole": {"a": ["a"]}}, split=split),
    ):
        with pytest.raises(InputError, match=message):
            sweep()


def test_a_fusion_sweep_is_fuse_and_evaluate():
    other = Run({"q1": ["x", "b", "a"], "q2": ["c", "z"], "q4": []}, "dense")
    sweep = fusion_sweep(QRELS, [RUN, other], [0, 60, 1e6], measure="mrr@10")
    train = QRELS.select(["q1", "q2", "q4"])
    for constant in (0, 60, 1e6):
        fused = fuse([RUN, other], constant).select(["q1", "q2", "q4"])
        means = evaluate(train, fused, ["mrr@10"])
        assert sweep.table.at[constant, "all"] == means.mean()["mrr@10"]
        assert sweep.table.at[constant, "words"] == means.by_stratum()["words"]["mrr@10"]


def test_of_equally_good_constants_the_first_is_chosen_and_of_none_none():
    sweep = fusion_sweep(QRELS, {"a": RUN}, [60, 1, 5])
    assert sweep.chosen == {"words": 60, "all": 60, "nothing": None}
    with pytest.raises(InputError, match="no constant was given"):
        fusion_sweep(QRELS, [RUN], [])


CATALOG = {
    "d1": {"name": "desk", "text": "Oak. Low."},
    "d2": {"name": "oak shelf", "text": "Pine. Goes with an oak desk."},
    "d3": {"name": "oak stool", "text": ""},
}
CUTS = {
    "whole": units_of(CATALOG),
    "text": units_of(CATALOG, ["text"]),
    "sentences": units_of(CATALOG, ["text"], split="text"),
}
ASKED = {"q": "oak"}


def test_a_unit_sweep_by_hand():
    """For "oak": whole items all hold it once or more; of the texts, d1's is shortest; d3 has none."""
    sweep = unit_sweep(Qrels({"q": {"d1": 1, "d3": 1}}), ASKED, CUTS, k=2)
    assert sweep.table.columns.tolist() == ["precision@2", "recall@2", "judged@2", "ties"]
    assert sweep.table.loc["text"].tolist() == [0.5, 0.5, 0.5, 0]
    assert sweep.table.loc["sentences"].tolist() == [0.5, 0.5, 0.5, 0]
    assert sweep.table.index.tolist() == ["whole", "text", "sentences"]


def test_ties_count_the_queries_that_reversing_them_would_change():
    cuts = {"name": units_of({"a": "oak", "b": "oak", "c": "oak"}), "two": units_of({"a": "oak", "b": "oak"})}
    sweep = unit_sweep(Qrels({"q": {"a": 1}}), ASKED, cuts, k=2)
    assert sweep.table["ties"].tolist() == [1, 0]


def test_what_a_unit_sweep_needs():
    with pytest.raises(InputError, match="queries without a text: 'q'"):
        unit_sweep(Qrels({"q": {}}), {}, CUTS)
    with pytest.raises(InputError, match="no unit was given"):
        unit_sweep(Qrels({"q": {}}), ASKED, {})
    with pytest.raises(InputError, match="k is 0"):
        unit_sweep(Qrels({"q": {}}), ASKED, CUTS, k=0)


def test_a_sweep_prints_as_a_table_with_its_choice_below():
    lines = str(depth_curve(QRELS, RUN, [1, 2, 4])).splitlines()
    assert lines[0] == "recall at growing depth, 3 queries of the train split"
    assert lines[1].split() == ["depth", "nothing", "words", "all"]
    assert [line.split() for line in lines[3:6]] == [
        ["1", "n/a", "0.250", "0.250"],
        ["2", "n/a", "0.750", "0.750"],
        ["4", "n/a", "1.000", "1.000"],
    ]
    assert lines[6].split() == ["flat", "from,", "within", "0.01", "n/a", "4", "4"]


# --- on the furniture shop ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def furniture():
    return load_goldset(GOLDSETS / "furniture")


def test_the_unit_comparison_has_the_published_shape(furniture):
    """As published for a shop of 8,261 products: bare sentences trail, other fields mend it, names tie."""
    fields = ["name", "class", "category", "description"]
    cuts = {
        "whole item": units_of(furniture.catalog, fields),
        "name": units_of(furniture.catalog, ["name"]),
        "description": units_of(furniture.catalog, ["description"]),
        "sentences": units_of(furniture.catalog, ["description"], split="description"),
        "sentences with the other fields": units_of(furniture.catalog, fields, split="description"),
    }
    queries = {query_id: furniture.text_of(query_id) for query_id in furniture.qrels.query_ids}
    table = unit_sweep(furniture.qrels, queries, cuts).table
    precision, ties = table["precision@5"], table["ties"]
    assert precision["sentences"] < precision["description"] < precision["whole item"]
    assert precision["sentences"] < precision["sentences with the other fields"]
    assert ties["name"] > ties["whole item"]
    assert table.at["sentences", "judged@5"] < table.at["whole item", "judged@5"]


def test_a_curve_of_the_shop_flattens_before_it_ends(furniture):
    train = furniture.gated_queries
    run = retrieve(BM25(furniture.catalog), {query: furniture.text_of(query) for query in train}, 100)
    curve = depth_curve(furniture.qrels, run)
    assert curve.table["all"].is_monotonic_increasing
    assert math.isclose(
        curve.table.at[5, "all"],
        evaluate(furniture.qrels.select(train), run, ["recall@5"]).mean()["recall@5"],
    )
    assert curve.chosen["several_modifiers"] == 50
    assert curve.chosen["no_match"] is None


def test_the_size_of_a_context_by_hand():
    qrels = Qrels({"q1": {"a": 1}, "q2": {"b": 1}}, splits={"q1": "train", "q2": "test"})
    few = [Answer("q1", "bm25", ["x"], []), Answer("q2", "bm25", ["b"], ["b"])]
    more = [Answer("q1", "bm25", ["x", "a"], ["x", "a"]), Answer("q2", "bm25", ["b"], [])]
    sweep = context_sweep({1: few, 2: more}, qrels)
    assert sweep.table["exact_share"].tolist() == [0.0, 0.5]
    assert sweep.table["declined_wrongly"].tolist() == [0.0, 0.0]
    assert sweep.chosen["exact_share"] == 2
    assert sweep.chosen["declined"] is None
    assert "1 queries of the train split" in str(sweep)


@pytest.mark.parametrize(
    "recordings, options, message",
    [
        ({}, {}, "no recording was given"),
        ({0: [Answer("q1")]}, {}, "size of the context"),
        ({1: []}, {}, "there is none"),
        ({1: [Answer("q1", "a"), Answer("q1", "b")]}, {}, "name one with context="),
        ({1: [Answer("q1")]}, {"split": "test"}, "test"),
    ],
)
def test_what_a_context_sweep_refuses(recordings, options, message):
    qrels = Qrels({"q1": {"a": 1}}, splits={"q1": "train"})
    with pytest.raises(InputError, match=message):
        context_sweep(recordings, qrels, **options)
