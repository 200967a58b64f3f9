"""The ruler: each change of judgments, queries, strata and catalog is told apart and named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_retrieval.gate.cells import Cell
from pytest_retrieval.gate.ruler import counted, input_notes, judgment_changes, pairing, ruler_notes, strays

from .conftest import GOLD, QUERIES, run

WORDS = Cell("bm25", "recall@2", "words")


def test_nouns_agree_with_their_numbers():
    assert [counted(n, "query", "queries") for n in (0, 1, 2)] == ["0 queries", "1 query", "2 queries"]


def test_nothing_changed(make, pin):
    goldset = make()
    pins = pin(goldset)
    lines = pins.evidence["bm25"]
    found = pairing(goldset, lines)
    assert found.paired == ("i1", "i2", "w1", "w2")
    assert found.notes == ()
    assert judgment_changes(goldset, lines, found.paired) == []
    assert ruler_notes(goldset, pins.cells[WORDS], lines, ["w1", "w2"], "words") == ()
    assert strays(goldset, lines) == ()
    assert input_notes(goldset, pins.cells[WORDS], ()) == ()


def test_queries_of_one_side_are_named(make, pin):
    queries = [
        {**QUERIES[0], "query": "HX-9"},
        *QUERIES[1:3],
        {"query_id": "w3", "query": "rug", "stratum": "words"},
    ]
    gold = {q: GOLD[q] for q in ("i1", "i2", "w1")} | {"w3": {"a": 2}}
    found = pairing(make(queries, gold), pin(make()).evidence["bm25"])
    assert (found.paired, found.added, found.reworded, found.removed) == (
        ("i2", "w1"),
        ("w3",),
        ("i1",),
        ("w2",),
    )
    assert [note.split(":")[0].split(";")[0] for note in found.notes] == [
        "1 query added and not pinned yet",
        "1 query reworded",
        "1 query removed",
    ]
    assert all(name in note for name, note in zip(("w3", "i1", "w2"), found.notes, strict=True))


def test_every_changed_grade_is_named(make, pin):
    pins = pin(make())
    gold = {**GOLD, "w1": {"c": 1, "d": 2, "x": 2}, "w2": {"e": 2, "x": 0}}
    today = make(gold=gold, grades={"irrelevant": 0, "partial": 1, "exact": 2})
    lines = pins.evidence["bm25"]
    assert judgment_changes(today, lines, ["w1", "w2"]) == [
        ("w1", "a", 1, None),
        ("w1", "c", 2, 1),
        ("w1", "x", None, 2),
        ("w2", "x", None, 0),
    ]
    (note,) = ruler_notes(today, pins.cells[WORDS], lines, ["w1", "w2"], "words")
    assert note == (
        "ruler changed: 4 judgments: w1 a partial → unjudged, w1 c exact → partial, w1 x unjudged → exact,"
        " w2 x unjudged → irrelevant"
    )


def test_grades_without_names_are_numbers(make, pin):
    today = make(gold={**GOLD, "w2": {"e": 3}})
    (note,) = ruler_notes(today, pin(make()).cells[WORDS], pin(make()).evidence["bm25"], ["w2"], "words")[:1]
    assert "w2 e 2 → 3" in note


def test_another_relevance_level(make, pin):
    notes = ruler_notes(
        make(relevance_level=1), pin(make()).cells[WORDS], pin(make()).evidence["bm25"], ["w1", "w2"], "words"
    )
    assert notes == ("ruler changed: relevance level 2 → 1",)


def test_queries_that_changed_their_stratum(make, pin):
    pins = pin(make())
    lines = pins.evidence["bm25"]
    assert ruler_notes(make(), pins.cells[WORDS], lines, ["w1", "i1"], "words") == (
        "strata moved: 1 query came into words: i1",
        "strata moved: 1 query left words: w2",
    )


def catalog_notes(make, pin, listed, **changed):
    """Return the notes on today's catalog, for a pin that was made over another."""
    pins = pin(make())
    gold = {"i1": {"a": 2}, "i2": {"b": 2}, "w1": {"c": 2}, "w2": {"e": 2}}
    today = make(documents=listed, gold=gold)
    return input_notes(today, replace(pins.cells[WORDS], **changed), strays(today, pins.evidence["bm25"]))


def test_documents_that_were_added_or_deleted(make, pin):
    assert catalog_notes(make, pin, "abcdexyzq") == (
        "input changed: documents were added to the catalog or deleted from it, 8 → 9 documents",
    )
    assert catalog_notes(make, pin, "abcdexz")[1] == (
        "input changed: 1 document of the pinned rankings not in the catalog, and not relevant today: y"
    )


def test_an_older_pin_does_not_know_how_many_documents_there_were(make, pin):
    (note,) = catalog_notes(make, pin, "abcdexyzq", documents=None, document_ids="")
    assert note == "input changed: documents were added to the catalog or deleted from it"


def test_the_same_documents_with_another_text(make, pin):
    pins = pin(make())
    goldset = make()
    (note,) = input_notes(goldset, replace(pins.cells[WORDS], catalog="0" * 12), ())
    assert note == "input changed: the catalog lists the same 8 documents, and the text of some changed"


def test_a_pin_of_a_gold_set_without_catalog_says_nothing_of_it(make, pin):
    pins = pin(make())
    assert input_notes(make(), replace(pins.cells[WORDS], catalog=""), ()) == ()


def test_a_catalog_that_is_gone(make, pin):
    pins = pin(make())
    assert strays(make(documents=None), pins.evidence["bm25"]) == ()
    notes = input_notes(make(documents=None), pins.cells[WORDS], ())
    assert notes == () or "8 → 0 documents" in notes[0]


def test_a_pinned_document_that_no_catalog_ever_listed_is_named(make, pin):
    """An edit of the evidence does not change the catalog's digest."""
    pins = pin(make())
    lines = {**pins.evidence["bm25"]}
    lines["w2"] = replace(lines["w2"], ranking=(*lines["w2"].ranking, "made-up"))
    notes = input_notes(make(), pins.cells[WORDS], strays(make(), lines))
    (note,) = notes
    assert note.endswith(
        "1 document of the pinned rankings not in the catalog, and not relevant today: made-up"
    )


@pytest.mark.parametrize("stratum, members", [("all", ["i1", "i2", "w1", "w2"]), ("slice:colour", ["w1"])])
def test_all_and_slices_hold_what_they_held(make, pin, stratum, members):
    pins = pin(make(), run())
    assert ruler_notes(make(), pins.cells[WORDS], pins.evidence["bm25"], members, stratum) == ()
