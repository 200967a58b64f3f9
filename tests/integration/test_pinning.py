"""Pinning: what is written, when, and what is refused."""

from __future__ import annotations

import json
import tomllib

import pytest


def pins(project):
    return tomllib.loads((project.goldset / "pins.toml").read_text())


def test_without_pins_every_cell_and_the_gold_set_fail(project):
    result = project.run()
    result.assert_outcomes(failed=4)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "store: 3 of 3 cells have no pin yet: *",
            "to pin what is new:  pytest --retrieval-pin=new *",
            "store: bm25 · recall@2 · identifier is unpinned",
            "*3 cells: 3 unpinned*",
        ]
    )
    assert not (project.goldset / "pins.toml").exists()


def test_new_pins_what_is_unpinned_and_the_next_run_holds(project):
    result = project.pin()
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["store: pinned 3 cells; *", "*words: new, 0.500 over 3 queries"])
    found = pins(project)
    assert found["bm25"]["identifier"]["recall@2"]["value"] == 1.0
    assert found["bm25"]["words"]["recall@2"]["value"] == pytest.approx((0.5 + 0 + 1) / 3)
    assert found["bm25"]["all"]["recall@2"]["n"] == 5
    assert found["bm25"]["words"]["recall@2"]["owner"].endswith("test_search.py::test_pinned")
    result = project.run()
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["3 cells: 3 held"])


def test_evidence_is_one_sorted_line_per_query(pinned):
    lines = [json.loads(line) for line in (pinned.goldset / "pins" / "bm25.jsonl").read_text().splitlines()]
    assert [line["query_id"] for line in lines] == ["i1", "i2", "w1", "w2", "w3"]
    assert lines[2]["ranking"] == ["c", "x", "d"]
    assert lines[2]["scores"] == {"recall@2": 0.5}
    assert lines[2]["grades"] == {"a": 1, "c": 2, "d": 2}


def test_pinning_twice_writes_the_same_bytes(pinned):
    before = {path: path.read_bytes() for path in pinned.goldset.rglob("pins*/*")}
    before[pinned.goldset / "pins.toml"] = (pinned.goldset / "pins.toml").read_bytes()
    pinned.pin().stdout.fnmatch_lines(["store: nothing to pin; every cell is as it was"])
    assert all(path.read_bytes() == data for path, data in before.items())


def test_new_does_not_raise_and_does_not_lower(pinned):
    pinned.rank(w2=["e"], i1=["x"])
    result = pinned.pin()
    assert result.ret == 1
    assert pins(pinned)["bm25"]["words"]["recall@2"]["value"] == pytest.approx(0.5)
    assert pins(pinned)["bm25"]["identifier"]["recall@2"]["value"] == 1.0


def test_raise_takes_strata_that_only_improved(pinned):
    pinned.rank(w2=["e"], i1=["x"])
    result = pinned.pin("raise")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*words: 0.500 → 0.833 over 3 queries"])
    found = pins(pinned)["bm25"]
    assert found["words"]["recall@2"]["value"] == pytest.approx((0.5 + 1 + 1) / 3)
    assert found["identifier"]["recall@2"]["value"] == 1.0


def test_raise_leaves_rankings_that_got_no_better(pinned):
    """The document asked for stands where it stood; what is around it moved."""
    before = (pinned.goldset / "pins/bm25.jsonl").read_text()
    pinned.rank(i1=["a", "x", "y"], w3=["z", "f"])
    result = pinned.pin("raise")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["store: nothing to pin; every cell is as it was"])
    assert (pinned.goldset / "pins/bm25.jsonl").read_text() == before


def test_raise_takes_a_stratum_whose_slice_rose_and_leaves_the_others(project):
    project.write_goldset(toml=SLICED, more={"w2": {"slices": ["lamps"]}, "i1": {"slices": ["lamps"]}})
    project.pin()
    project.rank(w2=["e"], i1=["a", "z"])
    project.pin("raise").stdout.fnmatch_lines(["*words: 0.500 → 0.833 over 3 queries"])
    lines = [json.loads(line) for line in (project.goldset / "pins/bm25.jsonl").read_text().splitlines()]
    rankings = {line["query_id"]: line["ranking"] for line in lines}
    assert (rankings["w2"], rankings["i1"]) == (["e"], ["a", "b", "c"])


