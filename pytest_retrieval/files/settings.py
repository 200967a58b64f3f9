"""goldset.toml: what a gold set says about itself, read without touching its data.

This module stands apart from the content because the plugin reads it at every session start: it imports
neither numpy nor pandas.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from pytest_retrieval.errors import Problem, SettingsError
from pytest_retrieval.files.content import label_of
from pytest_retrieval.files.toml_lines import Places

__all__ = [
    "FILE_NAMING",
    "Settings",
    "SubjectSettings",
    "is_beir_folder",
    "line_of_key",
    "read_settings",
    "settings_from",
]

FILE_NAME = "goldset.toml"
RESERVED_SPLIT = "test"

FILE_NAMING = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""Names that can name a file everywhere, as a subject's names its evidence."""

_GOLDSET = re.compile(r"[^\W_](?:[\w .-]*[\w.-])?")
_MEASURE = re.compile(
    r"[A-Za-z_][A-Za-z0-9_]*(?:\([^()]*\))?(?:@[1-9][0-9]{0,8})?|label:[A-Za-z_][A-Za-z0-9_-]*(?:\([^()]*\))?"
)


@final
@dataclass(frozen=True, slots=True)
class SubjectSettings:
    """A subject as goldset.toml names it; measure names are not parsed yet."""

    measures: tuple[str, ...]
    requires: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What goldset.toml says. Attributes that mean the same as those of `GoldSet` are described there.

    Attributes
    ----------
    file
        The file as messages show it; the folder's label where a BEIR folder has none.
    folder
        Where the gold set's files lie; None for one made of DataFrames.
    relevance_level
        None where it is not stated.
    stratum
        Column that holds the stratum, or None: the column ``stratum`` where there is one.
    slices
        Columns that hold slices, or None: the column ``slices`` where there is one.
    splits
        The splits allowed, or None: any.
    no_relevant
        ``"error"`` or ``"undefined"``: what an answerable query without a relevant document is.
    groups
        Whether column 2 of the qrels names groups.
    as_is
        Whether this is a BEIR folder without goldset.toml, read with BEIR's conventions.
    """

    name: str
    file: str = ""
    folder: Path | None = None
    version: str = ""
    provenance: str = ""
    licence: str = ""
    grades: Mapping[str, int] = field(default_factory=dict)
    relevance_level: int | None = None
    stratum: str | None = None
    slices: tuple[str, ...] | None = None
    splits: tuple[str, ...] | None = None
    gate_splits: tuple[str, ...] | None = None
    gate_also: tuple[str, ...] = ()
    unjudged: str = "irrelevant"
    no_relevant: str = "error"
    groups: bool = False
    min_judged: float | None = None
    depth: int = 100
    context_size: int | None = None
    tolerance: float = 0.0
    alpha: float = 0.05
    recording_drift: float = 0.0
    subjects: Mapping[str, SubjectSettings] = field(default_factory=dict)
    as_is: bool = False


class _Bad(ValueError):
    """What is allowed instead of the value given, and in which subject's table it stands."""

    def __init__(self, allowed: str, subject: str | None = None) -> None:
        super().__init__(allowed)
        self.subject = subject


