"""A retriever that differs from call to call: measured when pinned, allowed for afterwards, and said."""

from __future__ import annotations

import tomllib

import pytest

NOISY = """
import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def make():
    builds = HERE / "builds"
    number = int(builds.read_text()) if builds.exists() else 0
    builds.write_text(str(number + 1))
    broken = (HERE / "broken").exists()

    def search(query, k):
        table = json.loads((HERE / "rankings.json").read_text())
        ranking = list(table[query])
        if broken:
            return ["x", "y"]
        if query == "red lamp" and number % 2:
            ranking.remove("c")
        return ranking[:k]

    return search


@pytest.fixture(scope="session")
def retrievers():
    return {"bm25": make}
"""
PLANNED = """
import pytest


@pytest.mark.planned_comparison("bm25 over steady")
def test_planned(runs, compare):
    compare(runs["bm25"], runs["steady"], "recall@2")
"""


@pytest.fixture
def noisy(project):
    """Every second build of the index loses document c of `red lamp`."""
    project.write("conftest.py", NOISY)
    return project


def pins(project):
    return tomllib.loads((project.goldset / "pins.toml").read_text(encoding="utf-8"))["bm25"]


def builds(project):
    return int((project.path / "builds").read_text())


def test_a_deterministic_retriever_is_asked_twice_and_pinned_without_a_band(project):
    project.pin().assert_outcomes(passed=4)
    assert "noise" not in pins(project)["words"]["recall@2"]
    assert len(project.lines("calls")) == 2 * 5
    project.pin().assert_outcomes(passed=4)
    assert len(project.lines("calls")) == 3 * 5  # nothing was pinned anew, so nothing was measured


def test_the_band_is_pinned_and_said(noisy):
    """recall@2 of `red lamp` is 1/2 or, without c, which lets d rise to the second place, 1/2 as well."""
    noisy.rank(w1=["c", "d", "x"])  # 1 with c, 1/2 without: the mean over three words differs by 1/6
    result = noisy.pin()
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        ["*bm25 differs between two retrievals: its pins carry a noise band, measured over 10 retrievals*"]
    )
    found = pins(noisy)
    assert found["words"]["recall@2"]["noise"] == pytest.approx(2 / 6)
    assert found["words"]["recall@2"]["retrievals"] == 10
    assert found["identifier"]["recall@2"]["noise"] == 0.0
    assert builds(noisy) == 10
    for _ in range(4):
        noisy.run().assert_outcomes(passed=4)
    assert builds(noisy) == 14
    noisy.write("broken", "")
    result = noisy.run()
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["*tolerance 0, noise band 0.333*"])


def test_more_retrievals_can_be_asked_for_and_are_judged_by_their_mean(noisy):
    noisy.rank(w1=["c", "d", "x"])
    noisy.pin("new", "--retrieval-repeats=12").assert_outcomes(passed=4)
    assert pins(noisy)["words"]["recall@2"]["retrievals"] == 12
    before = builds(noisy)
    noisy.run("--retrieval-repeats=3").assert_outcomes(passed=4)
    assert builds(noisy) == before + 3
    noisy.run("--retrieval-repeats=2", "-n2").assert_outcomes(passed=4)
    assert builds(noisy) == before + 5


def test_a_band_goes_when_a_steady_retriever_is_pinned(noisy, project):
    noisy.rank(w1=["c", "d", "x"])
    noisy.pin().assert_outcomes(passed=4)
    noisy.write("conftest.py", NOISY.replace("number % 2", "number < 0"))
    noisy.pin("all", "--retrieval-reason", "steady").assert_outcomes(passed=4)
    assert "noise" not in pins(noisy)["words"]["recall@2"]


def test_a_planned_comparison_says_that_a_side_differs_from_call_to_call(noisy):
    """p is about questions: nothing in it says that the next retrieval may find otherwise."""
    settings = noisy.goldset / "goldset.toml"
    settings.write_text("alpha = 0.2\n" + settings.read_text())  # five questions reach 0.0625
    both = NOISY.replace('"bm25": make}', '"bm25": make, "steady": lambda query, k: ["c"]}')
    noisy.write("conftest.py", both)
    noisy.rank(w1=["c", "d", "x"])
    noisy.pin().assert_outcomes(passed=4)
    noisy.write("test_plan.py", PLANNED)
    noisy.run("--retrieval-lock").assert_outcomes(passed=4, skipped=1)
    for workers in ((), ("-n2",)):
        result = noisy.run("test_plan.py", *workers)
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines(["store, differing from call to call: bm25; each comparison is of one*"])
    noisy.write("conftest.py", both.replace("number % 2", "number < 0"))
    noisy.pin("all", "test_search.py", "--retrieval-reason", "steady").assert_outcomes(passed=4)
    noisy.run("test_plan.py").stdout.no_fnmatch_line("*differing from call to call*")


@pytest.mark.parametrize("value", ["0", "-1", "two", ""])
def test_repeats_that_are_no_number(project, value):
    result = project.run(f"--retrieval-repeats={value}")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*--retrieval-repeats={value}: allowed is a whole number of at least 1*"])
