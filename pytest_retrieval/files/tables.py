"""Rows of a table in any of the suffixes a gold set may use: JSON lines, CSV, TSV, Parquet.

Values come as the file holds them: JSON and Parquet have types, the cells of CSV and TSV are strings. What
the columns mean is decided elsewhere; here a file is only taken apart, and every line that cannot be is
named.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final

from pytest_retrieval.errors import FileError, MissingExtraError, Problem, counted, listed
from pytest_retrieval.files.content import Line, Unreadable, label_of, lines_of, read_bytes
from pytest_retrieval.files.encoding import IN_A_SPREADSHEET
from pytest_retrieval.files.json_lines import NoJson, value_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SUFFIXES", "Row", "Table", "read_rows", "read_table", "table_of_frame"]

SUFFIXES = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")

_LONGEST_CELL = 2**31 - 1
_WORKBOOKS = (".xlsx", ".xls", ".ods", ".numbers")
_SEPARATORS = (",", ";", "\t", "|")


class Row(NamedTuple):
    """One row: where it begins in the file, and column → value."""

    line: int
    values: dict[str, Any]


@final
@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a file.

    Attributes
    ----------
    file
        The file as messages show it.
    columns
        Every column that a row has, in order of first appearance.
    rows
        In the order of the file.
    typed
        Whether values have types; in CSV and TSV every value is a string.
    problems
        Lines that are no rows; a table with problems lacks them.
    """

    file: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    typed: bool
    problems: tuple[Problem, ...] = ()


def read_rows(path: str | os.PathLike[str]) -> list[Row]:
    r"""Read the rows of a table with their line numbers.

    Parameters
    ----------
    path
        ``.jsonl``, ``.csv`` or ``.tsv``, each also with ``.gz``, or ``.parquet``; text is UTF-8. CSV and TSV
        have a header and quote cells as CSV does. Rows of Parquet are numbered from 1.

    Returns
    -------
    list of Row

    Raises
    ------
    FileError
        With every problem of the file and its line.
    MissingExtraError
        Parquet needs pyarrow, which the extra ``parquet`` brings.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "queries.csv")
    >>> _ = path.write_text("query_id,query\nq1,blue sofa\n")
    >>> read_rows(path)
    [Row(line=2, values={'query_id': 'q1', 'query': 'blue sofa'})]
    """
    table = read_table(Path(path))
    if table.problems:
        raise FileError(f"table {table.file}", table.problems)
    return list(table.rows)


def read_table(path: Path) -> Table:
    """Return the rows of a file that can be read, and the problems of those that cannot."""
    label = label_of(path)
    suffix = "".join(path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:])
    if suffix not in SUFFIXES:
        more = f"; {IN_A_SPREADSHEET}" if suffix.lower() in _WORKBOOKS else ""
        problem = Problem(f"has the suffix {suffix!r}; allowed are {', '.join(SUFFIXES)}{more}", label)
        return Table(label, (), (), True, (problem,))
    try:
        if suffix == ".parquet":
            return _parquet(path, label)
        data = read_bytes(path, label)
    except Unreadable as error:
        return Table(label, (), (), True, (error.problem,))
    lines, problems = lines_of(data, label)
    if suffix.startswith(".jsonl"):
        return _json_lines(lines, label, problems)
    if problems:
        return Table(label, (), (), False, tuple(problems))
    return _cells(data.decode(), label, "\t" if suffix.startswith(".tsv") else ",")


def table_of_frame(frame: pd.DataFrame, label: str) -> Table:
    """Return the rows of a DataFrame, numbered by position from 0; missing values become None.

    An index with a name is a column of that name.
    """
    if frame.index.name is not None and frame.index.name not in frame.columns:
        frame = frame.reset_index()
    columns = tuple(map(str, frame.columns))
    series = [[_plain(value) for value in frame.iloc[:, number].tolist()] for number in range(len(columns))]
    rows = (dict(zip(columns, values, strict=True)) for values in zip(*series, strict=True))
    return Table(label, columns, tuple(Row(number, values) for number, values in enumerate(rows)), True)


