"""Diagnosis: from a logged request to the part of the system whose work it is.

The tree is mechanical, as long as the log holds what was searched for, what each stage held, what was put
into the prompt and what the answer cites. Each end of it is another team's work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from pytest_retrieval.errors import InputError, listed
from pytest_retrieval.model import ALL, Qrels, Run
from pytest_retrieval.records import Answer, ids_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "DIAGNOSES",
    "Diagnosis",
    "LoggedRequest",
    "RequestLog",
    "diagnose",
    "diagnose_all",
    "diagnosis_counts",
]

NOT_IN_CORPUS = "not in the corpus"
INGESTION = "ingestion"
UNKNOWN = "ingestion or query"
QUERY = "query or filter"
LEXICAL = "lexical finds it, dense loses it"
ASSEMBLY = "ordering or assembly"
GENERATION = "generation"
ANSWERED = "answered"

DIAGNOSES: Mapping[str, str] = {
    NOT_IN_CORPUS: "nothing to find: add the document, or have the model decline",
    INGESTION: "the parser dropped it, chunking split it, or it was never crawled: search the index for a"
    " distinctive literal string of it",
    UNKNOWN: "nobody says whether the index holds it: run `self_retrieval`, and give what it found as"
    " `indexed`",
    QUERY: "rewrite the query, add synonyms, and look at the filter that was applied",
    LEXICAL: "an identifier or a rare term: check the fusion weights, and that the lexical leg ran",
    ASSEMBLY: "put more passages into the prompt, fix the re-ranker, stop truncating",
    GENERATION: "it was in the prompt and was not used: look at its position, at conflicting passages, and"
    " whether the instruction to abstain fired wrongly",
    ANSWERED: "the answer cites it, or declines where there is nothing to cite",
}
"""Diagnosis → what to do; in the order of how far a document came."""

_ORDER = list(DIAGNOSES)
_LEXICAL_STAGE, _FUSED, _CONTEXT = "lexical", "fused", "context"
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
    >>> diagnose("q", RequestLog({"q": request}, Qrels({"q": ["a"]}))).verdict
    'ordering or assembly'
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


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Where one request went wrong.

    Attributes
    ----------
    query_id
        The query.
    verdict
        ``not in the corpus``, ``ingestion``, ``query or filter``, ``lexical finds it, dense loses it``,
        ``ordering or assembly``, ``generation``, ``answered``, or ``ingestion or query`` where nobody says
        what is in the index: that of the relevant document that came furthest.
    why
        What in the log says so.
    documents
        Relevant document → its own verdict.
    """

    query_id: str
    verdict: str
    why: str
    documents: Mapping[str, str] = field(default_factory=dict)

    @property
    def advice(self) -> str:
        """What to do about it."""
        return DIAGNOSES[self.verdict]

    def __str__(self) -> str:
        return f"{self.query_id}: {self.verdict}: {self.why}; {self.advice}"


def diagnose(query_id: str, log: RequestLog) -> Diagnosis:
    """Return where a request went wrong.

    Is a relevant document among the candidates? If not: was it filtered away, does the lexical leg alone find
    it, is it in the corpus, is it in the index? If so: is it still in the context, and does the answer cite
    it? Of several relevant documents the one that came furthest gives the verdict, for one can be enough;
    `Diagnosis.documents` has all.

    Parameters
    ----------
    query_id
        Of a logged request.
    log
        With judgments.

    Raises
    ------
    InputError
        The query is not logged.

    Examples
    --------
    >>> qrels = Qrels({"q": ["a"]})
    >>> request = {"lexical": ["a"], "dense": ["b"], "fused": ["b"], "context": ["b"], "cited": ["b"]}
    >>> print(diagnose("q", RequestLog({"q": request}, qrels)).verdict)
    lexical finds it, dense loses it
    """
    if query_id not in log:
        raise InputError(f"query {query_id!r} is not logged; the log has {listed(map(repr, log))}")
    request = log[query_id]
    relevant = log.qrels.relevant(query_id)
    if not relevant:
        declined = request.cited is not None and not request.cited
        why = "no document answers it, and the answer cites " + (
            "nothing" if declined else f"{listed(request.cited or ()) or 'who knows what'}"
        )
        return Diagnosis(query_id=query_id, verdict=ANSWERED if declined else NOT_IN_CORPUS, why=why)
    found = {doc_id: _document(doc_id, request, log) for doc_id in relevant}
    furthest = max(found, key=lambda doc_id: (_ORDER.index(found[doc_id][0]), relevant[doc_id]))
    verdict, why = found[furthest]
    return Diagnosis(
        query_id=query_id,
        verdict=verdict,
        why=why,
        documents={doc_id: of_doc for doc_id, (of_doc, _) in found.items()},
    )