def read_settings(folder: str | os.PathLike[str]) -> Settings:
    r"""Read the goldset.toml of a folder, and nothing else.

    Parameters
    ----------
    folder
        The folder, or its goldset.toml. A BEIR folder without one gets BEIR's conventions: the folder's name,
        relevance level 1, queries without a relevant document undefined.

    Returns
    -------
    Settings

    Raises
    ------
    SettingsError
        The file is missing or no TOML, a key is unknown or a value is not allowed; every fault is named.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "goldset.toml")
    >>> _ = path.write_text('name = "store"\nrelevance_level = 2\n')
    >>> read_settings(path.parent).relevance_level
    2
    """
    path = Path(folder)
    if path.name != FILE_NAME:
        path = path / FILE_NAME
    label = label_of(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
        keys = tomllib.loads(text)
    except FileNotFoundError:
        if is_beir_folder(path.parent):
            return _beir(path.parent)
        raise SettingsError(
            f"{label}: no such file; a gold set is a folder with a {FILE_NAME} that holds at least its name"
        ) from None
    except OSError as error:
        raise SettingsError(f"{label}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"{label}: byte {error.start + 1} is not UTF-8; save the file as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{label}: is no TOML: {error}") from None
    return settings_from(keys, label, path.parent, text)


def settings_from(
    keys: Mapping[str, Any], label: str, folder: Path | None = None, text: str = ""
) -> Settings:
    """Return checked settings from the keys of a goldset.toml; its text is there to name lines.

    Raises
    ------
    SettingsError
        A key is unknown, missing or has a value that is not allowed; every fault is named.
    """
    faults: list[Problem] = []
    values: dict[str, Any] = {}
    for key, value in keys.items():
        if key not in _CHECKS:
            fault = f"unknown key {key!r}{_meant(key)}; allowed are {', '.join(_CHECKS)}"
            faults.append(Problem(fault, label, Places(text).line(key)))
            continue
        try:
            values[key] = _CHECKS[key](value)
        except _Bad as error:
            fault = f"{error}" if error.subject is not None else f"{key} is {value!r}; allowed is {error}"
            place = (key,) if error.subject is None else (key, error.subject)
            faults.append(Problem(fault, label, Places(text).line(*place)))
    if "name" not in keys:
        faults.append(Problem("the key 'name' is missing; a gold set is identified by its name", label))
    if len(faults) == 1:
        raise SettingsError(str(faults[0]))
    if faults:
        raise SettingsError(
            "\n".join([f"{label}: {len(faults)} problems", *(f"  {fault}" for fault in faults)])
        )
    return Settings(file=label, folder=folder, **values)


def is_beir_folder(folder: Path) -> bool:
    """Return whether a folder is laid out as BEIR's: corpus, queries and a folder of qrels."""
    has_queries = any((folder / f"queries.jsonl{end}").is_file() for end in ("", ".gz"))
    has_corpus = any((folder / f"corpus.jsonl{end}").is_file() for end in ("", ".gz"))
    return has_queries and has_corpus and (folder / "qrels").is_dir()


def line_of_key(settings: Settings, key: str) -> int | None:
    """Return the line of goldset.toml that sets a top-level key, for messages."""
    if settings.folder is None or settings.as_is:
        return None
    return Places((settings.folder / FILE_NAME).read_text("utf-8-sig")).line(key)


def _beir(folder: Path) -> Settings:
    return Settings(
        name=folder.resolve().name,
        file=label_of(folder),
        folder=folder,
        relevance_level=1,
        no_relevant="undefined",
        as_is=True,
    )


def _meant(key: str) -> str:
    import difflib

    near = difflib.get_close_matches(key, list(_CHECKS), n=1, cutoff=0.7)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise _Bad("a string")
    return value


def _name(value: object) -> str:
    if not isinstance(value, str) or not _GOLDSET.fullmatch(value):
        raise _Bad(
            "a string of letters, digits, spaces, '.', '-' and '_' that begins with a letter or digit and"
            " does not end with a space"
        )
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Bad("true or false")
    return value


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _Bad("a whole number of at least 1")
    return value


def _number(low: float, high: float, text: str, *, open_ends: bool = False) -> Callable[[object], float]:
    def check(value: object) -> float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not low <= value <= high or (open_ends and value in (low, high)):  # type: ignore[operator]
            raise _Bad(text)
        return float(value)  # type: ignore[arg-type]

    return check


def _choice(*allowed: str) -> Callable[[object], str]:
    def check(value: object) -> str:
        if value not in allowed:
            raise _Bad(" or ".join(map(repr, allowed)))
        return str(value)

    return check


def _names(what: str, *, may_be_empty: bool = False) -> Callable[[object], tuple[str, ...]]:
    def check(value: object) -> tuple[str, ...]:
        good = isinstance(value, list | tuple) and all(
            isinstance(name, str) and name.strip() for name in value
        )
        if not good or (not value and not may_be_empty) or len(set(value)) < len(value):  # type: ignore[call-overload, arg-type]
            raise _Bad(f"a list of different {what}{'' if may_be_empty else ', at least one'}")
        return tuple(value)  # type: ignore[arg-type]

    return check


def _columns(value: object) -> tuple[str, ...]:
    return _names("column names")([value] if isinstance(value, str) else value)


def _column(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Bad("the name of a column of queries")
    return value


def _cells(value: object) -> tuple[str, ...]:
    message = 'a list of "all" and "slice:<name>" (strata are gated without being listed)'
    names = _names("cells", may_be_empty=True)(value)
    if not all(name == "all" or (name.startswith("slice:") and name != "slice:") for name in names):
        raise _Bad(message)
    return names


def _grades(value: object) -> dict[str, int]:
    message = "a table of grade names and different whole numbers such as {irrelevant = 0, exact = 1}"
    if not isinstance(value, Mapping) or not value:
        raise _Bad(message)
    numbers = list(value.values())
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers):
        raise _Bad(message)
    if len(set(numbers)) < len(numbers) or not all(isinstance(name, str) and name.strip() for name in value):
        raise _Bad(message)
    return dict(value)


def _subjects(value: object) -> dict[str, SubjectSettings]:
    if not isinstance(value, Mapping):
        raise _Bad('tables such as [subjects.bm25] with measures = ["recall@5"]')
    return {name: _subject(name, keys) for name, keys in value.items()}


def _subject(name: object, keys: object) -> SubjectSettings:
    """Return one subject.

    Raises
    ------
    _Bad
        With a whole sentence, and with the subject it is about.
    """
    subject = str(name)
    if not isinstance(name, str) or not FILE_NAMING.fullmatch(name):
        raise _Bad(
            f"subjects.{subject}: a subject cannot be named {subject!r}, for its name names the file of its"
            " evidence; letters A to Z, digits, '.', '-' and '_' are allowed, a letter or digit first. Rename"
            " it here and in the fixture `retrievers`",
            subject,
        )
    if not isinstance(keys, Mapping):
        example = f'[subjects.{subject}] with measures = ["recall@5"]'
        raise _Bad(f"subjects.{subject} is {keys!r}; allowed is a table such as {example}", subject)
    unknown = sorted(set(keys) - {"measures", "requires"})
    if unknown or "measures" not in keys:
        fault = f"{unknown[0]!r} is unknown" if unknown else "'measures' is missing"
        raise _Bad(f"subjects.{subject}: {fault}; allowed are the keys 'measures' and 'requires'", subject)
    checks = {"measures": _measures, "requires": _names("package names", may_be_empty=True)}
    checked = {}
    for key, check in checks.items():
        value = keys.get(key, [])
        try:
            checked[key] = check(value)
        except _Bad as error:
            raise _Bad(f"subjects.{subject}: {key} is {value!r}; allowed is {error}", subject) from None
    return SubjectSettings(checked["measures"], checked["requires"])


def _measures(value: object) -> tuple[str, ...]:
    """Return names that look like measures; which of them there are is known once hooks were asked."""
    names = _names("measure names, the primary first")(value)
    for name in names:
        if not _MEASURE.fullmatch(name):
            raise _Bad(
                f"measure names such as 'recall@5' or 'ndcg(gain=exp)@10'; {name!r} is none: no white space"
                " around it, and after the @ a whole number without leading zeros"
            )
    return names


_CHECKS: Mapping[str, Callable[[object], Any]] = {
    "name": _name,
    "version": _string,
    "provenance": _string,
    "licence": _string,
    "grades": _grades,
    "relevance_level": _whole,
    "stratum": _column,
    "slices": _columns,
    "splits": _names("split names"),
    "gate_splits": _names("split names"),
    "gate_also": _cells,
    "unjudged": _choice("irrelevant", "unknown"),
    "no_relevant": _choice("error", "undefined"),
    "groups": _flag,
    "min_judged": _number(0.0, 1.0, "a number from 0 to 1"),
    "depth": _whole,
    "context_size": _whole,
    "tolerance": _number(0.0, 1.0, "a number from 0 to 1"),
    "alpha": _number(0.0, 1.0, "a number above 0 and below 1", open_ends=True),
    "recording_drift": _number(0.0, 1.0, "a number from 0 to 1"),
    "subjects": _subjects,
}
