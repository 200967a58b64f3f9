"""The texts of a catalog: which fields a retriever reads, and how they are joined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_retrieval.errors import InputError, listed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["fields_of", "records_of", "text_of", "texts_of"]

TEXT = "text"
"""Name of the only field of a catalog that is ``{doc_id: text}``."""


def texts_of(
    catalog: pd.DataFrame | Mapping[str, Any], fields: str | Sequence[str] | None = None
) -> dict[str, str]:
    r"""Return doc_id → text of a catalog, its fields joined by line ends.

    Parameters
    ----------
    catalog
        DataFrame indexed by doc_id, or ``{doc_id: text}``, or ``{doc_id: {field: value}}``.
    fields
        Which field, or fields in this order; by default all.

    Raises
    ------
    InputError
        The catalog is of another kind, an id is no string or there twice, or a field is not in it.

    Examples
    --------
    >>> texts_of({"d1": {"name": "oak table", "width": 120}})
    {'d1': 'oak table\n120'}
    """
    _check_catalog(catalog)
    if (
        isinstance(catalog, Mapping)
        and not fields
        and all(isinstance(text, str) for text in catalog.values())
    ):
        return dict(catalog)
    records, columns = records_of(catalog)
    wanted = fields_of(columns, fields)
    return {doc_id: "\n".join(text_of(item.get(name)) for name in wanted) for doc_id, item in records.items()}


def records_of(catalog: pd.DataFrame | Mapping[str, Any]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return doc_id → field → value, and the names of all fields.

    Raises
    ------
    InputError
        The catalog is of another kind, or an id is no string or there twice.
    """
    _check_catalog(catalog)
    if isinstance(catalog, Mapping):
        records = {
            doc_id: {TEXT: item} if isinstance(item, str) else dict(item) for doc_id, item in catalog.items()
        }
        return records, list(dict.fromkeys(name for item in records.values() for name in item))
    columns = [str(column) for column in catalog.columns]
    rows = catalog.to_numpy(dtype=object).tolist()
    ids = catalog.index.tolist()
    return {
        doc_id: dict(zip(columns, row, strict=True)) for doc_id, row in zip(ids, rows, strict=True)
    }, columns


def _check_catalog(catalog: object) -> None:
    if isinstance(catalog, Mapping):
        ids = list(catalog)
        wrong = [doc_id for doc_id, item in catalog.items() if not isinstance(item, str | Mapping)]
        if wrong:
            raise InputError(
                f"document {wrong[0]!r} of the catalog is {catalog[wrong[0]]!r}; allowed is a text, or a"
                " mapping from fields to values"
            )
    elif hasattr(catalog, "columns") and hasattr(catalog, "index"):
        ids = catalog.index.tolist()
    else:
        raise InputError(
            f"the catalog is of type {type(catalog).__name__}; allowed are a DataFrame indexed by doc_id,"
            " {doc_id: text} or {doc_id: {field: value}}"
        )
    strange = next((doc_id for doc_id in ids if not isinstance(doc_id, str)), None)
    if strange is not None:
        raise InputError(
            f"the catalog has the id {strange!r} of type {type(strange).__name__}; ids are strings: index a"
            " DataFrame by them, as in catalog.set_index('doc_id')"
        )
    if len(set(ids)) < len(ids):
        twice = sorted(doc_id for doc_id, count in Counter(ids).items() if count > 1)
        raise InputError(f"the catalog has ids more than once: {listed(map(repr, twice))}; ids are unique")


def fields_of(columns: Sequence[str], fields: str | Sequence[str] | None) -> list[str]:
    """Return the fields wanted, or all of them.

    Raises
    ------
    InputError
        A field is not among the columns.
    """
    wanted = list(columns) if fields is None else [fields] if isinstance(fields, str) else list(fields)
    unknown = [name for name in wanted if name not in columns]
    if unknown:
        raise InputError(
            f"the catalog has no field {listed(map(repr, unknown))}; it has {listed(columns, 30)}"
        )
    return wanted


def text_of(value: object) -> str:
    """Return the text of one field; of a mapping or a list, that of its values.

    Examples
    --------
    >>> text_of({"wood": "oak", "sizes": ["120 cm", None]})
    'oak 120 cm '
    """
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, Mapping):
        return " ".join(text_of(inner) for inner in value.values())
    if isinstance(value, list | tuple):
        return " ".join(text_of(inner) for inner in value)
    return str(value)
