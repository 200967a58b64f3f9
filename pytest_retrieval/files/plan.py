"""plan.toml: the planned comparisons of a gold set, locked before their results were looked at.

Its threshold is alpha / number locked, so a test's verdict depends on this file alone: never on which tests
were selected, and never on another test's p.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from pytest_retrieval.errors import SettingsError
from pytest_retrieval.files.content import label_of
from pytest_retrieval.files.writing import replace_file
from pytest_retrieval.stats.thresholds import bonferroni

__all__ = ["PLAN", "Plan", "Planned", "load_plan", "parse_plan", "save_plan"]

PLAN = "plan.toml"

_HEADER = (
    "Written by pytest --retrieval-lock before the results are looked at. Every comparison is established",
    "below alpha / number of comparisons. A later change needs a reason, and results print the last one.",
)
_TABLES = "comparison"
_COUNT = "queries"
_KEYS = ("name", "measure", "a", "b", "split", _COUNT, "judgments", "owner")
_MAY_BE_EMPTY = ("measure", "a", "b", "split")
_GIVEN = "given"
_GIVABLE = ("scores", "runs")
_MEND = "take the file back from version control, or remove it and lock again with a reason"
_CONFLICT = re.compile(r"^(<<<<<<<|=======|>>>>>>>)", re.MULTILINE)


@final
@dataclass(frozen=True, slots=True, order=True)
class Planned:
    """One planned comparison.

    Attributes
    ----------
    name
        Identifies it within its gold set.
    split
        Whose queries it is about; empty for every query of a gold set without splits.
    owner
        The test that makes it: its file relative to the gold set's folder, as POSIX, ``::``, its name.
    queries
        How many queries the split held.
    judgments
        Short digest of the texts and judgments of those queries.
    measure
        What is compared; empty where nothing says what the scores are.
    a, b
        The two sides, as runs and columns of scores name themselves; empty for scores without a name.
    given
        ``"scores"`` where the test gives scores, whatever judgments they were made from; ``"runs"`` where it
        gives runs that this session's retrievers did not return; else empty.
    """

    name: str
    split: str
    owner: str
    queries: int = 0
    judgments: str = ""
    measure: str = ""
    a: str = ""
    b: str = ""
    given: str = ""

    @property
    def before_it_ran(self) -> Planned:
        """What is known of it before its test ran: everything but the measure and the sides."""
        return replace(self, measure="", a="", b="", given="")

    @property
    def origin(self) -> str:
        """Where both sides come from, in words."""
        return f"{self.given} given by the test" if self.given else "runs of the fixture `runs`"

    @property
    def file(self) -> str:
        """The owner's file, relative to the gold set's folder."""
        return self.owner.partition("::")[0]


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """What a plan.toml holds.

    Attributes
    ----------
    alpha
        Chance of establishing anything at all where there is nothing, in (0, 1).
    comparisons
        Sorted by name; no name twice.
    reasons
        Of every lock that said one, oldest first.
    locked_threshold
        The threshold when it was last locked; None where it never was.

    Examples
    --------
    >>> plan = Plan(0.05).locked([Planned("hybrid over bm25", "test", "../test_search.py::test_hybrid")])
    >>> plan.threshold
    0.05
    >>> plan.locked([Planned("dense over bm25", "test", "../test_search.py::test_dense")]).threshold
    0.025
    >>> replace(plan, alpha=0.2).is_loosened
    True
    """

    alpha: float
    comparisons: tuple[Planned, ...] = ()
    reasons: tuple[str, ...] = ()
    locked_threshold: float | None = None

    @property
    def threshold(self) -> float:
        """What each comparison's p must be below; alpha where there is none yet."""
        return bonferroni(self.alpha, max(1, len(self.comparisons)))

    @property
    def is_loosened(self) -> bool:
        """Whether the threshold is above the locked one: alpha was raised, or a table removed, by hand."""
        return self.locked_threshold is not None and self.threshold > self.locked_threshold * (1 + 1e-9)

    @property
    def is_tightened(self) -> bool:
        """Whether the threshold is below the locked one: by hand alpha was lowered, or tables merged."""
        return self.locked_threshold is not None and self.threshold < self.locked_threshold * (1 - 1e-9)

    @property
    def last_reason(self) -> str:
        """Why it was last locked anew, or an empty string."""
        return self.reasons[-1] if self.reasons else ""

    @property
    def reason_told(self) -> str:
        """The last reason as results print it: one that stands before others does not hide them."""
        number = len(self.reasons)
        return (
            f"{self.last_reason} (the last of {number} reasons in {PLAN})" if number > 1 else self.last_reason
        )

    def find(self, name: str) -> Planned | None:
        """Return the comparison of a name, or None."""
        return next((planned for planned in self.comparisons if planned.name == name), None)

    def locked(self, found: Iterable[Planned], gone: Iterable[str] = (), reason: str = "") -> Plan:
        """Return the plan with what was found in it, without the names that are gone, and with a reason."""
        by_name = {planned.name: planned for planned in self.comparisons}
        for name in gone:
            by_name.pop(name, None)
        by_name |= {planned.name: planned for planned in found}
        reasons = (*self.reasons, reason) if reason else self.reasons
        new = replace(self, comparisons=tuple(sorted(by_name.values())), reasons=reasons)
        return replace(new, locked_threshold=new.threshold)


def load_plan(folder: Path) -> Plan | None:
    """Read the plan of a gold set.

    Parameters
    ----------
    folder
        Of the gold set.

    Returns
    -------
    Plan or None
        None where nothing was ever locked.

    Raises
    ------
    SettingsError
        It is not readable as TOML, or a key or value is not allowed; every fault is named.
    """
    path = folder / PLAN
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{label_of(path)}: cannot be read: {error.strerror}") from None
    return parse_plan(data, label_of(path))


