"""A progress line while a retriever is asked, on a terminal and only there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    if reporter is None or hasattr(config, "workerinput") or not reporter.isatty or config.option.verbose < 0:
        yield lambda: None
        return
    from tqdm import tqdm

    bar = tqdm(total=total, desc=title, unit="query", leave=False, delay=DELAY, file=_Terminal(reporter))
    try:
        yield bar.update
    finally:
        bar.close()


@final
class _Terminal:
    """The terminal as pytest writes to it, which its capturing does not catch."""

    encoding = "utf-8"

    def __init__(self, reporter: Any) -> None:
        self._reporter = reporter

    def write(self, text: str) -> None:
        self._reporter.write(text, flush=True)

    def flush(self) -> None:
        """Do nothing: `write` flushes."""
