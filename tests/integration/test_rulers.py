"""The ruler changed, or nobody knows: what is told apart from worse search."""

from __future__ import annotations

import pytest

from .conftest import GOLD, QUERIES, TOML

UNKNOWN = 'unjudged = "unknown"\n' + TOML


def test_a_grade_that_flipped_is_named_and_does_not_decide(pinned):
    pinned.write_goldset(gold=dict(GOLD, w1={"c": 2, "d": 1, "a": 1}))
    result = pinned.run()
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["note: ruler changed: 1 judgment: w1 d exact → partial"])


def test_a_level_that_changed_is_named(pinned):
    toml = TOML.replace("relevance_level = 2", "relevance_level = 1")
    pinned.write_goldset(toml=toml)
    result = pinned.run()
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["note: ruler changed: relevance level 2 → 1"])


def test_gold_and_ranking_share_the_difference_out(pinned):
    """w3 loses its only relevant document's judgment to e; i1's ranking really falls."""
    pinned.write_goldset(gold=dict(GOLD, i2={"x": 2}))
    pinned.rank(i1=["x"])
    result = pinned.run("-k", "identifier")
    result.stdout.fnmatch_lines(
        [
            "  0.500 → 0.000  (−0.500; *",
            "  pinned as 1.000: −0.5 by changed judgments, queries or strata, then −0.5 by the ranking, *",
        ]
    )


def test_a_query_that_was_reworded_counts_as_new(pinned):
    pinned.write_goldset(queries=dict(QUERIES, w3=("azure rug", "words")))
    pinned.rank(**{"azure rug": ["x"]})
    result = pinned.run()
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [
            "store: 1 query of bm25 has another text than was pinned, *: w3",
            "to pin the new text:  pytest --retrieval-pin=new *",
            "note: 1 query reworded: *: w3",
        ]
    )
    pinned.pin().assert_outcomes(passed=4)
    pinned.run().assert_outcomes(passed=4)


def test_a_query_that_moved_between_strata_is_named(pinned):
    pinned.write_goldset(queries=dict(QUERIES, w2=("oak table", "identifier")))
    result = pinned.run()
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        [
            "note: strata moved: 1 query came into identifier: w2",
            "note: strata moved: 1 query left words: w2",
        ]
    )


def test_a_query_that_was_removed_fails_until_it_is_pinned_away(pinned):
    less = {query_id: row for query_id, row in QUERIES.items() if query_id != "w2"}
    pinned.write_goldset(queries=less, gold={q: GOLD[q] for q in less})
    result = pinned.run()
    result.assert_outcomes(failed=1, passed=3)
    result.stdout.fnmatch_lines(["store: 1 pinned query of bm25 is gated no longer: w2"])
    pinned.pin().assert_outcomes(passed=4)
    pinned.run().assert_outcomes(passed=4)


def test_documents_deleted_from_the_catalog_are_named(pinned):
    pinned.write_goldset(documents="abcdefxz")
    pinned.rank(w2=["x", "e"])
    result = pinned.run()
    result.stdout.fnmatch_lines(
        [
            "note: input changed: documents were added to the catalog or deleted from it, 9 → 8 documents",
            "note: input changed: 1 document of the pinned rankings not in the catalog, *: y",
        ]
    )


def test_a_catalog_whose_text_changed_is_told_apart(pinned):
    catalog = pinned.goldset / "catalog.jsonl"
    catalog.write_text(catalog.read_text().replace("text of a", "other words"))
    result = pinned.run()
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        ["note: input changed: the catalog lists the same 9 documents, and the text *"]
    )


@pytest.fixture
def pool(project):
    """Four judged queries whose results were all judged, and whose new retriever finds unjudged ones."""
    queries = {f"q{n}": (f"text {n}", "many") for n in range(4)}
    project.write_goldset(toml=UNKNOWN, queries=queries, gold={q: {"a": 2, "b": 2, "z": 0} for q in queries})
    project.rank(**{text: ["a", "b"] for text, _ in queries.values()})
    project.pin().assert_outcomes(passed=3)
    return project


def test_a_red_that_judging_could_undo_is_undecided_and_names_the_documents(pool):
    pool.rank(**{"text 0": ["a", "x"], "text 1": ["a", "b"]})
    result = pool.run("-k", "many")
    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.fnmatch_lines(
        [
            "store: bm25 · recall@2 · many is undecided",
            "  1.000 → 0.875  (−0.125; *",
            "nobody knows: judging * relevant would undo this; of 1 unjudged, 1.0 are predicted *",
            "  q0 x (rank 2)",
            "  every result judged here is relevant; if all documents that answer are listed, goldset.toml*",
            "1 cell: 1 undecided",
        ]
    )


def test_where_something_was_judged_not_relevant_the_gold_set_is_a_pool(pool):
    """z was judged and is not relevant, so the relevant share of what was judged is a prediction."""
    pool.rank(**{"text 0": ["a", "z"], "text 1": ["a", "x"], "text 2": ["a", "y"]})
    result = pool.run("-k", "many")
    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.no_fnmatch_line("*every result judged here is relevant*")


def test_the_same_red_is_judged_where_only_positives_are_listed(pool):
    toml = pool.goldset / "goldset.toml"
    toml.write_text(toml.read_text().replace('"unknown"', '"irrelevant"'))
    pool.rank(**{"text 0": ["a", "x"]})
    pool.run("-k", "many").stdout.fnmatch_lines(["store: bm25 · recall@2 · many is regressed"])


def test_judged_results_leave_nothing_undecided(pool):
    pool.rank(**{"text 0": ["a", "z"]})
    pool.run("-k", "many").stdout.fnmatch_lines(["store: bm25 · recall@2 · many is regressed"])


def test_a_loss_too_large_for_the_unjudged_results_is_a_regression(pool):
    pool.rank(**{f"text {n}": ["z", "x"] for n in range(4)})
    pool.run("-k", "many").stdout.fnmatch_lines(["store: bm25 · recall@2 · many is regressed"])


def test_a_red_that_another_tie_rule_would_undo_is_undecided(pinned):
    pinned.rank(i1=[["x", 2.0], ["y", 1.0], ["a", 1.0]])
    result = pinned.run("-k", "identifier")
    result.stdout.fnmatch_lines(
        ["store: bm25 · recall@2 · identifier is undecided", "*another tie rule would undo this for i1"]
    )


def test_too_few_judged_results_leave_even_a_held_cell_undecided(pinned):
    toml = pinned.goldset / "goldset.toml"
    toml.write_text("min_judged = 0.9\n" + toml.read_text())
    result = pinned.run("-k", "identifier")
    result.assert_outcomes(failed=1, deselected=3)
    result.stdout.fnmatch_lines(
        ["*identifier is undecided", "  mean judged@2 is 0.500, below min_judged = 0.9"]
    )
