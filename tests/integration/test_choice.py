"""Which gold sets a test uses, and what it gets of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import CONFTEST, GATE, TOML

SECOND = TOML.replace('"store"', '"second"')
WORKERS = pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["serial", "xdist"])


def disowned(project):
    """Return a project whose pins belong to a test elsewhere, so that a gate test may be replaced."""
    for path in project.path.glob("goldsets/*/pins.toml"):
        owner = 'owner = "../elsewhere/test_gate.py::test_pinned"'
        path.write_text(re.sub(r"(?m)^owner = .*$", owner, path.read_text()))
    return project


@pytest.fixture
def pinned(pinned):
    return disowned(pinned)


@pytest.fixture
def two(pinned):
    """A project with two gold sets, both pinned."""
    pinned.write_goldset("goldsets/second", toml=SECOND)
    pinned.write("test_search.py", "import pytest\n@pytest.mark.goldset('store', 'second')" + GATE)
    pinned.pin().assert_outcomes(passed=8)
    return disowned(pinned)


def collected(project, *arguments):
    lines = project.run("--collect-only", "-q", *arguments).stdout.lines
    return [line.partition("::")[2] for line in lines if "::" in line]


def test_several_gold_sets_need_a_marker(two):
    two.write("test_search.py", GATE + "\ndef test_catalog(catalog):\n    pass\n")
    result = two.run()
    assert result.ret == 1
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(
        ["there are 2 gold sets (second, store): say which with @pytest.mark.goldset(name) or the ini key *"]
    )


def test_the_ini_file_names_the_default(two):
    two.write("test_search.py", GATE)
    two.write("pytest.ini", "[pytest]\nretrieval_goldset = second\n")
    assert collected(two)[0] == "test_pinned[second]"
    two.run().assert_outcomes(passed=4)


@WORKERS
def test_a_default_that_does_not_exist_ends_the_session(two, workers):
    two.write("pytest.ini", "[pytest]\nretrieval_goldset = thrid\n")
    result = two.run_apart(*workers)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*retrieval_goldset = thrid: there is no such gold set; there are second, store*"]
    )


def test_a_marker_goes_before_the_default(two):
    two.write("pytest.ini", "[pytest]\nretrieval_goldset = second\n")
    two.write("test_search.py", "import pytest\n@pytest.mark.goldset('store')" + GATE)
    assert collected(two)[0] == "test_pinned[store]"


def test_the_only_gold_set_needs_no_marker(pinned):
    assert collected(pinned) == [
        "test_pinned[store]",
        "test_pinned[store-bm25-recall_2-all]",
        "test_pinned[store-bm25-recall_2-identifier]",
        "test_pinned[store-bm25-recall_2-words]",
    ]


@pytest.mark.parametrize(
    "marker, message",
    [
        ("goldset('stroe')", "no gold set is named 'stroe'; there are second, store"),
        ("goldset('store', 'thrid')", "no gold set is named 'thrid'"),
        ("goldset()", "@pytest.mark.goldset needs names of gold sets, not ()"),
        ("goldset(['store'])", "@pytest.mark.goldset needs names of gold sets, not (['store'],)"),
        ("goldset('store', 'store')", "@pytest.mark.goldset names a gold set twice: store, store"),
        ("goldset('store', subject=['bm25'])", "@pytest.mark.goldset takes no subject"),
        ("goldset('store', subjects='bm25')", "subjects is 'bm25', a list of names is needed"),
        ("goldset('store', subjects=[1])", "subjects is [1], a list of names is needed"),
        ("goldset('store', subjects=5)", "subjects is 5, a list of names is needed"),
        ("goldset('store', subjects=['dense'])", "gold set 'store' declares no subject 'dense'"),
        ("goldset('store', subjects=[])", "subjects is []"),
    ],
    ids=lambda value: value if value.startswith("goldset") else "",
)
@pytest.mark.parametrize("uses", ["gate", "queries"])
def test_a_marker_that_cannot_be_meant_fails_its_test(two, marker, message, uses):
    if uses == "queries" and "declares no subject" in message:
        pytest.skip("which subjects there are matters to gates alone")
    body = "gate.check()" if uses == "gate" else "assert len(queries)"
    two.write(
        "test_search.py", f"import pytest\n@pytest.mark.{marker}\ndef test_it({uses}):\n    {body}\n"
        "def test_else():\n    pass\n"
    )  # fmt: skip
    result = two.run()
    assert result.ret == 1
    outcomes = result.parseoutcomes()
    assert outcomes.pop("passed") == 1
    assert sum(outcomes.values()) == 1
    assert message in result.stdout.str()


@pytest.mark.parametrize(
    "text",
    [
        "import pytest\npytestmark = pytest.mark.goldset('second')\n" + GATE,
        "import pytest\n@pytest.mark.goldset('second')\nclass TestIt:\n    def test_pinned(self, gate):\n"
        "        gate.check()\n",
        "import pytest\npytestmark = pytest.mark.goldset('store')\n@pytest.mark.goldset('second')" + GATE,
    ],
    ids=["module", "class", "the nearest counts"],
)
def test_markers_on_modules_and_classes(two, text):
    two.write("test_search.py", text)
    names = [name.rpartition("::")[2] for name in collected(two)]
    assert names[0] == "test_pinned[second]"
    assert len(names) == 4
    two.run().assert_outcomes(passed=4)


def test_a_marker_for_a_whole_package(two):
    """pytest reads no `pytestmark` of a package; its conftest marks the modules, as the reference shows."""
    reference = (Path(__file__).parents[2] / "docs" / "reference.md").read_text(encoding="utf-8")
    (hook,) = re.findall(r"```python\n(import pytest\n+def pytest_collectstart.*?)```", reference, re.S)
    two.write("shop/__init__.py", "")
    two.write("shop/conftest.py", hook.replace("store", "second"))
    two.write("shop/deep/__init__.py", "")
    two.write("shop/deep/test_deep.py", GATE)
    two.write("test_search.py", "import pytest\n@pytest.mark.goldset('store')" + GATE)
    names = collected(two)
    assert names[0] == "test_pinned[second]"
    assert names[4] == "test_pinned[store]"
    two.run().assert_outcomes(passed=8)


def test_subjects_on_a_module_and_on_a_class(two_subjects):
    two_subjects.write(
        "test_bm25.py",
        "import pytest\npytestmark = pytest.mark.goldset('store', subjects=['bm25'])\n" + GATE,
    )
    two_subjects.write(
        "test_search.py",
        "import pytest\n@pytest.mark.goldset('store', subjects=['dense'])\nclass TestDense:\n"
        "    def test_pinned(self, gate):\n        gate.check()\n",
    )
    two_subjects.pin().assert_outcomes(passed=8)
    result = two_subjects.run("test_bm25.py")
    result.assert_outcomes(passed=4)
    result.stdout.no_fnmatch_line("*dense*")


@pytest.fixture
def two_subjects(project):
    project.write_goldset(toml=TOML + '[subjects.dense]\nmeasures = ["recall@2"]\n')
    project.write("conftest.py", CONFTEST.replace('"bm25": search', '"bm25": search, "dense": search'))
    return project


def test_subjects_divide_a_gold_set_between_tests(two_subjects):
    two_subjects.write(
        "test_search.py",
        "import pytest\n@pytest.mark.goldset('store', subjects=['bm25'])\ndef test_bm25(gate):\n"
        "    gate.check()\n@pytest.mark.goldset('store', subjects=['dense'])\ndef test_dense(gate):\n"
        "    gate.check()\n",
    )
    names = collected(two_subjects)
    assert "test_bm25[store-bm25-recall_2-words]" in names
    assert "test_dense[store-dense-recall_2-words]" in names
    assert len(names) == 8
    two_subjects.pin().assert_outcomes(passed=8)


@WORKERS
def test_a_cell_that_two_tests_collect_fails_both(pinned, workers):
    pinned.write("test_twice.py", GATE)
    result = pinned.run_apart(*workers)
    result.assert_outcomes(failed=6, passed=2)
    result.stdout.fnmatch_lines(
        ["*this cell is collected by 2 tests: test_search.py::test_pinned[[]store-bm25-recall_2-*"]
    )


def test_a_cell_of_two_tests_is_an_error_however_few_run(pinned):
    """It is about what was collected, not about what was selected."""
    pinned.write("test_twice.py", GATE)
    result = pinned.run("-k", "test_twice and words")
    result.assert_outcomes(failed=1, deselected=7)
    result.stdout.fnmatch_lines(["*this cell is collected by 2 tests*"])


@WORKERS
def test_two_gold_sets_of_one_name_end_the_session(pinned, workers):
    pinned.write_goldset("goldsets/copy")
    result = pinned.run_apart(*workers)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*two gold sets are named 'store': *goldsets/copy and *goldsets/store; a name identifies*"]
    )


NATIVE = pytest.mark.skipif(
    int(pytest.__version__.split(".")[0]) < 9, reason="[tool.pytest] is new in pytest 9"
)


@pytest.mark.parametrize(
    "file, text",
    [
        ("pytest.ini", "[pytest]\nretrieval_goldsets = elsewhere/sets 'more/*'\n"),
        ("pytest.ini", "[pytest]\nretrieval_goldsets =\n    elsewhere/sets\n    more/*\n"),
        ("pytest.ini", "[pytest]\nretrieval_goldsets = **/store-[0-9] **/second\n"),
        ("tox.ini", "[pytest]\nretrieval_goldsets = elsewhere/sets/store-1 more/second\n"),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\nretrieval_goldsets = ['elsewhere/sets', 'more/second']\n",
        ),
        ("pyproject.toml", "[tool.pytest.ini_options]\nretrieval_goldsets = 'elsewhere/sets more/*'\n"),
        pytest.param(
            "pyproject.toml",
            "[tool.pytest]\nretrieval_goldsets = ['elsewhere/sets', 'more/*']\n",
            marks=NATIVE
        ),
    ],
    ids=["args", "lines", "globs", "the sets themselves", "list", "string", "native"],
)  # fmt: skip
def test_folders_and_globs_of_the_ini_file(project, file, text):
    project.goldset.rename(project.path / "goldsets/not-found")
    project.write_goldset("elsewhere/sets/store-1")
    project.write_goldset("more/second", toml=SECOND)
    project.write(file, text)
    project.write("test_search.py", "import pytest\n@pytest.mark.goldset('store', 'second')" + GATE)
    assert len(collected(project)) == 8


def test_a_place_without_gold_sets_is_told_by_the_tests_that_need_one(project):
    project.write("pytest.ini", "[pytest]\nretrieval_goldsets = nowhere\n")
    result = project.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*no gold set was found: a gold set is a folder with a goldset.toml below*"])


@pytest.mark.parametrize("key", ["retrieval_goldset = store", "retrieval_unavailable = skip"])
def test_the_default_value_of_a_key_finds_what_no_key_finds(pinned, key):
    pinned.write("pytest.ini", f"[pytest]\n{key}\n")
    pinned.run().assert_outcomes(passed=4)


@WORKERS
def test_a_value_of_an_ini_key_that_is_not_allowed_ends_the_session(pinned, workers):
    pinned.write("pytest.ini", "[pytest]\nretrieval_unavailable = ignore\n")
    result = pinned.run_apart(*workers)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*retrieval_unavailable = ignore: allowed are skip, error*"])


@pytest.mark.parametrize(
    "strata, first, second",
    [(("A b", "a-B"), "A b", "a-B"), (("x.y", "x y"), "x y", "x.y")],
    ids=["case and signs", "signs"],
)
def test_strata_with_one_slug_fail_the_gold_set(project, strata, first, second):
    queries = {"q1": ("HX-1", strata[0]), "q2": ("HX-2", strata[1])}
    project.write_goldset(queries=queries, gold={"q1": {"a": 2}, "q2": {"b": 2}})
    result = project.run()
    assert result.ret == 1
    text = result.stdout.str()
    assert "have the same pytest id 'bm25-recall_2-" in text
    assert first in text
    assert second in text


def test_gold_sets_with_one_slug_keep_their_items_apart(pinned):
    """`pytest -k` and node ids go by slugs; two gold sets must not share one silently."""
    pinned.write_goldset("goldsets/upper", toml=TOML.replace('"store"', '"Store"'))
    pinned.write("test_search.py", "import pytest\n@pytest.mark.goldset('store', 'Store')" + GATE)
    result = pinned.run("-q")
    names = collected(pinned)
    assert len(names) == len(set(names)), result.stdout.str()


def test_a_fixture_goldset_in_the_way_of_the_gate(pinned):
    pinned.write("conftest.py", CONFTEST + "\n@pytest.fixture\ndef goldset():\n    return 1\n")
    result = pinned.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["the fixture `goldset` at *conftest.py:* stands in the way of `gate`: *"])
    assert re.search(r"conftest\.py:\d+ stands", result.stdout.str())


def test_a_project_keeps_its_own_gate_where_there_are_gold_sets(pinned):
    pinned.write("conftest.py", CONFTEST + "\n@pytest.fixture\ndef gate():\n    return 'garden'\n")
    pinned.write("test_search.py", "def test_gate(gate):\n    assert gate == 'garden'\n")
    pinned.run().assert_outcomes(passed=1)


def test_a_projects_own_catalog_stands_in_for_ours(pinned):
    pinned.write(
        "conftest.py", CONFTEST + "\n@pytest.fixture(scope='session')\ndef catalog():\n    return [1]\n"
    )
    pinned.run().assert_outcomes(passed=4)
    assert pinned.lines("builds")[-1] == "1"


def test_the_fixtures_without_a_gate(pinned):
    pinned.write("test_search.py", FIXTURES)
    assert collected(pinned) == ["test_types", "test_run"]
    pinned.run().assert_outcomes(passed=2)


FIXTURES = """
import pandas as pd
from pytest_retrieval import GoldSet, Qrels, Run, assert_recall

