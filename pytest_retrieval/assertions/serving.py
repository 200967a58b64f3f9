"""Assertions on what is served: to whom, in which state, and nothing that was erased."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_retrieval.assertions.means import WORST
from pytest_retrieval.errors import InputError, counted, listed
from pytest_retrieval.model.records import Answer
from pytest_retrieval.model.run import Run
from pytest_retrieval.retrievers.assembly import ContextFinding, check_contexts
from pytest_retrieval.retrievers.calling import retrieve
from pytest_retrieval.retrievers.finding_itself import SelfRetrieval

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "assert_contexts",
    "assert_erased",
    "assert_permitted",
    "assert_requires_principal",
    "assert_self_retrieval",
]

Allowed = Collection[str] | Mapping[str, Collection[str]]


def assert_permitted(run: Run, allowed: Allowed, *, k: int | None = None) -> None:
    """Assert that no ranking, and no stage of one, holds what its principal may not read.

    Parameters
    ----------
    run
        Rankings, with their stages: what a filter removes at the end has leaked before.
    allowed
        Documents that may be read, for all queries or per query.
    k
        Asked for: then every query has to get `k` documents that its principal may read, or all there are.
        Fewer show a filter that is applied after the search. Leave it out for a retriever that omits
        documents without any match, such as `BM25`.

    Raises
    ------
    AssertionError
        A document is not permitted, or a list is short.
    InputError
        The run has no query, or one that has no entry in `allowed`; or what may be read is one string.

    Examples
    --------
    >>> assert_permitted(Run({"q": ["a", "b"]}), {"a", "c"})
    Traceback (most recent call last):
    ...
    AssertionError: 1 of 1 rankings is not permitted:
      q: b at rank 2
    """
    __tracebackhide__ = True
    if not len(run):
        raise InputError("the run has no query, so nothing was checked")
    wrong: dict[str, list[str]] = {}
    for stage, ranking in {"": run, **run.stages}.items():
        for query_id in ranking:
            may = _may(allowed, query_id)
            place = f" of stage {stage}" if stage else ""
            for rank, doc_id in enumerate(ranking[query_id], start=1):
                if doc_id not in may:
                    wrong.setdefault(query_id, []).append(f"{doc_id} at rank {rank}{place}")
    if k is not None:
        for query_id in run:
            got = len([doc_id for doc_id in run[query_id] if doc_id in _may(allowed, query_id)])
            wanted = min(k, len(_may(allowed, query_id)))
            if got < wanted:
                told = f"{got} of {wanted} documents that its principal may read: filtered after the search?"
                wrong.setdefault(query_id, []).append(told)
    if wrong:
        verb = "is" if len(wrong) == 1 else "are"
        _fail(f"{len(wrong)} of {len(run)} rankings {verb} not permitted", _lines(wrong))


def assert_requires_principal(
    search: Callable[..., Any], *, query: str, principal: object, k: int = 10, name: str = "principal"
) -> None:
    """Assert that a search without a principal fails loudly, instead of returning the corpus.

    It is called with the principal first, or its failure would prove nothing; then without it, with None and
    with an empty string.

    Parameters
    ----------
    search
        ``search(query, k, principal=…)``, plain or async.
    query
        One that finds something for this principal.
    principal
        Who asks.
    k
        How many documents to ask for.
    name
        Name of the argument, such as ``"tenant_id"``.

    Raises
    ------
    AssertionError
        It returned something without a principal, an empty list included, or nothing with one.

    Examples
    --------
    >>> def search(query, k, principal=None):
    ...     return ["a"]
    >>> assert_requires_principal(search, query="oak", principal="ann")
    Traceback (most recent call last):
    ...
    AssertionError: a search without a principal has to fail, and did not:
      left out: returned ['a']
      principal=None: returned ['a']
      principal='': returned ['a']
    """
    __tracebackhide__ = True
    found = _called(search, query, k, {name: principal})
    if not found:
        raise AssertionError(
            f"{name}={principal!r} finds nothing for {query!r}, so a failure without it would prove nothing;"
            " give a query that finds something"
        )
    answered = []
    for told, given in (
        ("left out", {}),
        (f"{name}=None", {name: None}),
        (f"{name}=''", {name: ""}),
    ):
        try:
            returned = _called(search, query, k, given)
        except Exception:  # whatever it raises: failing loudly is what is asked for
            continue
        answered.append(f"{told}: returned {returned!r:.200}")
    if answered:
        _fail(f"a search without a {name} has to fail, and did not", answered)


def assert_erased(
    retriever: object,
    erased: Mapping[str, str | Sequence[str]],
    *,
    texts: Mapping[str, str] | None = None,
    elsewhere: Mapping[str, str | Sequence[str]] | None = None,
    k: int = 10,
) -> None:
    """Assert that a distinctive literal string of each erased document is found nowhere.

    Parameters
    ----------
    retriever
        As the fixture `retrievers` may hold; every stage is looked at.
    erased
        ``{doc_id: string}``, or several strings: words that only this document held.
    texts
        Text of each document that may be returned: none may hold the string either.
    elsewhere
        Name → text or texts of other places: caches, summaries, recorded answers, a gold set.
    k
        How deep to look.

    Raises
    ------
    AssertionError
        A search returns an erased document or one that holds its string, or the string is elsewhere.
    InputError
        Nothing is erased, or an erased document has no string.

    Examples
    --------
    >>> assert_erased(lambda query, k: [], {"d7": "Maria Brandt, Lindenweg 4"}, elsewhere={"cache": "…"})
    """
    __tracebackhide__ = True
    if not erased:
        raise InputError("no erased document was given, so nothing was checked")
    strings = {doc: [text] if isinstance(text, str) else list(text) for doc, text in erased.items()}
    for doc_id, of_doc in strings.items():
        if not of_doc or not all(isinstance(text, str) and text.strip() for text in of_doc):
            raise InputError(f"erased document {doc_id!r} has the strings {of_doc!r}; words of it are needed")
    asked = {f"{doc}:{n}": text for doc, of_doc in strings.items() for n, text in enumerate(of_doc)}
    owner = {f"{doc}:{n}": doc for doc, of_doc in strings.items() for n in range(len(of_doc))}
    run = retrieve(retriever, asked, k, name="the search for what was erased")
    wrong: dict[str, list[str]] = {}
    for name, text in asked.items():
        doc_id = owner[name]
        for stage, ranking in {"": run, **run.stages}.items():
            place = f" of stage {stage}" if stage else ""
            for rank, found in enumerate(ranking.get(name, ()), start=1):
                if found == doc_id:
                    wrong.setdefault(doc_id, []).append(f"{text!r} finds it at rank {rank}{place}")
                elif _holds((texts or {}).get(found, ""), text):
                    wrong.setdefault(doc_id, []).append(f"{found}, at rank {rank}{place}, holds {text!r}")
        for where, held in (elsewhere or {}).items():
            if any(_holds(one, text) for one in ([held] if isinstance(held, str) else held)):
                wrong.setdefault(doc_id, []).append(f"{where} holds {text!r}")
    if wrong:
        _fail(f"{counted(len(wrong), 'erased document', 'erased documents')} still there", _lines(wrong))


def assert_self_retrieval(sweep: SelfRetrieval, *, at_least: float = 1.0, unasked: float = 0.0) -> None:
    """Assert that every leg returns documents for their own strings, of each kind.

    A document that no string sets apart from others, such as a duplicate, was not asked for unless it has an
    identifier, so a sweep says nothing about it.

    Parameters
    ----------
    sweep
        Of `self_retrieval`.
    at_least
        Smallest share of documents that each leg has to return for each kind of string, in [0, 1].
    unasked
        Largest share of documents that nobody asked for, in [0, 1].

    Raises
    ------
    AssertionError
        A share is lower, or more documents were not asked for; the text names the leg and the documents.

    Examples
    --------
    >>> from pytest_retrieval import BM25, self_retrieval
    >>> catalog = {"p1": "oak table for six", "p2": "steel lamp with a clip"}
    >>> assert_self_retrieval(self_retrieval(BM25(catalog), catalog))
    """
    __tracebackhide__ = True
    shares = sweep.to_frame()
    lines = []
    for leg in sweep.ranks:
        for kind, share in shares[leg or "ranking"].items():
            if share < at_least:
                lost = [f"{probe.doc_id} ({probe.text!r})" for probe in sweep.lost(leg, str(kind))]
                lines.append(f"{leg or 'ranking'}, {kind}: {share:.3f}; lost: {listed(lost, 5)}")
    asked = {probe.doc_id for probe in sweep.probes.values()}
    without = [doc_id for doc_id in sweep.without if doc_id not in asked]
    if lines:
        _fail(f"documents are not found in the top {sweep.k} by their own strings", lines)
    share = len(without) / (len(asked) + len(without))
    if share > unasked:
        _fail(
            f"{len(without)} of {len(asked) + len(without)} documents have no string of their own"
            " (duplicates, or empty), so nobody asked for them",
            [
                listed(without, 5),
                "ask by `identifier` in self_retrieval, or allow them:"
                f" assert_self_retrieval(sweep, unasked={math.ceil(share * 1000) / 1000:g})",
            ],
        )


def assert_contexts(
    contexts: Run | Sequence[Answer] | Mapping[str, Sequence[str]],
    catalog: pd.DataFrame | Mapping[str, Any],
    **checks: Any,
) -> tuple[ContextFinding, ...]:
    """Assert that `check_contexts` finds nothing; arguments as there.

    Raises
    ------
    AssertionError
        With what it finds.
    """
    __tracebackhide__ = True
    findings = check_contexts(contexts, catalog, **checks)
    if findings:
        _fail(counted(len(findings), "finding in contexts", "findings in contexts"), list(map(str, findings)))
    return findings


def _may(allowed: Allowed, query_id: str) -> Collection[str]:
    if isinstance(allowed, Mapping) and query_id not in allowed:
        raise InputError(f"`allowed` does not say what may be read for query {query_id!r}")
    may = allowed[query_id] if isinstance(allowed, Mapping) else allowed
    if isinstance(may, str):  # a string holds every part of itself: "d12" would permit d1
        raise InputError(f"`allowed` is {may!r} for query {query_id!r}; a set or list of ids is needed")
    return may


def _called(search: Callable[..., Any], query: str, k: int, given: Mapping[str, object]) -> Any:
    found = search(query, k, **given)
    if inspect.isawaitable(found):
        import asyncio

        async def result(awaitable: Any = found) -> Any:
            return await awaitable

        found = asyncio.run(result())
    return found


def _holds(text: str, literal: str) -> bool:
    return " ".join(literal.split()).lower() in " ".join(text.split()).lower()


def _lines(wrong: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"{name}: {listed(told, 5)}" for name, told in wrong.items()]


def _fail(head: str, lines: Sequence[str]) -> None:
    __tracebackhide__ = True
    more = [f"  … and {len(lines) - WORST} more"] if len(lines) > WORST else []
    raise AssertionError("\n".join([f"{head}:", *(f"  {line}" for line in lines[:WORST]), *more]))
