"""Situations: what the gate says of a change, wherever it was made and however pytest is called.

The table stands in docs/situations.md and is read from there, so that what users read is what is tested.
Here is only how each situation comes about, beginning with a project of three cells that are pinned and hold.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from .conftest import CONFTEST, DOCUMENTS, GATE, GOLD, QUERIES, TOML, Project
from .test_against import commit, git

PAGE = Path(__file__).parents[2] / "docs" / "situations.md"

OTHER = "def test_something_else(): pass\n"
FAILING = "def test_something_else(): assert 0\n"

MAKERS: dict[str, Callable[[Project], None]] = {}


class Situation(NamedTuple):
    """One row of the table."""

    situation: str
    command: str
    outcome: str
    cells: str
    first: str


def rows() -> list[Situation]:
    """Return every row of every table of the page."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        parts = [part.strip() for part in line.strip("|").split("|")]
        if line.startswith("| ") and len(parts) == 5 and parts[1].startswith("`"):
            situation, command, outcome, cells, first = parts
            found.append(Situation(situation, command.strip("`"), outcome, cells, first.strip("`")))
    return found


def situation(*names: str) -> Callable[[Callable[[Project], None]], Callable[[Project], None]]:
    """Say which rows a function makes."""

    def named(maker: Callable[[Project], None]) -> Callable[[Project], None]:
        MAKERS.update(dict.fromkeys(names, maker))
        return maker

    return named


