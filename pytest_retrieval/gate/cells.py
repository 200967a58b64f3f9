"""Cells: what is gated one by one, a subject × a measure × a stratum of a gold set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pytest_retrieval.errors import InputError
from pytest_retrieval.measures.notation import Measure, parse_all
from pytest_retrieval.measures.rank import MeasureKind
from pytest_retrieval.measures.ranking import join
from pytest_retrieval.model.goldset import ALL, GoldSet
from pytest_retrieval.model.run import Run

__all__ = [
    "SLICE",
    "Cell",
    "cell_id",
    "declared",
    "described",
    "groups",
    "measures_of",
    "slug",
    "slug_faults",
]

SLICE = "slice:"
"""How the name of a cell over a slice begins."""


class Cell(NamedTuple):
    """One thing that is gated.

    Attributes
    ----------
    subject
        Name of the run.
    measure
        Canonical name.
    stratum
        A stratum, ``all``, or ``slice:<name>``.
    """

    subject: str
    measure: str
    stratum: str

    def __str__(self) -> str:
        return f"{self.subject} · {self.measure} · {self.stratum}"


def slug(text: str) -> str:
    """Return text as a part of a pytest id: lower case, everything but letters and digits an underscore.

    Letters are those of any script, so that strata named in another one keep apart.

    Examples
    --------
    >>> slug("recall@5"), slug("Several modifiers"), slug("slice:follow_up")
    ('recall_5', 'several_modifiers', 'slice_follow_up')
    """
    return re.sub(r"[\W_]+", "_", text.lower()).strip("_")


def slug_faults(strata: Iterable[str]) -> list[str]:
    """Return a sentence on each stratum whose name makes no test id, or the id of another.

    Examples
    --------
    >>> slug_faults(["one word", "one-word", "!"])
    ["strata 'one word' and 'one-word' make the same test id, one_word; rename one of them", \
"stratum '!' makes no test id, for it has no letter and no digit; rename it"]
    """
    first: dict[str, str] = {}
    found = []
    for name in strata:
        other = first.setdefault(slug(name), name)
        if not slug(name):
            found.append(f"stratum {name!r} makes no test id, for it has no letter and no digit; rename it")
        elif other != name:
            found.append(
                f"strata {other!r} and {name!r} make the same test id, {slug(name)}; rename one of them"
            )
    return found


def measures_of(goldset: GoldSet, kinds: Sequence[MeasureKind] = ()) -> dict[str, tuple[Measure, ...]]:
    """Return subject → its measures, primary first.

    Raises
    ------
    MeasureError
        A measure in goldset.toml is not known.
    """
    return {name: parse_all(subject.measures, kinds) for name, subject in goldset.subjects.items()}


def groups(goldset: GoldSet) -> dict[str, tuple[str, ...]]:
    """Return every class of queries that the gate prints → its gated queries, sorted.

    The strata, then every slice as ``slice:<name>``, and ``all``.
    """
    found: dict[str, list[str]] = {}
    strata = goldset.qrels.strata or {}
    slices = goldset.qrels.slices or {}
    for query_id in goldset.gated_queries:
        names = [strata.get(query_id, ALL), *(SLICE + name for name in slices.get(query_id, ()))]
        for name in dict.fromkeys([*names, ALL]):
            found.setdefault(name, []).append(query_id)
    return {name: tuple(queries) for name, queries in sorted(found.items())}


def declared(goldset: GoldSet, measures: Mapping[str, Sequence[Measure]]) -> tuple[Cell, ...]:
    """Return the cells that a gold set declares, sorted.

    Strata and whatever `gate_also` names, times each subject's measures. A measure that the judgments alone
    leave undefined for every query of a stratum makes no cell there.

    Raises
    ------
    InputError
        Two cells would have the same pytest id.
    """
    gated = goldset.gated_queries
    by_name = groups(goldset)
    strata = {(goldset.qrels.strata or {}).get(query_id, ALL) for query_id in gated}
    wanted = sorted(strata | {name for name in goldset.gate_also if name in by_name})
    place = {query_id: row for row, query_id in enumerate(gated)}
    empty = join(goldset.qrels.select(gated), Run({}))
    cells = []
    for subject, of_subject in measures.items():
        for measure in of_subject:
            defined = measure.defined(empty)
            cells += [
                Cell(subject, measure.name, stratum)
                for stratum in wanted
                if np.any(defined[[place[query_id] for query_id in by_name[stratum]]])
            ]
    _check_slugs(cells)
    return tuple(sorted(cells))


def described(
    goldset: GoldSet, subject: str, measures: Sequence[Measure], gated: Iterable[Cell]
) -> tuple[Cell, ...]:
    """Return what a summary prints beside a subject's gated cells: other strata, slices and `all`."""
    taken = set(gated)
    every = (Cell(subject, measure.name, name) for measure in measures for name in groups(goldset))
    return tuple(cell for cell in every if cell not in taken)


def cell_id(cell: Cell) -> str:
    """Return the cell's part of a pytest item id.

    Examples
    --------
    >>> cell_id(Cell("bm25", "recall@5", "Exact identifier"))
    'bm25-recall_5-exact_identifier'
    """
    return "-".join(slug(part) for part in cell)


def _check_slugs(cells: Iterable[Cell]) -> None:
    seen: dict[str, Cell] = {}
    for cell in cells:
        if not slug(cell.stratum):
            raise InputError("; ".join(slug_faults([cell.stratum])))
        other = seen.setdefault(cell_id(cell), cell)
        if other != cell:
            raise InputError(
                f"cells {other} and {cell} have the same pytest id {cell_id(cell)!r}; rename one of them"
            )
