"""Vanished by owner: pins whose gate test is gone fail, named after that test.

A pin records the test that owns it. It has vanished when this invocation covers the test's file, the file is
gone or was collected without the test, and no other test gates the cell. Whoever asks for node ids or for the
last failures asked for less than the whole, so nothing is said there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import pytest

from pytest_retrieval.errors import SettingsError, counted, listed
from pytest_retrieval.files.pins import read_pins_toml
from pytest_retrieval.gate.cells import Cell, slug
from pytest_retrieval.plugin.payload import PAYLOAD, payload_of

if TYPE_CHECKING:
    from pytest_retrieval.plugin.session import Session

__all__ = ["VanishedGate", "vanished_gates"]


@final
class VanishedGate(pytest.Item):
    """The item that stands in for a gate test that is gone."""

    goldset: str = ""
    cells: Sequence[Cell] = ()
    why: str = ""
    note: str = ""
    is_pinned_away: bool = False

    def runtest(self) -> None:
        """Fail, or leave word that these pins may go where the session was told to pin."""
        gone = [list(cell) for cell in self.cells] if self.is_pinned_away else []
        self.stash[PAYLOAD] = payload_of(self.goldset, gone=gone, notes=[self.note] if self.note else [])
        if self.why and not self.is_pinned_away:
            pytest.fail(self.why, pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return what a report names this item by."""
        return self.path, None, self.name


def vanished_gates(
    session: Session, root: pytest.Session, items: Sequence[pytest.Item]
) -> list[VanishedGate]:
    """Return one failing item per gold set and owning test that is gone, sorted."""
    if not session.collecting.is_whole:
        return []
    collected = {item.nodeid.partition("[")[0] for item in items}
    found = []
    for name in session.goldsets.folders:
        if name in session.problems:
            continue
        folder = session.goldsets.home(name)
        for owner, cells in sorted(_owned(folder).items()):
            if owner in session.problems:
                continue
            left = sorted(cell for cell in cells if (name, cell) not in session.owners)
            why = _gone(session, owner, folder, collected) if left else ""
            if why:
                found.append(_item(session, root, name, owner, left, why))
    return [*found, *_without_goldset(session, root)]


def _without_goldset(session: Session, root: pytest.Session) -> list[VanishedGate]:
    """Return an item per gold set that the base pinned and the branch no longer has, and owning test."""
    found = []
    for name, folder in session.gone.items():
        assert session.against is not None
        for owner, cells in sorted(_owned(folder).items()):
            if not session.collecting.saw(session.config.rootpath / owner.partition("::")[0]):
                continue
            item = _named(root, name, owner, cells)
            pins = counted(len(cells), "pin", "pins")
            have = listed(session.goldsets.folders, 5) or "none"
            what = (
                f"{name}: {pins} of {owner} at {session.against.label}, and this branch has no gold set of"
                f" that name; it has {have}"
            )
            if session.settings.accept_lowered:
                item.note = f"{what}; accepted"
            else:
                item.why = (
                    f"{what}\nif it only has a new name:  give it the old one; the folder may be another"
                    "\nif a reviewer agrees that it goes:  add --retrieval-accept-lowered"
                )
            found.append(item)
    return found


def _owned(folder: Path) -> dict[str, list[Cell]]:
    """Return owning test → its cells, as pins.toml says."""
    try:
        tables = read_pins_toml(folder)
    except SettingsError:
        return {}
    owned: dict[str, list[Cell]] = {}
    for subject, strata in _tables(tables):
        for stratum, measures in _tables(strata):
            for measure, pin in _tables(measures):
                if isinstance(pin.get("owner"), str) and pin["owner"]:
                    owned.setdefault(pin["owner"], []).append(Cell(subject, measure, stratum))
    return owned


def _tables(value: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(name, inner) for name, inner in value.items() if isinstance(inner, dict)]


def _gone(session: Session, owner: str, folder: Path, collected: set[str]) -> str:
    """Return why the owner of pins is gone, or an empty string where it is not, or nobody can tell."""
    name, _, test = owner.partition("::")
    places = [base / name for base in (session.config.rootpath, *folder.resolve().parents)]
    file = next((place for place in places if place.is_file()), places[0])
    if not session.collecting.saw(file):
        return ""
    if not file.is_file():
        return f"{name} is gone"
    return f"{name} no longer has {test}" if owner not in collected else f"{owner} no longer gates it"


def _item(
    session: Session, root: pytest.Session, name: str, owner: str, cells: Sequence[Cell], why: str
) -> VanishedGate:
    item = _named(root, name, owner, cells)
    item.is_pinned_away = bool(session.settings.pin)
    pins = counted(len(cells), "pin", "pins")
    item.why = (
        f"{name}: {pins} of {owner} {'has' if len(cells) == 1 else 'have'} vanished: {why}, and no other test"
        f" gates {listed(cells, 5)}\nif they are meant to go:  {session.pin_new}  (then review and"
        " commit the pins)"
    )
    return item


def _named(root: pytest.Session, name: str, owner: str, cells: Sequence[Cell]) -> VanishedGate:
    item: VanishedGate = VanishedGate.from_parent(
        root, name=f"{owner}[{slug(name)}-vanished]", nodeid=f"{owner}[{slug(name)}-vanished]"
    )
    item.goldset, item.cells = name, cells
    words = {name, *(word for cell in cells for part in cell for word in (part, slug(part)))}
    item.extra_keyword_matches.update(words)
    return item
