"""The command ``pytest-retrieval``: what helps outside a test session."""

from __future__ import annotations

import re
from pathlib import Path

import click

from pytest_retrieval.errors import RetrievalError, counted
from pytest_retrieval.record.commands import record

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
    try:
        texts, notes = _texts(name, catalog, questions, beir, _pairs(columns), parse(measure).name, into)
        write_new(texts)
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


def _texts(
    name: str,
    catalog: str | None,
    questions: str | None,
    beir: str | None,
    columns: dict[str, str],
    measure: str,
    into: Path,
) -> tuple[dict[Path, str], list[str]]:
    """Return path → text of everything that `init` writes, and what to tell about it."""
    from pytest_retrieval.errors import GoldSetError
    from pytest_retrieval.files.saving import problems_of_ids, texts_of_goldset
    from pytest_retrieval.files.sheets import goldset_of_beir, goldset_of_sheet

    if beir is not None and not (catalog or questions):
        goldset = goldset_of_beir(beir, name)
    elif catalog and questions and beir is None:
        goldset = goldset_of_sheet(catalog, questions, name, columns=columns)
    else:
        raise click.UsageError("give --catalog and --questions, or --beir alone")
    problems = problems_of_ids(goldset, str(beir or questions))
    if problems:
        raise GoldSetError(f"gold set {name!r}", problems)
    folder = into / "goldsets" / name
    texts = {folder / file: text for file, text in texts_of_goldset(goldset, {"bm25": [measure]}).items()}
    texts[into / "tests" / f"test_{re.sub(r'[-.]', '_', name)}.py"] = TEST.format(name=name)
    notes = []
    conftest = into / "conftest.py"
    if conftest.exists():
        notes.append(f"{conftest} exists; it needs the fixture `retrievers`:\n\n{CONFTEST}")
    else:
        texts[conftest] = CONFTEST
    attributes = into / "goldsets" / ".gitattributes"
    if not attributes.exists():
        texts[attributes] = ATTRIBUTES
    strata = sorted(set((goldset.qrels.strata or {}).values()))
    queries = counted(len(goldset.queries), "query", "queries")
    notes.append(f"{queries} in {counted(len(strata), 'stratum', 'strata')}: {', '.join(strata)}")
    return texts, notes


def _pairs(columns: tuple[str, ...]) -> dict[str, str]:
    """Return WHAT=COLUMN options as a mapping."""
    allowed = ("query", "query_id", "relevant", "stratum", "grade", "doc_id")
    found = {}
    for column in columns:
        what, sign, name = column.partition("=")
        if not sign or what not in allowed or not name:
            raise click.UsageError(
                f"--column {column}: write WHAT=COLUMN, where WHAT is {', '.join(allowed)}"
            )
        found[what] = name
    return found