def test_what_pinning_writes_beside_the_values_is_named(pinned):
    (pinned.path / "test_search.py").rename(pinned.path / "test_moved.py")
    result = pinned.pin("raise")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "store: every value is as it was; review and commit pins.toml and pins/",
            "  written anew: owner of 3 cells: *",
        ]
    )
    assert pins(pinned)["bm25"]["words"]["recall@2"]["owner"] == "test_moved.py::test_pinned"


def test_a_reason_goes_when_the_best_is_reached_again(pinned):
    pinned.rank(w1=["x"], w3=["x"])
    pinned.pin("all", "--retrieval-reason", "no rugs")
    pinned.rank(w1=["c"])
    pinned.pin("raise")
    assert pins(pinned)["bm25"]["words"]["recall@2"]["reason"] == "no rugs"
    pinned.rank(w1=["c", "d"], w3=["f"])
    pinned.pin("raise")
    assert "reason" not in pins(pinned)["bm25"]["words"]["recall@2"]


def test_raise_leaves_a_stratum_of_which_another_measure_fell(project):
    project.write_goldset(toml=TWO_MEASURES)
    project.pin().assert_outcomes(passed=7)
    project.rank(w1=["x", "c", "d"], w2=["e"])
    result = project.pin("raise")
    assert result.ret == 0
    project.rank(w1=["x", "y", "c"], w3=["f"])
    before = pins(project)["bm25"]["words"]
    project.pin("raise", "-k", "words and recall")
    assert pins(project)["bm25"]["words"] == before


TWO_MEASURES = """
name = "store"
relevance_level = 2
gate_also = ["all"]
[subjects.bm25]
measures = ["recall@2", "mrr@3"]
"""


def test_all_lowers_with_a_reason_that_is_kept(pinned):
    pinned.rank(i1=["x"])
    result = pinned.pin("all", "--retrieval-reason", "HX is gone from the shop")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*identifier: 1.000 → 0.500 over 2 queries"])
    cell = pins(pinned)["bm25"]["identifier"]["recall@2"]
    assert (cell["value"], cell["best"], cell["reason"]) == (0.5, 1.0, "HX is gone from the shop")
    assert "reason" not in pins(pinned)["bm25"]["words"]["recall@2"]
    pinned.run().assert_outcomes(passed=4)


def test_what_people_wrote_into_pins_toml_stays(pinned):
    path = pinned.goldset / "pins.toml"
    edited = path.read_text().replace("n = 3\n", "n = 3\ntolerance = 0.2  # noisy\n", 1)
    path.write_text(edited)
    pinned.rank(i1=["x"])
    pinned.pin("all", "--retrieval-reason", "why")
    assert "tolerance = 0.2  # noisy" in path.read_text()


def test_a_new_measure_is_scored_from_the_pinned_rankings(pinned):
    """Today's ranking is worse: were the new measure pinned from it, that loss would go unseen."""
    pinned.write_goldset(toml=TWO_MEASURES)
    pinned.rank(i1=["x", "y", "a"])
    pinned.pin()
    assert pins(pinned)["bm25"]["identifier"]["mrr@3"]["value"] == 1.0
    pinned.run().stdout.fnmatch_lines(["store: bm25 · mrr@3 · identifier is regressed"])


def test_a_new_measure_that_looks_deeper_than_the_evidence_cannot_be_pinned(project):
    project.write_goldset(documents=DOCUMENTS_AND_MORE)
    project.rank(w2=list(DOCUMENTS_AND_MORE)[:30], i1=["a"])
    project.pin().assert_outcomes(passed=4)
    project.write_goldset(toml=TWO_MEASURES.replace("mrr@3", "recall@20"), documents=DOCUMENTS_AND_MORE)
    result = project.pin()
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*recall@20 looks deeper than the pinned rankings of 1 query were kept: w2; to pin them anew: *"]
    )


