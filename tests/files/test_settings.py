from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_retrieval.errors import SettingsError
from pytest_retrieval.files.settings import SubjectSettings, line_of_key, read_settings, settings_from

FULL = """\
name = "store"
version = "2"
provenance = "asked around"
licence = "CC0"
relevance_level = 2
grades = {irrelevant = 0, partial = 1, exact = 2}
stratum = "kind"
slices = ["tags", "device"]
splits = ["train", "dev", "test"]
gate_splits = ["train", "dev"]
gate_also = ["all", "slice:follow_up"]
unjudged = "unknown"
no_relevant = "undefined"
groups = true
min_judged = 0.9
depth = 50
context_size = 5
tolerance = 0.01
alpha = 0.1
recording_drift = 0.2
[subjects.bm25]
measures = ["recall@5", "mrr@10"]
[subjects.dense]
measures = ["recall@5"]
requires = ["torch"]
"""


def message(write, text: str | bytes) -> str:
    write("gs/goldset.toml", text)
    with pytest.raises(SettingsError) as error:
        read_settings("gs")
    return str(error.value)


def test_every_key(write):
    path = write("gs/goldset.toml", FULL)
    settings = read_settings("gs")
    assert read_settings(path) == settings
    assert (settings.name, settings.file, settings.folder) == ("store", "gs/goldset.toml", path.parent)
    assert (settings.version, settings.provenance, settings.licence) == ("2", "asked around", "CC0")
    assert settings.relevance_level == 2
    assert settings.grades == {"irrelevant": 0, "partial": 1, "exact": 2}
    assert settings.stratum == "kind"
    assert settings.slices == ("tags", "device")
    assert settings.splits == ("train", "dev", "test")
    assert settings.gate_splits == ("train", "dev")
    assert settings.gate_also == ("all", "slice:follow_up")
    assert settings.unjudged == "unknown"
    assert settings.no_relevant == "undefined"
    assert settings.groups is True
    assert settings.min_judged == 0.9
    assert (settings.depth, settings.context_size) == (50, 5)
    assert (settings.tolerance, settings.alpha, settings.recording_drift) == (0.01, 0.1, 0.2)
    assert settings.subjects == {
        "bm25": SubjectSettings(("recall@5", "mrr@10")),
        "dense": SubjectSettings(("recall@5",), ("torch",)),
    }
    assert line_of_key(settings, "splits") == 9
    assert line_of_key(settings, "absent") is None


def test_defaults(write):
    write("gs/goldset.toml", '\ufeffname = "store"\nslices = "tags"\n')
    settings = read_settings("gs")
    assert settings.slices == ("tags",)
    assert settings.relevance_level is settings.min_judged is settings.context_size is None
    assert settings.splits is settings.gate_splits is settings.stratum is None
    assert (settings.unjudged, settings.no_relevant, settings.groups) == ("irrelevant", "error", False)
    assert (settings.depth, settings.tolerance, settings.alpha, settings.recording_drift) == (100, 0, 0.05, 0)
    assert settings.subjects == {}


@pytest.mark.parametrize(
    "line, said",
    [
        ("version = 2", "version is 2; allowed is a string"),
        ("relevance_level = 0", "relevance_level is 0; allowed is a whole number of at least 1"),
        ("relevance_level = 1.5", "allowed is a whole number of at least 1"),
        ("depth = true", "depth is True; allowed is a whole number of at least 1"),
        ("context_size = 0", "allowed is a whole number of at least 1"),
        ("grades = {}", "allowed is a table of grade names and different whole numbers"),
        ("grades = [0, 1]", "allowed is a table of grade names"),
        ("grades = {no = 0, yes = true}", "allowed is a table of grade names"),
        ("grades = {no = 0, half = 0.5}", "allowed is a table of grade names"),
        ("grades = {no = 0, never = 0}", "allowed is a table of grade names"),
        ('grades = {" " = 0}', "allowed is a table of grade names"),
        ("stratum = 3", "stratum is 3; allowed is the name of a column of queries"),
        ('stratum = " "', "allowed is the name of a column of queries"),
        ("slices = []", "allowed is a list of different column names, at least one"),
        ("slices = 1", "allowed is a list of different column names, at least one"),
        ('splits = ["a", "a"]', "splits is ['a', 'a']; allowed is a list of different split names"),
        ("gate_splits = []", "allowed is a list of different split names, at least one"),
        ('gate_splits = "train"', "allowed is a list of different split names"),
        ('gate_splits = [""]', "allowed is a list of different split names"),
        ('gate_also = ["short"]', 'allowed is a list of "all" and "slice:<name>"'),
        ('gate_also = ["slice:"]', 'allowed is a list of "all" and "slice:<name>"'),
        ('unjudged = "maybe"', "unjudged is 'maybe'; allowed is 'irrelevant' or 'unknown'"),
        ("no_relevant = true", "allowed is 'error' or 'undefined'"),
        ('groups = "yes"', "groups is 'yes'; allowed is true or false"),
        ("min_judged = 1.1", "min_judged is 1.1; allowed is a number from 0 to 1"),
        ("tolerance = -0.1", "allowed is a number from 0 to 1"),
        ("tolerance = nan", "allowed is a number from 0 to 1"),
        ("tolerance = true", "allowed is a number from 0 to 1"),
        ('tolerance = "0.1"', "allowed is a number from 0 to 1"),
        ("alpha = 0", "alpha is 0; allowed is a number above 0 and below 1"),
        ("alpha = 1.0", "allowed is a number above 0 and below 1"),
        ("recording_drift = 2", "allowed is a number from 0 to 1"),
        ("subjects = 3", 'allowed is tables such as [subjects.bm25] with measures = ["recall@5"]'),
        ("subjects = {bm25 = 3}", "subjects.bm25 is 3; allowed is a table such as [subjects.bm25] with"),
        ("[subjects.bm25]\nrequires = []", "subjects.bm25: 'measures' is missing; allowed are the keys"),
        ('[subjects.bm25]\nmeasures = ["a"]\nneeds = []', "subjects.bm25: 'needs' is unknown"),
        ("[subjects.bm25]\nmeasures = []", "subjects.bm25: measures is []; allowed is a list of different"),
        ("[subjects.bm25]\nmeasures = [5]", "subjects.bm25: measures is [5]; allowed is a list of different"),
        ('[subjects.bm25]\nmeasures = ["a"]\nrequires = "x"', "allowed is a list of different package names"),
    ],
)  # fmt: skip
def test_values_that_are_not_allowed(write, line, said):
    told = message(write, f'name = "store"\n{line}\n')
    assert told.startswith("gs/goldset.toml:2: ")
    assert said in told
    assert "\n" not in told


