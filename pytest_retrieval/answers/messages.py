"""Traces from the message logs that agents leave: OpenAI chat and responses, Anthropic messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from pytest_retrieval.errors import InputError, listed
from pytest_retrieval.records import Call, Trace

__all__ = ["trace_from_messages"]

CHAT, RESPONSES, ANTHROPIC = "OpenAI chat", "OpenAI responses", "Anthropic messages"
READ = (CHAT, RESPONSES, ANTHROPIC)

_CUT = {
    "length",
    "max_tokens",
    "max_output_tokens",
    "incomplete",
    "model_context_window_exceeded",
    "pause_turn",
}
_SILENT = {"reasoning", "thinking", "redacted_thinking", "refusal", "item_reference", "image", "document"}
NO_ANSWER = "the log ends before the tool answered"


def trace_from_messages(
    log: object,
    query_id: str,
    *,
    ids: str | Callable[[Any], Iterable[str]] | None = None,
    context: str = "",
    picks: Iterable[str] = (),
) -> Trace:
    """Return the trace in a log of messages.

    Parameters
    ----------
    log
        A list of messages or items, or an exchange ``{"request": …, "response": …}`` as it went over the
        wire, of OpenAI's chat completions, OpenAI's responses or Anthropic's messages. Parallel calls, failed
        calls and calls that the log no longer answers are kept, in the order in which they were made.
    query_id
        The task.
    ids
        How documents are found in what a tool returned: the key that holds an id, wherever in the result it
        stands, or a function from the result to ids. None: no tool returns documents.
    context
        Which retriever stood behind the search tool.
    picks
        Documents that the agent chose, where its last message says so in a form of your own.

    Returns
    -------
    Trace
        Its outcome is ``"exhausted"`` where the provider cut the reply short, ``"failed"`` where the log ends
        with calls that nobody answered, else ``"finished"``.

    Raises
    ------
    InputError
        The log is of another provider, which the message names, or holds something that none of these does.

    Examples
    --------
    >>> call = {"id": "c1", "function": {"name": "search", "arguments": '{"query": "sofa"}'}}
    >>> log = [
    ...     {"role": "user", "content": "a blue sofa"},
    ...     {"role": "assistant", "tool_calls": [call]},
    ...     {"role": "tool", "tool_call_id": "c1", "content": '[{"id": "F7"}]'},
    ...     {"role": "assistant", "content": "Take F7."},
    ... ]
    >>> trace = trace_from_messages(log, "q1", ids="id")
    >>> trace.calls[0].tool, trace.returned_ids, trace.message
    ('search', ('F7',), 'Take F7.')
    """
    reading = _Reading()
    items = _items(log)
    if not items:
        raise InputError(f"the log holds no message; {_READABLE}")
    for item in items:
        if not isinstance(item, Mapping):
            raise InputError(f"a log holds messages, and this is {item!r}")
        _refuse_foreign(item)
        _read(item, reading)
    find = _finder(ids)
    calls = tuple(made.call(find) for made in reading.calls)
    unanswered = any(not made.answered for made in reading.calls)
    outcome = "exhausted" if reading.cut else "failed" if unanswered else "finished"
    return Trace(
        query_id=query_id,
        context=context,
        request=reading.request,
        calls=calls,
        outcome=outcome,
        picks=tuple(picks),
        message=reading.message,
    )


@final
@dataclass(slots=True)
class _Made:
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
class _Reading:
    """What was read of a log so far."""

    request: str = ""
    message: str = ""
    calls: list[_Made] = field(default_factory=list)
    by_id: dict[str, _Made] = field(default_factory=dict)
    cut: bool = False

    def add(self, made: _Made, name: object) -> None:
        self.calls.append(made)
        if isinstance(name, str):
            self.by_id[name] = made

    def answer(self, name: object, observation: Any, error: str = "") -> None:
        made = self.by_id.get(name) if isinstance(name, str) else None
        if made is None:
            raise InputError(f"the log answers the call {name!r}, which it never made")
        made.answered, made.observation, made.error = True, observation, error

    def said(self, role: object, text: str) -> None:
        if not text:
            return
        if role == "user" and not self.request:
            self.request = text
        elif role == "assistant":
            self.message = text


def _items(log: object) -> list[Any]:
    """Return the messages or items of a log in order, whatever it is wrapped in."""
    if isinstance(log, Mapping):
        if "request" in log or "response" in log:
            return [*_items_of_request(log.get("request")), *_items_of_response(log.get("response"))]
        if "messages" in log or "input" in log:
            return _items_of_request(log)
        return _items_of_response(log)
    if isinstance(log, Sequence) and not isinstance(log, str | bytes):
        if log and all(isinstance(item, Mapping) and "response" in item for item in log):
            return _items(log[-1])
        return list(log)
    raise InputError(f"a log is {type(log).__name__}; a list of messages or an exchange is needed")


def _items_of_request(request: Any) -> list[Any]:
    if request is None:
        return []
    request = _object(request, "a request")
    _refuse_foreign(request)
    given = request.get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if given is not None:
        return _list(given, "the input of a request")
    return _list(request.get("messages"), "the messages of a request")


def _items_of_response(response: Any) -> list[Any]:
    if response is None:
        return []
    response = _object(response, "a response")
    _refuse_foreign(response)
    if isinstance(response.get("choices"), list):
        found = []
        for choice in response["choices"][:1]:
            first = _object(choice, "a choice of a response")
            if "delta" in first:
                raise InputError("this is a piece of a stream; join its pieces to one message first")
            message = _object(first.get("message"), "the message of a choice")
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
        f" {_READABLE}"
    )


def _object(value: Any, what: str) -> Mapping[str, Any]:
    """Return a value that is an object.

    Raises
    ------
    InputError
        It is something else.
    """
    if not isinstance(value, Mapping):
        raise InputError(f"{what} is {value!r}; an object is needed")
    return value


def _list(value: Any, what: str) -> list[Any]:
    """Return a value that is a list, or an empty list where there is none.

    Raises
    ------
    InputError
        It is something else.
    """
    if value is not None and not isinstance(value, list | tuple):
        raise InputError(f"{what} are {value!r}; a list is needed")
    return list(value or ())


def _tokens(usage: Any) -> int | None:
    if not isinstance(usage, Mapping):
        return None
    total = usage.get("total_tokens")
    if isinstance(total, int):
        return total
    parts = [usage.get(name) for name in ("input_tokens", "output_tokens")]
    return sum(part for part in parts if isinstance(part, int)) or None


_READABLE = f"{', '.join(READ)} can be read"
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


def _refuse_foreign(value: Any) -> None:
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
        raise InputError(f"this is a log of {found[0]}; {_READABLE}")


def _read(item: Mapping[str, Any], reading: _Reading) -> None:
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
    for of_message in _list(item.get("tool_calls"), "the tool_calls of a message"):
        call = _object(of_message, "a call of a message")
        function = _object(call.get("function") or call.get("custom") or {}, "the function of a call")
        made = _Made(str(function.get("name", "")), function.get("arguments", function.get("input")))
        reading.add(made, call.get("id"))
    if isinstance(item.get("function_call"), Mapping):
        function = item["function_call"]
        made = _Made(str(function.get("name", "")), function.get("arguments"))
        reading.add(made, function.get("name"))
    if role == "function":
        reading.answer(item.get("name"), _decoded(content), _failed(item))
    if isinstance(item.get("tokens"), int) and len(reading.calls) > first:
        reading.calls[first].tokens = item["tokens"]


def _read_item(item: Mapping[str, Any], kind: str, reading: _Reading) -> None:
    """Read an item of OpenAI's responses."""
    if kind == "cut":
        reading.cut = True
    elif kind in _SILENT:
        return
    elif kind in ("function_call", "custom_tool_call"):
        made = _Made(str(item.get("name", "")), item.get("arguments", item.get("input")))
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


