"""Ids in a text: whole tokens or a declared pattern, never a guess."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_retrieval import InputError
from pytest_retrieval.measures.tokens import compiled, find_ids, ids_in_text


@pytest.mark.parametrize(
    "text, found",
    [
        ("Take F12.", ["F12"]),
        ("F12, F12 and F1", ["F12", "F1"]),
        ("(F12)", ["F12"]),
        ("XF12 F12X F12_ _F12 1F12", []),
        ("F12-a F12.5", ["F12.5"]),
        ("F12- and F12.", ["F12"]),
        ("a/F12 F12/b", []),
        ("F12: a lamp", ["F12"]),
        ("see #F12", ["F12"]),
        ("item#F12", []),
        ("f12", []),
        ("", []),
    ],
)
def test_whole_tokens(text, found):
    assert list(ids_in_text(text, {"F1", "F12", "F12.5"})) == found


@pytest.mark.parametrize("number", ["7", "2024", "1.5", "1,000"])
def test_an_id_that_looks_like_a_number_is_never_guessed(number):
    assert ids_in_text(f"It has {number} legs and costs F1.", {number, "F1"}) == ("F1",)
    assert ids_in_text(f"It has {number} legs.", {number}) == ()
    assert ids_in_text(f"Take (ID: {number}).", {number}, r"ID: ([\d.,]+\d|\d)") == (number,)


def test_a_longer_id_is_not_read_as_a_shorter_one():
    assert ids_in_text("c-1-2 c-1", {"c-1", "c-1-2"}) == ("c-1-2", "c-1")
    assert ids_in_text("c-1-2", {"c-1"}) == ()


def test_an_id_inside_a_word_does_not_hide_the_next():
    """The search goes on one sign after a match that is no token, not behind it."""
    assert ids_in_text("xa b c", {"a b", "b c"}) == ("b c",)
    assert ids_in_text("xaa aa", {"aa"}) == ("aa",)
    assert [found.start for found in find_ids("xaa aa aa", {"aa"})] == [4, 7]


def test_signs_at_the_edge_of_an_id_need_no_gap():
    assert ids_in_text("see[7]and(b)", {"[7]", "(b)"}) == ("[7]", "(b)")


def test_a_pattern_gives_its_group_or_the_whole_match():
    text = "Take [lamp](/p/LMP-1.0) or [rug](/p/R_2)."
    assert ids_in_text(text, (), r"\]\(/p/([\w.-]+)\)") == ("LMP-1.0", "R_2")
    assert ids_in_text("SKU-1 and SKU-22", (), r"SKU-\d+") == ("SKU-1", "SKU-22")
    found = list(find_ids("Take (ID: 40).", (), r"ID: (\d+)"))
    assert [("Take (ID: 40)."[one.start : one.end], one.doc_id) for one in found] == [("40", "40")]


def test_a_pattern_that_matches_inside_a_word_or_matches_nothing():
    assert ids_in_text("XSKU-1 SKU-12", (), r"SKU-\d") == ()
    assert ids_in_text("SKU- and SKU-1", (), r"SKU-(\d)?") == ("1",)


def test_a_pattern_that_is_none():
    with pytest.raises(InputError, match=r"pattern '\(' is no regular expression"):
        compiled("(")
    with pytest.raises(InputError, match="is no regular expression"):
        ids_in_text("a", (), "[")


IDS = st.text("abF-.1", min_size=1, max_size=4)


@example(known={"F"}, words=["1..F"])
@given(st.sets(IDS, min_size=1, max_size=5), st.lists(IDS, max_size=6))
def test_words_that_are_ids_are_found_and_no_other(known, words):
    """Against splitting at white space and at two signs in a row, such as an ellipsis."""
    whole = r"\w+([-.]\w+)*"
    telling = {one for one in known if re.fullmatch(whole, one) and not re.fullmatch(r"[\d.,]+", one)}
    plain = [word for word in words if re.fullmatch(r"\w|\w.*\w", word)]
    tokens = [token for word in plain for token in re.split(r"[-.]{2,}", word)]
    expected = tuple(dict.fromkeys(token for token in tokens if token in telling))
    assert ids_in_text("  ".join(plain), telling) == expected
