"""What may be served: permissions, principals, erasure; each guard by what it refuses."""

from __future__ import annotations

import pytest

from pytest_retrieval import InputError, Run, self_retrieval
from pytest_retrieval.assertions import (
    assert_erased,
    assert_permitted,
    assert_requires_principal,
    assert_self_retrieval,
)


def test_what_may_not_be_read_is_named_with_its_stage():
    staged = Run({"q": ["a"]}, stages={"dense": Run({"q": ["a", "secret"]})})
    with pytest.raises(AssertionError, match="q: secret at rank 2 of stage dense"):
        assert_permitted(staged, ["a", "b"])
    assert_permitted(Run({"q": ["a"], "r": ["b"]}), {"q": ["a"], "r": ["b"]})
    with pytest.raises(AssertionError, match="1 of 2 rankings is not permitted:\n  r: a at rank 1"):
        assert_permitted(Run({"q": ["a"], "r": ["a"]}), {"q": ["a"], "r": ["b"]})


def test_k_means_k_documents_that_may_be_read():
    """Three of ten were left by a filter after the search, though seven may be read."""
    may = [f"d{n}" for n in range(7)]
    with pytest.raises(AssertionError, match="3 of 7 documents that its principal may read"):
        assert_permitted(Run({"q": may[:3]}), may, k=10)
    assert_permitted(Run({"q": may}), may, k=10)
    assert_permitted(Run({"q": may[:3]}), may, k=3)


def test_a_query_without_a_permission():
    with pytest.raises(InputError, match="query 'r'"):
        assert_permitted(Run({"r": ["a"]}), {"q": ["a"]})


def guarded(query, k, *, principal):
    if not principal:
        raise PermissionError("no principal")
    return ["a"]


def lenient(query, k, principal="everyone"):
    if principal is None:
        raise PermissionError("no principal")
    return ["a"] if principal else []


def test_a_search_that_insists():
    assert_requires_principal(guarded, query="oak", principal="ann")


def test_a_search_that_answers_whoever_asks():
    with pytest.raises(AssertionError) as caught:
        assert_requires_principal(lenient, query="oak", principal="ann")
    # An empty list without a principal is silence, not a failure.
    assert str(caught.value).splitlines()[1:] == ["  left out: returned ['a']", "  principal='': returned []"]


def test_a_search_that_fails_for_everybody_proves_nothing():
    with pytest.raises(AssertionError, match="would prove nothing"):
        assert_requires_principal(lambda query, k, tenant: [], query="x", principal="t", name="tenant")

    def broken(query, k, principal):
        raise ConnectionError("down")

    with pytest.raises(ConnectionError):
        assert_requires_principal(broken, query="oak", principal="ann")


def test_an_async_search():
    async def search(query, k, *, principal):
        return guarded(query, k, principal=principal)

    assert_requires_principal(search, query="oak", principal="ann")

    async def open_to_all(query, k, principal=None):
        return ["a"]

    with pytest.raises(AssertionError, match="left out"):
        assert_requires_principal(open_to_all, query="oak", principal="ann")


LITERAL = "Maria Brandt, Lindenweg 4"


def test_what_was_erased_is_looked_for_everywhere():
    texts = {"d1": "something else", "d7#2": "written to  maria brandt, Lindenweg 4 on Monday"}
    assert_erased(lambda query, k: ["d1"], {"d7": LITERAL}, texts=texts, elsewhere={"cache": ["nothing"]})
    for search, elsewhere, told in (
        (lambda query, k: ["d1", "d7"], {}, "finds it at rank 2"),
        (lambda query, k: ["d7#2"], {}, "d7#2, at rank 1, holds"),
        (lambda query, k: {"dense": ["d7"], "fused": ["d1"]}, {}, "finds it at rank 1 of stage dense"),
        (lambda query, k: [], {"summaries": ["ok", f"… {LITERAL} …"]}, "summaries holds"),
    ):
        with pytest.raises(AssertionError, match="1 erased document still there") as caught:
            assert_erased(search, {"d7": [LITERAL]}, texts=texts, elsewhere=elsewhere)
        assert told in str(caught.value)


@pytest.mark.parametrize("strings", ["", [], ["  "]])
def test_erasure_needs_words(strings):
    with pytest.raises(InputError, match="'d7'"):
        assert_erased(lambda query, k: [], {"d7": strings})


@pytest.mark.parametrize("allowed", ["d12", {"q": "d12"}])
def test_a_string_is_no_set_of_ids(allowed):
    """d1 is a part of d12, and would be permitted."""
    with pytest.raises(InputError, match="`allowed` is 'd12' for query 'q'; a set or list of ids is needed"):
        assert_permitted(Run({"q": ["d1"]}), allowed)


def test_nothing_checked_is_nothing_permitted_and_nothing_erased():
    with pytest.raises(InputError, match="the run has no query, so nothing was checked"):
        assert_permitted(Run({}), {"d1"})
    with pytest.raises(InputError, match="no erased document was given, so nothing was checked"):
        assert_erased(lambda query, k: [], {})


def test_documents_that_nobody_asked_for_are_told():
    catalog = {"p1": "oak table", "p2": "steel lamp", "p3": "wool rug", "p4": "wool rug"}
    sweep = self_retrieval(lambda query, k: ["p1", "p2"], catalog)
    with pytest.raises(AssertionError, match="2 of 4 documents have no string of their own") as error:
        assert_self_retrieval(sweep)
    assert "p3, p4" in str(error.value)
    assert "assert_self_retrieval(sweep, unasked=0.5)" in str(error.value)
    assert_self_retrieval(sweep, unasked=0.5)
    by_id = self_retrieval(lambda query, k: ["p1", "p2", "p3", "p4"], catalog, identifier="doc_id")
    assert_self_retrieval(by_id)
