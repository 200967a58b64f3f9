"""Planned comparisons in a session: what is known of them, what they found, and what a summary says of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, final

import pytest

from pytest_retrieval import assertions
from pytest_retrieval.errors import RetrievalError, SettingsError, Unavailable, counted
from pytest_retrieval.files.content import label_of
from pytest_retrieval.files.plan import PLAN
from pytest_retrieval.plugin.comparing import NOTES, TASK, Comparing, Notes, is_locking
from pytest_retrieval.plugin.ending import fail_session
from pytest_retrieval.plugin.holding import Holding
from pytest_retrieval.plugin.intents import TEST, intents_of
from pytest_retrieval.plugin.items import fail, skip
from pytest_retrieval.plugin.plans import Plans
from pytest_retrieval.plugin.xdist import is_worker
from pytest_retrieval.report.plan import exploratory_lines, look_lines, noisy_lines, planned_lines

if TYPE_CHECKING:
    from pytest_retrieval.files.plan import Plan
    from pytest_retrieval.model.qrels import Qrels
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
        self._plans = Plans(session)
        self._selected = 0
        self._marked: set[str] = set()
        self._node: pytest.Item | None = None
        self._notes: dict[str, dict[str, Any]] = {}
        assertions.observers.append(self._note_look)

    @pytest.fixture
    def compare(self, request: pytest.FixtureRequest, goldset: Any) -> Comparing:
        """Compare two systems on the gold set's test split: planned if the test is, else exploratory."""
        from pytest_retrieval.model.goldset import GoldSet

        if not isinstance(goldset, GoldSet):
            fail(
                f"`compare` needs a gold set, and the fixture `goldset` of this test returned"
                f" {type(goldset).__name__}: a fixture of that name of your own hides the plugin's"
            )
        known = goldset.name in self._session.goldsets.folders
        plan = self._plans.get(goldset.name) if known else None
        alpha = goldset.alpha if plan is None else plan.alpha
        return Comparing(request.node, goldset, alpha, self._session.retrievals.returned)

    def pytest_unconfigure(self) -> None:
        """Stop listening to the assertion helpers."""
        assertions.observers.remove(self._note_look)

    def pytest_sessionstart(self) -> None:
        """Refuse a plan.toml that cannot be used, before anything else happens."""
        if is_worker(self._session.config):
            return
        try:
            for name in self._session.goldsets.folders:
                self._plans.get(name)
                if self._session.against is not None:
                    self._session.against.plan(name)
        except SettingsError as error:
            raise pytest.UsageError(str(error)) from error

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Replace planned tests that may not run, and add an item for each comparison that has no test."""
        intents = intents_of(self._session, items)
        self._marked = {intent.goldset for intent in intents.values() if intent.planned is not None}
        Holding(self._session, self._plans, session, intents).hold(items)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the comparisons that this process was told to lock."""
        if self._session.settings.lock:
            self._selected = sum(NOTES in item.stash for item in session.items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Remember which test runs, and forget what an earlier try of it compared."""
        self._node = item
        if NOTES in item.stash:
            item.stash[NOTES].forget_try()

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
            if notes.refused and report.skipped:  # expected to fail, and no such mark was locked
                report.outcome, report.longrepr = "failed", notes.refused
                report.__dict__.pop("wasxfail", None)
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
            for nodeid, text in self._plans.write(self._notes, self._selected):
                fail_session(session, f"{nodeid.partition('[')[0]}[plan_not_written]", text)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print what was compared, what of a plan did not run, and who looked at the test split."""
        lines = self._summary()
        if lines:
            terminalreporter.section("planned comparisons")
            for line in lines:
                terminalreporter.write_line(line)

    def _note_look(self, what: str, qrels: Qrels) -> None:
        """Note that an assertion helper looked at the test split."""
        splits = qrels.splits or {}
        seen = sum(splits.get(query_id) == TEST for query_id in qrels.query_ids)
        if seen and self._node is not None:
            notes = self._node.stash.setdefault(NOTES, Notes())
            notes.looks.append(f"{what} over {counted(seen, 'test query', 'test queries')}")

    def _place(self, goldset: str) -> str:
        """Return where a plan stands, or an empty string where that is beside its gold set."""
        goldsets = self._session.goldsets
        return "" if goldsets.pins_root is None else label_of(goldsets.home(goldset) / PLAN)

    def _noisy(self, goldset: str, plan: Plan) -> list[str]:
        """Return the sides of a plan whose pins say that they differ from call to call."""
        sides = {side for planned in plan.comparisons for side in (planned.a, planned.b)}
        with contextlib.suppress(RetrievalError):  # the gate's tests say why the pins cannot be read
            cells = self._session.goldsets.pins(goldset).cells
            return sorted({cell.subject for cell, pin in cells.items() if pin.retrievals} & sides)
        return []

    def _summary(self) -> list[str]:
        lines = list(self._plans.told)
        if not self._session.settings.lock:
            details = self._session.settings.details
            of_notes = {note["goldset"] for note in self._notes.values() if note["goldset"]}
            for name in sorted(of_notes | self._marked):
                notes = [note for note in self._notes.values() if note["goldset"] == name]
                plan = self._plans.get(name)
                if plan is not None and plan.comparisons:
                    lines += planned_lines(name, plan, notes, self._place(name), details=details)
                    lines += noisy_lines(name, self._noisy(name, plan))
            lines += exploratory_lines(list(self._notes.values()))
        return [*lines, *look_lines(self._notes, details=self._session.settings.details)]


def _refuse_skipped(report: pytest.TestReport, item: pytest.Item) -> None:
    """Fail a test that was to tell what it compares and was skipped, unless it is locked already."""
    notes = item.stash[NOTES]
    if report.skipped and notes.lock is None:
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = (
            f"{notes.name}: skipped here, so what it compares is not known, and it cannot be locked: {why}"
        )
