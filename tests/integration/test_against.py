"""Against the merge base: what a branch may not do to its own ruler without being told so."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .conftest import CONFTEST, GOLD, QUERIES, TOML


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


PLANNED = """
import pytest

@pytest.mark.planned_comparison("bm25 over nothing")
def test_first(runs, compare):
    queries = ["i1", "i2", "w1", "w2", "w3"]
    result = compare(dict.fromkeys(queries, 1.0), dict.fromkeys(queries, 0.0), "recall@2")
    print(f"threshold {result.threshold}")
"""
SECOND = PLANNED.replace("bm25 over nothing", "again").replace("test_first", "test_second")


@pytest.fixture
def planned(pinned):
    """A branch off a base that planned two comparisons at alpha 0.4."""
    toml = pinned.goldset / "goldset.toml"
    toml.write_text("alpha = 0.4\n" + toml.read_text())
    pinned.write("conftest.py", CONFTEST)
    pinned.write("test_plan.py", PLANNED + SECOND.replace("import pytest\n", ""))
    pinned.run("--retrieval-lock").assert_outcomes(skipped=2, passed=4)
    pinned.write(".gitignore", "calls\nbuilds\n__pycache__/\n.pytest_cache/\n")
    git(pinned, "init", "-q", "-b", "main")
    commit(pinned, "planned")
    git(pinned, "switch", "-q", "-c", "feature")
    return pinned


def test_an_untouched_plan_holds(planned):
    result = judged(planned, "-rP")
    assert result.stdout.str().count("threshold 0.2") >= 2
    assert "about its plan" not in result.stdout.str()


def test_a_comparison_taken_out_of_the_plan_passes_plainly_and_not_against_main(planned):
    """Alone, the other would be established at 0.4."""
    planned.write("test_plan.py", PLANNED)
    planned.run("--retrieval-lock", "--retrieval-reason", "one is enough")
    commit(planned, "one less")
    plain = planned.run("-rP")
    assert plain.ret == 0
    assert "threshold 0.4" in plain.stdout.str()
    result = judged(planned, "-rP")
    result.assert_outcomes(failed=1, passed=5)
    result.stdout.fnmatch_lines(
        [
            "store: against main (*) this branch changed 1 thing about its plan, 1 in its own favour:",
            "  'again' is no longer planned (favours this branch)",
            "  what main planned is established below the smaller threshold of both; main's is 0.2",
            "if a reviewer agrees:  add --retrieval-accept-lowered",
            "threshold 0.2",
        ],
        consecutive=False,
    )
    result = judged(planned, "--retrieval-accept-lowered")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["  'again' is no longer planned (favours this branch)"])


def test_a_larger_alpha_passes_plainly_and_not_against_main(planned):
    plan = planned.goldset / "plan.toml"
    plan.write_text(plan.read_text().replace("alpha = 0.4", "alpha = 0.9"))
    assert planned.run().ret == 1
    planned.run("--retrieval-lock", "--retrieval-reason", "an alpha of our own")
    assert planned.run().ret == 0
    result = judged(planned)
    result.assert_outcomes(failed=1, passed=6)
    result.stdout.fnmatch_lines(["  alpha 0.4 → 0.9 (favours this branch)"])


def test_another_measure_passes_plainly_and_not_against_main(planned):
    planned.write("test_plan.py", (planned.path / "test_plan.py").read_text().replace("recall@2", "mrr@2", 1))
    planned.run("--retrieval-lock", "--retrieval-reason", "what users see")
    assert planned.run().ret == 0
    result = judged(planned)
    result.assert_outcomes(failed=1, passed=6)
    result.stdout.fnmatch_lines(["  'bm25 over nothing' compares recall@2 → mrr@2 (favours this branch)"])


def test_scores_in_place_of_runs_and_a_reason_that_is_gone_are_told_against_main(planned):
    planned.write("test_third.py", PLANNED.replace("bm25 over nothing", "new").replace("first", "third"))
    planned.run("--retrieval-lock", "--retrieval-reason", "after the results")
    git(planned, "switch", "-q", "-C", "main")
    commit(planned, "a third")
    git(planned, "switch", "-q", "-c", "later")
    plan = planned.goldset / "plan.toml"
    lines = plan.read_text().splitlines(keepends=True)
    lines = [line for line in lines if not line.startswith(("reasons", "given"))]
    plan.write_text("".join(lines))
    result = judged(planned)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*this branch changed 4 things about its plan, 1 in its own favour:",
            "  'again' compares scores given by the test → runs of the fixture `runs`",
            "  the reason 'after the results' is gone from the plan (favours this branch)",
        ]
    )


def test_other_judgments_are_told_and_pass(planned):
    qrels = planned.goldset / "qrels.trec"
    qrels.write_text(qrels.read_text() + "i1 0 c 1\n")
    planned.run("--retrieval-lock", "--retrieval-reason", "judged more")
    result = judged(planned)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["  'bm25 over nothing' is about other judgments"])


def test_a_comparison_that_is_new_on_the_branch_is_told_and_passes(planned):
    planned.write("test_third.py", PLANNED.replace("bm25 over nothing", "new").replace("first", "third"))
    planned.run("--retrieval-lock", "--retrieval-reason", "a new system")
    result = judged(planned, "-rP")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["  'new' is planned"])
    assert "threshold 0.13" in result.stdout.str()


def test_git_that_is_not_installed_ends_the_session(branch, monkeypatch):
    monkeypatch.setenv("PATH", str(branch.path))
    result = branch.run("--retrieval-against=main")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--retrieval-against=main needs git, which is not installed here"])


def test_a_gold_set_elsewhere_in_the_repository_is_no_concern_of_ours(branch):
    """One of the same name, and one that cannot be read: fixtures of other tests, say."""
    git(branch, "switch", "-q", "main")
    branch.write("examples/a/goldset.toml", TOML)
    branch.write("examples/b/goldset.toml", "name = ")
    commit(branch, "examples")
    git(branch, "switch", "-q", "-c", "next")
    judged(branch).assert_outcomes(passed=4)


def test_a_base_that_cannot_be_read_ends_the_session(branch):
    git(branch, "switch", "-q", "main")
    toml = branch.goldset / "goldset.toml"
    text = toml.read_text()
    toml.write_text("name = ")
    commit(branch, "broken")
    git(branch, "switch", "-q", "-c", "next")
    toml.write_text(text)
    result = judged(branch)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*goldset.toml: is no TOML: *"])


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


@pytest.mark.parametrize("value", ["", " "])
def test_a_revision_that_is_empty_ends_the_session(branch, value):
    """An unset variable in CI would otherwise judge by the branch's own pins, and pass."""
    branch.rank(i1=["x"])
    branch.pin("all", "--retrieval-reason", "HX is gone")
    result = branch.run(f"--retrieval-against={value}")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--retrieval-against names no revision (a variable that is empty[?])*"])


