"""ScholarQABench: experts' answers with [n] citations, three of which point past the list."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter

import pytest

from pytest_retrieval import Answer, assert_grounded, check_citations

COLLECTION = "scholarqabench"


@pytest.fixture(scope="module")
def answers(data):
    path = data / "scholarqa_multi.human_answers.json.gz"
    lines = json.loads(gzip.decompress(path.read_bytes()))
    return [
        Answer(line["id"], context_ids=[f"{line['id']}/{n}" for n in range(len(line["ctxs"]))], text=text)
        for line in lines
        if isinstance(text := line["output"], str)
    ]


@pytest.fixture(scope="module")
def checked(answers):
    return [(answer, check_citations(answer, positions=0)) for answer in answers]


def test_every_citation_of_the_collection_is_found(answers, checked):
    assert (len(answers), sum(len(answer.context_ids) for answer in answers)) == (108, 647)
    alone = sum(
        answer.text[one.start - 1] == "[" and answer.text[one.end] == "]"
        for answer, found in checked
        for one in found.in_text
        if answer.text[one.start : one.end].isdigit()
    )
    dangling = [
        mark for answer, found in checked for mark in found.dangling if answer.text.count(mark)
    ]  # a number that shares its brackets is nowhere written so
    dangling = [mark for mark in dangling if mark[1:-1].isdigit()]
    assert sorted(dangling) == ["[4]", "[6]", "[6]"]
    assert alone + len(dangling) == 718


def test_each_mark_leads_to_the_passage_of_its_number(checked):
    for answer, found in checked:
        for one in found.in_text:
            number = answer.text[one.start : one.end]
            if number.isdigit():
                assert one.doc_id == f"{answer.query_id}/{number}"


def test_marks_that_share_their_brackets_are_held_against_the_list_too(checked):
    """Seven more that the collection's count leaves out, read off the texts: number and passages shown."""
    found = Counter((mark, len(a.context_ids)) for a, one in checked for mark in one.dangling)
    alone = Counter({("[4]", 3): 1, ("[6]", 5): 2})
    shared = {("[2-3]", 3): 1, ("[1-4]", 4): 1, ("[6]", 6): 1, ("[7]", 7): 3, ("[10]", 10): 1}
    assert found == alone + Counter(shared)


def test_ranges_and_lists_by_hand(checked):
    """Count what every bracket of numbers names, written down independently of the check."""
    for answer, found in checked:
        expected = []
        for inside in re.findall(r"\[([\d,\s-]+)\]", answer.text):
            for part in inside.split(","):
                ends = [int(end) for end in part.split("-")]
                expected += range(ends[0], ends[-1] + 1)
        held = [f"{answer.query_id}/{n}" for n in expected if n < len(answer.context_ids)]
        assert [one.doc_id for one in found.in_text] == held


def test_the_helper_fails_on_just_those_answers(answers, checked):
    broken = {answer.query_id for answer, found in checked if found.dangling}
    assert len(broken) == 9
    with pytest.raises(AssertionError) as error:
        assert_grounded(answers, positions=0)
    assert str(error.value).startswith("9 of 108 answers are not grounded:")
    assert_grounded([answer for answer in answers if answer.query_id not in broken], positions=0)