def _plain(value: Any) -> Any:
    """Return a value of a DataFrame as JSON would hold it: NaN and NaT are None, scalars are Python's."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple | dict | str):
        return value
    is_na = type(value).__name__ == "NAType"  # which compares to neither true nor false
    return None if value is None or is_na or value != value else value


def _parquet(path: Path, label: str) -> Table:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise MissingExtraError(
            f"{label}: Parquet files need pyarrow: pip install 'pytest-retrieval[parquet]'"
        ) from None
    if not path.is_file():
        raise Unreadable(Problem("no such file", label))
    try:
        read = parquet.read_table(path)
    except (ArrowException, OSError) as error:
        raise Unreadable(Problem(f"is no readable Parquet file: {error}", label)) from None
    rows = tuple(Row(number, values) for number, values in enumerate(read.to_pylist(), start=1))
    return Table(label, tuple(read.column_names), rows, True)


def _json_lines(lines: list[Line], label: str, problems: list[Problem]) -> Table:
    columns: dict[str, None] = {}
    rows: list[Row] = []
    if len(lines) > 1 and lines[0].text.strip() in ("{", "[", "[{"):
        message = "is JSON over several lines; JSON lines hold one object a line, such as jq -c writes them"
        return Table(label, (), (), True, (Problem(message, label, lines[0].number),))
    for number, text in lines:
        try:
            values = _json_object(text)
        except NoJson as error:
            problems.append(Problem(str(error), label, number))
            continue
        columns.update(dict.fromkeys(values))
        rows.append(Row(number, values))
    problems.sort(key=lambda problem: problem.line or 0)
    return Table(label, tuple(columns), tuple(rows), True, tuple(problems))


def _json_object(text: str) -> dict[str, Any]:
    values = value_of(text)
    if not isinstance(values, dict):
        raise NoJson(f'is a JSON {_kind(values)}; each line is one object such as {{"query_id": …}}')
    if "\\u" in text:
        try:
            json.dumps(values, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise NoJson("holds half of a surrogate pair, which is no text") from None
    return values


def _kind(value: object) -> str:
    kinds = {list: "list", str: "string", bool: "boolean", type(None): "null"}
    return kinds.get(type(value), "number")


def _cells(text: str, label: str, delimiter: str) -> Table:
    problems: list[Problem] = []
    records: list[tuple[int, list[str]]] = []
    header: list[str] | None = None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begun = 1
    with _long_cells():
        try:
            for begun, end, cells in _numbered(reader):
                if header is None:
                    header = cells
                    apart = _apart(header, delimiter, label, begun)
                    if apart is not None:
                        return Table(label, (), (), False, (apart,))
                    problems += _header_problems(header, label, begun)
                elif len(cells) != len(header):
                    problems.append(Problem(_wrong_count(cells, header, delimiter), label, begun))
                else:
                    records.append((begun, cells))
                begun = end + 1
        except csv.Error as error:
            problems.append(_torn(error, label, begun, reader.line_num))
    named = [place for place, name in enumerate(header or ()) if name.strip()]
    problems += _nameless(header or [], records, label)
    problems.sort(key=lambda problem: problem.line or 0)
    columns = [(header or [])[place] for place in named]
    rows = (
        Row(number, {name: cells[place] for name, place in zip(columns, named, strict=True)})
        for number, cells in records
    )
    return Table(label, tuple(columns), tuple(rows), False, tuple(problems))


def _numbered(reader: Any) -> Iterator[tuple[int, int, list[str]]]:
    """Yield each record that is not blank with its first line and its last; a quoted cell may span lines.

    A record of empty cells is blank too: spreadsheets leave such rows below a table.
    """
    before = 0
    for cells in reader:
        if any(cell.strip() for cell in cells):
            yield before + 1, reader.line_num, cells
        before = reader.line_num


def _apart(header: list[str], delimiter: str, label: str, line: int) -> Problem | None:
    """Return the problem of a header that another sign separates into columns, or that is none."""
    if header[0].strip().lower().startswith("sep="):
        return Problem(f"{header[0]!r} is a note to Excel and no header; remove the line", label, line)
    if len(header) > 1 or not any(sign in header[0] for sign in _SEPARATORS if sign != delimiter):
        return None
    right = "tabs, or with commas in a .csv" if delimiter == "\t" else "commas, or with tabs in a .tsv"
    return Problem(f"the only column is {header[0]!r}: separate columns with {right}", label, line)


def _wrong_count(cells: list[str], header: list[str], delimiter: str) -> str:
    message = f"has {counted(len(cells), 'cell', 'cells')} where the header has {len(header)}"
    if len(cells) > len(header) and delimiter == ",":
        return f"{message}; put a cell that holds a comma in double quotes"
    return message


def _torn(error: csv.Error, label: str, begun: int, line: int) -> Problem:
    """Return the problem of a file whose quotes do not pair."""
    if "unexpected end of data" in str(error):
        message = (
            "a cell of this row opens a double quote that never closes; a quote in a cell is written twice"
        )
        return Problem(message, label, begun)
    return Problem(
        f"cannot be taken apart: {error}; within double quotes a quote is written twice", label, line
    )


def _header_problems(header: list[str], label: str, line: int) -> list[Problem]:
    twice = sorted({name for name in header if name.strip() and header.count(name) > 1})
    if not twice:
        return []
    return [Problem(f"the header names a column twice: {listed(map(repr, twice))}", label, line)]


def _nameless(header: list[str], records: list[tuple[int, list[str]]], label: str) -> list[Problem]:
    """Return a problem for columns that hold something and have no name; empty ones are no columns."""
    nameless = [place for place, name in enumerate(header) if not name.strip()]
    filled = {
        place: number
        for number, cells in reversed(records)
        for place in nameless
        if cells[place].strip()
    }  # fmt: skip
    if not filled:
        return []
    places = listed(place + 1 for place in sorted(filled))
    message = f"the header has no name for column {places}, which this row fills; name it or clear it"
    return [Problem(message, label, min(filled.values()))]


@contextmanager
def _long_cells() -> Iterator[None]:
    """Lift the csv module's limit of 131,072 characters a cell: catalogs hold long documents."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)
