"""Pins on disk: ``pins.toml`` for people, ``pins/<subject>.jsonl`` for the evidence."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_retrieval.errors import PinError, Problem, SettingsError
from pytest_retrieval.files.writing import replace_file
from pytest_retrieval.gate.cells import Cell
from pytest_retrieval.gate.pin import Evidence, Pin, Pins, disagreements

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
    "value", "n", "best", "level", "judgments", "catalog", "document_ids", "documents", "reason", "owner",
)  # fmt: skip
_EDITED: Mapping[str, type | tuple[type, ...]] = {"tolerance": (int, float), "rule": str}
_RULES = ("any", "established")
_CONFLICT = re.compile(r"^(<<<<<<<|=======|>>>>>>>)")
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def read_pins_toml(folder: Path) -> dict[str, Any]:
    """Return the tables of a gold set's pins.toml, empty where there is none.

    Raises
    ------
    SettingsError
        It is not readable as TOML.
    """
    path = folder / PINS
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        text = path.read_bytes().decode("utf-8", "replace")
        conflict = any(_CONFLICT.match(line) for line in text.splitlines())
        hint = (
            "it holds the marks of a merge conflict: resolve it, then pytest says whether pins and evidence"
            " agree"
            if conflict
            else "mend the line, or take the file back from version control"
        )
        raise SettingsError(f"{path}: not readable as TOML: {error}; {hint}") from error


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
    cells = _cells(folder / PINS, tables, problems)
    evidence = {}
    for subject in sorted(name for name, of_subject in tables.items() if isinstance(of_subject, dict)):
        path = folder / EVIDENCE / f"{subject}.jsonl"
        if not _SAFE.fullmatch(subject):
            problems.append(Problem(f"subject {subject!r} cannot name a file", str(folder / PINS)))
        elif path.is_file():
            evidence[subject] = _lines(path, problems)
        else:
            problems.append(
                Problem(
                    f"pins and evidence disagree: {PINS} pins {subject!r}, and this file is missing; take it"
                    " back from version control, or delete the pins and pin again",
                    str(path),
                )
            )
    pins = Pins(dict(sorted(cells.items())), evidence)
    if not problems:
        problems += [
            Problem(f"pins and evidence disagree (a merge?): {text}", str(folder / PINS))
            for text in disagreements(pins)
        ]
    if problems:
        raise PinError(f"the pins of {folder}", problems)
    return pins


def save_pins(folder: Path, pins: Pins) -> None:
    """Write pins.toml and the evidence of every subject, keeping what people wrote into pins.toml.

    Evidence of subjects that are pinned no longer is deleted.

    Raises
    ------
    PinError
        A subject's name cannot name a file.
    """
    unsafe = [subject for subject in pins.evidence if not _SAFE.fullmatch(subject)]
    if unsafe:
        allowed = "letters, digits, '.', '-' and '_' are allowed"
        raise PinError(
            "pins cannot be written",
            [Problem(f"subject {subject!r} cannot name a file; {allowed}") for subject in unsafe],
        )
    for subject, lines in pins.evidence.items():
        text = "".join(_line(lines[query_id]) + "\n" for query_id in sorted(lines))
        replace_file(folder / EVIDENCE / f"{subject}.jsonl", text)
    for path in (folder / EVIDENCE).glob("*.jsonl"):
        if path.stem not in pins.evidence:
            path.unlink()
    replace_file(folder / PINS, _toml(folder / PINS, pins).as_string())


def _cells(path: Path, tables: Mapping[str, Any], problems: list[Problem]) -> dict[Cell, Pin]:
    cells = {}
    for subject, strata in tables.items():
        for stratum, measures in _tables(strata, f"[{subject}]", path, problems):
            for measure, pin in _tables(measures, f"[{subject}.{stratum}]", path, problems):
                cell = Cell(subject, measure, stratum)
                read = _pin(cell, pin, path, problems)
                if read is not None:
                    cells[cell] = read
    return cells


def _tables(value: object, where: str, path: Path, problems: list[Problem]) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    problems.append(Problem(f'{where} is {value!r}; a pin is a table [subject.stratum."measure"]', str(path)))
    return []


def _pin(cell: Cell, table: object, path: Path, problems: list[Problem]) -> Pin | None:
    place = f'[{cell.subject}.{cell.stratum}."{cell.measure}"]'
    if not isinstance(table, dict):
        problems.append(Problem(f"{place} is {table!r}; a table with value, n and best is needed", str(path)))
        return None
    before = len(problems)
    for key in table.keys() - {*_WRITTEN, *_EDITED}:
        allowed = ", ".join((*_WRITTEN, *_EDITED))
        problems.append(Problem(f"{place}: key {key!r} is not known; known are {allowed}", str(path)))
    for key in ("value", "n", "best"):
        if not _is_number(table.get(key)):
            problems.append(Problem(f"{place}: {key} is {table.get(key)!r}; a number is needed", str(path)))
    for key in ("level", "documents"):
        if key in table and not (_is_number(table[key]) and table[key] == int(table[key])):
            problems.append(Problem(f"{place}: {key} is {table[key]!r}; a whole number is needed", str(path)))
    tolerance, rule = table.get("tolerance"), table.get("rule")
    if tolerance is not None and not (_is_number(tolerance) and tolerance >= 0):
        problems.append(
            Problem(f"{place}: tolerance is {tolerance!r}; allowed is a number from 0", str(path))
        )
    if rule is not None and rule not in _RULES:
        allowed = " or ".join(map(repr, _RULES))
        problems.append(Problem(f"{place}: rule is {rule!r}; allowed is {allowed}", str(path)))
    if len(problems) > before:
        return None
    return Pin(
        value=float(table["value"]),
        n=int(table["n"]),
        best=float(table["best"]),
        level=table.get("level"),
        judgments=str(table.get("judgments", "")),
        catalog=str(table.get("catalog", "")),
        document_ids=str(table.get("document_ids", "")),
        documents=table.get("documents"),
        reason=str(table.get("reason", "")),
        owner=str(table.get("owner", "")),
        tolerance=None if tolerance is None else float(tolerance),
        rule=rule,
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _lines(path: Path, problems: list[Problem]) -> dict[str, Evidence]:
    lines: dict[str, Evidence] = {}
    try:
        # Not splitlines(): an id may hold what Unicode calls a line separator.
        texts = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        problems.append(Problem(f"not UTF-8: {error}", str(path)))
        return lines
    for number, text in enumerate(texts if texts != [""] else [], start=1):
        try:
            line = _evidence(json.loads(text))
        except ValueError as error:
            what = "a mark of a merge conflict" if _CONFLICT.match(text) else f"no line of evidence ({error})"
            problems.append(
                Problem(f"{what}; take it from one side and pin the stratum again", str(path), number)
            )
            continue
        if line.query_id in lines:
            problems.append(
                Problem(
                    f"query {line.query_id!r} has evidence twice (a merge?); keep the line of the branch"
                    " whose pins.toml you keep",
                    str(path),
                    number,
                )
            )
        lines[line.query_id] = line
    return lines


def _evidence(value: object) -> Evidence:
    """Return one line's evidence.

    Raises
    ------
    ValueError
        It is none; the message names the key.
    """
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    grade = _every(_is_whole, mapping=True)
    checks: dict[str, Callable[[object], bool]] = {
        **dict.fromkeys(("query_id", "stratum", "query"), _is_text),
        "ranking": _every(_is_text),
        "returned": _is_whole,
        "grades": grade,
        "scores": _every(lambda score: score is None or _is_number(score), mapping=True),
    }
    for key, check in checks.items():
        if key not in value:
            raise ValueError(f"there is no {key!r}")
        if not check(value[key]):
            raise ValueError(f"{key} is {value[key]!r}")
    for key, check in (("ranks", grade), ("slices", _every(_is_text))):
        if key in value and not check(value[key]):
            raise ValueError(f"{key} is {value[key]!r}")
    return Evidence.from_plain(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _every(check: Callable[[object], bool], *, mapping: bool = False) -> Callable[[object], bool]:
    """Return a check of a list whose every entry, or of a mapping whose every value, passes one."""

    def checks(value: object) -> bool:
        if mapping:
            return isinstance(value, dict) and all(map(check, value.values()))
        return isinstance(value, list) and all(map(check, value))

    return checks


def _line(line: Evidence) -> str:
    return json.dumps(line.plain(), ensure_ascii=False, separators=(",", ":"))


def _toml(path: Path, pins: Pins) -> TOMLDocument:
    """Return pins.toml: every table in order, with the comments and hand-made keys of the file there is."""
    import tomlkit

    old: Any = tomlkit.parse(path.read_text(encoding="utf-8")) if path.is_file() else tomlkit.document()
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
