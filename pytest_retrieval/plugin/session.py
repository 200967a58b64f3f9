"""The session: what is known of its gold sets, runs and verdicts, each made once."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, final

import pytest

from pytest_retrieval.errors import RetrievalError, RetrieverError, Unavailable, listed
from pytest_retrieval.files.shared import first_to_tell
from pytest_retrieval.gate.pin import Pins
from pytest_retrieval.plugin.against import Against
from pytest_retrieval.plugin.collecting import Collecting
from pytest_retrieval.plugin.goldsets import GoldSets
from pytest_retrieval.plugin.items import Choice, choose
from pytest_retrieval.plugin.recordings import Recordings
from pytest_retrieval.plugin.running import Retrievals, Runs
from pytest_retrieval.plugin.settings import Settings, read
from pytest_retrieval.plugin.xdist import shared_folder
from pytest_retrieval.report.failure import quoted
from pytest_retrieval.retrievers.telling import told

if TYPE_CHECKING:
    from pytest_retrieval.gate.cells import Cell
    from pytest_retrieval.gate.pin import Evidence
    from pytest_retrieval.gate.verdict import Verdict
    from pytest_retrieval.measures.rank import MeasureKind
    from pytest_retrieval.model.run import Run

_Value = TypeVar("_Value")
__all__ = ["SESSION", "Session"]

_HEADLINE = re.compile(r": \d+ problems?$")  # of a FileError, whose first line says nothing by itself


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
    problems
        Gold sets, and tests by their node ids, that had a problem when they were collected.
    """

    def __init__(
        self,
        config: pytest.Config,
        folders: Sequence[Path],
        recordings: Sequence[Path],
        folders_below: Callable[[Path], Sequence[Path]],
    ) -> None:
        self.config = config
        self._folders_below = folders_below
        pins = config.getini("retrieval_pins")
        self.goldsets = GoldSets(folders, config.rootpath / pins if pins else None)
        self.recordings = Recordings(recordings, self.goldsets)
        self.retrievals = Retrievals(config, shared_folder(config))
        self.collecting = Collecting(config)
        self.owners: dict[tuple[str, Cell], list[str]] = {}
        self.problems: set[str] = set()
        self._choices: dict[str, Choice] = {}
        self._item: pytest.Item | None = None
        self._kept: dict[tuple[object, ...], tuple[object, Any]] = {}
        self._told: dict[str, str] = {}

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

    @cached_property
    def gone(self) -> Mapping[str, Path]:
        """Name → home of the pins at the base of each gold set that was pinned there and is here no more."""
        if self.against is None or self.against.base.root is None:
            return {}
        return self.against.gone(self._folders_below(self.against.base.root))

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

    def from_here(self, nodeid: str) -> str:
        """Return a node id, which begins at the rootdir, as it works where pytest was called."""
        root, here = self.config.rootpath, self.config.invocation_params.dir
        if root == here:
            return nodeid
        file, colons, test = nodeid.partition("::")
        return Path(os.path.relpath(root / file, here)).as_posix() + colons + test

    @property
    def pin_new(self) -> str:
        """The command that pins what is new, as it works where pytest was called."""
        root, here = self.config.rootpath, self.config.invocation_params.dir
        is_below = root != here and root.is_relative_to(here)
        place = f" {quoted(root.relative_to(here).as_posix())}" if is_below else ""
        return f"pytest{place} --retrieval-pin=new"

    def begin(self, item: pytest.Item) -> None:
        """Take note of which test runs."""
        self._item = item

    def close(self) -> None:
        """Remove the copies of a base; where nobody asked for one, none is made."""
        against: Against | None = self.__dict__.get("against")
        if against is not None:
            against.close()

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
        except (RetrievalError, pytest.exit.Exception):
            raise
        except (Exception, SystemExit) as error:
            raise RetrieverError(f"the fixture `{name}` could not be made: {told(error)}") from error

    def names(self) -> list[str]:
        """Return the names that the fixture `runs` offers; nothing is retrieved for that.

        Raises
        ------
        RetrieverError, Unavailable
            A fixture of the project's failed on the way.
        """
        runs = self.fixture("runs")
        return sorted(map(str, runs)) if isinstance(runs, Mapping) else []

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

    def evidence(
        self, key: tuple[str, ...], run: Run, make: Callable[[], Mapping[str, Evidence]]
    ) -> Mapping[str, Evidence]:
        """Return the evidence that pinning a run would keep, made once."""
        return self._once(("evidence", *key), run, make)

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


SESSION: pytest.StashKey[Session] = pytest.StashKey()
"""The session, in the config's stash."""
