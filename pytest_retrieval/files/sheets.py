"""A question sheet: what a team has before it has a gold set.

One row per question, with the ids of the documents that answer it in one cell, or one row per question and
document. Columns are found by their usual names. Nothing of a sheet is left out without a note.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_retrieval.errors import FileError, GoldSetError, Problem, counted, listed
from pytest_retrieval.files.asked import Asked, asked_of, shape_of
from pytest_retrieval.files.content import label_of
from pytest_retrieval.files.goldset import goldset_from_tables
from pytest_retrieval.files.near_ids import NearIds
from pytest_retrieval.files.settings import RESERVED_SPLIT, settings_from
from pytest_retrieval.files.sheet_columns import Columns, column_of, columns_of_sheet
from pytest_retrieval.files.splits import misspelt_messages
from pytest_retrieval.files.tables import Row, Table, read_table
from pytest_retrieval.gate.cells import slug_faults
from pytest_retrieval.model.goldset import GoldSet

__all__ = ["goldset_of_sheet", "shape_of", "wordless"]

_RARE = 0.02
"""Share of questions without a document up to which cells were more likely forgotten than left blank."""


def goldset_of_sheet(
    catalog: str | os.PathLike[str],
    sheet: str | os.PathLike[str],
    name: str,
    *,
    columns: Mapping[str, str] | None = None,
    splits: Sequence[str] = (),
    gate_splits: Sequence[str] = (),
    notes: list[str] | None = None,
) -> GoldSet:
    """Make a gold set of a catalog and a question sheet.

    Parameters
    ----------
    catalog
        One document a row: an id and any fields (``.jsonl``, ``.csv``, ``.tsv``, ``.parquet``).
    sheet
        Questions in the same suffixes. The ids of a question's documents stand in one cell, separated by
        ``|`` or ``;``, or in a JSON list, or in several rows. An empty cell means that nothing answers it,
        unless hardly any question has one.
    name
        Of the gold set.
    columns
        ``query``, ``query_id``, ``relevant``, ``stratum``, ``grade`` or ``doc_id`` → the column that holds
        it, where its name is not one that is known.
    splits
        The splits that are meant, where a name looks like a slip of another; no other is allowed then.
    gate_splits
        Those that are gated; all but ``test`` by default.
    notes
        What was understood that the sheet does not say in so many words is added here.

    Returns
    -------
    GoldSet
        With the stratum of the sheet, or else each query's shape (`shape_of`).

    Raises
    ------
    FileError
        A file cannot be read or lacks a column.
    GoldSetError
        What they hold makes no gold set.
    """
    named = dict(columns or {})
    documents, questions = _tables(catalog, sheet)
    of_id = column_of(documents, "doc_id", named)
    problems: list[Problem] = []
    known = _catalog_ids(documents, of_id, problems)
    items = [{"doc_id": doc_id, **_without(documents.rows[place].values, of_id)} for doc_id, place in known]
    problems += wordless(items, documents.file)
    found = columns_of_sheet(questions, named, problems)
    asked = asked_of(questions, found, NearIds(doc_id for doc_id, _ in known), problems)
    told = _answerable(asked, found, questions.file, problems)
    settings: dict[str, Any] = _splits(asked, splits, gate_splits, questions.file, problems)
    strata = {one.stratum: one.line for one in reversed(asked)}
    for fault in slug_faults(dict.fromkeys(one.stratum for one in asked)):
        last = max(line for stratum, line in strata.items() if repr(stratum) in fault)
        problems.append(Problem(fault, questions.file, last))
    if not problems and not any(one.relevant for one in asked):
        message = f"no question has a document that answers it in column {found.relevant!r}"
        problems.append(Problem(f"{message}, so nothing could be gated", questions.file))
    if problems:
        problems.sort(key=lambda problem: (problem.file != documents.file, problem.line or 0))
        raise GoldSetError(f"gold set {name!r}", problems)
    told += _joined(asked, questions.file)
    if found.unused:
        told.append(f"{questions.file}: nothing is read from {listed(map(repr, found.unused))}")
    judged = [
        Row(one.line, {"query_id": one.query_id, "doc_id": doc_id, "grade": grade})
        for one in asked
        for doc_id, grade in one.grades.items()
    ]
    highest = max(row.values["grade"] for row in judged)
    if highest > 1:
        settings["relevance_level"] = 1
        told.append(f"grades go up to {highest}, and documents are relevant from grade 1 on: relevance_level")
    if notes is not None:
        notes += told
    provenance = f"Questions from {Path(sheet).name}."
    return goldset_from_tables(
        settings_from({"name": name, "provenance": provenance, **settings}, questions.file),
        _table(questions.file, [Row(one.line, one.row) for one in asked]),
        _table(questions.file, judged),
        _table(
            documents.file, [Row(row.line, item) for row, item in zip(documents.rows, items, strict=True)]
        ),
    )


def _table(file: str, rows: Sequence[Row]) -> Table:
    """Return rows as a table of typed values."""
    columns = dict.fromkeys(column for row in rows for column in row.values)
    return Table(file, tuple(columns), tuple(rows), True)


def wordless(items: Sequence[Mapping[str, Any]], file: str) -> list[Problem]:
    """Return a problem where no document of a catalog says anything that a search could find."""
    if any(str(value).strip() for item in items for key, value in item.items() if key != "doc_id" and value):
        return []
    return [Problem("no document has a text beside its id, so no search could find any", file)]


def _tables(catalog: str | os.PathLike[str], sheet: str | os.PathLike[str]) -> tuple[Table, Table]:
    """Return the tables of both files.

    Raises
    ------
    FileError
        With every problem of either, or where both are the same file.
    """
    if os.path.exists(catalog) and os.path.exists(sheet) and os.path.samefile(catalog, sheet):
        message = (
            "is given as catalog and as question sheet, so documents would be asked for by their own text"
        )
        raise FileError(label_of(catalog), [Problem(f"{message}; name two files", label_of(catalog))])
    documents, questions = read_table(Path(catalog)), read_table(Path(sheet))
    broken = [table for table in (documents, questions) if table.problems]
    if broken:
        what = " and ".join(table.file for table in broken)
        raise FileError(what, [problem for table in broken for problem in table.problems])
    return documents, questions


def _catalog_ids(table: Table, column: str, problems: list[Problem]) -> list[tuple[str, int]]:
    """Return the ids of a catalog's documents, each with the place of its row."""
    if column != "doc_id" and "doc_id" in table.columns:
        message = f"has a column 'doc_id' beside {column!r}, which holds the id; rename or remove it"
        problems.append(Problem(message, table.file))
    lines: dict[str, int] = {}
    ids = []
    for place, row in enumerate(table.rows):
        value = row.values.get(column)
        name = "" if value is None else str(value).strip()
        if not isinstance(value, str | int | None) or isinstance(value, bool):
            message = f"the id in column {column!r} is {value!r}; ids are strings, or whole numbers"
        elif not name:
            message = f"the id in column {column!r} is empty"
        elif name in lines:
            message = f"id {name!r} is taken by line {lines[name]}; ids are unique"
        else:
            lines[name] = row.line
            ids.append((name, place))
            continue
        problems.append(Problem(message, table.file, row.line))
    return ids


