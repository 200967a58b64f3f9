"""Traces in numbers: what each agent searched for, saw and picked, held against people's judgments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from pytest_retrieval.errors import InputError, QueryMismatchError, listed
from pytest_retrieval.measures.answer_table import quantiles_of
from pytest_retrieval.measures.rows import frame_of, mean_over_queries, series_of
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.records import Answer, Call, Recording, Trace

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TraceRow", "TraceTable", "score_traces", "trace_queries"]

_WORD = re.compile(r"\w+")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow:
    """What is known of one trace. Documents are counted once, however often they were returned or picked.

    Attributes
    ----------
    query_id, context, stratum
        Which trace it is.
    outcome
        ``"finished"``, ``"exhausted"`` or ``"failed"``.
    searches, steps, tool_errors
        Calls with a search text, calls of any tool, and calls that the tool answered with an error.
    first_search
        The first search text; empty without a search.
    keeps_query
        Whether the first search is the query, word for word.
    returns_context
        Whether the first search returned just the documents of the recorded context, in order; None where no
        answers were given to compare with.
    words_added, words_shown
        Words that later searches add to the query and the searches before them, and those among them that
        the tool had shown by then.
    returned, returned_exact
        Documents that any call returned, and the relevant ones.
    picks, picks_exact, picks_unjudged, picks_not_returned, picks_missing
        What it picked: how many, how many relevant, how many nobody judged, how many no call returned, and
        how many fewer than asked for.
    saw_and_picked_none
        Whether a relevant document was returned and none was picked.
    precision
        Relevant among the first k distinct picks / k; NaN where nothing is relevant to the query.
    first_search_precision
        The same of the first search's own top k: what the tool alone would have picked.
    latency
        Seconds that the task took; NaN where nobody measured.
    """

    query_id: str
    context: str
    stratum: str
    outcome: str
    searches: int
    steps: int
    tool_errors: int
    first_search: str
    keeps_query: bool
    returns_context: bool | None
    words_added: int
    words_shown: int
    returned: int
    returned_exact: int
    picks: int
    picks_exact: int
    picks_unjudged: int
    picks_not_returned: int
    picks_missing: int
    saw_and_picked_none: bool
    precision: float
    first_search_precision: float
    latency: float


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TraceTable:
    """One row per trace.

    Attributes
    ----------
    rows
        In the order of the traces.
    k
        How many picks were asked for.
    """

    rows: tuple[TraceRow, ...]
    k: int

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[TraceRow]:
        return iter(self.rows)

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with one row per trace and the attributes of `TraceRow` as columns."""
        return frame_of(self.rows, TraceRow)

    def select(self, *, context: str | None = None, stratum: str | None = None) -> TraceTable:
        """Return the traces under one context, of one stratum, or both."""
        rows = (r for r in self.rows if context in (None, r.context) and stratum in (None, r.stratum))
        return TraceTable(tuple(rows), self.k)

    def per_query(self, column: str = "precision") -> pd.Series[float]:
        """Return query_id → mean of a column over the traces of the query, for one context.

        Raises
        ------
        InputError
            There are several contexts: select one first; or no such column.
        """
        return series_of(self.rows, TraceRow, column)

    def by_context(self) -> dict[str, dict[str, float]]:
        """Return context → figure → value, in the order of first appearance; figures as in `summary`."""
        contexts = dict.fromkeys(row.context for row in self.rows)
        return {context: self.select(context=context).summary() for context in contexts}

    def by_stratum(self) -> dict[str, dict[str, float]]:
        """Return stratum → figure → value, sorted; figures as in `summary`."""
        strata = sorted({row.stratum for row in self.rows})
        return {stratum: self.select(stratum=stratum).summary() for stratum in strata}

    def summary(self) -> dict[str, float]:
        """Return counts over all traces, and the means of the two precisions over queries.

        ``latency_p50`` and ``latency_p95`` are quantiles over traces, in seconds; NaN where nobody measured.
        """
        rows = self.rows
        return {
            "traces": len(rows),
            **{outcome: sum(row.outcome == outcome for row in rows) for outcome in ("exhausted", "failed")},
            "searches": sum(row.searches for row in rows),
            "steps": sum(row.steps for row in rows),
            "tool_errors": sum(row.tool_errors for row in rows),
            "one_search": sum(row.searches == 1 for row in rows),
            "later_searches": sum(max(0, row.searches - 1) for row in rows),
            "keep_query": sum(row.keeps_query for row in rows),
            "return_context": sum(row.returns_context is True for row in rows),
            "words_added": sum(row.words_added for row in rows),
            "words_shown": sum(row.words_shown for row in rows),
            "returned_no_exact": sum(row.returned_exact == 0 for row in rows),
            "saw_and_picked_none": sum(row.saw_and_picked_none for row in rows),
            "picks": sum(row.picks for row in rows),
            "picks_exact": sum(row.picks_exact for row in rows),
            "picks_unjudged": sum(row.picks_unjudged for row in rows),
            "picks_not_returned": sum(row.picks_not_returned for row in rows),
            "fewer_picks": sum(row.picks_missing > 0 for row in rows),
            **quantiles_of("latency", [row.latency for row in rows], (50, 95)),
            "precision": mean_over_queries(rows, lambda row: row.precision),
            "first_search_precision": mean_over_queries(rows, lambda row: row.first_search_precision),
        }

    def same_first_search(self, a: str, b: str) -> tuple[str, ...]:
        """Return the queries whose first search is the same under two contexts."""
        first = {
            context: {row.query_id: row.first_search for row in self.rows if row.context == context}
            for context in (a, b)
        }
        return tuple(query_id for query_id, text in first[a].items() if first[b].get(query_id) == text)

    def __repr__(self) -> str:
        searches = sum(row.searches for row in self.rows)
        return f"<TraceTable: {len(self.rows)} traces, {searches} searches>"


