"""A–A holds: the same retriever passes, however the tests are selected, ordered and spread."""

from __future__ import annotations

import random
import shutil
import tomllib
from pathlib import Path

import pytest

from .conftest import GATE, TOML, of_bm25

FURNITURE = Path(__file__).parents[2] / "goldsets" / "furniture"

BM25_CONFTEST = """
from pathlib import Path

import pytest
from pytest_retrieval import BM25

@pytest.fixture(scope="session")
def retrievers(goldset, catalog, worker_id):
    with (Path(__file__).parent / "builds").open("a") as builds:
        builds.write(f"{worker_id} {goldset.name}\\n")
    return {"bm25": BM25(catalog)}
"""

WORKER_ID = """
@pytest.fixture(scope="session")
def worker_id(request):
    return getattr(request.config, "workerinput", {}).get("workerid", "master")
"""

COUNTING = """
from pathlib import Path

import pytest

HERE = Path(__file__).parent

def note(file, text):
    with (HERE / file).open("a") as notes:
        notes.write(text + "\\n")

@pytest.fixture(scope="session")
def worker(request):
    return getattr(request.config, "workerinput", {}).get("workerid", "serial")

@pytest.fixture(scope="session")
def retrievers(goldset, catalog, worker):
    note("builds", f"{worker} {goldset.name}")
    def search(query, k):
        note("calls", f"{goldset.name} {query}")
        return ["a", "b", "c", "d"]
    return {"bm25": search}

@pytest.fixture(scope="module")
def of_module(runs, worker):
    note("modules", f"{worker} {len(runs['bm25'])}")
    return runs["bm25"]

@pytest.fixture(scope="class")
def of_class(runs):
    return runs["bm25"]
"""

ONE_SET = """
class TestFirst:
    def test_of_class(self, of_class):
        assert of_class

    def test_pinned(self, gate):
        gate.check()

def test_of_module(of_module, qrels):
    assert of_module

def test_plain():
    pass

def test_runs(runs, of_module):
    assert runs["bm25"] is of_module
"""

TWO_SETS = """
import pytest

@pytest.mark.goldset("store", "second")
class TestFirst:
    def test_of_class(self, of_class, goldset):
        assert set(of_class) == set(goldset.qrels)

    def test_pinned(self, gate):
        gate.check()

@pytest.mark.goldset("second")
def test_second(of_module, goldset):
    assert goldset.name == "second"

@pytest.mark.goldset("store")
def test_store(of_module, goldset):
    assert goldset.name == "store"

@pytest.mark.goldset("second")
def test_second_again(runs, goldset):
    assert set(runs["bm25"]) == set(goldset.qrels)
"""

WORKERS = pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["serial", "xdist"])


@pytest.fixture
def furniture(project):
    """The shop's gold set, copied into a project of its own and pinned there by another process."""
    shutil.rmtree(project.goldset)
    folder = project.path / "goldsets/furniture"
    folder.mkdir(parents=True)
    for name in ("catalog.jsonl", "queries.jsonl", "qrels.trec"):
        shutil.copy(FURNITURE / name, folder)
    toml = of_bm25((FURNITURE / "goldset.toml").read_text(encoding="utf-8"))
    project.write("goldsets/furniture/goldset.toml", toml)
    project.goldset = folder
    project.write("conftest.py", BM25_CONFTEST + WORKER_ID)
    result = project.run_apart("--retrieval-pin=new", "-q")
    assert result.ret == 0
    (project.path / "builds").unlink()
    return project


def count(result):
    return result.parseoutcomes()


def shuffled(path, seed):
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    random.Random(seed).shuffle(lines)
    path.write_text("".join(lines), encoding="utf-8")


