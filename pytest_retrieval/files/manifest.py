"""manifest.toml: how a recording was made, read and checked without touching what was recorded."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from pytest_retrieval.errors import FileError, Problem, listed
from pytest_retrieval.files.content import label_of
from pytest_retrieval.files.toml_lines import Places
from pytest_retrieval.model.records import KINDS, Context

__all__ = ["MANIFEST", "contexts_of", "read_manifest"]

MANIFEST = "manifest.toml"


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return what a recording's manifest says, once every key of it is allowed.

    Raises
    ------
    FileError
        It is missing, no TOML, or holds a key or value that is not allowed; every fault is named.
    """
    path = folder / MANIFEST
    label = label_of(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
        manifest = tomllib.loads(text)
    except FileNotFoundError:
        hint = f"a recording is a folder with a {MANIFEST} that names at least its kind and its gold set"
        raise FileError(f"recording {label_of(folder)}", [Problem(f"no such file; {hint}", label)]) from None
    except OSError as error:
        raise _error(folder, [Problem(f"cannot be read: {error.strerror or error}", label)]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _error(folder, [Problem(f"is no TOML: {error}", label)]) from None
    problems = []
    for key, value in manifest.items():
        if key not in _ALLOWED:
            hint = f"allowed are {', '.join(_ALLOWED)}; put what is your own into [extra]"
            problems.append(Problem(f"unknown key {key!r}; {hint}", label, Places(text).line(key)))
        elif not _ALLOWED[key][0](value):
            needed = _ALLOWED[key][1]
            problems.append(Problem(f"{key} is {value!r}; {needed} is needed", label, Places(text).line(key)))
    problems += [
        Problem(f"the key {key!r} is missing; {_ALLOWED[key][1]} is needed", label)
        for key in ("kind", "goldset")
        if key not in manifest
    ]
    if not problems:
        problems += _context_problems(manifest, label)
        problems += _digest_problems(manifest, label)
    if problems:
        raise _error(folder, problems)
    return manifest


def contexts_of(manifest: Mapping[str, Any]) -> dict[str, Context]:
    """Return the kinds of context that a manifest declares."""
    return {
        name: Context(subject=table.get("subject"), k=table.get("k"))
        for name, table in manifest.get("contexts", {}).items()
    }


def _error(folder: Path, problems: list[Problem]) -> FileError:
    return FileError(f"recording {label_of(folder)}", problems)


def _context_problems(manifest: Mapping[str, Any], label: str) -> list[Problem]:
    problems = []
    for name, table in manifest.get("contexts", {}).items():
        place = f"[contexts.{name}]"
        if not isinstance(table, dict):
            problems.append(Problem(f"{place} is {table!r}; a table is needed", label))
            continue
        for key in sorted(set(table) - set(_CONTEXT)):
            hint = f"allowed are {listed(_CONTEXT)}"
            problems.append(Problem(f"{place}: unknown key {key!r}; {hint}", label))
        subject, k = table.get("subject"), table.get("k")
        if subject is not None and not _is_text(subject):
            problems.append(Problem(f"{place}: subject is {subject!r}; a retriever's name is needed", label))
        if k is not None and not _is_count(k):
            problems.append(Problem(f"{place}: k is {k!r}; a whole number of at least 1 is needed", label))
        if subject is not None and k is None and "results_shown" not in manifest:
            hint = "say how many documents it asked for: k here, or results_shown"
            problems.append(Problem(f"{place} names the subject {subject!r} and no k; {hint}", label))
    return problems


def _digest_problems(manifest: Mapping[str, Any], label: str) -> list[Problem]:
    """Return a problem for each digest that nothing would ever be compared with."""
    problems = []
    for name, digest in manifest.get("digests", {}).items():
        if name not in _DIGESTS:
            hint = f"allowed are {listed(_DIGESTS)}"
            problems.append(Problem(f"[digests]: unknown key {name!r}; {hint}", label))
        elif not _is_string(digest):
            problems.append(Problem(f"[digests]: {name} is {digest!r}; a string is needed", label))
    return problems


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_string(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _is_table_of_tables(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(part, dict) for part in value.values())


def _is_date(value: object) -> bool:
    return isinstance(value, str | date)


_CONTEXT = ("subject", "k")
_DIGESTS = ("judgments", "catalog")

_ALLOWED: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "kind": (lambda value: value in KINDS, f"one of {listed(KINDS)}"),
    "goldset": (_is_text, "the name of a gold set"),
    "model": (_is_string, "a string"),
    "digest": (_is_string, "a string"),
    "licence": (_is_string, "a string"),
    "provenance": (_is_string, "a string"),
    "recorded": (_is_date, "a date or a string"),
    "results_shown": (_is_count, "a whole number of at least 1"),
    "max_searches": (_is_count, "a whole number of at least 1"),
    "allowed_citations": (_is_count, "a whole number of at least 1"),
    "prompts": (_is_table, "a table name → text"),
    "options": (_is_table, "a table"),
    "schemas": (_is_table, "a table name → JSON schema"),
    "digests": (_is_table, "a table with judgments and catalog"),
    "tools": (_is_table, "a table name → version"),
    "contexts": (_is_table, "a table name → {subject, k}"),
    "judges": (_is_table_of_tables, "a table name → {model, prompt, calibration}"),
    "extra": (_is_table, "a table"),
}
