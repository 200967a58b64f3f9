"""Adapters: ids from where the user says, held against the real libraries where they are installed."""

from __future__ import annotations

import asyncio
import warnings
from types import SimpleNamespace as Value

import pytest

from pytest_retrieval import (
    InputError,
    RetrieverError,
    from_elasticsearch,
    from_haystack,
    from_langchain,
    from_llama_index,
    retrieve,
)

TEXTS = {
    "p01": "an oak table with four legs",
    "p02": "a lamp for reading in bed",
    "p03": "a rug of wool beside the bed",
    "p04": "spare part for model HX-4420",
}
QUERIES = {"q1": "lamp for the bed", "q2": "HX-4420"}


# --- shapes ------------------------------------------------------------------------------------------------

CHUNKS = [
    Value(id="c9", metadata={"doc": {"sku": "p02"}, "n": 7}, score=0.9),
    Value(id="c4", metadata={"doc": {"sku": "p03"}, "n": 8}, score=0.5),
    Value(id="c2", metadata={"doc": {"sku": "p02"}, "n": 9}, score=0.1),
]


@pytest.mark.parametrize(
    "id_field, ids",
    [
        (None, ["c9", "c4", "c2"]),
        ("n", ["7", "8", "9"]),
        ("doc.sku", ["p02", "p03", "p02"]),
        (lambda chunk: chunk.id.upper(), ["C9", "C4", "C2"]),
    ],
)
def test_the_user_says_where_the_id_is(id_field, ids):
    assert from_langchain(Value(invoke=lambda query: CHUNKS), id_field)("lamp", 9) == ids


def test_chunks_of_one_item_count_once_only_where_told():
    retriever = Value(retrieve=lambda query: CHUNKS)
    assert from_llama_index(retriever, "doc.sku", pool=True)("lamp", 9) == [("p02", 0.9), ("p03", 0.5)]
    assert [doc for doc, _ in from_llama_index(retriever, "doc.sku")("lamp", 9)] == ["p02", "p03", "p02"]


def test_no_more_than_wanted_is_returned_after_pooling():
    retriever = Value(retrieve=lambda query: CHUNKS)
    assert from_llama_index(retriever, "doc.sku", pool=True)("lamp", 2) == [("p02", 0.9), ("p03", 0.5)]


def test_scores_are_left_out_where_one_is_missing():
    found = {"documents": [Value(id="a", meta={}, score=1.0), Value(id="b", meta={}, score=None)]}
    assert from_haystack(lambda query, k: found)("lamp", 9) == ["a", "b"]
    assert from_haystack(lambda query, k: found["documents"][:1])("lamp", 9) == [("a", 1.0)]


def test_k_reaches_whoever_takes_one():
    asked = []

    class Store:
        def _get_relevant_documents(self, query, *, run_manager, **kwargs):
            raise AssertionError("only looked at")

        def invoke(self, query, **kwargs):
            asked.append(kwargs)
            return []

    class Fixed(Store):
        def _get_relevant_documents(self, query):
            raise AssertionError("only looked at")

    from_langchain(Store())("lamp", 7)
    from_langchain(Fixed())("lamp", 7)
    from_haystack(Value(run=lambda query, top_k: asked.append(top_k) or {"documents": []}))("lamp", 8)
    from_llama_index(lambda k: asked.append(k) or Value(retrieve=lambda query: []))("lamp", 9)
    assert asked == [{"k": 7}, {}, 8, 9]


def test_a_llama_index_retriever_is_made_once_for_each_k():
    made = []
    search = from_llama_index(lambda k: made.append(k) or Value(retrieve=lambda query: []))
    for k in (5, 5, 6, 5):
        search("lamp", k)
    assert made == [5, 6]


# The shape of a response of Elasticsearch's search API (version 8) and OpenSearch's (version 2).
RESPONSE = {
    "took": 5,
    "timed_out": False,
    "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
    "hits": {
        "total": {"value": 2, "relation": "eq"},
        "max_score": 1.3862942,
        "hits": [
            {
                "_index": "shop", "_id": "0", "_score": 1.3862942,
                "_source": {"product": {"sku": "p02"}, "date": "2099-11-15"}, "fields": {"code": [17]},
            },
            {
                "_index": "shop", "_id": "1", "_score": 0.5,
                "_source": {"product": {"sku": "p03"}, "date": "2099-11-15"}, "fields": {"code": [18]},
            },
        ],
    },
}  # fmt: skip


@pytest.mark.parametrize(
    "id_field, ids",
    [
        (None, ["0", "1"]),
        ("product.sku", ["p02", "p03"]),
        ("code", ["17", "18"]),
        (lambda hit: hit["_index"] + hit["_id"], ["shop0", "shop1"]),
    ],
)
def test_hits_of_elasticsearch(id_field, ids):
    found = from_elasticsearch(lambda query, k: RESPONSE, id_field)("lamp", 9)
    assert found == list(zip(ids, [1.3862942, 0.5], strict=True))


def test_hits_in_an_order_of_their_own_have_no_scores():
    hits = [{"_id": "1", "_score": None, "sort": [1]}, {"_id": "0", "_score": None, "sort": [2]}]
    assert from_elasticsearch(lambda query, k: {"hits": {"hits": hits}})("lamp", 9) == ["1", "0"]


