"""A question sheet: what a team has before it has a gold set.

One row per question, with the ids of the documents that answer it in one cell, or one row per question and
document. Columns are found by their usual names.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_retrieval.errors import FileError, GoldSetError, Problem, RetrievalWarning, listed
from pytest_retrieval.files.goldset import goldset_from_frames, load_goldset
from pytest_retrieval.files.tables import Row, read_rows
from pytest_retrieval.gate.cells import slug_faults
from pytest_retrieval.model import GoldSet

__all__ = ["goldset_of_beir", "goldset_of_sheet", "shape_of"]

_QUERY = ("query", "question", "text", "user_query", "input")
_QUERY_ID = ("query_id", "question_id", "qid", "_id", "id")
_RELEVANT = ("doc_ids", "relevant", "relevant_ids", "gold", "gold_ids", "doc_id", "chunk_id", "expected")
_STRATUM = ("stratum", "query_type", "type", "category", "topic")
_GRADE = ("grade", "relevance", "rating", "score")
_DOC_ID = ("doc_id", "_id", "id", "document_id", "chunk_id", "product_id", "sku")
_FLAGS = ("answerable", "synthetic", "must")
_OPTIONAL = ("split", "slices", *_FLAGS)
_SEPARATORS = re.compile(r"[|;\n]")
_OTHER_SEPARATORS = (";", "\t", "|")
_HIGHEST = 1000
"""No scale of grades is longer; a larger number stands in the wrong column."""
_LINE = "line of the sheet"


def goldset_of_sheet(
    catalog: str | os.PathLike[str],
    sheet: str | os.PathLike[str],
    name: str,
    *,
    columns: Mapping[str, str] | None = None,
) -> GoldSet:
    """Make a gold set of a catalog and a question sheet.

    Parameters
    ----------
    catalog
        One document a row: an id and any fields (``.jsonl``, ``.csv``, ``.tsv``, ``.parquet``).
    sheet
        Questions in the same suffixes. The ids of a question's documents stand in one cell, separated by
        ``|`` or ``;``, or in a JSON list, or in several rows. An empty cell means that nothing answers it.
    name
        Of the gold set.
    columns
        ``query``, ``query_id``, ``relevant``, ``stratum``, ``grade`` or ``doc_id`` → the column that holds
        it, where its name is not one that is known.

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
    import pandas as pd

    named = dict(columns or {})
    documents, questions = read_rows(catalog), read_rows(sheet)
    of_id = _column(documents, "doc_id", _DOC_ID, named, catalog)
    problems: list[Problem] = []
    known = _catalog_ids(documents, of_id, catalog, problems)
    items = [{"doc_id": _id(row, of_id), **_without(row.values, of_id)} for row in documents]
    problems += _wordless(items, str(catalog))
    queries, judgments = _questions(questions, named, sheet, known, problems)
    if problems:
        raise GoldSetError(f"gold set {name!r}", problems)
    places = {
        "queries.iloc": (str(sheet), [query.pop(_LINE) for query in queries]),
        "qrels.iloc": (str(sheet), [judgment.pop(_LINE) for judgment in judgments]),
        "catalog.iloc": (str(catalog), [row.line for row in documents]),
    }
    settings: dict[str, Any] = {"provenance": f"Questions from {Path(sheet).name}."}
    grades = {judgment["grade"] for judgment in judgments}
    if max(grades, default=0) > 1:
        settings["relevance_level"] = 1
    try:
        return goldset_from_frames(
            name, pd.DataFrame(queries), pd.DataFrame(judgments), pd.DataFrame(items), **settings
        )
    except GoldSetError as error:
        raise GoldSetError(error.what, [_placed(p, places, str(sheet)) for p in error.problems]) from None


def _placed(problem: Problem, places: Mapping[str, tuple[str, Sequence[int]]], other: str) -> Problem:
    """Return a problem of a DataFrame's row as one of the line that the row came from."""
    file, lines = places.get(problem.file, (other, ()))
    line = lines[problem.line] if problem.line is not None and problem.line < len(lines) else None
    return Problem(problem.message, file, line)


def _wordless(items: Sequence[Mapping[str, Any]], file: str) -> list[Problem]:
    """Return a problem where no document of a catalog says anything that a search could find."""
    if any(str(value).strip() for item in items for key, value in item.items() if key != "doc_id" and value):
        return []
    return [Problem("no document has a text beside its id, so no search could find any", file)]


