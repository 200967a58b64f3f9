"""Items that report more than once, or not as what they are: no evidence is lost and no verdict is hidden."""

from __future__ import annotations

import json
from typing import Any

import pytest

FLAKY = """
import pathlib

def test_pinned(gate, request):
    gate.check()
    tried = pathlib.Path(request.node.name)
    first = not tried.exists()
    tried.touch()
    assert not first, "flaky"
"""


def lines_of(project: Any) -> list[dict[str, Any]]:
    text = (project.goldset / "pins" / "bm25.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def run(project: Any, *arguments: str) -> pytest.RunResult:
    return project.pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider", *arguments)


def test_a_gate_that_checks_twice_is_pinned_with_its_evidence(project: Any) -> None:
    project.write("test_search.py", "def test_pinned(gate):\n    gate.check()\n    gate.check()\n")
    assert run(project, "--retrieval-pin=new").ret == 0
    assert [line["query_id"] for line in lines_of(project)] == ["i1", "i2", "w1", "w2", "w3"]
    assert run(project).ret == 0


def test_a_flaky_step_after_the_check_loses_no_evidence(project: Any) -> None:
    project.write("test_search.py", FLAKY)
    assert run(project, "--reruns", "1", "--retrieval-pin=new").ret == 0
    assert len(lines_of(project)) == 5
    assert run(project).ret == 0


def test_a_red_cell_that_is_tried_again_keeps_no_new_query_from_being_pinned(project: Any) -> None:
    assert run(project, "--retrieval-pin=new").ret == 0
    queries = (project.goldset / "queries.jsonl").open("a", encoding="utf-8")
    with queries:
        queries.write(json.dumps({"query_id": "i3", "query": "HX-3", "stratum": "identifier"}) + "\n")
    with (project.goldset / "qrels.trec").open("a", encoding="utf-8") as qrels:
        qrels.write("i3 0 d 2\n")
    project.rankings |= {"HX-3": ["d"], "HX-1": ["x", "y"]}
    project.rank()
    assert run(project, "--reruns", "1", "--retrieval-pin=new").ret == 1
    assert [line["query_id"] for line in lines_of(project)] == ["i1", "i2", "i3", "w1", "w2", "w3"]


def test_tries_that_retrieve_different_results_pin_nothing(project: Any) -> None:
    project.write("test_search.py", FLAKY)
    project.write(
        "conftest.py",
        "import itertools, pytest\n"
        "COUNT = itertools.count()\n\n"
        '@pytest.fixture(scope="session")\n'
        "def runs(qrels):\n"
        "    from pytest_retrieval import Run\n"
        "    class Changing(dict):\n"
        "        def __getitem__(self, name):\n"
        "            return Run({q: [f'x{next(COUNT)}', 'a'] for q in qrels}, name=name)\n"
        "    return Changing(bm25=None)\n",
    )
    (project.goldset / "catalog.jsonl").unlink()
    result = run(project, "--reruns", "1", "--retrieval-pin=new")
    assert result.ret == 1
    assert not (project.goldset / "pins.toml").exists()
    assert "tries retrieved different" in result.stdout.str().replace("\n", " ")


HIDERS = {
    "xfail": "import pytest\n\n@pytest.mark.xfail\ndef test_pinned(gate):\n    gate.check()\n",
    "caught": "import pytest\n\ndef test_pinned(gate):\n    try:\n        gate.check()\n"
    "    except pytest.fail.Exception:\n        pass\n",
    "skipped": "import pytest\n\ndef test_pinned(gate):\n    try:\n        gate.check()\n"
    "    except pytest.fail.Exception:\n        pytest.skip('later')\n",
}


@pytest.mark.parametrize("how", HIDERS)
def test_a_hidden_verdict_fails_the_session_in_an_item_of_its_own(project: Any, how: str) -> None:
    assert run(project, "--retrieval-pin=new").ret == 0
    project.rankings["HX-1"] = ["x", "y"]
    project.rank()
    project.write("test_search.py", HIDERS[how])
    result = run(project, "-rf")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["FAILED test_search.py::test_pinned?store-bm25-recall_2-identifier-hidden?*"]
    )


def test_cells_that_are_skipped_are_counted(project: Any) -> None:
    assert run(project, "--retrieval-pin=new").ret == 0
    project.write(
        "test_search.py", "import pytest\n\n@pytest.mark.skip\ndef test_pinned(gate):\n    gate.check()\n"
    )
    result = run(project)
    result.stdout.fnmatch_lines(["not judged: 3 cells of store collected and skipped:*identifier*"])


