"""Against the merge base: what a branch may not do to its own ruler without being told so."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .conftest import GOLD, QUERIES, TOML


def git(project, *arguments):
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
    return subprocess.run(command, cwd=project.path, check=True, capture_output=True, text=True).stdout


def commit(project, message):
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", message)


@pytest.fixture
def branch(pinned):
    """A pinned project on a branch of its own, one commit ahead of nothing."""
    pinned.write(".gitignore", "calls\nbuilds\n__pycache__/\n.pytest_cache/\n")
    git(pinned, "init", "-q", "-b", "main")
    commit(pinned, "pinned")
    git(pinned, "switch", "-q", "-c", "feature")
    return pinned


def judged(project, *arguments):
    return project.run("--retrieval-against=main", *arguments)


def test_an_untouched_branch_holds(branch):
    result = judged(branch)
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["3 cells: 3 held"])


def test_a_lowered_pin_passes_plainly_and_not_against_main(branch):
    branch.rank(i1=["x"])
    branch.pin("all", "--retrieval-reason", "HX is gone")
    commit(branch, "lower")
    assert branch.run().ret == 0
    result = judged(branch)
    result.assert_outcomes(failed=2, passed=2)
    result.stdout.fnmatch_lines(["store: bm25 · recall@2 · identifier is regressed", "  1.000 → 0.500 *"])


def test_what_was_lowered_with_a_reason_can_be_accepted_and_is_printed(branch):
    branch.rank(i1=["x"])
    branch.pin("all", "--retrieval-reason", "HX is gone")
    result = judged(branch, "--retrieval-accept-lowered")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["note: *identifier was lowered on this branch and accepted: HX is gone"])


def test_a_loosened_tolerance_passes_plainly_and_not_against_main(branch):
    toml = branch.goldset / "goldset.toml"
    toml.write_text("tolerance = 0.6\n" + toml.read_text())
    branch.rank(i1=["x"])
    assert branch.run().ret == 0
    result = judged(branch)
    result.assert_outcomes(failed=3, passed=1)
    result.stdout.fnmatch_lines(["  tolerance of the gold set 0 → 0.6 (favours this branch)"])


def test_a_deleted_hard_query_passes_plainly_and_not_against_main(branch):
    less = {query_id: row for query_id, row in QUERIES.items() if query_id != "w2"}
    branch.write_goldset(queries=less, gold={q: GOLD[q] for q in less})
    branch.pin().assert_outcomes(passed=4)
    assert branch.run().ret == 0
    result = judged(branch)
    result.assert_outcomes(failed=1, passed=3)
    result.stdout.fnmatch_lines(["  query w2 removed (pinned 0.000 in words) (favours this branch)"])
    assert judged(branch, "--retrieval-accept-lowered").ret == 0


def test_a_flipped_judgment_passes_plainly_and_not_against_main(branch):
    branch.rank(w3=["x", "y"])
    branch.write_goldset(gold=dict(GOLD, w3={"f": 0, "x": 2}))
    assert branch.run().ret == 0
    result = judged(branch)
    result.assert_outcomes(failed=1, passed=3)
    result.stdout.fnmatch_lines(["  query w3: judgments of f, x changed (favours this branch)"])


def test_a_corrected_judgment_that_helps_nobody_is_listed_and_passes(branch):
    branch.write_goldset(gold=dict(GOLD, i1={"a": 2}))
    result = judged(branch)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["note:   query i1: judgments of z changed"])


def test_a_query_moved_between_strata_passes_plainly_and_not_against_main(branch):
    """i1 lost and moves to words, where w2's gain makes up for it."""
    branch.rank(i1=["x"], w2=["e"])
    branch.write_goldset(queries=dict(QUERIES, i1=("HX-1", "words")))
    assert branch.run().ret == 0
    result = judged(branch)
    result.assert_outcomes(failed=1, passed=3)
    result.stdout.fnmatch_lines(["  query i1 moved, identifier → words (favours this branch)"])


def test_a_gold_set_that_is_new_on_the_branch_is_judged_by_its_own_pins(branch):
    branch.write_goldset("goldsets/second", toml=TOML.replace('"store"', '"second"'))
    branch.write(
        "test_second.py", "import pytest\n@pytest.mark.goldset('second')\ndef test_it(gate): gate.check()\n"
    )
    branch.write(
        "test_search.py",
        "import pytest\n@pytest.mark.goldset('store')\ndef test_pinned(gate): gate.check()\n",
    )
    assert judged(branch).ret == 1
    branch.pin().assert_outcomes(passed=8)
    judged(branch).assert_outcomes(passed=8)


def test_a_renamed_folder_is_matched_by_the_name_of_its_gold_set(branch):
    branch.goldset.rename(branch.path / "goldsets" / "shop")
    branch.rank(i1=["x"])
    result = judged(branch)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["store: bm25 · recall@2 · identifier is regressed"])


def test_the_same_under_xdist(branch):
    branch.rank(i1=["x"])
    branch.pin("all", "--retrieval-reason", "HX is gone")
    result = branch.run_apart("--retrieval-against=main", "-n2")
    result.assert_outcomes(failed=2, passed=2)


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["serial", "xdist"])
def test_an_unknown_revision_ends_the_session(branch, workers):
    result = branch.run_apart("--retrieval-against=nowhere", *workers)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--retrieval-against=nowhere: git does not know this revision here.*"])


def test_a_shallow_clone_is_named(branch, pytester):
    for number in range(2):
        branch.write(f"file{number}", "x")
        commit(branch, f"more {number}")
    subprocess.run(
        ["git", "clone", "-q", "--depth=1", f"file://{branch.path}", "clone"], cwd=branch.path, check=True
    )
    pytester.chdir()
    result = pytester.run(
        sys.executable, "-m", "pytest", "--rootdir=clone", "clone", "--retrieval-against=main"
    )
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*This is a shallow clone: fetch more history*"])


def test_without_a_repository_the_session_ends(pinned):
    result = pinned.run("--retrieval-against=main")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--retrieval-against=main: git rev-parse failed in *"])


def test_a_large_file_pointer_is_refused(branch):
    git(branch, "switch", "-q", "main")
    catalog = branch.goldset / "catalog.jsonl"
    text = catalog.read_text()
    catalog.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    commit(branch, "pointer")
    git(branch, "switch", "-q", "-c", "next")
    catalog.write_text(text)
    result = judged(branch)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*catalog.jsonl at * is a Git LFS pointer, not the file; *"])
