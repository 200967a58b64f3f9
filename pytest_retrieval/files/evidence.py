"""Evidence on disk: one line of JSON per query, each checked on its own before anything is made of it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeGuard

from pytest_retrieval.errors import Problem, listed
from pytest_retrieval.files.content import IS_POINTER, POINTER, label_of
from pytest_retrieval.files.json_lines import NoJson, value_of
from pytest_retrieval.gate.pin import Evidence

__all__ = ["is_conflict", "is_number", "is_whole", "read_evidence", "text_of_evidence"]

_CONFLICT = re.compile(r"^(<<<<<<<|=======|>>>>>>>)")
_REQUIRED = ("query_id", "stratum", "query", "ranking", "returned", "grades", "scores")
_OPTIONAL = ("ranks", "slices", "stages", "places", "replies")


def read_evidence(path: Path, problems: list[Problem]) -> dict[str, Evidence]:
    """Return the evidence of one subject by query; what is wrong goes to `problems`."""
    lines: dict[str, Evidence] = {}
    label = label_of(path)
    try:
        # Not splitlines(): an id may hold what Unicode calls a line separator.
        texts = path.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        problems.append(Problem(f"not UTF-8: byte {error.start + 1}; {_MEND}", label))
        return lines
    except OSError as error:
        problems.append(Problem(f"cannot be read: {error.strerror or error}", label))
        return lines
    if texts[0].startswith(POINTER.decode()):
        problems.append(Problem(IS_POINTER, label))
        return lines
    for number, text in enumerate(texts if texts != [""] else [], start=1):
        try:
            line = _evidence(_plain(text))
        except ValueError as error:
            problems.append(Problem(str(error), label, number))
            continue
        if line.query_id in lines:
            message = (
                f"query {line.query_id!r} has evidence twice (a merge?); keep the line of the branch whose"
                " pins.toml you keep"
            )
            problems.append(Problem(message, label, number))
        lines[line.query_id] = line
    return lines


_MEND = "take the file back from version control, or delete the pins and pin again"


def text_of_evidence(lines: Mapping[str, Evidence]) -> str:
    """Return the text of a file of evidence: a line per query, sorted."""
    return "".join(
        json.dumps(lines[query_id].plain(), ensure_ascii=False, separators=(",", ":")) + "\n"
        for query_id in sorted(lines)
    )


def is_conflict(line: str) -> bool:
    """Return whether a line is a mark that git leaves in a file it could not merge."""
    return _CONFLICT.match(line) is not None


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def _plain(text: str) -> object:
    """Return one line's JSON.

    Raises
    ------
    ValueError
        It is none.
    """
    if is_conflict(text):
        raise ValueError("a mark of a merge conflict; take the line from one side and pin the stratum again")
    try:
        found: object = value_of(text)
    except NoJson as error:
        raise ValueError(f"no line of evidence: it {error}; {_MEND}") from None
    return found


def _evidence(value: object) -> Evidence:
    """Return one line's evidence.

    Raises
    ------
    ValueError
        It is none, or does not agree with itself; the message names the key.
    """
    if not isinstance(value, dict):
        raise ValueError(f"no line of evidence: it is no JSON object; {_MEND}")
    for key in _REQUIRED:
        if key not in value:
            raise ValueError(f"no line of evidence: there is no {key!r}; {_MEND}")
    unknown = sorted(value.keys() - {*_REQUIRED, *_OPTIONAL})
    if unknown:
        known = ", ".join((*_REQUIRED, *_OPTIONAL))
        raise ValueError(f"no line of evidence: key {unknown[0]!r} is not known; known are {known}; {_MEND}")
    for key, found in value.items():
        check, allowed = _CHECKS[key]
        if not check(found):
            raise ValueError(f"no line of evidence: {key} is {found!r}; allowed is {allowed}; {_MEND}")
    line = Evidence.from_plain(value)
    why = _contradiction(line)
    if why:
        raise ValueError(f"pins and evidence disagree: query {line.query_id!r}: {why}; {_MEND}")
    return line


def _contradiction(line: Evidence) -> str:
    """Return what in a line cannot be true at once, or an empty string."""
    if line.replies:
        return ""  # of a recording, whose scores come from the replies
    kept = len(line.ranking)
    twice = sorted({doc_id for doc_id in line.ranking if line.ranking.count(doc_id) > 1})
    if twice:
        return f"the ranking holds {listed(map(repr, twice))} more than once"
    if line.returned < kept:
        return f"the ranking has {kept} documents and returned is {line.returned}"
    if line.places and len(line.places) != kept:
        return f"the ranking has {kept} documents and places has {len(line.places)}"
    ranks = dict(line.ranks)
    if not all(kept < rank <= line.returned for rank in ranks.values()):
        return f"ranks are {ranks}, and only {kept + 1} to {line.returned} lie below the ranking"
    if len({*ranks.values()}) < len(ranks) or ranks.keys() & set(line.ranking):
        return f"ranks are {ranks}, which gives one place to two documents or two to one"
    return ""


def _every(check: Callable[[object], bool], *, mapping: bool = False) -> Callable[[object], bool]:
    """Return a check of a list whose every entry, or of a mapping whose every value, passes one."""

    def checks(value: object) -> bool:
        entries: Iterable[object] | None = None
        if mapping and isinstance(value, dict):
            entries = value.values()
        elif not mapping and isinstance(value, list):
            entries = value
        return entries is not None and all(map(check, entries))

    return checks


def _is_id(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_reply(value: object) -> bool:
    if not isinstance(value, dict) or not {"shown", "cited"} <= value.keys():
        return False
    checks: dict[str, Callable[[object], bool]] = {
        "shown": _every(_is_id),
        "cited": _every(_is_id),
        "numbers": _every(is_number, mapping=True),
        "picks": lambda picks: isinstance(picks, bool),
    }
    return all(key in checks and checks[key](found) for key, found in value.items())


def _is_place(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 3
        and _is_id(value[0])
        and _is_count(value[1])
        and _is_rank(value[2])
        and value[1] < value[2]
    )


def _is_score(value: object) -> bool:
    return value is None or is_number(value)


def _is_count(value: object) -> bool:
    return is_whole(value) and value >= 0


def _is_rank(value: object) -> bool:
    return is_whole(value) and value >= 1


_CHECKS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "query_id": (_is_id, "a string"),
    "stratum": (_is_id, "a string"),
    "query": (_is_text, "the digest of the query's text"),
    "ranking": (_every(_is_id), "a list of document ids"),
    "returned": (_is_count, "a whole number"),
    "grades": (_every(is_whole, mapping=True), "document id → whole number"),
    "scores": (_every(_is_score, mapping=True), "measure → number or null"),
    "ranks": (_every(_is_rank, mapping=True), "document id → rank"),
    "slices": (_every(_is_id), "a list of names"),
    "stages": (_every(_every(_is_rank, mapping=True), mapping=True), "stage → document id → rank"),
    "places": (_every(_is_place), "a list of [document, start, end]"),
    "replies": (_every(_is_reply), "a list of replies with shown and cited documents"),
}
