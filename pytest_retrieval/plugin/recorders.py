"""The value of the fixture `recorder`: a recording that is read, or made where the command line allows it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import pytest

from pytest_retrieval.errors import InputError, RetrievalError, listed
from pytest_retrieval.files.shared import done_once
from pytest_retrieval.model.records import AGENT, ANSWERS
from pytest_retrieval.plugin.settings import RECORD_NONE, RECORD_REWRITE
from pytest_retrieval.plugin.xdist import shared_folder

if TYPE_CHECKING:
    from pytest_retrieval.model.goldset import GoldSet
    from pytest_retrieval.model.records import Recording
    from pytest_retrieval.plugin.session import Session

__all__ = ["Recorders", "RecordingOnce"]


@final
class Recorders:
    """Makes recorders by the name of a recording: ``recorder("rag-answers", url=…, model=…)``."""

    def __init__(self, session: Session, goldset: GoldSet) -> None:
        self._session = session
        self._goldset = goldset
        self._made: set[str] = set()

    def __call__(self, name: str, **options: Any) -> RecordingOnce:
        """Return the recorder of one recording; `options` are those of `Recorder`."""
        __tracebackhide__ = True
        if not isinstance(name, str) or not name or name != Path(name).name:
            raise InputError(
                f"a recording is named {name!r}; its name is that of its folder below the recordings, such as"
                " 'rag-answers'"
            )
        return RecordingOnce(self._session, self._goldset, name, options, self._made)


@final
class RecordingOnce:
    """Reads a recording that is there, or records it where ``--retrieval-record`` says so."""

    def __init__(
        self, session: Session, goldset: GoldSet, name: str, options: dict[str, Any], made: set[str]
    ) -> None:
        self._session = session
        self._goldset = goldset
        self._name = name
        self._options = options
        self._made = made

    def answers(self, contexts: Any, **more: Any) -> Recording:
        """Return the recorded answers; arguments as for `Recorder.answers`."""
        __tracebackhide__ = True
        return self._recording(ANSWERS, contexts, more)

    def agent(self, tools: Any, **more: Any) -> Recording:
        """Return the recorded traces; arguments as for `Recorder.agent`."""
        __tracebackhide__ = True
        return self._recording(AGENT, tools, more)

    def _recording(self, what: str, first: Any, more: dict[str, Any]) -> Recording:
        __tracebackhide__ = True
        mode = self._session.settings.record
        there = self._name in self._session.recordings
        if (there and mode != RECORD_REWRITE) or self._name in self._made:
            return self._read(what, first)
        if mode == RECORD_NONE:
            pytest.fail(
                f"there is no recording {self._name!r}, and tests may not record: --retrieval-record=once"
                " records what is missing",
                pytrace=False,
            )
        try:
            self._make(what, first, more, rewrite=mode == RECORD_REWRITE and there)
        except RetrievalError as error:
            raise error.with_traceback(None) from None
        return self._read(what, first)

    def _make(self, what: str, first: Any, more: dict[str, Any], *, rewrite: bool) -> None:
        """Record, in one process of the session only: a second one would ask, and pay, for the same again."""
        __tracebackhide__ = True
        folder = self._folder()

        def work() -> None:
            from pytest_retrieval.record.recorder import Recorder

            recorder = Recorder(folder, self._goldset, rewrite=rewrite, **self._options)
            getattr(recorder, what)(first, **more)

        shared = shared_folder(self._session.config)
        if shared is None:
            work()
        else:
            done_once(shared, ("recording", self._name), work)
        self._session.recordings.add(folder)
        self._made.add(self._name)

    def _read(self, what: str, first: Any) -> Recording:
        """Return the recording, if it holds what the test asks for."""
        __tracebackhide__ = True
        recording: Recording = self._session.recordings[self._name]
        lacking = [context for context in first if context not in recording.contexts]
        if recording.kind != what or lacking:
            holds = (
                f"is of the kind {recording.kind} with the contexts {listed(recording.contexts) or 'none'}"
            )
            asks = f"the test asks for the kind {what} with the contexts {listed(first)}"
            pytest.fail(
                f"recording {self._name} {holds}, and {asks}: --retrieval-record=rewrite records it anew",
                pytrace=False,
            )
        return recording

    def _folder(self) -> Path:
        """Return the folder of the recording: where it is, or below the first folder of recordings."""
        known = self._session.recordings.folder(self._name)
        if known is not None:
            return known
        places = self._session.config.getini("retrieval_recordings")
        plain = [place for place in places if not any(sign in place for sign in "*?[")]
        return self._session.settings.rootdir / (plain[0] if plain else "recordings") / self._name
