"""Which column of a catalog or of a question sheet holds what: by its usual names, or as named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from pytest_retrieval.errors import FileError, Problem, listed
from pytest_retrieval.files.columns import near_misses
from pytest_retrieval.files.tables import Table

__all__ = ["FLAGS", "USUAL", "Columns", "column_of", "columns_of_sheet"]

_DOC_ID = ("doc_id", "_id", "id", "document_id", "chunk_id", "product_id", "sku")
_NEEDED = {
    "query": ("query", "question", "text", "user_query", "input"),
    "relevant": ("doc_ids", "relevant", "relevant_ids", "gold", "gold_ids", "doc_id", "chunk_id", "expected"),
}
_IF_THERE = {
    "query_id": ("query_id", "question_id", "qid", "_id", "id"),
    "stratum": ("stratum", "query_type", "type", "category", "topic"),
    "grade": ("grade", "relevance", "rating", "score"),
}
USUAL: Mapping[str, tuple[str, ...]] = {"doc_id": _DOC_ID, **_NEEDED, **_IF_THERE}
FLAGS = ("answerable", "synthetic", "must")
_OPTIONAL = ("split", "slices", *FLAGS)


@final
@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a question sheet.

    Attributes
    ----------
    query, relevant
        Needed.
    query_id, stratum, grade
        Empty where there is none.
    others
        ``split``, ``slices`` and the flags → the column that holds it, of those that are there.
    unused
        Columns that nothing is read from.
    """

    query: str
    relevant: str
    query_id: str
    stratum: str
    grade: str
    others: Mapping[str, str]
    unused: tuple[str, ...]


def columns_of_sheet(table: Table, named: Mapping[str, str], problems: list[Problem]) -> Columns:
    """Return the columns of a question sheet; unused ones that look like slips go to `problems`.

    Raises
    ------
    FileError
        One that is needed is not there.
    """
    found = {what: column_of(table, what, named) for what in _NEEDED}
    found |= {what: column_of(table, what, named, needed=False) for what in _IF_THERE}
    lower = _by_lower_name(table)
    others = {name: lower[name] for name in _OPTIONAL if name in lower and lower[name] not in found.values()}
    used = {*found.values(), *others.values()}
    known = [*_OPTIONAL, *(what for what in _IF_THERE if not found[what])]
    known = [name for name in known if name not in others] + sorted(used)
    problems += near_misses(table, known)
    problems += (
        Problem(
            f"columns {lower[column.strip().lower()]!r} and {column!r} differ in case or white space alone;"
            " rename or remove one",
            table.file,
        )
        for column in table.columns
        if column not in used and lower[column.strip().lower()] in used
    )
    unused = tuple(column for column in table.columns if column not in used)
    return Columns(**found, others=others, unused=unused)


def column_of(table: Table, what: str, named: Mapping[str, str], *, needed: bool = True) -> str:
    """Return the column that holds something; empty where there is none and none is needed.

    Raises
    ------
    FileError
        The column that was named, or one that is needed, is not there; or there is no row at all.
    """
    if not table.rows:
        below = "there is no row" if table.typed else "there is no row below the header"
        raise FileError(table.file, [Problem(below, table.file)])
    there = listed(table.columns, 20)
    if what in named:
        if named[what] in table.columns:
            return named[what]
        raise FileError(
            table.file, [Problem(f"there is no column {named[what]!r}; there are {there}", table.file)]
        )
    lower = _by_lower_name(table)
    for name in USUAL[what]:
        if name in lower:
            return lower[name]
    if not needed:
        return ""
    header = "" if table.typed else "the first line is read as the header; "
    problem = (
        f"no column holds the {what}; there are {there}; {header}usual names are {listed(USUAL[what])}; name"
        f" the right one: --column {what}=<column>"
    )
    raise FileError(table.file, [Problem(problem, table.file, None if table.typed else 1)])


def _by_lower_name(table: Table) -> dict[str, str]:
    """Return names without case and white space around them → the first column so named."""
    return {name.strip().lower(): name for name in reversed(table.columns)}
