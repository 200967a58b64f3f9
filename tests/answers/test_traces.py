"""Traces in numbers, an agent's searches as queries, and tools that answer from a recording."""

from __future__ import annotations

import pandas as pd
import pytest

from pytest_retrieval import (
    Answer,
    Call,
    InputError,
    Qrels,
    QueryMismatchError,
    Recording,
    ReplayError,
    Trace,
    replay,
    score_traces,
    trace_queries,
)

QRELS = Qrels(
    {"q1": {"a": 2, "b": 1, "c": 2}, "q2": {"d": 2}, "q3": {"e": 0}},
    relevance_level=2,
    strata={"q1": "one", "q2": "two", "q3": "none"},
    splits={"q1": "train", "q2": "test", "q3": "test"},
    unanswerable=["q3"],
)


def search(query, *returned, observation=None):
    return Call(tool="search", arguments={"query": query}, returned_ids=returned, observation=observation)


TRACES = [
    Trace(
        query_id="q1", context="bm25", request="blue sofa",
        calls=[
            search("blue sofa", "b", "x", "a", observation="a teal corner sofa"),
            search("teal sofa bed", "c"),
        ],
        picks=["a", "x", "a", "z"],
    ),
    Trace(
        query_id="q2", context="bm25", request="tye desk", calls=[search("tie desk", "d", "y")], picks=["y"]
    ),
    Trace(query_id="q3", context="bm25", request="moon", calls=[], outcome="exhausted"),
    Trace(
        query_id="q1", context="headings", request="blue sofa", calls=[search("blue sofa", "a")], picks=["a"]
    ),
]  # fmt: skip


def test_the_rows_by_hand():
    first, second, third, _ = score_traces(TRACES, QRELS, k=3).rows
    assert (first.searches, first.keeps_query, first.returned, first.returned_exact) == (2, True, 4, 2)
    assert (first.words_added, first.words_shown) == (2, 1)  # teal was shown, bed was not
    assert (first.picks, first.picks_exact, first.picks_unjudged, first.picks_not_returned) == (3, 1, 2, 1)
    assert first.precision == pytest.approx(1 / 3)
    assert first.first_search_precision == pytest.approx(1 / 3)
    assert (second.keeps_query, second.saw_and_picked_none, second.picks_missing) == (False, True, 2)
    assert (third.outcome, third.searches, third.picks_missing) == ("exhausted", 0, 3)
    assert third.precision != third.precision


def test_summaries_and_classes():
    table = score_traces(TRACES, QRELS)
    bm25 = table.by_context()["bm25"]
    assert (bm25["traces"], bm25["searches"], bm25["one_search"], bm25["later_searches"]) == (3, 3, 1, 1)
    assert (bm25["exhausted"], bm25["returned_no_exact"], bm25["saw_and_picked_none"]) == (1, 1, 1)
    assert bm25["precision"] == pytest.approx((1 / 3 + 0) / 2)
    assert list(table.by_stratum()) == ["none", "one", "two"]
    assert table.same_first_search("bm25", "headings") == ("q1",)
    assert table.select(context="bm25").per_query().to_dict()["q2"] == 0
    assert list(table.to_frame()["context"]) == ["bm25", "bm25", "bm25", "headings"]


def test_words_that_the_tool_showed_by_the_text_of_documents():
    (row,) = score_traces(TRACES[:1], QRELS, texts={"x": "a bed", "b": "", "a": ""}).rows
    assert (row.words_added, row.words_shown) == (2, 1)


def test_first_searches_that_return_the_recorded_context():
    answers = [Answer("q1", "bm25", ["b", "x", "a"]), Answer("q2", "bm25", ["y", "d"])]
    rows = score_traces(TRACES, QRELS, answers=answers).rows
    assert [row.returns_context for row in rows] == [True, False, None, None]


def test_queries_are_the_reference_where_given():
    (row,) = score_traces(TRACES[1:2], QRELS, queries={"q2": "tie desk"}).rows
    assert row.keeps_query


