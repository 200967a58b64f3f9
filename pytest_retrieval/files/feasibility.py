"""A gold set's folder, read whole: gold set, pins and plan, and what they could show."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, final

from pytest_retrieval.errors import MeasureError, RetrievalError, SettingsError
from pytest_retrieval.files.goldset import load_with_notes
from pytest_retrieval.files.pins import load_pins
from pytest_retrieval.files.plan import Plan, load_plan
from pytest_retrieval.gate.cells import measures_of
from pytest_retrieval.gate.feasibility import Feasibility, gate_feasibility, plan_feasibility
from pytest_retrieval.measures.notation import Measure, parse, parse_all
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
        What reading warned of.
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
    measures = measures_of(goldset)
    splits = goldset.qrels.splits or {}
    planned = plan or Plan(goldset.alpha)
    declared = [measure for of_subject in measures.values() for measure in of_subject]
    wanted = {entry.split for entry in planned.comparisons} or {TEST if TEST in splits.values() else ""}
    rows = {}
    for split in sorted(wanted):
        members = [query for query in sorted(goldset.qrels) if not split or splits.get(query) == split]
        every = parse_all([*declared, *_planned_measures(planned, split)])
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
        notes=tuple(notes),
    )


def _planned_measures(plan: Plan, split: str) -> list[Measure]:
    """Return what is planned on a split; measures of a project's own are known in its tests alone."""
    found = []
    for entry in plan.comparisons:
        with contextlib.suppress(MeasureError):
            if entry.measure and entry.split == split:
                found.append(parse(entry.measure))
    return found


def _read(read: Callable[[Path], _Value], folder: Path, faults: list[RetrievalError]) -> _Value | None:
    """Return what a file holds, or None and one fault more."""
    try:
        return read(folder)
    except RetrievalError as error:
        faults.append(error)
        return None