def test_an_async_client_is_waited_for():
    async def search(query, k):
        await asyncio.sleep(0)
        return RESPONSE

    assert retrieve(from_elasticsearch(search), {"q": "lamp"}, 1)["q"] == ("0",)


@pytest.mark.parametrize(
    "response, message",
    [
        ({"error": "index_not_found"}, "no hits to read: {'error'"),
        (None, "no hits to read: None"),
        (RESPONSE | {"timed_out": True}, "the response is partial: the search timed out"),
        (RESPONSE | {"_shards": {"failed": 2}}, "the response is partial: 2 shards failed"),
    ],
)
def test_what_is_no_whole_response(response, message):
    with pytest.raises(InputError, match=message):
        from_elasticsearch(lambda query, k: response)("lamp", 9)


@pytest.mark.parametrize(
    "search, message",
    [
        (lambda: from_langchain(5), "5 has no method invoke; a LangChain retriever has one"),
        (lambda: from_llama_index(5), "5 has no method retrieve"),
        (
            lambda: from_llama_index(lambda k: 5)("lamp", 3),
            r"5 has no method retrieve; what callable\(k\) returns",
        ),
        (lambda: from_haystack(5), "5 is no Haystack retriever"),
        (lambda: from_elasticsearch(5), "search is 5; allowed is callable"),
        (
            lambda: from_haystack(lambda query, k: {"replies": []})("lamp", 3),
            "returned 'replies' and no 'documents'",
        ),
    ],
)
def test_what_cannot_be_adapted(search, message):
    with pytest.raises(InputError, match=message):
        search()


@pytest.mark.parametrize(
    "id_field, message",
    [
        ("sku", "a result has no 'sku' in its metadata; it has 'doc', 'n'"),
        ("doc.ean", "a result has no 'doc.ean' in its metadata"),
        ("doc", r"metadata\['doc'\] of a result is {'sku': 'p02'}; an id is a string or a whole number"),
        (lambda chunk: None, "the function given as id_field of a result is None"),
    ],
)
def test_an_id_that_is_not_there_is_told_with_what_is(id_field, message):
    search = from_langchain(Value(invoke=lambda query: CHUNKS), id_field)
    with pytest.raises(RetrieverError, match=message):
        retrieve(search, {"q": "lamp"}, 3)


# --- the libraries -----------------------------------------------------------------------------------------


@pytest.fixture
def quiet(monkeypatch):
    """Imports of these libraries warn of their own accord, and one of them would send telemetry."""
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_langchain(quiet):
    pytest.importorskip("langchain_core", reason="needs the framework")
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import InMemoryVectorStore

    class Words(Embeddings):
        words = sorted({word for text in [*TEXTS.values(), *QUERIES.values()] for word in text.split()})

        def embed_documents(self, texts):
            return [[float(word in text.split()) for word in self.words] for text in texts]

        def embed_query(self, text):
            return self.embed_documents([text])[0]

    store = InMemoryVectorStore(Words())
    store.add_documents([Document(page_content=text, metadata={"sku": sku}) for sku, text in TEXTS.items()])
    run = retrieve(from_langchain(store.as_retriever(), "sku"), QUERIES, 3)
    assert run["q1"][0] == "p02"
    assert run["q2"][0] == "p04"
    assert [len(run[query]) for query in run] == [3, 3]

    class Fixed(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [Document(id=sku, page_content=text) for sku, text in TEXTS.items()]

    assert retrieve(from_langchain(Fixed()), QUERIES, 2)["q1"] == ("p01", "p02")


def test_llama_index(quiet):
    pytest.importorskip("llama_index.core", reason="needs the framework")
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, TextNode

    class Shared(BaseRetriever):
        def __init__(self, most):
            super().__init__()
            self._most = most

        def _retrieve(self, query_bundle):
            words = set(query_bundle.query_str.split())
            nodes = [TextNode(text=text, metadata={"sku": sku}) for sku, text in TEXTS.items()]
            scored = [
                NodeWithScore(node=node, score=float(len(words & set(node.text.split())))) for node in nodes
            ]
            return sorted(scored, key=lambda found: -found.score)[: self._most]

    run = retrieve(from_llama_index(Shared, "sku"), QUERIES, 2)
    assert run.scored("q1") == (("p02", 3.0), ("p03", 2.0))
    assert retrieve(from_llama_index(Shared(1), "sku"), QUERIES, 2)["q2"] == ("p04",)


def test_haystack(quiet):
    pytest.importorskip("haystack", reason="needs the framework")
    from haystack import Document, Pipeline
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    store.write_documents([Document(content=text, meta={"sku": sku}) for sku, text in TEXTS.items()])
    retriever = InMemoryBM25Retriever(store)
    run = retrieve(from_haystack(retriever, "sku"), QUERIES, 2)
    assert run["q1"][0] == "p02"
    assert run["q2"][0] == "p04"
    assert len(run["q1"]) == 2
    assert run.scores is not None

    pipeline = Pipeline()
    pipeline.add_component("bm25", InMemoryBM25Retriever(store))

    def ask(query, k):
        return pipeline.run({"bm25": {"query": query, "top_k": k}})["bm25"]

    assert dict(retrieve(from_haystack(ask, "sku"), QUERIES, 2)) == dict(run)