def goldset_of_beir(folder: str | os.PathLike[str], name: str) -> GoldSet:
    """Make a gold set of a BEIR folder, with each query's shape as its stratum.

    Parameters
    ----------
    folder
        With corpus.jsonl, queries.jsonl and qrels/.
    name
        Of the gold set.

    Raises
    ------
    GoldSetError
        The folder cannot be used.
    """
    import pandas as pd

    lacking = [
        Problem(f"there is no {what}; a BEIR folder holds corpus.jsonl, queries.jsonl and qrels/<split>.tsv")
        for what, pattern in (("queries.jsonl", "queries.*"), ("qrels/<split>.tsv", "qrels/*.tsv*"))
        if not any(Path(folder).glob(pattern))
    ]
    if lacking:
        raise GoldSetError(f"{folder} as a BEIR folder", lacking)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RetrievalWarning)  # what it warns of is written into goldset.toml
        found = load_goldset(folder)
    judgments = [
        {"query_id": query_id, "doc_id": doc_id, "grade": grade}
        for query_id in found.qrels
        for doc_id, grade in found.qrels[query_id].items()
    ]
    queries = found.queries.drop(columns=["slices"])
    if found.catalog is not None:
        items = found.catalog.to_dict("records")
        wordless = _wordless(
            [{str(key): value for key, value in item.items()} for item in items], str(folder)
        )
        if wordless:
            raise GoldSetError(f"{folder} as a BEIR folder", wordless)
    return goldset_from_frames(
        name,
        queries.assign(stratum=[shape_of(text) for text in queries["query"]]),
        pd.DataFrame(judgments, columns=["query_id", "doc_id", "grade"]),
        found.catalog,
        provenance=f"The BEIR folder {Path(folder).name}.",
        relevance_level=found.qrels.relevance_level,
        no_relevant="undefined",
        gate_splits=list(found.gate_splits or ()),
    )


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


def _catalog_ids(
    rows: Sequence[Row], column: str, file: str | os.PathLike[str], problems: list[Problem]
) -> dict[str, int]:
    """Return id → line of a catalog's documents."""
    lines: dict[str, int] = {}
    for row in rows:
        name = _id(row, column)
        if not name:
            problems.append(Problem(f"the id in column {column!r} is empty", str(file), row.line))
        elif name in lines:
            message = f"id {name!r} is taken by line {lines[name]}; ids are unique"
            problems.append(Problem(message, str(file), row.line))
        else:
            lines[name] = row.line
    return lines