def test_a_gate_asked_by_another_fixture_reports_its_cell(project: Any) -> None:
    assert run(project, "--retrieval-pin=new").ret == 0
    project.rankings["HX-1"] = ["x", "y"]
    project.rank()
    project.write(
        "test_search.py",
        "import pytest\n\n@pytest.fixture\ndef checked(gate):\n    gate.check()\n\n"
        "def test_pinned(checked):\n    pass\n",
    )
    result = run(project)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*3 cells:*regressed*"])


PARAMETRISED = """
import pytest

GOOD = {"HX-1": ["a"], "HX-2": ["b"], "red lamp": ["c", "d"], "oak table": ["e"], "blue rug": ["f"]}

def good(query, k):
    return GOOD[query]

def bad(query, k):
    return ["x"]
"""
BY_PARAMETER = """
@pytest.fixture(scope="session", params=["good", "bad"])
def retrievers(request, catalog):
    return {"search": good if request.param == "good" else bad}
"""
BY_ARGUMENT = """
@pytest.fixture
def retrievers(catalog, version):
    return {"search": good if version == "good" else bad}
"""
BY_MARKER = """
@pytest.fixture
def retrievers(request, catalog):
    return {"search": bad if request.node.get_closest_marker("bad") else good}
"""
FLOOR = "from pytest_retrieval import assert_recall\nimport pytest\n"
CHECK = "    assert_recall(runs['search'], qrels, k=5, at_least=0.9)\n"


@pytest.mark.parametrize(
    "fixture, test",
    [
        (BY_PARAMETER, "def test_floor(runs, qrels, retrievers):\n" + CHECK),
        (
            BY_ARGUMENT,
            "@pytest.mark.parametrize('version', ['good', 'bad'])\n"
            "def test_floor(runs, qrels, retrievers, version):\n" + CHECK,
        ),
        (
            BY_MARKER,
            "def test_good(runs, qrels, retrievers):\n" + CHECK + "\n@pytest.mark.bad\n"
            "def test_bad(runs, qrels, retrievers):\n" + CHECK,
        ),
    ],
    ids=["parameter", "argument", "marker"],
)
def test_another_value_of_the_fixture_is_another_run(project: Any, fixture: str, test: str) -> None:
    project.write("conftest.py", PARAMETRISED + fixture)
    project.write("test_search.py", FLOOR + test)
    project.write("pytest.ini", "[pytest]\nmarkers = bad\n")
    result = run(project)
    result.assert_outcomes(passed=1, failed=1)


def test_a_retriever_may_end_the_session(project: Any) -> None:
    project.write(
        "conftest.py",
        "import pytest\n\ndef down(query, k):\n    pytest.exit('the index server is down', returncode=7)\n\n"
        "@pytest.fixture(scope='session')\ndef retrievers():\n    return {'bm25': down}\n",
    )
    result = project.pytester.runpytest_inprocess("-q")
    assert result.ret == 7


def test_a_retriever_that_nothing_gates_is_named(project: Any) -> None:
    text = (project.path / "conftest.py").read_text(encoding="utf-8")
    dead = "def dead(query, k):\n    raise OSError('search is down')\n\n"
    offered = text.replace('{"bm25": search}', '{"bm25": search, "hybrid": dead}')
    project.write("conftest.py", offered.replace("@pytest.fixture", dead + "@pytest.fixture", 1))
    assert run(project, "--retrieval-pin=new").ret == 0
    result = run(project)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["note: store: hybrid is in the fixture `retrievers` and not gated;*subjects.hybrid*"]
    )


@pytest.mark.parametrize("how", ["pytest_plugins", "-p"])
def test_fixtures_of_a_plugin_of_the_project_take_the_place_of_ours(project: Any, how: str) -> None:
    text = (project.path / "conftest.py").read_text(encoding="utf-8")
    more = "\n@pytest.fixture\ndef recorder():\n    return 'company recorder'\n"
    project.write("shopfix.py", text + more)
    project.write("conftest.py", 'pytest_plugins = ["shopfix"]\n' if how == "pytest_plugins" else "")
    project.write(
        "test_search.py",
        "def test_pinned(gate):\n    gate.check()\n\n"
        "def test_recorder(recorder):\n    assert recorder == 'company recorder'\n",
    )
    arguments = ("-p", "shopfix") if how == "-p" else ()
    project.pytester.syspathinsert()
    assert run(project, *arguments, "--retrieval-pin=new").ret == 0


def test_the_same_item_named_twice_is_one_item(project: Any) -> None:
    assert run(project, "--retrieval-pin=new").ret == 0
    result = run(project, "test_search.py::test_pinned", "test_search.py")
    assert result.ret == 0, result.stdout.str()


def test_a_failing_test_without_the_terminal_plugin_fails_alone(project: Any) -> None:
    project.write("test_other.py", "def test_x():\n    assert 0\n")
    result = project.pytester.runpytest_subprocess("-p", "no:terminal", "test_other.py")
    assert result.ret == 1
