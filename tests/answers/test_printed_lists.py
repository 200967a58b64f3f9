"""Everything that a chapter on answers and agents prints of a recording comes from one call each.

The recording is small and made by hand; every figure below was counted on paper.
"""

from __future__ import annotations

import pytest

from pytest_retrieval import Answer, Call, Qrels, Trace, compare, score_answers, score_traces

# Exact is 2. q3 has its exact document in no context of bm25's.
QRELS = Qrels(
    {"q1": {"a": 2, "b": 1}, "q2": {"c": 2, "d": 1, "e": 0}, "q3": {"f": 2, "g": 1}}, relevance_level=2
)
ANSWERS = [
    Answer("q1", "semantic", ["a", "b", "x"], ["a", "b"], "Take a and b."),
    Answer("q2", "semantic", ["c", "d", "e"], [], "None fits."),
    Answer("q3", "semantic", ["f", "g", "x"], ["f"], "Take f."),
    Answer("q1", "bm25", ["a", "x", "y"], ["a", "x", "y", "b"], "Take a, x, y and b."),
    Answer("q2", "bm25", ["c", "e", "x"], ["c", "c"], "Take c."),
    Answer("q3", "bm25", ["g", "x", "y"], ["g"], "Take y."),
    Answer("q1", "random", ["x", "y", "z"], [], "None fits."),
    Answer("q2", "random", ["c", "y", "z"], ["c"], "Take c."),
    Answer("q3", "random", ["x", "y", "z"], [], "None fits."),
]
PRINTED = {
    "unjudged_in_context": (2, 5, 8),
    "contexts_with_exact": (3, 2, 1),
    "answers_citing_exact": (2, 2, 1),
    "cited": (3, 6, 1),
    "exact_cited": (2, 2, 1),
    "exact_share": (0.5, (1 / 4 + 1 + 0) / 3, 1 / 3),
    "recommend_nothing": (1, 0, 2),
    "recommend_nothing_with_exact": (1, 0, 0),
    "recommend_something_without_exact": (0, 1, 0),
    "cited_without_exact": (0, 1, 0),
    "partial_cited_without_exact": (0, 1, 0),
    "unjudged_cited": (0, 2, 0),
}


def test_what_is_printed_of_each_kind_of_context():
    figures = score_answers(ANSWERS, QRELS).by_context()
    assert list(figures) == ["semantic", "bm25", "random"]
    for name, expected in PRINTED.items():
        assert tuple(of[name] for of in figures.values()) == pytest.approx(expected), name


def test_what_is_printed_of_all_answers():
    table = score_answers(ANSWERS, QRELS, allowed=3)
    assert table.above_ceiling() == ()
    summary = table.summary()
    assert {
        name: summary[name]
        for name in (
            "answers", "answers_citing_outside", "answers_citing_twice", "recommend_nothing",
            "answers_over_allowed", "answers_differing_from_text",
        )
    } == {
        "answers": 9,
        "answers_citing_outside": 1,  # bm25 cites b for q1
        "answers_citing_twice": 1,
        "recommend_nothing": 3,
        "answers_over_allowed": 1,
        "answers_differing_from_text": 1,  # bm25 writes y for q3 and cites g
    }  # fmt: skip


def test_the_planned_comparison_stands_on_series():
    table = score_answers(ANSWERS, QRELS)
    share = {
        context: table.select(context=context).per_query("exact_share") for context in ("semantic", "bm25")
    }
    result = compare(share["semantic"], share["bm25"], threshold=0.025)
    assert (result.wins, result.losses, result.ties) == (2, 1, 0)
    assert not result.better


def search(query, *documents):
    return Call(tool="search", arguments={"query": query}, returned_ids=documents, observation="oak desk")


TRACES = [
    Trace(
        query_id="q1",
        context="bm25",
        request="lamp",
        picks=["a", "b", "x"],
        calls=[search("lamp", "a", "b", "x")],
    ),
    Trace(
        query_id="q2",
        context="bm25",
        request="big chair",
        picks=["d", "e"],
        calls=[search("chair", "c", "d", "e"), search("oak chair small", "e", "x", "y")],
    ),
    Trace(
        query_id="q3",
        context="bm25",
        request="rug",
        picks=["g", "x", "y"],
        calls=[search("rug", "g", "x", "y")],
    ),
    Trace(
        query_id="q1",
        context="semantic",
        request="lamp",
        picks=["a", "b", "x"],
        calls=[search("lamp", "b", "a", "x")],
    ),
    Trace(
        query_id="q2",
        context="semantic",
        request="big chair",
        picks=["c", "d", "z"],
        calls=[search("chair", "c", "d", "e")],
    ),
    Trace(
        query_id="q3",
        context="semantic",
        request="rug",
        picks=["f", "g", "x"],
        calls=[search("rug", "f", "g", "x")],
    ),
]


def test_what_is_printed_of_an_agent_s_traces():
    rows = score_traces(TRACES, QRELS, k=3, answers=ANSWERS).to_frame()
    first = rows.pivot(index="query_id", columns="context", values="first_search")
    assert (first["bm25"] == first["semantic"]).sum() == 3
    of = {context: rows[rows["context"] == context] for context in ("bm25", "semantic")}

    def counted(column):
        return tuple(int(part[column].sum()) for part in of.values())

    assert counted("keeps_query") == (2, 2)
    assert counted("searches") == (4, 3)
    assert tuple(int((part["searches"] == 1).sum()) for part in of.values()) == (2, 3)
    assert counted("returns_context") == (1, 2)  # bm25's q3; semantic's q2 and q3
    assert counted("words_added") == (2, 0)  # "oak", which the tool had shown, and "small"
    assert counted("words_shown") == (1, 0)
    assert counted("picks_not_returned") == (0, 1)
    assert counted("picks_unjudged") == (3, 3)
    assert counted("picks_missing") == (1, 0)
    assert tuple(int((part["returned_exact"] == 0).sum()) for part in of.values()) == (1, 0)
    assert counted("saw_and_picked_none") == (1, 0)
    assert [part["precision"].mean() for part in of.values()] == pytest.approx([1 / 9, 3 / 9])
    assert [part["first_search_precision"].mean() for part in of.values()] == pytest.approx([2 / 9, 3 / 9])
