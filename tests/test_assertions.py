"""The assertion helpers: what they return, what they fail with, and that pytest rewrites them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_retrieval import (
    InputError,
    Qrels,
    Run,
    ScoreTable,
    assert_context_precision,
    assert_judged,
    assert_mrr,
    assert_ndcg,
    assert_precision,
    assert_recall,
)

QRELS = Qrels(
    {"q1": {"a": 1}, "q2": {"b": 1, "c": 1}, "q3": {"d": 1}},
    strata={"q1": "x", "q2": "x", "q3": "y"},
    splits={"q1": "train", "q2": "test", "q3": "test"},
)
RUN = Run({"q1": ["a", "z"], "q2": ["z", "b"], "q3": ["z", "y"]})


@pytest.mark.parametrize(
    "helper, mean",
    [
        (assert_recall, (1 + 0.5 + 0) / 3),
        (assert_precision, (0.5 + 0.5 + 0) / 3),
        (assert_mrr, (1 + 0.5 + 0) / 3),
        (assert_ndcg, (1 + (1 / 1.584962500721156) / (1 + 1 / 1.584962500721156)) / 3),
        (assert_context_precision, (1 + 0.5 + 0) / 3),
        (assert_judged, (0.5 + 0.5 + 0) / 3),
    ],
)
def test_a_mean_that_is_reached_and_one_that_is_not(helper, mean):
    table = helper(RUN, QRELS, k=2, at_least=mean - 1e-9)
    assert isinstance(table, ScoreTable)
    assert next(iter(table.mean().values())) == pytest.approx(mean)
    with pytest.raises(
        AssertionError, match=r"@2 is .* over 3 queries; at least .* is asked for; lowest: q3 0.000"
    ):
        helper(RUN, QRELS, k=2, at_least=mean + 1e-9)


def test_the_figure_that_is_missed_stands_below_the_limit_in_print():
    """With three digits it would read: 0.500 is less than 0.5."""
    judged = {f"q{n:05d}": {"a": 1} for n in range(10000)}
    found = {query: ["a"] if n < 4999 else ["z"] for n, query in enumerate(judged)}
    with pytest.raises(AssertionError, match=r"recall@2 is 0\.4999 over 10000 queries; at least 0\.5 is"):
        assert_recall(Run(found), Qrels(judged), k=2, at_least=0.5)


def test_no_more_than_five_queries_are_named():
    qrels = Qrels({f"q{n}": {"a": 1} for n in range(9)})
    with pytest.raises(AssertionError) as caught:
        assert_recall(Run(dict.fromkeys(qrels, ("z",))), qrels, k=1, at_least=0.5)
    assert str(caught.value).count(" 0.000") == 6
    assert "lowest: q0 0.000, q1 0.000" in str(caught.value)


@pytest.mark.parametrize(
    "by, failing",
    [("stratum", ["y"]), ("split", ["test"]), ({"q1": "one", "q2": "two", "q3": "three"}, ["three"])],
)
def test_every_class_must_reach_the_limit(by, failing):
    with pytest.raises(AssertionError) as caught:
        assert_recall(RUN, QRELS, k=2, at_least=0.3, by=by)
    assert [line.split()[2] for line in str(caught.value).splitlines()] == failing


def test_every_class_that_fails_is_told():
    with pytest.raises(AssertionError) as caught:
        assert_recall(RUN, QRELS, k=2, at_least=0.9, by="stratum")
    assert [line.split()[2] for line in str(caught.value).splitlines()] == ["x", "y"]


def test_an_undefined_mean_fails():
    with pytest.raises(AssertionError, match="recall@2 is undefined: none of 1 query has what it needs"):
        assert_recall(Run({"q1": ["a"]}), Qrels({"q1": {}}, unanswerable=["q1"]), k=2, at_least=0.0)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "5", None])
def test_a_cutoff_that_is_not_allowed(k):
    with pytest.raises(InputError, match=r"k is .*; allowed is a whole number of at least 1"):
        assert_recall(RUN, QRELS, k=k, at_least=0.5)


@pytest.mark.parametrize("at_least", [-0.1, 1.1, 60, float("nan"), True, "0.5", None])
def test_a_limit_that_is_not_allowed(at_least):
    """A limit of 60 per cent written as 60 could never pass; one of NaN could never fail."""
    with pytest.raises(InputError, match=r"at_least is .*; allowed is a number from 0 to 1"):
        assert_recall(RUN, QRELS, k=2, at_least=at_least)


@pytest.mark.parametrize("by", ["strata", "slices", ""])
def test_classes_that_the_qrels_do_not_carry(by):
    with pytest.raises(InputError, match="these qrels carry no such classes"):
        assert_recall(RUN, QRELS, k=2, at_least=0.5, by=by)


def test_classes_of_qrels_without_strata():
    with pytest.raises(InputError, match="by is 'stratum', and these qrels carry no such classes"):
        assert_recall(Run({"q1": ["a"]}), Qrels({"q1": {"a": 1}}), k=2, at_least=0.0, by="stratum")


def test_the_helpers_are_registered_for_rewriting(pytester):
    """As a package is installed: in a fresh process, through the door, before anything imported them."""
    pytester.makepyfile(
        "import sys\n"
        "def test_it(request):\n"
        "    assert 'pytest_retrieval.assertions' not in sys.modules\n"
        "    from pytest_retrieval import assert_recall\n"
        "    module = sys.modules['pytest_retrieval.assertions']\n"
        "    assert type(module.__loader__).__name__ == 'AssertionRewritingHook'\n"
        "    assert '@pytest_ar' in vars(module)\n"
    )
    pytester.runpytest_subprocess("-p", "no:hypothesispytest", "-W", "error").assert_outcomes(passed=1)


def test_a_failing_helper_points_at_the_test(pytester):
    pytester.makepyfile(
        "from pytest_retrieval import Qrels, Run, assert_recall\n"
        "def test_it():\n"
        "    assert_recall(Run({'q1': ['z']}), Qrels({'q1': ['a']}), k=5, at_least=0.5)\n"
    )
    result = pytester.runpytest_subprocess("-p", "no:hypothesispytest")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">   *assert_recall(Run(*",
            "E   *AssertionError: recall@5 is 0.000 over 1 query; *",
            "*test_a_failing*.py:3: *",
        ]
    )
    result.stdout.no_fnmatch_line("*assertions.py*")


def test_the_helpers_work_without_pytest():
    code = (
        "import sys; from pytest_retrieval import Qrels, Run, assert_recall;"
        "assert_recall(Run({'q1': ['a']}), Qrels({'q1': ['a']}), k=1, at_least=1.0);"
        "print('pytest' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_arguments_the_other_way_round_are_told():
    with pytest.raises(InputError, match="the run comes first, its judgments second"):
        assert_recall(QRELS_SWAPPED, RUN_SWAPPED, k=5, at_least=0.5)


RUN_SWAPPED, QRELS_SWAPPED = Run({"q": ["a"]}), Qrels({"q": {"a": 1}})
