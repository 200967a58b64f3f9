"""What became of each query: its score, its relevant documents' ranks, the stage that lost them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from pytest_retrieval.gate.pin import Evidence, stages_of
from pytest_retrieval.measures.ranking import ranks_of
from pytest_retrieval.model.goldset import GoldSet
from pytest_retrieval.model.run import Reply, Run

__all__ = ["Move", "QueryChange", "changes_of"]

NOT_FOUND = "nowhere"

FUSED = "fused"
"""The stage that joins what stands before it: stages before it are legs, which do not follow each other."""

CONTEXT = "context"
"""The stage that holds what the prompt is made of: what it loses is lost by assembly."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Where one relevant document stood, and where it stands now.

    Attributes
    ----------
    doc_id, grade
        The document and its grade today.
    before, after
        Rank from 1, or None where the ranking did not hold it.
    stages
        Stage → rank today, for a retriever that returns stages.
    stages_before
        Stage → rank when it was pinned; empty where no stages were pinned.
    """

    doc_id: str
    grade: int
    before: int | None
    after: int | None
    stages: Mapping[str, int | None] = field(default_factory=dict)
    stages_before: Mapping[str, int | None] = field(default_factory=dict)

    @property
    def last_held(self) -> str | None:
        """The last stage that still held the document; `NOT_FOUND` where none did, None without stages."""
        if not self.stages:
            return None
        held = [stage for stage, rank in self.stages.items() if rank is not None]
        return held[-1] if held else NOT_FOUND

    def lost_by(self, limit: float = math.inf) -> str | None:
        """Return the stage that lost the document; None where it stands no lower, or no stages were pinned.

        Parameters
        ----------
        limit
            Rank that counts: the measure's cutoff.

        Returns
        -------
        str or None
            The first stage that held the document and does so no more, or had it within the limit and has
            it below, unless a later step made up for that (`_made_up`). Without one, the stage in which it
            fell furthest, of equals the first.
        """
        if self.before is None or (self.after is not None and self.after <= self.before):
            return None
        falls: dict[str, int] = {}
        for stage, then in self.stages_before.items():
            now = self.stages.get(stage)
            if then is not None and (now is None or then <= limit < now) and not self._made_up(stage):
                return stage
            if then is not None and now is not None:
                falls[stage] = now - then
        worst = max(falls, key=lambda stage: falls[stage], default=None)
        return worst if worst is not None and falls[worst] > 0 else None

    def _made_up(self, stage: str) -> bool:
        """Return whether a later step has the document no lower than before, whatever this stage did.

        A leg is no later step of another leg: where there is a stage `FUSED`, steps begin with it. Without
        one, any stage may be a leg, and only one that fell, but still holds the document, can be made up for.
        """
        order = list(self.stages_before)
        if FUSED in order:
            later = order[max(order.index(stage) + 1, order.index(FUSED)) :]
        elif self.stages.get(stage) is not None:
            later = order[order.index(stage) + 1 :]
        else:
            return False
        for step in later:
            then, now = self.stages_before[step], self.stages.get(step)
            if then is not None and now is not None and now <= then:
                return True
        return False

    def is_leg(self, stage: str) -> bool:
        """Return whether a stage is one of those that `FUSED` joins."""
        order = list(dict.fromkeys([*self.stages_before, *self.stages]))
        return FUSED in order and order.index(stage) < order.index(FUSED)

    def found_at(self, loser: str) -> int | None:
        """Return the rank at which the stage that lost the document was given it; None where it was not.

        Of several legs, the best rank counts.
        """
        order = list(self.stages_before)
        if self.is_leg(loser) or loser not in order:
            return None
        before = order[: order.index(loser)]
        given = before if loser == FUSED else before[-1:]
        ranks = [rank for stage in given if (rank := self.stages.get(stage)) is not None]
        return min(ranks, default=None)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QueryChange:
    """One query whose score changed, with its relevant documents that moved.

    Attributes
    ----------
    before, after
        Its scores.
    moves
        Where its relevant documents stood and stand.
    returned
        How many documents its rankings held, then and now; None where nobody says.
    cited_before, cited_after
        What the replies of a recording cite: document, its grade today (None where nobody judged it), and
        whether it was shown. None for a plain run.
    """

    query_id: str
    text: str
    before: float
    after: float
    moves: tuple[Move, ...]
    returned: tuple[int | None, int | None] = (None, None)
    cited_before: tuple[tuple[str, int | None, bool], ...] | None = None
    cited_after: tuple[tuple[str, int | None, bool], ...] | None = None


def changes_of(
    goldset: GoldSet,
    evidence: Mapping[str, Evidence],
    run: Run,
    scores: Mapping[str, tuple[float, float]],
    level: int,
) -> tuple[QueryChange, ...]:
    """Return what changed, for the queries given as query → (before, after)."""
    return tuple(
        QueryChange(
            query_id=query_id,
            text=goldset.text_of(query_id),
            before=before,
            after=after,
            moves=_moves(goldset, evidence[query_id], run, query_id, level),
            returned=(evidence[query_id].returned, len(run.get(query_id, ()))),
            cited_before=_cited(goldset, query_id, evidence[query_id].replies),
            cited_after=_cited(goldset, query_id, run.replies.get(query_id, ())),
        )
        for query_id, (before, after) in scores.items()
    )


def _cited(
    goldset: GoldSet, query_id: str, replies: Sequence[Reply]
) -> tuple[tuple[str, int | None, bool], ...] | None:
    """Return what replies cite, each document once per reply, or None where there are none."""
    if not replies:
        return None
    grades = goldset.qrels[query_id]
    return tuple(
        (doc_id, grades.get(doc_id), doc_id in reply.shown)
        for reply in replies
        for doc_id in dict.fromkeys(reply.cited)
    )


def _moves(goldset: GoldSet, pinned: Evidence, run: Run, query_id: str, level: int) -> tuple[Move, ...]:
    ranks = ranks_of(run.get(query_id, ()))
    relevant = [doc_id for doc_id, grade in goldset.qrels[query_id].items() if grade >= level]
    stages = stages_of(run, query_id, relevant)
    moves = [
        Move(
            doc_id=doc_id,
            grade=grade,
            before=_pinned_rank(goldset, pinned, doc_id),
            after=ranks.get(doc_id),
            stages={stage: of_stage.get(doc_id) for stage, of_stage in stages.items()},
            stages_before={
                stage: of_stage.get(doc_id)
                for stage, of_stage in pinned.stages.items()
                if _pinned_rank(goldset, pinned, doc_id) == pinned.rank_of(doc_id)
            },
        )
        for doc_id, grade in goldset.qrels[query_id].items()
        if grade >= level
    ]
    moved = [move for move in moves if move.before != move.after]
    return tuple(sorted(moved, key=_importance))


def _pinned_rank(goldset: GoldSet, pinned: Evidence, doc_id: str) -> int | None:
    """Return the pinned rank of a document; of a chunk, that of what stood at its place."""
    spans = goldset.qrels.spans
    if spans is None or not pinned.places:
        return pinned.rank_of(doc_id)
    return pinned.rank_at(spans.places[doc_id])


def _importance(move: Move) -> tuple[float, float, str]:
    """Sort key: what stood highest before comes first, then what stands highest now."""
    far = float("inf")
    return (
        far if move.before is None else move.before,
        far if move.after is None else move.after,
        move.doc_id,
    )


def worst_first(scores: Mapping[str, tuple[float, float]], sign: float) -> Sequence[str]:
    """Return queries by how much they lost, most first, then by id; `sign` is 1 where higher is better."""
    return sorted(scores, key=lambda query: (sign * (scores[query][1] - scores[query][0]), query))
