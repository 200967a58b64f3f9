"""Retrievers of every shape, and what becomes of what they return."""

from __future__ import annotations

import os
import pty
import re
import sys

import pytest

from .conftest import GATE, RANKINGS, TOML

HEAD = """
import asyncio
import json
import time
from collections import deque
from pathlib import Path

import numpy as np
import pytest

from pytest_retrieval import BM25, Run, Unavailable, load_run

HERE = Path(__file__).parent
TABLE = json.loads((HERE / "rankings.json").read_text())

def note(file, text):
    with (HERE / file).open("a") as notes:
        notes.write(f"{text}\\n")

"""

FIXTURE = """
@pytest.fixture(scope="session")
def retrievers():
    return {"bm25": %s}
"""

SHAPES = {
    "a function": ("def search(query, k):\n    return TABLE[query]\n", "search"),
    "with other names": ("def search(text, limit=10):\n    return TABLE[text]\n", "search"),
    "a lambda": ("", "lambda query, k: TABLE[query]"),
    "any arguments": ("def search(*arguments):\n    return TABLE[arguments[0]]\n", "search"),
    "a callable object": (
        "class Search:\n    def __call__(self, query, k):\n        return TABLE[query]\n",
        "Search()",
    ),
    "an async function": (
        "async def search(query, k):\n    await asyncio.sleep(0)\n    return TABLE[query]\n",
        "search",
    ),
    "an object with search": (
        "class Client:\n    def search(self, query, k):\n        return TABLE[query]\n",
        "Client()",
    ),
    "an object with async search": (
        "class Client:\n    async def search(self, query, k):\n        return TABLE[query]\n",
        "Client()",
    ),
    "a callable object with search": (
        "class Client:\n    def __call__(self):\n        raise AssertionError\n"
        "    def search(self, query, k):\n        return TABLE[query]\n",
        "Client()",
    ),
    "a class": ("class Client:\n    def search(self, query, k):\n        return TABLE[query]\n", "Client"),
    "a factory of a function": (
        "def make():\n    note('made', 1)\n    return lambda query, k: TABLE[query]\n",
        "make",
    ),
    "a factory of an object": (
        "class Client:\n    def search(self, query, k):\n        return TABLE[query]\n"
        "def make(size=3):\n    note('made', size)\n    return Client()\n",
        "make",
    ),
    "an async factory": (
        "async def make():\n    note('made', 1)\n    async def search(query, k):\n"
        "        return TABLE[query]\n    return search\n",
        "make",
    ),
    "pairs": ("", "lambda q, k: [(d, 9.0 - n) for n, d in enumerate(TABLE[q])]"),
    "lists of two": ("", "lambda q, k: [[d, 9 - n] for n, d in enumerate(TABLE[q])]"),
    "pairs of numpy": ("", "lambda q, k: [(np.str_(d), np.float32(9 - n)) for n, d in enumerate(TABLE[q])]"),
    "a mapping": (
        "",
        "lambda q, k: dict(reversed([(d, 9.0 - n) for n, d in enumerate(TABLE[q])]))",
    ),
    "a mapping to numpy": ("", "lambda q, k: {d: np.float64(9 - n) for n, d in enumerate(TABLE[q])}"),
    "a tuple": ("", "lambda q, k: tuple(TABLE[q])"),
    "a generator": ("def search(query, k):\n    yield from TABLE[query]\n", "search"),
    "a generator expression": ("", "lambda q, k: ((d, 9 - n) for n, d in enumerate(TABLE[q]))"),
    "an array": ("", "lambda q, k: np.array(TABLE[q])"),
    "an array of objects": ("", "lambda q, k: np.array(TABLE[q], dtype=object)"),
    "a deque": ("", "lambda q, k: deque(TABLE[q])"),
    "the keys of a dict": ("", "lambda q, k: dict.fromkeys(TABLE[q]).keys()"),
    "one stage": ("", "lambda q, k: {'fused': TABLE[q]}"),
    "stages": ("", "lambda q, k: {'lexical': ['x', 'y'], 'fused': TABLE[q]}"),
    "stages of arrays": ("", "lambda q, k: {'lexical': np.array(['x']), 'fused': np.array(TABLE[q])}"),
    "stages of generators": ("", "lambda q, k: {'lexical': iter(['x']), 'fused': iter(TABLE[q])}"),
    "stages of mappings": (
        "",
        "lambda q, k: {'lexical': {'x': 1.0}, 'fused': {d: 9.0 - n for n, d in enumerate(TABLE[q])}}",
    ),
}


