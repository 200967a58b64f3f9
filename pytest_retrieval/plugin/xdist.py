"""pytest-xdist: one folder that the processes of a session share, made and removed by the controller."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any, final

import pytest

__all__ = ["Sharing", "is_worker"]

_KEY = "pytest_retrieval_shared"


def is_worker(config: pytest.Config) -> bool:
    """Return whether this process runs tests for another one."""
    return hasattr(config, "workerinput")


def shared_folder(config: pytest.Config) -> Path | None:
    """Return the folder that the controller made for this worker's session; None in a session of one."""
    workerinput: dict[str, Any] = getattr(config, "workerinput", {})
    return Path(workerinput[_KEY]) if _KEY in workerinput else None


@final
class Sharing:
    """The controller's side: registered only where xdist is."""

    def __init__(self) -> None:
        self._folder: str | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker where the shared folder is."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="pytest-retrieval-")
        node.workerinput[_KEY] = self._folder

    def pytest_unconfigure(self) -> None:
        """Remove the folder: nothing of a session outlives it."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
