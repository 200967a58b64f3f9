"""Spans: which chunks they make relevant, how many characters are covered, which boundary cuts one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_retrieval import GoldSpan, InputError, Place, Qrels, Run, Spans, evaluate
from pytest_retrieval.model.run import Reply
from pytest_retrieval.model.spans import overlap

CHUNKS = {"c1": ("guide", 0, 50), "c2": ("guide", 50, 100), "c3": ("guide", 100, 150), "n1": ("note", 0, 80)}


def spans(*gold, chunks=CHUNKS):
    return Spans({"q": gold}, chunks)


def test_a_chunk_is_relevant_where_it_overlaps_a_span():
    assert spans(("guide", 40, 60), ("note", 79, 90, 2)).grades("q") == {"c1": 1, "c2": 1, "n1": 2}
    assert spans(("guide", 50, 100)).grades("q") == {"c2": 1}  # it ends where the next one begins
    assert spans(("guide", 0, 60, 1), ("guide", 45, 55, 3)).grades("q") == {"c1": 3, "c2": 3}
    assert spans(("elsewhere", 0, 9)).grades("q") == {}


@pytest.mark.parametrize(
    "gold, places, covered, length",
    [
        ([("guide", 40, 60)], ["c1"], 10, 20),
        ([("guide", 40, 60)], ["c1", "c2"], 20, 20),
        ([("guide", 40, 60)], ["c1", "c1"], 10, 20),
        ([("guide", 40, 60), ("guide", 50, 70)], ["c2"], 20, 30),  # characters of both count once
        ([("guide", 40, 60), ("note", 0, 10)], ["n1"], 10, 30),
        ([("guide", 40, 60, 1), ("note", 0, 10, 2)], ["c1", "n1"], 20, 30),
        ([("guide", 40, 60)], ["c3"], 0, 20),
    ],
)
def test_characters_count_once(gold, places, covered, length):
    found = spans(*gold)
    assert found.covered("q", [Place(*CHUNKS[name]) for name in places]) == covered
    assert found.length("q") == length


def test_spans_below_the_level_are_left_out():
    found = spans(("guide", 40, 60, 1), ("note", 0, 10, 2))
    assert found.length("q", 2) == 10
    assert found.covered("q", [Place(*CHUNKS["c1"]), Place(*CHUNKS["n1"])], 2) == 10


def test_boundaries_that_cut_a_span():
    found = spans(("guide", 40, 60), ("guide", 10, 140), ("guide", 60, 70))
    assert [found.boundaries_in(span) for span in found.gold["q"]] == [(50,), (50, 100), ()]
    assert [(span[:3], cuts) for _, span, cuts in found.cut()] == [
        (("guide", 40, 60), (50,)),
        (("guide", 10, 140), (50, 100)),
    ]


def test_an_overlapping_chunk_that_holds_the_whole_mends_the_cut():
    found = spans(("guide", 40, 60), chunks=CHUNKS | {"c12": ("guide", 30, 70)})
    assert found.cut() == []


def test_a_span_in_no_chunk_is_cut_without_boundaries():
    assert spans(("guide", 150, 160)).cut() == [("q", GoldSpan("guide", 150, 160), ())]


@pytest.mark.parametrize(
    "gold, chunks", [([("a", 5, 5)], {}), ([("a", -1, 5)], {}), ([], {"c": ("a", 9, 2)})]
)
def test_a_span_that_ends_before_it_begins(gold, chunks):
    with pytest.raises(InputError, match="allowed are 0 ≤ start < end"):
        spans(*gold, chunks=chunks)


passages = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.integers(1, 12)).map(
        lambda p: (p[0], p[1], p[1] + p[2])
    ),
    max_size=6,
)


@given(gold=passages, read=passages)
def test_covered_characters_are_those_of_sets(gold, read):
    """The oracle is a set of (document, offset)."""

    def characters(some):
        return {(document, offset) for document, start, end in some for offset in range(start, end)}

    found = spans(*gold)
    assert found.covered("q", [Place(*one) for one in read]) == len(characters(gold) & characters(read))
    assert found.length("q") == len(characters(gold))


def test_overlap_is_symmetric_and_within_one_document():
    assert overlap(Place("a", 0, 10), Place("a", 8, 20)) == overlap(Place("a", 8, 20), Place("a", 0, 10)) == 2
    assert (
        overlap(Place("a", 0, 10), Place("b", 8, 20)) == overlap(Place("a", 0, 10), Place("a", 10, 20)) == 0
    )


def test_span_recall():
    qrels = Qrels.from_spans(
        Spans({"q1": [("guide", 40, 60)], "q2": [("note", 0, 100)], "q3": []}, CHUNKS), unanswerable=["q3"]
    )
    run = Run({"q1": ["n1", "c1", "c2"], "q2": ["c3", "n1"], "q3": ["c1"]})
    table = evaluate(qrels, run, ["span_recall@1", "span_recall@2", "span_recall@3"])
    assert table.values[:2].tolist() == [[0.0, 0.5, 1.0], [0.0, 0.8, 0.8]]
    assert table.undefined["span_recall@1"] == ("q3",)
    assert table.attainable[:2, 2].tolist() == [1.0, 0.8]  # the chunks of the note end at 80
    assert qrels.select(["q1"]).spans is qrels.spans


def test_a_ranking_that_knows_its_own_places_is_not_judged_by_todays():
    qrels = Qrels.from_spans(Spans({"q": [("guide", 40, 60)]}, CHUNKS))
    old = Run({"q": ["c1"]}, places={"q": [Place("guide", 40, 60)]})
    assert evaluate(qrels, old, ["span_recall@1"]).mean()["span_recall@1"] == 1.0
    assert evaluate(qrels, old.select(["q"]), ["span_recall@1"]).mean()["span_recall@1"] == 1.0
    assert evaluate(qrels, Run({"q": ["c1"]}), ["span_recall@1"]).mean()["span_recall@1"] == 0.5


def test_span_recall_without_spans():
    with pytest.raises(InputError, match=r"needs gold spans: write spans\.jsonl"):
        evaluate(Qrels({"q": ["a"]}), Run({"q": ["a"]}), ["span_recall@1"])


def test_several_replies_to_one_query_are_averaged():
    qrels = Qrels.from_spans(Spans({"q": [("guide", 40, 60)]}, CHUNKS))
    replies = [Reply(("c1", "c2"), ()), Reply(("c1",), ())]
    run = Run({"q": ["c1", "c2"]}, replies={"q": replies})
    assert evaluate(qrels, run, ["span_recall@2"]).mean()["span_recall@2"] == 0.75
