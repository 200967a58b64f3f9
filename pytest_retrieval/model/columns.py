"""Columns: values of many queries in one array, with the rows at which each query's begin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_retrieval.errors import InputError

if TYPE_CHECKING:
    import numpy.typing as npt

    IntArray = npt.NDArray[np.int64]
    FloatArray = npt.NDArray[np.float64]
    ObjectArray = npt.NDArray[np.object_]

__all__ = ["check_id", "check_mapping", "objects", "read_only", "rows_of", "selected"]


def objects(values: Sequence[Any]) -> ObjectArray:
    """Return values as a one-dimensional array of objects, also where they are sequences themselves."""
    return np.fromiter(values, dtype=np.object_, count=len(values))


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view that refuses writing; the caller's own array stays as it was."""
    view = array.view()
    view.flags.writeable = False
    return view


def rows_of(query: int, starts: IntArray) -> slice:
    """Return the rows of one query."""
    return slice(int(starts[query]), int(starts[query + 1]))


def selected(queries: Sequence[int], starts: IntArray) -> tuple[IntArray, IntArray]:
    """Return new starts and the rows of some queries, in the order given."""
    wanted = np.asarray(queries, dtype=np.int64)
    lengths = starts[wanted + 1] - starts[wanted]
    new_starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])
    rows = np.repeat(starts[wanted] - new_starts[:-1], lengths) + np.arange(new_starts[-1], dtype=np.int64)
    return new_starts, rows


def check_mapping(value: object, what: str, shape: str) -> None:
    """Refuse what is no mapping.

    Raises
    ------
    InputError
        It is something else.
    """
    if not isinstance(value, Mapping):
        raise InputError(f"{what} are of type {type(value).__name__}; allowed is a mapping {shape}")


def check_id(value: object, what: str, query_id: str | None = None) -> None:
    """Refuse what is no id.

    Raises
    ------
    InputError
        It is no string, or an empty one.
    """
    if isinstance(value, str) and value:
        return
    place = "" if query_id is None else f" in query {query_id!r}"
    if value == "":
        raise InputError(f"empty {what}{place}; an id is a string of at least one character")
    hint = ": write str(...)" if isinstance(value, int | float | np.generic) else ""
    raise InputError(f"{what} {value!r}{place} is of type {type(value).__name__}; ids are strings{hint}")
