"""Columns of a table: which there are, which were meant, and ids that everything else can rely on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_retrieval.errors import Problem, listed
from pytest_retrieval.files.tables import Row, Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["as_frame", "flag", "ids_of", "missing_columns", "near_misses", "renamed"]

_LIKENESS = 0.76  # strata/stratum is 0.77; answer/answerable, an ordinary column of its own, is 0.75


def renamed(table: Table, names: Mapping[str, str]) -> Table:
    """Return a table in which columns known by another name have ours, where ours is not taken."""
    new = {old: name for old, name in names.items() if old in table.columns and name not in table.columns}
    if not new:
        return table
    rows = (
        Row(row.line, {new.get(column, column): value for column, value in row.values.items()})
        for row in table.rows
    )
    columns = tuple(new.get(column, column) for column in table.columns)
    return replace(table, columns=columns, rows=tuple(rows))


def missing_columns(table: Table, needed: Sequence[str]) -> list[Problem]:
    """Return a problem for each column that has to be there and is not."""
    if not table.rows:
        return [] if table.problems else [Problem("holds no row", table.file)]
    return [
        Problem(f"has no column {name!r}; it has {listed(table.columns)}", table.file)
        for name in needed
        if name not in table.columns
    ]


def near_misses(table: Table, known: Collection[str]) -> list[Problem]:
    """Return a problem for each unknown column that is nearly a known one which is absent."""
    import difflib

    absent = [name for name in known if name not in table.columns]
    problems: list[Problem] = []
    for column in table.columns if absent else ():
        if column in known:
            continue
        near = difflib.get_close_matches(column.strip().lower(), absent, n=1, cutoff=_LIKENESS)
        if near:
            problems.append(
                Problem(f"column {column!r}: did you mean {near[0]!r}? Rename it to keep it", table.file)
            )
    return problems


def ids_of(table: Table, column: str, problems: list[Problem]) -> list[str | None]:
    """Return the id in a column of every row, None where there is no usable one.

    Ids that are whole numbers in every row become strings; a file that mixes both is refused.
    """
    values = [row.values.get(column) for row in table.rows]
    of_strings = [place for place, value in enumerate(values) if isinstance(value, str)]
    of_numbers = [place for place, value in enumerate(values) if _is_number(value)]
    few: list[int] = []
    if of_strings and of_numbers:
        few, many = sorted((of_strings, of_numbers), key=len)
        kinds = ("string", "number") if few is of_strings else ("number", "string")
        problems += (
            Problem(
                f"{column} {values[place]!r} is a {kinds[0]} while line {table.rows[many[0]].line} has a"
                f" {kinds[1]}; write every id as a string",
                table.file,
                table.rows[place].line,
            )
            for place in few
        )
    refused = set(few)
    return [
        None if place in refused else _id(row, column, values[place], table.file, problems)
        for place, row in enumerate(table.rows)
    ]


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _id(row: Row, column: str, value: object, file: str, problems: list[Problem]) -> str | None:
    if _is_number(value):
        return str(value)
    if isinstance(value, str) and value and value == value.strip():
        return value
    if value is None or (isinstance(value, str) and not value.strip()):
        message = f"{column} is empty; every row needs one"
    elif isinstance(value, str):
        message = f"{column} {value!r} has white space at its ends; remove it"
    else:
        message = f"{column} is {value!r}; ids are strings, or whole numbers in every row"
    problems.append(Problem(message, file, row.line))
    return None


def flag(row: Row, column: str, default: bool, table: Table, problems: list[Problem]) -> bool:
    """Return a column that is true or false; missing means the default."""
    value = row.values.get(column)
    if value is None or value == "":
        return default
    if isinstance(value, bool):
        return value
    words = {"true": True, "1": True, "false": False, "0": False}
    if not table.typed and value.strip().lower() in words:
        return words[value.strip().lower()]
    allowed = "true and false" if table.typed else "true, false, 1 and 0"
    problems.append(Problem(f"{column} is {value!r}; allowed are {allowed}", table.file, row.line))
    return default


def as_frame(
    index: Sequence[str], name: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> pd.DataFrame:
    """Return a DataFrame of objects that holds values as they are, indexed by id.

    Missing values are None; in a column whose other values are all strings they are "". Catalogs of shops
    have thousands of columns with few values each, so only the values that are there cost time.
    """
    import pandas as pd

    place = {column: number for number, column in enumerate(columns)}
    known = [
        (place[column], number, value)
        for number, row in enumerate(rows)
        for column, value in row.items()
        if value is not None and column in place
    ]
    cells = np.full((len(columns), len(index)), "", dtype=object)
    cells[sorted({column for column, _, value in known if not isinstance(value, str)})] = None
    for column, number, value in known:
        cells[column, number] = value
    ids = pd.Index(list(index), dtype=object, name=name)
    return pd.DataFrame(cells.T, index=ids, columns=list(columns), dtype=object, copy=False)
