"""A gold set's folder, read whole: gold set, pins and plan, and what they could show."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, final

from pytest_retrieval.errors import RetrievalError, SettingsError
from pytest_retrieval.files.goldset import load_with_notes
from pytest_retrieval.files.pins import load_pins
from pytest_retrieval.files.plan import Plan, load_plan
from pytest_retrieval.gate.feasibility import Feasibility, gate_feasibility, plan_feasibility
from pytest_retrieval.measures.notation import Measure, is_ours, parse_all
from pytest_retrieval.model.goldset import GoldSet

__all__ = ["Checked", "feasibility_of"]

TEST = "test"

_Value = TypeVar("_Value")


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Checked:
    """What a gold set holds and could show.

    Attributes
    ----------
    goldset
        As read.
    pinned
        Number of pinned cells.
    plan
        As locked, or a plan of one comparison where nothing is locked yet.
    locked
        Whether a plan is locked.
    gate
        One row per declared cell.
    planned
        Split → rows, by measure and stratum.
    notes
        What reading warned of, and measures that have no row.
    """

    goldset: GoldSet
    pinned: int
    plan: Plan
    locked: bool
    gate: list[Feasibility]
    planned: dict[str, list[Feasibility]]
    notes: tuple[str, ...]


def feasibility_of(folder: Path, changed_share: float) -> Checked:
    """Read a gold set with its pins and its plan, and say what they could show.

    Parameters
    ----------
    folder
        Of the gold set, or its goldset.toml.
    changed_share
        Share of queries assumed to change, in [0, 1].

    Raises
    ------
    SettingsError
        Something cannot be read; every fault of every file is named.
    """
    folder = folder.parent if folder.is_file() else folder
    faults: list[RetrievalError] = []
    read = _read(load_with_notes, folder, faults)
    pins = _read(load_pins, folder, faults)
    plan = _read(load_plan, folder, faults)
    if faults or read is None or pins is None:
        raise SettingsError("\n".join(map(str, faults)))
    goldset, notes = read
    splits = goldset.qrels.splits or {}
    planned = plan or Plan(goldset.alpha)
    names = {subject: of.measures for subject, of in goldset.subjects.items()}
    declared = [name for of_subject in names.values() for name in of_subject]
    planned_names = [entry.measure for entry in planned.comparisons if entry.measure]
    unknown = list(dict.fromkeys(name for name in [*declared, *planned_names] if not is_ours(name)))
    measures = {subject: _known(of_subject) for subject, of_subject in names.items()}
    wanted = {entry.split for entry in planned.comparisons} or {TEST if TEST in splits.values() else ""}
    rows = {}
    for split in sorted(wanted):
        members = [query for query in sorted(goldset.qrels) if not split or splits.get(query) == split]
        of_split = [entry.measure for entry in planned.comparisons if entry.measure and entry.split == split]
        every = _known([*declared, *of_split])
        rows[split] = plan_feasibility(
            goldset, every, members, planned.threshold, changed_share=changed_share
        )
    return Checked(
        goldset=goldset,
        pinned=len(pins.cells),
        plan=planned,
        locked=plan is not None,
        gate=gate_feasibility(goldset, measures, pins, changed_share=changed_share),
        planned=rows,
        notes=(*notes, *map(_no_row, unknown)),
    )


def _known(names: Iterable[str]) -> tuple[Measure, ...]:
    """Return the measures that are of a kind of ours."""
    return parse_all([name for name in names if is_ours(name)])


def _no_row(name: str) -> str:
    """Return what is said of a measure that is none of ours: a project's own is known in its tests alone."""
    return (
        f"measure {name!r} has no row here, for it is none of this package's: if it is one of your own"
        " (pytest_retrieval_measures), your tests know it; else it is misspelt"
    )


def _read(read: Callable[[Path], _Value], folder: Path, faults: list[RetrievalError]) -> _Value | None:
    """Return what a file holds, or None and one fault more."""
    try:
        return read(folder)
    except RetrievalError as error:
        faults.append(error)
        return None
