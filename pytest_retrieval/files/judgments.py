"""Judgments as a file lists them, one by one with their lines, and what they must agree on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pytest_retrieval.errors import Problem

__all__ = ["Judgment", "agreeing", "whole_number"]


class Judgment(NamedTuple):
    """One judged document of one query, and where it stands."""

    query_id: str
    doc_id: str
    grade: int
    group: str | None
    file: str
    line: int


def whole_number(value: object) -> int | None:
    """Return a grade as a whole number, or None where it is none: 2, "2" and "2.0" are 2, 0.5 is not.

    Examples
    --------
    >>> whole_number("2"), whole_number(2.0), whole_number("0.5"), whole_number(True)
    (2, 2, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and ("_" in value or not value.isascii()):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return int(number) if number.is_integer() and abs(number) < 2**53 else None


def agreeing(judgments: Iterable[Judgment], problems: list[Problem]) -> dict[tuple[str, str], Judgment]:
    """Return (query_id, doc_id) → its first judgment; contradictions are added to `problems`.

    The same judgment twice is one item.
    """
    first: dict[tuple[str, str], Judgment] = {}
    for judgment in judgments:
        known = first.setdefault((judgment.query_id, judgment.doc_id), judgment)
        if known is judgment:
            continue
        place = f"line {known.line}" if known.file == judgment.file else f"{known.file}:{known.line}"
        pair = f"document {judgment.doc_id!r} of query {judgment.query_id!r}"
        if known.grade != judgment.grade:
            problems.append(
                Problem(
                    f"{pair} has grade {judgment.grade} here and grade {known.grade} in {place}; keep one",
                    judgment.file,
                    judgment.line,
                )
            )
        elif known.group != judgment.group:
            problems.append(
                Problem(
                    f"{pair} is in group {judgment.group!r} here and in group {known.group!r} in {place};"
                    " a document belongs to one group",
                    judgment.file,
                    judgment.line,
                )
            )
    return first
