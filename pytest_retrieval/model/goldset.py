"""The gold set: what everything else is about, and how it is to be gated.

Files make these values, measures read them, and neither knows the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from pytest_retrieval.model.qrels import Qrels

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ALL", "Digests", "GoldSet", "Subject"]

ALL = "all"
"""The stratum that holds every query: the only one of a gold set without strata."""


@final
@dataclass(frozen=True, slots=True)
class Subject:
    """What is gated: a run's name, its measures (primary first) and the packages it cannot do without."""

    name: str
    measures: tuple[str, ...]
    requires: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Digests:
    """SHA-256 of what a pin stands on, as hexadecimal; whitespace, key and line order do not change them."""

    catalog: str
    judgments: str
    strata: str


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GoldSet:
    """A gold set: catalog, queries and judgments, and how they are to be gated.

    Attributes
    ----------
    name, version, provenance, licence
        What it is and where it comes from; the name identifies it.
    qrels
        The judgments, with strata, splits, slices and unanswerable queries.
    queries
        DataFrame indexed by query_id, with at least the column ``query``.
    catalog
        DataFrame indexed by doc_id, or None where the gold set lists no documents.
    grades
        Name → grade.
    subjects
        What is gated, by name.
    gate_splits
        Splits whose queries are gated; None where the queries have no splits.
    gate_also
        Cells beyond the strata: ``"all"``, ``"slice:<name>"``.
    unjudged
        ``"irrelevant"``: only positives are listed; ``"unknown"``: nobody looked at the rest.
    depth
        How deep retrievers are asked to rank.
    context_size
        How many documents the prompt holds, if it says.
    min_judged
        Smallest mean judged@k that a verdict may rest on, or None.
    tolerance, alpha, recording_drift
        Defaults of the gate: largest drop that is held, level of statistical rules, share of stale contexts.
    must
        Queries whose primary score may never fall.
    folder
        Where it was read from, as a label; empty where it was made in memory.
    doc_ids
        The ids of the catalog as they were read, whatever becomes of the DataFrame; None without a catalog.
    """

    name: str
    qrels: Qrels
    queries: pd.DataFrame
    digests: Digests
    catalog: pd.DataFrame | None = None
    version: str = ""
    provenance: str = ""
    licence: str = ""
    grades: Mapping[str, int] = field(default_factory=dict)
    subjects: Mapping[str, Subject] = field(default_factory=dict)
    gate_splits: tuple[str, ...] | None = None
    gate_also: tuple[str, ...] = ()
    unjudged: str = "irrelevant"
    depth: int = 100
    context_size: int | None = None
    min_judged: float | None = None
    tolerance: float = 0.0
    alpha: float = 0.05
    recording_drift: float = 0.0
    must: frozenset[str] = frozenset()
    folder: str = ""
    doc_ids: frozenset[str] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.catalog is not None:
            object.__setattr__(self, "doc_ids", frozenset(self.catalog.index))

    @property
    def gated_queries(self) -> tuple[str, ...]:
        """The queries of the gate's splits, sorted by id."""
        splits = self.qrels.splits
        if self.gate_splits is None or splits is None:
            return tuple(sorted(self.qrels.query_ids))
        wanted = set(self.gate_splits)
        return tuple(sorted(query_id for query_id in self.qrels.query_ids if splits[query_id] in wanted))

    def text_of(self, query_id: str) -> str:
        """Return the text of one query."""
        return str(self.queries.at[query_id, "query"])

    def __repr__(self) -> str:
        documents = "no catalog" if self.catalog is None else f"{len(self.catalog)} documents"
        return f"<GoldSet {self.name!r}: {len(self.queries)} queries, {documents}, {self.qrels!r}>"
