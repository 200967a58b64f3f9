"""The two tie rules."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pytest_retrieval.model.columns import objects
from pytest_retrieval.model.order import by_score, first_of_each, query_of_each


def ranked(ids, scores, starts=None, **options):
    ids = objects(ids)
    starts = np.array([0, len(ids)] if starts is None else starts)
    return ids[by_score(ids, np.array(scores, dtype=float), starts, **options)].tolist()


def test_score_descending_then_id_descending():
    assert ranked(["a", "b", "c", "d"], [1, 2, 1, 0.5]) == ["b", "c", "a", "d"]


def test_ids_ascending_for_rankings_we_derive():
    assert ranked(["c", "b", "a", "d"], [1, 2, 1, 0.5], ties="ascending") == ["b", "a", "c", "d"]


def test_ids_are_strings_by_code_point():
    assert ranked(["10", "9", "a", "Z", "é", "语"], [0] * 6) == ["语", "é", "a", "Z", "9", "10"]


def test_infinities_are_ordinary_and_zeros_are_equal():
    assert ranked(["a", "b", "c"], [-np.inf, np.inf, 0]) == ["b", "c", "a"]
    assert ranked(["a", "b"], [np.inf, np.inf]) == ["b", "a"]
    assert ranked(["a", "b"], [0.0, -0.0]) == ["b", "a"]


def test_queries_keep_their_rows():
    assert ranked(["a", "b", "a", "b"], [1, 2, 2, 1], [0, 2, 2, 4]) == ["b", "a", "a", "b"]
    # Equal scores of neighbouring queries are no tie.
    assert ranked(["a", "b"], [1, 1], [0, 1, 2]) == ["a", "b"]


def test_nothing_to_order():
    assert ranked([], []) == []
    assert query_of_each(np.array([0])).tolist() == []
    assert first_of_each(np.array([], dtype=np.int64)).tolist() == []


def test_float64_scores_are_not_rounded():
    # As float32 the two would be equal, and b would stand first.
    assert ranked(["b", "a"], [1.0, 1.0 + 1e-12]) == ["a", "b"]


blocks = st.lists(
    st.dictionaries(st.text("ab9é", min_size=1, max_size=3), st.integers(0, 3).map(float), max_size=8),
    max_size=4,
)


@given(blocks)
def test_against_pythons_own_sort(queries):
    ids = [doc for query in queries for doc in query]
    scores = [score for query in queries for score in query.values()]
    starts = np.cumsum([0, *map(len, queries)])
    descending = [d for q in queries for d in sorted(sorted(q, reverse=True), key=lambda doc: -q[doc])]
    ascending = [d for q in queries for d in sorted(sorted(q), key=lambda doc: -q[doc])]
    assert ranked(ids, scores, starts) == descending
    assert ranked(ids, scores, starts, ties="ascending") == ascending
