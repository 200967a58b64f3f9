"""A history in git: branches pin, raise, trade off, merge and revert; the gate says what a reviewer would."""

from __future__ import annotations

import json
import subprocess
import tomllib

import pytest

from pytest_retrieval.cli import ATTRIBUTES

from .conftest import GATE, GOLD, QUERIES, RANKINGS, TOML
from .test_against import commit, git

CONFTEST = """
import json
from pathlib import Path

import pytest

def search(query, k):
    return json.loads((Path(__file__).parent / "search" / f"{query}.json").read_text())[:k]

@pytest.fixture(scope="session")
def retrievers():
    return {"bm25": search}
"""


class Repository:
    """A project under git, whose search is one file per query, so that branches touch what they mean to."""

    def __init__(self, project, toml):
        self.project, self.goldset = project, project.goldset
        project.write("conftest.py", CONFTEST)
        project.write("test_search.py", GATE)
        project.write("goldsets/.gitattributes", ATTRIBUTES)
        project.write(".gitignore", "__pycache__/\n.pytest_cache/\n")
        project.write_goldset(toml=toml)
        (project.path / "rankings.json").unlink()
        for query, ranking in RANKINGS.items():
            project.write(f"search/{query}.json", json.dumps(ranking))
        git(project, "init", "-q", "-b", "main")

    def rank(self, **changed):
        for query_id, ranking in changed.items():
            self.project.write(f"search/{QUERIES[query_id][0]}.json", json.dumps(ranking))

    def branch(self, name, start="main"):
        git(self.project, "switch", "-q", "-c", name, start)

    def commit(self, message):
        commit(self.project, message)

    def git(self, *arguments):
        return git(self.project, *arguments)

    def merge(self, name):
        """Return whether git merged without a conflict."""
        try:
            git(self.project, "merge", "-q", "--no-edit", "--no-ff", name)
        except subprocess.CalledProcessError:
            return False
        return True

    def run(self, *arguments):
        return self.project.run("-p", "no:cacheprovider", *arguments)

    def against(self, revision, *arguments):
        return self.run(f"--retrieval-against={revision}", *arguments)

    def pin(self, mode, *reason):
        return self.run(f"--retrieval-pin={mode}", *(["--retrieval-reason", *reason] if reason else []))

    def pinned(self, stratum):
        return tomllib.loads((self.goldset / "pins.toml").read_text())["bm25"][stratum]["recall@2"]


@pytest.fixture
def repository(project):
    """Two strata, pinned on main."""
    made = Repository(project, TOML.replace('gate_also = ["all"]\n', ""))
    made.pin("new").assert_outcomes(passed=3)
    made.commit("Pin what there is")
    return made


def test_three_branches_are_pinned_raised_traded_merged_and_reverted(repository):
    repository.run().assert_outcomes(passed=3)
    evidence = "goldsets/store/pins/bm25.jsonl"
    assert repository.git("check-attr", "linguist-generated", evidence).strip().endswith("generated: true")

    # A branch that finds more passes, says so, and raises what it found.
    repository.branch("raise")
    repository.rank(w2=["e"])
    better = repository.run()
    better.assert_outcomes(passed=3)
    better.stdout.fnmatch_lines(["words *0.500 → 0.833 improved*"])
    repository.pin("raise").stdout.fnmatch_lines(["store: pinned 1 cell; *", "*words: 0.500 → 0.833 *"])
    repository.commit("Find oak tables")
    repository.against("main").assert_outcomes(passed=3)

    # A branch that gives up something fails until it says why, and a reviewer is asked all the same.
    repository.branch("trade")
    repository.rank(i1=["x"])
    red = repository.run()
    red.assert_outcomes(failed=1, passed=2)
    red.stdout.fnmatch_lines(["store: bm25 · recall@2 · identifier is regressed", "  i1 *1.000 → 0.000"])
    assert repository.pin("raise").ret == 1
    assert repository.pinned("identifier")["value"] == 1.0
    assert repository.pin("all", "HX-1 is sold no longer").ret == 0
    repository.commit("Drop the old index of identifiers")
    repository.run().assert_outcomes(passed=3)
    repository.against("main").assert_outcomes(failed=1, passed=2)
    accepted = repository.against("main", "--retrieval-accept-lowered")
    assert accepted.ret == 0
    accepted.stdout.fnmatch_lines(["note: *lowered on this branch and accepted: HX-1 is sold no longer"])

    # A branch that only adds a question says nothing else changed.
    repository.branch("ask")
    more = dict(QUERIES, n1=("green sofa", "words"))
    gold = dict(GOLD, n1={"x": 2})
    repository.project.write_goldset(toml=TOML.replace('gate_also = ["all"]\n', ""), queries=more, gold=gold)
    repository.project.write("search/green sofa.json", '["x"]')
    repository.run().stdout.fnmatch_lines(["note: 1 query added and not pinned yet; *: n1"])
    repository.pin("new").assert_outcomes(passed=3)
    repository.commit("Ask for sofas")

    # Two re-pins of different strata merge by themselves, and what comes out is right.
    repository.git("switch", "-q", "main")
    assert repository.merge("raise")
    assert repository.merge("trade")
    merged = repository.run()
    merged.assert_outcomes(passed=3)
    merged.stdout.fnmatch_lines(["2 cells: 2 held"])
    identifier, words = repository.pinned("identifier"), repository.pinned("words")
    assert (identifier["value"], identifier["best"]) == (0.5, 1.0)
    assert identifier["reason"] == "HX-1 is sold no longer"
    assert (words["value"], words["best"]) == (pytest.approx(2.5 / 3), pytest.approx(2.5 / 3))
    assert "reason" not in words

    # Of a stratum that both sides pinned anew, the pins and the evidence of one side do not fit the other.
    assert not repository.merge("ask")
    _conflict(repository)
    repository.git("reset", "-q", "--hard")

    # Whoever reverts the trade gets search and pins back.
    trade = repository.git("log", "--format=%H", "-1", "trade").strip()
    repository.git("revert", "--no-edit", trade)
    repository.run().assert_outcomes(passed=3)
    assert repository.pinned("identifier")["value"] == 1.0
    assert "reason" not in repository.pinned("identifier")

    # Reverting half of it is seen: without the pins it is a gain, without the search a loss.
    repository.git("reset", "-q", "--hard", "HEAD^")
    repository.rank(i1=RANKINGS["HX-1"])
    half = repository.run()
    half.assert_outcomes(passed=3)
    half.stdout.fnmatch_lines(["identifier *0.500 → 1.000 improved*"])
    repository.git("reset", "-q", "--hard")
    repository.git("checkout", "-q", f"{trade}^", "--", "goldsets")
    other = repository.run()
    other.assert_outcomes(failed=1, passed=2)
    other.stdout.fnmatch_lines(["store: bm25 · recall@2 · identifier is regressed"])


