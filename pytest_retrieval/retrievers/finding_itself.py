"""Self-retrieval: every document asked for by its own words. It needs no judgments, and gives many cases.

A document that its own identifier or its own rarest words do not bring back is not in the index, or not in
the leg that should hold it: it was never crawled, was parsed into something else, or belongs to a tenant
whose filter is wrong.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

from pytest_retrieval.errors import InputError
from pytest_retrieval.model.run import Run
from pytest_retrieval.retrievers.best import check_count
from pytest_retrieval.retrievers.calling import retrieve
from pytest_retrieval.retrievers.texts import fields_of, records_of, text_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Probe", "SelfRetrieval", "self_retrieval"]

IDENTIFIER, LITERAL = "identifier", "literal"
WORDS = 5
"""Words of a distinctive literal string."""

_WORD = re.compile(r"\S+")


class Probe(NamedTuple):
    """One question that a document asks for itself: which kind of string, and the string."""

    doc_id: str
    kind: str
    text: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SelfRetrieval:
    """What a sweep found.

    Attributes
    ----------
    probes
        Probe id → what was asked.
    ranks
        Leg → probe id → rank of the document in it, or None; the leg ``""`` is the ranking itself.
    k
        How deep was looked.
    without
        Documents that no string sets apart from others: duplicates, or empty ones.
    """

    probes: Mapping[str, Probe]
    ranks: Mapping[str, Mapping[str, int | None]]
    k: int
    without: tuple[str, ...] = ()

    @property
    def indexed(self) -> frozenset[str]:
        """Documents that some leg returned for one of their own strings: the index holds them."""
        return frozenset(
            self.probes[probe].doc_id
            for of_leg in self.ranks.values()
            for probe, rank in of_leg.items()
            if rank is not None
        )

    def lost(self, leg: str = "", kind: str | None = None) -> tuple[Probe, ...]:
        """Return the probes, of one kind or all, whose document a leg did not return in its top k."""
        of_leg = self.ranks[leg]
        return tuple(
            probe
            for name, probe in self.probes.items()
            if of_leg[name] is None and kind in (None, probe.kind)
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the share of documents found: a row per kind of string, a column per leg."""
        import pandas as pd

        kinds = list(dict.fromkeys(probe.kind for probe in self.probes.values()))
        shares = {
            leg or "ranking": [1 - len(self.lost(leg, kind)) / self._number(kind) for kind in kinds]
            for leg in self.ranks
        }
        return pd.DataFrame(shares, index=pd.Index(kinds, name="string"))

    def _number(self, kind: str) -> int:
        return sum(probe.kind == kind for probe in self.probes.values())


def self_retrieval(
    retriever: object,
    catalog: pd.DataFrame | Mapping[str, Any],
    *,
    identifier: str | None = None,
    fields: str | Sequence[str] | None = None,
    k: int = 10,
) -> SelfRetrieval:
    """Ask a retriever for every document by its identifier and by a literal string that only it holds.

    Parameters
    ----------
    retriever
        As the fixture `retrievers` may hold; a pipeline that returns stages is looked at leg by leg.
    catalog
        DataFrame indexed by doc_id, or a mapping from doc_id: what ought to be in the index.
    identifier
        Field of the catalog that holds an identifier, such as a part number, or ``"doc_id"``; None for none.
    fields
        Fields to take literal strings from, by default all.
    k
        How deep to look, at least 1.

    Returns
    -------
    SelfRetrieval

    Raises
    ------
    InputError
        A field is not in the catalog, or `k` is not allowed.
    RetrieverError
        The retriever raised, or returned something that is no ranking.

    Notes
    -----
    Of the runs of five words that no other document holds, the one with the rarest words is asked, by the sum
    of log(documents / documents with the word); of a shorter field, all of it.

    Examples
    --------
    >>> from pytest_retrieval import BM25
    >>> catalog = {"p1": "oak table for six", "p2": "steel lamp with a clip", "p3": "wool rug in red"}
    >>> index = BM25({doc_id: catalog[doc_id] for doc_id in ("p1", "p2")})
    >>> sweep = self_retrieval(index, catalog)
    >>> sorted(sweep.indexed), [probe.doc_id for probe in sweep.lost()]
    (['p1', 'p2'], ['p3'])
    """
    check_count("k", k)
    records, columns = records_of(catalog)
    names = fields_of(columns, fields)
    if identifier not in (None, "doc_id"):
        fields_of(columns, identifier)
    literals, without = _literals(records, names)
    probes = {f"{LITERAL}:{doc_id}": Probe(doc_id, LITERAL, text) for doc_id, text in literals.items()}
    if identifier is not None:
        for doc_id, item in records.items():
            text = doc_id if identifier == "doc_id" else text_of(item.get(identifier)).strip()
            if text:
                probes[f"{IDENTIFIER}:{doc_id}"] = Probe(doc_id, IDENTIFIER, text)
    if not probes:
        raise InputError("no document of the catalog has a string of its own to ask for")
    run = retrieve(retriever, {name: probe.text for name, probe in probes.items()}, k, name="self-retrieval")
    legs: dict[str, Run] = {"": run, **run.stages}
    ranks = {
        leg: {name: _rank(of_leg.get(name, ()), probe.doc_id) for name, probe in probes.items()}
        for leg, of_leg in legs.items()
    }
    return SelfRetrieval(probes=probes, ranks=ranks, k=k, without=without)


def _rank(ranking: Sequence[str], doc_id: str) -> int | None:
    return ranking.index(doc_id) + 1 if doc_id in ranking else None


def _literals(
    records: Mapping[str, Mapping[str, Any]], names: Sequence[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return document → distinctive string, and the documents that have none."""
    runs = {doc_id: _runs([text_of(item.get(name)) for name in names]) for doc_id, item in records.items()}
    holders = Counter(run for of_doc in runs.values() for run in set(of_doc))
    words = Counter(word for of_doc in runs.values() for word in {word for run in of_doc for word in run})
    found, without = {}, []
    for doc_id, of_doc in runs.items():
        own = [run for run in of_doc if holders[run] == 1]
        if not own:
            without.append(doc_id)
            continue
        best = max(own, key=lambda run: sum(math.log(len(records) / words[word]) for word in set(run)))
        found[doc_id] = " ".join(best)
    return found, tuple(without)


def _runs(texts: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the runs of words of each text, in order."""
    runs = []
    for text in texts:
        words = _WORD.findall(text)
        size = min(WORDS, len(words))
        runs += [tuple(words[n : n + size]) for n in range(len(words) - size + 1) if size]
    return runs
