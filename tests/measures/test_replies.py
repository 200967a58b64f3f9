"""The join of replies with judgments, row by row."""

from __future__ import annotations

import math

from pytest_retrieval import Qrels, Run
from pytest_retrieval.measures.replies import join_replies
from pytest_retrieval.model.run import Reply

QRELS = Qrels({"q1": {"a": 2, "b": 0}, "q2": {"c": 1}, "q3": {}})


def rows(query, *columns):
    return [tuple(row) for row in zip(query.tolist(), *(column.tolist() for column in columns), strict=True)]


def test_one_row_per_distinct_document():
    run = Run(
        {"q1": ["a"], "q3": ["z"]},
        replies={
            "q1": (Reply(shown=("a", "u", "a"), cited=("a", "b", "x", "a")),),
            "q3": (Reply(shown=("z",), cited=("z",)),),
        },
    )
    joined = join_replies(QRELS, run)
    assert joined.answered.tolist() == [True, False, True]
    cited = rows(joined.cited_query, joined.cited_grade, joined.cited_judged, joined.cited_shown)
    assert cited == [
        (0, 2, True, True),  # a
        (0, 0, True, False),  # b: judged, and never shown
        (0, 0, False, False),  # x
        (2, 0, False, True),  # z
    ]
    shown = rows(joined.shown_query, joined.shown_grade, joined.shown_judged)
    assert shown == [(0, 2, True), (0, 0, False), (2, 0, False)]
    assert joined.numbers == {}


def test_numbers_are_aligned_with_the_queries():
    run = Run(
        {"q1": ["a"], "q2": ["c"]},
        replies={"q1": (Reply((), (), {"steps": 3}),), "q2": (Reply((), (), {"label:x": 0.5}),)},
    )
    numbers = join_replies(QRELS, run).numbers
    assert list(numbers) == ["label:x", "steps"]
    assert numbers["steps"][0] == 3
    assert numbers["label:x"][1] == 0.5
    assert [math.isnan(value) for value in numbers["steps"]] == [False, True, True]


def test_only_the_first_of_several_replies_is_joined():
    run = Run({"q1": ["a"]}, replies={"q1": (Reply((), ("a",)), Reply((), ("b",)))})
    assert join_replies(QRELS, run).cited_grade.tolist() == [2]


def test_a_plain_run_has_no_replies_and_an_empty_one_may():
    assert join_replies(QRELS, Run({"q1": ["a"]})) is None
    joined = join_replies(QRELS, Run({}))
    assert joined.answered.tolist() == [False, False, False]
    assert len(joined.cited_query) == len(joined.shown_query) == 0