def _conflict(repository):
    """Resolve a conflict badly in every way, and hear of each; then well."""
    assert "<<<<<<<" in (repository.goldset / "pins.toml").read_text()
    result = repository.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*pins.toml: not readable as TOML*the marks of a merge conflict: *"])

    repository.git("checkout", "--ours", "--", "goldsets/store/pins.toml")
    result = repository.run()
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        ["*pins and evidence disagree (a merge?): bm25 · recall@2 · words: pinned 0.8*says 0.875 over 4 *"]
    )

    repository.git("checkout", "HEAD", "--", "goldsets/store/pins.toml", "goldsets/store/pins")
    result = repository.run()
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["note: 1 query added and not pinned yet; *: n1"])
    repository.pin("new").assert_outcomes(passed=3)
    assert repository.pinned("words")["n"] == 4
    assert repository.pinned("words")["value"] == pytest.approx(3.5 / 4)
    assert repository.pinned("identifier")["reason"] == "HX-1 is sold no longer"


def test_evidence_that_git_could_not_merge_is_told_by_its_line(repository):
    """The lines of two strata stand side by side where their ids do."""
    repository.branch("one")
    repository.rank(i2=["b"])
    repository.pin("all", "tidy")
    repository.commit("One")
    repository.branch("two")
    repository.rank(w1=["c", "d"])
    repository.pin("raise")
    repository.commit("Two")
    repository.git("switch", "-q", "main")
    assert repository.merge("one")
    assert not repository.merge("two")
    repository.git("checkout", "--theirs", "--", "goldsets/store/pins.toml")
    result = repository.run()
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["*bm25.jsonl:2: a mark of a merge conflict; *"])
    # Here both sides' lines are wanted, for each stands in a stratum of its own.
    path = repository.goldset / "pins" / "bm25.jsonl"
    one = repository.git("show", "one:goldsets/store/pins/bm25.jsonl").splitlines()
    two = repository.git("show", "two:goldsets/store/pins/bm25.jsonl").splitlines()
    path.write_text("\n".join([*one[:2], *two[2:]]) + "\n")
    repository.run().assert_outcomes(passed=3)


def test_a_cell_over_all_that_both_branches_pinned_is_made_anew_of_the_evidence(project):
    repository = Repository(project, TOML)
    repository.pin("new").assert_outcomes(passed=4)
    repository.commit("Pin")
    repository.branch("one")
    repository.rank(i1=["x"])
    repository.pin("all", "HX-1 is sold no longer")
    repository.commit("One")
    repository.branch("two")
    repository.rank(w2=["e"])
    repository.pin("raise")
    repository.commit("Two")
    repository.git("switch", "-q", "main")
    assert repository.merge("one")
    assert not repository.merge("two")
    repository.git("checkout", "--ours", "--", "goldsets/store/pins.toml")
    two = tomllib.loads(repository.git("show", "two:goldsets/store/pins.toml"))["bm25"]["words"]["recall@2"]
    pins = repository.goldset / "pins.toml"
    head, table, rest = pins.read_text().partition('[bm25.words."recall@2"]\n')
    lines = [
        f"value = {two['value']!r}" if line.startswith("value =") else line for line in rest.splitlines()
    ]
    lines = [f"best = {two['best']!r}" if line.startswith("best =") else line for line in lines]
    pins.write_text(head + table + "\n".join(lines) + "\n")
    result = repository.run()
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["*disagree (a merge?): bm25 · recall@2 · all: pinned 0.5 over*"])
    of_all, _, rest = pins.read_text().partition('[bm25.identifier."recall@2"]\n')
    pins.write_text(of_all[: of_all.index("[bm25.all")] + '[bm25.identifier."recall@2"]\n' + rest)
    repository.pin("new").assert_outcomes(passed=4)
    assert repository.pinned("all")["value"] == pytest.approx((0 + 1 + 0.5 + 1 + 1) / 5)
    repository.run().assert_outcomes(passed=4)
