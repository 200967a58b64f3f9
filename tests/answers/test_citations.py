"""Citations in a field, by position, inline, as links: everything cited must have been shown."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_retrieval import Answer, InputError, check_citations


def answer(text="", cited=(), context=("a-1", "b.2", "c3")):
    return Answer("q1", "bm25", context, cited, text)


def test_a_field_of_ids_that_were_shown():
    found = check_citations(answer(cited=["b.2", "a-1"]))
    assert found.cited == ("b.2", "a-1")
    assert found.grounded
    assert found.agree
    assert found.problems == ()


def test_outside_repeated_and_too_many():
    found = check_citations(answer(cited=["b.2", "z", "b.2", "c3"]), allowed=2)
    assert found.outside == ("z",)
    assert found.repeated == ("b.2",)
    assert found.over_allowed == 1
    assert not found.grounded
    assert found.problems == (
        "cites z, which the context did not hold",
        "cites b.2 more than once",
        "cites 1 more than it may",
    )


@pytest.mark.parametrize(
    "first, text, cited, dangling",
    [
        (1, "So [1] and [3].", ("a-1", "c3"), ()),
        (0, "So [0] and [2].", ("a-1", "c3"), ()),
        (1, "So [0] and [4].", (), ("[0]", "[4]")),
        (0, "So [3].", (), ("[3]",)),
        (1, "All of it [1, 2; 3].", ("a-1", "b.2", "c3"), ()),
        (1, "A list [1][2] of [ 3 ].", ("a-1", "b.2", "c3"), ()),
        (1, "All of it [1-3], or [1–2, 3].", ("a-1", "b.2", "c3"), ()),
        (0, "Up to the end [1-2], and past it [1-3].", ("b.2", "c3"), ("[1-3]",)),
        (1, "An array a[i], a month [2024-01], a date [2024-01-01], a word [sic].", (), ()),
        (1, "Twice [2], again [2].", ("b.2",), ()),
    ],
)
def test_positions(first, text, cited, dangling):
    found = check_citations(answer(text), positions=first)
    assert found.cited == cited
    assert found.dangling == dangling
    assert found.grounded == (not dangling)


def test_the_place_of_a_position_is_told():
    found = check_citations(answer("So [2]."), positions=1)
    assert [(one.doc_id, one.start, one.end) for one in found.in_text] == [("b.2", 4, 5)]


@pytest.mark.parametrize(
    "text, named",
    [
        ("Take a-1.", ("a-1",)),
        ("Take (b.2), or a-1!", ("b.2", "a-1")),
        ("Not xa-1, a-12, a-1-b, b.2.3 nor c3d.", ()),
        ("c3: fits. c3/extra does not.", ("c3",)),
        ("«c3», “b.2”, 'a-1'", ("c3", "b.2", "a-1")),
    ],
)
def test_inline_ids_are_whole_tokens(text, named):
    assert tuple(dict.fromkeys(one.doc_id for one in check_citations(answer(text)).in_text)) == named


def test_an_id_that_looks_like_a_number_is_never_guessed():
    sized = Answer("q1", context_ids=["48", "8171"], cited_ids=["8171"], text='A 48" table (ID: 8171).')
    assert check_citations(sized).in_text == ()
    by_pattern = check_citations(sized, pattern=r"ID: (\d+)")
    assert [one.doc_id for one in by_pattern.in_text] == ["8171"]
    assert by_pattern.agree


def test_links_by_a_declared_pattern():
    text = "See [the desk](/p/a-1) and [another](/p/zz-9)."
    found = check_citations(answer(text), pattern=r"\]\(/p/([\w.-]+)\)")
    assert [one.doc_id for one in found.in_text] == ["a-1", "zz-9"]
    assert found.outside == ("zz-9",)


def test_text_and_field_that_disagree():
    found = check_citations(answer("Take a-1 and c3.", cited=["a-1", "b.2"]))
    assert found.only_in_text == ("c3",)
    assert found.only_in_field == ("b.2",)
    assert not found.agree
    assert found.grounded


def test_a_text_without_citations_disagrees_with_no_field():
    assert check_citations(answer("Nothing is named here.", cited=["a-1"])).agree


def test_a_longer_id_wins_over_one_that_begins_it():
    both = Answer("q1", context_ids=["F1", "F1.2"], text="F1.2 it is")
    assert [one.doc_id for one in check_citations(both).in_text] == ["F1.2"]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"positions": 2}, "allowed are 0 and 1"),
        ({"positions": True}, "allowed are 0 and 1"),
        ({"pattern": "("}, "no regular expression"),
        ({"allowed": -1}, "a whole number from 0"),
        ({"texts": {}}, "give the text of each"),
    ],
)
def test_arguments_that_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        check_citations(answer("a-1"), **options)


def test_a_text_that_cites_by_position_needs_no_field():
    answer = {"query_id": "q", "context_ids": ["a"], "text": "So [1]."}
    assert check_citations(answer, positions=1).cited == ("a",)
    assert check_citations(answer, pattern=r"a").cited == ()
    with pytest.raises(InputError, match="has no cited_ids"):
        check_citations(answer)


@pytest.mark.parametrize(
    "value, message",
    [
        ([], "takes one answer, and was given 0"),
        ({"context_ids": ["a"]}, "has no query_id"),
        ({"query_id": "q", "cited_ids": "a"}, "a list of ids is needed"),
        ({"query_id": "q", "cited_ids": [7]}, "ids are strings"),
        ("a text", "a list of Answer"),
    ],
)
def test_values_that_are_no_answer(value, message):
    with pytest.raises(InputError, match=message):
        check_citations(value)


def test_the_check_imports_no_pytest():
    code = (
        "import sys; from pytest_retrieval import Answer, check_citations, score_answers, Qrels;"
        "check_citations(Answer('q', context_ids=['a'], cited_ids=['b']));"
        "score_answers([Answer('q', context_ids=['a'])], Qrels({'q': ['a']}));"
        "assert 'pytest' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
