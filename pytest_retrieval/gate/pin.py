"""Pins: what was accepted, as evidence. Each query's ranking is kept, and from it the scores.

A pinned number alone could not be compared once judgments change; a pinned ranking can be scored again.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

from pytest_retrieval.errors import counted
from pytest_retrieval.gate.cells import SLICE, Cell
from pytest_retrieval.measures.notation import Measure
from pytest_retrieval.measures.ranking import ranks_of
from pytest_retrieval.measures.table import evaluate, mean_of
from pytest_retrieval.model.goldset import ALL, GoldSet
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Reply, Run
from pytest_retrieval.model.spans import Place

if TYPE_CHECKING:
    pass

__all__ = [
    "Evidence",
    "Pin",
    "Pins",
    "disagreements",
    "evidence_of",
    "pinned_run",
    "text_digest",
]

ESTABLISHED = "established"
"""The rule of a pin that fails only where a drop is established for queries like these."""

EXTRA_DEPTH = 10
"""How far beyond the largest cutoff a ranking is kept, so that a failure can say where a document went."""

SAME = 1e-12
"""Two means closer than this are the same number."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One pinned cell: the value people read.

    Attributes
    ----------
    value
        Mean score over the evidence.
    n
        Queries it is the mean of.
    best
        Best value ever pinned under the same judgments.
    level
        Relevance level that it was pinned under.
    judgments, catalog, document_ids
        First characters of the digests that it was pinned under: of the judgments, of the catalog, and of
        which documents the catalog lists.
    documents
        How many documents the catalog listed.
    reason
        Why it was last lowered.
    owner
        Test that gates it.
    noise, retrievals
        For a subject whose rankings differ between two retrievals: the noise band, and how many retrievals it
        was measured over; None for a subject that always returns the same.
    tolerance, rule
        Edited by hand; None where the gold set's default applies.
    """

    value: float
    n: int
    best: float
    level: int | None = None
    judgments: str = ""
    catalog: str = ""
    document_ids: str = ""
    documents: int | None = None
    reason: str = ""
    owner: str = ""
    noise: float | None = None
    retrievals: int | None = None
    tolerance: float | None = None
    rule: str | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One query of one subject as it was pinned.

    Attributes
    ----------
    query_id, stratum, slices
        The query and its classes then.
    query
        Digest of the query's text.
    ranking
        Documents to the largest pinned cutoff + 10, or to the gold set's depth.
    returned
        Length of the whole ranking.
    ranks
        Rank of each judged document below `ranking`.
    stages
        Stage → relevant document → its rank there, for a retriever that returns stages.
    grades
        Grades of the judged documents that had a part in the scores.
    scores
        Measure → score; None where undefined.
    places
        Where each document of `ranking` stood, for a gold set of spans: so that it outlives a new chunking.
    replies
        What a model replied, for the subject of a recording: what it was shown and cites, and plain numbers.
    """

    query_id: str
    stratum: str
    query: str
    ranking: tuple[str, ...]
    returned: int
    grades: Mapping[str, int]
    scores: Mapping[str, float | None]
    ranks: Mapping[str, int] = field(default_factory=dict)
    slices: tuple[str, ...] = ()
    replies: tuple[Reply, ...] = ()
    stages: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    places: tuple[Place, ...] = ()

    def rank_of(self, doc_id: str) -> int | None:
        """Return the pinned rank of a document, or None where it is not known to have had one."""
        if doc_id in self.ranks:
            return self.ranks[doc_id]
        return self.ranking.index(doc_id) + 1 if doc_id in self.ranking else None

    def rank_at(self, place: Place) -> int | None:
        """Return the pinned rank of a chunk that stood at a place, whatever it was called."""
        return self.places.index(place) + 1 if place in self.places else None

    def holds(self, k: int | None) -> bool:
        """Return whether the kept ranking is long enough for a measure cut at k."""
        kept = len(self.ranking)
        return kept >= self.returned or (k is not None and kept >= k)

    def plain(self) -> dict[str, Any]:
        """Return the line as JSON can hold it: keys in a fixed order, empty optional ones left out."""
        line: dict[str, Any] = {"query_id": self.query_id, "stratum": self.stratum}
        if self.slices:
            line["slices"] = list(self.slices)
        line |= {"query": self.query, "ranking": list(self.ranking), "returned": self.returned}
        if self.places:
            line["places"] = [list(place) for place in self.places]
        if self.ranks:
            line["ranks"] = dict(self.ranks)
        if self.stages:
            line["stages"] = {stage: dict(ranks) for stage, ranks in self.stages.items()}
        if self.replies:
            line["replies"] = [_plain_reply(reply) for reply in self.replies]
        return line | {"grades": dict(self.grades), "scores": dict(self.scores)}

    @classmethod
    def from_plain(cls, line: Mapping[str, Any]) -> Evidence:
        """Return the line that `plain` made.

        Raises
        ------
        KeyError, TypeError, ValueError
            It is no such line.
        """
        return cls(
            query_id=line["query_id"],
            stratum=line["stratum"],
            query=line["query"],
            ranking=tuple(line["ranking"]),
            returned=int(line["returned"]),
            grades=dict(line["grades"]),
            scores=dict(line["scores"]),
            ranks=dict(line.get("ranks", {})),
            slices=tuple(line.get("slices", ())),
            places=tuple(Place(*place) for place in line.get("places", ())),
            stages={stage: dict(ranks) for stage, ranks in line.get("stages", {}).items()},
            replies=tuple(
                Reply(
                    shown=tuple(reply["shown"]),
                    cited=tuple(reply["cited"]),
                    numbers=dict(reply.get("numbers", {})),
                    picks=bool(reply.get("picks", False)),
                )
                for reply in line.get("replies", ())
            ),
        )


