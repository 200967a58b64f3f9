"""The gold sets of a session: found by folder, known by name, read once."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, final

from pytest_retrieval.errors import InputError, RetrievalError, SettingsError, listed, or_raise
from pytest_retrieval.files.goldset import load_with_notes
from pytest_retrieval.files.pins import load_pins, read_pins_toml
from pytest_retrieval.files.settings import FILE_NAMING, read_settings
from pytest_retrieval.gate.cells import Cell, declared, measures_of
from pytest_retrieval.gate.pin import Pins

if TYPE_CHECKING:
    from pytest_retrieval.measures.notation import Measure
    from pytest_retrieval.measures.rank import MeasureKind
    from pytest_retrieval.model.goldset import GoldSet

__all__ = ["GoldSets"]


@final
class GoldSets:
    """Gold sets by name. A fault met once is met again, so nothing is read twice.

    Parameters
    ----------
    folders
        The folders of the gold sets.
    pins
        Folder that holds ``<name>/pins.toml`` and the like; None where they stand in the gold sets.
    """

    def __init__(self, folders: Sequence[Path], pins: Path | None = None) -> None:
        self._found = folders
        self.pins_root = pins
        self._folders: dict[str, Path] | None = None
        self._goldsets: dict[str, GoldSet | RetrievalError] = {}
        self._pins: dict[str, Pins | RetrievalError] = {}
        self._notes: dict[str, list[str]] = {}

    @property
    def folders(self) -> dict[str, Path]:
        """Name → folder, sorted by name.

        Raises
        ------
        SettingsError
            A goldset.toml cannot be read, or two gold sets have one name.
        """
        if self._folders is None:
            folders: dict[str, Path] = {}
            for folder in self._found:
                name = read_settings(folder).name
                if name in folders:
                    raise SettingsError(
                        f"two gold sets are named {name!r}: {folders[name]} and {folder}; a name identifies a"
                        " gold set, so rename one of them"
                    )
                folders[name] = folder
            self._folders = dict(sorted(folders.items()))
        return self._folders

    def home(self, name: str) -> Path:
        """Return the folder of a gold set's pins and plan: its own, or one below `retrieval_pins`.

        Raises
        ------
        SettingsError
            Its name cannot name a folder.
        """
        if self.pins_root is None:
            return self.folders[name]
        if not FILE_NAMING.fullmatch(name):
            raise SettingsError(
                f"retrieval_pins: gold set {name!r} cannot name a folder below {self.pins_root}; letters,"
                " digits, '.', '-' and '_' are allowed"
            )
        return self.pins_root / name

    def check_files(self) -> None:
        """Raise SettingsError where a TOML file of any gold set cannot be read."""
        for name in self.folders:
            read_pins_toml(self.home(name))

    def get(self, name: str) -> GoldSet:
        """Return a gold set.

        Raises
        ------
        RetrievalError
            Its files cannot be used.
        """
        if name not in self._goldsets:
            try:
                self._goldsets[name], self._notes[name] = load_with_notes(self.folders[name])
            except RetrievalError as error:
                self._goldsets[name] = error
        return or_raise(self._goldsets[name])

    def notes(self, name: str) -> list[str]:
        """Return what loading a gold set warned of: said once in the summary, not once per process."""
        return self._notes.get(name, [])

    def pins(self, name: str) -> Pins:
        """Return the pins of a gold set.

        Raises
        ------
        RetrievalError
            They cannot be used.
        """
        if name not in self._pins:
            try:
                self._pins[name] = load_pins(self.home(name))
            except RetrievalError as error:
                self._pins[name] = error
        return or_raise(self._pins[name])

    def cells(
        self, name: str, kinds: Sequence[MeasureKind], subjects: Sequence[str] | None
    ) -> tuple[Cell, ...]:
        """Return the declared and the pinned cells of a gold set, sorted.

        Raises
        ------
        RetrievalError
            The gold set cannot be used, or `subjects` names one that it does not declare.
        """
        goldset = self.get(name)
        measures = measures_of(goldset, kinds)
        unknown = [subject for subject in subjects or () if subject not in measures]
        if unknown:
            raise InputError(
                f"gold set {name!r} declares no subject {listed(map(repr, unknown))}; it declares"
                f" {listed(measures) or 'none'}"
            )
        cells = set(declared(goldset, measures))
        with contextlib.suppress(RetrievalError):  # every cell fails with it when it runs
            cells |= set(self.pins(name).cells)
        wanted = cells if subjects is None else {cell for cell in cells if cell.subject in subjects}
        return tuple(sorted(wanted))

    def measures(self, name: str, subject: str, kinds: Sequence[MeasureKind]) -> tuple[Measure, ...]:
        """Return the measures of a subject, primary first; none where it is not declared."""
        return measures_of(self.get(name), kinds).get(subject, ())
