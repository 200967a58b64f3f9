"""plan.toml: what is written is read again, and every fault is told."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

from pytest_retrieval.errors import SettingsError
from pytest_retrieval.files.plan import PLAN, Plan, Planned, load_plan, save_plan

ONE = Planned(
    "hybrid over bm25", "test", "../../test_search.py::test_hybrid", 30, "6a53", "recall@5", "hybrid", "bm25"
)
TWO = Planned('dense "über" bm25', "", "../../test_search.py::TestIt::test_dense", 7, "b258")


def test_no_plan(tmp_path):
    assert load_plan(tmp_path) is None


def test_round_trip(tmp_path):
    plan = Plan(0.01, (TWO, ONE), ("first", "then 'this'"), 0.005)
    save_plan(tmp_path, plan)
    assert load_plan(tmp_path) == plan
    assert tomllib.loads((tmp_path / PLAN).read_text("utf-8"))["comparison"][0]["split"] == ""
    before = (tmp_path / PLAN).read_bytes()
    save_plan(tmp_path, plan)
    assert (tmp_path / PLAN).read_bytes() == before


def test_an_emptied_plan_keeps_its_reasons(tmp_path):
    save_plan(tmp_path, Plan(0.05, (ONE,)).locked((), [ONE.name], "given up"))
    assert load_plan(tmp_path) == Plan(0.05, (), ("given up",), 0.05)


def test_comments_within_tables_stay(tmp_path):
    save_plan(tmp_path, Plan(0.05, (ONE,)))
    path = tmp_path / PLAN
    path.write_text(path.read_text().replace('split = "test"', 'split = "test"  # held out in May'))
    save_plan(tmp_path, Plan(0.05, (TWO, ONE)))
    assert "# held out in May" in path.read_text()
    assert load_plan(tmp_path).comparisons == (TWO, ONE)


def test_threshold_is_alpha_over_the_number_locked():
    assert Plan(0.05).threshold == 0.05
    assert Plan(0.05, (TWO, ONE)).threshold == 0.025
    assert Plan(0.05, (TWO, ONE)).locked((), [ONE.name]).threshold == 0.05


def test_locking_replaces_by_name_and_sorts():
    moved = Planned(ONE.name, "train", "../../test_other.py::test_hybrid")
    plan = Plan(0.05, (ONE,)).locked([TWO, moved], reason="moved")
    assert plan.comparisons == (TWO, moved)
    assert plan.find(ONE.name) == moved
    assert plan.find("x") is None
    assert (plan.last_reason, Plan(0.05).last_reason) == ("moved", "")


KEYS = (
    'name = "x"\nsplit = "test"\nowner = "t.py::test_x"\nmeasure = ""\na = ""\nb = ""\njudgments = "6a53"\n'
)
TABLE = f"[[comparison]]\n{KEYS}queries = 30\n"


@pytest.mark.parametrize(
    "text, said",
    [
        ("", ["alpha is None"]),
        ("alpha = 0.05", ["threshold is None; allowed is a number above 0"]),
        (
            "alpha = 0.05\nthreshold = 0.05\n" + TABLE.replace("queries = 30", "queries = true"),
            ["number 1: queries is True; a whole number above 0 is needed"],
        ),
        ("alpha = true", ["alpha is True; allowed is a number above 0 and below 1"]),
        ("alpha = 1", ["alpha is 1;"]),
        ("alpha = 0.05\nthreshold = 0.05\nreasons = 3", ["reasons is 3; allowed is a list of texts"]),
        ("alpha = 0.05\nthreshold = 0.05\nreasons = ['']", ["reasons is ['']"]),
        (
            "alpha = 0.05\nthreshold = 0.05\ncomparison = 3",
            ["comparison is 3; a planned comparison is a table [[comparison]]"],
        ),
        ("alpha = 0.05\nthreshold = 0.05\ncomparison = [3]", ["[[comparison]] number 1 is 3"]),
        (
            "alpha = 0.05\nthreshold = 0.05\nalfa = 1",
            ["unknown key 'alfa'; allowed are alpha, threshold, reasons and [[comparison]]"],
        ),
        (
            "alpha = 0.05\nthreshold = 0.05\n" + TABLE + "threshold = 0.05",
            ["[[comparison]] number 1: unknown key 'threshold'"],
        ),
        (
            "alpha = 0.05\nthreshold = 0.05\n" + TABLE.replace('"x"', '" "'),
            ["number 1: name is ' '; a text is needed"],
        ),
        (
            "alpha = 0.05\nthreshold = 0.05\n" + TABLE.replace('split = "test"\n', ""),
            ["number 1: split is None"],
        ),
        (
            "alpha = 0.05\nthreshold = 0.05\n" + TABLE.replace("::test_x", ""),
            ["owner is 't.py'; a test such as"],
        ),
        ("alpha = 0.05\nthreshold = 0.05\n" + TABLE + TABLE, ["'x' is planned twice (a merge?)"]),
        (
            "alpha = 2\nthreshold = 0.05\nreasons = 3\nkey = 1\n" + TABLE + "more = 1",
            ["4 problems", "alpha", "key", "more"],
        ),
        ("alpha = ", ["not readable as TOML", "take the file back"]),
        (
            "alpha = 0.05\nthreshold = 0.05\n<<<<<<< HEAD\n" + TABLE,
            ["marks of a merge conflict", "one list `reasons`", "lock again"],
        ),
        (
            'alpha = 0.05\nthreshold = 0.05\nreasons = ["a"]\nreasons = ["b"]\n' + TABLE,
            ["not readable as TOML", "after a merge: one line each of alpha, threshold and reasons"],
        ),
        (
            "alpha = 0.05\nthreshold = 0.05\n" + TABLE + "given = 1",
            ["number 1: given is 1; allowed are 'scores', 'runs'"],
        ),
    ],
)
def test_faults(tmp_path, text, said):
    (tmp_path / PLAN).write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_plan(tmp_path)
    assert str(tmp_path / PLAN) in str(caught.value)
    for part in said:
        assert part in str(caught.value)


def test_a_folder_in_place_of_the_file(tmp_path):
    (tmp_path / PLAN).mkdir()
    with pytest.raises(SettingsError, match=r"plan\.toml: cannot be read: Is a directory"):
        load_plan(tmp_path)


def test_what_is_given_comes_and_goes(tmp_path):
    save_plan(tmp_path, Plan(0.05, (replace(ONE, given="scores"), TWO)))
    assert load_plan(tmp_path).find(ONE.name).given == "scores"
    assert load_plan(tmp_path).find(TWO.name).given == ""
    save_plan(tmp_path, Plan(0.05, (ONE, TWO)))
    assert "given" not in (tmp_path / PLAN).read_text()


def test_a_later_reason_does_not_hide_the_earlier_ones():
    assert Plan(0.05, reasons=("a",)).reason_told == "a"
    assert Plan(0.05, reasons=("a", "b")).reason_told == "b (the last of 2 reasons in plan.toml)"


def test_not_utf_8(tmp_path):
    (tmp_path / PLAN).write_bytes(b"alpha = 0.05\nthreshold = 0.05\n# \xff\n")
    with pytest.raises(SettingsError, match="byte 33 is not UTF-8"):
        load_plan(tmp_path)
