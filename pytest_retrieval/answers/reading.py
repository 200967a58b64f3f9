"""Reading messages one by one: what was asked, which calls were made, what came back, what was said last."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

from pytest_retrieval.answers.wire import READABLE, list_of, object_of
from pytest_retrieval.errors import InputError
from pytest_retrieval.model.records import Call

__all__ = ["Reading", "read"]

NO_ANSWER = "the log ends before the tool answered"
_CUT = {
    "length",
    "max_tokens",
    "max_output_tokens",
    "incomplete",
    "model_context_window_exceeded",
    "pause_turn",
}
_SILENT = {"reasoning", "thinking", "redacted_thinking", "refusal", "item_reference", "image", "document"}


@final
@dataclass(slots=True)
class Made:
    """A call that was made, and what came back so far."""

    tool: str
    arguments: Any
    answered: bool = False
    observation: Any = None
    error: str = ""
    tokens: int | None = None

    def call(self, find: Callable[[Any], tuple[str, ...]]) -> Call:
        arguments = _decoded(self.arguments)
        if not isinstance(arguments, Mapping):
            arguments = {"input": arguments}
        return Call(
            tool=self.tool,
            arguments=arguments,
            observation=self.observation,
            returned_ids=() if self.error else find(self.observation),
            error=self.error if self.answered else self.error or NO_ANSWER,
            tokens=self.tokens,
        )


@final
@dataclass(slots=True)
class Reading:
    """What was read of a log so far."""

    request: str = ""
    message: str = ""
    calls: list[Made] = field(default_factory=list)
    by_id: dict[str, Made] = field(default_factory=dict)
    cut: bool = False

    def add(self, made: Made, name: object) -> None:
        """Take note of a call, and of the name by which its answer will be known."""
        self.calls.append(made)
        if isinstance(name, str):
            self.by_id[name] = made

    def answer(self, name: object, observation: Any, error: str = "") -> None:
        """Take note of what came back from a call.

        Raises
        ------
        InputError
            No call of that name was made.
        """
        made = self.by_id.get(name) if isinstance(name, str) else None
        if made is None:
            raise InputError(f"the log answers the call {name!r}, which it never made")
        made.answered, made.observation, made.error = True, observation, error

    def said(self, role: object, text: str) -> None:
        """Take note of a text: the first of a user is the request, the last of the assistant the message."""
        if not text:
            return
        if role == "user" and not self.request:
            self.request = text
        elif role == "assistant":
            self.message = text


def read(item: Mapping[str, Any], reading: Reading) -> None:
    """Read one message or item, whichever of the formats it is of."""
    if any(item.get(name) == why for name in ("finish_reason", "stop_reason") for why in _CUT):
        reading.cut = True
    kind = item.get("type")
    if kind not in (None, "message"):
        _read_item(item, str(kind), reading)
        return
    role = item.get("role")
    if role == "tool":
        reading.answer(item.get("tool_call_id"), _decoded(_text_or_json(item.get("content"))), _failed(item))
        return
    first = len(reading.calls)
    content = item.get("content")
    if isinstance(content, str):
        reading.said(role, content)
    texts: list[str] = []
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, Mapping):
            raise InputError(f"a message of {role} holds {block!r}, which is no block")
        before = len(reading.calls)
        text = _read_block(block, reading)
        if len(reading.calls) > before:  # what was said before a call is not the last message
            texts.clear()
        texts += [text] if text else []
    if texts:
        reading.said(role, ("" if role == "assistant" else "\n").join(texts))
    for of_message in list_of(item.get("tool_calls"), "the tool_calls of a message"):
        call = object_of(of_message, "a call of a message")
        function = object_of(call.get("function") or call.get("custom") or {}, "the function of a call")
        made = Made(str(function.get("name", "")), function.get("arguments", function.get("input")))
        reading.add(made, call.get("id"))
    if isinstance(item.get("function_call"), Mapping):
        function = item["function_call"]
        made = Made(str(function.get("name", "")), function.get("arguments"))
        reading.add(made, function.get("name"))
    if role == "function":
        reading.answer(item.get("name"), _decoded(content), _failed(item))
    if isinstance(item.get("tokens"), int) and len(reading.calls) > first:
        reading.calls[first].tokens = item["tokens"]


def _read_item(item: Mapping[str, Any], kind: str, reading: Reading) -> None:
    """Read an item of OpenAI's responses."""
    if kind == "cut":
        reading.cut = True
    elif kind in _SILENT:
        return
    elif kind in ("function_call", "custom_tool_call"):
        made = Made(str(item.get("name", "")), item.get("arguments", item.get("input")))
        reading.add(made, item.get("call_id"))
    elif kind in ("function_call_output", "custom_tool_call_output"):
        reading.answer(item.get("call_id"), _decoded(_text_or_json(item.get("output"))), _failed(item))
    elif kind.endswith("_call"):
        reading.add(_hosted(item, kind), item.get("id"))
    elif kind.endswith("_call_output"):
        reading.answer(item.get("call_id"), _decoded(item.get("output")), _failed(item))
    elif kind in ("mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "compaction"):
        return
    else:
        _read_block(item, reading)


def _hosted(item: Mapping[str, Any], kind: str) -> Made:
    """Return a call that the provider made and answered by itself."""
    action = item.get("action")
    arguments: dict[str, Any] = {}
    if isinstance(action, Mapping):
        arguments = {name: value for name, value in action.items() if name not in ("type", "sources")}
    queries = item.get("queries")
    if isinstance(queries, list):
        arguments |= {"query": queries[0]} if len(queries) == 1 else {"queries": queries}
    for name in ("arguments", "code", "input"):
        if name in item:
            arguments[name] = _decoded(item[name])
    status = str(item.get("status", ""))
    results = next((item[name] for name in ("results", "output", "outputs") if item.get(name)), None)
    if results is None and isinstance(action, Mapping):
        results = action.get("sources")
    return Made(
        kind.removesuffix("_call"),
        arguments,
        answered=status not in ("in_progress", "searching", "incomplete"),
        observation=results,
        error=str(item.get("error") or "failed") if status == "failed" else "",
    )


def _read_block(block: Mapping[str, Any], reading: Reading) -> str:
    """Read one block of a message, and return its text if it is one."""
    kind = str(block.get("type"))
    if kind in ("text", "input_text", "output_text"):
        return str(block.get("text", ""))
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        reading.add(Made(str(block.get("name", "")), block.get("input")), block.get("id"))
    elif kind.endswith("tool_result"):
        content = block.get("content")
        broken = isinstance(content, Mapping) and str(content.get("type", "")).endswith("error")
        error = str(content.get("error_code") or "error") if isinstance(content, Mapping) and broken else ""
        if block.get("is_error"):
            error = str(_text_or_json(content)) or "error"
        reading.answer(block.get("tool_use_id"), None if error else _decoded(_text_or_json(content)), error)
    elif kind not in _SILENT and not kind.startswith(("input_", "image")):
        raise InputError(f"a message holds a block of type {kind!r}, which is not known; {READABLE}")
    return ""


def _text_or_json(content: Any) -> Any:
    """Return a list of text blocks as one text; anything else as it is."""
    if (
        isinstance(content, list)
        and content
        and all(
            isinstance(block, Mapping) and block.get("type") in ("text", "output_text", "input_text")
            for block in content
        )
    ):
        return "\n".join(str(block.get("text", "")) for block in content)
    return content


def _failed(item: Mapping[str, Any]) -> str:
    """Return the error that a tool's answer states, by the means the formats have for it."""
    if item.get("status") == "failed" or item.get("is_error") is True:
        return str(item.get("error") or _text_or_json(item.get("content")) or item.get("output") or "error")
    value = _decoded(_text_or_json(item.get("content", item.get("output"))))
    if isinstance(value, Mapping) and value.get("error") and len(value) <= 2:
        error = value["error"]
        return str(error.get("message", error) if isinstance(error, Mapping) else error)
    return ""


def _decoded(value: Any) -> Any:
    """Return what a string of JSON holds; any other value, and text that is no JSON, as it is."""
    if not isinstance(value, str) or value.strip()[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (json.JSONDecodeError, RecursionError):
        return value