def diagnose_all(log: RequestLog) -> dict[str, Diagnosis]:
    """Return query → diagnosis of every logged request."""
    return {query_id: diagnose(query_id, log) for query_id in log}


def diagnosis_counts(log: RequestLog) -> pd.DataFrame:
    """Return how many requests of each stratum got each diagnosis.

    Returns
    -------
    DataFrame of int
        Rows are the strata, ``all`` last; columns the verdicts that occur, in the order of how far a
        document came.

    Examples
    --------
    >>> requests = {"q1": {"context": ["a"], "cited": []}, "q2": {"context": ["b"], "cited": ["b"]}}
    >>> diagnosis_counts(RequestLog(requests, Qrels({"q1": ["a"], "q2": ["b"]}))).loc["all"].to_dict()
    {'generation': 1, 'answered': 1}
    """
    import pandas as pd

    found = diagnose_all(log)
    strata = log.qrels.strata or {}
    names = sorted({strata.get(query_id, ALL) for query_id in found} - {ALL})
    verdicts = [verdict for verdict in _ORDER if any(one.verdict == verdict for one in found.values())]
    rows = {
        name: [
            sum(one.verdict == verdict and name in (ALL, strata.get(q)) for q, one in found.items())
            for verdict in verdicts
        ]
        for name in (*names, ALL)
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=verdicts)


def _document(doc_id: str, request: LoggedRequest, log: RequestLog) -> tuple[str, str]:
    """Return the verdict on one relevant document, and what says so."""
    cited, prompt = request.cited, request.prompt
    if cited is not None and doc_id in cited and (prompt is None or doc_id in prompt):
        return ANSWERED, f"the answer cites {doc_id}"
    if prompt is not None and doc_id in prompt:
        place = f"{doc_id} was in the context, place {prompt.index(doc_id) + 1} of {len(prompt)}"
        if cited is None:
            return GENERATION, f"{place}; what the answer cites is not logged"
        return GENERATION, f"{place}, and the answer cites {listed(cited) or 'nothing'}"
    if doc_id in request.candidates:
        return (
            ASSEMBLY,
            f"{doc_id} was found, last held by {request.last_held(doc_id)}, and not in the context",
        )
    if doc_id in request.filtered:
        return QUERY, f"the filter {request.filter or 'that was applied'} removed {doc_id}"
    lexical = request.stages.get(_LEXICAL_STAGE)
    if lexical is None and log.lexical is not None:
        lexical = log.lexical.get(request.query_id, ())
    if lexical is not None and doc_id in lexical:
        return (
            LEXICAL,
            f"lexical search finds {doc_id} at rank {lexical.index(doc_id) + 1}, the candidates do not",
        )
    if log.catalog is not None and doc_id not in log.catalog:
        return NOT_IN_CORPUS, f"{doc_id} is not in the catalog"
    if log.indexed is None:
        return UNKNOWN, f"no stage found {doc_id}"
    if doc_id not in log.indexed:
        return INGESTION, f"{doc_id} is not in the index"
    searched = f" ({request.rewritten!r} was searched)" if request.rewritten else ""
    applied = f", under the filter {request.filter}" if request.filter else ""
    return QUERY, f"{doc_id} is in the index, and no stage found it{searched}{applied}"
