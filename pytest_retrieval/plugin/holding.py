"""Holding planned tests against what was locked, once the tests are collected.

A test that may not run is replaced, in its place and under its node id, by an item that only says why: so
nothing is retrieved for it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, final

import pytest

from pytest_retrieval.errors import RetrievalError
from pytest_retrieval.files.plan import PLAN, Plan, Planned
from pytest_retrieval.plugin.comparing import NOTES, TASK, Notes, Task
from pytest_retrieval.plugin.intents import LOCK, WHY, Intent, changed_before, never, totals
from pytest_retrieval.plugin.plan_items import PlanFile, PlanItem
from pytest_retrieval.stats.thresholds import format_threshold

if TYPE_CHECKING:
    from pytest_retrieval.plugin.against import Against
    from pytest_retrieval.plugin.plans import Plans
    from pytest_retrieval.plugin.session import Session

__all__ = ["Holding"]


@final
class Holding:
    """The planned tests that one process collected, beside the plans.

    Parameters
    ----------
    session, plans
        What knows the gold sets, and what was locked for them.
    collected
        The session of pytest that collected the tests.
    intents
        What the planned tests intend.
    """

    def __init__(
        self, session: Session, plans: Plans, collected: pytest.Session, intents: Mapping[pytest.Item, Intent]
    ) -> None:
        self._session = session
        self._plans = plans
        self._collected = collected
        self._intents = intents
        folders = session.goldsets.folders
        locked = {name: plan for name in folders if (plan := plans.get(name)) is not None}
        self._gone = {name: self._gone_of(name, plan) for name, plan in locked.items()}
        self._after = self._would_be()

    def hold(self, items: list[pytest.Item]) -> None:
        """Replace planned tests that may not run, and add an item for each comparison that has no test."""
        for place, item in enumerate(items):
            if item in self._intents:
                items[place] = self._held(item, self._intents[item])
        if self._session.against is not None and self._session.collecting.is_whole:
            items += self._changed_plans(self._session.against)
        for name in sorted(self._gone):
            items += [self._vanished(name, planned) for planned in self._gone[name]]

    def _gone_of(self, goldset: str, plan: Plan) -> tuple[Planned, ...]:
        """Return the locked comparisons that no test makes any more, as far as this session can know."""
        collecting = self._session.collecting
        if not collecting.is_whole:
            return ()
        try:
            self._session.goldsets.get(goldset)
        except RetrievalError:
            return ()  # its tests fail, and say why
        folder = self._session.goldsets.home(goldset)
        there = {
            intent.planned.name
            for intent in self._intents.values()
            if intent.planned and intent.goldset == goldset
        }
        unclear = {item.path for item, intent in self._intents.items() if intent.planned is None}
        missing = []
        for planned in plan.comparisons:
            path = Path(os.path.normpath(folder / planned.file))
            if planned.name not in there and collecting.saw(path) and path not in unclear:
                missing.append(planned)
        return tuple(missing)

    def _would_be(self) -> dict[str, Plan]:
        """Return what each plan would be if everything found were locked."""
        found: dict[str, list[Planned]] = defaultdict(list)
        for intent in self._intents.values():
            if intent.planned is not None:
                found[intent.goldset].append(intent.planned)
        after = {}
        for name in {*found, *self._gone}:
            plan = self._plans.get(name) or Plan(self._session.goldsets.get(name).alpha)
            after[name] = plan.locked(found[name], [planned.name for planned in self._gone.get(name, ())])
        return after

    def _held(self, item: pytest.Item, intent: Intent) -> pytest.Item:
        """Return a planned test as it may run, or the item that says why it may not."""
        locking = bool(self._session.settings.lock)
        if intent.planned is None:
            return PlanItem.in_place_of(item, intent.problem, Notes(intent.goldset) if locking else None)
        name, planned = intent.goldset, intent.planned
        task = self._to_lock(name, planned) if locking else self._to_run(name, planned)
        notes = Notes(name, planned.name)
        if isinstance(task, str):
            return PlanItem.in_place_of(item, task, notes if locking else None)
        if locking and task.locked is not None and task.locked.before_it_ran == planned:
            notes.lock = task.locked  # stays so where its measure and sides cannot be learned
        item.stash[TASK], item.stash[NOTES] = task, notes
        return item

    def _to_lock(self, goldset: str, planned: Planned) -> Task | str:
        """Return what a test has to tell before it is locked, or why it cannot be."""
        plan, would_be = self._plans.get(goldset), self._after[goldset]
        entry = None if plan is None else plan.find(planned.name)
        free = plan is None or bool(self._session.settings.reason)
        problem = never(self._session.goldsets.get(goldset), planned, would_be.threshold)
        if plan is not None and not problem and not free:
            problem = self._unreasoned(goldset, plan, entry, planned)
        return problem or Task(goldset, planned, would_be, would_be.threshold, True, entry, free)

    def _to_run(self, goldset: str, planned: Planned) -> Task | str:
        """Return what a test has to establish, or why it must not."""
        plan = self._plans.get(goldset)
        if plan is not None and plan.is_loosened:
            return f"{_loosened(goldset, plan)}:  {LOCK}{WHY}"
        entry = None if plan is None else plan.find(planned.name)
        if plan is None or entry is None:
            return (
                f"{goldset}: {planned.name!r} is not locked, so it is not planned. Lock it before you look at"
                f" results:  {LOCK}{WHY if plan is not None else ''}\nthe plan would then hold"
                f" {totals(self._after, goldset)}"
            )
        threshold = self._threshold(goldset, planned, plan)
        problem = never(self._session.goldsets.get(goldset), planned, threshold)
        if not problem and entry.before_it_ran != planned:
            problem = f"{changed_before(goldset, entry, planned)}:  {LOCK}{WHY}"
        return problem or Task(goldset, entry, plan, threshold)

    def _threshold(self, goldset: str, planned: Planned, plan: Plan) -> float:
        """Return what p must be below: as the plan says and, against a base, also as it said there."""
        then = None if self._session.against is None else self._session.against.plan(goldset)
        if then is None or then.find(planned.name) is None:
            return plan.threshold
        return min(plan.threshold, then.threshold)

    def _changed_plans(self, against: Against) -> list[pytest.Item]:
        """Return an item for each plan that this branch changed in its own favour; note other changes."""
        items: list[pytest.Item] = []
        for name in self._session.goldsets.folders:
            lines, favours = against.plan_lines(name, self._plans.get(name))
            if favours and not self._session.settings.accept_lowered:
                parent = PlanFile.from_parent(self._collected, path=self._session.goldsets.home(name) / PLAN)
                message = "\n".join([*lines, "if a reviewer agrees:  add --retrieval-accept-lowered"])
                items.append(PlanItem.from_parent(parent, name="changed", message=message))
            else:
                self._plans.told += lines
        return items

    def _unreasoned(self, goldset: str, plan: Plan, entry: Planned | None, planned: Planned) -> str:
        """Return what about a locked plan would change without a reason, or an empty string."""
        if plan.is_loosened:
            what = _loosened(goldset, plan)
        elif entry is None:
            what = f"{goldset}: {planned.name!r} would be added to a plan that is locked"
        elif entry.before_it_ran != planned:
            what = changed_before(goldset, entry, planned)
        else:
            return ""
        return (
            f"{what}. Say why, every result will print it:  {LOCK}{WHY}\nthe plan would then hold"
            f" {totals(self._after, goldset)}"
        )

    def _vanished(self, goldset: str, planned: Planned) -> pytest.Item:
        """Return the item of a locked comparison that has no test."""
        parent = PlanFile.from_parent(self._collected, path=self._session.goldsets.home(goldset) / PLAN)
        text = f"{goldset}: {planned.name!r} is locked, and its test {planned.owner} is gone"
        then = f"the plan would then hold {totals(self._after, goldset)}"
        settings = self._session.settings
        notes: Notes | None
        if settings.lock and settings.reason:
            notes = Notes(goldset, planned.name, gone=planned.name)
            return PlanItem.from_parent(
                parent, name=planned.name, message=f"{text}: taken out of the plan", notes=notes
            )
        message = f"{text}. Bring it back, or take it out of the plan and say why:  {LOCK}{WHY}\n{then}"
        notes = Notes(goldset, planned.name) if settings.lock else None
        return PlanItem.from_parent(parent, name=planned.name, message=message, notes=notes)


def _loosened(goldset: str, plan: Plan) -> str:
    """Return that a plan is looser than it was locked, as the beginning of a sentence."""
    return (
        f"{goldset}: {PLAN} gives the threshold {format_threshold(plan.threshold)}, and"
        f" {format_threshold(plan.locked_threshold or 0)} was locked: alpha was raised, or a comparison taken"
        " out, by hand. Put it back, or lock the change and say why"
    )
