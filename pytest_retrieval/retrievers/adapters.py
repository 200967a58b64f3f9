"""Retrievers of other libraries, by the shape of what they return; none of them is imported.

The user says which field holds the id that the gold set's catalog knows: these libraries give a chunk an id
of its own, and often a random one.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, cast, final

from pytest_retrieval.errors import InputError, listed

__all__ = ["from_elasticsearch", "from_haystack", "from_langchain", "from_llama_index"]

IdField = str | Callable[[Any], Any] | None
Ranking = list[str] | list[tuple[str, float]]


def from_langchain(
    retriever: Any, id_field: IdField = None, *, pool: bool = False
) -> Callable[[str, int], Any]:
    """Return a retriever that asks one of LangChain's.

    Parameters
    ----------
    retriever
        Object with ``invoke(query)`` that returns documents. `k` is passed on where it takes one, as vector
        stores' retrievers do; elsewhere its own settings say how many it returns.
    id_field
        Key of ``document.metadata`` that holds the id, dotted where it is nested; or a function from a
        document to its id; None for ``document.id``.
    pool
        Whether several chunks with the same id count once, where the best stands. Otherwise the repeated id
        is an error of the gate.

    Raises
    ------
    InputError
        `retriever` has no ``invoke``; or, when asked, a document has no such id.

    Examples
    --------
    >>> from types import SimpleNamespace as Value
    >>> chunks = [Value(metadata={"doc": "d2"}), Value(metadata={"doc": "d1"}), Value(metadata={"doc": "d2"})]
    >>> search = from_langchain(Value(invoke=lambda query: chunks), "doc", pool=True)
    >>> search("oak table", 10)
    ['d2', 'd1']
    """
    invoke = _method(retriever, "invoke", "a LangChain retriever")
    takes_k = _takes(getattr(retriever, "_get_relevant_documents", None), "k")

    def ask(query: str, k: int) -> Any:
        return invoke(query, k=k) if takes_k else invoke(query)

    return _Adapted(ask, list, _id_of(id_field, "metadata", "id"), lambda document: None, pool)


def from_llama_index(
    retriever: Any, id_field: IdField = None, *, pool: bool = False
) -> Callable[[str, int], Any]:
    """Return a retriever that asks one of LlamaIndex's.

    Parameters
    ----------
    retriever
        Object with ``retrieve(query)`` that returns nodes with scores, whose ``similarity_top_k`` says how
        many; or ``callable(k)`` that makes one: ``lambda k: index.as_retriever(similarity_top_k=k)``.
    id_field
        Key of ``node.metadata`` that holds the id, dotted where it is nested; or a function from a node to
        its id, such as ``lambda node: node.node.ref_doc_id``; None for ``node.node_id``.
    pool
        Whether several nodes with the same id count once, where the best stands.

    Raises
    ------
    InputError
        `retriever` is neither; or, when asked, a node has no such id.

    Examples
    --------
    >>> from types import SimpleNamespace as Value
    >>> nodes = [Value(node_id="n1", metadata={"sku": 7}, score=0.5)]
    >>> from_llama_index(Value(retrieve=lambda query: nodes), "sku")("oak table", 10)
    [('7', 0.5)]
    """
    if inspect.isclass(retriever) or (callable(retriever) and not hasattr(retriever, "retrieve")):
        made: dict[int, Any] = {}

        def ask(query: str, k: int) -> Any:
            if k not in made:
                made[k] = _method(retriever(k), "retrieve", "what callable(k) returns")
            return made[k](query)

    else:
        retrieve = _method(retriever, "retrieve", "a LlamaIndex retriever")

        def ask(query: str, k: int) -> Any:
            return retrieve(query)

    return _Adapted(ask, list, _id_of(id_field, "metadata", "node_id"), _attribute("score"), pool)


def from_haystack(
    retriever: Any, id_field: IdField = None, *, pool: bool = False
) -> Callable[[str, int], Any]:
    """Return a retriever that asks a component of Haystack, or a pipeline.

    Parameters
    ----------
    retriever
        Component with ``run(query=…, top_k=…)``; or ``callable(query, k)`` that runs a pipeline and returns
        documents or ``{"documents": […]}``.
    id_field
        Key of ``document.meta`` that holds the id, dotted where it is nested; or a function from a document
        to its id; None for ``document.id``.
    pool
        Whether several documents with the same id count once, where the best stands.

    Raises
    ------
    InputError
        `retriever` is neither; or, when asked, there are no documents or one has no such id.

    Examples
    --------
    >>> from types import SimpleNamespace as Value
    >>> found = {"documents": [Value(id="f3a1", meta={"sku": "p07"}, score=1.5)]}
    >>> from_haystack(Value(run=lambda query, top_k: found), "sku")("oak table", 10)
    [('p07', 1.5)]
    """
    run = getattr(retriever, "run", None)
    if not callable(run) and not callable(retriever):
        raise InputError(
            f"{retriever!r} is no Haystack retriever: it has no method run(query, top_k), and is not"
            " callable(query, k)"
        )

    def ask(query: str, k: int) -> Any:
        return run(query=query, top_k=k) if callable(run) else retriever(query, k)

    return _Adapted(ask, _documents, _id_of(id_field, "meta", "id"), _attribute("score"), pool)


def from_elasticsearch(
    search: Callable[[str, int], Any], id_field: IdField = None, *, pool: bool = False
) -> Callable[[str, int], Any]:
    """Return a retriever that reads responses of Elasticsearch or OpenSearch.

    Parameters
    ----------
    search
        ``callable(query, k)``, plain or async, that asks the engine and returns its response:
        ``lambda query, k: client.search(index="shop", query={"match": {"text": query}}, size=k)``.
    id_field
        Field of ``_source`` or ``fields`` that holds the id, dotted where it is nested; or a function from a
        hit to its id; None for ``_id``.
    pool
        Whether several hits with the same id count once, where the best stands.

    Raises
    ------
    InputError
        `search` cannot be called; or, when asked, the response has no hits to read, is partial (it timed
        out or shards failed), or a hit has no such id.

    Examples
    --------
    >>> response = {"hits": {"hits": [{"_id": "17", "_score": 3.2, "_source": {"sku": "p07"}}]}}
    >>> from_elasticsearch(lambda query, k: response, "sku")("oak table", 10)
    [('p07', 3.2)]
    """
    if not callable(search):
        raise InputError(f"search is {search!r}; allowed is callable(query, k) that returns a response")
    return _Adapted(search, _hits, _id_of_hit(id_field), lambda hit: hit.get("_score"), pool)


@final
class _Adapted:
    """Asks, and reads the ids and scores of what comes back."""

    def __init__(
        self,
        ask: Callable[[str, int], Any],
        read: Callable[[Any], Sequence[Any]],
        id_of: Callable[[Any], str],
        score_of: Callable[[Any], Any],
        pool: bool,
    ) -> None:
        self._ask, self._read, self._id_of, self._score_of, self._pool = ask, read, id_of, score_of, pool

    def __call__(self, query: str, k: int) -> Any:
        """Return ids, or (id, score) pairs where every result has a score; awaitable if the answer is."""
        answer = self._ask(query, k)
        return self._later(answer, k) if inspect.isawaitable(answer) else self._ranking(answer, k)

    async def _later(self, answer: Awaitable[Any], k: int) -> Ranking:
        return self._ranking(await answer, k)

    def _ranking(self, answer: Any, k: int) -> Ranking:
        results = self._read(answer)
        pairs = [(self._id_of(result), self._score_of(result)) for result in results]
        if self._pool:
            first: dict[str, Any] = {}
            for doc_id, score in pairs:
                first.setdefault(doc_id, score)
            pairs = list(first.items())
        if pairs and all(score is not None for _, score in pairs):
            return [(doc_id, float(score)) for doc_id, score in pairs[:k]]
        return [doc_id for doc_id, _ in pairs[:k]]


def _method(owner: Any, name: str, what: str) -> Callable[..., Any]:
    method = getattr(owner, name, None)
    if not callable(method):
        raise InputError(f"{owner!r} has no method {name}; {what} has one")
    return cast("Callable[..., Any]", method)


def _takes(function: Any, name: str) -> bool:
    """Return whether a function takes an argument of a name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return name in parameters or any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    )


