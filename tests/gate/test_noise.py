"""Noise: bands from the range of means, by hand; what is within them is held, and only that."""

from __future__ import annotations

import pytest

from pytest_retrieval.gate.cells import Cell
from pytest_retrieval.gate.judging import judge
from pytest_retrieval.gate.noise import differing, mean_table, noise_bands
from pytest_retrieval.gate.pin import Pin, Pins, evidence_of
from pytest_retrieval.gate.verdict import HELD, IMPROVED, REGRESSED, status_of
from pytest_retrieval.measures.table import evaluate
from pytest_retrieval.model.run import Run

from .conftest import measures, run


def named(changed):
    plain = run(**changed)
    return Run({query_id: plain[query_id] for query_id in plain}, "bm25")


def test_a_query_whose_ranking_differs():
    assert differing(run(), run(w1=["x"]), ["i1", "w1"]) == ("w1",)
    assert differing(run(), run(w1=["x"]), ["i1"]) == ()


def test_the_band_is_twice_the_range_of_the_means(make):
    """Two words: recall@2 of w1 and w2 is 0.5 and 0; with both documents of w1 found, 1 and 0."""
    goldset = make()
    runs = [named({}), named({"w1": ["c", "d"]}), named({"w1": ["x", "y"]})]
    bands = noise_bands(goldset, measures(goldset), runs)
    n = sum(stratum == "words" for stratum in goldset.qrels.strata.values())
    assert bands[Cell("bm25", "recall@2", "words")] == pytest.approx(2 * (1.0 - 0.0) / n)
    assert bands[Cell("bm25", "recall@2", "identifier")] == 0.0


def test_the_mean_of_several_retrievals_is_taken_per_query(make):
    goldset = make()
    tables = [evaluate(goldset.qrels, one, ["recall@2"]) for one in (run(w1=["c", "d"]), run(w1=["x", "y"]))]
    row = tables[0].query_ids.index("w1")
    assert mean_table(tables).values[row, 0] == 0.5
    assert mean_table(tables[:1]) is tables[0]


@pytest.mark.parametrize(
    "worse, tolerance, band, status",
    [
        (0.1, 0.0, 0.1, HELD),
        (0.1, 0.04, 0.06, HELD),
        (0.100000001, 0.04, 0.06, REGRESSED),
        (-0.1, 0.0, 0.1, HELD),  # a rise within the band is none
        (-0.11, 0.0, 0.1, IMPROVED),
        (0.3, 0.1, 0.2, HELD),  # 0.1 + 0.2 is a little more than 0.3 in floating point
        (0.7, 0.1, 0.6, HELD),  # and 0.1 + 0.6 a little less than 0.7
    ],
)
def test_the_band_widens_the_tolerance(worse, tolerance, band, status):
    assert status_of(worse, tolerance, band=band) == status


def verdict(goldset, now, noise, again=()):
    cell = Cell("bm25", "recall@2", "words")
    lines = evidence_of(goldset, run(), measures(goldset), goldset.gated_queries)
    scores = [line.scores["recall@2"] for line in lines.values() if line.stratum == "words"]
    value = sum(scores) / len(scores)
    pin = Pin(value=value, n=len(scores), best=value, noise=noise, retrievals=None if noise is None else 10)
    pins = Pins({cell: pin}, {"bm25": lines})
    return judge(goldset, "bm25", measures(goldset), now, pins, [cell], (), again)[cell]


def test_a_drop_within_the_band_is_held_and_says_so(make):
    goldset = make()
    fallen = run(w1=["x", "y"])
    assert verdict(goldset, fallen, None).status == REGRESSED
    held = verdict(goldset, fallen, 0.5)
    assert held.status == HELD
    assert held.within_noise
    assert any("within noise: its band is 0.5, measured over 10 retrievals" in note for note in held.notes)
    assert verdict(goldset, fallen, 0.01).status == REGRESSED


def test_with_repeats_the_mean_is_judged(make):
    goldset = make()
    alone = verdict(goldset, run(w1=["x", "y"]), 0.0)
    both = verdict(goldset, run(w1=["x", "y"]), 0.0, [run(w1=["c", "d"])])
    assert alone.status == REGRESSED
    assert both.status == HELD  # 0 and 1 are as good as the pinned 0.5 twice
    assert both.repeats == 2


def test_an_unmeasured_difference_is_told(make):
    goldset = make()
    told = verdict(goldset, run(), None, [run(w1=["c", "d"])])
    assert any("differs between 2 retrievals" in note and "pin it anew" in note for note in told.notes)
    assert not any("differs" in note for note in verdict(goldset, run(), None, [run()]).notes)


@pytest.mark.parametrize("noise, never", [(0.25, True), (0.2, False), (None, False)])
def test_a_band_that_reaches_down_to_nothing_is_told(make, noise, never):
    """The words stand at 0.25: a fall to 0 would be within a band of 0.25."""
    goldset = make()
    now = verdict(goldset, run(), noise)
    assert now.status == HELD
    words = f"can never fail: it stands at {now.before:.3g}, and its noise band of 0.25 reaches down to 0"
    assert now.before == 0.25
    assert any(words in note for note in now.notes) == never
