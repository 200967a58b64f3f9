"""Vanished by owner, beyond the table of test_situations: names, and how such pins go."""

from __future__ import annotations

import pytest

OTHER = "def test_something_else(): pass\n"
FAILS = "store: 3 pins of test_search.py::test_pinned have vanished: *"


@pytest.fixture
def deleted(pinned):
    """The gate test is deleted, its file is not."""
    pinned.write("test_search.py", OTHER)
    pinned.write("other/test_other.py", OTHER.replace("something", "nothing"))
    return pinned


def test_a_deleted_gate_test_fails_by_its_name(deleted):
    result = deleted.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines([FAILS + "test_search.py no longer has test_pinned, *"])
    result.stdout.fnmatch_lines(["FAILED *test_search.py::test_pinned[[]store-vanished[]]*"])


def test_a_deleted_file_outside_the_invocation_is_not_told(deleted):
    (deleted.path / "test_search.py").unlink()
    assert deleted.run("other").ret == 0


def test_a_gold_set_that_cannot_be_read_has_not_vanished(pinned):
    (pinned.goldset / "qrels.trec").write_text("broken\n")
    result = pinned.run()
    assert "have vanished" not in result.stdout.str()
    assert result.ret == 1


def test_pins_of_a_deleted_test_can_be_pinned_away(deleted):
    result = deleted.pin()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["store: pinned 3 cells; *", "*identifier: 1.000 → gone"])
    assert deleted.run().ret == 0
