"""Planned comparisons in a session: holding tests against the plan, locking it, and saying what it found.

Whatever is wrong with a plan is known once the tests are collected. A test that may not run is then replaced,
in its place and under its node id, by an item that only says why: so nothing is retrieved for it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import pytest

from pytest_retrieval import assertions
from pytest_retrieval.errors import RetrievalError, SettingsError, Unavailable
from pytest_retrieval.files.plan import PLAN, Plan, Planned, load_plan, parse_plan, save_plan
from pytest_retrieval.files.revision import committed
from pytest_retrieval.plugin.comparing import NOTES, TASK, Comparing, Notes, Task, is_locking
from pytest_retrieval.plugin.ending import fail_session
from pytest_retrieval.plugin.intents import (
    LOCK,
    TEST,
    WHY,
    Intent,
    changed,
    intents_of,
    never,
    totals,
)
from pytest_retrieval.plugin.items import skip
from pytest_retrieval.plugin.xdist import is_worker
from pytest_retrieval.report.plan import exploratory_lines, look_lines, planned_lines
from pytest_retrieval.stats.thresholds import format_threshold

if TYPE_CHECKING:
    from pytest_retrieval.model import GoldSet, Qrels
    from pytest_retrieval.plugin.against import Against
    from pytest_retrieval.plugin.session import Session

__all__ = ["Planning"]

_PLANNED = "pytest_retrieval_planned"


@final
class Planning:
    """The plans of one process's session.

    Parameters
    ----------
    session
        What knows the gold sets.
    gate_cell
        Function from an item to the gold set and the words for the cell that it judges, None for another.
    """

    def __init__(self, session: Session, gate_cell: Callable[[pytest.Item], tuple[str, str] | None]) -> None:
        self._session = session
        self._gate_cell = gate_cell
        self._plans: dict[str, Plan | None] = {}
        self._selected = 0
        self._marked: set[str] = set()
        self._node: pytest.Item | None = None
        self._notes: dict[str, dict[str, Any]] = {}
        self._told: list[str] = []
        assertions.observers.append(self._note_look)

    @pytest.fixture
    def compare(self, request: pytest.FixtureRequest, goldset: GoldSet) -> Comparing:
        """Compare two systems on the gold set's test split: planned if the test is, else exploratory."""
        plan = self._plan(goldset.name)
        return Comparing(request.node, goldset, goldset.alpha if plan is None else plan.alpha)

    def pytest_unconfigure(self) -> None:
        """Stop listening to the assertion helpers."""
        assertions.observers.remove(self._note_look)

    def pytest_sessionstart(self) -> None:
        """Refuse a plan.toml that cannot be used, before anything else happens."""
        if is_worker(self._session.config):
            return
        try:
            for name in self._session.goldsets.folders:
                self._plan(name)
                if self._session.against is not None:
                    self._session.against.plan(name)
        except SettingsError as error:
            raise pytest.UsageError(str(error)) from error

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Replace planned tests that may not run, and add an item for each comparison that has no test."""
        intents = intents_of(self._session, items)
        self._marked = {intent.goldset for intent in intents.values() if intent.planned is not None}
        plans = {name: self._plan(name) for name in self._session.goldsets.folders}
        gone = {name: self._gone(name, plan, intents) for name, plan in plans.items() if plan is not None}
        after = self._after(plans, intents, gone)
        for place, item in enumerate(items):
            if item in intents:
                items[place] = self._held(item, intents[item], after)
        if self._session.against is not None and self._session.collecting.is_whole:
            items += self._changed_plans(session, self._session.against)
        for name in sorted(gone):
            items += [self._vanished(session, name, planned, after) for planned in gone[name]]

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the comparisons that this process was told to lock."""
        if self._session.settings.lock:
            self._selected = sum(NOTES in item.stash for item in session.items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Remember which test runs."""
        self._node = item

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Fail a planned test that never compared; skip one whose retriever is unavailable."""
        task = item.stash.get(TASK, None)
        try:
            result = yield
        except Unavailable as unavailable:
            if task is None or task.locking or self._session.settings.fail_unavailable:
                raise
            skip(f"{task.planned.name}: not compared, a retriever is unavailable: {unavailable.reason}")
        if task is not None and (NOTES not in item.stash or item.stash[NOTES].planned is None):
            pytest.fail(
                f"{task.planned.name}: this test never compared, so nothing was established: take the fixture"
                " `compare` (a fixture of that name of your own hides it) and call compare(a, b, measure)",
                pytrace=False,
            )
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let what an item compared ride on its report, and show a failing test's comparison in full."""
        report = yield
        locking = is_locking(item)
        if locking:
            _refuse_skipped(report, item)
        elif report.when != "call":
            return report
        cell = self._gate_cell(item)
        if cell is not None and TEST in (self._session.goldsets.get(cell[0]).gate_splits or ()):
            item.stash.setdefault(NOTES, Notes(cell[0])).looks.append(f"gate on {cell[1]}")
        notes = item.stash.get(NOTES, None)
        if notes is not None:
            if report.failed:
                notes.lock = None
            report.retrieval_plan = {**notes.plain(), "selected": self._selected}  # type: ignore[attr-defined]
            if report.failed and notes.planned is not None:
                report.sections.append(("planned comparison", str(notes.planned)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of what an item of this process or of a worker reports."""
        notes: dict[str, Any] | None = getattr(report, "retrieval_plan", None)
        if notes is not None and not is_worker(self._session.config):
            self._notes[report.nodeid] = notes

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Learn of which gold sets a worker collected planned comparisons."""
        self._marked |= set(getattr(node, "workeroutput", {}).get(_PLANNED, ()))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the plans, if that was asked for and everything that was selected has reported."""
        if is_worker(self._session.config):
            session.config.workeroutput[_PLANNED] = sorted(self._marked)  # type: ignore[attr-defined]
        elif self._session.settings.lock:
            for nodeid, text in self._lock():
                fail_session(session, f"{nodeid.partition('[')[0]}[plan_not_written]", text)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print what was compared, what of a plan did not run, and who looked at the test split."""
        lines = self._summary()
        if lines:
            terminalreporter.section("planned comparisons")
            for line in lines:
                terminalreporter.write_line(line)

    def _plan(self, goldset: str) -> Plan | None:
        """Return the plan of a gold set, read once; while locking, one that was removed is not forgotten."""
        if goldset not in self._plans:
            home = self._session.goldsets.home(goldset)
            plan = load_plan(home)
            if plan is None and self._session.settings.lock:
                plan = self._removed(goldset, home / PLAN)
            self._plans[goldset] = plan
        return self._plans[goldset]

    def _removed(self, goldset: str, path: Path) -> Plan | None:
        """Return the plan that the last commit has and the folder has not."""
        data = committed(path)
        if data is None:
            return None
        self._told.append(f"{goldset}: {PLAN} is gone here; what the last commit has counts as locked")
        try:
            return parse_plan(data, f"{PLAN} of the last commit")
        except SettingsError:  # it was there, so a reason is needed, whatever it held
            return Plan(self._session.goldsets.get(goldset).alpha)

    def _note_look(self, what: str, qrels: Qrels) -> None:
        """Note that an assertion helper looked at the test split."""
        splits = qrels.splits or {}
        seen = sum(splits.get(query_id) == TEST for query_id in qrels.query_ids)
        if seen and self._node is not None:
            notes = self._node.stash.setdefault(NOTES, Notes())
            notes.looks.append(f"{what} over {seen} test quer{'y' if seen == 1 else 'ies'}")

    def _gone(self, goldset: str, plan: Plan, intents: Mapping[pytest.Item, Intent]) -> tuple[Planned, ...]:
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
            intent.planned.name for intent in intents.values() if intent.planned and intent.goldset == goldset
        }
        unclear = {item.path for item, intent in intents.items() if intent.planned is None}
        missing = []
        for planned in plan.comparisons:
            path = Path(os.path.normpath(folder / planned.file))
            if planned.name not in there and collecting.saw(path) and path not in unclear:
                missing.append(planned)
        return tuple(missing)

    def _after(
        self,
        plans: Mapping[str, Plan | None],
        intents: Mapping[pytest.Item, Intent],
        gone: Mapping[str, tuple[Planned, ...]],
    ) -> dict[str, Plan]:
        """Return what each plan would be if everything found were locked."""
        found: dict[str, list[Planned]] = defaultdict(list)
        for intent in intents.values():
            if intent.planned is not None:
                found[intent.goldset].append(intent.planned)
        after = {}
        for name in {*found, *gone}:
            plan = plans[name] or Plan(self._session.goldsets.get(name).alpha)
            after[name] = plan.locked(found[name], [planned.name for planned in gone.get(name, ())])
        return after

    def _held(self, item: pytest.Item, intent: Intent, after: Mapping[str, Plan]) -> pytest.Item:
        """Return a planned test as it may run, or the item that says why it may not."""
        if intent.planned is None:
            return PlanItem.in_place_of(item, intent.problem)
        name, planned = intent.goldset, intent.planned
        plan, would_be = self._plan(name), after[name]
        entry = None if plan is None else plan.find(planned.name)
        goldset = self._session.goldsets.get(name)
        if self._session.settings.lock:
            problem = never(goldset, planned, would_be.threshold) or self._unreasoned(
                name, entry, planned, after
            )
            if problem:
                return PlanItem.in_place_of(item, problem, Notes(name, planned.name))
            free = plan is None or bool(self._session.settings.reason)
            item.stash[TASK] = Task(name, planned, would_be, would_be.threshold, True, entry, free)
            item.stash[NOTES] = Notes(name, planned.name, lock=_kept(entry, planned))
            return item
        if plan is not None and plan.is_loosened:
            return PlanItem.in_place_of(item, f"{_loosened(name, plan)}:  {LOCK}{WHY}")
        if plan is None or entry is None:
            why = WHY if plan is not None else ""
            return PlanItem.in_place_of(
                item,
                f"{name}: {planned.name!r} is not locked, so it is not planned. Lock it before you look at"
                f" results:  {LOCK}{why}\nthe plan would then hold {totals(after, name)}",
            )
        threshold = self._threshold(name, planned, plan)
        problem = never(goldset, planned, threshold)
        if problem:
            return PlanItem.in_place_of(item, problem)
        if entry.before_it_ran != planned:
            as_locked = replace(planned, measure=entry.measure, a=entry.a, b=entry.b)
            return PlanItem.in_place_of(item, changed(name, entry, as_locked) + f":  {LOCK}{WHY}")
        item.stash[TASK] = Task(name, entry, plan, threshold)
        item.stash[NOTES] = Notes(name, planned.name)
        return item

    def _threshold(self, goldset: str, planned: Planned, plan: Plan) -> float:
        """Return what p must be below: as the plan says and, against a base, also as it said there."""
        then = None if self._session.against is None else self._session.against.plan(goldset)
        if then is None or then.find(planned.name) is None:
            return plan.threshold
        return min(plan.threshold, then.threshold)

    def _changed_plans(self, session: pytest.Session, against: Against) -> list[pytest.Item]:
        """Return an item for each plan that this branch changed in its own favour; note other changes."""
        items: list[pytest.Item] = []
        for name in self._session.goldsets.folders:
            lines, favours = against.plan_lines(name, self._plan(name))
            if favours and not self._session.settings.accept_lowered:
                parent = PlanFile.from_parent(session, path=self._session.goldsets.home(name) / PLAN)
                message = "\n".join([*lines, "if a reviewer agrees:  add --retrieval-accept-lowered"])
                items.append(PlanItem.from_parent(parent, name="changed", message=message))
            else:
                self._told += lines
        return items

    def _unreasoned(
        self, goldset: str, entry: Planned | None, planned: Planned, after: Mapping[str, Plan]
    ) -> str:
        """Return why a comparison cannot be locked now, or an empty string."""
        plan = self._plan(goldset)
        if plan is None or self._session.settings.reason:
            return ""
        if plan.is_loosened:
            what = _loosened(goldset, plan)
        elif entry is None:
            what = f"{goldset}: {planned.name!r} would be added to a plan that is locked"
        elif entry.before_it_ran != planned:
            what = changed(goldset, entry, replace(planned, measure=entry.measure, a=entry.a, b=entry.b))
        else:
            return ""
        return (
            f"{what}. Say why, every result will print it:  {LOCK}{WHY}\nthe plan would then hold"
            f" {totals(after, goldset)}"
        )

    def _vanished(
        self, session: pytest.Session, goldset: str, planned: Planned, after: Mapping[str, Plan]
    ) -> pytest.Item:
        """Return the item of a locked comparison that has no test."""
        parent = PlanFile.from_parent(session, path=self._session.goldsets.home(goldset) / PLAN)
        text = f"{goldset}: {planned.name!r} is locked, and its test {planned.owner} is gone"
        then = f"the plan would then hold {totals(after, goldset)}"
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

    def _lock(self) -> list[tuple[str, str]]:
        """Write every plan that changed; return a planned test and the reason for each that cannot be."""
        notes = [note for note in self._notes.values() if note["lock"] or note["gone"]]
        most = max([self._selected, *(note["selected"] for note in self._notes.values())])
        if len(notes) < most:
            self._told.append(f"plans not written: {len(notes)} of {most} planned comparisons can be locked")
            return []
        unwritten = []
        if not notes:
            self._told.append("nothing to lock: no test that was selected is marked planned_comparison")
        for name in sorted({note["goldset"] for note in notes}):
            of_goldset = [note for note in notes if note["goldset"] == name]
            try:
                self._lock_one(
                    name,
                    [Planned(*note["lock"]) for note in of_goldset if note["lock"]],
                    [note["gone"] for note in of_goldset if note["gone"]],
                )
            except (RetrievalError, OSError) as error:
                self._told.append(f"{name}: plan not written: {error}")
                test = next(nodeid for nodeid, note in self._notes.items() if note["goldset"] == name)
                unwritten.append((test, self._told[-1]))
        return unwritten

    def _lock_one(self, name: str, found: list[Planned], gone: list[str]) -> None:
        old = self._plan(name)
        plan = old or Plan(self._session.goldsets.get(name).alpha)
        new = plan.locked(found, gone)
        home = self._session.goldsets.home(name)
        if old is not None and new.comparisons == old.comparisons and not old.is_loosened:
            self._told.append(f"{name}: nothing to lock; the plan is as it was: {totals({name: old}, name)}")
            if not (home / PLAN).exists():
                save_plan(home, old)
            return
        new = new.locked((), reason=self._session.settings.reason)
        save_plan(home, new)
        self._plans[name] = new
        self._told.append(
            f"{name}: locked {totals({name: new}, name)}; review and commit {PLAN}, then run pytest"
        )

    def _summary(self) -> list[str]:
        lines = list(self._told)
        if not self._session.settings.lock:
            details = self._session.settings.details
            of_notes = {note["goldset"] for note in self._notes.values() if note["goldset"]}
            for name in sorted(of_notes | self._marked):
                notes = [note for note in self._notes.values() if note["goldset"] == name]
                plan = self._plan(name)
                if plan is not None and plan.comparisons:
                    lines += planned_lines(name, plan, notes, details=details)
            lines += exploratory_lines(list(self._notes.values()))
        return [*lines, *look_lines(self._notes, details=self._session.settings.details)]


@final
class PlanFile(pytest.File):
    """The plan of a gold set, as the parent of items for comparisons that have no test."""

    def collect(self) -> list[pytest.Item]:
        """Return nothing: its items are made where the whole collection is known."""
        return []


@final
class PlanItem(pytest.Item):
    """An item whose outcome is known before it runs: it fails, or it is skipped where it locks a loss."""

    def __init__(
        self,
        *,
        message: str,
        notes: Notes | None = None,
        place: tuple[os.PathLike[str] | str, int | None, str] | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self._message = message
        self._place = place
        self._locks = notes is not None and bool(notes.gone)
        if notes is not None:
            self.stash[NOTES] = notes

    @classmethod
    def in_place_of(cls, item: pytest.Item, message: str, notes: Notes | None = None) -> PlanItem:
        """Return an item that stands where a test stood: same node id, markers and words for ``-k``."""
        assert item.parent is not None
        made: PlanItem = cls.from_parent(
            item.parent, name=item.name, message=message, notes=notes, place=item.reportinfo()
        )
        made.own_markers = [mark for mark in item.own_markers if mark.name not in ("skip", "skipif", "xfail")]
        made.keywords.update({mark.name: mark for mark in made.own_markers})
        made.extra_keyword_matches |= item.extra_keyword_matches
        return made

    def runtest(self) -> None:
        """Fail, or skip what was only taken out of a plan."""
        if self._locks:
            pytest.skip(self._message)
        pytest.fail(self._message, pytrace=False)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Return where the test that it stands for is."""
        return super().reportinfo() if self._place is None else self._place


def _kept(locked: Planned | None, planned: Planned) -> Planned | None:
    """Return what stays locked about a test whose measure and sides cannot be learned here."""
    return locked if locked is not None and locked.before_it_ran == planned else None


def _refuse_skipped(report: pytest.TestReport, item: pytest.Item) -> None:
    """Fail a test that was to tell what it compares and was skipped, unless it is locked already."""
    notes = item.stash[NOTES]
    if report.skipped and notes.lock is None:
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = (
            f"{notes.name}: skipped here, so what it compares is not known, and it cannot be locked: {why}"
        )


def _loosened(goldset: str, plan: Plan) -> str:
    """Return that a plan is looser than it was locked, as the beginning of a sentence."""
    return (
        f"{goldset}: {PLAN} gives the threshold {format_threshold(plan.threshold)}, and"
        f" {format_threshold(plan.locked_threshold or 0)} was locked: alpha was raised, or a comparison taken"
        " out, by hand. Put it back, or lock the change and say why"
    )
