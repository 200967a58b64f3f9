"""What went over the wire: the messages of a log, in order, whatever they are wrapped in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_retrieval.errors import InputError, listed

__all__ = ["READABLE", "items_of", "list_of", "object_of", "refuse_foreign"]

CHAT, RESPONSES, ANTHROPIC = "OpenAI chat", "OpenAI responses", "Anthropic messages"
READABLE = f"{CHAT}, {RESPONSES}, {ANTHROPIC} can be read"

_FOREIGN = {
    "candidates": "Google Gemini",
    "contents": "Google Gemini",
    "generationConfig": "Google Gemini",
    "parts": "Google Gemini",
    "executed_tools": "Groq compound",
    "search_settings": "Groq compound",
    "generations": "Cohere",
    "toolUse": "Amazon Bedrock",
}


def items_of(log: object) -> list[Any]:
    """Return the messages or items of a log in order, whatever it is wrapped in."""
    if isinstance(log, Mapping):
        if "request" in log or "response" in log:
            return [*_items_of_request(log.get("request")), *_items_of_response(log.get("response"))]
        if "messages" in log or "input" in log:
            return _items_of_request(log)
        return _items_of_response(log)
    if isinstance(log, Sequence) and not isinstance(log, str | bytes):
        if log and all(isinstance(item, Mapping) and "response" in item for item in log):
            return items_of(log[-1])
        return list(log)
    raise InputError(f"a log is {type(log).__name__}; a list of messages or an exchange is needed")


def _items_of_request(request: Any) -> list[Any]:
    if request is None:
        return []
    request = object_of(request, "a request")
    refuse_foreign(request)
    given = request.get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if given is not None:
        return list_of(given, "the input of a request")
    return list_of(request.get("messages"), "the messages of a request")


def _items_of_response(response: Any) -> list[Any]:
    if response is None:
        return []
    response = object_of(response, "a response")
    refuse_foreign(response)
    if isinstance(response.get("choices"), list):
        found = []
        for choice in response["choices"][:1]:
            first = object_of(choice, "a choice of a response")
            if "delta" in first:
                raise InputError("this is a piece of a stream; join its pieces to one message first")
            message = object_of(first.get("message"), "the message of a choice")
            tokens = _tokens(response.get("usage"))
            found.append({**message, "finish_reason": first.get("finish_reason"), "tokens": tokens})
        return found
    if isinstance(response.get("output"), list):
        cut = response.get("status") == "incomplete"
        return [*response["output"], *([{"type": "cut"}] if cut else [])]
    if isinstance(response.get("content"), list) and response.get("role") == "assistant":
        return [{**response, "tokens": _tokens(response.get("usage"))}]
    raise InputError(
        f"a response with {listed(sorted(response)) or 'nothing'} is of no format that can be read:"
        f" {READABLE}"
    )


def object_of(value: Any, what: str) -> Mapping[str, Any]:
    """Return a value that is an object.

    Raises
    ------
    InputError
        It is something else.
    """
    if not isinstance(value, Mapping):
        raise InputError(f"{what} is {value!r}; an object is needed")
    return value


def list_of(value: Any, what: str) -> list[Any]:
    """Return a value that is a list, or an empty list where there is none.

    Raises
    ------
    InputError
        It is something else.
    """
    if value is not None and not isinstance(value, list | tuple):
        raise InputError(f"{what} are {value!r}; a list is needed")
    return list(value or ())


def refuse_foreign(value: Any) -> None:
    """Refuse what another provider writes, by its name."""
    if not isinstance(value, Mapping):
        return
    found = [provider for key, provider in _FOREIGN.items() if key in value]
    message = value.get("message")
    choices = value.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        message = choice.get("message") if isinstance(choice, Mapping) else message
        found += ["Groq compound"] if isinstance(message, Mapping) and "executed_tools" in message else []
    if str(value.get("model", "")).startswith(("compound-", "groq/")):
        found.append("Groq compound")
    if found:
        raise InputError(f"this is a log of {found[0]}; {READABLE}")


def _tokens(usage: Any) -> int | None:
    if not isinstance(usage, Mapping):
        return None
    total = usage.get("total_tokens")
    if isinstance(total, int):
        return total
    parts = [usage.get(name) for name in ("input_tokens", "output_tokens")]
    return sum(part for part in parts if isinstance(part, int)) or None