def edit(path: Path, old: str, new: str) -> None:
    """Replace what stands in a file, once."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def settings(project: Project, *lines: str) -> None:
    """Add keys to goldset.toml."""
    path = project.goldset / "goldset.toml"
    path.write_text("\n".join([*lines, path.read_text(encoding="utf-8")]), encoding="utf-8")


def query(project: Project, **more: object) -> None:
    """Write the gold set with one more query."""
    stratum = str(more.pop("stratum", "words"))
    project.write_goldset(
        queries=dict(QUERIES, n1=("green sofa", stratum)), gold=dict(GOLD, n1={"x": 2}), more={"n1": more}
    )
    project.rank(**{"green sofa": ["x"]})


def without(*query_ids: str) -> dict[str, tuple[str, str]]:
    return {query_id: row for query_id, row in QUERIES.items() if query_id not in query_ids}


# The search changes


@situation("nothing changed")
def nothing(project):
    pass


@situation("one kind of query got worse, another better; the average is the same")
def hidden(project):
    project.rank(i1=["x"], w2=["e"])


@situation("one kind of query got worse, by no more than the tolerance")
def tolerated(project):
    settings(project, "tolerance = 0.5")
    project.rank(i1=["x"])


@situation("one kind of query got worse, and its own pin has a tolerance")
def tolerated_pin(project):
    table = '[bm25.identifier."recall@2"]\n'
    edit(project.goldset / "pins.toml", table, table + "tolerance = 0.5\n")
    project.rank(i1=["x"], w2=["e"])


@situation("one kind of query got better")
def better(project):
    project.rank(w2=["e"])


@situation("it got worse below the cutoff of the measure")
def deeper(project):
    project.rank(w1=["c", "x", "y", "d"])


@situation('it got worse, and `rule = "established"` finds too little to establish it')
def not_established(project):
    rule(project, "words", "all")
    settings(project, "alpha = 0.3")
    project.rank(w1=["x"])


@situation('`rule = "established"` on a stratum of too few queries')
def never_established(project):
    rule(project, "words")


def rule(project, *strata):
    for stratum in strata:
        table = f'[bm25.{stratum}."recall@2"]\n'
        edit(project.goldset / "pins.toml", table, table + 'rule = "established"\n')


@situation("a query that may never fall fell; its stratum did not")
def must(project):
    project.write_goldset(more={"w1": {"must": True}})
    project.rank(w1=["x"], w2=["e"])


@situation("it got worse, and documents of equal score stand at the cutoff")
def ties(project):
    project.rank(i1=[["x", 2.0], ["y", 1.0], ["a", 1.0]], w2=["e"])


@situation('it got worse, and nobody judged what it returns now (`unjudged = "unknown"`)')
def unknown(project):
    settings(project, 'unjudged = "unknown"')
    project.rank(w3=["y", "x"])


@situation('the same under `unjudged = "irrelevant"`')
def irrelevant(project):
    project.rank(w3=["y", "x"])


@situation('nothing was lost, and nobody judged what dropped out (`unjudged = "unknown"`)')
def dropped(project):
    settings(project, 'unjudged = "unknown"')
    project.rank(w1=["c", "y", "d"])


@situation("nothing changed, and fewer results are judged than `min_judged`")
def too_little(project):
    settings(project, "min_judged = 0.9")


@situation("a query gets no results any more")
def silent(project):
    project.rank(w3=[])


# The search breaks


@situation("the retriever raises")
def raises(project):
    retriever(project, "raise OSError('index is down')")


@situation("the retriever returns nothing for every query")
def empty(project):
    retriever(project, "return []")


@situation("the retriever returns a document twice")
def twice(project):
    project.rank(i1=["a", "a"])


@situation("the retriever returns ids that are not in the catalog")
def strangers(project):
    project.rank(i1=["a", "nowhere"])


@situation("the fixture `retrievers` raises")
def broken_fixture(project):
    edit(project.path / "conftest.py", 'return {"bm25": search}', "raise OSError('no index')")


@situation("the fixture `retrievers` has no such retriever")
def misnamed(project):
    edit(project.path / "conftest.py", '"bm25": search', '"bm26": search')


@situation("the retriever is `Unavailable`")
def unavailable(project):
    edit(project.path / "conftest.py", "import json", "import json\nfrom pytest_retrieval import Unavailable")
    edit(project.path / "conftest.py", '"bm25": search', '"bm25": Unavailable("no GPU here")')


@situation("the same with `retrieval_unavailable = error`")
def unavailable_fails(project):
    unavailable(project)
    project.write("pytest.ini", "[pytest]\nretrieval_unavailable = error\n")


@situation("the fixture `retrievers` skips")
def skips(project):
    edit(project.path / "conftest.py", 'return {"bm25": search}', "pytest.skip('no server')")


@situation("a package that the subject `requires` is missing")
def lacking(project):
    edit(project.goldset / "goldset.toml", 'recall@2"]', 'recall@2"]\nrequires = ["no_such_package"]')


def retriever(project, body):
    text = re.sub(r"def search\(query, k\):\n(    .*\n)+", f"def search(query, k):\n    {body}\n", CONFTEST)
    assert text != CONFTEST
    project.write("conftest.py", text)


# The gold set changes


@situation("nothing is pinned yet")
def unpinned(project):
    (project.goldset / "pins.toml").unlink()
    (project.goldset / "pins" / "bm25.jsonl").unlink()


@situation("a stratum is new")
def new_stratum(project):
    query(project, stratum="sofas")


@situation("a measure is new")
def new_measure(project):
    edit(project.goldset / "goldset.toml", '"recall@2"', '"recall@2", "mrr@2"')


@situation("a subject is new")
def new_subject(project):
    edit(
        project.goldset / "goldset.toml", "[subjects", '[subjects.dense]\nmeasures = ["recall@2"]\n[subjects'
    )
    edit(project.path / "conftest.py", '"bm25": search', '"bm25": search, "dense": search')


@situation("a query is new")
def new_query(project):
    query(project)


@situation("a query is new, and of the split `test`")
def held_out(project):
    splits = {query_id: {"split": "train"} for query_id in QUERIES} | {"n1": {"split": "test"}}
    project.write_goldset(
        queries=dict(QUERIES, n1=("green sofa", "words")), gold=dict(GOLD, n1={"x": 2}), more=splits
    )
    project.rank(**{"green sofa": ["x"]})


@situation("a query is reworded")
def reworded(project):
    project.write_goldset(queries=dict(QUERIES, w1=("crimson lamp", "words")))
    project.rank(**{"crimson lamp": ["c", "x", "d"]})


@situation("every query of a stratum is reworded")
def all_reworded(project):
    project.write_goldset(queries=dict(QUERIES, i1=("HX 1", "identifier"), i2=("HX 2", "identifier")))
    project.rank(**{"HX 1": ["a"], "HX 2": ["x"]})


@situation("a query is removed")
def removed(project):
    queries = without("w2")
    project.write_goldset(queries=queries, gold={query_id: GOLD[query_id] for query_id in queries})


@situation("a query moves to another stratum")
def moved(project):
    project.write_goldset(queries=dict(QUERIES, w3=("blue rug", "identifier")))


@situation("a query becomes one that nothing answers")
def unanswerable(project):
    project.write_goldset(gold=dict(GOLD, w2={"e": 0}), more={"w2": {"answerable": False}})


@situation("a judgment is added")
def judgment_added(project):
    project.write_goldset(gold=dict(GOLD, w2={"e": 2, "z": 2}))


@situation("a judgment is removed")
def judgment_removed(project):
    project.write_goldset(gold=dict(GOLD, w1={"c": 2, "a": 1}))


@situation("a judgment is flipped, and search got worse too")
def judgment_flipped(project):
    project.write_goldset(gold=dict(GOLD, w3={"f": 0, "x": 2}))
    project.rank(w1=["x"])


@situation("the relevance level changes")
def level(project):
    edit(project.goldset / "goldset.toml", "relevance_level = 2", "relevance_level = 1")


@situation("a stratum is removed")
def no_stratum(project):
    queries = without("i1", "i2")
    project.write_goldset(queries=queries, gold={query_id: GOLD[query_id] for query_id in queries})


@situation("a measure is removed")
def no_measure(project):
    edit(project.goldset / "goldset.toml", '"recall@2"', '"mrr@2"')


@situation("a subject is removed")
def no_subject(project):
    edit(project.goldset / "goldset.toml", "subjects.bm25", "subjects.dense")
    edit(project.path / "conftest.py", '"bm25": search', '"dense": search')


@situation("no subject is left")
def no_subjects(project):
    edit(project.goldset / "goldset.toml", '[subjects.bm25]\nmeasures = ["recall@2"]', "")


@situation("a second gold set is there, and the test does not say which it means")
def which(project):
    project.write_goldset("goldsets/second", toml=TOML.replace('"store"', '"second"'))


@situation("two gold sets have one name")
def same_name(project):
    project.write_goldset("goldsets/second")


@situation("a judgment names a query that is not there")
def stale_query(project):
    project.write_goldset(gold=dict(GOLD, gone={"a": 2}))


@situation("`goldset.toml` is no TOML")
def no_toml(project):
    settings(project, "name = ")


@situation("`goldset.toml` has a key that is misspelt")
def misspelt(project):
    settings(project, "tolerence = 0.1")


# The catalog changes


@situation("a document is added to the catalog")
def document_added(project):
    project.write_goldset(documents=DOCUMENTS + "q")


@situation("a document that nobody judged is deleted, and search no longer returns it")
def document_deleted(project):
    project.write_goldset(documents=DOCUMENTS.replace("y", ""))
    project.rank(w2=["x", "e"])


@situation("a relevant document is deleted, and its judgment is not")
def gold_deleted(project):
    project.write_goldset(documents=DOCUMENTS.replace("f", ""))


@situation("a document that search still returns is deleted")
def index_behind(project):
    project.write_goldset(documents=DOCUMENTS.replace("y", ""))


@situation("the text of a document changes")
def text_changed(project):
    edit(project.goldset / "catalog.jsonl", "text of x", "another text")


# The pins change


@situation("a value in `pins.toml` is edited by hand")
def value_edited(project):
    edit(project.goldset / "pins.toml", "value = 1.0", "value = 0.5")


@situation("a table is taken out of `pins.toml`")
def pin_deleted(project):
    path = project.goldset / "pins.toml"
    path.write_text(re.sub(r'\[bm25\.words\."recall@2"\]\n([^\[].*\n)*', "", path.read_text()))


@situation("`pins.toml` holds the marks of a merge conflict")
def conflict(project):
    edit(
        project.goldset / "pins.toml",
        "value = 1.0",
        "<<<<<<< HEAD\nvalue = 1.0\n=======\nvalue = 0.5\n>>>>>>> b",
    )


@situation("the evidence holds the marks of a merge conflict")
def evidence_conflict(project):
    edit(project.goldset / "pins" / "bm25.jsonl", "", "<<<<<<< HEAD\n")


@situation("the evidence of one branch and the pins of another were merged")
def merged(project):
    path = project.goldset / "pins" / "bm25.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0] |= {"ranking": ["x"], "returned": 1, "scores": {"recall@2": 0.0}}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@situation("a query has evidence twice")
def evidence_twice(project):
    path = project.goldset / "pins" / "bm25.jsonl"
    path.write_text(path.read_text() + path.read_text().splitlines()[0] + "\n")


@situation("the evidence of a subject is deleted")
def evidence_deleted(project):
    (project.goldset / "pins" / "bm25.jsonl").unlink()


@situation("a pinned ranking is emptied by hand")
def evidence_edited(project):
    edit(project.goldset / "pins" / "bm25.jsonl", '"ranking":["a","b","c"]', '"ranking":[]')


# The tests change


@situation("the test moves to another file")
def gate_moved(project):
    (project.path / "test_search.py").rename(project.path / "test_moved.py")


@situation("the test is renamed")
def gate_renamed(project):
    edit(project.path / "test_search.py", "test_pinned", "test_gate")


@situation("the test's file is deleted")
def file_deleted(project):
    (project.path / "test_search.py").unlink()
    project.write("test_other.py", OTHER)
    project.write("other/test_third.py", OTHER)


@situation("the test is deleted, its file is not")
def gate_deleted(project):
    project.write("test_search.py", OTHER)
    project.write("other/test_other.py", OTHER)


@situation("the test is deleted, and the last run had another failure")
def gate_deleted_after_failure(project):
    gate_deleted(project)
    project.write("other/test_other.py", FAILING)
    project.run("other")
    project.write("other/test_other.py", OTHER)


@situation("the test is deleted, and the last run told so")
def gate_deleted_and_told(project):
    gate_deleted(project)
    project.run()


@situation("the test is deleted, and another rootdir names the gold set")
def gate_deleted_elsewhere(project):
    gate_deleted(project)
    project.write("other/pytest.ini", "[pytest]\nretrieval_goldsets = ../goldsets\n")


@situation("the test gates one subject of two only")
def fewer_subjects(project):
    new_subject(project)
    project.pin()
    project.write("test_search.py", f"import pytest\n@pytest.mark.goldset('store', subjects=['dense']){GATE}")


@situation("two tests gate the same cells")
def two_tests(project):
    project.write("test_search.py", GATE + GATE.replace("test_pinned", "test_again"))


@situation("the test never calls `gate.check()`")
def never_checks(project):
    edit(project.path / "test_search.py", "gate.check()", "pass")


@situation("the test is marked with a gold set that is not there")
def wrong_marker(project):
    project.write("test_search.py", f"import pytest\n@pytest.mark.goldset('stroe'){GATE}")


@situation("a fixture `goldset` of the project's stands in the way")
def overridden(project):
    project.write("conftest.py", CONFTEST + "\n@pytest.fixture\ndef goldset(): return 1\n")


@situation("the test's file cannot be imported")
def import_error(project):
    project.write("test_search.py", "import no_such_module\n" + GATE)
    project.write("test_other.py", OTHER)


# However pytest is called


@situation("one stratum of three cells fell")
def in_tests(project):
    without_ini(project)
    project.write("pytest.ini", "[pytest]\n")


@situation("the same in a project without pytest.ini or pyproject.toml")
def without_ini(project):
    project.write("tests/test_search.py", GATE)
    (project.path / "test_search.py").unlink()
    project.write("tests/test_other.py", OTHER)
    pins = project.goldset / "pins.toml"
    pins.write_text(pins.read_text().replace("test_search.py", "tests/test_search.py"))
    project.rank(i1=["x"], w2=["e"])


@situation("the same, and another rootdir names the gold set")
def another_rootdir(project):
    without_ini(project)
    for name in ("conftest.py", "rankings.json"):
        (project.path / name).rename(project.path / "tests" / name)
    project.write("tests/pytest.ini", "[pytest]\nretrieval_goldsets = ../goldsets\n")


@situation("one stratum of three cells fell, and the last run saw it")
def seen_before(project):
    in_tests(project)
    project.run()


@situation("one stratum fell and another rose")
def up_and_down(project):
    project.rank(i1=["x"], w2=["e"])


@situation("nothing changed, and the last run had another failure")
def another_failed(project):
    project.write("test_other.py", FAILING)
    project.run()
    project.write("test_other.py", OTHER)


@situation("`CI` is set")
def under_ci(project):
    project.monkeypatch.setenv("CI", "true")


# A branch against its base


def branch(project):
    """Put the project under git, on a branch off what is pinned."""
    project.write(".gitignore", "calls\nbuilds\n__pycache__/\n")
    git(project, "init", "-q", "-b", "main")
    commit(project, "pinned")
    git(project, "switch", "-q", "-c", "feature")


@situation("a branch changed nothing")
def untouched(project):
    branch(project)


@situation("a branch made search worse, and lowered its pin with a reason")
def lowered(project):
    branch(project)
    project.rank(i1=["x"], w2=["e"])
    project.pin("all", "--retrieval-reason", "HX-1 is sold no longer")


@situation("a branch made search worse, and widened the tolerance")
def loosened(project):
    branch(project)
    settings(project, "tolerance = 0.6")
    project.rank(i1=["x"], w2=["e"])


@situation("a branch deleted a hard query, and pinned it away")
def hard_deleted(project):
    branch(project)
    removed(project)
    project.pin()


@situation("a branch made search worse, and changed the judgments so that it does not show")
def flipped(project):
    branch(project)
    project.rank(w3=["x", "y"])
    project.write_goldset(gold=dict(GOLD, w3={"f": 0, "x": 2}))


@situation("a branch made search worse, and moved the query to a stratum that gained")
def moved_away(project):
    branch(project)
    project.rank(i1=["x"], w2=["e"])
    project.write_goldset(queries=dict(QUERIES, i1=("HX-1", "words")))


@situation("a branch corrected a judgment that helps nobody")
def corrected(project):
    branch(project)
    project.write_goldset(gold=dict(GOLD, i1={"a": 2}))


@situation("a branch renamed the folder of the gold set")
def folder_renamed(project):
    branch(project)
    project.goldset.rename(project.path / "goldsets" / "shop")


@situation("a branch gave the gold set another name, and pinned it anew")
def goldset_renamed(project):
    branch(project)
    edit(project.goldset / "goldset.toml", '"store"', '"shop"')
    project.pin()


@situation("a branch took a measure out, and pinned it away")
def measure_taken_out(project):
    branch(project)
    edit(project.goldset / "goldset.toml", '"recall@2"', '"mrr@2"')
    project.pin()


@situation("there is no repository")
def no_repository(project):
    project.monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(project.path.parent))


FAILED = re.compile(r"^_{2,} (?!coverage).* _{2,}$")
SKIPPED = re.compile(r"^SKIPPED \[\d+\] \S+: ")


def first_line(result: pytest.RunResult) -> str:
    """Return the first line that is about the gate: of a failure, error, skip, pin, note or count."""
    lines = [line for line in result.outlines if not line.startswith("[gw")]
    for number, line in enumerate(lines):
        if FAILED.match(line):
            return next(later for later in lines[number + 1 :] if later.strip()).removeprefix("E   ").strip()
    for line in result.errlines:
        if line.startswith("ERROR: "):
            return line.removeprefix("ERROR: ")
    for pattern in (
        SKIPPED,
        re.compile(r"^(?=\w+: (pinned|nothing to pin))"),
        re.compile(r"^(?=(note|near): )"),
    ):
        for line in lines:
            if pattern.match(line):
                return pattern.sub("", line)
    counts = (line for line in lines if re.match(r"\d+ cells?: ", line))
    return next(counts, "–")


def told_cells(result: pytest.RunResult) -> str:
    """Return how many cells have which verdict, as the summary counts them."""
    found = (re.fullmatch(r"\d+ cells?: (.*)", line) for line in result.outlines)
    return next((match[1] for match in found if match), "–")


def told_outcome(result: pytest.RunResult) -> str:
    """Return what became of the tests, or how the session ended without any."""
    if result.ret == pytest.ExitCode.USAGE_ERROR:
        return "exit 4"
    outcomes = result.parseoutcomes()
    names = ("failed", "errors", "passed", "skipped", "deselected")
    told = ", ".join(f"{outcomes[name]} {name}" for name in names if name in outcomes)
    return told.replace("1 errors", "1 error") or "no tests run"


def run(project: Project, command: str) -> pytest.RunResult:
    """Run a command of the table, where it says."""
    folder, _, rest = command.rpartition(" && ")
    if folder:
        project.monkeypatch.chdir(project.path / folder.removeprefix("cd "))
    name, *arguments = shlex.split(rest)
    assert name == "pytest"
    if not any(argument.startswith(("--lf", "--ff")) for argument in arguments):
        arguments += ["-p", "no:cacheprovider"]
    apart = any(argument.startswith("-n") for argument in arguments)
    return (project.run_apart if apart else project.run)("-rs", *arguments)


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.situation} ({row.command})")
def test_the_table_holds(pinned, row):
    MAKERS[row.situation](pinned)
    result = run(pinned, row.command)
    told = told_outcome(result), told_cells(result), first_line(result)
    found = Situation(row.situation, row.command, *told)
    wanted = ".*".join(re.escape(part) for part in row.first.split("…"))
    if re.fullmatch(wanted, found.first):
        found = found._replace(first=row.first)
    assert found == row
    is_red = re.search("failed|error|exit", row.outcome) is not None
    assert (result.ret in (0, 5)) != is_red


def test_every_situation_is_a_row_and_every_row_is_made():
    assert {row.situation for row in rows()} == set(MAKERS)
    assert len(rows()) > 160  # index.md and gate.md say so


def test_no_row_is_there_twice():
    named = [(row.situation, row.command) for row in rows()]
    assert len(named) == len(set(named))
