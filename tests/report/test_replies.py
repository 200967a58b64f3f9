"""What the summary describes of answers and traces, per class of queries."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from pytest_retrieval import Answer, Recording, Trace
from pytest_retrieval.files.goldset import goldset_from_frames
from pytest_retrieval.report.replies import reply_rows
from pytest_retrieval.report.scorecard import ReplyRow
from pytest_retrieval.report.tables import reply_table

ANSWERS = [
    Answer("q1", "bm25", ["a"], ["a"], latency=1.0, scores=[3.0, 9.0]),
    Answer("q1", "bm25", ["a"], [], latency=3.0, scores=[5.0]),
    Answer("q2", "bm25", ["b"], ["b"]),
    Answer("q3", "bm25", ["c"], []),
    Answer("q1", "random", ["c"], []),
    Answer("q4", "bm25", ["c"], []),
]


@pytest.fixture(scope="module")
def goldset():
    queries = [("q1", "one", "train"), ("q2", "two", "train"), ("q3", "two", "train"), ("q4", "two", "test")]
    frame = pd.DataFrame(queries, columns=["query_id", "stratum", "split"])
    frame["query"] = frame["query_id"]
    judged = pd.DataFrame({"query_id": frame["query_id"], "doc_id": "a", "grade": 1})
    return goldset_from_frames("store", frame, judged)


@pytest.fixture(scope="module")
def rows(goldset):
    recording = Recording(name="rag", kind="answers", answers=tuple(ANSWERS))
    return {row.stratum: row for row in reply_rows(goldset, "rag.bm25", recording, "bm25")}


def test_the_rows_by_hand(rows):
    """The test split is not looked at, and neither is another context."""
    assert set(rows) == {"one", "two", "all"}
    one, two, everything = rows["one"], rows["two"], rows["all"]
    assert (one.replies, one.nothing) == (2, 0.5)
    assert one.latency == pytest.approx((2.0, 2.9))
    assert one.top_score == pytest.approx((5.4, 7.0, 8.6))
    assert (two.replies, two.nothing, two.latency, two.top_score) == (2, 0.5, None, None)
    assert (everything.replies, everything.nothing) == (4, 0.5)
    assert everything.latency == one.latency


def test_rows_travel_as_json(rows):
    for row in rows.values():
        assert ReplyRow.from_plain(json.loads(json.dumps(row.plain()))) == row


def test_traces_are_described_by_what_they_pick(goldset):
    traces = (Trace(query_id="q2", picks=["a"], latency=4.0), Trace(query_id="q3"))
    rows = reply_rows(goldset, "agent", Recording(name="agent", kind="agent", traces=traces), "")
    assert {(row.stratum, row.replies, row.nothing) for row in rows} == {("two", 2, 0.5), ("all", 2, 0.5)}
    assert rows[0].latency == (4.0, 4.0)
    assert rows[0].top_score is None


def test_the_table(rows):
    assert reply_table(list(rows.values()))[1:] == [
        "store · rag.bm25 · described",
        "stratum    replies    cite nothing    latency in s: p50, p95    top score: p10, p50, p90",
        "---------  ---------  --------------  ------------------------  --------------------------",
        "one        2          0.500           2  2.9                    5.4  7  8.6",
        "two        2          0.500",
        "all        4          0.500           2  2.9                    5.4  7  8.6",
    ]


def test_columns_that_nobody_measured_are_left_out(rows):
    lines = reply_table([rows["two"]])
    assert lines[2].split("  ")[-1].strip() == "cite nothing"
    assert reply_table([]) == []


def test_replies_that_could_not_be_used_are_counted_where_there_are_any(goldset):
    """They cite nothing, as one that declines does: the share alone would not tell them apart."""
    answers = (Answer("q2", "bm25", ["a"], [], error="the reply is no JSON"), Answer("q3", "bm25", ["a"], []))
    recording = Recording(name="rag", kind="answers", answers=answers)
    assert reply_table(list(reply_rows(goldset, "rag.bm25", recording, "bm25")))[1:] == [
        "store · rag.bm25 · described",
        "stratum    replies    unusable    cite nothing",
        "---------  ---------  ----------  --------------",
        "two        2          1           1.000",
        "all        2          1           1.000",
    ]
    traces = (Trace(query_id="q2", outcome="failed"), Trace(query_id="q3", outcome="exhausted"))
    rows = reply_rows(goldset, "agent", Recording(name="agent", kind="agent", traces=traces), "")
    assert {row.unusable for row in rows} == {1}
