"""Helpers for answers: which means pass, and what a failure says."""

from __future__ import annotations

import pytest

from pytest_retrieval import (
    Answer,
    InputError,
    Qrels,
    QueryMismatchError,
    Recording,
    assert_declines,
    assert_exact_share,
    assert_grounded,
)

QRELS = Qrels(
    {"q1": {"a": 1}, "q2": {"b": 1, "n": 0}, "q3": {"c": 0}, "q4": {}},
    strata={"q1": "one", "q2": "two", "q3": "none", "q4": "none"},
    splits={"q1": "train", "q2": "test", "q3": "test", "q4": "test"},
    unanswerable=["q3", "q4"],
)


def answer(query_id, cited, shown="abcn", context=""):
    return Answer(query_id, context, list(shown), list(cited))


ANSWERS = [answer("q1", "a"), answer("q2", "bn"), answer("q3", ""), answer("q4", "c")]


def failure(call, *arguments, **options):
    with pytest.raises(AssertionError) as error:
        call(*arguments, **options)
    return str(error.value)


def test_an_exact_share_that_is_reached_and_one_that_is_not():
    table = assert_exact_share(ANSWERS, QRELS, at_least=0.75)
    assert table.mean()["exact_share"] == 0.75
    assert failure(assert_exact_share, ANSWERS, QRELS, at_least=0.76) == (
        "exact share is 0.750 over 2 queries; at least 0.76 is asked for; lowest: q2 0.500, q1 1.000"
    )


@pytest.mark.parametrize(
    "by, told",
    [
        ("stratum", ["exact share of two is 0.500 over 1 query", "none is undefined: none of 2 queries has"]),
        ("split", ["exact share of test is 0.500 over 1 query; at least 0.6"]),
        ({"q1": "mine", "q2": "mine"}, ["exact share of (none) is undefined"]),
        ("context", []),
    ],
)
def test_every_class_must_reach_the_limit(by, told):
    if not told:
        assert_exact_share(ANSWERS, QRELS, at_least=0.6, by=by)
        return
    message = failure(assert_exact_share, ANSWERS, QRELS, at_least=0.6, by=by)
    assert len(message.splitlines()) == len(told)
    assert all(part in message for part in told)


def test_contexts_are_classes_and_replies_are_averaged_first():
    several = [
        answer("q1", "a", context="bm25"),
        answer("q1", "n", context="bm25"),
        answer("q1", "", context="random"),
        answer("q2", "b", context="bm25"),
    ]
    assert_exact_share(several, QRELS, at_least=0.5)
    assert failure(assert_exact_share, several, QRELS, at_least=0.8, by="context") == (
        "exact share of bm25 is 0.750 over 2 queries; at least 0.8 is asked for; lowest: q1 0.500, q2 1.000\n"
        "exact share of random is 0.000 over 1 query; at least 0.8 is asked for; lowest: q1 0.000"
    )


def test_no_more_than_five_are_named():
    qrels = Qrels({f"q{n}": {"a": 1} for n in range(9)})
    message = failure(assert_exact_share, [answer(f"q{n}", "n") for n in range(9)], qrels, at_least=1)
    assert message.endswith("lowest: q0 0.000, q1 0.000, q2 0.000, q3 0.000, q4 0.000")


def test_only_unanswerable_queries_are_to_be_declined():
    assert_declines(ANSWERS, QRELS, at_least=0.5)
    assert failure(assert_declines, ANSWERS, QRELS) == (
        "declined is 0.500 over 2 queries; at least 1 is asked for; lowest: q4 0.000, q3 1.000"
    )
    assert failure(assert_declines, ANSWERS[:2], QRELS) == (
        "declined is undefined: no answer is to a query that it is defined for"
    )


def test_declining_wrongly_is_counted_where_the_context_held_something():
    answers = [answer("q1", ""), answer("q2", "", shown="n"), answer("q3", "")]
    assert_declines(answers, QRELS, wrongly_at_most=0.5)
    assert failure(assert_declines, answers, QRELS, wrongly_at_most=0.25) == (
        "declined wrongly is 0.500 over 2 queries; at most 0.25 is allowed; highest: q1 1.000, q2 0.000"
    )