def _joined(asked: Sequence[Asked], file: str) -> list[str]:
    """Return which questions stand in several rows."""
    several = [f"{one} ({one.rows} rows)" for one in asked if one.rows > 1]
    if not several:
        return []
    stand = counted(len(several), "question stands", "questions stand")
    return [f"{file}: {stand} in several rows, whose documents are joined: {listed(several, 3)}"]


def _answerable(asked: Sequence[Asked], columns: Columns, file: str, problems: list[Problem]) -> list[str]:
    """Set who is answerable where the sheet does not say so; return what to tell of them."""
    where = f"in column {columns.relevant!r}"
    stated = any("answerable" in one.values for one in asked)
    blank: list[Asked] = []
    judged: list[Asked] = []
    for one in asked:
        if not one.grades and not one.blank:
            continue  # its documents could not be read, which is told already
        says = one.values.setdefault("answerable", bool(one.relevant) or None)
        message = ""
        if says is True and not one.relevant:
            message = f"is answerable and has no document {where} that answers it; name one, or write false"
        elif says is False and one.relevant:
            message = (
                f"is not answerable but has documents {where}: {listed(one.relevant)}; clear one of them"
            )
        elif says is None and stated:
            message = (
                f"has no document {where} and nothing in column {columns.others['answerable']!r}, which"
                " others fill; name a document, or write false"
            )
        elif says is None:
            one.values["answerable"] = False
            (judged if one.grades else blank).append(one)
        if message:
            problems.append(Problem(f"{one} {message}", file, one.line))
    alone = _alone(blank, asked, columns)
    if blank and len(blank) <= _RARE * len(asked) and alone:
        problems += (
            Problem(
                f"{one} has no document {where}, which {len(blank)} of {len(asked)} questions lack; name one,"
                " or say false in a column 'answerable' if nothing answers it",
                file,
                one.line,
            )
            for one in alone
        )
    kinds = ((blank, f"a blank cell {where}"), (judged, "documents of grade 0 only"))
    wrong = "taken for unanswerable (say which documents answer them where that is wrong)"
    return [
        f"{file}: {counted(len(ones), 'question', 'questions')} of {len(asked)} with {what} {wrong}:"
        f" {listed((f'{one} (line {one.line})' for one in ones), 3)}"
        for ones, what in kinds
        if ones
    ]


def _alone(blank: Sequence[Asked], asked: Sequence[Asked], columns: Columns) -> list[Asked]:
    """Return the blank questions whose stratum, if the sheet has a column of strata, is not all blank."""
    answered = {one.stratum for one in asked if one.grades}
    return [one for one in blank if not columns.stratum or one.stratum in answered]


def _splits(
    asked: Sequence[Asked],
    splits: Sequence[str],
    gate_splits: Sequence[str],
    file: str,
    problems: list[Problem],
) -> dict[str, Any]:
    """Return the keys of goldset.toml on splits; a name that looks like a slip is a problem."""
    lines = {one.query_id: one.line for one in asked}
    split_of = {
        one.query_id: one.values["split"] for one in asked if isinstance(one.values.get("split"), str)
    }  # fmt: skip
    every = sorted(set(split_of.values()))
    if not every:
        problems += (
            Problem(f"{option} is given, but there is no column 'split'", file)
            for option, names in (("--split", splits), ("--gate-split", gate_splits))
            if names
        )
        return {}
    if not splits:
        meant = "name every split: " + " ".join(f"--split {split}" for split in every)
        messages = misspelt_messages(split_of, meant)
        problems += (Problem(message, file, lines[query_id]) for query_id, message in messages.items())
    if every == [RESERVED_SPLIT] and not gate_splits:
        message = (
            f"every question is in the split {RESERVED_SPLIT!r}, which is not gated unless asked for, so"
            f" nothing would be gated; add --gate-split {RESERVED_SPLIT} if that is meant"
        )
        problems.append(Problem(message, file))
    return {
        "splits": list(splits) or every,
        **({"gate_splits": list(gate_splits)} if gate_splits else {}),
    }


def _without(values: Mapping[str, Any], column: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != column}
