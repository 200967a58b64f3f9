"""Verdicts: what holds, what fails, and what the failure says."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from .conftest import CONFTEST, DOCUMENTS, GOLD, QUERIES, RANKINGS, TOML


def test_a_loss_that_the_average_hides(pinned):
    pinned.rank(i1=["x", "y", "z"], w2=["e"], w1=["c", "d"])
    result = pinned.run()
    result.assert_outcomes(failed=1, passed=3)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "store: bm25 · recall@2 · identifier is regressed",
            "  1.000 → 0.500  (−0.500; tolerance 0) over 2 queries: 1 lost, 0 gained, 1 unchanged",
            "  all 5 queries: 0.700 → 0.800 (the average hides this loss)",
            "lost, worst first:",
            "  i1 “HX-1”  1.000 → 0.000",
            "      a (exact)  rank 1 → not among the 3 returned",
            "*one-sided paired p = 0.5000; the smallest that 1 changed query allows is 0.5000.",
            'this cell alone:  pytest "test_search.py::test_pinned[[]store-bm25-recall_2-identifier[]]"',
            "if the loss is meant: *--retrieval-pin=all --retrieval-reason*",
            "3 cells: 2 improved, 1 regressed",
        ]
    )


def test_ranks_beyond_the_cutoff_are_shown(pinned):
    pinned.rank(i1=["x", "y", "a"])
    pinned.run().stdout.fnmatch_lines(["      a (exact)  rank 1 → rank 3"])


def test_a_fall_within_the_tolerance_is_held(pinned):
    path = pinned.goldset / "goldset.toml"
    path.write_text("tolerance = 0.5\n" + path.read_text())
    pinned.rank(i1=["x"])
    pinned.run().assert_outcomes(passed=4)


def test_a_tolerance_written_into_one_pin_holds_that_cell_alone(pinned):
    path = pinned.goldset / "pins.toml"
    table = '[bm25.identifier."recall@2"]\n'
    path.write_text(path.read_text().replace(table, table + "tolerance = 0.5\n"))
    pinned.rank(i1=["x"])
    result = pinned.run()
    result.assert_outcomes(failed=1, passed=3)
    result.stdout.fnmatch_lines(["store: bm25 · recall@2 · all is regressed"])


def test_the_smallest_fall_is_printed_with_digits_that_differ(project):
    queries = {f"q{n:04d}": (f"text {n}", "many") for n in range(2001)}
    project.write_goldset(queries=queries, gold={q: {"a": 2} for q in queries})
    project.rank(**{text: ["a"] for text, _ in queries.values()})
    project.pin().assert_outcomes(passed=3)
    project.rank(**{"text 7": ["x"]})
    result = project.run()
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines(["  1.0000 → 0.9995  (−0.0005; *"])


def test_more_than_ten_lost_queries_are_counted_and_shown_with_details(project):
    queries = {f"q{n:02d}": (f"text {n}", "many") for n in range(14)}
    project.write_goldset(queries=queries, gold={q: {"a": 2} for q in queries})
    project.rank(**{text: ["a"] for text, _ in queries.values()})
    project.pin()
    project.rank(**{text: ["x"] for text, _ in queries.values()})
    text = project.run("-k", "many").stdout.str()
    assert text.count("”  1.000 → 0.000") == 10
    assert "… and 4 more: --retrieval-details shows them" in text
    detailed = project.run("-k", "many", "--retrieval-details").stdout.str()
    assert detailed.count("”  1.000 → 0.000") == 14


def test_texts_of_queries_stay_out_of_public_logs(pinned):
    pinned.write("pytest.ini", "[pytest]\nretrieval_show_text = false\n")
    pinned.rank(i1=["x"])
    text = pinned.run().stdout.str()
    assert "  i1  1.000 → 0.000" in text
    assert "HX-1" not in text


def test_texts_of_queries_stay_out_of_faults_too(pinned):
    pinned.write("pytest.ini", "[pytest]\nretrieval_show_text = false\n")
    pinned.rank(i1=5)
    text = pinned.run().stdout.str()
    assert "query 'i1' ('…')" in text
    (pinned.path / "rankings.json").write_text("{}")
    text += pinned.run().stdout.str()
    assert "bm25, query 'i1' ('…') raised KeyError: '…'" in text
    assert "HX-1" not in text


def test_a_new_stratum_fails_until_it_is_pinned(pinned):
    queries = dict(QUERIES, n1=("green sofa", "sofas"))
    pinned.write_goldset(queries=queries, gold=dict(GOLD, n1={"x": 2}))
    pinned.rank(**{"green sofa": ["x"]})
    result = pinned.run()
    result.assert_outcomes(failed=2, passed=3)
    result.stdout.fnmatch_lines(
        ["store: 1 of 4 cells has no pin yet: *sofas", "store: bm25 · recall@2 · sofas is unpinned"]
    )
    result.stdout.fnmatch_lines(["note: 1 query added and not pinned yet; *: n1"])


def test_a_must_query_fails_the_gold_set_even_where_its_cell_holds(project):
    project.write_goldset(more={"w1": {"must": True}})
    project.pin().assert_outcomes(passed=4)
    project.rank(w1=["x", "y"], w2=["e"])
    result = project.run()
    result.assert_outcomes(failed=1, passed=3)
    result.stdout.fnmatch_lines(
        ["store: 1 must-query of bm25 fell on recall@2:", "  w1 “red lamp”  0.500 → 0.000"]
    )


def test_a_measure_that_is_undefined_on_a_stratum_makes_no_cell(project):
    queries = dict(QUERIES, n1=("cars", "nothing"))
    project.write_goldset(queries=queries, gold=GOLD, more={"n1": {"answerable": False}})
    project.rank(cars=["x"])
    result = project.pin()
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["(nothing) *n/a", "undefined: 1 of 6 queries *(nothing 1)"])


def test_an_unanswered_query_scores_0_and_is_counted(pinned):
    pinned.rank(w3=[])
    result = pinned.run()
    result.stdout.fnmatch_lines(
        ["  w3 “blue rug”  1.000 → 0.000", "missing: 1 of 5 queries got no results *"]
    )


def test_a_changed_judgment_is_not_read_as_worse_search(pinned):
    pinned.write_goldset(gold=dict(GOLD, w3={"e": 2}))
    result = pinned.run()
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        ["note: ruler changed: 2 judgments: w3 e unjudged → exact, w3 f exact → unjudged"]
    )


def test_a_changed_catalog_is_named_and_does_not_decide(pinned):
    pinned.write_goldset(documents=DOCUMENTS + "q")
    result = pinned.run()
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["note: input changed: documents were added * 9 → 10 documents"])


def test_stages_say_which_lost_a_document(project):
    project.rank(**{text: {"lexical": r, "fused": r} for text, r in RANKINGS.items()})
    project.write("conftest.py", CONFTEST.replace("[query][:k]", "[query]"))
    project.pin().assert_outcomes(passed=4)
    project.rank(i1={"lexical": ["x", "a"], "fused": ["x"]}, i2={"lexical": ["x"], "fused": ["x"]})
    project.run().stdout.fnmatch_lines(
        [
            "      a (exact)  rank 1 → not among the 1 returned; found at depth 2, lost by fused"
            " (lexical 1 → 2, fused 1 → –)",
            "      b (exact)  rank 1 → *; lost by lexical leg (lexical 1 → –, fused 1 → –)",
            "lost by: fused 1, lexical leg 1",
        ]
    )


def test_junit_has_one_result_per_cell_with_its_numbers(pinned):
    pinned.rank(i1=["x"])
    pinned.run("--junitxml=out.xml")
    suite = ElementTree.parse(pinned.path / "out.xml").getroot()
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert set(cases) == {
        "test_pinned[store]",
        "test_pinned[store-bm25-recall_2-all]",
        "test_pinned[store-bm25-recall_2-identifier]",
        "test_pinned[store-bm25-recall_2-words]",
    }
    failed = cases["test_pinned[store-bm25-recall_2-identifier]"]
    assert "is regressed" in failed.find("failure").text
    properties = {p.get("name"): p.get("value") for p in failed.iter("property")}
    assert properties == {"retrieval": "regressed", "was": "1.0", "now": "0.5"}


def test_an_own_measure_is_gated_in_its_own_direction(project):
    project.write("conftest.py", CONFTEST + OWN_MEASURE)
    project.write_goldset(toml=TOML.replace("recall@2", "wasted@2"))
    project.pin().assert_outcomes(passed=4)
    project.rank(i1=["a"])
    project.run().stdout.fnmatch_lines(["identifier *0.500 → 0.250 improved*"])
    project.rank(i1=["x", "y"])
    result = project.run()
    result.stdout.fnmatch_lines(["  0.500 → 0.750  (+0.250; *", "  i1 “HX-1”  0.500 → 1.000"])
    assert result.ret == 1


OWN_MEASURE = """
from pytest_retrieval import MeasureKind