def _attribute(name: str) -> Callable[[Any], Any]:
    return lambda result: getattr(result, name, None)


def _id_of(id_field: IdField, fields: str, own: str) -> Callable[[Any], str]:
    """Return how to read an id: from a field of the metadata, by a function, or the result's own."""

    def read(result: Any) -> str:
        if id_field is None:
            return _as_id(getattr(result, own, None), own, result)
        if callable(id_field):
            return _as_id(id_field(result), "the function given as id_field", result)
        known = getattr(result, fields, None) or {}
        return _as_id(_looked_up(known, id_field, fields), f"{fields}[{id_field!r}]", result)

    return read


def _id_of_hit(id_field: IdField) -> Callable[[Any], str]:
    def read(hit: Any) -> str:
        if id_field is None:
            return _as_id(hit.get("_id"), "_id", hit)
        if callable(id_field):
            return _as_id(id_field(hit), "the function given as id_field", hit)
        returned = hit.get("fields") or {}
        if id_field in returned:  # values of `fields` are always lists
            values = returned[id_field]
            value = values[0] if isinstance(values, list) and len(values) == 1 else values
        else:
            value = _looked_up(hit.get("_source") or {}, id_field, "_source")
        return _as_id(value, f"_source[{id_field!r}]", hit)

    return read


def _looked_up(known: Mapping[str, Any], name: str, where: str) -> Any:
    """Return a field, also a nested one: ``product.sku``."""
    if name in known:
        return known[name]
    value: Any = known
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise InputError(
                f"a result has no {name!r} in its {where}; it has"
                f" {listed(map(repr, known), 20) or 'nothing'}. Name the one that holds"
                " the catalog's id as id_field"
            )
        value = value[part]
    return value


def _as_id(value: Any, where: str, result: Any) -> str:
    """Return an id as a string; whole numbers are common in metadata and mean the same."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value:
        return value
    text = repr(result)
    raise InputError(
        f"{where} of a result is {value!r}; an id is a string or a whole number. The result is {text[:200]}"
    )


def _documents(answer: Any) -> Sequence[Any]:
    if isinstance(answer, Mapping):
        if "documents" not in answer:
            raise InputError(
                f"the component returned {listed(map(repr, answer))} and no 'documents'; of a pipeline,"
                " return the output of its retriever"
            )
        answer = answer["documents"]
    return list(cast("Iterable[Any]", answer))


def _hits(response: Any) -> Sequence[Any]:
    try:
        hits = list(response["hits"]["hits"])
    except (TypeError, KeyError, IndexError):
        text = repr(response)
        raise InputError(f"the response has no hits to read: {text[:200]}") from None
    failed = _of(_of(response, "_shards"), "failed") or 0
    if _of(response, "timed_out") or failed:
        why = f"{failed} shards failed" if failed else "the search timed out"
        raise InputError(f"the response is partial: {why}. What is missing would read as a loss")
    return hits


def _of(answer: Any, key: str) -> Any:
    try:
        return answer[key]
    except (TypeError, KeyError, IndexError):
        return None
