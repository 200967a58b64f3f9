"""The questions of a sheet: its rows with one question are one query, and have to agree on it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, final

from pytest_retrieval.errors import Problem
from pytest_retrieval.files.columns import flag
from pytest_retrieval.files.near_ids import NearIds
from pytest_retrieval.files.sheet_columns import FLAGS, Columns
from pytest_retrieval.files.tables import Row, Table

__all__ = ["Asked", "asked_of", "shape_of"]

_SEPARATORS = re.compile(r"[|;\n]")
_HIGHEST = 1000
"""No scale of grades is longer; a larger number stands in the wrong column."""
_LONGEST_TEXT = 40


@final
@dataclass(slots=True)
class Asked:
    """One question.

    Attributes
    ----------
    line
        Of its first row.
    values
        Split, slices and flags, of those that a row fills.
    grades
        Document → grade.
    blank
        Whether no row names a document, not even in a way that cannot be read.
    rows
        How many rows of the sheet it stands in.
    """

    query_id: str
    text: str
    stratum: str
    line: int
    values: dict[str, Any] = field(default_factory=dict)
    grades: dict[str, int] = field(default_factory=dict)
    blank: bool = True
    rows: int = 0

    @property
    def relevant(self) -> list[str]:
        """The documents that answer it."""
        return [doc_id for doc_id, grade in self.grades.items() if grade > 0]

    @property
    def row(self) -> dict[str, Any]:
        """Its row of queries."""
        return {"query_id": self.query_id, "query": self.text, "stratum": self.stratum, **self.values}

    def __str__(self) -> str:
        short = self.text if len(self.text) <= _LONGEST_TEXT else self.text[: _LONGEST_TEXT - 1] + "…"
        return f"{self.query_id} “{' '.join(short.split())}”"


def shape_of(query: str) -> str:
    """Return a first stratum for a query of which nothing else is known.

    Exact identifiers, single words and longer questions are found, and lost, in different ways.

    Examples
    --------
    >>> shape_of("hinge HX-4420"), shape_of("chandelier"), shape_of("a lamp for the hall")
    ('digits', 'one_word', 'several_words')
    """
    words = query.split()
    if any(character.isdigit() for character in query):
        return "digits"
    return "one_word" if len(words) <= 1 else "several_words"


def asked_of(table: Table, columns: Columns, near: NearIds, problems: list[Problem]) -> list[Asked]:
    """Return the questions of a sheet in the order of their first rows; what is wrong goes to `problems`."""
    asked: dict[str, Asked] = {}
    for row in table.rows:
        found: list[str] = []
        text = _text(row, "question", columns.query, found)
        stratum = _text(row, "stratum", columns.stratum, found, numbers=True)
        key = _text(row, "query_id", columns.query_id, found, numbers=True) if columns.query_id else text
        if not found:
            query_id = key if columns.query_id else f"q{len(asked) + 1:03d}"
            new = Asked(query_id, text, stratum or shape_of(text), row.line)
            one = asked.setdefault(key, new)
            one.rows += 1
            if columns.query_id and one is new and _spaced(key):
                found.append(_spaced(key))
            found += _disagreements(one, new, key)
            found += _fill(one, row, columns, table, problems)
            found += _judge(one, row, columns, near)
        problems += (Problem(message, table.file, row.line) for message in found)
    return list(asked.values())


def _disagreements(one: Asked, new: Asked, key: str) -> list[str]:
    """Return what a later row of a question says otherwise than its first."""
    return [
        f"{what} {later!r} of {key!r} is {first!r} on line {one.line}; a query has one"
        for what, first, later in (("query", one.text, new.text), ("stratum", one.stratum, new.stratum))
        if first != later
    ]


def _fill(one: Asked, row: Row, columns: Columns, table: Table, problems: list[Problem]) -> list[str]:
    """Add what a row says beyond documents, and return where it contradicts a row further up."""
    found = []
    for name, column in columns.others.items():
        value = row.values.get(column)
        value = value.strip() if isinstance(value, str) else value
        if value is None or value == "":
            continue
        if name in FLAGS:
            before = len(problems)
            value = flag(Row(row.line, {name: value}), name, True, table, problems)
            if len(problems) > before:
                continue
        first = one.values.setdefault(name, value)
        if first != value:
            found.append(f"{name} {value!r} of {one} is {first!r} further up; a query has one")
    return found


def _judge(one: Asked, row: Row, columns: Columns, near: NearIds) -> list[str]:
    """Add the documents of a row, and return what is wrong with them."""
    found: list[str] = []
    ids = _ids(row, columns.relevant, near, found)
    one.blank &= not ids and not found
    grade = _grade(row, columns.grade, found)
    for doc_id in ids:
        if doc_id not in near:
            hint = near.hint(doc_id)
            message = f"document {doc_id!r} is not in the catalog of {len(near)} documents"
            found.append(f"{message}; {hint}" if hint else message)
        elif _spaced(doc_id):
            found.append(_spaced(doc_id))
        first = one.grades.setdefault(doc_id, grade)
        if first != grade:
            found.append(
                f"document {doc_id!r} has grade {grade} here and {first} for the same query further up"
            )
    return found


def _text(row: Row, what: str, column: str, found: list[str], *, numbers: bool = False) -> str:
    """Return the text of a cell without white space around it; what is none goes to `found`."""
    value = row.values.get(column) if column else ""
    if not column or (isinstance(value, str) and value.strip()):
        return str(value).strip()
    if numbers and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    empty = value is None or isinstance(value, str)
    shown = (
        "empty" if empty else f"{value!r}; a string is allowed" + (" or a whole number" if numbers else "")
    )
    found.append(f"the {what} in column {column!r} is {shown}")
    return ""


def _grade(row: Row, column: str, found: list[str]) -> int:
    value = row.values.get(column, 1) if column else 1
    try:
        number = float(value)
        if number == int(number) and abs(number) <= _HIGHEST:
            return int(number)
    except (TypeError, ValueError, OverflowError):
        pass
    found.append(f"grade {value!r} in column {column!r} is not a whole number from -{_HIGHEST} to {_HIGHEST}")
    return 0


def _ids(row: Row, column: str, near: NearIds, found: list[str]) -> list[str]:
    """Return the ids that one cell names; an id of the catalog may hold what otherwise separates ids."""
    cell = row.values.get(column)
    if isinstance(cell, str):
        whole = cell.strip()
        return (
            [whole] if whole in near else [part.strip() for part in _SEPARATORS.split(whole) if part.strip()]
        )
    values = cell if isinstance(cell, list) else [] if cell is None else [cell]
    wrong = [value for value in values if not isinstance(value, str | int | float) or isinstance(value, bool)]
    if wrong:
        found.append(
            f'column {column!r} holds {wrong[0]!r}; allowed are ids and lists of ids such as ["c1", "c2"];'
            " where documents have grades, each has a row of its own"
        )
        return []
    return [str(value).strip() for value in values]


def _spaced(name: str) -> str:
    """Return the message for an id that a TREC file cannot hold; empty for any other."""
    if not any(character.isspace() for character in name):
        return ""
    return f"id {name!r} has white space in it, which a TREC file cannot hold; replace it, say by '_'"
