"""Pins: what is kept of a ranking, and what pinning again replaces."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_retrieval.errors import InputError
from pytest_retrieval.gate.cells import Cell
from pytest_retrieval.gate.pin import (
    Evidence,
    Pin,
    Pins,
    disagreements,
    document_ids,
    evidence_of,
    in_cell,
    kept_depth,
    pinned_run,
    refreshed,
    rule_threshold,
    text_digest,
)
from pytest_retrieval.gate.repin import repin
from pytest_retrieval.measures.notation import parse_all

from .conftest import GOLD, QUERIES, measures, run

WORDS = Cell("bm25", "recall@2", "words")


def line(**changed):
    return replace(
        Evidence(
            query_id="q1",
            stratum="words",
            query="0",
            ranking=("a", "b"),
            returned=3,
            grades={"a": 2},
            scores={"recall@2": 1.0, "mrr@3": None},
            ranks={"c": 3},
        ),
        **changed,
    )


def test_a_line_survives_the_way_to_json_and_back():
    for evidence in (line(), line(ranks={}), line(slices=("colour", "size"))):
        assert Evidence.from_plain(evidence.plain()) == evidence


def test_what_is_empty_is_not_written():
    assert list(line(ranks={}).plain()) == [
        "query_id", "stratum", "query", "ranking", "returned", "grades", "scores",
    ]  # fmt: skip
    assert list(line(slices=("x",)).plain())[:3] == ["query_id", "stratum", "slices"]


@pytest.mark.parametrize("key", ["query_id", "stratum", "query", "ranking", "returned", "grades", "scores"])
def test_a_line_that_lacks_a_key(key):
    plain = line().plain()
    del plain[key]
    with pytest.raises(KeyError, match=key):
        Evidence.from_plain(plain)


def test_ranks_are_those_of_the_ranking_and_of_judged_documents_below():
    assert [line().rank_of(doc_id) for doc_id in "abcd"] == [1, 2, 3, None]


@pytest.mark.parametrize(
    "kept, returned, k, holds",
    [(2, 3, 2, True), (2, 3, 3, False), (2, 2, 50, True), (2, 3, None, False), (2, 2, None, True)],
)
def test_whether_a_kept_ranking_is_long_enough(kept, returned, k, holds):
    assert line(ranking=("a",) * kept, returned=returned).holds(k) == holds


def test_the_depth_that_is_kept():
    assert kept_depth(parse_all(["recall@5", "ndcg@20"]), 100) == 30
    assert kept_depth(parse_all(["recall@5", "mrr"]), 100) == 100
    assert kept_depth([], 100) == 10


def test_evidence_of_a_run(make):
    goldset = make(subjects={"bm25": {"measures": ["recall@2"]}})
    ranking = [f"x{n}" for n in range(12)] + ["y", "d"]
    lines = evidence_of(goldset, run(w1=ranking), measures(goldset), ["i1", "w1"])
    assert list(lines) == ["i1", "w1"]
    found = lines["w1"]
    assert found.ranking == tuple(ranking[:12])
    assert found.returned == 14
    assert found.ranks == {"d": 14}
    assert found.grades == {"a": 1, "c": 2, "d": 2}
    assert found.scores == {"recall@2": 0.0}
    assert (found.stratum, found.slices) == ("words", ("colour",))
    assert found.query == text_digest("red lamp")
    assert lines["i1"].scores == {"recall@2": 1.0}


def test_evidence_of_a_query_without_results(make):
    goldset = make()
    (found,) = evidence_of(goldset, run(w2=[]), measures(goldset), ["w2"]).values()
    assert (found.ranking, found.returned, found.scores["recall@2"]) == ((), 0, 0.0)


def test_grades_are_those_that_had_a_part(make):
    """An irrelevant document that was never ranked does not matter; a relevant one always does."""
    goldset = make(gold={**GOLD, "i2": {"b": 2, "z": 0, "y": 0}})
    lines = evidence_of(goldset, run(i2=["z"]), measures(goldset), ["i2"])
    assert lines["i2"].grades == {"b": 2, "z": 0}


def test_refreshing_scores_the_same_rankings_under_todays_judgments(make):
    lines = evidence_of(make(), run(), measures(make()), ["i2", "w1"])
    today = make([{**query, "stratum": "new"} for query in QUERIES], {**GOLD, "i2": {"z": 2}, "w1": {"c": 2}})
    fresh = refreshed(today, lines, measures(today))
    assert fresh["i2"].scores == {"recall@2": 1.0, "mrr@3": 1.0}
    assert fresh["w1"].scores["recall@2"] == 1.0
    assert fresh["i2"].ranking == lines["i2"].ranking
    assert {found.stratum for found in fresh.values()} == {"new"}
    assert refreshed(today, {}, measures(today)) == {}


def test_an_undefined_score_is_none(make):
    queries = [*QUERIES, {"query_id": "n1", "query": "cars", "stratum": "nothing", "answerable": False}]
    goldset = make(queries)
    lines = evidence_of(goldset, run(n1=["x"]), measures(goldset), ["n1"])
    assert lines["n1"].scores == {"recall@2": None, "mrr@3": None}


def test_pinned_rankings_as_a_run():
    found = pinned_run({"q1": line(), "q2": line(ranking=())})
    assert dict(found) == {"q1": ("a", "b"), "q2": ()}


@pytest.mark.parametrize(
    "stratum, inside",
    [("words", True), ("all", True), ("slice:colour", True), ("other", False), ("slice:size", False)],
)
def test_the_cells_of_a_pinned_query(stratum, inside):
    assert in_cell(line(slices=("colour",)), stratum) == inside


def test_the_threshold_of_statistical_pins_counts_every_one_of_them(pin, make):
    pins = pin(make())
    assert rule_threshold(pins, 0.05) == 0.05
    cells = {cell: replace(found, rule="established") for cell, found in pins.cells.items()}
    assert rule_threshold(Pins(cells), 0.05) == pytest.approx(0.05 / len(cells))


def test_the_digest_of_a_catalogs_ids_knows_no_order_and_no_text(make):
    assert document_ids(make(documents="abcdexyz").doc_ids) == document_ids(
        make(documents="zyxedcba").doc_ids
    )
    assert document_ids(make(documents="abcdexyzq").doc_ids) != document_ids(make().doc_ids)
    assert document_ids(None) == ""


def test_pins_agree_with_the_evidence_they_were_made_of(make, pin):
    pins = pin(make())
    assert disagreements(pins) == {}
    assert pins.cells[WORDS].value == pytest.approx((0.5 + 0) / 2)
    assert pins.cells[WORDS].n == 2


@pytest.mark.parametrize(
    "changed", [{"value": 0.26}, {"n": 3}, {"value": float("nan")}, {"value": 0.25 + 2e-12}]
)
def test_a_pin_that_disagrees_is_told(make, pin, changed):
    pins = pin(make())
    pins.cells[WORDS] = replace(pins.cells[WORDS], **changed)
    told = disagreements(pins)[WORDS]
    assert told.startswith("bm25 · recall@2 · words: pinned ")
    assert told.endswith("the evidence says 0.25 over 2 queries")


def test_a_pin_without_any_evidence_disagrees():
    pins = Pins({WORDS: Pin(value=0.5, n=1, best=0.5)})
    assert disagreements(pins) == {
        WORDS: "bm25 · recall@2 · words: pinned 0.5 over 1 query, the evidence says nothing"
    }


def again(goldset, pins, rankings, *, accepted=(), reported=None, reason="", gone=frozenset()):
    """Pin once more, with every query's ranking of today at hand."""
    of_subject = measures(goldset)
    return repin(
        pins,
        goldset,
        {"bm25": of_subject},
        today={"bm25": evidence_of(goldset, rankings, of_subject, goldset.gated_queries)},
        accepted={"bm25": frozenset(accepted)},
        reported=dict.fromkeys(pins.cells if reported is None else reported, "test.py::test"),
        reason=reason,
        gone=gone,
    )


