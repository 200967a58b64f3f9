"""Rows of answers and of traces: what both tables do with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pytest_retrieval.errors import InputError, listed
from pytest_retrieval.measures.table import RUN, mean_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Row", "frame_of", "mean_over_queries", "series_of"]


class Row(Protocol):
    """One reply to one query under one kind of context."""

    @property
    def query_id(self) -> str:
        """The query."""
        ...

    @property
    def context(self) -> str:
        """The kind of context."""
        ...


_Row = TypeVar("_Row", bound=Row)


def frame_of(rows: Sequence[Any], kind: type) -> pd.DataFrame:
    """Return a DataFrame with one row each and the fields of their class as columns, also of no rows."""
    import pandas as pd

    return pd.DataFrame([asdict(row) for row in rows], columns=[field.name for field in fields(kind)])


def series_of(rows: Sequence[Any], kind: type, column: str) -> pd.Series[float]:
    """Return query_id → mean of a column over the replies to the query; undefined ones stay out.

    The kind of context is kept as ``attrs["run"]``: a comparison of two such columns knows what it compares.

    Raises
    ------
    InputError
        The rows are of several kinds of context, or there is no such column.
    """
    import pandas as pd

    contexts = dict.fromkeys(row.context for row in rows)
    if len(contexts) > 1:
        raise InputError(
            f"the table holds {len(contexts)} contexts ({listed(contexts)}); select one:"
            " table.select(context='…')"
        )
    names = [field.name for field in fields(kind)]
    if column not in names:
        raise InputError(f"there is no column {column!r}; there are {listed(names, 30)}")
    values: dict[str, list[float]] = {}
    for row in rows:
        values.setdefault(row.query_id, []).append(float(getattr(row, column)))
    means = [mean_of(of_query) for of_query in values.values()]
    scores = pd.Series(means, index=pd.Index(list(values), name="query_id", dtype=object), name=column)
    context = next(iter(contexts), "")
    if context:
        scores.attrs[RUN] = context
    return scores


def mean_over_queries(rows: Sequence[_Row], score: Callable[[_Row], float]) -> float:
    """Return the mean over (query, context) of the mean over the replies; undefined scores stay out."""
    values: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        values.setdefault((row.query_id, row.context), []).append(score(row))
    return mean_of(mean_of(of_query) for of_query in values.values())