def parse_plan(data: bytes, label: str) -> Plan:
    """Return the plan that a file holds.

    Parameters
    ----------
    data
        Content of the file.
    label
        The file as the user knows it.

    Raises
    ------
    SettingsError
        As `load_plan`.
    """
    try:
        text = data.decode("utf-8-sig")
        keys = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise SettingsError(f"{label}: byte {error.start + 1} is not UTF-8; save the file as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        hint = (
            "it holds the marks of a merge conflict: keep the comparisons of both sides, and one list"
            " `reasons` with those of both, then lock again with a reason"
            if _CONFLICT.search(text)
            else "mend the line (after a merge: one line each of alpha, threshold and reasons), or take"
            " the file back from version control"
        )
        raise SettingsError(f"{label}: not readable as TOML: {error}; {hint}") from None
    faults: list[str] = []
    plan = Plan(
        alpha=_alpha(keys.get("alpha"), faults),
        comparisons=tuple(sorted(_comparisons(keys.get(_TABLES, []), faults))),
        reasons=_reasons(keys.get("reasons", []), faults),
        locked_threshold=_alpha(keys.get("threshold"), faults, "threshold"),
    )
    faults += [
        f"unknown key {key!r}; allowed are alpha, threshold, reasons and [[{_TABLES}]]"
        for key in keys
        if key not in ("alpha", "threshold", "reasons", _TABLES)
    ]
    if len(faults) == 1:
        raise SettingsError(f"{label}: {faults[0]}; {_MEND}")
    if faults:
        problems = [f"{label}: {len(faults)} problems; {_MEND}", *(f"  {one}" for one in faults)]
        raise SettingsError("\n".join(problems))
    return plan


def save_plan(folder: Path, plan: Plan) -> None:
    """Write plan.toml whole, keeping the comments that people wrote into its tables."""
    replace_file(folder / PLAN, _toml(folder / PLAN, plan))


def _alpha(value: object, faults: list[str], key: str = "alpha") -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1:
        return float(value)
    faults.append(f"{key} is {value!r}; allowed is a number above 0 and below 1, such as 0.05")
    return 0.05


def _reasons(value: object, faults: list[str]) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(reason, str) and reason.strip() for reason in value):
        return tuple(value)
    faults.append(f"reasons is {value!r}; allowed is a list of texts")
    return ()


def _comparisons(value: object, faults: list[str]) -> list[Planned]:
    if not isinstance(value, list):
        faults.append(f"{_TABLES} is {value!r}; a planned comparison is a table [[{_TABLES}]]")
        return []
    found: dict[str, Planned] = {}
    for number, table in enumerate(value, start=1):
        planned = _planned(table, f"[[{_TABLES}]] number {number}", faults)
        if planned is None:
            continue
        if planned.name in found:
            faults.append(f"{planned.name!r} is planned twice (a merge?); keep one of the two tables")
        found[planned.name] = planned
    return list(found.values())


def _planned(table: object, place: str, faults: list[str]) -> Planned | None:
    if not isinstance(table, Mapping):
        faults.append(f"{place} is {table!r}; a table with {', '.join(_KEYS)} is needed")
        return None
    before = len(faults)
    faults += [
        f"{place}: unknown key {key!r}; allowed are {', '.join([*_KEYS, _GIVEN])}"
        for key in table
        if key not in (*_KEYS, _GIVEN)
    ]
    given = table.get(_GIVEN, "")
    if given not in ("", *_GIVABLE):
        faults.append(f"{place}: {_GIVEN} is {given!r}; allowed are {', '.join(map(repr, _GIVABLE))}")
    for key in (key for key in _KEYS if key != _COUNT):
        text = table.get(key)
        if not isinstance(text, str) or not (text.strip() or key in _MAY_BE_EMPTY):
            faults.append(f"{place}: {key} is {text!r}; a text is needed")
    queries = table.get(_COUNT)
    if not isinstance(queries, int) or isinstance(queries, bool) or queries < 1:
        faults.append(f"{place}: {_COUNT} is {queries!r}; a whole number above 0 is needed")
    owner = table.get("owner")
    if isinstance(owner, str) and owner and not all(owner.partition("::")[::2]):
        faults.append(
            f"{place}: owner is {owner!r}; a test such as '../../test_search.py::test_hybrid' is needed"
        )
    if len(faults) > before:
        return None
    return Planned(**{key: table[key] for key in _KEYS}, given=given)


def _toml(path: Path, plan: Plan) -> str:
    """Return the whole file; tables that were there keep the comments within them."""
    import tomlkit

    old: Any = tomlkit.parse(path.read_text(encoding="utf-8-sig")) if path.is_file() else {}
    tables: dict[str, Any] = {str(table["name"]): table for table in old.get(_TABLES, [])}
    new = tomlkit.document()
    for line in _HEADER:
        new.add(tomlkit.comment(line))
    new.add(tomlkit.nl())
    new.add("alpha", tomlkit.item(plan.alpha))
    new.add("threshold", tomlkit.item(plan.threshold))
    if plan.reasons:
        reasons = tomlkit.array()
        reasons.extend(plan.reasons)
        new.add("reasons", reasons.multiline(len(plan.reasons) > 1))
    parts = [new.as_string()]
    for planned in plan.comparisons:
        table = tables.get(planned.name, tomlkit.table())
        for key in _KEYS:
            table[key] = getattr(planned, key)
        table.pop(_GIVEN, None)
        if planned.given:
            table[_GIVEN] = planned.given
        parts.append(f"[[{_TABLES}]]\n{table.as_string()}")
    return "\n\n".join(part.strip() for part in parts) + "\n"