def _plain_reply(reply: Reply) -> dict[str, Any]:
    line: dict[str, Any] = {"shown": list(reply.shown), "cited": list(reply.cited)}
    if reply.numbers:
        line["numbers"] = dict(sorted(reply.numbers.items()))
    if reply.picks:
        line["picks"] = True
    return line


@final
@dataclass(frozen=True, slots=True)
class Pins:
    """Everything pinned for one gold set.

    Attributes
    ----------
    cells
        Cell → pin.
    evidence
        Subject → query_id → evidence.
    """

    cells: Mapping[Cell, Pin] = field(default_factory=dict)
    evidence: Mapping[str, Mapping[str, Evidence]] = field(default_factory=dict)


def rule_threshold(pins: Pins, alpha: float) -> float:
    """Return what p of a statistical pin must stay below: alpha / number of such pins, selected or not."""
    return alpha / max(1, sum(pin.rule == ESTABLISHED for pin in pins.cells.values()))


def text_digest(text: str) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a query's text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def short(digest: str) -> str:
    """Return the part of a digest that a pin carries."""
    return digest[:12]


def document_ids(doc_ids: Set[str] | None) -> str:
    """Return a short digest of which documents a catalog lists, whatever they say."""
    if doc_ids is None:
        return ""
    return short(hashlib.sha256("\n".join(sorted(doc_ids)).encode()).hexdigest())


def kept_depth(measures: Iterable[Measure], depth: int) -> int:
    """Return how many documents of a ranking the evidence keeps."""
    cutoffs = [measure.k for measure in measures]
    deepest = max((k for k in cutoffs if k is not None), default=0)
    return max(depth, deepest) if None in cutoffs else deepest + EXTRA_DEPTH


def evidence_of(
    goldset: GoldSet, run: Run, measures: Sequence[Measure], queries: Sequence[str]
) -> dict[str, Evidence]:
    """Return the evidence that pinning this run would keep, by query."""
    keep = kept_depth(measures, goldset.depth)
    bare = {}
    for query_id in queries:
        ranking = run.get(query_id, ())
        judged = goldset.qrels[query_id]
        bare[query_id] = Evidence(
            query_id=query_id,
            stratum=ALL,
            query=text_digest(goldset.text_of(query_id)),
            ranking=ranking[:keep],
            returned=len(ranking),
            grades={},
            scores={},
            ranks={doc: rank for doc, rank in ranks_of(ranking).items() if rank > keep and doc in judged},
            replies=run.replies.get(query_id, ()),
            stages=stages_of(run, query_id, goldset.qrels.relevant(query_id)),
            places=_places(goldset.qrels, ranking[:keep]),
        )
    return refreshed(goldset, bare, measures)


