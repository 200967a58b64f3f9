"""``--retrieval-against``: the gold sets of the merge base, for as long as the session lasts."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import final

from pytest_retrieval.files.revision import Base, base_of
from pytest_retrieval.gate.branch import lowered_with_reason
from pytest_retrieval.gate.cells import Cell
from pytest_retrieval.gate.pin import Pins
from pytest_retrieval.gate.verdict import HELD, REGRESSED, Verdict
from pytest_retrieval.model import GoldSet
from pytest_retrieval.plugin.goldsets import GoldSets

__all__ = ["Against", "accepted"]


@final
class Against:
    """The base that this session's branch is held against.

    Raises
    ------
    SettingsError
        The revision cannot be had.
    """

    def __init__(self, root: Path, revision: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="pytest-retrieval-base-"))
        try:
            self.base: Base = base_of(root, revision, self._folder)
        except BaseException:
            self.close()
            raise
        self.goldsets = GoldSets(self.base.folders)

    @property
    def label(self) -> str:
        """The base as a reader knows it."""
        return f"{self.base.revision} ({self.base.commit[:10]})"

    def pins(self, name: str) -> Pins:
        """Return the pins of a gold set there; empty where it did not exist.

        Raises
        ------
        RetrievalError
            They cannot be used.
        """
        return self.goldsets.pins(name) if name in self.goldsets.folders else Pins()

    def rules(self, goldset: GoldSet) -> GoldSet:
        """Return today's gold set with the tolerance, alpha and min_judged of the base."""
        if goldset.name not in self.goldsets.folders:
            return goldset
        then = self.goldsets.get(goldset.name)
        return replace(
            goldset,
            tolerance=then.tolerance,
            alpha=then.alpha,
            min_judged=then.min_judged,
            unjudged=then.unjudged,
        )

    def close(self) -> None:
        """Remove the copies."""
        shutil.rmtree(self._folder, ignore_errors=True)


def accepted(verdicts: Mapping[Cell, Verdict], then: Pins, now: Pins) -> dict[Cell, Verdict]:
    """Return verdicts in which a fall that the branch pinned with a reason is held, and says why."""
    found = {}
    for cell, verdict in verdicts.items():
        reason = lowered_with_reason(cell, then, now) if verdict.status == REGRESSED else ""
        note = f"{cell} was lowered on this branch and accepted: {reason}"
        found[cell] = replace(verdict, status=HELD, notes=(*verdict.notes, note)) if reason else verdict
    return found