def _questions(
    rows: Sequence[Row],
    named: Mapping[str, str],
    sheet: str | os.PathLike[str],
    known: Mapping[str, int],
    problems: list[Problem],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return queries and judgments; rows with the same question are one query."""
    of_query = _column(rows, "query", _QUERY, named, sheet)
    of_relevant = _column(rows, "relevant", _RELEVANT, named, sheet)
    of_query_id = _column(rows, "query_id", _QUERY_ID, named, sheet, needed=False)
    of_stratum = _column(rows, "stratum", _STRATUM, named, sheet, needed=False)
    of_grade = _column(rows, "grade", _GRADE, named, sheet, needed=False)
    queries: dict[str, dict[str, Any]] = {}
    first: dict[str, int] = {}
    judgments: dict[tuple[str, str], dict[str, Any]] = {}
    strata: dict[str, int] = {}
    for row in rows:
        wrong = [
            f"the {what} in column {column!r} is empty"
            for what, column in (("question", of_query), ("query_id", of_query_id), ("stratum", of_stratum))
            if column and not str(_value(row, column)).strip()
        ]
        if wrong:
            problems += (Problem(message, str(sheet), row.line) for message in wrong)
            continue
        text = str(_value(row, of_query)).strip()
        key = str(_value(row, of_query_id)).strip() if of_query_id else text
        stratum = str(_value(row, of_stratum)).strip() if of_stratum else shape_of(text)
        query = queries.setdefault(
            key,
            {
                "query_id": key if of_query_id else f"q{len(queries) + 1:03d}",
                "query": text,
                "stratum": stratum,
                **{
                    name: _flag(name, row.values[name])
                    for name in _OPTIONAL
                    if row.values.get(name) not in (None, "")
                },
                _LINE: row.line,
            },
        )
        strata.setdefault(stratum, row.line)
        line = first.setdefault(key, row.line)
        for what, value in (("query", text), ("stratum", stratum)):
            if query[what] != value:
                message = f"{what} {value!r} of {key!r} is {query[what]!r} on line {line}; a query has one"
                problems.append(Problem(message, str(sheet), row.line))
        grade = _grade(row, of_grade, sheet, problems)
        ids = _ids(row.values.get(of_relevant), known)
        problems += (
            Problem(
                f"id {name!r} has white space in it, which a TREC file cannot hold; replace it, say by '_'",
                str(sheet),
                row.line,
            )
            for name in ([key] if of_query_id and query[_LINE] == row.line else []) + ids
            if any(character.isspace() for character in name)
        )
        for doc_id in ids:
            query_id = query["query_id"]
            judgment = {"query_id": query_id, "doc_id": doc_id, "grade": grade, _LINE: row.line}
            before = judgments.setdefault((query_id, doc_id), judgment)
            if doc_id not in known:
                message = f"document {doc_id!r} is not in the catalog of {len(known)} documents"
                problems.append(Problem(message, str(sheet), row.line))
            if before["grade"] != grade:
                message = (
                    f"document {doc_id!r} has grade {grade} here and {before['grade']} for the same query"
                )
                problems.append(Problem(message + " further up", str(sheet), row.line))
    for fault in slug_faults(strata):
        last = max(line for name, line in strata.items() if repr(name) in fault)
        problems.append(Problem(fault, str(sheet), last))
    found = {query_id for (query_id, _), judgment in judgments.items() if judgment["grade"] > 0}
    if not found and not problems:
        message = "no question has a document that answers it"
        problems.append(
            Problem(f"{message} in column {of_relevant!r}, so nothing could be gated", str(sheet))
        )
    for query in queries.values():
        query.setdefault("answerable", query["query_id"] in found)
    return list(queries.values()), list(judgments.values())


def _flag(name: str, value: Any) -> Any:
    """Return what a cell of CSV says of a flag; any other value as it is."""
    if name not in _FLAGS or not isinstance(value, str):
        return value
    return {"true": True, "false": False}.get(value.strip().lower(), value)


def _value(row: Row, column: str) -> Any:
    """Return the value of a cell; an empty string where there is none."""
    value = row.values.get(column)
    return "" if value is None else value


def _grade(row: Row, column: str, sheet: str | os.PathLike[str], problems: list[Problem]) -> int:
    value = row.values.get(column, 1) if column else 1
    try:
        number = float(value)
        if number == int(number) and abs(number) <= _HIGHEST:
            return int(number)
    except (TypeError, ValueError, OverflowError):
        pass
    message = f"grade {value!r} in column {column!r} is not a whole number from -{_HIGHEST} to {_HIGHEST}"
    problems.append(Problem(message, str(sheet), row.line))
    return 0


def _ids(cell: object, known: Mapping[str, int]) -> list[str]:
    """Return the ids that one cell names; an id of the catalog may hold what otherwise separates ids."""
    if cell is None:
        return []
    if isinstance(cell, str) and cell.strip() in known:
        return [cell.strip()]
    if isinstance(cell, Iterable) and not isinstance(cell, str):
        return [str(doc_id) for doc_id in cell]
    return [part.strip() for part in _SEPARATORS.split(str(cell)) if part.strip()]


def _id(row: Row, column: str) -> str:
    return str(_value(row, column)).strip()


def _without(values: Mapping[str, Any], column: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != column}


def _column(
    rows: Sequence[Row],
    what: str,
    usual: Sequence[str],
    named: Mapping[str, str],
    file: str | os.PathLike[str],
    *,
    needed: bool = True,
) -> str:
    """Return the column that holds something; empty where there is none and none is needed."""
    columns = list(dict.fromkeys(name for row in rows for name in row.values))
    if not rows:
        raise FileError(f"{file}", [Problem("there is no row below the header", str(file))])
    if what in named:
        if named[what] in columns:
            return named[what]
        raise FileError(
            f"{file}",
            [Problem(f"there is no column {named[what]!r}; there are {listed(columns)}", str(file))],
        )
    lower = {name.lower(): name for name in reversed(columns)}
    for name in usual:
        if name in lower:
            return lower[name]
    if not needed:
        return ""
    apart = [sign for sign in _OTHER_SEPARATORS if len(columns) == 1 and sign in columns[0]]
    if apart:
        message = f"the only column is {columns[0]!r}: separate columns with commas, or with tabs in a .tsv"
        raise FileError(f"{file}", [Problem(message, str(file), 1)])
    problem = (
        f"no column holds the {what}; there are {listed(columns)}; usual names are {listed(usual)}; name the"
        f" right one: --column {what}=<column>"
    )
    raise FileError(f"{file}", [Problem(problem, str(file))])
