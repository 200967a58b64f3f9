"""What is asked: instructions, how a document is shown, and the schemas that replies must keep to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = [
    "AGENT_INSTRUCTIONS",
    "ANSWER_INSTRUCTIONS",
    "answer_schema",
    "decision_schema",
    "pick_schema",
    "search_schema",
    "search_tool",
    "shown",
]

ANSWER_INSTRUCTIONS = (
    "Answer the user from the documents listed, and from nothing else. Cite every document that you use by"
    " its id in the field cited_ids, {allowed} at most. If none fits, say so plainly and cite nothing."
)
AGENT_INSTRUCTIONS = (
    "Help the user by searching the catalog. You may search up to {searches} times, in words of your own."
    " Then pick up to {picks} documents that fit, by their ids, only from what your searches returned."
)


def shown(doc_id: str, item: Mapping[str, Any]) -> str:
    """Return a document as the model reads it: its id, then every field that says something.

    Examples
    --------
    >>> print(shown("F7", {"name": "oak desk", "note": "", "attributes": {"colour": "oak"}}))
    ID: F7
    name: oak desk
    attributes: {"colour": "oak"}
    """
    lines = [f"ID: {doc_id}"]
    for name, value in item.items():
        if value is None or value == "" or (isinstance(value, float) and value != value):
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines.append(f"{name}: {text}")
    return "\n".join(lines)


def answer_schema(allowed: int, longest: int = 600) -> dict[str, Any]:
    """Return the schema of an answer: its text, and what it cites in a field of its own.

    It says nothing of which ids go into the field: an id from elsewhere is a finding, not to be made
    impossible.
    """
    return {
        "type": "object",
        "properties": {
            "answer": {"type": "string", "maxLength": longest},
            "cited_ids": {"type": "array", "items": {"type": "string"}, "maxItems": allowed},
        },
        "required": ["answer", "cited_ids"],
        "additionalProperties": False,
    }


def search_schema() -> dict[str, Any]:
    """Return the schema of the first decision: there is nothing yet to pick from."""
    return {
        "type": "object",
        "properties": {"action": {"enum": ["search"]}, "query": {"type": "string", "maxLength": 120}},
        "required": ["action", "query"],
        "additionalProperties": False,
    }


def decision_schema(picks: int) -> dict[str, Any]:
    """Return the schema of a later decision for models without tool calls: search again, or pick."""
    return {
        "type": "object",
        "properties": {
            "action": {"enum": ["search", "pick"]},
            "query": {"type": "string", "maxLength": 120},
            "picks": {"type": "array", "items": {"type": "string"}, "maxItems": picks},
        },
        "required": ["action", "query", "picks"],
        "additionalProperties": False,
    }


def pick_schema(picks: int) -> dict[str, Any]:
    """Return the schema of an agent's last reply."""
    return {
        "type": "object",
        "properties": {
            "message": {"type": "string", "maxLength": 400},
            "picks": {"type": "array", "items": {"type": "string"}, "maxItems": picks},
        },
        "required": ["message", "picks"],
        "additionalProperties": False,
    }


def search_tool(k: int) -> dict[str, Any]:
    """Return the one tool that an agent has."""
    return {
        "type": "function",
        "function": {
            "name": "search",
            "description": f"Search the catalog. Returns the {k} best documents with their ids.",
            "parameters": {
                "type": "object",
                "properties": {"query": {"type": "string", "description": "what to look for"}},
                "required": ["query"],
                "additionalProperties": False,
            },
        },
    }


def format_of(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a request that asks for a reply of a schema."""
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": True}}
