"""The page on planned comparisons, followed step by step by somebody who reads nothing else."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_retrieval.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "comparisons.md").read_text(encoding="utf-8")
STEPS = PAGE.partition("## In ten minutes")[2].partition("\n## ")[0]

CONFTEST = """
import json
from pathlib import Path

import pytest

@pytest.fixture(scope="session")
def retrievers():
    tables = json.loads((Path(__file__).parent / "rankings.json").read_text())
    return {name: lambda query, k, of=of: of[query][:k] for name, of in tables.items()}
"""
TOML = 'name = "store"\n[subjects.bm25]\nmeasures = ["recall@5"]\n'

# What each of nine questions has to find, and how much of it the two systems find; 21 more are ties. By hand:
# the differences are 1/2, 1/2, 1/3, 1, 1 and -1/2, -1/2, -1/3, -1/3, so their mean is (5/3) / 30 = 0.056.
CHANGED = [(2, 2, 1), (2, 2, 1), (3, 2, 1), (1, 1, 0), (1, 1, 0), (2, 1, 2), (2, 1, 2), (3, 1, 2), (3, 1, 2)]


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", STEPS, re.S)


@pytest.fixture
def reader(project):
    """A project with two systems, thirty test questions and ten to tune on."""
    wanted = CHANGED + [(1, 1, 1)] * 31
    queries = {f"q{number:02}": (f"text {number}", "words") for number in range(40)}
    gold = {
        q: dict.fromkeys("abc"[:relevant], 1) for q, (relevant, _, _) in zip(queries, wanted, strict=True)
    }
    splits = {q: {"split": "test" if number < 30 else "train"} for number, q in enumerate(queries)}
    project.write_goldset(toml=TOML, queries=queries, gold=gold, more=splits)
    rankings = {
        name: {
            text: [*"abc"[: found[place]], "x", "y"]
            for (text, _), found in zip(queries.values(), wanted, strict=True)
        }
        for place, name in ((1, "hybrid"), (2, "bm25"))
    }
    project.write("rankings.json", json.dumps(rankings))
    project.write("conftest.py", CONFTEST)
    (project.path / "test_search.py").unlink()
    return project


def test_a_reader_checks_locks_runs_and_reads_one_comparison(reader, monkeypatch):
    check, lock, run = (shlex.split(block) for block in blocks("sh"))
    (test,), (shown,) = blocks("python"), blocks("text")
    monkeypatch.chdir(reader.path)
    checked = CliRunner().invoke(main, check[1:])
    assert (check[0], checked.exit_code) == ("pytest-retrieval", 0)
    assert "30" in checked.output

    reader.write("tests/test_search.py", test)
    assert (lock[0], run) == ("pytest", ["pytest"])
    early = reader.run()
    early.assert_outcomes(failed=1)
    early.stdout.fnmatch_lines(
        ["*is not locked, so it is not planned. Lock it before you look at results: *"]
    )
    assert reader.lines("calls") == []

    locked = reader.run(*lock[1:])
    locked.assert_outcomes(skipped=1)
    assert (reader.goldset / "plan.toml").is_file()

    result = reader.run(*run[1:])
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(shown.splitlines(), consecutive=True)
    result.stdout.fnmatch_lines(["*t-test*", "*interval*"])
