"""The session: what is known of its gold sets, runs and verdicts, and the hooks that drive them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, final

import pytest

from pytest_retrieval.errors import RetrievalError, RetrieverError, SettingsError, Unavailable, listed
from pytest_retrieval.files.shared import first_to_tell
from pytest_retrieval.gate.pin import Pins
from pytest_retrieval.plugin import fixtures, markers, vanishing
from pytest_retrieval.plugin.against import Against
from pytest_retrieval.plugin.collecting import Collecting
from pytest_retrieval.plugin.ending import fail_session
from pytest_retrieval.plugin.goldsets import GoldSets
from pytest_retrieval.plugin.items import Choice, GateItem, choose, skip
from pytest_retrieval.plugin.ledger import Ledger
from pytest_retrieval.plugin.planning import Planning
from pytest_retrieval.plugin.recordings import Recordings
from pytest_retrieval.plugin.running import Retrievals, Runs
from pytest_retrieval.plugin.settings import Settings, read
from pytest_retrieval.plugin.state import GATE, PAYLOAD, SESSION
from pytest_retrieval.plugin.xdist import Sharing, is_worker, shared_folder
from pytest_retrieval.retrievers.telling import told

if TYPE_CHECKING:
    from pytest_retrieval.gate.cells import Cell
    from pytest_retrieval.gate.verdict import Verdict
    from pytest_retrieval.measures.rank import MeasureKind
    from pytest_retrieval.model import Run

_Value = TypeVar("_Value")
_HEADLINE = re.compile(r": \d+ problems?$")  # of a FileError, whose first line says nothing by itself


def start(config: pytest.Config, folders: Sequence[Path], recordings: Sequence[Path] = ()) -> None:
    """Make the session and register everything that a project with gold sets or recordings gets."""
    session = Session(config, folders, recordings)
    config.stash[SESSION] = session
    config.pluginmanager.register(fixtures, "retrieval-fixtures")
    config.pluginmanager.register(session.collecting, "retrieval-collecting")
    config.pluginmanager.register(session, "retrieval-session")
    config.pluginmanager.register(Planning(session, _gate_cell), "retrieval-planning")
    if config.pluginmanager.has_plugin("xdist"):
        config.pluginmanager.register(Sharing(), "retrieval-sharing")


@final
class Session:
    """One process of a test session.

    Attributes
    ----------
    goldsets, recordings, retrievals
        What is gated, and what was retrieved so far.
    collecting
        Which files were collected.
    owners
        (gold set, cell) → the tests that collected it.
    """

    def __init__(self, config: pytest.Config, folders: Sequence[Path], recordings: Sequence[Path]) -> None:
        self.config = config
        pins = config.getini("retrieval_pins")
        self.goldsets = GoldSets(folders, config.rootpath / pins if pins else None)
        self.recordings = Recordings(recordings, self.goldsets)
        self.retrievals = Retrievals(config, shared_folder(config))
        self.collecting = Collecting(config)
        self.owners: dict[tuple[str, Cell], list[str]] = {}
        self._choices: dict[str, Choice] = {}
        self._item: pytest.Item | None = None
        self._kept: dict[tuple[object, ...], tuple[object, Any]] = {}
        self._told: dict[str, str] = {}
        self._sent: set[tuple[str, ...]] = set()
        self._ledger = Ledger()
        self._selected = 0
        self._problems: set[str] = set()

    @cached_property
    def settings(self) -> Settings:
        """Options and ini keys.

        Raises
        ------
        SettingsError
            One of them is not allowed.
        """
        return read(self.config)

    @cached_property
    def against(self) -> Against | None:
        """The base that the branch is held against, if that was asked for.

        Raises
        ------
        SettingsError
            The revision cannot be had.
        """
        if not self.settings.against:
            return None
        return Against(self.settings.rootdir, self.settings.against, self.goldsets)

    def pins_then(self, name: str) -> Pins:
        """Return a gold set's pins at the base; empty where there is no base.

        Raises
        ------
        RetrievalError
            They cannot be used.
        """
        return Pins() if self.against is None else self.against.pins(name)

    def cells(
        self, name: str, kinds: Sequence[MeasureKind], subjects: Sequence[str] | None
    ) -> tuple[Cell, ...]:
        """Return what is gated of a gold set: declared, pinned, or pinned at the base.

        Raises
        ------
        RetrievalError
            The gold set cannot be used.
        """
        cells = set(self.goldsets.cells(name, kinds, subjects))
        with contextlib.suppress(RetrievalError):  # the items say so when they run
            cells |= {c for c in self.pins_then(name).cells if subjects is None or c.subject in subjects}
        return tuple(sorted(cells))

    def choice_of(self, name: str) -> Choice:
        """Return the same choice of one gold set for every test, so that pytest sees one parameter."""
        if name not in self._choices:
            missing = Choice(
                (name,), problem=f"gold set {name!r} is not here (retrieval_missing = skip)", skips=True
            )
            self._choices[name] = Choice((name,)) if name in self.goldsets.folders else missing
        return self._choices[name]

    def chosen(self, mark: pytest.Mark | None) -> Choice:
        """Return which gold sets a test with this marker, or with none, uses."""
        settings = self.settings
        return choose(self.goldsets, settings.default, mark, skip_missing=settings.skip_missing)

    @property
    def item(self) -> pytest.Item:
        """The test that runs now; a fixture of wider scope than a test has no other way to know."""
        assert self._item is not None
        return self._item

    def fixture(self, name: str) -> Any:
        """Return the value of a fixture as the test that runs now sees it.

        Raises
        ------
        RetrieverError, Unavailable
            It, or a fixture it needs, failed or skipped.
        """
        try:
            return self.item._request.getfixturevalue(name)  # type: ignore[attr-defined]
        except pytest.fail.Exception as error:
            raise RetrieverError(str(error.msg)) from error
        except pytest.skip.Exception as error:
            raise Unavailable(str(error.msg)) from error
        except RetrievalError:
            raise
        except (Exception, SystemExit) as error:
            raise RetrieverError(f"the fixture `{name}` could not be made: {told(error)}") from error

    def run(self, subject: str) -> object:
        """Return what the fixture `runs` holds for a subject.

        Raises
        ------
        RetrieverError, Unavailable
            It holds nothing for it, or a fixture of the project's failed on the way.
        """
        runs = self.fixture("runs")
        if not isinstance(runs, Mapping):
            raise RetrieverError(
                f"the fixture `runs` returned {type(runs).__name__}; a mapping name → Run is needed"
            )
        if subject not in runs:
            fixture = "retrievers" if isinstance(runs, Runs) else "runs"
            dotted = f"; nor is a recording of its name there: {listed(self.recordings) or 'none'} is"
            raise RetrieverError(
                f"{subject} is declared in goldset.toml, and the fixture `{fixture}` has no such name; it has"
                f" {listed(runs) or 'none'}{dotted if '.' in subject else ''}"
            )
        return runs[subject]

    def again(self, subject: str, repeat: int) -> Run | None:
        """Return another retrieval by a subject; None where a project's own fixture `runs` made the first.

        Raises
        ------
        RetrieverError, Unavailable
            As the retriever did when it was called.
        """
        runs = self.fixture("runs")
        return runs.again(subject, repeat) if isinstance(runs, Runs) else None

    def judged(
        self, key: tuple[str, ...], run: Run, judge: Callable[[], Mapping[Cell, Verdict]]
    ) -> Mapping[Cell, Verdict]:
        """Return the verdicts on a run, made once."""
        return self._once(("judged", *key), run, judge)

    def fault(self, key: tuple[str, ...], run: Run, find: Callable[[], str]) -> str:
        """Return what is wrong with a run, looked for once."""
        return self._once(("fault", *key), run, find)

    def noise(
        self, key: tuple[str, ...], run: Run, measure: Callable[[], tuple[int, Mapping[Cell, float]]]
    ) -> tuple[int, Mapping[Cell, float]]:
        """Return the noise of a subject, measured once."""
        return self._once(("noise", *key), run, measure)

    def _once(self, key: tuple[object, ...], run: Run, make: Callable[[], _Value]) -> _Value:
        """Return a value made once per run; the run is kept, so that its identity stays its own."""
        of_run = (*key, id(run))
        if of_run not in self._kept:
            self._kept[of_run] = (run, make())
        value: _Value = self._kept[of_run][1]
        return value

    def told(self, cause: str, nodeid: str) -> str:
        """Return a cause in full for the first test that meets it, and a reference to that one for others."""
        if cause not in self._told:
            folder = shared_folder(self.config)
            self._told[cause] = nodeid if folder is None else first_to_tell(folder, cause, nodeid)
        first = self._told[cause]
        if first == nodeid:
            return cause
        lines = cause.splitlines()
        short = (
            f"{lines[0]}: {lines[1].strip()}" if len(lines) > 1 and _HEADLINE.search(lines[0]) else lines[0]
        )
        return f"failed for the same cause as {first}: {short}"

    def is_fresh(self, key: tuple[str, ...]) -> bool:
        """Return whether the evidence of a query has not left this process yet; it does so once."""
        if key in self._sent:
            return False
        self._sent.add(key)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Refuse options, ini values and TOML files that cannot be used, before anything else happens."""
        if is_worker(self.config):
            return
        try:
            default, folders = self.settings.default, self.goldsets.folders
            if default and default not in folders and not self.settings.skip_missing:
                raise SettingsError(
                    f"retrieval_goldset = {default}: there is no such gold set; there are"
                    f" {', '.join(folders) or 'none'}"
                )
            self.goldsets.check_files()
            if self.against is not None:
                self.against.goldsets.check_files()
        except SettingsError as error:
            raise pytest.UsageError(str(error)) from error

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Give tests their gold sets and gate tests their cells."""
        markers.generate(metafunc, self)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Let ``-k`` find a cell by the names of its parts."""
        gated = _gate_item(item)
        if gated is None:
            return
        item.extra_keyword_matches.update(gated.keywords)
        if gated.problem:
            self._problems |= {gated.goldset, item.nodeid.partition("[")[0]}
        if gated.cell is not None:
            self.owners.setdefault((gated.goldset, gated.cell), []).append(item.nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        """Let tests of one gold set follow each other, so that what they share is made once.

        pytest 9 does so by itself; before it, an index was built again whenever the gold set changed. Tests
        that use no gold set keep their places.
        """
        items += vanishing.vanished_gates(self, session, items)
        result = yield
        markers.grouped(items)
        return result

    def has_problem(self, name: str) -> bool:
        """Return whether a gold set, or a test by its node id, had a problem when it was collected."""
        return name in self._problems

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the gate items that this process was told to run."""
        self._selected = sum(_gate_item(item) is not None for item in session.items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Remember which test runs."""
        self._item = item

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        """Remember which fixture made a set of retrievers."""
        value = yield
        if fixturedef.argname == "retrievers":
            self.retrievals.note_place(value, f"{fixturedef.baseid}::{fixturedef.func.__qualname__}")
        return value

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Skip a test whose retriever is unavailable; fail one that took the gate and never asked it."""
        try:
            result = yield
        except Unavailable as unavailable:
            if self.settings.fail_unavailable:
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
            payload: dict[str, Any] = item.stash.get(
                PAYLOAD, {"rows": [], "goldset": "", "cell": None, "pinned": False}
            )
            report.retrieval = {**payload, "selected": self._selected}  # type: ignore[attr-defined]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of what an item of this process or of a worker reports."""
        payload: dict[str, Any] | None = getattr(report, "retrieval", None)
        if payload is not None and not is_worker(self.config):
            self._ledger.add(report.nodeid, payload, payload["selected"])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int | pytest.ExitCode) -> None:
        """Write the pins, if that was asked for and everything that was selected has reported.

        Only now is it known whether they can be written.
        """
        self.retrievals.close()
        if is_worker(self.config) or not self.settings.pin:
            return
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            self._ledger.lines.append("pins not written: the session did not come to its end")
            return
        kinds = [kind for kinds in self.config.hook.pytest_retrieval_measures() for kind in kinds or ()]
        failed = exitstatus != pytest.ExitCode.OK
        self._ledger.pin(self.goldsets, kinds, self.settings.reason, failed=failed)
        for nodeid, text in self._ledger.unwritten:
            fail_session(session, nodeid, text)

    def pytest_unconfigure(self) -> None:
        """Remove the copies of a base; where nobody asked for one, none is made."""
        against: Against | None = self.__dict__.get("against")
        if against is not None:
            against.close()

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