def test_a_share_above_its_limit_stands_above_it_in_print():
    qrels = Qrels({**{f"q{n}": {"a": 1} for n in range(3)}, "none": {"a": 0}}, unanswerable=["none"])
    answers = [answer("q0", ""), answer("q1", "a"), answer("q2", "a"), answer("none", "")]
    message = failure(assert_declines, answers, qrels, wrongly_at_most=0.3333)
    assert message.startswith("declined wrongly is 0.33333 over 3 queries; at most 0.3333 is allowed")


@pytest.mark.parametrize("wrong", range(11))
def test_a_share_that_is_just_allowed_passes(wrong):
    """1 − 0.7 is not 0.3 in binary: the share itself is compared with what was written."""
    qrels = Qrels({**{f"q{n}": {"a": 1} for n in range(10)}, "none": {"a": 0}}, unanswerable=["none"])
    answers = [answer(f"q{n}", "" if n < wrong else "a") for n in range(10)]
    assert_declines([*answers, answer("none", "")], qrels, wrongly_at_most=wrong / 10)


def test_grounded_answers_return_what_was_found():
    found = assert_grounded(ANSWERS)
    assert [one.cited for one in found] == [("a",), ("b", "n"), (), ("c",)]
    assert assert_grounded(ANSWERS[0])[0].grounded


def test_what_is_not_grounded_is_named():
    answers = [answer("q1", "z", context="bm25"), *ANSWERS, answer("q2", "xy")]
    assert failure(assert_grounded, answers) == (
        "2 of 6 answers are not grounded:\n"
        "  q1 (bm25): cites z, which the context did not hold\n"
        "  q2: cites x, y, which the context did not hold"
    )
    assert failure(assert_grounded, ANSWERS, allowed=1) == (
        "1 of 4 answers is not grounded:\n  q2: cites 1 more than it may"
    )
    many = failure(assert_grounded, [answer("q1", "z")] * 7)
    assert many.endswith("  … and 2 more")


def test_texts_and_positions_are_read_as_check_citations_reads_them():
    quoting = Answer("q1", context_ids=["a"], cited_ids=["a"], text='It "lasts for sixty days" [1].')
    assert_grounded(quoting, texts={"a": "It lasts for sixty days."})
    assert "quotes “lasts for sixty days” from the context, and nothing in the context says so" in failure(
        assert_grounded, quoting, texts={"a": "Thirty days."}
    )
    assert "[2], which points past" in failure(
        assert_grounded, Answer("q1", context_ids=["a"], text="So [2]."), positions=1
    )
    found = failure(assert_grounded, Answer("q1", context_ids=["1"], text="(ID: 2)"), pattern=r"ID: (\d)")
    assert "cites 2, which the context did not hold" in found


@pytest.mark.parametrize("at_least", [-0.1, 1.1, True, "half", None])
def test_limits_that_are_none(at_least):
    with pytest.raises(InputError, match="at_least is"):
        assert_exact_share(ANSWERS, QRELS, at_least=at_least)
    if at_least is not None:
        with pytest.raises(InputError, match="wrongly_at_most is"):
            assert_declines(ANSWERS, QRELS, at_least=0, wrongly_at_most=at_least)


def test_what_is_refused():
    with pytest.raises(InputError, match="there is no answer to check"):
        assert_grounded(Recording(name="r", kind="agent"))
    with pytest.raises(InputError, match="there is no answer to check"):
        assert_exact_share([], QRELS, at_least=0)
    with pytest.raises(InputError, match="by is 'colour', and these qrels carry no such classes"):
        assert_exact_share(ANSWERS, QRELS, at_least=0, by="colour")
    with pytest.raises(InputError, match="by is 'stratum'"):
        assert_exact_share([answer("q1", "a")], Qrels({"q1": {"a": 1}}), at_least=0, by="stratum")
    with pytest.raises(QueryMismatchError, match="q9"):
        assert_exact_share([answer("q9", "a")], QRELS, at_least=0)
