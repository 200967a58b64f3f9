"""Logs of requests: what the serving path searched for, held at each stage, put into the prompt and cited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, final

from pytest_retrieval.errors import InputError, listed
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.records import Answer, ids_of
from pytest_retrieval.model.run import Run

__all__ = ["LEXICAL_STAGE", "LoggedRequest", "RequestLog"]

LEXICAL_STAGE = "lexical"
_FUSED, _CONTEXT = "fused", "context"
_LISTS = ("candidates", "filtered", "fused", "reranked", "context", "cited", "lexical", "dense")
_KEYS = ("query_id", "query", "rewritten", "filter", "stages", *_LISTS)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRequest:
    """One request as the serving path logged it.

    Attributes
    ----------
    query_id, query, rewritten
        The question, its text, and what was searched with, where that was another.
    filter
        The filter that was applied, as text.
    filtered
        Documents that the filter is known to have removed.
    stages
        Stage → documents in order, in the order of the pipeline: legs such as ``lexical`` and ``dense``, then
        ``candidates`` or ``fused``, ``reranked``, ``context``.
    cited
        Documents that the answer cites; None where the log says nothing of an answer.
    """

    query_id: str
    query: str = ""
    rewritten: str = ""
    filter: str = ""
    filtered: tuple[str, ...] = ()
    stages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cited: tuple[str, ...] | None = None

    @property
    def candidates(self) -> tuple[str, ...]:
        """What the pipeline went on with: ``candidates`` or ``fused``, else everything before the context."""
        for stage in ("candidates", _FUSED):
            if stage in self.stages:
                return self.stages[stage]
        before = [ids for stage, ids in self.stages.items() if stage != _CONTEXT]
        if not before:
            return self.stages.get(_CONTEXT, ())
        return tuple(dict.fromkeys(doc_id for ids in before for doc_id in ids))

    @property
    def prompt(self) -> tuple[str, ...] | None:
        """What the model read: ``context``, else the last stage; None where no stage is logged."""
        if _CONTEXT in self.stages:
            return self.stages[_CONTEXT]
        return list(self.stages.values())[-1] if self.stages else None

    def last_held(self, doc_id: str) -> str:
        """Return the last stage that holds a document, and its rank there; empty where none does."""
        held = [(stage, ids.index(doc_id) + 1) for stage, ids in self.stages.items() if doc_id in ids]
        return f"{held[-1][0]} at rank {held[-1][1]}" if held else ""

    @classmethod
    def from_plain(cls, line: Mapping[str, Any], query_id: str = "") -> LoggedRequest:
        """Return the request of a mapping, such as a line of a JSON log.

        Parameters
        ----------
        line
            Keys are the attributes; stages stand under ``stages`` or, by the names ``lexical``, ``dense``,
            ``candidates``, ``fused``, ``reranked`` and ``context``, directly.
        query_id
            Of the request, where the mapping does not say it.

        Raises
        ------
        InputError
            It has another key, or ids that are no list of strings.
        """
        query_id = line.get("query_id", query_id)
        unknown = line.keys() - set(_KEYS)
        place = f"the logged request {query_id!r}"
        if unknown or not isinstance(query_id, str) or not query_id:
            what = f"has unknown keys {listed(sorted(unknown))}" if unknown else "has no query_id"
            raise InputError(f"{place} {what}; allowed are {listed(_KEYS, 20)}")
        given = dict(line.get("stages") or {})
        named = ("lexical", "dense", "candidates", "fused", "reranked", "context")
        given |= {stage: line[stage] for stage in named if line.get(stage) is not None}
        texts = {key: line.get(key) or "" for key in ("query", "rewritten", "filter")}
        return cls(
            query_id=query_id,
            **{key: value if isinstance(value, str) else repr(value) for key, value in texts.items()},
            filtered=ids_of(line.get("filtered") or (), "filtered", place),
            stages={stage: ids_of(ids, str(stage), place) for stage, ids in given.items()},
            cited=None if line.get("cited") is None else ids_of(line["cited"], "cited", place),
        )


@final
@dataclass(frozen=True, slots=True, init=False)
class RequestLog(Mapping[str, LoggedRequest]):
    """Logged requests by query, with what is known of the right documents and of the index.

    Parameters
    ----------
    requests
        ``{query_id: request}``, or requests; each a `LoggedRequest` or a mapping
        (`LoggedRequest.from_plain`).
    qrels
        Judgments: the relevant documents of each query, and strata for counts.
    catalog
        Every document that there is; None where nobody knows.
    indexed
        Documents that the index is known to hold, such as what `self_retrieval` found; None where unknown.
    lexical
        What a lexical search alone finds, for requests that logged no stage ``lexical``.

    Raises
    ------
    InputError
        A request cannot be read, or its query has no judgments.

    Examples
    --------
    >>> request = {"candidates": ["a", "b"], "context": ["b"], "cited": []}
    >>> log = RequestLog({"q": request}, Qrels({"q": ["a"]}))
    >>> log["q"].last_held("a")
    'candidates at rank 1'
    """

    requests: Mapping[str, LoggedRequest]
    qrels: Qrels
    catalog: Set[str] | None
    indexed: Set[str] | None
    lexical: Run | None

    def __init__(
        self,
        requests: Mapping[str, Any] | Iterable[Any],
        qrels: Qrels,
        *,
        catalog: Iterable[str] | None = None,
        indexed: Iterable[str] | None = None,
        lexical: Run | None = None,
    ) -> None:
        pairs: Iterable[tuple[str, Any]]
        pairs = requests.items() if isinstance(requests, Mapping) else (("", line) for line in requests)
        found: dict[str, LoggedRequest] = {}
        for query_id, line in pairs:
            request = line if isinstance(line, LoggedRequest) else LoggedRequest.from_plain(line, query_id)
            if request.query_id in found:
                raise InputError(f"query {request.query_id!r} is logged twice; a log holds one request each")
            found[request.query_id] = request
        unjudged = sorted(found.keys() - set(qrels))
        if unjudged:
            raise InputError(
                f"logged queries without judgments: {listed(map(repr, unjudged))}; a diagnosis needs to know"
                " what would have been right"
            )
        put = object.__setattr__
        put(self, "requests", found)
        put(self, "qrels", qrels)
        put(self, "catalog", None if catalog is None else frozenset(catalog))
        put(self, "indexed", None if indexed is None else frozenset(indexed))
        put(self, "lexical", lexical)

    @classmethod
    def from_answers(
        cls,
        answers: Sequence[Answer],
        run: Run,
        qrels: Qrels,
        *,
        context: str = "",
        catalog: Iterable[str] | None = None,
        indexed: Iterable[str] | None = None,
        lexical: Run | None = None,
    ) -> RequestLog:
        """Return the log of recorded answers and of the run whose documents they were given.

        Parameters
        ----------
        answers
            Of a recording; of several answers to one query the first counts.
        run
            Of the retriever behind them; its stages are those of the requests.
        qrels, catalog, indexed, lexical
            As for the class.
        context
            Which of the recording's contexts; by default the run's name, or the only one there is.
        """
        names = {answer.context for answer in answers}
        wanted = context or (run.name if run.name in names else next(iter(names)) if len(names) == 1 else "")
        if wanted not in names:
            raise InputError(f"the answers have the contexts {listed(sorted(names))}; give one as `context`")
        requests: dict[str, LoggedRequest] = {}
        for answer in answers:
            query_id = answer.query_id
            if answer.context != wanted or query_id in requests:
                continue
            stages = {stage: of_stage.get(query_id, ()) for stage, of_stage in run.stages.items()}
            stages = stages or {"candidates": run.get(query_id, ())}
            told = [of_stage.queries.get(query_id, "") for of_stage in run.stages.values()]
            requests[query_id] = LoggedRequest(
                query_id=query_id,
                rewritten=next(filter(None, told), ""),
                stages={**stages, _CONTEXT: answer.context_ids},
                cited=answer.cited_ids,
            )
        return cls(requests, qrels, catalog=catalog, indexed=indexed, lexical=lexical)

    def __getitem__(self, query_id: str) -> LoggedRequest:
        return self.requests[query_id]

    def __iter__(self) -> Any:
        return iter(self.requests)

    def __len__(self) -> int:
        return len(self.requests)
