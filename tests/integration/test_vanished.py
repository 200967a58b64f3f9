"""Vanished by owner: right in a whole run, a folder, a file, a node id, -k, --ignore, --lf, -n2."""

from __future__ import annotations

import pytest

from .conftest import CONFTEST, GATE, TOML

OTHER = "def test_something_else(): pass\n"
FAILS = "store: 3 pins of test_search.py::test_pinned have vanished: *"


@pytest.fixture
def deleted(pinned):
    """The gate test is deleted, its file is not."""
    pinned.write("test_search.py", OTHER)
    pinned.write("other/test_other.py", OTHER.replace("something", "nothing"))
    return pinned


@pytest.mark.parametrize(
    "arguments", [(), ("test_search.py",), (".",), ("--ff",), ("-x",), ("-n2",)], ids=str
)
def test_a_deleted_gate_test_fails_by_its_name(deleted, arguments):
    result = deleted.run_apart(*arguments)
    assert result.ret == 1
    result.stdout.fnmatch_lines([FAILS + "test_search.py no longer has test_pinned, *"])
    result.stdout.fnmatch_lines(["FAILED *test_search.py::test_pinned[[]store-vanished[]]*"])


def test_a_deleted_file_fails_by_the_name_of_its_test(pinned):
    (pinned.path / "test_search.py").unlink()
    pinned.write("test_other.py", OTHER)
    result = pinned.run()
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines([FAILS + "test_search.py is gone, *"])


@pytest.mark.parametrize(
    "arguments",
    [
        ("other",),
        ("other/test_other.py",),
        ("test_search.py::test_something_else",),
        ("--ignore=test_search.py",),
        ("--lf",),
        ("-k", "nothing"),
    ],
    ids=str,
)
def test_whoever_asks_for_less_is_not_told(deleted, arguments):
    if arguments == ("--lf",):
        deleted.write("other/test_other.py", "def test_fails(): assert 0\n")
        deleted.run("other")
        deleted.write("other/test_other.py", "def test_fails(): pass\n")
    result = deleted.run(*arguments)
    assert "have vanished" not in result.stdout.str()
    assert result.ret == 0


def test_a_deleted_file_outside_the_invocation_is_not_told(deleted):
    (deleted.path / "test_search.py").unlink()
    assert deleted.run("other").ret == 0


def test_deselected_and_filtered_gate_tests_have_not_vanished(pinned):
    pinned.write("test_other.py", OTHER)
    assert pinned.run("-k", "something").ret == 0
    assert pinned.run("--deselect=test_search.py").ret == 0


def test_a_gate_test_that_moved_is_the_new_owner(pinned):
    (pinned.path / "test_search.py").rename(pinned.path / "test_moved.py")
    pinned.run().assert_outcomes(passed=4)


def test_a_gate_test_that_no_longer_gates_a_subject_is_told(project):
    project.write_goldset(toml=TOML + '[subjects.dense]\nmeasures = ["recall@2"]\n')
    project.write("conftest.py", CONFTEST.replace('{"bm25": search}', '{"bm25": search, "dense": search}'))
    project.pin().assert_outcomes(passed=7)
    marked = "import pytest\n@pytest.mark.goldset('store', subjects=['dense'])" + GATE
    project.write("test_search.py", marked)
    result = project.run()
    result.assert_outcomes(failed=1, passed=4)
    result.stdout.fnmatch_lines([FAILS + "test_search.py::test_pinned no longer gates it, *"])


def test_a_gold_set_that_cannot_be_read_has_not_vanished(pinned):
    (pinned.goldset / "qrels.trec").write_text("broken\n")
    result = pinned.run()
    assert "have vanished" not in result.stdout.str()
    assert result.ret == 1


def test_another_rootdir_looks_for_the_file_where_it_is(deleted):
    """Seen from a folder with a pytest.ini of its own, the owner's file still stands beside the gold set."""
    deleted.write("other/pytest.ini", "[pytest]\nretrieval_goldsets = ../goldsets\n")
    assert deleted.run("--rootdir=other", "-c", "other/pytest.ini", "other").ret == 0


def test_pins_of_a_deleted_test_can_be_pinned_away(deleted):
    result = deleted.pin()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["store: pinned 3 cells; *", "*identifier: 1.000 → gone"])
    assert deleted.run().ret == 0