DOCUMENTS_AND_MORE = "xyzghijklmnopqrstuvwABCDEFGHIJKLMNabcdef"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--retrieval-pin=some"], "*--retrieval-pin=some: allowed are new, raise, all*"),
        (["--retrieval-pin=all"], "*say why with --retrieval-reason*"),
        (["--retrieval-reason=x"], "*give --retrieval-pin too*"),
        (["--retrieval-pin=new", "--collect-only"], "*does not go with --collect-only*"),
    ],
)
@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["serial", "xdist"])
def test_options_that_do_not_go_together_end_the_session(project, arguments, message, workers):
    result = project.run_apart(*arguments, *workers)
    assert result.ret == 4
    result.stderr.fnmatch_lines([message])


def test_pinning_is_refused_under_ci(project, monkeypatch):
    monkeypatch.setenv("CI", "true")
    result = project.pin()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*refused where the environment variable CI is set*"])


def test_an_interrupted_session_writes_no_pins(project):
    project.write("test_z_last.py", "def test_boom(): raise KeyboardInterrupt\n")
    assert project.run_apart("--retrieval-pin=new").ret == 2
    assert not (project.goldset / "pins.toml").exists()


def test_stopping_at_the_first_failure_writes_no_pins(project):
    project.write(
        "test_search.py", "def test_pinned(gate):\n    gate.check()\n    assert gate._item.cell is None\n"
    )
    result = project.run("--retrieval-pin=new", "-x")
    assert not (project.goldset / "pins.toml").exists()
    result.stdout.fnmatch_lines(["pins not written: 2 of 4 selected gate items reported"])


def test_a_crashed_worker_writes_no_pins(project):
    project.write(
        "test_search.py",
        "import os\ndef test_pinned(gate):\n    gate.check()\n"
        "    if gate._item.cell and gate._item.cell.stratum == 'words':\n        os._exit(3)\n",
    )
    result = project.run_apart("--retrieval-pin=new", "-n2", "--max-worker-restart=0")
    assert result.ret == 1
    assert not (project.goldset / "pins.toml").exists()


def test_pinning_under_xdist_writes_what_a_serial_session_writes(project):
    project.pin().assert_outcomes(passed=4)
    serial = {
        p.name: p.read_bytes() for p in [project.goldset / "pins.toml", project.goldset / "pins/bm25.jsonl"]
    }
    (project.goldset / "pins.toml").unlink()
    (project.goldset / "pins/bm25.jsonl").unlink()
    project.run_apart("--retrieval-pin=new", "-n2").assert_outcomes(passed=4)
    for path in (project.goldset / "pins.toml", project.goldset / "pins/bm25.jsonl"):
        assert path.read_bytes() == serial[path.name]


def test_a_selected_stratum_alone_is_pinned(project):
    project.pin("new", "-k", "identifier").assert_outcomes(passed=1, deselected=3)
    assert set(pins(project)["bm25"]) == {"identifier"}
    project.pin().assert_outcomes(passed=4)
    assert set(pins(project)["bm25"]) == {"identifier", "words", "all"}


SLICED = """
name = "store"
relevance_level = 2
slices = "slices"
gate_also = ["all", "slice:lamps"]
[subjects.bm25]
measures = ["recall@2"]
"""


def test_raise_leaves_a_stratum_that_fell_within_its_tolerance(pinned):
    """A held drop is a drop: raising must never lower."""
    toml = pinned.goldset / "goldset.toml"
    toml.write_text("tolerance = 0.9\n" + toml.read_text())
    pinned.rank(i1=["x"])
    before = pins(pinned)
    pinned.pin("raise").assert_outcomes(passed=4)
    assert pins(pinned) == before


