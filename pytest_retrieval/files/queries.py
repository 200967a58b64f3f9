"""The queries of a gold set: texts, strata, splits, slices, and which of them may never fall."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from pytest_retrieval.errors import Problem, listed
from pytest_retrieval.files.catalog import distinct
from pytest_retrieval.files.columns import as_frame, flag, missing_columns, near_misses, renamed
from pytest_retrieval.files.settings import RESERVED_SPLIT, Settings, line_of_key
from pytest_retrieval.files.splits import misspelt_messages
from pytest_retrieval.files.tables import Row, Table
from pytest_retrieval.model.goldset import ALL

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Queries", "queries_of"]

KNOWN = ("query_id", "query", "stratum", "split", "slices", "answerable", "synthetic", "must")
SLICE_PREFIX = "slice:"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Queries by query_id, in the order of the file.

    Attributes
    ----------
    frame
        Indexed by query_id: query, stratum, split, slices, answerable, synthetic, must, then other columns.
    lines
        query_id → line.
    strata, splits, slices
        query_id → name or names; splits and slices are None where the file has none.
    gate_splits
        Splits that are gated, or None where there are no splits.
    unanswerable, must
        Query ids.
    file
        The file as messages show it.
    complete
        Whether every row could be read; if not, an id that is missing here may be in the file.
    """

    frame: pd.DataFrame
    lines: Mapping[str, int]
    strata: Mapping[str, str]
    splits: Mapping[str, str] | None
    slices: Mapping[str, tuple[str, ...]] | None
    gate_splits: tuple[str, ...] | None
    unanswerable: frozenset[str]
    must: frozenset[str]
    file: str
    complete: bool


def queries_of(
    table: Table, settings: Settings, problems: list[Problem], split_of: Mapping[str, str] | None = None
) -> Queries:
    """Return the queries in a table; what is wrong goes to `problems`.

    Parameters
    ----------
    table
        Rows of the queries file; BEIR's ``_id`` and ``text`` are query_id and query.
    settings
        What goldset.toml says.
    problems
        Everything found wrong is added here.
    split_of
        query_id → split where the file itself has no column ``split`` (BEIR names its qrels so). Queries that
        are not in it are left out, for nobody judged them.
    """
    import pandas as pd

    table = renamed(table, {"_id": "query_id", "text": "query"})
    found = list(table.problems) + missing_columns(table, ["query_id", "query"])
    by_column = _columns_of_strata(table, settings, found)
    known = [name for name in KNOWN if name not in ("stratum", "slices")]
    known += [settings.stratum or "stratum", *(settings.slices or ["slices"])]
    found += near_misses(table, known)
    kept, complete = distinct(table, "query_id", found) if "query_id" in table.columns else ({}, False)
    if split_of is not None and "split" not in table.columns:
        kept = {query_id: place for query_id, place in kept.items() if query_id in split_of}
    rows = {query_id: table.rows[place] for query_id, place in kept.items()}

    stratum, slices = by_column
    texts = {query_id: _query_text(row, table, found) for query_id, row in rows.items()}
    strata = {query_id: _stratum(row, stratum, table.file, found) for query_id, row in rows.items()}
    names = {query_id: _slices(row, slices, table.file, found) for query_id, row in rows.items()}
    splits: dict[str, str] | None = None
    if "split" in table.columns:
        splits = {query_id: _split(row, settings, table.file, found) for query_id, row in rows.items()}
    elif split_of is not None:
        splits = {query_id: split_of[query_id] for query_id in rows}
    flags = {
        column: {query_id: flag(row, column, default, table, found) for query_id, row in rows.items()}
        for column, default in (("answerable", True), ("synthetic", False), ("must", False))
    }
    if complete:
        found += _cells_problems(settings, names)
    gate_splits = _gate_splits(settings, splits, table.file, found) if rows else None
    if splits is not None and settings.splits is None:
        found += _misspelt_splits(splits, rows if "split" in table.columns else {}, settings, table.file)
    for query_id, must in flags["must"].items():
        if must:
            found += _must_problems(query_id, rows[query_id], flags, splits, gate_splits, table.file)
    problems += found

    columns: dict[str, Mapping[str, Any]] = {
        "query": texts,
        "stratum": strata,
        "split": splits or dict.fromkeys(rows),
        "slices": names,
        **flags,
    }
    others = [column for column in table.columns if column not in columns and column != "query_id"]
    frame = as_frame(list(rows), "query_id", others, (row.values for row in rows.values()))
    for number, (column, values) in enumerate(columns.items()):
        series = pd.Series(
            list(values.values()), index=frame.index, dtype=bool if column in flags else object
        )
        frame.insert(number, column, series)
    return Queries(
        frame=frame,
        lines={query_id: row.line for query_id, row in rows.items()},
        strata=strata,
        splits=splits,
        slices=names if slices else None,
        gate_splits=gate_splits,
        unanswerable=frozenset(query_id for query_id, yes in flags["answerable"].items() if not yes),
        must=frozenset(query_id for query_id, yes in flags["must"].items() if yes),
        file=table.file,
        complete=complete,
    )


