"""Scores per query, their means, and what stays out of them."""

import math

import numpy as np
import pandas as pd
import pytest

from pytest_retrieval.errors import InputError, MeasureError
from pytest_retrieval.measures.notation import parse
from pytest_retrieval.measures.rank import MeasureKind
from pytest_retrieval.measures.table import evaluate, mean_of, unanswered
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Run

QRELS = Qrels(
    {"q1": ["a"], "q2": ["b"], "q3": {"c": 0}, "q4": ["d", "e"]},
    strata={"q1": "short", "q2": "long", "q3": "short", "q4": "long", "elsewhere": "x"},
)
RUN = Run({"q1": ["a"], "q2": ["x", "b"], "q3": ["c"]})


def table(**options):
    return evaluate(QRELS, RUN, ["recall@1", "mrr"], **options)


class TestMeanOf:
    def test_leaves_out_what_is_undefined(self):
        assert mean_of([1.0, math.nan, 0.5]) == 0.75

    @pytest.mark.parametrize("scores", [[], [math.nan]])
    def test_undefined_where_nothing_is_left(self, scores):
        assert math.isnan(mean_of(scores))

    def test_independent_of_order(self):
        scores = [1 / n for n in range(1, 400)] + [1e-17] * 50
        assert mean_of(scores) == mean_of(reversed(scores)) == mean_of(sorted(scores))
        assert mean_of([0.1] * 10) == 0.1


class TestEvaluate:
    def test_one_row_per_judged_query_in_their_order(self):
        result = table()
        assert result.query_ids == ("q1", "q2", "q3", "q4")
        assert [measure.name for measure in result.measures] == ["recall@1", "mrr"]
        np.testing.assert_array_equal(result.values, [[1, 1], [0, 0.5], [np.nan, np.nan], [0, 0]])
        np.testing.assert_array_equal(result.attainable, [[1, 1], [1, 1], [np.nan, np.nan], [0.5, 1]])
        assert result.missing == ("q4",)
        assert result.judged.lengths.tolist() == [1, 2, 1, 0]

    def test_norel_01_stays_out_of_the_mean_and_is_named(self):
        qrels = Qrels({"q1": {"a": 1}, "q2": {}})
        result = evaluate(qrels, Run({"q1": ["a"], "q2": ["b"]}), ["recall@1", "judged@1"])
        assert result["recall@1"].tolist() == pytest.approx([1.0, math.nan], nan_ok=True)
        assert result.mean()["recall@1"] == 1.0
        assert result.undefined == {"recall@1": ("q2",)}

    def test_nothing_undefined(self):
        assert evaluate(Qrels({"q": ["a"]}), Run({"q": ["a"]}), ["recall@1"]).undefined == {}

    def test_measure_twice_is_one_column(self):
        assert evaluate(QRELS, RUN, ["R@1", "recall@1", "mrr"]).values.shape == (4, 2)

    def test_one_name_alone(self):
        assert evaluate(QRELS, RUN, "recall@1").values.shape == (4, 1)

    def test_no_measure(self):
        with pytest.raises(MeasureError, match=r"no measure was given; name at least one, such as recall@5"):
            evaluate(QRELS, RUN, [])

    def test_in_02_measures_are_checked_before_anything_is_scored(self):
        with pytest.raises(MeasureError, match="'recall@0': the cutoff is '0'"):
            evaluate(QRELS, Run({"unknown": ["a"]}), ["recall@0"])

    def test_no_queries(self):
        result = evaluate(Qrels({}), Run({}), ["recall@1"])
        assert result.values.shape == (0, 1)
        assert math.isnan(result.mean()["recall@1"])
        assert repr(result) == "<ScoreTable: 0 queries; recall@1 n/a>"

    def test_level_of_a_measure_beats_that_of_the_judgments(self):
        qrels = Qrels({"q": {"a": 1, "b": 2}}, 1)
        result = evaluate(qrels, Run({"q": ["a", "b"]}), ["mrr", "RR(rel=2)"])
        assert result.values.tolist() == [[1.0, 0.5]]

    def test_kind_of_a_projects_own(self):
        kind = MeasureKind("found", lambda judged, k: judged.lengths, "documents returned", "ours", "none")
        result = evaluate(QRELS, RUN, ["found", "mrr"], kinds=[kind])
        assert result["found"].tolist() == pytest.approx([1, 2, math.nan, 0], nan_ok=True)
        assert result.mean()["found"] == 1.0

    def test_tables_are_read_only(self):
        result = table()
        for values in (result.values, result.attainable):
            with pytest.raises(ValueError, match="read-only"):
                values[0, 0] = 0.5

    def test_kind_cannot_change_the_judgments(self):
        def wipe(judged, k):
            judged.gold_grade[:] = 0
            return judged.lengths

        with pytest.raises(ValueError, match="read-only"):
            evaluate(QRELS, RUN, ["wipe"], kinds=[MeasureKind("wipe", wipe, "wipes", "ours", "none")])


