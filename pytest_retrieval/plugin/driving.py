"""The hooks that drive a session: from the options of its start to the pins and the summary at its end."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, final

import pytest

from pytest_retrieval.errors import SettingsError, Unavailable
from pytest_retrieval.plugin import fixtures, markers, vanishing
from pytest_retrieval.plugin.checking import GATE
from pytest_retrieval.plugin.ending import fail_session
from pytest_retrieval.plugin.items import GateItem, skip
from pytest_retrieval.plugin.ledger import Ledger
from pytest_retrieval.plugin.payload import PAYLOAD, payload_of
from pytest_retrieval.plugin.planning import Planning
from pytest_retrieval.plugin.session import SESSION, Session
from pytest_retrieval.plugin.tracebacks import Tracebacks
from pytest_retrieval.plugin.xdist import Sharing, is_worker

__all__ = ["start"]


def start(
    config: pytest.Config,
    folders: Sequence[Path],
    recordings: Sequence[Path],
    folders_below: Callable[[Path], Sequence[Path]],
) -> None:
    """Make the session and register everything that a project with gold sets or recordings gets."""
    session = Session(config, folders, recordings, folders_below)
    config.stash[SESSION] = session
    config.pluginmanager.register(fixtures, "retrieval-fixtures")
    config.pluginmanager.register(session.collecting, "retrieval-collecting")
    config.pluginmanager.register(Driving(session), "retrieval-session")
    config.pluginmanager.register(Planning(session, _gate_cell), "retrieval-planning")
    config.pluginmanager.register(Tracebacks(), "retrieval-tracebacks")
    if config.pluginmanager.has_plugin("xdist"):
        config.pluginmanager.register(Sharing(), "retrieval-sharing")


@final
class Driving:
    """Drives one process's session by pytest's hooks."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._ledger = Ledger()
        self._selected = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Refuse options, ini values and TOML files that cannot be used, before anything else happens."""
        if is_worker(self._session.config):
            return
        try:
            default, folders = self._session.settings.default, self._session.goldsets.folders
            if default and default not in folders and not self._session.settings.skip_missing:
                raise SettingsError(
                    f"retrieval_goldset = {default}: there is no such gold set; there are"
                    f" {', '.join(folders) or 'none'}"
                )
            self._session.goldsets.check_files()
            if self._session.against is not None:
                self._session.against.check_files()
        except SettingsError as error:
            raise pytest.UsageError(str(error)) from error

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Give tests their gold sets and gate tests their cells."""
        markers.generate(metafunc, self._session)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Let ``-k`` find a cell by the names of its parts."""
        gated = _gate_item(item)
        if gated is None:
            return
        item.extra_keyword_matches.update(gated.keywords)
        if gated.problem:
            self._session.problems |= {gated.goldset, item.nodeid.partition("[")[0]}
        if gated.cell is not None:
            self._session.owners.setdefault((gated.goldset, gated.cell), []).append(item.nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        """Let tests of one gold set follow each other, so that what they share is made once.

        pytest 9 does so by itself; before it, an index was built again whenever the gold set changed. Tests
        that use no gold set keep their places.
        """
        items += vanishing.vanished_gates(self._session, session, items)
        result = yield
        markers.grouped(items)
        return result

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the gate items that this process was told to run."""
        self._selected = sum(_gate_item(item) is not None for item in session.items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Remember which test runs."""
        self._session.begin(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        """Remember which fixture made a set of retrievers."""
        value = yield
        if fixturedef.argname == "retrievers":
            self._session.retrievals.note_place(value, f"{fixturedef.baseid}::{fixturedef.func.__qualname__}")
        return value

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Skip a test whose retriever is unavailable; fail one that took the gate and never asked it."""
        try:
            result = yield
        except Unavailable as unavailable:
            if self._session.settings.fail_unavailable:
                raise
            skip(f"unavailable: {unavailable.reason}")
        gate = pyfuncitem.stash.get(GATE, None)
        if gate is not None and not gate.checked:
            pytest.fail(
                "this test takes `gate` and never calls gate.check(): nothing was judged", pytrace=False
            )
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let an item's payload ride on its report, which outlives a worker that crashes later."""
        report = yield
        ended = report.when == "call" or (report.when == "setup" and report.skipped)
        if ended and (_gate_item(item) is not None or PAYLOAD in item.stash):
            payload = item.stash.get(PAYLOAD, payload_of(""))
            report.retrieval = {**payload, "selected": self._selected}  # type: ignore[attr-defined]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of what an item of this process or of a worker reports."""
        payload: dict[str, Any] | None = getattr(report, "retrieval", None)
        if payload is not None and not is_worker(self._session.config):
            self._ledger.add(report.nodeid, payload, payload["selected"])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int | pytest.ExitCode) -> None:
        """Write the pins, if that was asked for and everything that was selected has reported.

        Only now is it known whether they can be written.
        """
        self._session.retrievals.close()
        if is_worker(self._session.config) or not self._session.settings.pin:
            return
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            self._ledger.lines.append("pins not written: the session did not come to its end")
            return
        kinds = [
            kind for kinds in self._session.config.hook.pytest_retrieval_measures() for kind in kinds or ()
        ]
        failed = exitstatus != pytest.ExitCode.OK
        self._ledger.pin(self._session.goldsets, kinds, self._session.settings.reason, failed=failed)
        for nodeid, text in self._ledger.unwritten:
            fail_session(session, nodeid, text)

    def pytest_unconfigure(self) -> None:
        """Remove the copies of a base; where nobody asked for one, none is made."""
        self._session.close()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the table of cells, where any cell was judged."""
        lines = self._ledger.summary()
        if lines:
            terminalreporter.section("retrieval")
        for line in lines:
            terminalreporter.write_line(line)


def _gate_item(item: pytest.Item) -> GateItem | None:
    """Return what an item of a gate test stands for, None for any other test."""
    callspec = getattr(item, "callspec", None)
    gated = callspec.params.get("gate") if callspec is not None else None
    return gated if isinstance(gated, GateItem) else None


def _gate_cell(item: pytest.Item) -> tuple[str, str] | None:
    """Return the gold set and the words for the cell of a gate item, None for any other test."""
    gated = _gate_item(item)
    return (gated.goldset, str(gated.cell)) if gated is not None and gated.cell is not None else None