@pytest.mark.parametrize("code, value", SHAPES.values(), ids=SHAPES)
def test_every_shape_gives_the_rankings_that_were_pinned(pinned, code, value):
    pinned.write("conftest.py", HEAD + code + FIXTURE % value)
    pinned.write(
        "test_rankings.py",
        "from conftest import TABLE\ndef test_rankings(runs, goldset):\n    for query_id in goldset.qrels:\n"
        "        assert list(runs['bm25'][query_id]) == TABLE[goldset.text_of(query_id)]\n",
    )
    result = pinned.run("-p", "no:cacheprovider")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["3 cells: 3 held"])
    assert len(pinned.lines("made")) == (1 if value == "make" else 0)


def test_more_than_was_asked_for_is_cut(project):
    """A mapping is sorted by its scores before it is cut; k is the depth, or the largest cutoff beyond it."""
    documents = [f"d{n:03d}" for n in range(300)]
    project.write("conftest.py", HEAD + MORE + FIXTURE % "search")
    project.write_goldset(
        toml="depth = 20\n" + TOML.replace('"recall@2"', '"recall@2", "ndcg@30"'), documents=documents
    )
    project.write_goldset(
        toml="depth = 20\n" + TOML.replace('"recall@2"', '"recall@2", "ndcg@30"'),
        documents=documents,
        gold={q: {"d002": 2} for q in ("i1", "i2", "w1", "w2", "w3")},
    )
    project.write("test_search.py", CUT)
    project.run().assert_outcomes(passed=1)
    assert set(project.lines("depths")) == {"30"}


MORE = """
def search(query, k):
    note("depths", k)
    ids = [f"d{n:03d}" for n in range(300)]
    if query == "HX-1":
        return {doc_id: float(n) for n, doc_id in enumerate(ids)}
    return {"first": ids, "last": ids} if query == "HX-2" else ids
"""

CUT = """
def test_lengths(runs):
    run = runs["bm25"]
    assert {len(run[query_id]) for query_id in run} == {30}
    assert run["i1"][0] == "d299"
    assert run["w1"][-1] == "d029"
    assert len(run.stages["first"]["i2"]) == 30
"""


def test_the_depth_is_asked_for_where_no_cutoff_goes_beyond_it(pinned):
    pinned.write("conftest.py", HEAD + "def search(query, k):\n    note('depths', k)\n    return ['a']\n"
                 + FIXTURE % "search")  # fmt: skip
    pinned.run()
    assert set(pinned.lines("depths")) == {"100"}


LOOP_BOUND = """
class Client:
    def __init__(self):
        self.loop = asyncio.get_running_loop()
        self.lock = asyncio.Lock()

    async def search(self, query, k):
        note("loops", self.loop is asyncio.get_running_loop())
        async with self.lock:
            await asyncio.sleep(0.001)
        return TABLE[query]

async def make():
    return Client()
"""


def test_an_async_client_is_asked_on_the_loop_it_was_made_on(pinned):
    pinned.write("conftest.py", HEAD + LOOP_BOUND + FIXTURE % "make")
    pinned.run().assert_outcomes(passed=4)
    assert pinned.lines("loops") == ["True"] * 5


