"""Strata are disjoint classes of queries, joined by query id."""

import pytest

from pytest_retrieval.errors import InputError
from pytest_retrieval.measures.strata import aligned, members


def test_aligned_by_id_and_not_by_position():
    assert aligned({"q2": "long", "q1": "short", "other": "x"}, ["q1", "q2"]) == ("short", "long")


def test_queries_without_a_stratum_are_named():
    with pytest.raises(InputError, match="2 judged queries have no stratum: q2, q3"):
        aligned({"q1": "short"}, ["q1", "q2", "q3"])
    with pytest.raises(InputError, match="1 judged query has no stratum: q2"):
        aligned({"q1": "short"}, ["q1", "q2"])


def test_members_sorted_by_stratum_in_order_of_queries():
    assert list(members(["b", "a", "b", "Z"]).items()) == [("Z", [3]), ("a", [1]), ("b", [0, 2])]


def test_no_queries():
    assert aligned({}, []) == ()
    assert members([]) == {}