def test_bm25_holds_bit_for_bit_in_any_order_of_lines(furniture):
    """Pins of another process; then catalog, queries and judgments in another order, on every worker."""
    pins = furniture.goldset / "pins.toml"
    before = {path: path.read_bytes() for path in (pins, furniture.goldset / "pins/bm25.jsonl")}
    cells = count(furniture.run())
    assert set(cells) == {"passed"}
    for name in ("catalog.jsonl", "queries.jsonl", "qrels.trec"):
        shuffled(furniture.goldset / name, 7)
    result = furniture.run()
    assert count(result) == cells
    result.stdout.no_fnmatch_line("*improved*")
    result.stdout.no_fnmatch_line("*input changed*")
    result.stdout.no_fnmatch_line("*ruler changed*")
    assert count(furniture.run_apart("-n2")) == cells
    builds = furniture.lines("builds")
    assert builds.count("master furniture") == 2
    assert len(set(builds)) == len(builds) - 1
    furniture.run("--retrieval-pin=all", "--retrieval-reason=none").stdout.fnmatch_lines(
        ["furniture: nothing to pin; every cell is as it was"]
    )
    assert {path: path.read_bytes() for path in before} == before


def test_selections_hold_on_the_shops_gold_set(furniture):
    found = tomllib.loads((furniture.goldset / "pins.toml").read_text())["bm25"]
    result = furniture.run("-k", "exact_identifier")
    result.assert_outcomes(
        passed=len(found["exact_identifier"]), deselected=result.parseoutcomes()["deselected"]
    )
    result = furniture.run("-k", "recall_at_5")
    passed = sum("recall@5" in cells for cells in found.values())
    result.assert_outcomes(passed=passed, deselected=result.parseoutcomes()["deselected"])


@pytest.mark.parametrize(
    "arguments, passed",
    [
        (["-n2"], 4),
        (["-n2", "test_search.py::test_pinned[store-bm25-recall_2-words]"], 1),
        (["-k", "identifier"], 1),
        (["-k", "recall_at_2"], 3),
        (["-k", "recall_2"], 3),
        (["-k", "store and words"], 1),
        (["test_search.py::test_pinned[store-bm25-recall_2-words]"], 1),
        (["test_search.py::test_pinned[store]"], 1),
        (["test_search.py::test_pinned"], 4),
        (["--deselect", "test_search.py::test_pinned[store-bm25-recall_2-words]"], 3),
        (["-m", "not goldset"], 4),
        (["-p", "no:randomly", "."], 4),
    ],
    ids=lambda value: "" if isinstance(value, int) else " ".join(value[:2]).replace("test_search.py::", ""),
)
def test_every_selection_holds(pinned, arguments, passed):
    result = pinned.run_apart(*arguments) if "-n2" in arguments else pinned.run(*arguments)
    assert result.ret == 0
    assert result.parseoutcomes()["passed"] == passed
    assert set(result.parseoutcomes()) <= {"passed", "deselected"}


@WORKERS
def test_last_failed_runs_the_fallen_cells_alone(pinned, workers):
    run = pinned.run_apart if workers else pinned.run
    pinned.rank(i1=["x"], w2=["e"])
    pinned.run().assert_outcomes(failed=1, passed=3)
    result = run("--lf", *workers)
    assert result.parseoutcomes().items() - {("deselected", 3)} == {("failed", 1)}
    result.stdout.fnmatch_lines(["store: bm25 · recall@2 · identifier is regressed"])
    pinned.rank(i1=["a"])
    result = pinned.run("--lf")
    assert result.parseoutcomes().items() - {("deselected", 3)} == {("passed", 1)}


@WORKERS
def test_one_index_per_gold_set_and_worker(project, workers):
    """Module and class scoped fixtures, gates and plain tests share what was built."""
    project.write("conftest.py", COUNTING)
    project.write("test_search.py", ONE_SET)
    other = ONE_SET.replace("def test_pinned(self, gate)", "def test_count(self, runs)")
    project.write("test_other.py", other.replace("gate.check()", "assert len(runs) == 1"))
    arguments = ["--retrieval-pin=new", *workers]
    result = project.run_apart(*arguments) if workers else project.run(*arguments)
    result.assert_outcomes(passed=13)
    builds = project.lines("builds")
    assert len(builds) == len(set(builds))
    assert {line.split()[1] for line in builds} == {"store"}
    if not workers:
        assert builds == ["serial store"]
        assert project.lines("modules") == ["serial 5"] * 2
    calls = project.lines("calls")
    assert len(set(calls)) == 5
    assert len(calls) == 2 * 5  # what is pinned is retrieved a second time