def test_pinning_the_same_changes_nothing(make, pin):
    pins = pin(make())
    found, changes = again(make(), pins, run(), accepted=["i1", "i2", "w1", "w2"])
    assert found == pins
    assert changes == ()


def test_a_ranking_that_is_not_accepted_stays(make, pin):
    pins = pin(make())
    found, changes = again(make(), pins, run(w1=["c", "d"], i1=["x"]))
    assert found == pins
    assert changes == ()


def test_only_accepted_queries_are_replaced(make, pin):
    found, changes = again(make(), pin(make()), run(w1=["c", "d"], i1=["x"]), accepted=["w1", "w2"])
    assert found.evidence["bm25"]["w1"].ranking == ("c", "d")
    assert found.evidence["bm25"]["i1"].ranking == ("a", "x")
    assert {change.cell.stratum for change in changes} == {"words", "all"}
    (words,) = [change for change in changes if change.cell == WORDS]
    assert (words.before, words.after, words.n) == (0.25, 0.5, 2)
    assert disagreements(found) == {}


def test_a_fall_keeps_its_reason_and_the_best(make, pin):
    found, _ = again(make(), pin(make()), run(w1=["x"]), accepted=["w1"], reason="lamps are gone")
    assert (found.cells[WORDS].value, found.cells[WORDS].best) == (0.0, 0.25)
    assert found.cells[WORDS].reason == "lamps are gone"
    assert found.cells[Cell("bm25", "recall@2", "identifier")].reason == ""
    later, _ = again(make(), found, run(w1=["c", "d"]), accepted=["w1"], reason="other")
    assert (later.cells[WORDS].value, later.cells[WORDS].best) == (0.5, 0.5)
    assert later.cells[WORDS].reason == "", "it stands at its best again"


