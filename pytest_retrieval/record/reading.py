"""Reading what a model wrote: any text it may send, without trusting one word of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

__all__ = ["content_of", "fault_of", "json_line", "message_of", "parsed"]


def fault_of(reply: object) -> str:
    """Return why a server's reply is no chat completion, or an empty string.

    Examples
    --------
    >>> fault_of({"choices": [{"message": {"content": "yes"}}]})
    ''
    >>> fault_of({"choices": [None]})
    'without a message'
    """
    choices = reply.get("choices") if isinstance(reply, dict) else None
    if not isinstance(choices, list) or not choices:
        return "without choices"
    message = choices[0].get("message") if isinstance(choices[0], dict) else None
    if not isinstance(message, dict):
        return "without a message"
    if not isinstance(message.get("content"), str | list | None):
        return "with a content that is no text"
    if not isinstance(message.get("tool_calls"), list | None):
        return "with tool calls that are no list"
    return ""


def message_of(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first message of a chat completion."""
    message: dict[str, Any] = reply["choices"][0]["message"]
    return message


def content_of(reply: Mapping[str, Any]) -> str:
    """Return the text of a chat completion; texts that come in parts are joined.

    Examples
    --------
    >>> content_of({"choices": [{"message": {"content": [{"type": "text", "text": "yes"}]}}]})
    'yes'
    """
    content = message_of(reply).get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))


def parsed(text: str, *, finite: bool = True) -> object:
    """Return the JSON value that a model wrote.

    With `finite`, numbers that no JSON can hold are refused: a recording could not keep them.

    Raises
    ------
    ValueError
        It is none, or nested deeper than can be read.

    Examples
    --------
    >>> parsed("[NaN]", finite=False)
    [nan]
    >>> parsed("[NaN]")
    Traceback (most recent call last):
    ValueError: NaN is no number that JSON can hold
    """
    try:
        if finite:
            return json.loads(text, parse_float=_finite, parse_constant=_finite)
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number that JSON can hold")
    return number


def json_line(value: object) -> str:
    r"""Return a value as one line of JSON that can be written as UTF-8.

    Characters stand as they are, unless one of them is half of a pair, which UTF-8 cannot hold.

    Examples
    --------
    >>> json_line("für"), json_line("\ud800")
    ('"für"', '"\\ud800"')
    """
    line = json.dumps(value, ensure_ascii=False)
    return line if line.isascii() or _is_encodable(line) else json.dumps(value)


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