def _columns_of_strata(
    table: Table, settings: Settings, problems: list[Problem]
) -> tuple[str | None, tuple[str, ...]]:
    """Return the column of strata, if there is one, and the columns of slices."""
    named = {"stratum": (settings.stratum,) if settings.stratum else (), "slices": settings.slices or ()}
    for key, columns in named.items():
        problems += (
            Problem(
                f"{key} names the column {column!r}, which {table.file} does not have; it has"
                f" {listed(table.columns)}",
                settings.file,
                line_of_key(settings, key),
            )
            for column in columns
            if column not in table.columns and table.columns
        )
    stratum = settings.stratum or ("stratum" if "stratum" in table.columns else None)
    slices = settings.slices or (("slices",) if "slices" in table.columns else ())
    present = tuple(column for column in slices if column in table.columns)
    return (stratum if stratum in table.columns else None), present


def _query_text(row: Row, table: Table, problems: list[Problem]) -> str:
    text = row.values.get("query")
    if isinstance(text, str) and text.strip():
        return text
    if "query" in table.columns:
        shown = "empty" if text is None or text == "" else repr(text)
        problems.append(Problem(f"query is {shown}; every query needs a text", table.file, row.line))
    return ""


def _stratum(row: Row, column: str | None, file: str, problems: list[Problem]) -> str:
    if column is None:
        return ALL
    value = row.values.get(column)
    fault = None
    if value is None or (isinstance(value, str) and not value.strip()):
        fault = f"{column} is empty; every query needs a stratum, or none has one"
    elif not isinstance(value, str) or value != value.strip():
        fault = f"{column} is {value!r}; a stratum is a string without white space at its ends"
    elif _is_reserved(value):
        fault = f"{column} is {value!r}; 'all' and names that begin with {SLICE_PREFIX!r} are reserved"
    if fault is None:
        return str(value)
    problems.append(Problem(fault, file, row.line))
    return ALL


def _slices(row: Row, columns: Sequence[str], file: str, problems: list[Problem]) -> tuple[str, ...]:
    """Return the slices of a query: a list of names, or a string of names between ``|`` or ``;``."""
    names: dict[str, None] = {}
    for column in columns:
        value = row.values.get(column)
        if isinstance(value, str):
            value = [name.strip() for name in re.split(r"[|;]", value) if name.strip()]
        for name in [] if value is None else value if isinstance(value, list | tuple) else [value]:
            if not isinstance(name, str) or not name.strip() or name != name.strip():
                fault = f"{column} holds {name!r}; a slice is a string without white space at its ends"
            elif _is_reserved(name):
                fault = (
                    f"{column} holds {name!r}; 'all' and names that begin with {SLICE_PREFIX!r} are reserved"
                )
            else:
                names[name] = None
                continue
            problems.append(Problem(fault, file, row.line))
    return tuple(names)


def _is_reserved(name: str) -> bool:
    return name.lower() == ALL or name.lower().startswith(SLICE_PREFIX)


