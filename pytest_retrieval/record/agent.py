"""Recording an agent: it searches with one tool, a few times at most, and then picks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from pytest_retrieval.files.recording import broken_schema
from pytest_retrieval.model.records import Call, Trace
from pytest_retrieval.record.prompts import (
    decision_schema,
    format_of,
    pick_schema,
    search_schema,
    search_tool,
)
from pytest_retrieval.record.reading import content_of, message_of, parsed

__all__ = ["Agent"]

TOOLS, JSON = "tools", "json"
MODES = (TOOLS, JSON)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent with one search tool.

    Attributes
    ----------
    ask
        Sends a request and returns the reply.
    search
        Returns the documents for a search text.
    show
        Returns documents as the model reads them.
    model, instructions, options, examples
        As requests carry them.
    mode
        ``"tools"``: the server's own tool calls. ``"json"``: decisions of a schema, for models without them.
    k, picks, searches
        Documents per search, picks asked for, searches allowed.
    """

    ask: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    search: Callable[[str], Sequence[str]]
    show: Callable[[Sequence[str]], str]
    model: str
    instructions: str
    options: Mapping[str, Any]
    examples: Sequence[Mapping[str, Any]]
    mode: str
    k: int
    picks: int
    searches: int

    def trace(self, query_id: str, context: str, request: str) -> Trace:
        """Return the trace of one task."""
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": self.instructions},
            *(dict(example) for example in self.examples),
            {"role": "user", "content": request},
        ]
        calls: list[Call] = []
        step = self._with_tools if self.mode == TOOLS else self._with_decisions
        while len(calls) < self.searches:
            made, last = step(messages, self.searches - len(calls))
            calls += made
            if last is not None:
                return self._ended(query_id, context, request, calls, last)
        return self._ended(query_id, context, request, calls, self._pick(messages))

    def _with_tools(self, messages: list[dict[str, Any]], left: int) -> tuple[list[Call], str | None]:
        """Let the model call tools once more: the calls it made, or its last words.

        What it calls beyond those left is refused, not run: nothing is shown that the trace would not hold.
        """
        reply = self.ask(
            {"model": self.model, "messages": messages, "tools": [search_tool(self.k)], **self.options}
        )
        content = content_of(reply)
        wanted = [call for call in message_of(reply).get("tool_calls") or () if isinstance(call, dict)]
        if not wanted:
            if _object(content) is not None:
                return [], content
            messages.append({"role": "assistant", "content": content})
            return [], json.dumps(_object(self._pick(messages)) or {"message": content, "picks": []})
        messages.append({"role": "assistant", "content": content, "tool_calls": wanted})
        calls: list[Call] = []
        for call in wanted:
            function = call.get("function")
            function = function if isinstance(function, dict) else {}
            arguments = _object(function.get("arguments") or "") or {}
            name = str(function.get("name", ""))
            if len(calls) < left:
                made = self._searched(name, arguments, None if calls else _spent(reply))
                calls.append(made)
                answered = made.error or str(made.observation)
            else:
                answered = f"no call is left: {self.searches} are allowed"
            messages.append({"role": "tool", "tool_call_id": call.get("id") or "", "content": answered})
        return calls, None

    def _with_decisions(self, messages: list[dict[str, Any]], left: int) -> tuple[list[Call], str | None]:
        """Let the model decide once more by a schema: the search it made, or its picks."""
        first = len(messages) == 2 + len(self.examples)
        schema = search_schema() if first else decision_schema(self.picks)
        reply = self.ask(
            {
                "model": self.model,
                "messages": messages,
                "response_format": format_of("decision", schema),
                **self.options,
            }
        )
        content = content_of(reply)
        decision = _object(content)
        if decision is None or broken_schema(decision, schema):
            return [], content
        if decision["action"] == "pick":
            return [], json.dumps({"message": "", "picks": decision["picks"]}, ensure_ascii=False)
        made = self._searched("search", {"query": decision["query"]}, _spent(reply))
        messages.append({"role": "assistant", "content": content})
        messages.append({"role": "user", "content": f"Results:\n\n{made.error or made.observation}"})
        return [made], None

    def _pick(self, messages: list[dict[str, Any]]) -> str:
        """Ask for the picks, once no search is left."""
        asked = [
            *messages,
            {"role": "user", "content": f"Now pick up to {self.picks} documents by their ids."},
        ]
        reply = self.ask(
            {
                "model": self.model,
                "messages": asked,
                "response_format": format_of("picks", pick_schema(self.picks)),
                **self.options,
            }
        )
        return content_of(reply)

    def _searched(self, tool: str, arguments: Mapping[str, Any], tokens: int | None) -> Call:
        query = arguments.get("query")
        if tool != "search" or not isinstance(query, str) or not query.strip():
            error = "there is one tool: search, with the argument query, a text"
            return Call(tool=tool or "search", arguments=arguments, error=error, tokens=tokens)
        found = tuple(self.search(query))
        return Call(
            tool=tool,
            arguments={"query": query},
            observation=self.show(found) or "nothing was found",
            returned_ids=found,
            tokens=tokens,
        )

    def _ended(self, query_id: str, context: str, request: str, calls: Sequence[Call], last: str) -> Trace:
        value = _object(last)
        picks = value.get("picks") if value is not None else None
        usable = isinstance(picks, list) and all(isinstance(pick, str) for pick in picks)
        return Trace(
            query_id=query_id,
            context=context,
            request=request,
            calls=tuple(calls),
            outcome="finished" if usable else "failed",
            picks=tuple(pick for pick in picks or () if pick) if usable else (),
            message=str((value or {}).get("message", "")) if usable else last,
        )


def _object(text: object) -> dict[str, Any] | None:
    """Return the JSON object in a text, or None where it is none."""
    if isinstance(text, dict):
        return text
    try:
        value = parsed(str(text))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _spent(reply: Mapping[str, Any]) -> int | None:
    usage = reply.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    return total if isinstance(total, int) and not isinstance(total, bool) else None
