"""`compare`: two runs or two sides' scores, the measure's direction, and what cannot be compared."""

from __future__ import annotations

import pandas as pd
import pytest

from pytest_retrieval import MeasureKind, Qrels, Run, evaluate
from pytest_retrieval.errors import InputError, MeasureError, QueryMismatchError
from pytest_retrieval.stats.compare import compare

QUERIES = [f"q{number}" for number in range(8)]
STRATA = {query: "short" if query < "q4" else "long" for query in QUERIES}
QRELS = Qrels({query: ["kea"] for query in QUERIES}, strata=STRATA, splits=dict.fromkeys(QUERIES, "test"))
FIRST = Run({query: ["kea", "tui"] for query in QUERIES}, "first")
LATER = Run({query: ["tui", "kea"] for query in QUERIES}, "later")


def test_two_runs():
    result = compare(FIRST, LATER, "RR@10", qrels=QRELS)
    assert (result.name, result.measure, result.n) == ("first over later on mrr@10", "mrr@10", 8)
    assert (result.mean_difference, result.wins, result.losses) == (0.5, 8, 0)
    assert result.permutation_p == 2**-7
    assert result.threshold == 0.05
    assert result.better
    assert not compare(LATER, FIRST, "mrr@10", qrels=QRELS).better


def test_two_columns_of_score_tables_are_the_same_as_their_runs():
    columns = [evaluate(QRELS, run, ["mrr@10", "recall@1"])["mrr@10"] for run in (FIRST, LATER)]
    by_columns = compare(*columns, name="first over later on mrr@10")
    assert by_columns == compare(FIRST, LATER, "mrr@10", qrels=QRELS)


def test_dicts_and_series_pair_by_id():
    a = {"q1": 1.0, "q2": 0.0, "q3": 0.5}
    b = pd.Series([0.5, 0.0, 0.5], index=["q3", "q2", "q1"])
    assert compare(a, b).wins == 1
    assert compare(a, b).mean_difference == pytest.approx(0.5 / 3)


def test_arguments_reach_the_comparison():
    a, b = dict.fromkeys(QUERIES, 1.0), dict.fromkeys(QUERIES, 0.5)
    result = compare(a, b, "recall@5", threshold=0.001, name="x", seed=3, exploratory=True)
    assert (result.threshold, result.name, result.seed, result.exploratory) == (0.001, "x", 3, True)
    assert result.measure == "recall@5"


def lower_is_better():
    return MeasureKind("depth", lambda judged, k: judged, "how deep", "ours", higher_is_better=False)


def test_the_measures_direction_decides_what_a_win_is():
    a, b = dict.fromkeys(QUERIES, 1.0), dict.fromkeys(QUERIES, 2.0)
    kind = lower_is_better()
    assert compare(a, b).losses == 8
    lower = compare(a, b, "depth@5", kinds=[kind])
    assert (lower.wins, lower.losses, lower.better) == (8, 0, True)
    named = compare(pd.Series(a, name="depth@5"), pd.Series(b), kinds=[kind])
    assert (named.measure, named.wins) == ("depth@5", 8)


def test_a_series_name_that_is_no_measure_says_nothing():
    a = pd.Series(dict.fromkeys(QUERIES, 1.0), name="exact share")
    assert compare(a, a).measure == ""


@pytest.mark.parametrize("by", ["stratum", STRATA])
def test_by_stratum(by):
    result = compare(FIRST, LATER, "mrr@10", qrels=QRELS, by=by)
    assert [(row.name.rpartition(", ")[2], row.n) for row in result.strata] == [("long", 4), ("short", 4)]
    assert all(row.exploratory for row in result.strata)


def test_by_split():
    assert [row.n for row in compare(FIRST, LATER, "mrr@10", qrels=QRELS, by="split").strata] == [8]