def score_traces(
    traces: Recording | Trace | Iterable[Trace],
    qrels: Qrels,
    *,
    k: int = 3,
    queries: Mapping[str, str] | None = None,
    texts: Mapping[str, str] | None = None,
    answers: Iterable[Answer] | None = None,
    unknown_queries: str = "error",
) -> TraceTable:
    """Score the traces of agents that search and pick.

    Parameters
    ----------
    traces
        A recording of an agent, or traces.
    qrels
        Judgments of the tasks' queries. A document is exact where its grade reaches the relevance level.
    k
        How many picks were asked for.
    queries
        query_id → what the user asked; by default the request that the trace holds.
    texts
        Document → what the tool shows of it, for words that later searches take from results. By default the
        observations themselves are read.
    answers
        Recorded answers, to tell whether an agent's first search returns the context that an answer was given
        under the same name of context.
    unknown_queries
        ``"error"`` or ``"ignore"``: traces of queries that nobody judged.

    Returns
    -------
    TraceTable

    Raises
    ------
    QueryMismatchError
        A trace's query has no judgments.
    InputError
        A value is not allowed.

    Examples
    --------
    >>> search = Call(tool="search", arguments={"query": "blue sofa"}, returned_ids=["a", "b"])
    >>> trace = Trace(query_id="q1", request="blue sofa", calls=[search], picks=["b", "z"])
    >>> row = score_traces([trace], Qrels({"q1": {"b": 1}})).rows[0]
    >>> row.keeps_query, row.picks_not_returned, round(row.precision, 3)
    (True, 1, 0.333)
    """
    if isinstance(traces, Recording):
        traces = traces.traces
    chosen = (traces,) if isinstance(traces, Trace) else tuple(traces)
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError(f"k is {k!r}; allowed is a whole number of at least 1")
    if unknown_queries not in ("error", "ignore"):
        raise InputError(f"unknown_queries is {unknown_queries!r}; allowed are 'error' and 'ignore'")
    unknown = list(dict.fromkeys(trace.query_id for trace in chosen if trace.query_id not in qrels))
    if unknown and unknown_queries == "error":
        raise QueryMismatchError(
            f"{len(unknown)} traced queries have no judgments: {listed(unknown)}; mend the ids, or pass"
            " unknown_queries='ignore'"
        )
    contexts = None
    if answers is not None:
        contexts = {(answer.query_id, answer.context): answer.context_ids for answer in answers}
    known = [trace for trace in chosen if trace.query_id in qrels]
    return TraceTable(tuple(_row(trace, qrels, k, queries, texts, contexts) for trace in known), k)


