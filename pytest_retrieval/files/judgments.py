"""Judgments as a file lists them, one by one with their lines, and what they must agree on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pytest_retrieval.errors import Problem
from pytest_retrieval.files.columns import ids_of, missing_columns, near_misses, renamed
from pytest_retrieval.files.content import columns_filled, lines_of, words_of
from pytest_retrieval.files.tables import Table

__all__ = [
    "Judgment",
    "agreeing",
    "is_beir_header",
    "judgments_of_lines",
    "judgments_of_table",
    "whole_number",
]

BEIR_HEADER = ("query-id", "corpus-id", "score")


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


def _bad_grade(grade: object, query_id: str, doc_id: str) -> str:
    """Return the message for a grade that is no whole number."""
    return (
        f"grade {grade!r} of document {doc_id!r} in query {query_id!r} is not a whole number; allowed are"
        " integers such as 0, 1, 2"
    )


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


def is_beir_header(text: str) -> bool:
    """Return whether the first line of a file is the header of BEIR's qrels."""
    return tuple(text.strip().split("\t")) == BEIR_HEADER


def _headless(text: str) -> bool:
    """Return whether a first line is one of BEIR's qrels, below a header that is missing."""
    words = text.split("\t")
    return len(words) == len(BEIR_HEADER) and all(map(str.strip, words)) and " " not in text.strip()


def judgments_of_lines(data: bytes, label: str, *, groups: bool) -> tuple[list[Judgment], list[Problem]]:
    """Return the judgments of TREC or BEIR qrels with their lines, and what is wrong with the others."""
    lines, problems = lines_of(data, label)
    beir = bool(lines) and is_beir_header(lines[0].text)
    judgments: list[Judgment] = []
    expected = (
        "3 columns (query-id, corpus-id, score)" if beir else "4 columns (query, group, document, grade)"
    )
    if lines and not beir and ".tsv" in label and _headless(lines[0].text):
        head = "\t".join(BEIR_HEADER)
        message = f"has three columns between tabs and no header; BEIR's first line is {head!r}"
        return [], [*problems, Problem(message, label, lines[0].number)]
    for number, text in lines[1:] if beir else lines:
        if text.startswith("#") and not beir:
            continue
        words = text.split("\t") if beir else words_of(text)
        if len(words) != (3 if beir else 4) or not all(words):
            problems.append(Problem(f"{columns_filled(words)}; expected {expected}", label, number))
            continue
        query_id, doc_id, grade = (words[0], words[-2], whole_number(words[-1]))
        if grade is None:
            problems.append(Problem(_bad_grade(words[-1], query_id, doc_id), label, number))
            continue
        group = words[1] if groups and not beir else None
        judgments.append(Judgment(query_id, doc_id, grade, group, label, number))
    if not judgments and not problems:
        problems.append(Problem("the file holds no judgment", label))
    return judgments, problems


def judgments_of_table(table: Table, groups: bool, problems: list[Problem]) -> list[Judgment]:
    """Return the judgments in a table with columns query_id, doc_id, grade and, with `groups`, group.

    BEIR's names query-id, corpus-id and score are known too. What is wrong goes to `problems`.
    """
    table = renamed(table, {"query-id": "query_id", "corpus-id": "doc_id", "score": "grade"})
    needed = ["query_id", "doc_id", "grade", *(["group"] if groups else [])]
    problems += table.problems
    problems += missing_columns(table, needed)
    problems += near_misses(table, ["query_id", "doc_id", "grade", "group"])
    if any(column not in table.columns for column in needed):
        return []
    queries, documents = ids_of(table, "query_id", problems), ids_of(table, "doc_id", problems)
    judgments = []
    for row, query_id, doc_id in zip(table.rows, queries, documents, strict=True):
        if query_id is None or doc_id is None:
            continue
        grade = whole_number(row.values.get("grade"))
        if grade is None:
            message = _bad_grade(row.values.get("grade"), query_id, doc_id)
            problems.append(Problem(message, table.file, row.line))
            continue
        group = row.values.get("group") if groups else None
        name = None if group is None or group == "" else str(group)
        judgments.append(Judgment(query_id, doc_id, grade, name, table.file, row.line))
    return judgments
