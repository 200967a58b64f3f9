"""A private gold set: pins that stand outside it, and a checkout that does not have it."""

from __future__ import annotations

import pytest

from .conftest import GATE, TOML
from .test_against import commit, git

INI = """
[pytest]
retrieval_goldsets = private/goldsets
retrieval_pins = gate
"""
MARKED = "import pytest\n@pytest.mark.goldset('store')" + GATE
BOTH = "import pytest\n@pytest.mark.goldset('store', 'second')" + GATE
NOT_HERE = "SKIPPED * gold set 'store' is not here (retrieval_missing = skip)"


@pytest.fixture
def private(project):
    """A project whose gold set stands in a repository of its own, and whose pins do not."""
    (project.path / "private").mkdir()
    (project.path / "goldsets").rename(project.path / "private" / "goldsets")
    project.goldset = project.path / "private" / "goldsets" / "store"
    project.write("pytest.ini", INI)
    return project


def hide(project, missing="skip"):
    """Take the gold set away, as in a fork whose submodule is empty."""
    (project.path / "private").rename(project.path / "elsewhere")
    project.write("pytest.ini", INI + f"retrieval_missing = {missing}\n")


def test_pins_stand_outside_the_gold_set(private):
    private.pin().assert_outcomes(passed=4)
    assert (private.path / "gate/store/pins.toml").is_file()
    assert (private.path / "gate/store/pins/bm25.jsonl").is_file()
    assert sorted(path.name for path in private.goldset.iterdir()) == [
        "catalog.jsonl",
        "goldset.toml",
        "qrels.trec",
        "queries.jsonl",
    ]
    assert "HX-1" not in (private.path / "gate/store/pins/bm25.jsonl").read_text()
    private.run().assert_outcomes(passed=4)
    private.rank(i1=["x"])
    private.run().assert_outcomes(failed=2, passed=2)


def test_a_plan_stands_with_the_pins(private):
    toml = private.goldset / "goldset.toml"
    toml.write_text("alpha = 0.2\n" + toml.read_text())
    private.write(
        "test_search.py",
        "import pytest\n@pytest.mark.planned_comparison('bm25 over itself')\n"
        "def test_it(runs, compare): compare(runs['bm25'], runs['bm25'], 'recall@2')\n",
    )
    private.run("--retrieval-lock")
    assert "../../test_search.py::test_it" in (private.path / "gate/store/plan.toml").read_text()
    assert not (private.goldset / "plan.toml").exists()
    private.run().stdout.fnmatch_lines(["store, planned comparisons: 1 (gate/store/plan.toml)"])


def test_a_gate_test_that_is_gone_is_told_by_pins_outside(private):
    private.pin()
    private.write("test_search.py", "def test_something_else(): pass\n")
    result = private.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["store: 3 pins of test_search.py::test_pinned have vanished: *"])


def test_a_name_that_names_no_folder_ends_the_session(private):
    toml = private.goldset / "goldset.toml"
    toml.write_text(toml.read_text().replace('"store"', '"the store"'))
    result = private.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*retrieval_pins: gold set 'the store' cannot name a folder below *"])


@pytest.mark.parametrize("text", [MARKED, GATE], ids=["marked", "unmarked"])
@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["serial", "xdist"])
def test_where_it_is_missing_its_tests_are_skipped_by_name(private, text, workers):
    private.pin()
    private.write("test_search.py", text + "\ndef test_catalog(catalog): pass\n\ndef test_other(): pass\n")
    if text is MARKED:
        private.write("test_search.py", text + "\ndef test_other(): pass\n")
    hide(private)
    result = private.run_apart("-rs", *workers) if workers else private.run("-rs")
    assert result.ret == 0
    result.assert_outcomes(passed=1, skipped=1 if text is MARKED else 2)
    result.stdout.fnmatch_lines([NOT_HERE if text is MARKED else "SKIPPED * no gold set was found: *"])


def test_where_it_is_missing_and_the_default_its_tests_are_skipped(private):
    hide(private)
    private.write("pytest.ini", (private.path / "pytest.ini").read_text() + "retrieval_goldset = store\n")
    result = private.run("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines([NOT_HERE])


def test_where_it_is_missing_its_tests_fail_by_default(private):
    hide(private, "error")
    private.write("test_search.py", MARKED)
    result = private.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["no gold set is named 'store'; there are none"])


def test_a_planned_comparison_on_it_is_skipped_too(private):
    hide(private)
    private.write(
        "test_search.py",
        "import pytest\n@pytest.mark.goldset('store')\n@pytest.mark.planned_comparison('bm25 over itself')\n"
        "def test_it(runs, compare): compare(runs['bm25'], runs['bm25'], 'recall@2')\n",
    )
    result = private.run("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines([NOT_HERE])


def test_one_of_two_is_missing_and_the_other_is_gated_and_pinned(private):
    private.write_goldset("private/goldsets/second", toml=TOML.replace('"store"', '"second"'))
    private.write("test_search.py", BOTH)
    private.pin().assert_outcomes(passed=8)
    private.write("pytest.ini", INI + "retrieval_missing = skip\n")
    (private.goldset).rename(private.path / "elsewhere")
    before = (private.path / "gate/store/pins.toml").read_bytes()
    private.run().assert_outcomes(passed=4, skipped=1)
    private.rank(w2=["e"])
    result = private.pin("raise")
    result.assert_outcomes(passed=4, skipped=1)
    result.stdout.fnmatch_lines(["second: pinned 2 cells; *"])
    assert (private.path / "gate/store/pins.toml").read_bytes() == before


def test_a_value_that_is_not_allowed_ends_the_session(private):
    hide(private, "ignore")
    result = private.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*retrieval_missing = ignore: allowed are error, skip*"])


@pytest.fixture
def branch(private):
    """The private gold set is in no commit of this repository; its pins are."""
    private.pin()
    private.write(".gitignore", "private/\ncalls\nbuilds\n__pycache__/\n")
    git(private, "init", "-q", "-b", "main")
    commit(private, "pinned")
    git(private, "switch", "-q", "-c", "feature")
    return private


def test_against_takes_the_pins_of_the_base(branch):
    branch.rank(i1=["x"])
    branch.pin("all", "--retrieval-reason", "HX is gone").assert_outcomes(passed=4)
    commit(branch, "lower")
    assert branch.run().ret == 0
    result = branch.run("--retrieval-against=main")
    result.assert_outcomes(failed=2, passed=2)
    result.stdout.fnmatch_lines(["store: bm25 · recall@2 · identifier is regressed"])
    result.stdout.fnmatch_lines(
        ["note: the gold set store is not in the repository, so what changed in it *"]
    )
    assert branch.run("--retrieval-against=main", "--retrieval-accept-lowered").ret == 0
