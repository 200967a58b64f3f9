"""JSON as a line of a file may hold it: one value, and only one way to read it."""

from __future__ import annotations

import json
from typing import Any

from pytest_retrieval.errors import listed

__all__ = ["NoJson", "value_of"]


class NoJson(ValueError):
    """What a line is instead of one clean JSON value."""


def value_of(text: str) -> Any:
    """Return the JSON value in a line.

    A key named twice would mean whatever a reader keeps of it, and NaN is no JSON: both are refused.

    Raises
    ------
    NoJson
        It is none; the message says why.

    Examples
    --------
    >>> value_of('{"query_id": "q1", "shown": ["a"]}')
    {'query_id': 'q1', 'shown': ['a']}
    >>> value_of('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    pytest_retrieval.files.json_lines.NoJson: names a key twice: 'a'
    """
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_refused)
    except json.JSONDecodeError as error:
        raise NoJson(f"is no JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise NoJson("is JSON nested too deeply") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise NoJson(f"names a key twice: {listed(map(repr, twice))}")
    return values


def _refused(constant: str) -> Any:
    raise NoJson(f"holds {constant}, which is no JSON; write null")