@pytest.mark.parametrize("name", ["--", "../x", "a/b", "x y", "größe", ".hidden", "", "a[b]"])
def test_subjects_that_cannot_name_their_evidence(write, name):
    told = message(write, f'name = "store"\n\n[subjects.good]\nmeasures = ["a"]\n["subjects"."{name}"]\n')
    assert f"a subject cannot be named {name!r}" in told
    told = message(write, f'name = "store"\n\n[subjects.good]\nmeasures = ["a"]\n[subjects."{name}"]\n')
    assert told.startswith(f"gs/goldset.toml:5: subjects.{name}: a subject cannot be named {name!r}")
    assert "letters A to Z, digits, '.', '-' and '_' are allowed" in told
    assert "Rename it" in told


@pytest.mark.parametrize(
    "name", ["recall@ 5", "recall@5 ", "recall@05", "recall@", "recall@0", "recall@five", "recall 5", "@5"]
)
def test_measures_that_are_no_names(write, name):
    told = message(write, f'name = "store"\n[subjects.bm25]\nmeasures = ["mrr@10", "{name}"]\n')
    assert told.startswith("gs/goldset.toml:2: subjects.bm25: measures is ")
    assert f"{name!r} is none" in told


@pytest.mark.parametrize(
    "name", ["R@5", "P(rel=2)@5", "RR", "P(rel=2, x='y')@10", "shop_first@1", "context_recall@5"]
)
def test_measures_of_any_kind(write, name):
    write("gs/goldset.toml", f'name = "store"\n[subjects.bm25]\nmeasures = ["{name}"]\n')
    assert read_settings("gs").subjects["bm25"].measures == (name,)


@pytest.mark.parametrize(
    "name", ['""', '" "', '"--"', "3", '"store "', '" store"', '"../x"', '"a/b [c]"', '"a\\nb"', '"_a"']
)
def test_names_that_cannot_name_a_gold_set(write, name):
    assert "a string of letters, digits, spaces, '.', '-' and '_'" in message(write, f"name = {name}")


@pytest.mark.parametrize("name", ["store", "My store 2", "größe", "a.b-c_d", "店"])
def test_names_of_gold_sets(write, name):
    write("gs/goldset.toml", f'name = "{name}"')
    assert read_settings("gs").name == name


def test_the_smallest_values_allowed():
    settings = settings_from({"name": "é", "gate_also": [], "tolerance": 1, "min_judged": 0}, "x")
    assert (settings.name, settings.gate_also, settings.tolerance, settings.min_judged) == ("é", (), 1.0, 0.0)


def test_the_name_is_required(write):
    assert message(write, 'version = "1"') == (
        "gs/goldset.toml: the key 'name' is missing; a gold set is identified by its name"
    )


def test_unknown_keys_say_what_was_meant_and_what_is_allowed(write):
    told = message(write, 'name = "store"\nrelevance_levels = 2\ncolour = "red"\ndepth = 0\n')
    assert told.splitlines()[0] == "gs/goldset.toml: 3 problems"
    assert (
        "unknown key 'relevance_levels' (did you mean 'relevance_level'?); allowed are name, version," in told
    )
    assert "unknown key 'colour'; allowed are name, version," in told
    assert "  gs/goldset.toml:4: depth is 0" in told


@pytest.mark.parametrize(
    "text, said",
    [
        ('name = "store', "is no TOML: "),
        ("name = 'a'\nname = 'b'\n", "(at line 2, column 11)"),
        (b'name = "caf\xe9"', "byte 12 is not UTF-8; save the file as UTF-8"),
    ],
)
def test_unreadable_toml(write, text, said):
    told = message(write, text)
    assert told.startswith("gs/goldset.toml: ")
    assert said in told


def test_missing_file(write):
    write("gs/queries.jsonl", "")
    with pytest.raises(SettingsError, match=r"^gs/goldset\.toml: no such file; a gold set is a folder with"):
        read_settings("gs")
    write("folder/goldset.toml/x", "")
    with pytest.raises(SettingsError, match=r"^folder/goldset\.toml: cannot be read: Is a directory"):
        read_settings("folder")


def test_reading_settings_is_cheap():
    code = (
        "import sys, pytest_retrieval.files.settings;"
        "print([name for name in ('numpy', 'pandas', 'pytest', 'difflib', 'csv') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