@pytest.mark.parametrize(
    "arguments, keywords, error, said",
    [
        ((FIRST, LATER), {"qrels": QRELS}, MeasureError, "on a measure"),
        ((FIRST, LATER, "mrr@10"), {}, InputError, "on judgments"),
        ((FIRST, {"q1": 1.0}, "mrr@10"), {"qrels": QRELS}, InputError, "a is a Run and b is a dict"),
        (({"q1": 1.0}, LATER, "mrr@10"), {"qrels": QRELS}, InputError, "a is a dict and b is a Run"),
        (
            (FIRST, Run({}, "none"), "mrr@10"),
            {"qrels": QRELS},
            QueryMismatchError,
            r"b \(none\) answers none",
        ),
        (
            (Run({"z": ["kea"]}), LATER, "mrr@10"),
            {"qrels": QRELS},
            QueryMismatchError,
            "a answers none of the 8",
        ),
        (
            (FIRST, Run({"q1": ["kea"], "zz": ["kea"]}), "mrr@10"),
            {"qrels": QRELS},
            QueryMismatchError,
            "zz",
        ),
        (({"q1": 1.0}, {"q2": 1.0}), {}, QueryMismatchError, "only a holds 1"),
        ((FIRST, LATER, "mrr@10"), {"qrels": QRELS, "by": "colour"}, InputError, "'stratum' and 'split'"),
        (({"q1": 1.0}, {"q1": 1.0}), {"by": "stratum"}, InputError, "beside qrels"),
        (({"q1": 1.0}, {"q1": 1.0}, "recal@5"), {}, MeasureError, "did you mean recall"),
        (([1.0], [1.0]), {}, InputError, "must give a score per query id"),
    ],
)
def test_what_cannot_be_compared(arguments, keywords, error, said):
    with pytest.raises(error, match=said):
        compare(*arguments, **keywords)


def test_a_table_in_place_of_its_column():
    table = evaluate(QRELS, FIRST, ["mrr@10", "recall@1"])
    with pytest.raises(InputError, match=r"b is a table.*table\['mrr@10'\], table\['recall@1'\]"):
        compare(table["mrr@10"], table)


def test_scores_of_different_measures():
    table = evaluate(QRELS, FIRST, ["mrr@10", "recall@1"])
    with pytest.raises(MeasureError, match="a is mrr@10, b is recall@1"):
        compare(table["mrr@10"], table["recall@1"])
    with pytest.raises(MeasureError, match="measure is recall@1, a is mrr@10"):
        compare(table["mrr@10"], table["mrr@10"], "R@1")


def test_a_query_that_one_run_lacks_scores_zero_and_is_named():
    result = compare(FIRST, FIRST.select(QUERIES[1:]), "mrr@10", qrels=QRELS)
    assert (result.n, result.wins) == (8, 1)
    assert result.unanswered == (("first", (QUERIES[0],)),)
    assert f"first over first on mrr@10, unanswered by first, score 0: 1 ({QUERIES[0]})" in str(result)


def test_an_empty_list_answers_nothing_and_a_run_without_a_name_is_known_by_its_side():
    some = Run({query: FIRST[query] for query in QUERIES[2:]} | {QUERIES[0]: []})
    result = compare(some, FIRST, "mrr@10", qrels=QRELS)
    assert result.unanswered == (("a", tuple(QUERIES[:2])),)


def test_runs_that_answer_everything_and_scores_leave_nothing_unanswered():
    assert compare(FIRST, LATER, "mrr@10", qrels=QRELS).unanswered == ()
    assert "unanswered" not in str(compare({"q": 1.0}, {"q": 0.0}))


def test_repr_is_short_and_says_the_verdict():
    said = repr(compare(FIRST, LATER, "mrr@10", qrels=QRELS))
    assert said == (
        "<Comparison 'first over later on mrr@10': mean difference 0.500; wins, losses, ties 8, 0, 0;"
        " p 0.008; established at 0.05: yes>"
    )


def test_a_query_that_the_measure_leaves_undefined_is_not_said_to_score_zero():
    qrels = Qrels(
        {query: ["a"] if query != QUERIES[0] else {} for query in QUERIES}, unanswerable=[QUERIES[0]]
    )
    result = compare(FIRST, FIRST.select(QUERIES[2:]), "mrr@10", qrels=qrels)
    assert result.undefined == (QUERIES[0],)
    assert result.unanswered == (("first", (QUERIES[1],)),)


def test_sides_and_measure_are_named_where_runs_or_columns_name_them():
    result = compare(FIRST, LATER, "mrr@10", qrels=QRELS)
    assert (result.a, result.b, result.measure, result.split) == (FIRST.name, LATER.name, "mrr@10", "")
    columns = [evaluate(QRELS, run, ["mrr@10"])["mrr@10"] for run in (FIRST, LATER)]
    of_columns = compare(*columns)
    assert (of_columns.a, of_columns.b, of_columns.measure) == (FIRST.name, LATER.name, "mrr@10")
    first_line = str(of_columns).splitlines()[0]
    assert first_line.endswith(f", compared: {FIRST.name} with {LATER.name} on mrr@10, 8 queries")
    assert str(compare({"q": 1.0}, {"q": 0.0})).startswith("a over b, compared: 1 query\n")