def test_a_failure_says_by_whose_pins_and_what_a_reviewer_can_do(branch):
    branch.rank(i1=["x"])
    judged(branch).stdout.fnmatch_lines(
        [
            "store: bm25 · recall@2 · identifier is regressed",
            "  judged by the pins of main (*)",
            'this cell alone:  pytest "*identifier]" --retrieval-against=main',
            "if the loss is meant:  pytest * (then commit the pins, and a reviewer adds"
            " --retrieval-accept-lowered here)",
        ]
    )
    branch.pin("all", "--retrieval-reason", "HX is gone")
    judged(branch).stdout.fnmatch_lines(
        ["this branch pinned it anew: HX is gone; if a reviewer agrees:  add --retrieval-accept-lowered"]
    )


def test_what_fell_below_the_branchs_own_pin_is_not_accepted(branch):
    branch.rank(w1=["c", "x"], i1=["x"])
    branch.pin("all", "--retrieval-reason", "HX is gone", "-k", "identifier").assert_outcomes(passed=1)
    branch.rank(i2=["x"])
    result = judged(branch, "--retrieval-accept-lowered", "-k", "identifier")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["store: bm25 · recall@2 · identifier is regressed", "  1.000 → 0.000 *"])


@pytest.fixture
def lowered(branch):
    """A branch off a base that lowered a pin before."""
    git(branch, "switch", "-q", "main")
    branch.rank(i1=["x"])
    branch.pin("all", "--retrieval-reason", "agreed")
    commit(branch, "lowered once")
    git(branch, "switch", "-q", "-c", "next")
    return branch


