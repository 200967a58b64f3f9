"""Reciprocal rank fusion: the published arithmetic, ties by id, and legs that can be told apart."""

from __future__ import annotations

import asyncio
import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_retrieval import DuplicateDocumentError, Hybrid, InputError, Run, fuse, retrieve

DENSE = Run({"q": ["A", "B", "C"]}, "dense")
LEXICAL = Run({"q": ["D", "A", "E"]}, "lexical")


def test_the_worked_example_to_six_decimals():
    fused = fuse([DENSE, LEXICAL], k=60).scored("q")
    assert [(doc_id, f"{score:.6f}") for doc_id, score in fused] == [
        ("A", "0.032522"),
        ("D", "0.016393"),
        ("B", "0.016129"),
        ("C", "0.015873"),
        ("E", "0.015873"),
    ]


def by_hand(rankings, k, weights):
    """The sums as fractions, so that what is equal is equal."""
    scores = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, doc_id in enumerate(ranking, start=1):
            scores[doc_id] = scores.get(doc_id, Fraction(0)) + Fraction(weight) / (k + rank)
    return sorted(scores, key=lambda doc_id: (-scores[doc_id], doc_id)), scores


RANKINGS = st.lists(
    st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8), min_size=1, max_size=4
).filter(any)


@given(RANKINGS, st.integers(0, 100))
def test_scores_are_the_sums_and_equal_sums_stand_by_id(rankings, k):
    order, scores = by_hand(rankings, k, [1] * len(rankings))
    fused = fuse({f"leg{n}": Run({"q": ranking}) for n, ranking in enumerate(rankings)}, k)
    assert dict(fused.scored("q")) == pytest.approx({doc: float(score) for doc, score in scores.items()})
    found = list(fused["q"])
    for one, other in itertools.pairwise(found):
        close = abs(scores[one] - scores[other]) < Fraction(1, 10**12)
        assert scores[one] > scores[other] or close
        if rank_sets(rankings, one) == rank_sets(rankings, other):
            assert one < other
    assert sorted(found) == sorted(order)


def rank_sets(rankings, doc_id):
    return sorted(ranking.index(doc_id) for ranking in rankings if doc_id in ranking)


@given(RANKINGS)
def test_the_order_of_the_runs_changes_nothing_not_even_a_bit(rankings):
    legs = [(f"leg{n}", Run({"q": ranking})) for n, ranking in enumerate(rankings)]
    assert fuse(dict(legs)).scored("q") == fuse(dict(reversed(legs))).scored("q")


def test_weights_multiply_and_follow_names():
    runs = {"dense": DENSE, "lexical": LEXICAL}
    for weights in ({"lexical": 3, "dense": 1}, [1, 3]):
        fused = fuse(runs, 60, weights=weights)
        order, scores = by_hand([DENSE["q"], LEXICAL["q"]], 60, [1, 3])
        assert list(fused["q"]) == order
        assert dict(fused.scored("q")) == pytest.approx({doc: float(score) for doc, score in scores.items()})


def test_a_small_constant_rewards_the_top_and_a_large_one_agreement():
    runs = [Run({"q": ["top", "both"]}, "a"), Run({"q": ["x", "y", "z", "both"]}, "b")]
    assert fuse(runs, 0)["q"][0] == "top"
    assert fuse(runs, 60)["q"][0] == "both"


def test_each_query_is_fused_by_itself_and_a_run_may_lack_some():
    first = Run({"q1": ["a", "b"], "q2": []}, "first")
    second = Run({"q3": ["c"], "q1": ["b"]}, "second")
    fused = fuse([first, second])
    assert {query: list(fused[query]) for query in fused} == {"q1": ["b", "a"], "q2": [], "q3": ["c"]}


def test_the_runs_are_kept_as_stages_before_the_fused_one():
    fused = fuse([DENSE, LEXICAL], name="hybrid")
    assert list(fused.stages) == ["dense", "lexical", "fused"]
    assert fused.stages["dense"]["q"] == ("A", "B", "C")
    assert fused.stages["fused"].scored("q") == fused.scored("q")
    assert fused.name == "hybrid"
    assert list(fuse([Run({"q": ["a"]}), LEXICAL]).stages) == ["run 1", "lexical", "fused"]


def test_nothing_found_anywhere():
    assert fuse([Run({"q": []}, "a"), Run({"q": []}, "b")])["q"] == ()