@pytest.mark.parametrize("options, error", [({"k": 0}, InputError), ({"unknown_queries": "x"}, InputError)])
def test_what_is_refused(options, error):
    with pytest.raises(error):
        score_traces(TRACES, QRELS, **options)


def test_unknown_queries():
    stranger = Trace(query_id="q9")
    with pytest.raises(QueryMismatchError, match="q9"):
        score_traces([stranger], QRELS)
    assert len(score_traces([stranger], QRELS, unknown_queries="ignore")) == 0
    with pytest.raises(InputError, match="select one"):
        score_traces(TRACES, QRELS).per_query()
    with pytest.raises(InputError, match="no column"):
        score_traces(TRACES[:1], QRELS).per_query("beauty")


def test_searches_as_queries():
    queries, judged = trace_queries([*TRACES, Trace(query_id="q9", calls=[search("x")])], QRELS)
    assert queries == {"q1/1": "blue sofa", "q1/2": "teal sofa bed", "q2/1": "tie desk"}
    assert judged["q1/2"] == {"a": 2, "b": 1, "c": 2}
    assert judged.relevance_level == 2
    assert judged.strata["q2/1"] == "two"
    assert judged.splits["q2/1"] == "test"
    assert judged.slices["q1/1"] == ("agent_search",)


def test_replay_answers_in_the_recorded_order_and_then_repeats():
    calls = [
        Call(tool="lookup", arguments={"id": 7, "full": True}, observation={"status": "PACKED"}),
        Call(tool="lookup", arguments={"full": True, "id": 7}, observation={"status": "SENT"}),
        Call(tool="search", arguments={"query": "sofa"}, returned_ids=["a"]),
        Call(tool="refund", arguments={}, error="not delivered"),
    ]
    tools = replay(Recording(name="r", kind="agent", traces=(Trace(query_id="q", calls=calls),)))
    assert list(tools) == ["lookup", "refund", "search"]
    assert [tools["lookup"](id=7, full=True)["status"] for _ in range(3)] == ["PACKED", "SENT", "SENT"]
    assert tools["search"](query="sofa") == ["a"]
    with pytest.raises(ReplayError, match="not delivered"):
        tools["refund"]()
    with pytest.raises(ReplayError, match=r'nearest recorded call is lookup\(\{"full": true, "id": 7\}\)'):
        tools["lookup"](id=8, full=True)


def test_replay_needs_one_context():
    with pytest.raises(InputError, match="name one: bm25, headings"):
        replay(TRACES)
    assert replay(TRACES, context="headings")["search"](query="blue sofa") == ["a"]
    with pytest.raises(InputError, match="no trace to replay"):
        replay(TRACES, context="dense")
    with pytest.raises(InputError, match="no trace to replay"):
        replay([])


def test_latency_by_hand():
    """Quantiles over the traces that were timed, interpolated linearly."""
    timed = [Trace(query_id="q1", latency=seconds) for seconds in (1, 2, 4)]
    table = score_traces([*timed, Trace(query_id="q2")], QRELS)
    figures = table.summary()
    assert (figures["latency_p50"], figures["latency_p95"]) == (2, pytest.approx(3.8))
    assert table.per_query("latency")["q1"] == pytest.approx(7 / 3)
    silent = table.select(stratum="two").summary()
    assert silent["latency_p50"] != silent["latency_p50"]


def test_a_recording_and_a_single_trace_are_scored_too():
    recording = Recording(name="r", kind="agent", traces=tuple(TRACES))
    frames = [score_traces(of, QRELS).to_frame() for of in (recording, TRACES)]
    pd.testing.assert_frame_equal(*frames)
    assert len(score_traces(TRACES[0], QRELS)) == 1
    assert trace_queries(recording, QRELS)[0] == trace_queries(TRACES, QRELS)[0]


def test_searches_share_the_groups_of_their_request():
    qrels = Qrels({"q1": {"a": 1, "b": 1}}, groups={"q1": {"a": "g", "b": "g"}})
    _, judged = trace_queries(TRACES[0], qrels)
    assert judged.groups_of("q1/1") == qrels.groups_of("q1")