def trace_queries(
    traces: Recording | Trace | Iterable[Trace], qrels: Qrels, *, slice_name: str = "agent_search"
) -> tuple[dict[str, str], Qrels]:
    """Return an agent's own searches as queries, judged by the judgments of the request behind them.

    A retriever that was tuned on people's queries has not been tested on an agent's. Each distinct search of
    a task becomes one query with the id ``<query_id>/<number>``; its stratum and split are those of the
    request.

    Parameters
    ----------
    traces
        A recording of an agent, or traces.
    qrels
        Judgments of the requests; traces of other queries are left out.
    slice_name
        Slice that every such query is tagged with.

    Returns
    -------
    queries : dict
        query_id → search text.
    qrels : Qrels
        Their judgments, with strata, splits and the slice.

    Examples
    --------
    >>> search = Call(tool="search", arguments={"query": "sofa blue"})
    >>> queries, judged = trace_queries(Trace(query_id="q1", calls=[search]), Qrels({"q1": {"a": 1}}))
    >>> queries, judged["q1/1"]
    ({'q1/1': 'sofa blue'}, {'a': 1})
    """
    if isinstance(traces, Recording):
        traces = traces.traces
    chosen = (traces,) if isinstance(traces, Trace) else tuple(traces)
    searched: dict[str, dict[str, None]] = {}
    for trace in chosen:
        if trace.query_id in qrels:
            texts = searched.setdefault(trace.query_id, {})
            texts |= dict.fromkeys(str(call.arguments["query"]) for call in trace.searches)
    parents = {
        f"{query_id}/{number}": (query_id, text)
        for query_id, texts in searched.items()
        for number, text in enumerate(texts, start=1)
    }
    groups = None
    if qrels.groups is not None:
        groups = {name: qrels.groups_of(parent) for name, (parent, _) in parents.items()}
    judged = Qrels(
        {name: qrels[parent] for name, (parent, _) in parents.items()},
        qrels.relevance_level,
        groups=groups,
        strata=_of_parents(qrels.strata, parents),
        splits=_of_parents(qrels.splits, parents),
        slices=dict.fromkeys(parents, (slice_name,)),
        unanswerable=[name for name, (parent, _) in parents.items() if parent in qrels.unanswerable],
    )
    return {name: text for name, (_, text) in parents.items()}, judged


def _of_parents(
    names: Mapping[str, str] | None, parents: Mapping[str, tuple[str, str]]
) -> dict[str, str] | None:
    return None if names is None else {name: names[parent] for name, (parent, _) in parents.items()}


def _row(
    trace: Trace,
    qrels: Qrels,
    k: int,
    queries: Mapping[str, str] | None,
    texts: Mapping[str, str] | None,
    contexts: Mapping[tuple[str, str], tuple[str, ...]] | None,
) -> TraceRow:
    grades, level = qrels[trace.query_id], qrels.relevance_level
    relevant = {doc_id for doc_id, grade in grades.items() if grade >= level}
    asked = trace.request if queries is None else queries.get(trace.query_id, trace.request)
    picks, returned = tuple(dict.fromkeys(trace.picks)), set(trace.returned_ids)
    first = trace.searches[0] if trace.searches else None
    first_text = "" if first is None else str(first.arguments["query"])
    recorded = None if contexts is None else contexts.get((trace.query_id, trace.context))
    added, shown = _added_words(trace, asked, texts)
    top = () if first is None else tuple(dict.fromkeys(first.returned_ids))
    return TraceRow(
        query_id=trace.query_id,
        context=trace.context,
        stratum=(qrels.strata or {}).get(trace.query_id, ""),
        outcome=trace.outcome,
        searches=len(trace.searches),
        steps=len(trace.calls),
        tool_errors=sum(call.failed for call in trace.calls),
        first_search=first_text,
        keeps_query=bool(first_text) and first_text == asked,
        returns_context=None if recorded is None else first is not None and first.returned_ids == recorded,
        words_added=added,
        words_shown=shown,
        returned=len(returned),
        returned_exact=len(returned & relevant),
        picks=len(picks),
        picks_exact=len(relevant.intersection(picks)),
        picks_unjudged=sum(pick not in grades for pick in picks),
        picks_not_returned=sum(pick not in returned for pick in picks),
        picks_missing=max(0, k - len(picks)),
        saw_and_picked_none=bool(returned & relevant) and not relevant.intersection(picks),
        precision=len(relevant.intersection(picks[:k])) / k if relevant else float("nan"),
        first_search_precision=len(relevant.intersection(top[:k])) / k if relevant else float("nan"),
        latency=float("nan") if trace.latency is None else trace.latency,
    )


def _added_words(trace: Trace, asked: str, texts: Mapping[str, str] | None) -> tuple[int, int]:
    """Return how many words later searches add, and how many of them the tool had shown by then."""
    known, seen = words_of(asked), set[str]()
    added = shown = 0
    for number, call in enumerate(trace.searches):
        words = words_of(str(call.arguments["query"]))
        if number:
            added += len(words - known)
            shown += len((words - known) & seen)
        known |= words
        seen |= _shown_by(call, texts)
    return added, shown


def _shown_by(call: Call, texts: Mapping[str, str] | None) -> set[str]:
    if texts is not None:
        return {word for doc_id in call.returned_ids for word in words_of(texts.get(doc_id, ""))}
    return words_of(str(call.observation or ""))


def words_of(text: str) -> set[str]:
    """Return the distinct words of a text, in lower case."""
    return set(_WORD.findall(text.lower()))
