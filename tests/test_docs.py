"""The documentation says what is there: its commands run, its output is real, and it names everything."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_retrieval
from pytest_retrieval.cli import main
from pytest_retrieval.files.manifest import _ALLOWED
from pytest_retrieval.files.pins import _EDITED, _WRITTEN
from pytest_retrieval.files.settings import _CHECKS
from pytest_retrieval.files.sheet_columns import USUAL
from pytest_retrieval.gate import verdict
from pytest_retrieval.measures.answer import ANSWER_KINDS
from pytest_retrieval.measures.notation import _ALSO
from pytest_retrieval.measures.rank import KINDS
from pytest_retrieval.plugin import entry, fixtures, hookspecs

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
STEP = re.compile(
    r"[Ss]ave this as `(?P<file>[^`]+)`:\n\n```\w+\n(?P<text>.*?)```|```console\n(?P<console>.*?)```", re.S
)
TIME = re.compile(r" in \d+\.\d+s")
WIDTH = "88"


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def codes(text):
    """Return what stands in code marks in the running text and the tables of a page."""
    return set(re.findall(r"`([^`\n]+)`", text))


def words_of_codes(text):
    return {word for code in codes(text) for word in re.findall(r"[\w@.-]+", code)}


# --- the quick start, replayed ---------------------------------------------------------------------------


def commands(console):
    """Return (command, lines shown) for each command of a block."""
    found = []
    for line in console.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        else:
            found[-1][1].append(line)
    return found


def expected_code(shown):
    if any(line.startswith("ERROR:") for line in shown):
        return 4
    return 1 if any(re.match(r"\d+ failed", line) for line in shown) else 0


def unshown(shown, output):
    """Return the first line shown that the output does not have, in order; None where it has them all."""
    lines = iter(TIME.sub("", line).rstrip() for line in output.splitlines())
    for line in shown:
        wanted = TIME.sub("", line).rstrip()
        if wanted in ("", "…"):
            continue
        start = wanted.removesuffix(" …")
        if not any(line == wanted or (wanted != start and line.startswith(start)) for line in lines):
            return wanted
    return None


def shell(command, folder):
    scripts = Path(sys.executable).parent
    dropped = ("CI", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "COLUMNS", "FORCE_COLOR", "PY_COLORS")
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    for who in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{who}_NAME": "a reader", f"GIT_{who}_EMAIL": "reader@example.org"}
    environment |= {"COLUMNS": WIDTH, "PATH": f"{scripts}{os.pathsep}{environment['PATH']}"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), environment.get("PYTHONPATH", "")])
    return subprocess.run(
        command, shell=True, cwd=folder, env=environment, text=True, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip


@pytest.mark.skipif(shutil.which("git") is None or os.name == "nt", reason="the quick start uses git and sh")
def test_quick_start(tmp_path):
    """Every file is saved and every command run, in order; every line of output shown is there."""
    pytest.importorskip("xdist")
    shell("git init -q .", tmp_path)
    ran = 0
    for step in STEP.finditer(page("quickstart.md")):
        if step["file"]:
            (tmp_path / step["file"]).write_text(step["text"], encoding="utf-8")
            continue
        for command, shown in commands(step["console"]):
            done = shell(command, tmp_path)
            assert done.returncode == expected_code(shown), f"{command}\n{done.stdout}"
            missing = unshown(shown, done.stdout)
            assert missing is None, f"{command} does not print\n{missing}\nbut\n{done.stdout}"
            ran += 1
    assert ran >= 10


def test_a_line_that_was_not_printed_is_seen():
    assert unshown(["a", "…", "c 1 …"], "a\nb\nc 1 2 3\n") is None
    assert unshown(["1 passed in 0.10s"], "1 passed in 2.30s") is None
    assert unshown(["b", "a"], "a\nb\n") == "a"
    assert unshown(["a b …"], "a c d") == "a b …"
    assert unshown(["a"], "a b") == "a"


# --- the failure of gate.md --------------------------------------------------------------------------------

RANKINGS = """
import os
import pytest

BEST = {
    "HX-4450": ["p06", "p05"], "hinge HX-4460": ["p07", "p06"], "HX-4420 spare part": ["p03", "p21"],
    "something light to sit on": ["p13", "p11"], "lamp for reading in bed": ["p08", "p10"],
}
SIDES = {
    "best": BEST,
    "before": BEST | {"HX-4420 spare part": ["p03", "p05"]},
    "after": {
        "HX-4450": ["p05", "p01"], "hinge HX-4460": ["p06", "p07"],
        "HX-4420 spare part": ["p01", "p02", "p21"],
        "something light to sit on": ["p12", "p13"], "lamp for reading in bed": ["p09", "p08"],
    },
}
LEXICAL = {"HX-4450": ["p06", "p05"], "HX-4420 spare part": ["p05", "p03"]}