def test_a_second_lowering_may_have_the_same_reason(lowered):
    lowered.rank(i2=["x"])
    judged(lowered, "--retrieval-accept-lowered").assert_outcomes(failed=2, passed=2)
    lowered.pin("all", "--retrieval-reason", "agreed")
    result = judged(lowered, "--retrieval-accept-lowered")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["note: *identifier was lowered on this branch and accepted: agreed"])


def test_a_reason_excuses_no_wider_tolerance(branch):
    """The pin falls to 0.5 with a reason; a tolerance by hand would let the rest fall too."""
    branch.rank(i1=["x"])
    branch.pin("all", "--retrieval-reason", "HX is gone")
    judged(branch, "--retrieval-accept-lowered", "-k", "identifier").assert_outcomes(passed=1)
    branch.rank(i2=["x"])
    pins = branch.goldset / "pins.toml"
    pins.write_text(
        pins.read_text().replace('reason = "HX is gone"', 'reason = "HX is gone"\ntolerance = 0.9')
    )
    assert branch.run("-k", "identifier").ret == 0
    judged(branch, "--retrieval-accept-lowered", "-k", "identifier").assert_outcomes(failed=1)


def test_an_undecided_fall_with_a_reason_can_be_accepted(branch):
    git(branch, "switch", "-q", "main")
    toml = branch.goldset / "goldset.toml"
    toml.write_text('unjudged = "unknown"\n' + toml.read_text())
    commit(branch, "pooled judgments")
    git(branch, "switch", "-q", "-c", "next")
    branch.rank(i1=["x", "y"])
    branch.pin("all", "--retrieval-reason", "HX is gone")
    judged(branch).stdout.fnmatch_lines(["store: bm25 · recall@2 · identifier is undecided"])
    result = judged(branch, "--retrieval-accept-lowered")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["note: *identifier was lowered on this branch and accepted: HX is gone"])


@pytest.mark.parametrize(
    "old, new, left",
    [
        ('gate_also = ["all"]', "", 4),  # what the base gates is judged here too
        ('["recall@2"]', '["mrr@2"]', 7),
        ("[subjects.bm25]", "[subjects.dense]", 7),
    ],
)
def test_cells_that_a_branch_took_out_are_told_and_can_be_accepted(branch, old, new, left):
    toml = branch.goldset / "goldset.toml"
    toml.write_text(toml.read_text().replace(old, new))
    branch.write("conftest.py", CONFTEST.replace('"bm25": search', '"bm25": search, "dense": search'))
    assert branch.pin().ret == 0
    assert branch.run().ret == 0
    if left == 4:
        judged(branch).assert_outcomes(passed=4)
        return
    result = judged(branch)
    result.assert_outcomes(failed=3, passed=4)
    result.stdout.fnmatch_lines(
        ["this branch took the cell out; if a reviewer agrees:  add --retrieval-accept-lowered"]
    )
    result.stdout.no_fnmatch_line("*no pin yet*")
    result = judged(branch, "--retrieval-accept-lowered")
    result.assert_outcomes(passed=7)
    result.stdout.fnmatch_lines(["note: bm25 · recall@2 · all was taken out on this branch and accepted"])