def test_the_best_starts_anew_under_other_judgments(make, pin):
    today = make(gold={**GOLD, "w1": {"c": 2, "d": 2, "b": 2, "a": 1}})
    found, changes = again(today, pin(make()), run())
    assert found.cells[WORDS].value == found.cells[WORDS].best == pytest.approx(1 / 6)
    assert WORDS in {change.cell for change in changes}
    assert found.cells[WORDS].judgments != pin(make()).cells[WORDS].judgments


def test_what_was_edited_by_hand_stays(make, pin):
    pins = pin(make())
    pins.cells[WORDS] = replace(pins.cells[WORDS], tolerance=0.1, rule="established")
    found, _ = again(make(), pins, run(w1=["x"]), accepted=["w1"], reason="why")
    assert (found.cells[WORDS].tolerance, found.cells[WORDS].rule) == (0.1, "established")


def test_a_new_query_and_a_reworded_one_are_pinned_from_today(make, pin):
    queries = [
        *({**query, "query": "blue lamp"} if query["query_id"] == "w1" else query for query in QUERIES),
        {"query_id": "w3", "query": "rug", "stratum": "words"},
    ]
    today = make(queries, {**GOLD, "w3": {"x": 2}})
    found, _ = again(today, pin(make()), run(w1=["d"], w2=["e"], w3=["x"]))
    assert found.evidence["bm25"]["w1"].ranking == ("d",)
    assert found.evidence["bm25"]["w2"].ranking == ("x", "y", "e")
    assert found.evidence["bm25"]["w3"].ranking == ("x",)
    assert found.cells[WORDS].n == 3


def test_a_removed_query_goes_and_a_cell_without_queries_with_it(make, pin):
    queries = [query for query in QUERIES if query["stratum"] == "identifier"]
    today = make(queries, {"i1": GOLD["i1"], "i2": GOLD["i2"]})
    found, changes = again(today, pin(make()), run())
    assert set(found.evidence["bm25"]) == {"i1", "i2"}
    assert WORDS not in found.cells
    assert (WORDS, 0.25, None, 0) in [(c.cell, c.before, c.after, c.n) for c in changes]


def test_a_measure_of_the_projects_own_direction_keeps_its_lowest_as_best(make, pin):
    from pytest_retrieval.gate.cells import measures_of
    from pytest_retrieval.measures.rank import MeasureKind

    def wasted(judged, k):
        found = judged.per_query(judged.hit_query[judged.hits(k)])
        return (k - found) / k

    kind = MeasureKind("wasted", wasted, "not relevant", "ours", higher_is_better=False)
    goldset = make(subjects={"bm25": {"measures": ["wasted@2"]}})
    of_subject = measures_of(goldset, [kind])["bm25"]
    cell = Cell("bm25", "wasted@2", "all")

    def session(pins, rankings, reason):
        lines = evidence_of(goldset, rankings, of_subject, goldset.gated_queries)
        return repin(
            pins, goldset, {"bm25": of_subject}, today={"bm25": lines},
            accepted={"bm25": frozenset(goldset.gated_queries)}, reported={cell: "t"}, reason=reason,
        )[0].cells[cell]  # fmt: skip

    first = session(Pins(), run(), "")
    pins, _ = repin(
        Pins(), goldset, {"bm25": of_subject},
        today={"bm25": evidence_of(goldset, run(), of_subject, goldset.gated_queries)},
        accepted={}, reported={cell: "t"},
    )  # fmt: skip
    worse = session(pins, run(i1=["x"]), "why")
    assert worse.value > first.value
    assert worse.best == first.value
    assert worse.reason == "why"
    better = session(pins, run(w1=["c", "d"]), "why")
    assert better.value == better.best < first.value
    assert better.reason == ""


def test_a_new_measure_that_looks_deeper_than_what_was_kept(make, pin):
    deep = [f"x{n}" for n in range(40)]
    pins = pin(make(), run(w1=deep))
    today = make(subjects={"bm25": {"measures": ["recall@2", "recall@20"]}})
    with pytest.raises(InputError, match=r"bm25: recall@20 looks deeper than .* 1 query were kept: w1"):
        again(today, pins, run(w1=deep))


def test_a_subject_that_is_not_declared_is_left_alone(make, pin):
    pins = pin(make())
    goldset = make()
    lines = evidence_of(goldset, run(), measures(goldset), goldset.gated_queries)
    found, changes = repin(pins, goldset, {}, today={"bm25": lines}, accepted={}, reported={})
    assert found == pins
    assert changes == ()


def test_vanished_cells_can_be_pinned_away(make, pin):
    pins = pin(make())
    found, changes = again(make(), pins, run(), gone=frozenset({WORDS}), reported=[])
    assert WORDS not in found.cells
    assert [(c.cell, c.after) for c in changes] == [(WORDS, None)]
    emptied, _ = again(make(), pins, run(), gone=frozenset(pins.cells), reported=[])
    assert emptied.cells == {}
    assert emptied.evidence == {}
