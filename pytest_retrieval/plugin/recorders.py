"""The value of the fixture `recorder`: a recording that is read, or made where the command line allows it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import pytest

from pytest_retrieval.plugin.settings import RECORD_NONE, RECORD_ONCE, RECORD_REWRITE

if TYPE_CHECKING:
    from pytest_retrieval.model import GoldSet
    from pytest_retrieval.plugin.session import Session
    from pytest_retrieval.records import Recording

__all__ = ["Recorders", "RecordingOnce"]


@final
class Recorders:
    """Makes recorders by the name of a recording: ``recorder("rag-answers", url=…, model=…)``."""

    def __init__(self, session: Session, goldset: GoldSet) -> None:
        self._session = session
        self._goldset = goldset

    def __call__(self, name: str, **options: Any) -> RecordingOnce:
        """Return the recorder of one recording; `options` are those of `Recorder`."""
        return RecordingOnce(self._session, self._goldset, name, options)


@final
class RecordingOnce:
    """Reads a recording that is there, or records it where ``--retrieval-record`` says so."""

    def __init__(self, session: Session, goldset: GoldSet, name: str, options: dict[str, Any]) -> None:
        self._session = session
        self._goldset = goldset
        self._name = name
        self._options = options

    def answers(self, contexts: Any, **more: Any) -> Recording:
        """Return the recorded answers; arguments as for `Recorder.answers`."""
        __tracebackhide__ = True
        return self._recording("answers", contexts, more)

    def agent(self, tools: Any, **more: Any) -> Recording:
        """Return the recorded traces; arguments as for `Recorder.agent`."""
        __tracebackhide__ = True
        return self._recording("agent", tools, more)

    def _recording(self, what: str, first: Any, more: dict[str, Any]) -> Recording:
        __tracebackhide__ = True
        mode = self._session.settings.record
        recordings = self._session.recordings
        there = self._name in recordings
        if there and mode != RECORD_REWRITE:
            return recordings[self._name]
        if mode == RECORD_NONE:
            pytest.fail(
                f"there is no recording {self._name!r}, and tests may not record: --retrieval-record=once"
                " records what is missing",
                pytrace=False,
            )
        from pytest_retrieval.record.recorder import Recorder

        assert mode in (RECORD_ONCE, RECORD_REWRITE)
        recorder = Recorder(
            self._folder(), self._goldset, rewrite=mode == RECORD_REWRITE and there, **self._options
        )
        recording: Recording = getattr(recorder, what)(first, **more)
        recordings.add(self._folder())
        return recording

    def _folder(self) -> Path:
        """Return the folder of the recording: where it is, or below the first folder of recordings."""
        known = self._session.recordings.folder(self._name)
        if known is not None:
            return known
        places = self._session.config.getini("retrieval_recordings")
        plain = [place for place in places if not any(sign in place for sign in "*?[")]
        return self._session.settings.rootdir / (plain[0] if plain else "recordings") / self._name