@pytest.mark.parametrize(
    "runs, more, message",
    [
        ([], {}, "no run was given"),
        (DENSE, {}, "runs is a single Run"),
        ([["a"]], {}, "run 1 is of type list"),
        ([DENSE, DENSE], {}, "runs of the same name: dense, dense"),
        ([DENSE], {"k": -1}, "constant of the fusion is -1"),
        ([DENSE], {"k": float("nan")}, "constant of the fusion is nan"),
        ([DENSE], {"k": "60"}, "constant of the fusion is '60'"),
        ([DENSE], {"k": True}, "constant of the fusion is True"),
        ([DENSE, LEXICAL], {"weights": [1]}, "1 weights for 2 runs"),
        ([DENSE, LEXICAL], {"weights": [1, 0]}, "weights 0; allowed are numbers above 0"),
        ([DENSE], {"weights": {"lexical": 1}}, "weights are given for lexical; the runs are dense"),
    ],
)
def test_what_cannot_be_fused(runs, more, message):
    with pytest.raises(InputError, match=message):
        fuse(runs, **more)


def test_a_document_with_two_ranks_is_refused_by_name():
    with pytest.raises(DuplicateDocumentError, match=r"lexical, query 'q': document 'A' stands in"):
        fuse([DENSE, Run({"q": ["A", "B", "A"]}, "lexical")])


# --- the retriever -----------------------------------------------------------------------------------------


class Index:
    def __init__(self, *doc_ids):
        self.doc_ids, self.asked = list(doc_ids), []

    def search(self, query, k):
        self.asked.append((query, k))
        return self.doc_ids[:k]


def test_a_hybrid_returns_each_leg_and_then_what_was_fused():
    search = Hybrid(
        {"dense": Index("A", "B", "C"), "lexical": lambda query, k: {"D": 3.0, "A": 2.0, "E": 1.0}}
    )
    run = retrieve(search, {"q": "error 0x8007 on reset"}, 4, name="hybrid")
    assert list(run.stages) == ["dense", "lexical", "fused"]
    assert run["q"] == ("A", "D", "B", "C")
    assert run.stages["lexical"].scored("q") == (("D", 3.0), ("A", 2.0), ("E", 1.0))
    assert run.stages["dense"]["q"] == ("A", "B", "C")


def test_legs_are_asked_deeper_than_the_hybrid_where_told():
    leg = Index("A", "B", "C")
    Hybrid({"leg": leg}, depth=50)("oak", 5)
    Hybrid({"leg": leg}, depth=50)("oak", 70)
    Hybrid({"leg": leg})("oak", 5)
    assert leg.asked == [("oak", 50), ("oak", 70), ("oak", 5)]


def test_it_fuses_as_fuse_does():
    legs = {"a": Index("x", "y", "z"), "b": Index("z", "w")}
    weights = {"b": 0.25, "a": 1.5}
    stages = Hybrid(legs, k=7, weights=weights)("oak", 9)
    expected = fuse({name: Run({"q": leg.doc_ids}) for name, leg in legs.items()}, 7, weights=weights)
    assert tuple(stages["fused"]) == expected.scored("q")


def test_async_legs_are_waited_for_beside_plain_ones():
    async def dense(query, k):
        await asyncio.sleep(0)
        return ["A", "B", "C"]

    run = retrieve(Hybrid({"dense": dense, "lexical": Index("D", "A")}), {"q": "oak", "r": "rug"}, 3)
    assert run["q"] == run["r"] == ("A", "D", "B")


def test_a_lost_leg_is_an_empty_stage_and_not_an_error():
    run = retrieve(Hybrid({"dense": Index("A"), "lexical": Index()}), {"q": "oak"}, 3)
    assert run.stages["lexical"]["q"] == ()
    assert run["q"] == ("A",)


@pytest.mark.parametrize(
    "legs, more, message",
    [
        ({}, {}, "at least one leg"),
        ({"fused": Index()}, {}, "a leg is named 'fused'"),
        ({"a": 5}, {}, "leg 'a' is 5; allowed are callable"),
        ({"a": Index()}, {"k": -2}, "constant of the fusion"),
        ({"a": Index()}, {"depth": 0}, "depth is 0"),
        ({"a": Index()}, {"weights": {"b": 1}}, "weights are given for b; the runs are a"),
    ],
)
def test_what_is_no_hybrid(legs, more, message):
    with pytest.raises(InputError, match=message):
        Hybrid(legs, **more)
