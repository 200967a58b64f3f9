"""The command ``pytest-retrieval``: what helps outside a test session."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_retrieval.errors import RetrievalError, counted, listed
from pytest_retrieval.record.commands import record

if TYPE_CHECKING:
    from pytest_retrieval.model.goldset import GoldSet

__all__ = ["main"]

CONFTEST = '''\
"""What is under test: put your own search beside BM25, or in its place."""

import pytest

from pytest_retrieval import BM25


@pytest.fixture(scope="session")
def retrievers(catalog):
    return {"bm25": BM25(catalog)}  # name -> callable(query, k)
'''

TEST = '''\
"""One test per kind of query: it fails when retrieval gets worse for that kind."""

import pytest


@pytest.mark.goldset("{name}")
def test_pinned(gate):
    gate.check()
'''

NEXT = """
next:
  pytest --retrieval-pin=new    pins what BM25 finds today
  pytest                        fails when one kind of query gets worse"""

ATTRIBUTES = "*/pins/*.jsonl linguist-generated=true\n"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pytest-retrieval")
def main() -> None:
    """Retrieval quality, gated per kind of query, with pytest."""


main.add_command(record)


@main.command()
@click.argument("name")
@click.option("--catalog", type=click.Path(exists=True, dir_okay=False), help="Documents, one a row.")
@click.option("--questions", type=click.Path(exists=True, dir_okay=False), help="The question sheet.")
@click.option("--beir", type=click.Path(exists=True, file_okay=False), help="A BEIR folder, in their place.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="WHAT=COLUMN",
    help="Which column holds query, query_id, relevant, stratum, grade or doc_id.",
)
@click.option(
    "--split",
    "splits",
    multiple=True,
    metavar="NAME",
    help="A split that is meant, where its name looks like a slip; give every split.",
)
@click.option(
    "--gate-split",
    "gate_splits",
    multiple=True,
    metavar="NAME",
    help="A split that is gated; all but 'test' by default.",
)
@click.option(
    "--measure", default="recall@5", show_default=True, help="The primary measure of every stratum."
)
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="The project's folder; this one by default.",
)
def init(
    name: str,
    catalog: str | None,
    questions: str | None,
    beir: str | None,
    columns: tuple[str, ...],
    splits: tuple[str, ...],
    gate_splits: tuple[str, ...],
    measure: str,
    into: Path,
) -> None:
    """Make gold set NAME of a catalog and a question sheet, or of a BEIR folder.

    Writes goldsets/NAME, a conftest.py with BM25 and a gate test. Nothing that exists is overwritten.
    """
    from pytest_retrieval.files.saving import write_new
    from pytest_retrieval.files.settings import FILE_NAMING
    from pytest_retrieval.measures.notation import parse

    if not FILE_NAMING.fullmatch(name):
        raise click.UsageError(
            f"a gold set cannot be named {name!r}: it names a folder; letters, digits, - _ and . make it"
        )
    of_splits = {"splits": tuple(dict.fromkeys(splits)), "gate_splits": tuple(dict.fromkeys(gate_splits))}
    notes: list[str] = []
    try:
        primary = parse(measure).name
        goldset = _made(name, catalog, questions, beir, _pairs(columns), of_splits, notes)
        texts = _texts(goldset, primary, into, notes)
        write_new(texts, into / "goldsets" / name)
    except RetrievalError as error:
        raise click.ClickException(str(error)) from error
    for path in texts:
        click.echo(f"wrote {path}")
    for note in notes:
        click.echo(note)
    click.echo(NEXT)


@main.command()
@click.argument("goldset", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--changed",
    type=click.FloatRange(0, 1),
    default=0.3,
    show_default=True,
    metavar="SHARE",
    help="Share of the queries assumed to change between two systems.",
)
def check(goldset: Path, changed: float) -> None:
    """Read gold set GOLDSET, a folder, and say what its gate and its plan could show at all.

    Exits with 1, and every problem, where the gold set, its pins or its plan cannot be read.
    """
    from pytest_retrieval.files.feasibility import feasibility_of
    from pytest_retrieval.report.feasibility import lines_of

    try:
        found = feasibility_of(goldset, changed)
    except RetrievalError as error:
        raise click.ClickException(str(error)) from error
    for line in lines_of(found):
        click.echo(line)


def _made(
    name: str,
    catalog: str | None,
    questions: str | None,
    beir: str | None,
    columns: dict[str, str],
    of_splits: dict[str, tuple[str, ...]],
    notes: list[str],
) -> GoldSet:
    """Return the gold set that `init` makes; what to tell about it goes to `notes`."""
    from pytest_retrieval.errors import GoldSetError
    from pytest_retrieval.files.beir import goldset_of_beir
    from pytest_retrieval.files.saving import problems_of_ids
    from pytest_retrieval.files.sheets import goldset_of_sheet

    if beir is not None and not (catalog or questions):
        if columns:
            raise click.UsageError("--column is for a question sheet; the columns of a BEIR folder are known")
        goldset = goldset_of_beir(beir, name, notes=notes, **of_splits)
    elif catalog and questions and beir is None:
        goldset = goldset_of_sheet(catalog, questions, name, columns=columns, notes=notes, **of_splits)
    else:
        raise click.UsageError("give --catalog and --questions, or --beir alone")
    problems = problems_of_ids(goldset, str(beir or questions))
    if problems:
        raise GoldSetError(f"gold set {name!r}", problems)
    return goldset


def _texts(goldset: GoldSet, measure: str, into: Path, notes: list[str]) -> dict[Path, str]:
    """Return path → text of everything that `init` writes; what to tell about it goes to `notes`."""
    from pytest_retrieval.files.saving import texts_of_goldset

    name = goldset.name
    folder = into / "goldsets" / name
    texts = {folder / file: text for file, text in texts_of_goldset(goldset, {"bm25": [measure]}).items()}
    texts[into / "tests" / f"test_{re.sub(r'[-.]', '_', name)}.py"] = TEST.format(name=name)
    conftest = into / "conftest.py"
    if conftest.exists():
        notes.append(f"{conftest} exists; it needs the fixture `retrievers`:\n\n{CONFTEST}")
    else:
        texts[conftest] = CONFTEST
    attributes = into / "goldsets" / ".gitattributes"
    if not attributes.exists():
        texts[attributes] = ATTRIBUTES
    notes += _found(goldset)
    return texts


def _found(goldset: GoldSet) -> list[str]:
    """Return the strata and the splits of a gold set, each with its number of queries."""
    strata = Counter((goldset.qrels.strata or {}).values())
    splits = Counter((goldset.qrels.splits or {}).values())
    queries = counted(len(goldset.queries), "query", "queries")
    names = listed((f"{name} ({count})" for name, count in sorted(strata.items())), 20)
    lines = [f"{queries} in {counted(len(strata), 'stratum', 'strata')}: {names}"]
    if splits:
        gated = goldset.gate_splits or ()
        names = ", ".join(
            f"{name} ({count}, {'gated' if name in gated else 'not gated'})"
            for name, count in sorted(splits.items())
        )
        lines.append(f"{counted(len(splits), 'split', 'splits')}: {names}")
    return lines


def _pairs(columns: tuple[str, ...]) -> dict[str, str]:
    """Return WHAT=COLUMN options as a mapping."""
    allowed = ("query", "query_id", "relevant", "stratum", "grade", "doc_id")
    found: dict[str, str] = {}
    for column in columns:
        what, sign, name = column.partition("=")
        if not sign or what not in allowed or not name:
            raise click.UsageError(
                f"--column {column}: write WHAT=COLUMN, where WHAT is {', '.join(allowed)}"
            )
        if found.get(what, name) != name:
            raise click.UsageError(f"--column {what} is given as {found[what]!r} and as {name!r}; keep one")
        found[what] = name
    return found
