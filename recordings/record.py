"""Makes the recordings of this folder anew, or goes on where it was stopped.

It needs the extra `record` and an OpenAI-compatible server with the model that the manifests name::

    python recordings/record.py answers http://127.0.0.1:8080/v1
    python recordings/record.py agent http://127.0.0.1:8080/v1
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_retrieval import BM25, Recorder, load_goldset, random_contexts
from pytest_retrieval.retrievers.calling import retrieve

HERE = Path(__file__).parent
MODEL = "SmolLM2-135M-Instruct-Q4_1"
FACTS = {
    "digest": "sha256:b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    "licence": "Apache-2.0",
    "provenance": (
        "Made for this repository with a language model of 135 million parameters, quantised to 4 bits, on a"
        " loopback server. It is small enough to run anywhere and far too small to be a shopping assistant:"
        " what it gets wrong is left as it is."
    ),
}
K = 5

ANSWERS = (
    "You help shoppers. Use only the products listed. Recommend up to {allowed} that fit and cite their IDs."
    ' If none fits, say so and cite nothing. Reply as JSON: {"answer": "...", "cited_ids": ["..."]}'
)
ANSWER_EXAMPLES = [
    {
        "role": "user",
        "content": "Documents:\n\nX9001: red wool rug\n\nX9002: oak bookcase; five shelves\n\n"
        "The user asks: a shelf for my books",
    },
    {
        "role": "assistant",
        "content": '{"answer": "The oak bookcase X9002 holds books on five shelves.",'
        ' "cited_ids": ["X9002"]}',
    },
    {
        "role": "user",
        "content": "Documents:\n\nX9001: red wool rug\n\nX9003: glass vase\n\nThe user asks: a leather sofa",
    },
    {"role": "assistant", "content": '{"answer": "None of these is a leather sofa.", "cited_ids": []}'},
]

AGENT = (
    "You find products for shoppers. First search, at most {searches} times, then pick up to {picks} products"
    ' by their IDs, only from the results. Reply as JSON: {"action": "search", "query": "..."}'
    ' or {"action": "pick", "query": "", "picks": ["..."]}'
)
AGENT_EXAMPLES = [
    {"role": "user", "content": "a shelf for my books"},
    {"role": "assistant", "content": '{"action": "search", "query": "bookcase"}'},
    {"role": "user", "content": "Results:\n\nX9001: red wool rug\n\nX9002: oak bookcase; five shelves"},
    {"role": "assistant", "content": '{"action": "pick", "query": "", "picks": ["X9002"]}'},
]


def show(doc_id: str, item: Mapping[str, Any]) -> str:
    """Return a product on one line, short enough for a small model."""
    attributes = item["attributes"]
    words = [str(attributes[name]) for name in ("color", "material", "width", "model") if name in attributes]
    return f"{doc_id}: {'; '.join([item['name'], *words])}"


def main() -> None:
    """Record what the command line names."""
    what, url = sys.argv[1:]
    goldset = load_goldset(HERE.parent / "goldsets" / "furniture")
    assert goldset.catalog is not None
    retrievers = {"bm25": BM25(goldset.catalog), "bm25_headings": BM25(goldset.catalog, ["name"])}
    queries = {query_id: goldset.text_of(query_id) for query_id in goldset.qrels.query_ids}
    stated = {"context_window": 8192, "thinking": False, "threads": 1}
    common: dict[str, Any] = {
        "url": url,
        "model": MODEL,
        "fields": ["name", "attributes"],
        "show": show,
        "stated": stated,
        **FACTS,
    }
    if what == "answers":
        recorder = Recorder(
            HERE / "shop-answers",
            goldset,
            instructions=ANSWERS,
            examples=ANSWER_EXAMPLES,
            options={"temperature": 0, "seed": 0, "max_tokens": 100},
            at_once=1,
            **common,
        )
        runs = {
            name: retrieve(of, queries, K, name=name, run_async=lambda made: made)
            for name, of in retrievers.items()
        }
        recorder.answers({**runs, "random": random_contexts(goldset, K)}, k=K, longest=160)
    else:
        recorder = Recorder(
            HERE / "shop-agent",
            goldset,
            instructions=AGENT,
            examples=AGENT_EXAMPLES,
            options={"temperature": 0, "seed": 0, "max_tokens": 80},
            at_once=1,
            **common,
        )
        recorder.agent({"bm25": retrievers["bm25"]}, k=K, mode="json")


if __name__ == "__main__":
    main()
