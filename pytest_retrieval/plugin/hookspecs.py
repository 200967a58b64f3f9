"""Hooks that a project may implement in its conftest.py.

With ``-p no:retrieval`` pytest does not know these hooks and refuses an implementation of them. Write
``@pytest.hookimpl(optionalhook=True)`` above yours to have it ignored there.

PYTEST_DONT_REWRITE: pytest opens this at every start, and there is no assertion in it to explain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_retrieval.gate.verdict import Verdict
    from pytest_retrieval.measures.rank import MeasureKind
    from pytest_retrieval.model.goldset import GoldSet


@pytest.hookspec
def pytest_retrieval_measures() -> Sequence[MeasureKind] | None:
    """Return measures of the project's own; goldset.toml may then name them as it names ours.

    A conftest.py's measures hold for the tests below its folder.
    """


@pytest.hookspec
def pytest_retrieval_verdict(goldset: GoldSet, verdict: Verdict) -> None:
    """Take note of a verdict, in the process that judged the cell; return values are ignored."""