def test_two_async_retrievers_share_one_loop(pinned):
    pinned.write_goldset(toml=TOML + '[subjects.dense]\nmeasures = ["recall@2"]\n')
    pinned.write(
        "conftest.py",
        HEAD + "async def search(query, k):\n    note('loops', id(asyncio.get_running_loop()))\n"
        "    return TABLE[query]\n" + (FIXTURE % "search").replace("}", ", 'dense': search}"),
    )
    pinned.pin().assert_outcomes(passed=7)
    assert len(set(pinned.lines("loops"))) == 1
    assert len(pinned.lines("loops")) == 15  # dense is pinned, and so retrieved a second time


def test_async_retrievers_work_while_a_loop_runs(pinned):
    """As inside the tests of pytest-asyncio or anyio, where a second asyncio.run would fail."""
    pinned.write("conftest.py", HEAD + LOOP_BOUND + FIXTURE % "make")
    pinned.write(
        "test_search.py",
        "import asyncio\ndef test_inside(runs):\n    async def inside():\n        return runs['bm25']\n"
        "    assert len(asyncio.run(inside())) == 5\n" + GATE,
    )
    pinned.run().assert_outcomes(passed=5)


def test_the_loop_of_async_retrievers_ends_with_the_session(pinned):
    pinned.write("conftest.py", HEAD + LOOP_BOUND + FIXTURE % "make" + LOOP_ENDS)
    result = pinned.run_apart("-W", "error", "-p", "no:rerunfailures")  # which keeps a thread under xdist
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["threads at the end: 1"])


LOOP_ENDS = """
def pytest_unconfigure():
    import threading
    print("threads at the end:", threading.active_count())
"""


def test_recorded_runs_of_the_projects_own(pinned):
    lines = [
        f"{query_id} Q0 {doc_id} {rank} {9 - rank} bm25\n"
        for query_id, text in (("i1", "HX-1"), ("i2", "HX-2"), ("w1", "red lamp"), ("w2", "oak table"),
                               ("w3", "blue rug"))
        for rank, doc_id in enumerate(RANKINGS[text], start=1)
    ]  # fmt: skip
    path = pinned.write("bm25.run", "".join(lines))
    pinned.write(
        "conftest.py",
        HEAD + "@pytest.fixture(scope='session')\ndef runs(goldset):\n"
        "    return {'bm25': load_run(HERE / 'bm25.run')}\n",
    )
    (pinned.path / "calls").unlink()
    pinned.run().assert_outcomes(passed=4)
    assert pinned.lines("calls") == []
    path.write_text("".join(lines).replace("i1 Q0 a 1 8", "i1 Q0 x 1 8"))
    pinned.run().assert_outcomes(failed=2, passed=2)


def test_each_package_has_retrievers_of_its_own(pinned):
    """The fixture `runs` lives as long as the session; the retrievers it asks are those of the test."""
    pinned.write_goldset("goldsets/second", toml=TOML.replace('"store"', '"second"'))
    (pinned.path / "test_search.py").unlink()
    (pinned.path / "conftest.py").unlink()
    for package, name, found in (("one", "store", "TABLE[query]"), ("two", "second", "['x', 'y']")):
        pinned.write(f"{package}/__init__.py", "")
        pinned.write(
            f"{package}/conftest.py",
            HEAD.replace("parent\n", "parents[1]\n") + FIXTURE % f"lambda query, k: {found}",
        )
        pinned.write(
            f"{package}/test_search.py",
            f"import pytest\n@pytest.mark.goldset('{name}')" + GATE + "\n@pytest.mark.goldset('store')\n"
            "def test_runs(runs):\n    assert runs['bm25']['i1'] == "
            + ("('a', 'b', 'c')\n" if package == "one" else "('x', 'y')\n"),
        )
    result = pinned.run("--retrieval-pin=new")
    result.assert_outcomes(passed=10)
    result.stdout.fnmatch_lines(["*second: pinned 3 cells*", "*words: new, 0.000 over 3 queries"])
    pinned.run_apart("-n2").assert_outcomes(passed=10)