@WORKERS
def test_two_gold_sets_are_built_once_each_per_worker(project, workers):
    project.write("conftest.py", COUNTING)
    project.write_goldset("goldsets/second", toml=TOML.replace('"store"', '"second"'))
    project.write("test_search.py", TWO_SETS)
    arguments = ["--retrieval-pin=new", *workers]
    result = project.run_apart(*arguments) if workers else project.run(*arguments)
    result.assert_outcomes(passed=13)
    builds = project.lines("builds")
    assert len(builds) == len(set(builds)), builds
    assert {line.split()[1] for line in builds} == {"store", "second"}
    if not workers:
        assert sorted(builds) == ["serial second", "serial store"]
    calls = project.lines("calls")
    assert len(set(calls)) == 10
    assert len(calls) == 2 * 10  # what is pinned is retrieved a second time


def test_a_test_that_needs_no_run_builds_no_index(project):
    project.write("conftest.py", COUNTING)
    project.write("test_search.py", "def test_it(runs, queries):\n    assert len(queries) == 5\n")
    project.run().assert_outcomes(passed=1)
    assert project.lines("builds") == []


def test_every_query_is_asked_once_in_a_session(pinned):
    (pinned.path / "calls").unlink()
    pinned.run().assert_outcomes(passed=4)
    assert sorted(pinned.lines("calls")) == ["HX-1", "HX-2", "blue rug", "oak table", "red lamp"]


def test_workers_share_a_session_and_the_next_one_asks_anew(pinned, monkeypatch):
    """Rankings that an earlier session left behind would hide a loss."""
    folder = pinned.path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    (pinned.path / "calls").unlink()
    pinned.run_apart("-n2").assert_outcomes(passed=4)
    assert sorted(pinned.lines("calls")) == ["HX-1", "HX-2", "blue rug", "oak table", "red lamp"]
    assert [path.name for path in folder.iterdir() if path.name.startswith("pytest-retrieval")] == []
    pinned.rank(i1=["x"], i2=["x"])
    pinned.run_apart("-n2").assert_outcomes(failed=2, passed=2)


def test_workers_of_a_tx_spec_share_as_those_of_n_do(pinned):
    (pinned.path / "calls").unlink()
    pinned.run_apart("--dist=load", "--tx=2*popen").assert_outcomes(passed=4)
    assert len(pinned.lines("calls")) == 5


def test_cells_are_collected_in_one_order(project, monkeypatch):
    """From a set, strata would come in another order in every process, and xdist would refuse them."""
    queries = {f"q{n:02d}": (f"text {n}", f"stratum {n % 10}") for n in range(20)}
    project.write_goldset(queries=queries, gold={q: {"a": 2} for q in queries})
    orders = set()
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        result = project.run_apart("--collect-only", "-q")
        orders.add(tuple(line for line in result.stdout.lines if "::" in line))
    (order,) = orders
    assert len(order) == 12
    assert list(order) == sorted(order, key=lambda line: line.replace("]", ""))
    project.rank(**{text: ["a"] for text, _ in queries.values()})
    monkeypatch.delenv("PYTHONHASHSEED")
    result = project.run_apart("-n2", "--retrieval-pin=new")
    result.assert_outcomes(passed=12)
    result.stdout.no_fnmatch_line("*Different tests were collected*")


def test_collecting_asks_no_retriever(project):
    project.run("--collect-only").stdout.fnmatch_lines(["*test_pinned[[]store-bm25-recall_2-words[]]*"])
    assert project.lines("calls") == project.lines("builds") == []


def test_the_gate_stands_in_a_folder_below(pinned):
    pinned.write("tests/unit/test_deep.py", GATE)
    (pinned.path / "test_search.py").unlink()
    pinned.run("tests/unit").assert_outcomes(passed=4)