def test_a_gold_set_that_changed_its_name_is_missed(branch):
    branch.rank(i1=["x"])
    toml = branch.goldset / "goldset.toml"
    toml.write_text(toml.read_text().replace('"store"', '"shop"'))
    branch.pin("all", "--retrieval-reason", "HX is gone")
    commit(branch, "another name")
    assert branch.run().ret == 0
    result = judged(branch)
    result.assert_outcomes(failed=1, passed=4)
    result.stdout.fnmatch_lines(
        [
            "store: 3 pins of test_search.py::test_pinned at main (*), and this branch has no gold set of"
            " that name; it has shop",
            "if a reviewer agrees that it goes:  add --retrieval-accept-lowered",
        ]
    )
    judged(branch, "test_search.py").assert_outcomes(failed=1, passed=4)
    result = judged(branch, "--retrieval-accept-lowered")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["note: store: 3 pins of *; accepted"])


def test_gold_sets_that_were_all_deleted_are_missed(branch):
    git(branch, "rm", "-q", "-r", "goldsets", "test_search.py")
    branch.write("test_other.py", "def test_it(): pass")
    result = judged(branch)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["store: 3 pins of test_search.py::test_pinned at main (*; it has none"])
    judged(branch, "test_other.py").assert_outcomes(passed=1)


def test_a_gold_set_that_was_never_pinned_is_not_missed(branch):
    git(branch, "switch", "-q", "main")
    branch.write_goldset("goldsets/second", toml=TOML.replace('"store"', '"second"'))
    commit(branch, "no pins")
    git(branch, "switch", "-q", "-c", "next")
    git(branch, "rm", "-q", "-r", "goldsets/second")
    judged(branch).assert_outcomes(passed=4)


@pytest.fixture
def must(branch):
    """A branch off a base whose i1 may never fall."""
    git(branch, "switch", "-q", "main")
    branch.write_goldset(more={query_id: {"must": query_id == "i1"} for query_id in QUERIES})
    commit(branch, "must")
    git(branch, "switch", "-q", "-c", "next")
    return branch


def test_a_must_query_that_was_pinned_anew_passes_plainly_and_not_against_main(must):
    must.rank(i1=["x"])
    must.pin("all", "--retrieval-reason", "HX is gone")
    assert must.run().ret == 0
    result = judged(must)
    result.assert_outcomes(failed=3, passed=1)
    result.stdout.fnmatch_lines(
        [
            "store: 1 must-query of bm25 fell on recall@2 against main (*):",
            "  i1 *1.000 → 0.000",
            "what this branch pinned anew, if a reviewer agrees:  add --retrieval-accept-lowered",
        ]
    )
    result = judged(must, "--retrieval-accept-lowered")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["note: must-query i1 fell against main (*) and was accepted"])


def test_a_query_that_may_fall_now_is_told(must):
    must.write_goldset()
    assert must.run().ret == 0
    result = judged(must)
    result.assert_outcomes(failed=1, passed=3)
    result.stdout.fnmatch_lines(
        ["  query i1 may fall now: it is no must-query any more (favours this branch)"]
    )


def test_a_must_query_that_was_removed_is_told_however_good_it_was(must):
    less = {query_id: row for query_id, row in QUERIES.items() if query_id != "i1"}
    must.write_goldset(queries=less, gold={q: GOLD[q] for q in less})
    assert must.pin().ret == 0
    result = judged(must)
    result.assert_outcomes(failed=1, passed=3)
    result.stdout.fnmatch_lines(
        ["  must-query i1 removed (pinned 1.000 in identifier) (favours this branch)"]
    )


def test_a_file_of_the_base_is_named_as_git_names_it(branch):
    git(branch, "switch", "-q", "main")
    qrels = branch.goldset / "qrels.trec"
    text = qrels.read_text()
    qrels.write_text(text + "x y\n")
    commit(branch, "broken")
    git(branch, "switch", "-q", "-c", "next")
    qrels.write_text(text)
    result = judged(branch)
    result.stdout.fnmatch_lines(["  ??????????:goldsets/store/qrels.trec:*: 2 columns*"])
    result.stdout.no_fnmatch_line("*retrieval-base-*")