def wasted(judged, k):
    import numpy as np
    found = judged.per_query(judged.hit_query[judged.hits(k)])
    return (np.minimum(judged.lengths, k) - found) / k

def pytest_retrieval_measures():
    return [MeasureKind("wasted", wasted, "not relevant", "ours", higher_is_better=False)]
"""


def test_the_verdict_hook_sees_every_cell(pinned):
    pinned.write(
        "conftest.py",
        CONFTEST + "\ndef pytest_retrieval_verdict(goldset, verdict):\n"
        "    print('SEEN', goldset.name, verdict.cell.stratum, verdict.status)\n",
    )
    pinned.run("-s").stdout.fnmatch_lines(
        ["*SEEN store all held*", "*SEEN store identifier held*", "*SEEN store words held*"]
    )


@pytest.mark.parametrize("alpha, status", [(0.5, "error"), (0.9, "held"), (0.999, "regressed")])
def test_a_statistical_pin_fails_only_where_a_fall_is_established(pinned, alpha, status):
    """Two queries give a one-sided p of 1/4 at best; one lost query gives 1/2, two pins halve alpha."""
    path = pinned.goldset / "pins.toml"
    path.write_text(path.read_text().replace("owner =", 'rule = "established"\nowner =', 2))
    toml = pinned.goldset / "goldset.toml"
    toml.write_text(f"alpha = {alpha}\n" + toml.read_text())
    lost = {"i1": ["x"], "i2": ["x"]} if status == "regressed" else {"i1": ["x"]}
    pinned.rank(**lost)
    result = pinned.run("-k", "identifier")
    counts = {"error": {"failed": 1}, "held": {"passed": 1}, "regressed": {"failed": 1}}[status]
    result.assert_outcomes(deselected=3, **counts)
    expected = {
        "error": "*rule = established can never fail here: 2 queries give a p of 0.25 at the least*",
        "held": "note: *identifier fell by 0.5, not established*",
        "regressed": "*identifier is regressed",
    }
    result.stdout.fnmatch_lines([expected[status]])
