"""Support: recorded judgments, crossed with grades, and what a judge is worth, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pytest_retrieval import (
    Answer,
    InputError,
    Qrels,
    QueryMismatchError,
    calibrate,
    judge_digest,
    judge_support,
    support_by_grade,
)
from pytest_retrieval.answers.support import is_calibrated

TEXTS = {"a": "a blue sofa", "b": "a red sofa", "c": "a blue desk", "d": "a lamp"}
ANSWERS = [
    Answer("q1", "bm25", ["a", "b"], ["a", "b", "a"], "It is blue."),
    Answer("q1", "bm25", ["c"], ["c"], "It is blue."),
    Answer("q2", "bm25", ["d"], [], "Nothing fits."),
    Answer("q2", "random", ["d"], ["d"], "It is blue."),
]


def says_blue(claim, text):
    return "blue" in text


def test_each_claim_and_each_document_it_cites_is_judged():
    judged = judge_support(ANSWERS, says_blue, TEXTS)
    assert [(one.query_id, one.context, one.reply, one.doc_id, one.supported) for one in judged] == [
        ("q1", "bm25", 0, "a", True),
        ("q1", "bm25", 0, "b", False),
        ("q1", "bm25", 1, "c", True),
        ("q2", "random", 0, "d", False),
    ]


def test_claims_of_one_s_own():
    judged = judge_support(ANSWERS[:1], says_blue, TEXTS, claims=lambda answer: [("half", "b")])
    assert [(one.claim, one.supported) for one in judged] == [("half", False)]


def test_faithful_and_still_the_wrong_product():
    qrels = Qrels({"q1": {"a": 2, "c": 1, "b": 0}, "q2": {}}, relevance_level=2)
    counts = support_by_grade(judge_support(ANSWERS, says_blue, TEXTS), qrels)
    assert {key: n for key, n in counts.items() if n} == {
        ("exact", True): 1,
        ("partial", True): 1,
        ("irrelevant", False): 1,
        ("unjudged", False): 1,
    }
    with pytest.raises(QueryMismatchError, match="q2"):
        support_by_grade(judge_support(ANSWERS, says_blue, TEXTS), Qrels({"q1": {}}))


def test_what_a_judge_may_not_do():
    with pytest.raises(InputError, match="true or false is needed"):
        judge_support(ANSWERS, lambda claim, text: "yes", TEXTS)
    with pytest.raises(InputError, match="and texts has no such id"):
        judge_support(ANSWERS, says_blue, {"a": ""})


def test_agreement_and_kappa_by_hand():
    # Both yes 20, judge alone 5, people alone 10, both no 15: agreement 35/50, by chance 0.5·0.6 + 0.5·0.4.
    judge = [1] * 20 + [1] * 5 + [0] * 10 + [0] * 15
    people = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    found = calibrate(dict(enumerate(judge)), dict(enumerate(people)), judge="d")
    assert found.agreement == pytest.approx(0.7)
    assert found.kappa == pytest.approx((0.7 - 0.5) / 0.5)
    assert (found.judge_mean, found.human_mean, found.n, found.judge) == (0.5, 0.6, 50, "d")
    assert math.isnan(found.estimate)


def test_kappa_is_undefined_where_both_say_one_thing():
    found = calibrate({1: 1, 2: 1}, {1: 1, 2: 1})
    assert found.agreement == 1
    assert math.isnan(found.kappa)
    assert "kappa nan" in str(found)


def test_kappa_against_scikit_learn():
    sklearn = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(0)
    judge, people = random.integers(0, 3, 200), random.integers(0, 3, 200)
    found = calibrate(dict(enumerate(judge.tolist())), dict(enumerate(people.tolist())))
    assert found.kappa == pytest.approx(sklearn.cohen_kappa_score(judge, people), abs=1e-12)


def test_the_estimate_corrects_a_judge_that_is_too_kind():
    pytest.importorskip("ppi_py")
    random = np.random.default_rng(1)
    truth = random.random(2000) < 0.6
    judge = truth | (random.random(2000) < 0.2)
    labels = dict(enumerate(judge.tolist()))
    found = calibrate(labels, dict(enumerate(truth[:400].tolist())))
    assert np.mean(judge) > 0.65
    assert found.low < 0.6 < found.high
    assert found.low < found.estimate < found.high
    # The classical interval of the 400 labels alone is wider.
    half = 1.96 * np.std(truth[:400]) / 20
    assert (found.high - found.low) / 2 < half


def test_a_calibration_is_bound_to_model_and_prompt():
    digest = judge_digest("nli", "Does it?")
    judge = {"model": "nli", "prompt": "Does it?", "calibration": {"judge": digest}}
    assert is_calibrated(judge)
    assert not is_calibrated({**judge, "prompt": "Does it?? "})
    assert not is_calibrated({**judge, "model": "nli-2"})
    assert not is_calibrated({"model": "nli", "prompt": "Does it?"})


@pytest.mark.parametrize(
    "judge, people, options, error",
    [
        ({1: 1}, {1: 1}, {}, InputError),
        ({1: 1, 2: 0}, {1: 1, 3: 0}, {}, QueryMismatchError),
        ({1: 1, 2: "yes"}, {1: 1, 2: 1}, {}, InputError),
        ({1: 1, 2: float("nan")}, {1: 1, 2: 1}, {}, InputError),
        ({1: 1, 2: 1}, {1: 1, 2: 1}, {"level": 95}, InputError),
    ],
)
def test_what_is_refused(judge, people, options, error):
    with pytest.raises(error):
        calibrate(judge, people, **options)
