"""recordings/README.md says of the recordings what they hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_retrieval import load_goldset, load_recording, score_answers, score_traces

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "recordings" / "README.md").read_text(encoding="utf-8")

ANSWERS = {
    "answers": "answers",
    "contexts that hold something exact": "contexts_with_exact",
    "documents cited": "cited",
    "of those, exact": "exact_cited",
    "answers that cite outside their context": "answers_citing_outside",
    "answers that recommend nothing": "recommend_nothing",
    "of those, with something exact in the context": "recommend_nothing_with_exact",
    "replies that break the schema": "broken",
    "mean exact share": "exact_share",
    "mean share of citations that were shown": "grounded",
    "unanswerable questions declined": "declined",
}
TRACES = {
    "traces": "traces",
    "searches": "searches",
    "traces with one search": "one_search",
    "first searches that keep the question": "keep_query",
    "words that later searches add": "words_added",
    "of those, words the tool had shown": "words_shown",
    "traces whose searches returned nothing exact": "returned_no_exact",
    "traces that saw something exact and picked none": "saw_and_picked_none",
    "picks": "picks",
    "picks that no search returned": "picks_not_returned",
    "traces that failed, their last reply cut short": "failed",
    "precision@3 of the picks": "precision",
    "precision@3 of the first search's own top 3": "first_search_precision",
}


@pytest.fixture(scope="module")
def goldset():
    return load_goldset(ROOT / "goldsets" / "furniture")


def rows(head):
    """Return label → cells of the table whose first cell is `head`, and the other cells of its header."""
    table = re.search(rf"^\| {head} \|(.*)\|\n\|[- :|]+\|\n((?:\|.*\|\n)+)", PAGE, re.M)
    cells = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table[2].splitlines()]
    return {first: rest for first, *rest in cells}, [name.strip() for name in table[1].split("|")]


def shown(value):
    return str(int(value)) if (value == int(value) and value >= 1) or value == 0 else f"{value:.3f}"


def test_the_figures_of_the_answers(goldset):
    table, contexts = rows("shop-answers")
    figures = score_answers(
        load_recording(ROOT / "recordings" / "shop-answers", goldset), goldset.qrels
    ).by_context()
    assert contexts == list(figures)
    assert set(table) == set(ANSWERS)
    for label, cells in table.items():
        assert cells == [shown(figures[context][ANSWERS[label]]) for context in contexts], label


def test_the_figures_of_the_agent(goldset):
    table, contexts = rows("shop-agent")
    figures = score_traces(
        load_recording(ROOT / "recordings" / "shop-agent", goldset), goldset.qrels
    ).by_context()
    assert contexts == list(figures)
    assert set(table) == set(TRACES)
    for label, cells in table.items():
        assert cells == [shown(figures[context][TRACES[label]]) for context in contexts], label


def test_the_recordings_fit_the_gold_set_as_it_is(goldset):
    for folder in (ROOT / "recordings").iterdir():
        if folder.is_dir() and (folder / "manifest.toml").exists():
            recording = load_recording(folder, goldset)
            assert recording.notes == ()
            assert (folder / "raw" / "replies.jsonl").is_file()
            assert "/" not in recording.manifest["model"]