def _places(qrels: Qrels, ranking: Sequence[str]) -> tuple[Place, ...]:
    """Return where the chunks of a ranking stand; nothing without gold spans, or where one is unknown."""
    if qrels.spans is None or not all(doc_id in qrels.spans.places for doc_id in ranking):
        return ()
    return tuple(qrels.spans.places[doc_id] for doc_id in ranking)


def stages_of(run: Run, query_id: str, documents: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return stage → document → rank, of some documents in every stage that a retriever returned."""
    wanted = set(documents)
    return {
        stage: {doc: rank for doc, rank in ranks_of(ranking.get(query_id, ())).items() if doc in wanted}
        for stage, ranking in run.stages.items()
    }


def refreshed(
    goldset: GoldSet, evidence: Mapping[str, Evidence], measures: Sequence[Measure]
) -> dict[str, Evidence]:
    """Return evidence with the same rankings, scored and classed as the gold set says today."""
    if not evidence:
        return {}
    qrels = goldset.qrels.select(evidence)
    table = evaluate(qrels, pinned_run(evidence, measures), measures)
    strata, slices = qrels.strata or {}, qrels.slices or {}
    fresh = {}
    for row, (query_id, old) in enumerate(evidence.items()):
        scores = table.values[row].tolist()
        names = [measure.name for measure in measures]
        fresh[query_id] = replace(
            old,
            stratum=strata.get(query_id, ALL),
            slices=slices.get(query_id, ()),
            grades=grades_used(qrels, old),
            scores={
                name: None if math.isnan(score) else score for name, score in zip(names, scores, strict=True)
            },
        )
    return fresh


def grades_used(qrels: Qrels, evidence: Evidence) -> dict[str, int]:
    """Return the grades of what the ranking held and of everything there was to find."""
    if qrels.spans is not None:
        return {}  # they follow from the spans and the places of chunks, whatever these are called
    held = {*evidence.ranking, *evidence.ranks}
    held.update(doc_id for reply in evidence.replies for doc_id in (*reply.shown, *reply.cited))
    return {doc: grade for doc, grade in sorted(qrels[evidence.query_id].items()) if grade > 0 or doc in held}


def pinned_run(evidence: Mapping[str, Evidence], measures: Sequence[Measure] = ()) -> Run:
    """Return the pinned rankings as a run.

    Numbers that `measures` read and that the replies were pinned without, such as a label that people gave
    later, are there as undefined.
    """
    lacking = {m.kind.name: float("nan") for m in measures if m.kind.reads == "numbers"}
    return Run(
        {query_id: line.ranking for query_id, line in evidence.items()},
        name="pinned",
        replies={
            query_id: tuple(replace(reply, numbers={**lacking, **reply.numbers}) for reply in line.replies)
            for query_id, line in evidence.items()
            if line.replies
        },
        places={query_id: line.places for query_id, line in evidence.items() if line.places},
    )


def in_cell(evidence: Evidence, stratum: str) -> bool:
    """Return whether a query belonged to a cell's stratum when it was pinned."""
    if stratum.startswith(SLICE):
        return stratum.removeprefix(SLICE) in evidence.slices
    return stratum in (ALL, evidence.stratum)


def pinned_scores(pins: Pins, cell: Cell) -> dict[str, float]:
    """Return query → pinned score of one cell, without undefined ones."""
    return {
        query_id: score
        for query_id, line in pins.evidence.get(cell.subject, {}).items()
        if in_cell(line, cell.stratum) and (score := line.scores.get(cell.measure)) is not None
    }


def disagreements(pins: Pins) -> dict[Cell, str]:
    """Return a sentence on each cell whose value is not the mean of its evidence."""
    found = {}
    for cell, pin in pins.cells.items():
        scores = pinned_scores(pins, cell)
        mean = mean_of(scores.values())
        if len(scores) != pin.n or not abs(mean - pin.value) <= SAME:
            evidence = f"{mean!r} over {counted(len(scores), 'query', 'queries')}" if scores else "nothing"
            pinned = f"{pin.value!r} over {counted(pin.n, 'query', 'queries')}"
            found[cell] = f"{cell}: pinned {pinned}, the evidence says {evidence}"
    return found
