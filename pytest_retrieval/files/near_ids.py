"""Why an id is not in the catalog: what spreadsheets and people do to ids, undone.

Only messages are made of this. An id that is not written as in the catalog is never taken for one that is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from typing import final

from pytest_retrieval.errors import listed

__all__ = ["NearIds"]

_BETWEEN = re.compile(r"[,/\s]+")
_AROUND = (
    "[](){}'\"="  # lists as Python and JSON print them, and what keeps a spreadsheet from reading numbers
)
_WHOLE = re.compile(r"[0-9]+(?:\.0+)?")
_SCIENTIFIC = re.compile(r"[0-9](?:\.[0-9]+)?[eE]\+?[0-9]{1,2}")
_NOTHING = ("-", "–", "—", "?", "n/a", "na", "#n/a", "nan", "none", "null", "nil")


@final
class NearIds:
    """Ids of a catalog, by what is left of them once they are mangled.

    Examples
    --------
    >>> near = NearIds(["00123", "B-7", "c1", "c2"])
    >>> near.hint("123")
    "the catalog has '00123'; spreadsheets drop leading zeros"
    >>> near.hint("b-7")
    "the catalog has 'B-7'"
    >>> near.hint("c1, c2")
    "several ids in one cell stand between '|' or ';'"
    """

    def __init__(self, ids: Iterable[str]) -> None:
        self._ids = frozenset(ids)
        self._folded: dict[str, str] = {}
        self._numbers: dict[str, str] = {}

    def _look(self) -> None:
        """Fold every id, once the first is not found."""
        if self._folded:
            return
        for name in self._ids:
            _keep(self._folded, _fold(name), name)
            number = _number(name)
            if number is not None:
                _keep(self._numbers, number, name)

    def __contains__(self, name: object) -> bool:
        return name in self._ids

    def __len__(self) -> int:
        return len(self._ids)

    def hint(self, name: str) -> str:
        """Return what may be behind an id that the catalog does not have; empty if nothing is known."""
        self._look()
        if name.strip().casefold() in _NOTHING:
            return "leave the cell empty if nothing answers the question"
        parts = [part for part in (one.strip(_AROUND) for one in _BETWEEN.split(name)) if part]
        if len(parts) > 1 and all(part in self._ids for part in parts):
            return "several ids in one cell stand between '|' or ';'"
        if len(parts) == 1 and parts[0] in self._ids and parts[0] != name.strip():
            return f"the catalog has {parts[0]!r}, without signs around it"
        folded = self._folded.get(_fold(name))
        if folded is not None:
            same = folded.casefold() == name.casefold()
            return f"the catalog has {folded!r}" + ("" if same else ", which differs in signs not seen")
        number = _number(name)
        if number is not None and number in self._numbers:
            why = "drop leading zeros" if name.isdigit() else "write ids as numbers"
            return f"the catalog has {self._numbers[number]!r}; spreadsheets {why}"
        if _SCIENTIFIC.fullmatch(name):
            return "a spreadsheet wrote it as a rounded number; format the column as text and export it anew"
        unknown = [part for part in parts if part not in self._ids]
        if 0 < len(unknown) < len(parts):
            names = listed(map(repr, unknown))
            return f"several ids in one cell stand between '|' or ';', and the catalog lacks {names}"
        return ""


def _keep(names: dict[str, str], key: str, name: str) -> None:
    """Keep the first name by code point, so that a message does not depend on the order of a set."""
    names[key] = min(name, names.get(key, name))


def _fold(name: str) -> str:
    """Return an id without case, white space, invisible signs and differences of width."""
    plain = unicodedata.normalize("NFKC", name)
    return "".join(
        sign for sign in plain if not sign.isspace() and unicodedata.category(sign) != "Cf"
    ).casefold()  # fmt: skip


def _number(name: str) -> str | None:
    """Return the whole number that an id stands for as a spreadsheet reads it; None if for none."""
    if _WHOLE.fullmatch(name):
        return name.partition(".")[0].lstrip("0") or "0"
    return f"{Decimal(name):f}" if _SCIENTIFIC.fullmatch(name) else None