def test_types(goldset, catalog, queries, qrels, runs):
    assert isinstance(goldset, GoldSet) and goldset.name == "store"
    assert isinstance(catalog, pd.DataFrame) and catalog.at["a", "text"] == "text of a"
    assert catalog.index.name == "doc_id"
    assert isinstance(queries, pd.DataFrame) and queries.at["i1", "query"] == "HX-1"
    assert queries.index.name == "query_id"
    assert isinstance(qrels, Qrels) and qrels["i1"] == {"a": 2, "z": 0}
    assert qrels.relevance_level == 2 and qrels.strata["i1"] == "identifier"
    assert list(runs) == ["bm25"] and len(runs) == 1
    assert "bm25" in runs and "dense" not in runs

def test_run(runs, qrels):
    run = runs["bm25"]
    assert isinstance(run, Run) and run.name == "bm25" and run["i1"] == ("a", "b", "c")
    assert runs["bm25"] is run
    assert_recall(run, qrels, k=2, at_least=0.5, by="stratum")
"""


def test_a_run_that_nobody_declares_is_named(pinned):
    pinned.write("test_search.py", "def test_run(runs):\n    runs['dense']\n")
    pinned.run().stdout.fnmatch_lines(["E *KeyError: \"no retriever is named 'dense'; there are bm25\""])


def test_several_gold_sets_without_a_gate(two):
    two.write(
        "test_search.py",
        "import pytest\n@pytest.mark.goldset('store', 'second')\ndef test_name(goldset, runs):\n"
        "    assert runs['bm25']['i1'] == ('a', 'b', 'c')\n",
    )
    assert collected(two) == ["test_name[store]", "test_name[second]"]
    two.run().assert_outcomes(passed=2)


def test_a_gold_set_without_catalog(pinned):
    (pinned.goldset / "catalog.jsonl").unlink()
    pinned.write("test_search.py", "def test_it(catalog):\n    pass\n")
    result = pinned.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*gold set 'store' has no catalog file*"])


def test_a_parametrised_gate_test_gets_every_cell(pinned):
    pinned.write(
        "test_search.py",
        "import pytest\n@pytest.mark.parametrize('n', [1, 2])\ndef test_pinned(gate, n):\n    gate.check()\n",
    )
    result = pinned.run()
    result.assert_outcomes(failed=6, passed=2)
    result.stdout.fnmatch_lines(["*this cell is collected 2 times by one test, which is parametrised: *"])


def test_strata_and_ids_in_any_script(project):
    queries = {"q/1 [x]": ("лампа", "слова"), "é": ("стол", "другие")}
    project.write_goldset(queries=queries, gold={})
    project.write("goldsets/store/qrels.csv", 'query_id,doc_id,grade\n"q/1 [x]",a,2\né,b,2\n')
    (project.goldset / "qrels.trec").unlink()
    project.rank(лампа=["a"], стол=["x", "b"])
    project.pin().assert_outcomes(passed=4)
    project.rank(лампа=["x"])
    result = project.run()
    result.assert_outcomes(failed=2, passed=2)
    result.stdout.fnmatch_lines(
        ["store: bm25 · recall@2 · слова is regressed", "  q/1 [[]x] “лампа”  1.000 → 0.000"]
    )
    project.run("-k", "слова").assert_outcomes(failed=1, deselected=3)


def test_a_gate_that_is_parametrised_by_system_says_what_to_write(pinned):
    pinned.write(
        "test_search.py",
        "import pytest\n@pytest.mark.parametrize('system', ['a', 'b'])\n"
        "def test_pinned(gate, system):\n    gate.check()\n",
    )
    result = pinned.run("-k", "identifier")
    result.assert_outcomes(failed=2, deselected=6)
    result.stdout.fnmatch_lines(
        ["*this cell is collected 2 times by one test, which is parametrised: *; take the parameters away, *"]
    )


@pytest.mark.parametrize(
    "name, workers", [("gate", ()), ("runs", ()), ("compare", ()), ("runs", ("-n2",))], ids=str
)
def test_below_the_root_a_missing_fixture_says_where_gold_sets_were_looked_for(
    pinned, monkeypatch, name, workers
):
    pinned.write("tests/test_below.py", f"def test_it({name}): pass\ndef test_else(unheard_of): pass\n")
    monkeypatch.chdir(pinned.path / "tests")
    result = pinned.run("--rootdir=.", *workers)
    result.assert_outcomes(errors=2)
    text = result.stdout.str()
    assert f"`{name}` is a fixture of pytest-retrieval where a gold set is found; no goldset.toml was" in text
    assert str(pinned.path / "tests" / "goldsets") in text
    assert text.count("is a fixture of pytest-retrieval") == 1


def test_with_an_ini_file_gold_sets_are_found_from_below(pinned, monkeypatch):
    pinned.write("pytest.ini", "[pytest]\n")
    pinned.write("tests/test_below.py", "def test_it(catalog): assert len(catalog) == 9\n")
    monkeypatch.chdir(pinned.path / "tests")
    pinned.run().assert_outcomes(passed=1)
