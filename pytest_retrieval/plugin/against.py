"""``--retrieval-against``: the gold sets of the merge base, for as long as the session lasts."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import final

from pytest_retrieval.errors import RetrievalError, SettingsError, counted
from pytest_retrieval.files.pins import read_pins_toml
from pytest_retrieval.files.plan import Plan, Planned, load_plan
from pytest_retrieval.files.revision import Base, base_of
from pytest_retrieval.files.settings import read_settings
from pytest_retrieval.gate.branch import BranchChange, lowered_with_reason
from pytest_retrieval.gate.cells import Cell
from pytest_retrieval.gate.pin import Pins
from pytest_retrieval.gate.verdict import HELD, REGRESSED, UNDECIDED, VANISHED, Verdict
from pytest_retrieval.model.goldset import GoldSet
from pytest_retrieval.plugin.goldsets import GoldSets
from pytest_retrieval.stats.thresholds import format_threshold

__all__ = ["Against", "accepted", "as_strict", "plan_changes"]


@final
class Against:
    """The base that this session's branch is held against.

    Parameters
    ----------
    root
        A folder of the repository.
    revision
        What the user named.
    today
        The gold sets of this session.

    Raises
    ------
    SettingsError
        The revision cannot be had.
    """

    def __init__(self, root: Path, revision: str, today: GoldSets) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="pytest-retrieval-base-"))
        try:
            self.base: Base = base_of(
                root,
                revision,
                self._folder,
                names=today.folders,
                today=today.folders.values(),
                pins=today.pins_root,
            )
        except BaseException:
            self.close()
            raise
        self.goldsets = GoldSets(self.base.folders, self.base.pins)
        self._today = today
        self._plans: dict[str, Plan | None] = {}

    @property
    def label(self) -> str:
        """The base as a reader knows it."""
        return f"{self.base.revision} ({self.base.commit[:10]})"

    def pins(self, name: str) -> Pins:
        """Return the pins of a gold set there; empty where it did not exist.

        Raises
        ------
        RetrievalError
            They cannot be used.
        """
        with self._named_by_git():
            return self.goldsets.pins(name) if self._has(name) else Pins()

    def goldset(self, name: str) -> GoldSet:
        """Return a gold set of the base.

        Raises
        ------
        RetrievalError
            Its files cannot be used.
        """
        with self._named_by_git():
            return self.goldsets.get(name)

    def check_files(self) -> None:
        """Raise SettingsError where a TOML file of any gold set of the base cannot be read."""
        with self._named_by_git():
            self.goldsets.check_files()

    def gone(self, folders: Iterable[Path]) -> dict[str, Path]:
        """Return name → home of the pins of each gold set that was pinned at the base and is here no more.

        Parameters
        ----------
        folders
            Of the gold sets below the copy of the rootdir; one that cannot be read has no name to miss.
        """
        found = {}
        for folder in folders:
            with contextlib.suppress(SettingsError):
                name = read_settings(folder).name
                home = GoldSets([folder], self.base.pins).home(name)
                if name not in self._today.folders and read_pins_toml(home):
                    found[name] = home
        return found

    def plan(self, name: str) -> Plan | None:
        """Return the plan of a gold set there, read once; None where nothing was locked.

        Raises
        ------
        SettingsError
            It cannot be used.
        """
        if name not in self._plans:
            with self._named_by_git():
                self._plans[name] = load_plan(self.goldsets.home(name)) if self._has(name) else None
        return self._plans[name]

    def plan_lines(self, name: str, now: Plan | None) -> tuple[list[str], bool]:
        """Return what changed about a plan since the base, and whether anything of it favours the branch."""
        then = self.plan(name)
        changes = [] if then is None else plan_changes(then, now)
        if then is None or not changes:
            return [], False
        favouring = sum(change.favours for change in changes)
        things = counted(len(changes), "thing", "things")
        favour = {True: " (favours this branch)", False: ""}
        lines = [
            f"{name}: against {self.label} this branch changed {things} about its plan, {favouring} in its"
            " own favour:",
            *(f"  {change.what}{favour[change.favours]}" for change in changes),
            f"  what {self.base.revision} planned is established below the smaller threshold of both;"
            f" {self.base.revision}'s is {format_threshold(then.threshold)}",
        ]
        return lines, favouring > 0

    @contextlib.contextmanager
    def _named_by_git(self) -> Iterator[None]:
        """Name files of the base as git does, ``commit:path``: the copies are gone when that is read."""
        try:
            yield
        except RetrievalError as error:
            text = str(error).replace(f"{self._folder}{os.sep}", f"{self.base.commit[:10]}:")
            raise SettingsError(f"at {self.label}: {text}") from None

    def _has(self, name: str) -> bool:
        return self.base.pins is not None or name in self.goldsets.folders

    def rules(self, goldset: GoldSet) -> GoldSet:
        """Return today's gold set with the tolerance, alpha and min_judged of the base."""
        if goldset.name not in self.goldsets.folders:
            return goldset
        then = self.goldset(goldset.name)
        return replace(
            goldset,
            tolerance=then.tolerance,
            alpha=then.alpha,
            min_judged=then.min_judged,
            unjudged=then.unjudged,
        )

    def close(self) -> None:
        """Remove the copies."""
        shutil.rmtree(self._folder, ignore_errors=True)


