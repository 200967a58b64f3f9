"""Pins on disk: ``pins.toml`` for people, ``pins/<subject>.jsonl`` for the evidence."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_retrieval.errors import MeasureError, PinError, Problem, SettingsError
from pytest_retrieval.files.content import IS_POINTER, POINTER, label_of
from pytest_retrieval.files.evidence import (
    is_conflict,
    is_number,
    is_whole,
    read_evidence,
    text_of_evidence,
)
from pytest_retrieval.files.settings import FILE_NAMING
from pytest_retrieval.files.toml_lines import Places
from pytest_retrieval.files.writing import replace_files
from pytest_retrieval.gate.cells import Cell
from pytest_retrieval.gate.pin import ESTABLISHED, Evidence, Pin, Pins, disagreements
from pytest_retrieval.measures.notation import parse
from pytest_retrieval.measures.rank import KINDS

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

__all__ = ["load_pins", "read_pins_toml", "save_pins"]

PINS = "pins.toml"
EVIDENCE = "pins"

_HEADER = (
    "Written by pytest --retrieval-pin: subject, stratum, measure. Only `tolerance` and `rule` are edited by",
    "hand. Every value is the mean of the evidence in pins/.",
)
_WRITTEN = (
    "value", "n", "best", "level", "judgments", "catalog", "document_ids", "documents", "noise", "retrievals",
    "reason", "owner",
)  # fmt: skip
_NEEDED = ("value", "n", "best", "owner")
_EDITED = ("tolerance", "rule")
_RULES = ("any", ESTABLISHED)
_OWNER = re.compile(r"[^:\s][^:]*::\S.*")


def read_pins_toml(folder: Path) -> dict[str, Any]:
    """Return the tables of a gold set's pins.toml, empty where there is none.

    Raises
    ------
    SettingsError
        It is not readable as TOML.
    """
    path = folder / PINS
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(f"{label_of(path)}: cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raw = path.read_bytes()
        if raw.startswith(POINTER):
            raise SettingsError(f"{label_of(path)}: {IS_POINTER}") from None
        text = raw.decode("utf-8", "replace")
        hint = (
            "it holds the marks of a merge conflict: resolve it, then pytest says whether pins and evidence"
            " agree"
            if any(map(is_conflict, text.splitlines()))
            else "mend the line, or take the file back from version control"
        )
        raise SettingsError(f"{label_of(path)}: not readable as TOML: {error}; {hint}") from None


def load_pins(folder: Path) -> Pins:
    """Read the pins of a gold set and check them against their evidence.

    Parameters
    ----------
    folder
        Where pins.toml stands.

    Returns
    -------
    Pins
        Empty where nothing was pinned.

    Raises
    ------
    PinError
        A pin or a line of evidence cannot be read, or a value is not the mean of its evidence.
    SettingsError
        pins.toml is not readable as TOML.
    """
    problems: list[Problem] = []
    tables = read_pins_toml(folder)
    label = label_of(folder / PINS)
    file = _File(folder / PINS) if tables else None
    cells = {} if file is None else _cells(file, tables, problems)
    evidence: dict[str, Mapping[str, Evidence]] = {}
    for subject in sorted(name for name, of_subject in tables.items() if isinstance(of_subject, dict)):
        path = folder / EVIDENCE / f"{subject}.jsonl"
        if not FILE_NAMING.fullmatch(subject):
            problems.append(Problem(f"subject {subject!r} cannot name a file", label))
        elif path.exists():
            evidence[subject] = read_evidence(path, problems)
        else:
            problems.append(
                Problem(
                    f"pins and evidence disagree: {PINS} pins {subject!r}, and this file is missing; take it"
                    " back from version control, or delete the pins and pin again",
                    label_of(path),
                )
            )
    pins = Pins(dict(sorted(cells.items())), evidence)
    if not problems and file is not None:
        problems += [
            file.problem(f"pins and evidence disagree (a merge?): {text}", *_table_of(cell), "value")
            for cell, text in disagreements(pins).items()
        ]
    if problems:
        raise PinError(f"the pins of {label_of(folder)}", problems)
    return pins


def save_pins(folder: Path, pins: Pins) -> None:
    """Write pins.toml and the evidence of every subject, keeping what people wrote into pins.toml.

    All files are there in full before the first takes its place. Evidence of subjects that are pinned no
    longer is deleted.

    Raises
    ------
    PinError
        A subject's name cannot name a file, or a file cannot be written.
    """
    unsafe = [subject for subject in pins.evidence if not FILE_NAMING.fullmatch(subject)]
    if unsafe:
        allowed = "letters A to Z, digits, '.', '-' and '_' are allowed"
        raise PinError(
            "pins cannot be written",
            [Problem(f"subject {subject!r} cannot name a file; {allowed}") for subject in unsafe],
        )
    texts = {
        folder / EVIDENCE / f"{subject}.jsonl": text_of_evidence(lines)
        for subject, lines in pins.evidence.items()
    }
    texts[folder / PINS] = _toml(folder / PINS, pins).as_string()
    try:
        replace_files(texts)
        for path in (folder / EVIDENCE).glob("*.jsonl"):
            if path.stem not in pins.evidence:
                path.unlink()
    except OSError as error:
        place = label_of(os.fsdecode(error.filename)) if error.filename else label_of(folder)
        raise PinError(
            "pins cannot be written", [Problem(error.strerror or type(error).__name__, place)]
        ) from None


class _File:
    """pins.toml as messages name it, with the lines of what stands there."""

    def __init__(self, path: Path) -> None:
        self._label = label_of(path)
        self._places = Places(path.read_text(encoding="utf-8-sig"))

    def problem(self, message: str, *path: str) -> Problem:
        """Return a problem at the place of a table or a key."""
        return Problem(message, self._label, self._places.line(*path))


def _table_of(cell: Cell) -> tuple[str, ...]:
    """Return the keys of a cell's table, from the outermost."""
    return (cell.subject, cell.stratum, cell.measure)


