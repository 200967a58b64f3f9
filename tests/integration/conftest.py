"""A small project with one gold set, whose rankings a test writes down.

What a session imports is forgotten after it, so that each would import it again; the large packages that it
needs are imported here, once. Without that most of each test's time went into importing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bm25s  # noqa: F401
import hypothesis  # noqa: F401
import numpy  # noqa: F401
import pandas  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import tomlkit

CONFTEST = """
import json
from pathlib import Path

import pytest

TABLE = Path(__file__).parent / "rankings.json"

def search(query, k):
    with (TABLE.parent / "calls").open("a") as calls:
        calls.write(query + "\\n")
    return json.loads(TABLE.read_text())[query][:k]

@pytest.fixture(scope="session")
def retrievers(catalog):
    with (TABLE.parent / "builds").open("a") as builds:
        builds.write(f"{len(catalog)}\\n")
    return {"bm25": search}
"""

GATE = """
def test_pinned(gate):
    gate.check()
"""

TOML = """
name = "store"
relevance_level = 2
grades = {irrelevant = 0, partial = 1, exact = 2}
gate_also = ["all"]

[subjects.bm25]
measures = ["recall@2"]
"""

QUERIES = {
    "i1": ("HX-1", "identifier"),
    "i2": ("HX-2", "identifier"),
    "w1": ("red lamp", "words"),
    "w2": ("oak table", "words"),
    "w3": ("blue rug", "words"),
}
GOLD = {
    "i1": {"a": 2, "z": 0},
    "i2": {"b": 2},
    "w1": {"c": 2, "d": 2, "a": 1},
    "w2": {"e": 2},
    "w3": {"f": 2},
}
RANKINGS = {
    "HX-1": ["a", "b", "c"],
    "HX-2": ["b", "a", "c"],
    "red lamp": ["c", "x", "d"],
    "oak table": ["x", "y", "e"],
    "blue rug": ["x", "f"],
}
DOCUMENTS = "abcdefxyz"


def of_bm25(toml: str) -> str:
    """Return a goldset.toml that gates BM25 alone, whatever else it gates."""
    keys = tomlkit.parse(toml)
    subjects: Any = keys["subjects"]
    for name in set(subjects) - {"bm25"}:
        del subjects[name]
    return keys.as_string()


class Project:
    """A project in a folder of its own, and pytest runs in it."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pytester = pytester
        self.monkeypatch = monkeypatch
        self.path = pytester.path
        self.goldset = self.path / "goldsets" / "store"
        self.rankings: dict[str, Any] = dict(RANKINGS)
        self.write("conftest.py", CONFTEST)
        self.write("test_search.py", GATE)
        self.write_goldset()
        self.rank()

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def write_goldset(
        self,
        folder: str = "goldsets/store",
        *,
        toml: str = TOML,
        queries: dict[str, tuple[str, str]] | None = None,
        gold: dict[str, dict[str, int]] | None = None,
        documents: str = DOCUMENTS,
        more: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        """Write a gold set; `more` adds columns to queries."""
        rows = [
            {"query_id": query_id, "query": text, "stratum": stratum, **(more or {}).get(query_id, {})}
            for query_id, (text, stratum) in (QUERIES if queries is None else queries).items()
        ]
        lines = [
            f"{query_id} 0 {doc_id} {grade}"
            for query_id, judged in (GOLD if gold is None else gold).items()
            for doc_id, grade in judged.items()
        ]
        self.write(f"{folder}/goldset.toml", toml)
        self.write(f"{folder}/queries.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        self.write(f"{folder}/qrels.trec", "".join(line + "\n" for line in lines))
        catalog = [{"doc_id": doc_id, "text": f"text of {doc_id}"} for doc_id in documents]
        self.write(f"{folder}/catalog.jsonl", "".join(json.dumps(row) + "\n" for row in catalog))

    def rank(self, **changed: Any) -> None:
        """Change rankings; keywords are query ids."""
        texts = {query_id: text for query_id, (text, _) in QUERIES.items()}
        self.rankings |= {texts.get(query_id, query_id): ranking for query_id, ranking in changed.items()}
        self.write("rankings.json", json.dumps(self.rankings))

    def run(self, *arguments: str) -> pytest.RunResult:
        return self.pytester.runpytest(*arguments)

    def run_apart(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in a process of its own."""
        return self.pytester.runpytest_subprocess("-p", "no:hypothesispytest", *arguments)

    def pin(self, mode: str = "new", *arguments: str) -> pytest.RunResult:
        return self.run(f"--retrieval-pin={mode}", *arguments)

    def lines(self, name: str) -> list[str]:
        path = self.path / name
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose gold set has no pins yet."""
    monkeypatch.delenv("CI", raising=False)
    return Project(pytester, monkeypatch)


@pytest.fixture(scope="session")
def pinned_files() -> dict[str, bytes]:
    """What pinning the small project left in its folder, filled by whoever needs it first."""
    return {}


@pytest.fixture
def pinned(project: Project, pinned_files: dict[str, bytes]) -> Project:
    """A project whose gold set is pinned; one session in each process pins, the others copy what it wrote."""
    if not pinned_files:
        project.pin().assert_outcomes(passed=4)
        paths = [project.goldset / "pins.toml", project.goldset / "pins" / "bm25.jsonl"]
        paths += [project.path / name for name in ("calls", "builds")]
        pinned_files |= {path.relative_to(project.path).as_posix(): path.read_bytes() for path in paths}
    for name, data in pinned_files.items():
        path = project.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return project
