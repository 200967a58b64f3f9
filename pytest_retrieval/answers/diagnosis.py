"""Diagnosis: from a logged request to the part of the system whose work it is.

The tree is mechanical, as long as the log holds what was searched for, what each stage held, what was put
into the prompt and what the answer cites. Each end of it is another team's work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from pytest_retrieval.answers.request_log import LEXICAL_STAGE, LoggedRequest, RequestLog
from pytest_retrieval.errors import InputError, listed
from pytest_retrieval.model.goldset import ALL

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DIAGNOSES", "Diagnosis", "diagnose", "diagnose_all", "diagnosis_counts"]

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
    >>> from pytest_retrieval import Qrels
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
    >>> from pytest_retrieval import Qrels
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
    lexical = request.stages.get(LEXICAL_STAGE)
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