UNAVAILABLE = {
    "in place of a retriever": ("", "Unavailable('no key')"),
    "raised when asked": ("def search(query, k):\n    raise Unavailable('no key')\n", "search"),
    "raised by an async one": ("async def search(query, k):\n    raise Unavailable('no key')\n", "search"),
    "made by a factory": ("def make():\n    return Unavailable('no key')\n", "make"),
    "raised by a factory": ("async def make():\n    raise Unavailable('no key')\n", "make"),
    "a skip of pytest's": ("def search(query, k):\n    pytest.skip('no key')\n", "search"),
}


@pytest.mark.parametrize("code, value", UNAVAILABLE.values(), ids=UNAVAILABLE)
@pytest.mark.parametrize("setting", ["skip", "error"])
def test_an_unavailable_retriever(pinned, code, value, setting):
    """Its cells are skipped by name, or fail; other tests of it are skipped too."""
    pinned.write("conftest.py", HEAD + code + FIXTURE % value)
    pinned.write("test_runs.py", "def test_runs(runs):\n    assert runs['bm25']\n")
    pinned.write("pytest.ini", f"[pytest]\nretrieval_unavailable = {setting}\n")
    result = pinned.run("-rs")
    if setting == "skip":
        result.assert_outcomes(skipped=5)
        result.stdout.fnmatch_lines_random(
            [
                "SKIPPED [[]1[]] test_runs.py:1: unavailable: no key",
                "SKIPPED [[]3[]] test_search.py:2: store: bm25 is unavailable: no key",
                "SKIPPED [[]1[]] test_search.py:2: store: nothing was judged: bm25 is unavailable: no key",
                "note: store: bm25 is unavailable, so none of its cells was judged: no key",
            ]
        )
    else:
        result.assert_outcomes(failed=5)
        result.stdout.fnmatch_lines(["*bm25 is unavailable: no key*"])


def test_an_unavailable_retriever_is_skipped_on_every_worker(pinned):
    pinned.write("conftest.py", HEAD + "def search(query, k):\n    note('asked', query)\n"
                 "    raise Unavailable('no key')\n" + FIXTURE % "search")  # fmt: skip
    pinned.run_apart("-n2").assert_outcomes(skipped=4)
    assert pinned.lines("asked") == ["HX-1"]


def test_a_fixture_that_skips_makes_its_retrievers_unavailable(pinned):
    pinned.write(
        "conftest.py",
        "import pytest\n@pytest.fixture(scope='session')\ndef retrievers():\n"
        "    pytest.importorskip('no_such_package_here')\n",
    )
    result = pinned.run("-rs")
    result.assert_outcomes(skipped=4)
    result.stdout.fnmatch_lines(["SKIPPED*store: bm25 is unavailable: *no_such_package_here*"])


def test_a_package_that_is_required_and_missing(pinned):
    """The retriever is not even asked: making it would fail in a way of its own."""
    pinned.write_goldset(toml=TOML + 'requires = ["json", "no_such_package_here"]\n')
    (pinned.path / "calls").unlink()
    result = pinned.run("-rs")
    result.assert_outcomes(skipped=4)
    result.stdout.fnmatch_lines(
        ["SKIPPED*store: bm25 is unavailable: bm25 requires no_such_package_here, not installed here"]
    )
    assert pinned.lines("calls") == []
    pinned.write("pytest.ini", "[pytest]\nretrieval_unavailable = error\n")
    result = pinned.run()
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["*(retrieval_unavailable = error)*"])


def test_a_package_that_is_missing_skips_other_tests_of_the_subject_too(pinned):
    pinned.write_goldset(toml=TOML + 'requires = ["no_such_package_here"]\n')
    pinned.write("test_runs.py", "def test_runs(runs):\n    assert runs['bm25']\n")
    (pinned.path / "calls").unlink()
    result = pinned.run("-rs", "test_runs.py")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        ["SKIPPED*unavailable: bm25 requires no_such_package_here, not installed here"]
    )
    assert pinned.lines("calls") == []


