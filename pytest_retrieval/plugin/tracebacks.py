"""Tracebacks of errors about a project's input: they end where the project called, not within this package.

Such an error says itself what is wrong and how to mend it. ``--full-trace`` shows every frame.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import final

import pytest

import pytest_retrieval
from pytest_retrieval.errors import RetrievalError

__all__ = ["Tracebacks", "shorten"]

_HERE = f"{Path(pytest_retrieval.__file__).parent}{os.sep}"


@final
class Tracebacks:
    """Shortens what a test or a fixture shows of an error of ours."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Take our frames out of the error before anybody prints it."""
        if call.excinfo is None or item.config.getoption("fulltrace", False):
            return
        error = call.excinfo.value
        if isinstance(error, RetrievalError):
            shorten(error)
            call.excinfo = pytest.ExceptionInfo.from_exception(error)


def shorten(error: BaseException) -> None:
    """Take the frames of this package out of an error's traceback, and out of those that it came from.

    A traceback of nothing else is left as it is.
    """
    cause: BaseException | None = error
    while cause is not None:
        frames = list(_frames(cause.__traceback__))
        theirs = [frame for frame in frames if not frame.tb_frame.f_code.co_filename.startswith(_HERE)]
        if theirs and len(theirs) < len(frames):
            cause.__traceback__ = _linked(theirs)
        cause = cause.__cause__


def _frames(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _linked(frames: list[TracebackType]) -> TracebackType | None:
    linked = None
    for frame in reversed(frames):
        linked = TracebackType(linked, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return linked
