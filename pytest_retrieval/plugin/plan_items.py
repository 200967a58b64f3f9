"""Items that stand for a planned comparison whose outcome is known before anything runs."""

from __future__ import annotations

import os
from typing import Any, final

import pytest

from pytest_retrieval.plugin.comparing import NOTES, Notes

__all__ = ["PlanFile", "PlanItem"]


@final
class PlanFile(pytest.File):
    """The plan of a gold set, as the parent of items for comparisons that have no test."""

    def collect(self) -> list[pytest.Item]:
        """Return nothing: its items are made where the whole collection is known."""
        return []


@final
class PlanItem(pytest.Item):
    """An item whose outcome is known before it runs: it fails, or it is skipped where it locks a loss."""

    def __init__(
        self,
        *,
        message: str,
        notes: Notes | None = None,
        place: tuple[os.PathLike[str] | str, int | None, str] | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self._message = message
        self._place = place
        self._locks = notes is not None and bool(notes.gone)
        if notes is not None:
            self.stash[NOTES] = notes

    @classmethod
    def in_place_of(cls, item: pytest.Item, message: str, notes: Notes | None = None) -> PlanItem:
        """Return an item that stands where a test stood: same node id, markers and words for ``-k``."""
        assert item.parent is not None
        made: PlanItem = cls.from_parent(
            item.parent, name=item.name, message=message, notes=notes, place=item.reportinfo()
        )
        made.own_markers = [mark for mark in item.own_markers if mark.name not in ("skip", "skipif", "xfail")]
        made.keywords.update({mark.name: mark for mark in made.own_markers})
        made.extra_keyword_matches |= item.extra_keyword_matches
        return made

    def runtest(self) -> None:
        """Fail, or skip what was only taken out of a plan."""
        if self._locks:
            pytest.skip(self._message)
        pytest.fail(self._message, pytrace=False)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Return where the test that it stands for is."""
        return super().reportinfo() if self._place is None else self._place
