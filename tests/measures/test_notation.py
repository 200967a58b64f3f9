"""Names of measures: every spelling, and what each mistake is told."""

import pickle

import numpy as np
import pytest

from pytest_retrieval.errors import MeasureError
from pytest_retrieval.measures.notation import Measure, parse, parse_all
from pytest_retrieval.measures.rank import KINDS, MeasureKind
from pytest_retrieval.measures.ranking import join
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Run


@pytest.mark.parametrize(
    "spelling, name",
    [
        ("recall@5", "recall@5"),
        ("R@5", "recall@5"),
        ("precision@5", "precision@5"),
        ("P@5", "precision@5"),
        ("P(rel=2)@5", "precision(rel=2)@5"),
        ("mrr", "mrr"),
        ("mrr@10", "mrr@10"),
        ("MRR@10", "mrr@10"),
        ("rr@10", "mrr@10"),
        ("RR@10", "mrr@10"),
        ("RR", "mrr"),
        ("RR(rel=2)", "mrr(rel=2)"),
        ("ndcg@10", "ndcg@10"),
        ("nDCG@10", "ndcg@10"),
        ("NDCG@10", "ndcg@10"),
        ("nDCG", "ndcg"),
        ("ndcg(gain=exp)@10", "ndcg(gain=exp)@10"),
        ("ndcg(gain=linear)@10", "ndcg@10"),
        ("nDCG(dcg='exp-log2')@10", "ndcg(gain=exp)@10"),
        ('nDCG(dcg="log2")@10', "ndcg@10"),
        ("ap@100", "ap@100"),
        ("AP(rel=2)@100", "ap(rel=2)@100"),
        ("map", "ap"),
        ("MAP@10", "ap@10"),
        ("Success@5", "success@5"),
        ("complete@10", "complete@10"),
        ("Judged@5", "judged@5"),
        ("context_precision@5", "context_precision@5"),
        ("context_recall( rel = 3 )@5", "context_recall(rel=3)@5"),
        ("group_recall@5", "group_recall@5"),
        ("recall()@05", "recall@5"),
        ("recall@999999999", "recall@999999999"),
    ],
)
def test_spellings(spelling, name):
    measure = parse(spelling)
    assert measure.name == str(measure) == name
    assert parse(name) == measure
    assert hash(parse(name)) == hash(measure)
    assert measure.higher_is_better


def test_same_spellings_as_ir_measures():
    ir_measures = pytest.importorskip("ir_measures")
    for name, theirs in (
        ("recall@5", ir_measures.R @ 5),
        ("precision(rel=2)@5", ir_measures.P(rel=2) @ 5),
        ("ap(rel=3)@100", ir_measures.AP(rel=3) @ 100),
        ("ndcg@10", ir_measures.nDCG @ 10),
        ("ndcg(gain=exp)@10", ir_measures.nDCG(dcg="exp-log2") @ 10),
        ("mrr", ir_measures.RR),
        ("mrr(rel=2)@10", ir_measures.RR(rel=2) @ 10),
        ("success(rel=2)@5", ir_measures.Success(rel=2) @ 5),
        ("judged@5", ir_measures.Judged @ 5),
    ):
        assert parse(str(theirs)).name == name


@pytest.mark.parametrize(
    "k", ["0", "-1", "2.5", "True", "", " 5", "5 ", "٥", "1e3", "1000000000", "9" * 5000]
)
def test_in_02_cutoff_is_a_whole_number_of_at_least_1(k):
    with pytest.raises(MeasureError, match=r"the cutoff is .*whole number of at least 1, as in recall@5"):
        parse(f"recall@{k}")


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "5", 10**10])
def test_in_02_also_without_a_name(k):
    with pytest.raises(MeasureError, match=r"recall: the cutoff is .*whole number of at least 1"):
        Measure(KINDS["recall"], k)


@pytest.mark.parametrize("level", [0, -1, 1.5, True])
def test_level_is_a_whole_number_of_at_least_1(level):
    with pytest.raises(MeasureError, match=r"recall: the level is .*whole number of at least 1"):
        Measure(KINDS["recall"], 5, level)


@pytest.mark.parametrize(
    "name, message",
    [
        ("recal@5", r"'recal' is not known; known are recall, .*did you mean recall\?"),
        ("rouge@5", r"'rouge' is not known; known are recall, "),
        ("recall", r"needs a cutoff, as in recall@5"),
        ("P", r"needs a cutoff, as in precision@5"),
        ("recall 5", r"is no name of a measure; names look like recall@5"),
        ("recall@5@5", r"the cutoff is '5@5'"),
        ("", r"is no name of a measure"),
        (5, r"5 is no name of a measure"),
        (None, r"None is no name of a measure"),
        ("recall(rel=0)@5", r"rel is '0'"),
        ("recall(rel=x)@5", r"rel is 'x'; allowed is a whole number of at least 1"),
        ("recall(rel)@5", r"rel is ''"),
        ("recall(depth=3)@5", r"parameter 'depth=3' is not known; allowed are rel=<level>"),
        ("ndcg(gain=cubic)@5", r"parameter 'gain=cubic' is not known; allowed are gain=linear\|exp"),
        ("ndcg(rel=2)@5", r"parameter 'rel=2' is not known; allowed are gain=linear\|exp"),
        ("nDCG(dcg=sqrt)@5", r"parameter 'dcg=sqrt' is not known"),
        ("judged(rel=2)@5", r"parameter 'rel=2' is not known; allowed are none"),
    ],
)
def test_mistakes(name, message):
    with pytest.raises(MeasureError, match=message):
        parse(name)