def _split(row: Row, settings: Settings, file: str, problems: list[Problem]) -> str:
    value = row.values.get("split")
    allowed = f"; allowed are {listed(settings.splits)}" if settings.splits else ""
    fault = None
    if value is None or (isinstance(value, str) and not value.strip()):
        fault = f"split is empty; every query needs one, or none has one{allowed}"
    elif not isinstance(value, str) or value != value.strip():
        fault = f"split is {value!r}; a split is a string without white space at its ends{allowed}"
    elif settings.splits and value not in settings.splits:
        where = "named" if settings.folder is None else "of goldset.toml"
        fault = f"split {value!r} is not among the splits {where}{allowed}"
    if fault is None:
        return str(value)
    problems.append(Problem(fault, file, row.line))
    return ""


def _gate_splits(
    settings: Settings, splits: Mapping[str, str] | None, file: str, problems: list[Problem]
) -> tuple[str, ...] | None:
    """Return the splits that are gated: those named, or all but the test split."""
    if splits is None:
        problems += (
            Problem(
                f"{key} is set, but {file} has no column 'split'", settings.file, line_of_key(settings, key)
            )
            for key in ("splits", "gate_splits")
            if getattr(settings, key) is not None
        )
        return None
    present = sorted(set(splits.values()) - {""})
    problems += (
        Problem(
            f"{key} names {split!r}, which no query has; the queries have {listed(present)}",
            settings.file,
            line_of_key(settings, key),
        )
        for key, named in (
            ("splits", None if "" in splits.values() else settings.splits),  # "" may be any of them
            ("gate_splits", settings.gate_splits),
        )
        for split in named or ()
        if split not in present
    )
    if settings.gate_splits is not None:
        return settings.gate_splits
    gated = tuple(split for split in present if split != RESERVED_SPLIT)
    if gated or not present:
        return gated
    if not settings.as_is:
        problems.append(
            Problem(
                f"the only split is {RESERVED_SPLIT!r}, which is not gated unless asked for, so nothing would"
                f" be gated; set gate_splits = [{RESERVED_SPLIT!r}] if that is meant",
                settings.file,
            )
        )
    return tuple(present)


def _misspelt_splits(
    splits: Mapping[str, str], rows: Mapping[str, Row], settings: Settings, file: str
) -> list[Problem]:
    """Return a problem for each split whose name looks like a slip; `rows` is empty where files name them."""
    every = sorted(set(splits.values()) - {""})
    listing = f"splits = {json.dumps(every, ensure_ascii=False)}"
    meant = f"list every split: {listing}"
    if settings.as_is:
        options = " ".join(f"--split {name}" for name in every)
        meant = f"say so: {options} for pytest-retrieval init, or {listing} in a goldset.toml"
    named = {query_id: split for query_id, split in splits.items() if split}
    return [
        Problem(message, file, rows[query_id].line) if rows else Problem(message, settings.file)
        for query_id, message in misspelt_messages(named, meant).items()
    ]


def _cells_problems(settings: Settings, slices: Mapping[str, tuple[str, ...]]) -> list[Problem]:
    """Return a problem for each slice that goldset.toml wants gated and no query has."""
    present = sorted({name for names in slices.values() for name in names})
    return [
        Problem(
            f"gate_also names {cell!r}, but no query is in that slice; the slices are"
            f" {listed(present) or 'none'}",
            settings.file,
            line_of_key(settings, "gate_also"),
        )
        for cell in settings.gate_also
        if cell.startswith(SLICE_PREFIX) and cell.removeprefix(SLICE_PREFIX) not in present
    ]


def _must_problems(
    query_id: str,
    row: Row,
    flags: Mapping[str, Mapping[str, bool]],
    splits: Mapping[str, str] | None,
    gate_splits: tuple[str, ...] | None,
    file: str,
) -> list[Problem]:
    problems = []
    if not flags["answerable"][query_id]:
        message = f"query {query_id!r} is a must-query but not answerable, so it has no score to keep"
        problems.append(Problem(message, file, row.line))
    if splits is not None and gate_splits is not None and splits[query_id] not in ("", *gate_splits):
        message = (
            f"query {query_id!r} is a must-query in the split {splits[query_id]!r}, which is not gated;"
            f" gate_splits are {listed(gate_splits)}"
        )
        problems.append(Problem(message, file, row.line))
    return problems