def test_one_of_two_subjects_that_is_unavailable_is_named(pinned):
    pinned.write_goldset(toml=TOML + '[subjects.other]\nmeasures = ["recall@2"]\n')
    pinned.write("conftest.py", HEAD + "def search(query, k):\n    return TABLE[query]\n"
                 + FIXTURE.replace("}", ", 'other': Unavailable('no index')}") % "search")  # fmt: skip
    result = pinned.run("-k", "store-bm25 or not (bm25 or other)")
    result.assert_outcomes(
        passed=3, failed=1
    )  # other was never pinned: that fails whether it is there or not
    result.stdout.fnmatch_lines(
        ["note: store: other is unavailable, so none of its cells was judged: no index"]
    )
    pinned.run("-k", "other").stdout.fnmatch_lines(["note: store: other is unavailable, *: no index"])


def test_required_packages_that_are_there_change_nothing(pinned):
    pinned.write_goldset(toml=TOML + 'requires = ["json"]\n')
    pinned.run().assert_outcomes(passed=4)


def test_an_unavailable_retriever_is_not_pinned(project):
    project.write("conftest.py", HEAD + FIXTURE % "Unavailable('no key')")
    project.pin()
    assert not (project.goldset / "pins.toml").exists()


SLOW = """
def search(query, k):
    time.sleep(0.05)
    return TABLE[query]

def pytest_configure():
    from pytest_retrieval.plugin import progress
    progress.DELAY = 0.01
"""


def on_a_terminal(arguments, folder):
    """Run pytest on a pseudo-terminal and return everything that it wrote there."""
    child, descriptor = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ["COLUMNS"] = "100"
        os.environ.pop("CI", None)
        os.execv(sys.executable, [sys.executable, "-m", "pytest", "-p", "no:hypothesispytest", *arguments])
    written = b""
    while True:
        try:
            part = os.read(descriptor, 4096)
        except OSError:
            break
        if not part:
            break
        written += part
    os.waitpid(child, 0)
    return written.decode()


def test_progress_appears_on_a_terminal_and_leaves_no_trace(pinned):
    pinned.write("conftest.py", HEAD + SLOW + FIXTURE % "search")
    text = on_a_terminal([], pinned.path)
    assert "4 passed" in text
    assert "store: bm25:" in text
    assert "query/s" in text
    shown = screen(text)
    assert "query/s" not in "\n".join(shown)
    assert [line.split() for line in shown if "test_search" in line] == [["test_search.py", "....", "[100%]"]]
    assert len(next(line for line in shown if "100%" in line)) in (99, 100)
    assert shown[shown.index("") + 1].startswith("test_search.py")


def screen(written):
    """Return the lines that a terminal shows in the end: a small one, with all that we make use of."""
    lines, row, column = [""], 0, 0
    for sign in re.findall(r"\x1b\[\d*[a-zA-Z]|.", written, re.DOTALL):
        if sign == "\r":
            column = 0
        elif sign == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif sign == "\x1b[K":
            lines[row] = lines[row][:column]
        elif sign == "\x1b[A":
            row -= 1
        elif sign.startswith("\x1b[") and sign.endswith("C"):
            column += int(sign[2:-1])
        elif not sign.startswith("\x1b"):
            lines[row] = lines[row][:column].ljust(column) + sign + lines[row][column + 1 :]
            column += 1
    return [line.rstrip() for line in lines]


@pytest.mark.parametrize("arguments", [["-q"], ["-n2"]], ids=["quiet", "xdist"])
def test_no_progress_where_nobody_looks(pinned, arguments):
    pinned.write("conftest.py", HEAD + SLOW + FIXTURE % "search")
    text = on_a_terminal(arguments, pinned.path)
    assert "4 passed" in text
    assert "query/s" not in text


def test_no_progress_without_a_terminal(pinned):
    pinned.write("conftest.py", HEAD + SLOW + FIXTURE % "search")
    result = pinned.run_apart()
    result.assert_outcomes(passed=4)
    assert "query/s" not in result.stdout.str() + result.stderr.str()


def test_what_is_quick_shows_no_progress(pinned):
    assert "query/s" not in on_a_terminal([], pinned.path)
