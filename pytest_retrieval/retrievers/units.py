"""Retrievable units: an item cut into pieces that are indexed by themselves, and ranked by its best one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np

from pytest_retrieval.errors import InputError, listed
from pytest_retrieval.model.columns import objects
from pytest_retrieval.model.order import by_score, first_of_each, place_in_each, query_of_each
from pytest_retrieval.model.run import Run
from pytest_retrieval.retrievers.lexical import BM25
from pytest_retrieval.retrievers.texts import fields_of, records_of, text_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["UnitSearch", "pool_units", "sentences", "units_of"]

_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+|\n+")
_FIRST = 4
"""Units asked for at first, per item wanted."""


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, by a plain rule: they end in ``.``, ``!`` or ``?`` before white space.

    It knows no abbreviations. Pass a splitter of your own to `units_of` where that matters.

    Examples
    --------
    >>> sentences("Oak top. Fits HX-4420! Made to last")
    ['Oak top.', 'Fits HX-4420!', 'Made to last']
    """
    return [piece for part in _END.split(text) if (piece := part.strip())]


def units_of(
    catalog: pd.DataFrame | Mapping[str, Any],
    fields: Sequence[str] | None = None,
    *,
    split: str | None = None,
    splitter: Callable[[str], Iterable[str]] = sentences,
) -> dict[str, list[str]]:
    """Return doc_id → the texts to index for it.

    Parameters
    ----------
    catalog
        DataFrame indexed by doc_id, or ``{doc_id: text}``, or ``{doc_id: {field: text}}``.
    fields
        Fields that every unit holds, in this order; by default all.
    split
        A field of which every unit holds one piece only, after the other fields. An item that has no piece
        is one unit of the other fields. None for whole items.
    splitter
        Cuts that field into pieces.

    Returns
    -------
    dict
        An item whose units would all be empty has none, and is never found.

    Raises
    ------
    InputError
        A field is not in the catalog.

    Examples
    --------
    >>> catalog = {"d1": {"name": "desk", "description": "Oak top. Two drawers."}, "d2": {"name": "rug"}}
    >>> units_of(catalog, split="description")
    {'d1': ['desk Oak top.', 'desk Two drawers.'], 'd2': ['rug']}
    >>> units_of(catalog, ["description"], split="description")
    {'d1': ['Oak top.', 'Two drawers.'], 'd2': []}
    """
    records, columns = records_of(catalog)
    wanted = fields_of(columns, fields)
    if split is not None:
        fields_of(columns, [split])
    units: dict[str, list[str]] = {}
    for doc_id, item in records.items():
        head = [text for name in wanted if name != split and (text := text_of(item.get(name)).strip())]
        pieces = [""] if split is None else list(splitter(text_of(item.get(split)))) or [""]
        texts = (" ".join([*head, piece] if piece else head) for piece in pieces)
        units[doc_id] = [text for text in texts if text.strip()]
    return units


def pool_units(run: Run, items: Mapping[str, str] | Callable[[str], str], *, name: str = "") -> Run:
    """Turn rankings of units into rankings of items: an item ranks as its best unit.

    Parameters
    ----------
    run
        Rankings of unit ids.
    items
        unit_id → id of the item that it belongs to, as a mapping or a function.
    name
        Name of the result; the run's own by default.

    Returns
    -------
    Run
        With scores, an item scores as its best unit and equal scores stand by item id ascending; without
        any, an item takes the place of its first unit.

    Raises
    ------
    InputError
        A unit belongs to no item.

    Examples
    --------
    >>> units = Run({"q": [("d1#2", 0.9), ("d2#1", 0.7), ("d1#1", 0.4)]})
    >>> pool_units(units, lambda unit: unit.partition("#")[0]).scored("q")
    (('d1', 0.9), ('d2', 0.7))
    """
    units = run.doc_ids.tolist()
    if callable(items):
        owners = [items(unit) for unit in units]
    else:
        lost = sorted({unit for unit in units if unit not in items})
        if lost:
            raise InputError(f"units that belong to no item: {listed(map(repr, lost))}")
        owners = [items[unit] for unit in units]
    query = query_of_each(run.starts)
    scored = run.scores is not None and not np.isnan(run.scores).any()
    scores = cast(Any, run.scores) if scored else -place_in_each(query).astype(np.float64)
    doc_ids = objects(owners)
    order = by_score(doc_ids, scores, run.starts, ties="ascending")
    first = _first_of_items(query[order], doc_ids[order])
    kept = order[first]
    lengths = np.bincount(query[kept], minlength=len(run.query_ids))
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])
    return Run.from_columns(
        run.query_ids, starts, doc_ids[kept], scores[kept] if scored else None, name=name or run.name
    )


def _first_of_items(query: Any, doc_ids: Any) -> Any:
    """Return the rows in which an item stands for the first time in its query, in their order."""
    import pandas as pd

    codes, distinct = pd.factorize(doc_ids)
    keys = query * max(len(distinct), 1) + codes
    order = np.argsort(keys, kind="stable")
    return np.sort(order[first_of_each(keys[order])])


@final
class UnitSearch:
    """Search over units that returns items, each ranked by its best unit.

    Parameters
    ----------
    units
        doc_id → texts to index for it, as `units_of` makes them.
    index
        Makes the retriever over ``{unit_id: text}``: `BM25`, or ``lambda units: Semantic(units, model=…)``.
        It must return (id, score) pairs.

    Raises
    ------
    InputError
        There is no unit; or, when asked, the retriever returns no scores.

    References
    ----------
    Callan, Passage-Level Evidence in Document Retrieval, SIGIR 1994.

    Examples
    --------
    >>> search = UnitSearch({"d1": ["oak desk", "two drawers"], "d2": ["oak desk with two oak drawers"]})
    >>> [doc_id for doc_id, score in search("two drawers", 2)]
    ['d1', 'd2']
    """

    def __init__(
        self,
        units: Mapping[str, Sequence[str]],
        index: Callable[[dict[str, str]], Callable[[str, int], Any]] = BM25,
    ) -> None:
        texts = {
            f"{doc_id}#{place}": (doc_id, text)
            for doc_id, pieces in units.items()
            for place, text in enumerate(pieces, start=1)
        }
        if not texts:
            raise InputError("there is no unit to index; every item is empty")
        self._items = {unit: doc_id for unit, (doc_id, _) in texts.items()}
        self._search = index({unit: text for unit, (_, text) in texts.items()})

    def __call__(self, query: str, k: int) -> list[tuple[str, float]]:
        """Return the best items as (doc_id, score), best first, equal scores by doc_id ascending."""
        asked = _FIRST * k
        while True:
            found = list(self._search(query, asked))
            if not found:
                return []
            units = Run({_QUERY: found})
            if units.scores is None or np.isnan(units.scores).any():
                raise InputError(
                    "the index of the units returned ids without scores; items are ranked by them"
                )
            items = pool_units(units, self._items).scored(_QUERY)
            exhausted = len(found) < asked or asked >= len(self._items)
            # An item tied with the k-th may still be further down, and its id decides.
            if exhausted or (len(items) >= k and float(units.scores.min()) < items[k - 1][1]):
                return list(items[:k])
            asked *= 4


_QUERY = "query"
"""Stands for the one query that is asked."""
