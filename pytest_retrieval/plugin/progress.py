"""A progress line while a retriever is asked, on a terminal and only there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    import pytest

__all__ = ["progress"]

DELAY = 1.0
"""Seconds before the line appears; what is faster needs none."""


@contextmanager
def progress(config: pytest.Config, title: str, total: int) -> Iterator[Callable[[], object]]:
    """Yield the function to call after each step.

    Nothing is printed in a worker process, without a terminal, or in the first second.
    """
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    terminal_less = reporter is None or not getattr(reporter, "isatty", False)
    if terminal_less or hasattr(config, "workerinput") or config.getoption("verbose", 0) < 0:
        yield lambda: None
        return
    from tqdm import tqdm

    terminal = _Terminal(reporter)
    bar = tqdm(total=total, desc=title, unit="query", leave=False, delay=DELAY, file=terminal)
    try:
        yield bar.update
    finally:
        bar.close()
        terminal.restore()


@final
class _Terminal:
    """A line of its own below the one that pytest is writing, taken back when it is done.

    A test runs while the terminal is captured, so capturing pauses for every write.
    """

    encoding = "utf-8"

    def __init__(self, reporter: Any) -> None:
        self._reporter = reporter
        self._begun = False

    def write(self, text: str) -> None:
        """Write, on a new line at first."""
        self._put(text if self._begun else "\n" + text)
        self._begun = True

    def flush(self) -> None:
        """Do nothing: `write` flushes."""

    def restore(self) -> None:
        """Clear the line, and return to where pytest stopped writing."""
        if self._begun:
            column = self._reporter._tw.width_of_current_line
            self._put("\r\x1b[K\x1b[A" + (f"\x1b[{column}C" if column else ""))

    def _put(self, text: str) -> None:
        capturing: Any = self._reporter.config.pluginmanager.get_plugin("capturemanager")
        paused: AbstractContextManager[None] = (
            capturing.global_and_fixture_disabled() if capturing is not None else nullcontext()
        )
        with paused:
            sys.stdout.write(text)
            sys.stdout.flush()