def _hosted(item: Mapping[str, Any], kind: str) -> _Made:
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
    return _Made(
        kind.removesuffix("_call"),
        arguments,
        answered=status not in ("in_progress", "searching", "incomplete"),
        observation=results,
        error=str(item.get("error") or "failed") if status == "failed" else "",
    )


def _read_block(block: Mapping[str, Any], reading: _Reading) -> str:
    """Read one block of a message, and return its text if it is one."""
    kind = str(block.get("type"))
    if kind in ("text", "input_text", "output_text"):
        return str(block.get("text", ""))
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        reading.add(_Made(str(block.get("name", "")), block.get("input")), block.get("id"))
    elif kind.endswith("tool_result"):
        content = block.get("content")
        broken = isinstance(content, Mapping) and str(content.get("type", "")).endswith("error")
        error = str(content.get("error_code") or "error") if isinstance(content, Mapping) and broken else ""
        if block.get("is_error"):
            error = str(_text_or_json(content)) or "error"
        reading.answer(block.get("tool_use_id"), None if error else _decoded(_text_or_json(content)), error)
    elif kind not in _SILENT and not kind.startswith(("input_", "image")):
        raise InputError(f"a message holds a block of type {kind!r}, which is not known; {_READABLE}")
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


def _finder(ids: object) -> Callable[[Any], tuple[str, ...]]:
    if ids is None:
        return lambda observation: ()
    if isinstance(ids, str):
        key = ids
        return lambda observation: tuple(dict.fromkeys(str(value) for value in _under(observation, key)))
    if callable(ids):
        return lambda observation: () if observation is None else tuple(ids(observation))
    raise InputError(
        f"ids is {ids!r}; the key that holds an id, or a function from a result to ids, is needed"
    )


def _under(value: Any, key: str) -> Iterable[Any]:
    """Yield every string or number under a key, wherever in nested JSON."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            if name == key and isinstance(part, str | int) and not isinstance(part, bool):
                yield part
            else:
                yield from _under(part, key)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _under(part, key)
