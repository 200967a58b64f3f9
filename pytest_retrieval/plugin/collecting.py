"""What an invocation collected: who wants to say that a test is gone has to know what was looked at.

A node id and ``--lf`` take tests out of a file before anybody sees them, and a file that cannot be collected
hides its own. Where any of these happened, nothing is said to be gone.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import final

import pytest

__all__ = ["Collecting"]


@final
class Collecting:
    """The files that one process collected."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._modules: dict[str, Path] = {}
        self._collected: set[Path] = set()
        self._failed = False

    @pytest.hookimpl(wrapper=True)
    def pytest_pycollect_makemodule(self) -> Generator[None, pytest.Module | None, pytest.Module | None]:
        """Remember which files the modules are of; pytest also makes those of a file's neighbours."""
        module = yield
        if module is not None:
            self._modules[module.nodeid] = module.path.resolve()
        return module

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember which files were collected, also those without a single test."""
        self._failed |= report.failed
        if report.passed and report.nodeid in self._modules:
            self._collected.add(self._modules[report.nodeid])

    @property
    def is_whole(self) -> bool:
        """Whether every test of every collected file was seen."""
        option = self._config.getoption
        asked_for_less = option("lf", False) or option("pyargs", False)
        return not (self._failed or asked_for_less or any("::" in argument for argument in self._config.args))

    def saw(self, path: Path) -> bool:
        """Return whether a file was collected or, where it is gone, would have been."""
        path = path.resolve()
        if path.exists():
            return path in self._collected
        start = self._config.invocation_params.dir
        return any(path.is_relative_to((start / argument).resolve()) for argument in self._config.args)