def plan_changes(then: Plan, now: Plan | None) -> list[BranchChange]:
    """Return what changed about a plan between a base and today.

    Parameters
    ----------
    then, now
        As locked at the base and today; None where nothing is locked any more.
    """
    changes = []
    for planned in then.comparisons:
        entry = None if now is None else now.find(planned.name)
        if entry is None:
            changes.append(BranchChange(f"{planned.name!r} is no longer planned", True))
        elif entry.split != planned.split:
            splits = f"the split {planned.split!r} → {entry.split!r}"
            changes.append(BranchChange(f"{planned.name!r} is about {splits}", True))
        else:
            changes += _other_content(planned, entry)
    if now is not None:
        added = [planned.name for planned in now.comparisons if then.find(planned.name) is None]
        changes += [BranchChange(f"{name!r} is planned", False) for name in added]
        lost = [reason for reason in then.reasons if reason not in now.reasons]
        changes += [BranchChange(f"the reason {reason!r} is gone from the plan", True) for reason in lost]
        if now.alpha != then.alpha:
            changes.append(BranchChange(f"alpha {then.alpha:g} → {now.alpha:g}", now.alpha > then.alpha))
    return changes


def _other_content(then: Planned, now: Planned) -> list[BranchChange]:
    """Return what a planned comparison compares that it did not compare at the base."""
    changes = []
    if then.measure != now.measure:
        changes.append(
            BranchChange(f"{then.name!r} compares {then.measure or '?'} → {now.measure or '?'}", True)
        )
    if (then.a, then.b) != (now.a, now.b):
        sides = " → ".join(f"{one.a or '?'} with {one.b or '?'}" for one in (then, now))
        changes.append(BranchChange(f"{then.name!r} compares {sides}", True))
    if then.given != now.given:
        sides = " → ".join(one.origin for one in (then, now))
        changes.append(BranchChange(f"{then.name!r} compares {sides}", bool(now.given)))
    if (then.queries, then.judgments) != (now.queries, now.judgments):
        number = (
            f"{then.queries} queries → {now.queries}" if then.queries != now.queries else "other judgments"
        )
        changes.append(BranchChange(f"{then.name!r} is about {number}", False))
    return changes


def as_strict(pins: Pins, then: Pins) -> Pins:
    """Return a branch's pins with the tolerances and rules of the base: a reason excuses no wider ones."""
    cells = {
        cell: replace(pin, tolerance=then.cells[cell].tolerance, rule=then.cells[cell].rule)
        for cell, pin in pins.cells.items()
        if cell in then.cells
    }
    return Pins(cells, pins.evidence)


def accepted(
    verdicts: Mapping[Cell, Verdict], own: Mapping[Cell, Verdict], then: Pins, now: Pins
) -> dict[Cell, Verdict]:
    """Return verdicts in which what the branch gave up openly is held, and says so.

    That is a fall that it pinned with a reason, as far as it pinned it, a cell that it took out and pinned
    away, and one that goes by chunks which are cut otherwise than at the base, judged by its own pins.

    Parameters
    ----------
    verdicts, own
        By the pins of the base, and by those of the branch.
    then, now
        The pins of both.
    """
    found = {}
    for cell, verdict in verdicts.items():
        note = ""
        if verdict.is_rechunked and cell in own and own[cell].passes:
            reason = lowered_with_reason(cell, then, now)
            said = f"{cell} can be judged by the pins of this branch alone, and they were accepted"
            note = f"{said}: {reason}" if reason else said
            found[cell] = replace(own[cell], notes=(*own[cell].notes, note))
            continue
        if verdict.status == VANISHED:
            note = "" if cell in now.cells else f"{cell} was taken out on this branch and accepted"
        elif verdict.status in (REGRESSED, UNDECIDED) and cell in own and own[cell].passes:
            reason = lowered_with_reason(cell, then, now)
            note = f"{cell} was lowered on this branch and accepted: {reason}" if reason else ""
        found[cell] = replace(verdict, status=HELD, notes=(*verdict.notes, note)) if note else verdict
    return found