@pytest.fixture(scope="session")
def retrievers():
    final = SIDES[os.environ["SIDE"]]
    return {"hybrid": lambda query, k: {"lexical": LEXICAL.get(query, final[query]), "fused": final[query]}}
"""
TOML = """
name = "store"
relevance_level = 2
grades = {irrelevant = 0, partial = 1, exact = 2}
gate_also = ["all"]

[subjects.hybrid]
measures = ["recall@2"]
"""
QUERIES = """query_id,query,stratum
i1,HX-4450,identifier
i2,hinge HX-4460,identifier
i3,HX-4420 spare part,identifier
w1,something light to sit on,words
w2,lamp for reading in bed,words
"""
QRELS = "i1 0 p06 2\ni1 0 p05 1\ni2 0 p07 2\ni3 0 p03 2\ni3 0 p21 2\nw1 0 p12 2\nw2 0 p09 2\n"
GATE = "def test_pinned(gate):\n    gate.check()\n"


def test_the_failure_shown(tmp_path):
    """The failure that gate.md takes apart is what the gate prints."""
    store = tmp_path / "goldsets" / "store"
    store.mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    for path, text in (
        (store / "goldset.toml", TOML),
        (store / "queries.csv", QUERIES),
        (store / "qrels.trec", QRELS),
        (tmp_path / "conftest.py", RANKINGS),
        (tmp_path / "tests" / "test_store.py", GATE),
    ):
        path.write_text(text, encoding="utf-8")
    assert shell("SIDE=best pytest -q --retrieval-pin=new", tmp_path).returncode == 0
    lowered = shell("SIDE=before pytest -q --retrieval-pin=all --retrieval-reason 'rebuilt'", tmp_path)
    assert lowered.returncode == 0
    output = shell("SIDE=after pytest -q -k identifier", tmp_path).stdout
    shown = re.search(r"```text\n(store: hybrid .*?)```", page("gate.md"), re.S)
    assert unshown(shown[1].splitlines(), output) is None, output


STEMS = r"""
import pytest
import Stemmer

from pytest_retrieval import BM25


@pytest.fixture(scope="session")
def retrievers(catalog):
    stem = Stemmer.Stemmer("english").stemWord
    return {"bm25": BM25(catalog, stemmer=stem, token_pattern=r"(?u)\b(?!\w*\d)\w+\b")}
