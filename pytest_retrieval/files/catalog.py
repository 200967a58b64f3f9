"""The catalog: what can be retrieved, one item a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from pytest_retrieval.errors import Problem
from pytest_retrieval.files.columns import as_frame, ids_of, missing_columns, near_misses, renamed
from pytest_retrieval.files.tables import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Catalog", "catalog_of", "distinct"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Catalog:
    """Items by doc_id.

    Attributes
    ----------
    frame
        Indexed by doc_id; the other columns as the file has them.
    items
        doc_id → the fields that the file gives it.
    complete
        Whether every row could be read; if not, an id that is missing here may be in the file.
    """

    frame: pd.DataFrame
    items: Mapping[str, Mapping[str, Any]]
    complete: bool


def catalog_of(table: Table, problems: list[Problem]) -> Catalog:
    """Return the catalog in a table; BEIR's ``_id`` is a doc_id. What is wrong goes to `problems`."""
    table = renamed(table, {"_id": "doc_id"})
    problems += table.problems
    problems += missing_columns(table, ["doc_id"])
    problems += near_misses(table, ["doc_id"])
    if "doc_id" not in table.columns:
        return Catalog(as_frame([], "doc_id", [], []), {}, False)
    kept, complete = distinct(table, "doc_id", problems)
    columns = [column for column in table.columns if column != "doc_id"]
    items = {
        doc_id: {field: value for field, value in table.rows[place].values.items() if field != "doc_id"}
        for doc_id, place in kept.items()
    }
    return Catalog(as_frame(list(items), "doc_id", columns, items.values()), items, complete)


def distinct(table: Table, column: str, problems: list[Problem]) -> tuple[dict[str, int], bool]:
    """Return id → place of its row, and whether every row of the file has its id in there.

    An id that comes again is a problem that names both lines.
    """
    places: dict[str, int] = {}
    names = ids_of(table, column, problems)
    for place, name in enumerate(names):
        if name is None:
            continue
        first = places.setdefault(name, place)
        if first != place:
            problems.append(
                Problem(
                    f"{column} {name!r} is taken by line {table.rows[first].line}; ids are unique",
                    table.file,
                    table.rows[place].line,
                )
            )
    return places, not table.problems and None not in names
