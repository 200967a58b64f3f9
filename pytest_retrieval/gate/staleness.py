"""Staleness: whether what a recording was shown is still what its retriever returns.

An answer gate replays files. Without this check a changed retriever would leave it green for ever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from pytest_retrieval.errors import listed

__all__ = ["Drift", "drift_of"]


@final
@dataclass(frozen=True, slots=True)
class Drift:
    """How far recorded contexts or searches are from today's.

    Attributes
    ----------
    subject
        What is gated: recording and context.
    retriever
        What was asked again; empty where nothing was.
    checked
        How many contexts or searches were retrieved again.
    changed
        Those whose documents are others today, as ``answer 3`` or ``trace 2, search 1``.
    reordered
        Those whose documents are the same in another order.
    unchecked
        Why nothing was retrieved again; empty where it was.
    """

    subject: str
    retriever: str = ""
    checked: int = 0
    changed: tuple[str, ...] = ()
    reordered: tuple[str, ...] = ()
    unchecked: str = ""

    @property
    def share(self) -> float:
        """Share of the contexts whose documents are others today."""
        return len(self.changed) / self.checked if self.checked else 0.0

    def is_stale(self, allowed: float) -> bool:
        """Return whether more changed than is allowed."""
        return self.share > allowed

    @property
    def note(self) -> str:
        """A sentence for the summary."""
        if self.unchecked:
            return f"{self.subject}: contexts not checked: {self.unchecked}"
        differ = len(self.changed) + len(self.reordered)
        return (
            f"{self.subject}: {differ} of {self.checked} recorded contexts differ from what {self.retriever}"
            f" returns today, {len(self.reordered)} only in order"
        )

    def message(self, allowed: float) -> str:
        """Return why the recording's cells are stale, and what to do."""
        return (
            f"the recording is stale: {len(self.changed)} of {self.checked} recorded contexts"
            f" ({self.share:.1%}; recording_drift allows {allowed:.1%}) are not what {self.retriever} returns"
            f" today: {listed(self.changed, most=5)}\nanswers to old contexts say nothing of today's search:"
            " record again (pytest-retrieval record), or take the change of the retriever back"
        )


def drift_of(
    subject: str,
    retriever: str,
    then: Mapping[str, Sequence[str]],
    now: Mapping[str, Sequence[str]],
) -> Drift:
    """Return how recorded documents differ from today's, key by key.

    Examples
    --------
    >>> drift = drift_of("rag.bm25", "bm25", {"answer 1": ["a", "b"]}, {"answer 1": ["b", "a"]})
    >>> drift.note
    'rag.bm25: 1 of 1 recorded contexts differ from what bm25 returns today, 1 only in order'
    """
    changed = tuple(key for key, documents in then.items() if set(documents) != set(now[key]))
    reordered = tuple(
        key
        for key, documents in then.items()
        if list(documents) != list(now[key]) and set(documents) == set(now[key])
    )
    return Drift(subject, retriever, len(then), changed, reordered)
