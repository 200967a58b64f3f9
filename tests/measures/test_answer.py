"""Measures of an answer and the table of answers, by hand and by the cases of other projects."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from scipy import stats

from pytest_retrieval import (
    Answer,
    InputError,
    MeasureError,
    Qrels,
    QueryMismatchError,
    Run,
    evaluate,
    score_answers,
)
from pytest_retrieval.measures.answer import ANSWER_KINDS
from pytest_retrieval.measures.notation import parse
from pytest_retrieval.model.run import Reply

QRELS = Qrels(
    {
        "q1": {"a": 2, "b": 1, "n": 0},
        "q2": {"c": 2, "d": 2},
        "q3": {"e": 1},
        "q4": {},
    },
    relevance_level=2,
    strata={"q1": "one", "q2": "one", "q3": "none", "q4": "none"},
)
ANSWERS = [
    Answer("q1", "bm25", ["a", "b", "u"], ["a", "b", "u", "a"]),  # 1 of 3 exact, a twice
    Answer("q2", "bm25", ["c", "d"], []),  # declines with something exact in front of it
    Answer("q3", "bm25", ["e", "u"], []),  # rightly declines
    Answer("q4", "bm25", ["u"], ["z"]),  # cites what was not shown
    Answer("q1", "random", ["u", "v"], []),
    Answer("q2", "random", ["v"], ["c"]),  # exact, and never shown
]


def replies(context):
    chosen = [answer for answer in ANSWERS if answer.context == context]
    return Run(
        {answer.query_id: list(dict.fromkeys(answer.context_ids)) for answer in chosen},
        replies={answer.query_id: (Reply(answer.context_ids, answer.cited_ids),) for answer in chosen},
    )


def scores(run, *measures):
    frame = evaluate(QRELS, run, measures).to_frame().drop(columns="stratum")
    return {name: [None if math.isnan(value) else value for value in frame[name]] for name in frame}


def test_every_measure_by_hand():
    found = scores(replies("bm25"), "exact_share", "grounded", "declined", "declined_wrongly", "precision@5")
    assert found["exact_share"] == [pytest.approx(1 / 3), 0, None, None]
    assert found["grounded"] == [1, None, None, 0]
    assert found["declined"] == [None, None, 1, 0]
    assert found["declined_wrongly"] == [0, 1, None, None]
    assert found["precision@5"] == [pytest.approx(1 / 5), pytest.approx(2 / 5), None, None]


def test_the_exact_share_goes_by_grade_alone():
    assert scores(replies("random"), "exact_share")["exact_share"][1] == 1
    assert scores(replies("random"), "grounded")["grounded"][1] == 0


def test_a_query_without_an_answer_gets_the_worst():
    found = scores(replies("random"), "exact_share", "declined", "declined_wrongly")
    assert found["declined"] == [None, None, 0, 0]
    only = replies("random").select(["q2"])
    assert scores(only, "exact_share", "declined_wrongly") == {
        "exact_share": [0, 1, None, None],
        "declined_wrongly": [1, 0, None, None],
    }


def test_several_replies_are_averaged_within_the_query_first():
    several = Run(
        {"q1": ["a", "b"], "q2": ["c"]},
        replies={
            "q1": (Reply(("a", "b"), ("a",)), Reply(("a", "b"), ("b",)), Reply(("b", "u"), ())),
            "q2": (Reply(("c",), ("c",)),),
        },
    )
    found = scores(several, "exact_share", "grounded", "declined_wrongly", "recall@5")
    assert found["exact_share"][:2] == [pytest.approx(1 / 3), 1]
    assert found["grounded"][:2] == [1, 1]
    assert found["declined_wrongly"][:2] == [0, 0]
    assert found["recall@5"][:2] == [pytest.approx(2 / 3), 0.5]


def test_numbers_and_labels_are_read_as_they_are():
    run = Run(
        {"q1": ["a"], "q2": ["c"]},
        replies={
            "q1": (Reply(("a",), ("a",), {"searches": 2, "label:kind": 1}, picks=True),),
            "q2": (Reply(("c",), ("c",), {"searches": 1}, picks=True),),
        },
    )
    found = scores(run, "searches", "label:kind", "precision@3")
    assert found["searches"] == [2, 1, None, None]
    assert found["label:kind"] == [1, None, None, None]
    assert found["precision@3"][:2] == [pytest.approx(1 / 3)] * 2
    with pytest.raises(MeasureError, match="its numbers are label:kind, searches"):
        evaluate(QRELS, run, ["label:other"])


@pytest.mark.parametrize("name", ["searches", "canary", "label:x"])
def test_a_number_of_no_reply_is_undefined(name):
    """Where not one of the questions was answered there is no number to read, and none to miss."""
    run = Run({"q9": ["a"]}, replies={"q9": (Reply(("a",), ("a",), {"searches": 2}),)})
    table = evaluate(QRELS, run, [name], unknown_queries="ignore")
    assert all(math.isnan(value) for value in table.values[:, 0])


@pytest.mark.parametrize("name", [*ANSWER_KINDS, "label:x"])
def test_a_plain_run_has_no_answers(name):
    with pytest.raises(MeasureError, match="this is a plain run"):
        evaluate(QRELS, Run({"q1": ["a"]}), [name])


def test_directions_and_names():
    assert [name for name in ANSWER_KINDS if parse(name).higher_is_better] == [
        "exact_share",
        "grounded",
        "declined",
    ]
    assert parse("label:toxic(better=low)").higher_is_better is False
    assert parse("label:toxic(better=low)").name == "label:toxic(better=low)"
    assert parse("label:kind").higher_is_better
    for wrong in ("label:", "label:two words", "label:x(better=up)", "exact_share@5"):
        with pytest.raises(MeasureError):
            parse(wrong)


@pytest.mark.parametrize(
    "gold, cited, share",
    [(["a"], [], 0.0), (["a", "b"], ["a", "x", "b", "y"], 0.5)],
    ids=["cite-01", "cite-02"],
)
def test_cases_of_other_projects(gold, cited, share):
    table = score_answers([Answer("q", context_ids=["a", "b"], cited_ids=cited)], Qrels({"q": gold}))
    assert table.rows[0].exact_share == share
    assert table.mean()["exact_share"] == share


def test_the_table_by_hand():
    table = score_answers(ANSWERS, QRELS, allowed=2)
    first, second, third, fourth, _, last = table.rows
    assert (first.shown, first.exact_in_context, first.unjudged_in_context) == (3, 1, 1)
    assert (first.cited, first.exact_cited, first.partial_cited, first.unjudged_cited) == (3, 1, 1, 1)
    assert (first.cited_twice, first.over_allowed) == (1, 1)
    assert second.recommends_nothing
    assert third.exact_share != third.exact_share
    assert (fourth.outside_context, fourth.grounded) == (1, 0)
    assert table.crossed() == {(True, True): 1, (True, False): 1, (False, True): 2, (False, False): 2}
    assert table.above_ceiling() == (last,)
    assert table.mean()["exact_share"] == pytest.approx((1 / 3 + 0 + 0 + 1) / 4)
    assert table.select(context="bm25").mean()["declined"] == 0.5
    figures = table.by_context()["bm25"]
    assert (figures["answers"], figures["recommend_nothing"], figures["recommend_nothing_with_exact"]) == (
        4,
        2,
        1,
    )
    assert (figures["cited_without_exact"], figures["answers_citing_outside"]) == (1, 1)
    assert list(table.by_stratum()) == ["none", "one"]


def test_the_table_agrees_with_the_measures():
    for context in ("bm25", "random"):
        series = score_answers(ANSWERS, QRELS).select(context=context).per_query()
        measured = evaluate(QRELS, replies(context), ["exact_share"])["exact_share"]
        assert series.dropna().to_dict() == measured[series.index].dropna().to_dict()


def test_answers_as_a_frame_and_as_mappings():
    rows = [
        {"query_id": a.query_id, "context": a.context, "context_ids": a.context_ids, "cited_ids": a.cited_ids}
        for a in ANSWERS
    ]
    expected = score_answers(ANSWERS, QRELS).to_frame()
    pd.testing.assert_frame_equal(score_answers(rows, QRELS).to_frame(), expected)
    frame = pd.DataFrame(rows)
    pd.testing.assert_frame_equal(score_answers(frame, QRELS).to_frame(), expected)
    pd.testing.assert_frame_equal(score_answers(frame.set_index("query_id"), QRELS).to_frame(), expected)


def test_ids_in_the_text_are_held_against_the_field():
    answers = [
        Answer("q1", context_ids=["F1", "F2"], cited_ids=["F1"], text="Take F1 or F2."),
        Answer("q1", context_ids=["F1", "F2"], cited_ids=["F1"], text="No id here."),
        Answer("q1", context_ids=["1", "2"], cited_ids=["1"], text="2 legs"),
        Answer("q1", context_ids=["1", "2"], cited_ids=["1"], text="Take (ID: 2)."),
    ]
    assert [row.differs_from_text for row in score_answers(answers, QRELS).rows] == [1, 0, 0, 0]
    by_pattern = score_answers(answers, QRELS, pattern=r"ID: (\d+)").rows
    assert [row.differs_from_text for row in by_pattern] == [1, 1, 1, 2]


def test_what_is_described_per_stratum():
    """Quantiles by hand, interpolated linearly; an answer without a measurement stays out of them."""
    answers = [
        Answer("q1", context_ids=["a"], cited_ids=["a"], latency=1, scores=[7.0, 9.0]),
        Answer("q1", context_ids=["a"], cited_ids=["a"], latency=2, scores=[5.0]),
        Answer("q2", context_ids=["c"], latency=4, scores=[1.0]),
        Answer("q2", context_ids=["c"]),
        Answer("q3", context_ids=["e"]),
    ]
    table = score_answers(answers, QRELS)
    assert [row.top_score for row in table.rows[:3]] == [9, 5, 1]
    assert table.to_frame()["latency"].isna().tolist() == [False, False, False, True, True]
    one, none = table.by_stratum()["one"], table.by_stratum()["none"]
    assert one["nothing_share"] == 0.5
    assert (one["latency_p50"], one["latency_p95"]) == (2, pytest.approx(3.8))
    assert [one[f"top_score_p{percent}"] for percent in (10, 50, 90)] == [
        pytest.approx(1.8),
        5,
        pytest.approx(8.2),
    ]
    assert none["nothing_share"] == 1
    assert math.isnan(none["latency_p50"])
    assert math.isnan(none["top_score_p90"])
    assert table.select(stratum="one").per_query("latency").to_dict() == {"q1": 1.5, "q2": 4.0}
    assert math.isnan(score_answers([], QRELS).summary()["nothing_share"])


def test_an_answer_table_tells_what_it_holds():
    table = score_answers(ANSWERS, QRELS)
    assert repr(table) == "<AnswerTable: 6 answers under bm25, random; exact_share 0.333>"
    assert repr(table.select(stratum="none")) == "<AnswerTable: 2 answers under bm25; exact_share n/a>"
    assert [row.query_id for row in table] == [answer.query_id for answer in ANSWERS]


def test_spearman_of_a_context_measure_with_the_exact_share():
    from pytest_retrieval import spearman_with_share

    answers = [Answer(f"q{n}", "bm25", ["a"] * 1, ["a"] if n % 2 else []) for n in range(1, 9)]
    qrels = Qrels({f"q{n}": {"a": 1} if n % 3 else {"z": 1} for n in range(1, 9)})
    assert math.isnan(spearman_with_share(answers[:1], qrels, "precision@1"))
    assert math.isnan(spearman_with_share(answers[:2], qrels, "precision@1"))
    found = spearman_with_share(answers, qrels, "precision@1")
    contexts = [1.0 if n % 3 else 0.0 for n in range(1, 9)]
    shares = [1.0 if n % 2 and n % 3 else 0.0 for n in range(1, 9)]
    assert found == pytest.approx(stats.spearmanr(contexts, shares).statistic)


def test_spearman_over_several_answers_to_a_query():
    from pytest_retrieval import spearman_with_share

    qrels = Qrels({"q1": {"a": 1, "b": 1}, "q2": {"c": 1}, "q3": {}})
    answers = [
        Answer("q2", "bm25", ["x", "c"], ["c"]),
        Answer("q1", "bm25", ["a", "b"], ["a", "z"]),
        Answer("q1", "random", [], []),
        Answer("q3", "bm25", ["a"], ["a"]),
        Answer("q1", "bm25", ["a", "x"], ["x"]),
    ]
    # recall@2 by hand, q3 left out: 1, 1, 0, 1/2; exact shares: 1, 1/2, 0, 0.
    expected = stats.spearmanr([1, 1, 0, 0.5], [1, 0.5, 0, 0]).statistic
    assert spearman_with_share(answers, qrels, "recall@2") == pytest.approx(expected)
    assert math.isnan(spearman_with_share([], qrels, "recall@2"))


def test_what_is_refused():
    with pytest.raises(QueryMismatchError, match="q9"):
        score_answers([Answer("q9")], QRELS)
    assert len(score_answers([Answer("q9")], QRELS, unknown_queries="ignore")) == 0
    with pytest.raises(InputError, match="unknown_queries is"):
        score_answers([], QRELS, unknown_queries="drop")
    with pytest.raises(InputError, match="judgments are Qrels"):
        score_answers(ANSWERS, {"q1": {"a": 1}})
    with pytest.raises(InputError, match="select one"):
        score_answers(ANSWERS, QRELS).per_query()
    with pytest.raises(InputError, match="no column 'beauty'"):
        score_answers(ANSWERS[:1], QRELS).per_query("beauty")
    with pytest.raises(KeyError):
        score_answers(ANSWERS, QRELS)["beauty"]
    assert score_answers(ANSWERS, QRELS)["cited"].sum() == 5