"""


def test_the_failure_on_the_first_page(tmp_path):
    """The shop of the README, with a retriever that stems words and leaves out tokens with digits."""
    pytest.importorskip("Stemmer")
    shutil.copytree(ROOT / "goldsets" / "furniture", tmp_path / "goldsets" / "furniture")
    (tmp_path / "conftest.py").write_text(STEMS, encoding="utf-8")
    (tmp_path / "test_shop.py").write_text(GATE, encoding="utf-8")
    output = shell('pytest -q -k "recall_5 and exact_identifier"', tmp_path).stdout
    shown = re.search(r"```text\n(furniture: .*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    assert unshown(shown[1].splitlines(), output) is None, output


# --- everything that is there is named ---------------------------------------------------------------------


def names_of_fixtures():
    kind = type(fixtures.goldset)
    modules = pkgutil.iter_modules(importlib.import_module("pytest_retrieval.plugin").__path__)
    rooms = [importlib.import_module(f"pytest_retrieval.plugin.{module.name}") for module in modules]
    classes = [value for room in rooms for value in vars(room).values() if isinstance(value, type)]
    return {
        name for place in [*rooms, *classes] for name, value in vars(place).items() if isinstance(value, kind)
    }


class Markers:
    """What `pytest_configure` asks of a config, in a project without gold sets."""

    def __init__(self, config, rootpath):
        self.config, self.rootpath, self.lines = config, rootpath, []

    def addinivalue_line(self, name, line):
        assert name == "markers"
        self.lines.append(line)

    def getini(self, name):
        defaults = {
            "retrieval_goldsets": entry.DEFAULT_FOLDERS,
            "retrieval_recordings": entry.DEFAULT_RECORDINGS,
        }
        return defaults.get(name, "")

    def getoption(self, name):
        return None


def test_fixtures():
    table = page("reference.md").partition("## Fixtures")[2].partition("\n## ")[0]
    assert names_of_fixtures() >= {"goldset", "gate", "compare"}
    assert names_of_fixtures() == set(re.findall(r"^\| `(\w+)` \|", table, re.M))


def test_markers(pytestconfig, tmp_path):
    config = Markers(pytestconfig, tmp_path)
    entry.pytest_configure(config)
    names = {line.partition("(")[0] for line in config.lines}
    assert "goldset" in names
    assert all(f"@pytest.mark.{name}" in page("reference.md") for name in names)


def options(pytestconfig):
    group = pytestconfig._parser.getgroup("retrieval")
    return {name for option in group.options for name in option.names()}


def test_options(pytestconfig):
    assert "--retrieval-pin" in options(pytestconfig)
    assert options(pytestconfig) <= {code.partition("=")[0] for code in codes(page("reference.md"))}


def test_no_option_is_described_that_is_not_there(pytestconfig):
    for path in [*DOCS.glob("*.md"), ROOT / "README.md"]:
        named = set(re.findall(r"--retrieval-[a-z-]+", path.read_text(encoding="utf-8")))
        assert named <= options(pytestconfig), path.name


def test_ini_keys(pytestconfig):
    keys = {name for name in pytestconfig._parser._inidict if name.startswith("retrieval_")}
    assert "retrieval_goldsets" in keys
    assert keys <= codes(page("reference.md"))


def test_hooks():
    hooks = {name for name in vars(hookspecs) if name.startswith("pytest_")}
    assert hooks
    assert all(f"`{name}(" in page("reference.md") for name in hooks)


def test_commands():
    text = page("reference.md")
    assert main.commands
    for name, command in main.commands.items():
        assert f"### {name}\n" in text
        named = {code.partition(" ")[0] for code in codes(text)}
        parts = [command, *getattr(command, "commands", {}).values()]
        options = {opt for part in parts for parameter in part.params for opt in parameter.opts}
        assert {opt for opt in options if opt.startswith("--")} <= named


def test_names_of_columns_of_a_question_sheet():
    names = {name for usual in USUAL.values() for name in usual}
    assert names <= codes(page("reference.md"))


def test_public_names():
    documented = set(
        re.findall(r"^\.\. auto(?:class|function|exception):: (\w+)$", page("reference.md"), re.M)
    )
    assert documented == set(pytest_retrieval.__all__)


def test_extras():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    table = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    extras = set(re.findall(r"^([a-z]+) = ", table, re.M))
    assert "docs" in extras
    assert extras <= codes(page("reference.md"))


def test_measures():
    text = page("measures.md")
    assert set(ANSWER_KINDS) <= codes(page("answers.md"))
    assert all(f"### {kind}\n" in text for kind in KINDS)
    rows = {line for line in text.splitlines() if line.startswith("| [`")}
    assert len(rows) == len(KINDS)
    for alias, kind in _ALSO.items():
        assert any(row.startswith(f"| [`{kind}@k`]") and f"`{alias}`" in row for row in rows), alias


def test_keys_of_a_manifest():
    assert set(_ALLOWED) <= codes(page("answers.md").partition("## Gating")[0])


def test_keys_of_goldset_toml():
    rows = re.findall(r"^\| `(\w+)` \|", page("goldsets.md").partition("## goldset.toml")[2], re.M)
    assert set(_CHECKS) <= set(rows)


def test_keys_of_a_pin():
    assert {*_WRITTEN, *_EDITED} <= codes(page("gate.md"))


def test_verdicts():
    statuses = {value for name, value in vars(verdict).items() if name.isupper() and isinstance(value, str)}
    rows = set(re.findall(r"^\| \*\*(\w+)\*\* \|", page("gate.md"), re.M))
    assert rows == statuses - {verdict.DESCRIBED}


def test_every_page_is_in_the_map():
    pages = {path.name for path in DOCS.glob("*.md")} - {"index.md"}
    assert all(f"({name})" in page("index.md") for name in pages)
    tree = page("index.md").partition("```{toctree}")[2]
    assert {f"{name}.md" for name in re.findall(r"^\w+$", tree, re.M)} == pages


def test_links_between_pages_lead_somewhere():
    anchors = {}
    for path in DOCS.glob("*.md"):
        heads = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.M)
        anchors[path.name] = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
    for path in DOCS.glob("*.md"):
        for target in re.findall(r"\]\(([^)\s:]*)\)", path.read_text(encoding="utf-8")):
            name, _, anchor = target.partition("#")
            assert (name or path.name) in anchors, (path.name, target)
            assert not anchor or anchor in anchors[name or path.name], (path.name, target)
