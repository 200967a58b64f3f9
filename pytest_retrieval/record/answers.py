"""Recording answers: each question under each context once, the cited ids in a field of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_retrieval.files.recording import broken_schema
from pytest_retrieval.model.records import Answer
from pytest_retrieval.record.prompts import format_of
from pytest_retrieval.record.reading import content_of, parsed

__all__ = ["Question", "answer_of", "request_of"]

ANSWER = "answer"


class Question(NamedTuple):
    """One question under one context."""

    query_id: str
    query: str
    context: str
    context_ids: tuple[str, ...]
    repeat: int = 0


def request_of(
    question: Question,
    *,
    model: str,
    instructions: str,
    examples: Sequence[Mapping[str, str]],
    documents: Callable[[Sequence[str]], str],
    schema: Mapping[str, Any],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the request for one answer."""
    asked = f"Documents:\n\n{documents(question.context_ids)}\n\nThe user asks: {question.query}"
    request = {
        "model": model,
        "messages": [
            {"role": "system", "content": instructions},
            *examples,
            {"role": "user", "content": asked},
        ],
        "response_format": format_of(ANSWER, schema),
        **options,
    }
    if question.repeat and "seed" in request:
        request["seed"] = request["seed"] + question.repeat
    return request


def answer_of(
    question: Question, reply: Mapping[str, Any], schema: Mapping[str, Any]
) -> tuple[Answer, object]:
    """Return the answer in a reply and the object the model wrote; one that breaks the schema says so."""
    content = content_of(reply)
    value: Any = None
    try:
        value = parsed(content)
    except ValueError:
        cut = reply["choices"][0].get("finish_reason") == "length"
        error = "the reply was cut short" if cut else "the reply is no JSON"
    else:
        fault = broken_schema(value, schema)
        error = f"the reply breaks its schema: {fault}" if fault else ""
    if error:
        plain = Answer(question.query_id, question.context, question.context_ids, (), content, error)
        return plain, None
    cited = tuple(doc_id for doc_id in value["cited_ids"] if doc_id)
    text = str(value["answer"])
    return Answer(question.query_id, question.context, question.context_ids, cited, text), value