def test_raise_leaves_a_stratum_whose_slice_fell(project):
    project.write_goldset(toml=SLICED, more={"w1": {"slices": ["lamps"]}})
    project.pin().assert_outcomes(passed=5)
    project.rank(w1=["x"], w2=["e"])
    before = pins(project)
    assert project.pin("raise").ret == 1
    assert pins(project) == before


def test_all_on_one_slice_replaces_the_rankings_of_its_queries(project):
    project.write_goldset(toml=SLICED, more={"w1": {"slices": ["lamps"]}})
    project.pin()
    project.rank(w1=["x"])
    result = project.pin("all", "--retrieval-reason", "no lamps any more", "-k", "lamps")
    result.stdout.fnmatch_lines(["*slice:lamps: 0.500 → 0.000 over 1 query"])
    assert pins(project)["bm25"]["words"]["recall@2"]["reason"] == "no lamps any more"
    project.run().assert_outcomes(passed=5)


def test_pins_that_cannot_be_written_fail_the_session_where_junit_sees_it(project):
    project.write("goldsets/store/pins", "a file in the way")
    result = project.pin("new", "--junitxml=report.xml")
    assert result.ret == 1
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*store: pins not written: goldsets/store/pins: File exists",
            "FAILED test_search.py::test_pinned[[]store-pins_not_written[]]*",
        ]
    )
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert 'failures="1"' in (project.path / "report.xml").read_text()
    assert not (project.goldset / "pins.toml").exists()


def test_pins_that_cannot_be_written_fail_the_session_under_xdist(project):
    project.write("goldsets/store/pins", "a file in the way")
    result = project.run_apart("--retrieval-pin=new", "-n2")
    assert result.ret == 1
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["*store: pins not written: goldsets/store/pins: File exists"])


def test_pinning_without_a_gate_test_says_that_nothing_was_pinned(project):
    project.write("test_search.py", "def test_else(): pass\n")
    project.pin().stdout.fnmatch_lines(["nothing pinned: no gate test was selected"])


def test_a_subject_that_cannot_name_its_evidence_ends_the_session(project):
    project.write_goldset(toml=TWO_MEASURES.replace("[subjects.bm25]", '[subjects."../bm25"]'))
    result = project.pin()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*goldset.toml:5: subjects.../bm25: a subject cannot be named '../bm25', *"])


def test_a_subject_that_is_gone_can_be_pinned_away(pinned):
    toml = pinned.goldset / "goldset.toml"
    toml.write_text(toml.read_text().replace("subjects.bm25", "subjects.hybrid"))
    conftest = pinned.path / "conftest.py"
    conftest.write_text(conftest.read_text().replace('{"bm25": search}', '{"hybrid": search}'))
    result = pinned.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["  pinned, but subject bm25 is no longer declared in goldset.toml"])
    pinned.pin().assert_outcomes(passed=7)
    assert set(pins(pinned)) == {"hybrid"}
    assert [path.name for path in (pinned.goldset / "pins").iterdir()] == ["hybrid.jsonl"]
    pinned.run().assert_outcomes(passed=4)


def test_a_measure_that_is_gone_can_be_pinned_away(project):
    project.write_goldset(toml=TWO_MEASURES)
    project.pin().assert_outcomes(passed=7)
    project.write_goldset()
    result = project.run()
    result.assert_outcomes(failed=3, passed=4)
    result.stdout.fnmatch_lines(["  pinned, but measure mrr@3 is no longer part of the gold set"])
    project.pin().assert_outcomes(passed=7)
    project.run().assert_outcomes(passed=4)


def test_a_ranking_that_does_not_give_its_scores_is_told(pinned):
    """Emptied by hand, a pinned ranking would make any search look improved."""
    path = pinned.goldset / "pins" / "bm25.jsonl"
    path.write_text(
        path.read_text().replace('"ranking":["a","b","c"],"returned":3', '"ranking":[],"returned":0')
    )
    pinned.rank(i1=["x"])
    result = pinned.run("-k", "identifier")
    result.assert_outcomes(failed=1, deselected=3)
    result.stdout.fnmatch_lines(["*the pinned recall@2 of i1 does not follow from the pinned ranking*"])