def test_no_hint_where_nothing_is_close():
    with pytest.raises(MeasureError) as caught:
        parse("zzzzzz@5")
    assert "did you mean" not in str(caught.value)


def test_parse_all_names_each_measure_once_in_order():
    assert [m.name for m in parse_all(["mrr@10", "R@5", "RR@10", "recall@5"])] == ["mrr@10", "recall@5"]


@pytest.mark.parametrize("one", ["recall@5", parse("recall@5")])
def test_parse_all_takes_one_name(one):
    assert [m.name for m in parse_all(one)] == ["recall@5"]


def test_measures_survive_pickling():
    measure = parse("ndcg(gain=exp)@10")
    assert pickle.loads(pickle.dumps(measure)) == measure


def first_judged(judged, k):
    return judged.per_query(judged.hit_query[judged.hit_rank == 1])


def own(score=first_judged, name="first_judged", **options):
    return MeasureKind(name, score, "was rank 1 judged", "ours", **{"cutoff": "none", **options})


JUDGED = join(Qrels({"q1": ["a"], "q2": ["b"], "q3": {}}), Run({"q1": ["a"], "q2": ["x", "b"]}))


class TestMeasureOfAProjectsOwn:
    def test_scores_as_floats_and_undefined_as_nan(self):
        measure = parse("first_judged", [own()])
        scores = measure.scores(JUDGED)
        assert scores.dtype == np.float64
        np.testing.assert_array_equal(scores, [1.0, 0.0, np.nan])
        np.testing.assert_array_equal(measure.attainable(JUDGED), [1.0, 1.0, np.nan])
        assert measure.defined(JUDGED).tolist() == [True, True, False]

    def test_lower_is_better_attains_0(self):
        measure = parse("first_judged", [own(higher_is_better=False)])
        assert not measure.higher_is_better
        np.testing.assert_array_equal(measure.attainable(JUDGED), [0.0, 0.0, np.nan])

    def test_attainable_of_its_own(self):
        measure = parse("first_judged", [own(attainable=lambda judged, k: judged.relevant() / 4)])
        np.testing.assert_array_equal(measure.attainable(JUDGED), [0.25, 0.25, np.nan])

    def test_level_and_parameters_reach_it(self):
        def seen(judged, k, how="plain"):
            return np.full(len(judged.query_ids), judged.level * 10 + k + (how == "odd") / 2)

        kind = own(seen, "seen", cutoff="required", parameters={"how": ("plain", "odd")})
        judged = join(Qrels({"q": {"a": 2}}), Run({"q": ["a"]}))
        assert parse("seen(rel=2)@3", [kind]).scores(judged).tolist() == [23.0]
        assert parse("seen(how=odd)@3", [kind]).scores(judged).tolist() == [13.5]

    @pytest.mark.parametrize(
        "returned, shape",
        [
            (np.zeros((3, 1)), r"an array of shape \(3, 1\) for 3 queries"),
            (np.zeros(2), r"an array of shape \(2,\) for 3 queries"),
            (0.5, r"an array of shape \(\) for 3 queries"),
            (None, r"an array of shape \(\) for 3 queries"),
            (["a", "b", "c"], r"\['a', 'b', 'c'\]; one number per query is needed"),
            ({"q1": 1}, r"\{'q1': 1\}; one number per query is needed"),
        ],
    )
    def test_score_of_the_wrong_shape(self, returned, shape):
        measure = parse("first_judged", [own(lambda judged, k: returned)])
        with pytest.raises(MeasureError, match=f"measure first_judged: score returned {shape}"):
            measure.scores(JUDGED)

    @pytest.mark.parametrize("option", ["defined", "attainable"])
    def test_other_functions_of_the_wrong_shape(self, option):
        kind = own(**{option: lambda *arguments: np.ones((3, 1))})
        with pytest.raises(
            MeasureError, match=rf"first_judged: {option} returned an array of shape \(3, 1\)"
        ):
            parse("first_judged", [kind]).attainable(JUDGED)

    @pytest.mark.parametrize("name", ["recall", "rr", "map", "judged"])
    def test_name_of_one_of_ours_is_refused(self, name):
        with pytest.raises(MeasureError, match=f"'{name}' takes the name of one of ours"):
            parse("mrr", [own(name=name)])

    def test_one_of_ours_may_be_passed_along(self):
        assert parse("recall@5", [KINDS["recall"]]).kind is KINDS["recall"]

    def test_no_cutoff_where_it_takes_none(self):
        with pytest.raises(MeasureError, match="takes no cutoff; write first_judged"):
            parse("first_judged@5", [own()])
        with pytest.raises(MeasureError, match="takes no cutoff"):
            Measure(own(), 5)
        with pytest.raises(MeasureError, match="recall needs a cutoff"):
            Measure(KINDS["recall"])
