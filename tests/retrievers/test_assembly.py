"""Contexts: each kind of finding by a context made for it, and none where there is nothing to find."""

from __future__ import annotations

from datetime import date

import pandas as pd
import pytest

from pytest_retrieval import Answer, InputError, Run, assert_contexts, check_contexts

CATALOG = {
    "a": {"text": "one two three four five six", "document": "guide", "start": 0, "end": 50},
    "b": {"text": "one two three four five seven", "document": "guide", "start": 40, "end": 90},
    "c": {"text": "one two three four five seven", "document": "note", "start": 40, "end": 90},
    "d": {"text": "entirely other words", "status": "superseded"},
    "e": {"text": "rules of tomorrow", "effective_from": "2025-02-01", "effective_to": "2025-12-31"},
}


def kinds(context, **checks):
    return [(found.kind, found.doc_ids) for found in check_contexts({"q": context}, CATALOG, **checks)]


def test_near_duplicates_by_their_runs_of_three_words():
    """a and c share 3 of 5 runs: 123, 234, 345 of those and 456, 457."""
    assert kinds(["a", "c"], near=0.6) == [("near-duplicate", ("a", "c"))]
    assert kinds(["a", "c"], near=0.61) == []
    (found,) = check_contexts({"q": ["a", "c"]}, CATALOG, near=0.6)
    assert "share 0.60 of their runs" in found.why


def test_chunks_that_overlap():
    assert kinds(["a", "b"], near=0.1) == [("overlapping chunks", ("a", "b"))]
    (found,) = check_contexts({"q": ["a", "b"]}, CATALOG)
    assert str(found) == "q: overlapping chunks: a and b share 10 characters"


def test_chunks_that_only_touch_do_not_overlap():
    catalog = {"a": {"text": "x", "document": "g", "start": 0, "end": 5}}
    catalog |= {"b": {"text": "y", "document": "g", "start": 5, "end": 9}}
    assert check_contexts({"q": ["a", "b"]}, catalog) == ()


def test_the_budget():
    assert kinds(["a", "d"], budget=9) == [("superseded", ("d",))]
    (found, _) = check_contexts({"q": ["a", "d"]}, CATALOG, budget=8)
    assert (found.kind, found.why) == ("over budget", "9 of 8 allowed, over 2 documents")
    assert kinds(["a"], budget=26, count=len) == [("over budget", ("a",))]  # 27 characters
    assert kinds(["a"], budget=27, count=len) == []


def test_a_text_that_was_cut():
    assert kinds(["a"], shown={"a": "one two three…"}) == [("truncated", ("a",))]
    assert kinds(["a"], shown={"a": "one two three four five six\n"}) == []
    assert kinds(["a"], shown={"a": "one two"}, budget=2) == [("truncated", ("a",))]  # what was shown counts


@pytest.mark.parametrize(
    "day, told",
    [
        ("2025-01-31", "not in force before 2025-02-01"),
        ("2025-02-01", ""),
        (date(2025, 12, 31), ""),
        ("2026-01-01", "in force no longer than 2025-12-31"),
        (None, ""),
    ],
)
def test_documents_out_of_force(day, told):
    found = check_contexts({"q": ["e"]}, CATALOG, on=day)
    assert [told in finding.why for finding in found] == ([True] if told else [])


def test_other_words_for_superseded():
    assert kinds(["d"]) == [("superseded", ("d",))]
    assert kinds(["d"], superseded=["withdrawn"]) == []


def test_runs_are_cut_and_answers_are_not():
    frame = pd.DataFrame.from_dict(CATALOG, orient="index")
    assert check_contexts(Run({"q": ["a", "d"]}), frame, k=1) == ()
    found = check_contexts([Answer("q", context_ids=["a", "d"])], frame, k=1)
    assert [one.kind for one in found] == ["superseded"]


@pytest.mark.parametrize(
    "contexts, checks, told",
    [
        ({"q": ["zz"]}, {}, "'zz', which is not in the catalog"),
        ({"q": ["a"]}, {"near": 0}, "near is 0"),
        ({"q": ["a"]}, {"k": 0}, "k is 0"),
        ("abc", {}, "contexts are of type str"),
        ({"q": ["a"]}, {"fields": "name"}, "has no field 'name'"),
    ],
)
def test_what_cannot_be_checked(contexts, checks, told):
    with pytest.raises(InputError, match=told):
        check_contexts(contexts, CATALOG, **checks)


def test_the_assertion_names_what_it_finds():
    assert assert_contexts({"q": ["a"]}, CATALOG) == ()
    with pytest.raises(AssertionError, match="1 finding in contexts:\n  q: superseded: d has the status"):
        assert_contexts({"q": ["a", "d"]}, CATALOG)
