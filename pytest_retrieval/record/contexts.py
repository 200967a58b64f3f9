"""Contexts to show a model: drawn at random as a floor, and refused where they could not be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_retrieval.errors import InputError, listed
from pytest_retrieval.model.goldset import GoldSet
from pytest_retrieval.model.run import Run

__all__ = ["check_contexts", "check_known", "random_contexts"]


def random_contexts(goldset: GoldSet, k: int, seed: int = 0) -> Run:
    """Return k documents per query drawn at random: a context that no retriever chose, as a floor.

    Each query's draw depends on the seed and its id alone.

    Parameters
    ----------
    goldset
        With a catalog of at least k documents.
    k
        Documents per query.
    seed
        Of the draws.

    Raises
    ------
    InputError
        There is no catalog, or it is smaller than k.
    """
    import numpy as np

    from pytest_retrieval.stats.seeding import bit_generator

    if goldset.catalog is None or len(goldset.catalog) < k:
        raise InputError(f"gold set {goldset.name!r} needs a catalog of at least {k} documents")
    documents = sorted(goldset.catalog.index)
    rankings = {}
    for query_id in goldset.qrels.query_ids:
        bits = bit_generator(seed, f"random context of {query_id}")
        chosen = np.random.Generator(bits).choice(len(documents), k, replace=False)
        rankings[query_id] = [documents[number] for number in chosen.tolist()]
    return Run(rankings, "random")


def check_contexts(goldset: GoldSet, contexts: Mapping[str, Run], asked: Sequence[str], k: int) -> None:
    """Refuse contexts that could not be shown, before anything is paid for.

    Raises
    ------
    InputError
        A context is empty for every question, or holds what the catalog does not.
    """
    for context, run in contexts.items():
        shown_to = [query_id for query_id in asked if run.get(query_id)]
        if asked and not shown_to:
            raise InputError(
                f"context {context!r} holds nothing for any of {len(asked)} questions; its query_ids are"
                f" {listed(map(repr, run), most=3) or 'none'}"
            )
        for query_id in shown_to:
            what = f"context {context!r} of the question {query_id!r}"
            check_known(goldset, run[query_id][:k], what)


def check_known(goldset: GoldSet, doc_ids: Sequence[str], what: str) -> None:
    """Refuse documents that the catalog does not hold.

    Raises
    ------
    InputError
        There are some; the message says of `what`.
    """
    catalog = goldset.catalog
    assert catalog is not None, "a recorder refuses a gold set without"
    strange = [doc_id for doc_id in doc_ids if doc_id not in catalog.index]
    if strange:
        raise InputError(
            f"{what} holds {listed(map(repr, strange), most=3)}, which the catalog of"
            f" {goldset.name!r} does not, so there is nothing to show the model"
        )