def _cells(file: _File, tables: Mapping[str, Any], problems: list[Problem]) -> dict[Cell, Pin]:
    cells = {}
    for subject, strata in tables.items():
        for stratum, measures in _tables(strata, (subject,), file, problems):
            for measure, pin in _tables(measures, (subject, stratum), file, problems):
                cell = Cell(subject, measure, stratum)
                read = _pin(cell, pin, file, problems)
                if read is not None:
                    cells[cell] = read
    return cells


def _tables(
    value: object, where: tuple[str, ...], file: _File, problems: list[Problem]
) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    shown = ".".join(where)
    problems.append(
        file.problem(f'[{shown}] is {value!r}; a pin is a table [subject.stratum."measure"]', *where)
    )
    return []


def _pin(cell: Cell, table: object, file: _File, problems: list[Problem]) -> Pin | None:
    where = _table_of(cell)
    place = f'[{cell.subject}.{cell.stratum}."{cell.measure}"]'
    if not isinstance(table, dict):
        message = f"{place} is {table!r}; a table with {', '.join(_NEEDED)} is needed"
        problems.append(file.problem(message, *where))
        return None
    before = len(problems)
    for key in sorted(table.keys() - {*_WRITTEN, *_EDITED}):
        known = ", ".join((*_WRITTEN, *_EDITED))
        message = f"{place}: key {key!r} is not known; known are {known}"
        problems.append(file.problem(message, *where, key))
    for key, (check, allowed) in _CHECKS.items():
        if key in table and not check(table[key]):
            message = f"{place}: {key} is {table[key]!r}; allowed is {allowed}"
            problems.append(file.problem(message, *where, key))
        elif key in _NEEDED and key not in table:
            message = f"{place}: {key} is missing; {_TAKE_BACK}"
            problems.append(file.problem(message, *where))
    if len(problems) == before:
        problems += (
            file.problem(f"{place}: {message}; {_TAKE_BACK}", *where, key)
            for key, message in _beyond(cell, table)
        )
    if len(problems) > before:
        return None
    numbers = {key: float(table[key]) for key in ("value", "best", "noise", "tolerance") if key in table}
    return Pin(**{**table, **numbers})


_TAKE_BACK = "only tolerance and rule are edited by hand: take the line back from version control"


def _beyond(cell: Cell, table: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (key, what is wrong) for numbers that a measure of ours cannot have; others are not known."""
    try:
        measure = parse(cell.measure)
    except MeasureError:
        return []  # a project's own measure, with a scale of its own; or none, and then its cell says so
    found = [
        (key, f"{key} is {table[key]!r}, and {measure.name} lies between 0 and 1")
        for key in ("value", "best")
        if measure.kind.name in KINDS and not 0 <= table[key] <= 1  # what a recording counts has no end
    ]
    value, best = table["value"], table["best"]
    if not found and (best < value if measure.higher_is_better else best > value):
        found.append(("best", f"best is {best!r}, and the value {value!r} is better"))
    return found


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_owner(value: object) -> bool:
    return isinstance(value, str) and _OWNER.fullmatch(value) is not None


def _is_tolerance(value: object) -> bool:
    return is_number(value) and 0 <= value <= 1


def _is_noise(value: object) -> bool:
    return is_number(value) and value >= 0


def _is_rule(value: object) -> bool:
    return value in _RULES


def _is_count(value: object) -> bool:
    return is_whole(value) and value >= 1


_CHECKS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "value": (is_number, "a number"),
    "n": (_is_count, "a whole number of at least 1"),
    "best": (is_number, "a number"),
    "level": (_is_count, "a whole number of at least 1"),
    "judgments": (_is_text, "a string"),
    "catalog": (_is_text, "a string"),
    "document_ids": (_is_text, "a string"),
    "documents": (_is_count, "a whole number of at least 1"),
    "noise": (_is_noise, "a number of at least 0"),
    "retrievals": (_is_count, "a whole number of at least 1"),
    "reason": (_is_text, "a string"),
    "owner": (_is_owner, "the test that gates it, as in 'tests/test_store.py::test_pinned'"),
    "tolerance": (_is_tolerance, "a number from 0 to 1"),
    "rule": (_is_rule, " or ".join(map(repr, _RULES))),
}


def _toml(path: Path, pins: Pins) -> TOMLDocument:
    """Return pins.toml: every table in order, with the comments and hand-made keys of the file there is."""
    import tomlkit

    old: Any = tomlkit.parse(path.read_text(encoding="utf-8-sig")) if path.is_file() else tomlkit.document()
    new = tomlkit.document()
    for line in _HEADER:
        new.add(tomlkit.comment(line))
    for cell, pin in pins.cells.items():
        subjects = _child(new, cell.subject)
        strata = _child(subjects, cell.stratum)
        table: Any
        try:
            table = old[cell.subject][cell.stratum][cell.measure]
        except KeyError:
            table = tomlkit.table()
        for key in _WRITTEN:
            value = getattr(pin, key)
            if value not in ("", None):
                table[key] = value
            elif key in table:
                del table[key]
        strata.append(cell.measure, table)
    return new


def _child(parent: Any, name: str) -> Any:
    import tomlkit

    if name not in parent:
        parent.append(name, tomlkit.table(is_super_table=True))
    return parent[name]
