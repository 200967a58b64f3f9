"""Ids in a text: whole tokens that are known ids, or that a declared pattern describes; never a guess."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import NamedTuple

from pytest_retrieval.errors import InputError

__all__ = ["Found", "compiled", "find_ids", "ids_in_text"]

_JOINTS = frozenset("-./:#")
"""Signs that ids have inside and prose has at the end of a word."""

_NUMBER = re.compile(r"[\d.,]+")


class Found(NamedTuple):
    """An id in a text, and where it stands: ``text[start:end]``."""

    doc_id: str
    start: int
    end: int


def find_ids(text: str, known: Collection[str] = (), pattern: str | None = None) -> Iterator[Found]:
    r"""Yield the ids in a text, in order.

    Parameters
    ----------
    text
        What to read.
    known
        Ids to look for as they are, where no pattern is given. Those that look like numbers are never looked
        for so: prose holds numbers that are no ids, and a pattern such as ``ID: (\d+)`` tells them apart.
    pattern
        Regular expression of an id; its first group, if it has one, is the id. Matches inside a longer word
        do not count.

    Raises
    ------
    InputError
        The pattern is no regular expression.
    """
    if pattern is not None:
        for match in compiled(pattern).finditer(text):
            group = 1 if match.re.groups else 0
            if match.group(group) and _is_whole(text, match.start(), match.end()):
                yield Found(match.group(group), match.start(group), match.end(group))
        return
    telling = [doc_id for doc_id in known if not _NUMBER.fullmatch(doc_id)]
    if not telling:
        return
    longest_first = sorted(telling, key=lambda doc_id: (-len(doc_id), doc_id))
    expression = re.compile("|".join(map(re.escape, longest_first)))
    place = 0
    while hit := expression.search(text, place):
        whole = _is_whole(text, hit.start(), hit.end())
        if whole:
            yield Found(hit.group(), hit.start(), hit.end())
        place = hit.end() if whole else hit.start() + 1


def ids_in_text(text: str, known: Collection[str] = (), pattern: str | None = None) -> tuple[str, ...]:
    """Return the distinct ids in a text, in order; arguments as for `find_ids`.

    Examples
    --------
    >>> ids_in_text("I suggest F0012 and F0012.5, not XF0012.", {"F0012", "F0012.5"})
    ('F0012', 'F0012.5')
    """
    return tuple(dict.fromkeys(found.doc_id for found in find_ids(text, known, pattern)))


@lru_cache(maxsize=64)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern ready to use.

    Raises
    ------
    InputError
        It is no regular expression.
    """
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InputError(f"pattern {pattern!r} is no regular expression: {error}") from None


def _is_whole(text: str, start: int, end: int) -> bool:
    """Return whether a match is a token of its own: no letter, digit or joint sign continues it."""
    left = not _is_word(text[start]) or not _continues(
        text[start - 1 : start], text[max(0, start - 2) : start - 1]
    )
    right = not _is_word(text[end - 1]) or not _continues(text[end : end + 1], text[end + 1 : end + 2])
    return left and right


def _continues(next_to: str, beyond: str) -> bool:
    """Return whether what stands next to a word is part of it: a letter, or a joint with a letter beyond."""
    return _is_word(next_to) or (next_to in _JOINTS and _is_word(beyond))


def _is_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"