class TestStrata:
    def test_from_the_judgments(self):
        assert table().strata == ("short", "long", "short", "long")

    def test_passed_ones_come_first(self):
        assert table(strata=dict.fromkeys(QRELS, "one")).strata == ("one",) * 4

    def test_passed_ones_must_name_every_query(self):
        with pytest.raises(InputError, match="3 judged queries have no stratum: q2, q3, q4"):
            table(strata={"q1": "short"})

    def test_means_by_stratum(self):
        means = table().by_stratum()
        assert list(means) == ["long", "short"]
        assert dict(means["long"]) == {"recall@1": 0.0, "mrr": 0.25}
        assert dict(means["short"]) == {"recall@1": 1.0, "mrr": 1.0}  # q3 is undefined

    def test_without_strata(self):
        with pytest.raises(InputError, match=r"this table has no strata: pass strata="):
            evaluate(Qrels({"q": ["a"]}), RUN.select(["q"]), ["mrr"]).by_stratum()

    def test_mean_over_queries_and_not_over_strata(self):
        qrels = Qrels({"q1": ["a"], "q2": ["a"], "q3": ["a"]}, strata={"q1": "x", "q2": "x", "q3": "y"})
        result = evaluate(qrels, Run({"q1": ["a"], "q2": ["a"], "q3": []}), ["mrr"])
        assert result.mean()["mrr"] == 2 / 3


class TestMeans:
    def test_any_spelling(self):
        means = table().mean()
        assert means["R@1"] == means["recall@1"] == means[parse("recall@1").name] == 1 / 3
        assert means["RR"] == 0.5

    def test_a_mapping(self):
        means = table().mean()
        assert list(means) == ["recall@1", "mrr"]
        assert len(means) == 2
        assert repr(means) == "{'recall@1': 0.3333333333333333, 'mrr': 0.5}"
        assert means == {"recall@1": 1 / 3, "mrr": 0.5}

    def test_what_it_does_not_hold(self):
        means = table().mean()
        assert "R@1" in means
        assert "recall@2" not in means
        assert "nonsense" not in means
        assert 5 not in means
        assert means.get("mrr") == 0.5
        assert means.get("recall@2") is None
        assert means.get("recall@2", 0.25) == 0.25
        with pytest.raises(MeasureError, match=r"the table has no 'recall@2'; it has recall@1, mrr"):
            means["recall@2"]


class TestColumns:
    def test_series_by_query_id(self):
        series = table()["RR"]
        expected = pd.Series(
            [1, 0.5, np.nan, 0],
            index=pd.Index(["q1", "q2", "q3", "q4"], dtype=object, name="query_id"),
            name="mrr",
        )
        pd.testing.assert_series_equal(series, expected)

    def test_series_is_a_copy(self):
        result = table()
        series = result["mrr"]
        series.iloc[0] = 0.25
        assert result.values[0, 1] == 1.0

    def test_by_measure(self):
        assert table().column(parse("mrr")) == 1

    @pytest.mark.parametrize("name", ["recall@2", "nonsense", "recall@0", parse("ap")])
    def test_not_in_the_table(self, name):
        with pytest.raises(MeasureError, match=r"the table has no .*; it has recall@1, mrr"):
            table().column(name)


class TestFrame:
    def test_stratum_first(self):
        frame = table().to_frame()
        assert list(frame.columns) == ["stratum", "recall@1", "mrr"]
        assert frame.index.name == "query_id"
        assert frame.at["q2", "mrr"] == 0.5
        assert frame["stratum"].tolist() == ["short", "long", "short", "long"]

    def test_without_strata(self):
        frame = evaluate(Qrels({"q": ["a"]}), Run({"q": ["a"]}), ["mrr"]).to_frame()
        assert list(frame.columns) == ["mrr"]

    def test_a_copy(self):
        result = table()
        frame = result.to_frame()
        frame.loc["q1", "mrr"] = 0.25
        assert result.values[0, 1] == 1.0


def test_repr_counts_what_is_missing():
    assert repr(table()) == "<ScoreTable: 4 queries; recall@1 0.333, mrr 0.500; 1 missing from the run>"


def test_unanswered_queries_in_a_sentence():
    assert unanswered(table()) == "1 judged query got no ranking and scores 0: q4"
    nothing = evaluate(Qrels({"q1": ["a"], "q2": ["a"]}), Run({}), ["mrr"])
    assert unanswered(nothing) == "2 judged queries got no ranking and score 0: q1, q2"
    assert unanswered(evaluate(Qrels({"q": ["a"]}), Run({"q": []}), ["mrr"])) == ""


def test_arguments_the_other_way_round_are_told():
    with pytest.raises(InputError, match=r"qrels is of type Run; .*; the judgments come first: evaluate"):
        evaluate(Run({"q": ["a"]}), Qrels({"q": {"a": 1}}), ["recall@5"])


def test_measures_that_are_no_list():
    with pytest.raises(MeasureError, match="measures are None; allowed is a list of names"):
        evaluate(Qrels({"q": {"a": 1}}), Run({"q": ["a"]}), None)
