"""Names of splits: a slip is found, a name of its own is left alone."""

from __future__ import annotations

import pytest

from pytest_retrieval.files.splits import misspelt, misspelt_messages


@pytest.mark.parametrize(
    "name, near",
    [
        ("tset", "test"), ("tst", "test"), ("tests", "test"), ("Test", "test"), ("TEST", "test"),
        ("testing", "test"), ("trian", "train"), ("tain", "train"), ("Train", "train"), ("trainn", "train"),
        ("Dev", "dev"), ("devv", "dev"), ("validaton", "validation"), ("Validation", "validation"),
    ],
)  # fmt: skip
def test_a_usual_name_misspelt(name, near):
    assert misspelt({"train": 140, name: 60}) == {name: near}


@pytest.mark.parametrize(
    "names",
    [
        ["train", "dev", "test"], ["training", "validation", "test"], ["train", "val", "eval", "test"],
        ["train", "valid", "holdout"], ["fold1", "fold2", "fold3"], ["test_easy", "test_hard", "test"],
        ["2023-01", "2023-02"], ["test1", "test2", "test"], ["holdout a", "holdout b"],
        ["seen", "unseen"], ["known", "unknown"], ["de", "en", "dev"],
        ["public", "private"], ["a", "b"],
    ],
)  # fmt: skip
def test_names_of_their_own(names):
    assert misspelt(dict.fromkeys(names, 5)) == {}


def test_a_larger_split_is_what_was_meant():
    assert misspelt({"holduot": 2, "holdout": 60}) == {"holduot": "holdout"}
    assert misspelt({"Gold": 3, "gold": 60}) == {"Gold": "gold"}


def test_of_two_of_one_size_the_later_is_the_slip():
    assert misspelt({"gold": 3, "Gold": 3}) == {"Gold": "gold"}


def test_one_message_a_split_at_its_first_query():
    split_of = {"q1": "train", "q2": "tset", "q3": "test", "q4": "tset", "q5": "tset", "q6": "tset"}
    assert misspelt_messages(split_of, "say so") == {
        "q2": "split 'tset' (4 queries: q2, q4, q5 and 1 more) looks like 'test'; correct it, or, if it is"
        " meant, say so"
    }
