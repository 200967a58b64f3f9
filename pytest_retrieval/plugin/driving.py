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
from pytest_retrieval.plugin.payload import FAILED, PAYLOAD, payload_of
from pytest_retrieval.plugin.planning import Planning
from pytest_retrieval.plugin.session import SESSION, Session
from pytest_retrieval.plugin.tracebacks import Tracebacks
from pytest_retrieval.plugin.xdist import Sharing, is_worker

__all__ = ["start"]

_OURS = frozenset({"gate", "goldset"})
"""Parameters of our own: retrievers that differ by them are told apart by the gold set's name."""


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
        self._hidden: dict[str, str] = {}

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

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Let fixtures of the project's own plugins take the place of ours, as those of a conftest do."""
        fixtures.yield_to_project(session)

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
            owners = self._session.owners.setdefault((gated.goldset, gated.cell), [])
            if item.nodeid not in owners:  # overlapping arguments collect one item twice before pytest 9
                owners.append(item.nodeid)

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
        """Remember which test runs, and forget what an earlier try of it left behind."""
        self._session.begin(item)
        keys: tuple[pytest.StashKey[Any], ...] = (PAYLOAD, FAILED, GATE)
        for key in keys:
            if key in item.stash:
                del item.stash[key]

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """Remember which value of which fixture a set of retrievers is: another value has other rankings.

        The value may depend on every parameter of the test that asks for it, and below session scope on the
        test itself.
        """
        value = yield
        if fixturedef.argname == "retrievers":
            item = self._session.item
            callspec = getattr(item, "callspec", None)
            indices = {} if callspec is None else callspec.indices
            given = [f"{name}={indices[name]}" for name in sorted(indices.keys() - _OURS)]
            asked_by = [] if request.scope == "session" else [item.nodeid.partition("[")[0]]
            place = [fixturedef.baseid, fixturedef.func.__qualname__, *given, *asked_by]
            self._session.retrievals.note_place(value, "::".join(place))
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
        ended = report.when == "call" or (report.when == "setup" and not report.passed)
        gated = _gate_item(item)
        if ended and (gated is not None or PAYLOAD in item.stash):
            payload = item.stash.get(PAYLOAD, payload_of(""))
            failed = item.stash.get(FAILED, "")
            if gated is not None and gated.cell is not None and report.skipped and not failed:
                payload = {**payload, "unjudged": [gated.goldset, *gated.cell]}
            report.retrieval = {  # type: ignore[attr-defined]
                **payload, "selected": self._selected, "failed": failed
            }  # fmt: skip
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of what an item of this process or of a worker reports."""
        payload: dict[str, Any] | None = getattr(report, "retrieval", None)
        if payload is not None and not is_worker(self._session.config):
            is_last = report.outcome != "rerun"  # type: ignore[comparison-overlap]  # pytest-rerunfailures
            self._ledger.add(report.nodeid, payload, payload["selected"], is_last=is_last)
            if payload["failed"] and report.outcome in ("passed", "skipped"):
                self._hidden[report.nodeid] = payload["failed"]
            elif is_last:
                self._hidden.pop(report.nodeid, None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int | pytest.ExitCode) -> None:
        """Write the pins, if that was asked for and everything that was selected has reported.

        Only now is it known whether they can be written.
        """
        self._session.retrievals.close()
        if is_worker(self._session.config):
            return
        for nodeid, text in self._hidden.items():
            fail_session(
                session,
                f"{nodeid.removesuffix(']')}-hidden]",
                f"{text}\n\nthe gate failed this item, and the item did not end as failed: an xfail mark, a"
                " skip or a caught exception hides it. Remove that; to accept a loss, pin it with a reason",
            )
        if not self._session.settings.pin:
            return
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            self._ledger.lines.append("pins not written: the session did not come to its end")
            return
        kinds = [
            kind for kinds in self._session.config.hook.pytest_retrieval_measures() for kind in kinds or ()
        ]
        failed = bool(self._hidden) or exitstatus != pytest.ExitCode.OK
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
