"""Each measure on inputs small enough for hand arithmetic; case ids are those of public reports."""

import math

import pytest

from pytest_retrieval.errors import InputError, MeasureError
from pytest_retrieval.measures.rank import KINDS, MeasureKind
from pytest_retrieval.measures.ranking import join
from pytest_retrieval.measures.table import evaluate
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Run
from pytest_retrieval.model.spans import Spans

NEEDY = ("group_recall", "span_recall")
"""Measures that need more of the judgments than grades."""


def score(measure, grades, ranking, level=1, **options):
    """Return the score of one ranking under one query's judgments."""
    table = evaluate(Qrels({"q": grades}, level), Run({"q": ranking}), [measure], **options)
    return table.values[0, 0]


def attainable(measure, grades, level=1):
    return evaluate(Qrels({"q": grades}, level), Run({"q": []}), [measure]).attainable[0, 0]


def case(name, grades, ranking, expected, level=1):
    return pytest.param(grades, ranking, level, expected, id=name)


CASES = [
    case("tie-01", {"kea": 1}, {"kea": 0.5, "tui": 0.5}, {"precision@1": 0, "mrr": 1 / 2}),
    case(
        "tie-02",
        {"moa": 1},
        {"moa": 2.0, "weka": 2.0, "kiwi": 1.0},
        {"mrr": 1 / 2, "mrr@3": 1 / 2, "ap@3": 1 / 2, "judged@1": 0},
    ),
    case(
        "cover-04",
        {"a": 1},
        [],
        {
            "recall@3": 0,
            "precision@3": 0,
            "mrr@3": 0,
            "ndcg@3": 0,
            "ap@3": 0,
            "success@3": 0,
            "context_precision@3": 0,
            "judged@3": math.nan,
        },
    ),
    # 1 / (3 + 2/log2(3) + 1/2) and 1 / (7 + 3/log2(3) + 1/2)
    case(
        "ndcg-01",
        {"a": 3, "b": 2, "c": 1},
        ["c", "x", "y"],
        {
            "ndcg@3": 1 / (3 + 2 / math.log2(3) + 0.5),
            "ndcg(gain=exp)@3": 1 / (7 + 3 / math.log2(3) + 0.5),
        },
    ),
    case("ndcg-02", {"a": 1, "b": 1}, ["a"], {"ndcg@10": 1 / (1 + 1 / math.log2(3))}),
    case(
        "ndcg-04",
        {"a": 1, "b": 3, "c": 2},
        ["a", "b", "x"],
        {
            "ndcg@3": (1 + 3 / math.log2(3)) / (3 + 2 / math.log2(3) + 0.5),
            "ndcg(gain=exp)@3": (1 + 7 / math.log2(3)) / (7 + 3 / math.log2(3) + 0.5),
        },
    ),
    case("ndcg-05", dict.fromkeys("abcd", 1), list("abcd"), {"ndcg@4": 1}),
    case(
        "ndcg-06",
        {"a": -2, "b": 2, "c": 1},
        ["a", "b", "c"],
        {
            "ndcg@3": (2 / math.log2(3) + 0.5) / (2 + 1 / math.log2(3)),
            "precision@3": 2 / 3,
            "judged@3": 1,
        },
    ),
    case("ndcg-07", {"only": 1}, ["only"], {"ndcg@1": 1}),
    case(
        "level-01",
        {"a": 1, "b": 2, "c": 3},
        ["a", "b", "x"],
        {
            "precision@3": 1 / 3,
            "recall@3": 1 / 2,
            "mrr": 1 / 2,
            "ap@3": 1 / 4,
            "ndcg@3": (1 + 2 / math.log2(3)) / (3 + 2 / math.log2(3) + 0.5),
        },
        level=2,
    ),
    case(
        "level-02",
        {"a": 1, "b": 2, "c": 2, "d": 3},
        ["b", "a", "d"],
        {"success@2": 0, "mrr": 1 / 3, "recall@2": 0, "judged@2": 1},
        level=3,
    ),
    case("dup-03", ["a", "a"], ["a"], {"recall@1": 1, "ndcg@1": 1, "ap@1": 1}),
    case(
        "ap-01",
        {"a": 1, "b": 1, "c": 1},
        ["a", "x", "b"],
        {"ap@3": (1 + 2 / 3) / 3, "context_precision@3": (1 + 2 / 3) / 2},
    ),
    case(
        "rr-01",
        {"b": 1, "d": 1, "e": 1},
        ["a", "b", "c", "d", "e"],
        {"mrr": 1 / 2, "ap": (1 / 2 + 2 / 4 + 3 / 5) / 3},
    ),
    case("rr-02", {"z": 1}, ["a", "b", "c", "z"], {"mrr@3": 0, "mrr@4": 1 / 4, "mrr": 1 / 4}),
    case(
        "rec-01",
        dict.fromkeys("abcd", 1),
        ["b", "a", "u", "v"],
        {"recall@1": 1 / 4, "recall@2": 1 / 2, "recall@4": 1 / 2, "success@1": 1},
    ),
    case("prec-01", {"a": 1, "b": 1}, ["a"], {"precision@5": 1 / 5}),
    case("prec-01-empty", {"a": 1}, [], {"precision@5": 0}),
    case(
        "prec-02",
        {"a": 1, "b": 1},
        ["x", "a", "b"],
        {
            "precision@3": 2 / 3,
            "context_precision@3": (1 / 2 + 2 / 3) / 2,
            "ap@3": (1 / 2 + 2 / 3) / 2,
        },
    ),
    case("judged-01", {"a": 1, "n": 0}, ["a", "u", "n"], {"judged@10": 2 / 3, "precision@10": 1 / 10}),
    case("cp-01", ["g"], ["x", "g"], {"context_precision@2": 1 / 2}),
    case("cp-02", ["a", "b", "c"], ["a", "b", "c"], {"context_precision@3": 1}),
    case("cp-02-none", ["a", "b", "c"], ["x"], {"context_precision@3": 0}),
    case(
        "cp-03",
        ["a", "c"],
        ["a", "b", "c"],
        {"context_precision@3": (1 + 2 / 3) / 2, "precision@3": 2 / 3},
    ),
    case("id-01", {"q": 1, "8": 1}, ["q", "8"], {"recall@2": 1, "ndcg@2": 1}),
]


@pytest.mark.parametrize("grades, ranking, level, expected", CASES)
def test_public_cases(grades, ranking, level, expected):
    for measure, value in expected.items():
        assert score(measure, grades, ranking, level) == pytest.approx(value, abs=1e-12, nan_ok=True), measure


def test_cp_02_a_perfect_context_is_exactly_one():
    assert score("context_precision@3", ["a", "b", "c"], ["a", "b", "c"]) == 1.0


DUPLICATED = {"recall@3": 1 / 2, "precision@3": 1 / 3, "ap@3": 1 / 2, "ndcg@3": 1 / (1 + 1 / math.log2(3))}


@pytest.mark.parametrize("duplicates", ["no_credit", "collapse"])
@pytest.mark.parametrize("measure, value", DUPLICATED.items())
def test_dup_01_a_repeat_earns_nothing(duplicates, measure, value):
    assert score(measure, {"a": 1, "b": 1}, ["a", "a", "x"], duplicates=duplicates) == pytest.approx(value)


REFUNDS = Qrels({"q1": ["c12"], "q2": ["c88"], "q3": ["c15", "c16"], "q4": ["c51"], "q5": ["c23", "c24"]})
REFUND_RUN = Run(
    {
        "q1": ["c12", "c07", "c31", "c02", "c44"],
        "q2": ["c90", "c91", "c17", "c88", "c03"],
        "q3": ["c15", "c40", "c41", "c42", "c43"],
        "q4": ["c60", "c61", "c62", "c63", "c64"],
        "q5": ["c23", "c24", "c09", "c10", "c11"],
    }
)


def test_five_refund_queries():
    table = evaluate(REFUNDS, REFUND_RUN, ["recall@5", "precision@5", "mrr"])
    assert dict(table.mean()) == pytest.approx({"recall@5": 0.70, "precision@5": 0.20, "mrr": 0.65})
    assert table["recall@5"].tolist() == [1, 1, 0.5, 0, 1]
    assert table["mrr"].tolist() == [1, 0.25, 1, 0, 1]


class TestNdcg:
    def test_level_plays_no_part(self):
        for level in (1, 2, 3):
            assert score("ndcg@2", {"a": 1, "b": 3}, ["a", "b"], level) == pytest.approx(
                (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
            )

    def test_defined_by_gain_and_not_by_level(self):
        assert score("ndcg@2", {"a": 1}, ["a"], level=3) == 1.0
        assert math.isnan(score("recall@2", {"a": 1}, ["a"], level=3))

    def test_undefined_without_gain(self):
        assert math.isnan(score("ndcg@2", {"a": 0, "b": -1}, ["a"]))

    def test_ideal_is_cut_at_k(self):
        assert score("ndcg@1", {"a": 1, "b": 1}, ["a"]) == 1.0

    def test_without_cutoff_the_whole_ranking_counts(self):
        ranking = [f"x{n}" for n in range(14)] + ["a"]
        assert score("ndcg", {"a": 1}, ranking) == 1 / math.log2(16)

    def test_exponential_gain_ignores_the_level_of_another_measure(self):
        assert score("ndcg(gain=exp)@2", {"a": 1, "b": 2}, ["a", "b"], level=2) == pytest.approx(
            (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
        )

    def test_grades_beyond_floats_are_refused_for_exponential_gain_only(self):
        grades = {"a": 2000, "b": 1}
        assert score("ndcg@1", grades, ["a"]) == 1.0
        with pytest.raises(InputError, match=r"grade 2000 gains more .* up to 1000"):
            score("ndcg(gain=exp)@1", grades, ["a"])
        assert score("ndcg(gain=exp)@1", {"a": 1000, "b": 999}, ["b"]) == pytest.approx(0.5)


class TestContextPrecision:
    def test_one_more_found_can_lower_it(self):
        relevant = ["a", "b"]
        assert score("context_precision@5", relevant, ["a", "x", "y", "z", "w"]) == 1.0
        assert score("context_precision@5", relevant, ["a", "x", "y", "z", "b"]) == pytest.approx(0.7)

    def test_context_recall_is_recall(self):
        assert score("context_recall@2", ["a", "b", "c", "d"], ["a", "x", "b"]) == 1 / 4


class TestComplete:
    @pytest.mark.parametrize("ranking, value", [(["a", "x", "b"], 1), (["a", "x"], 0), (["b"], 0)])
    def test_all_relevant_or_nothing(self, ranking, value):
        assert score("complete@3", ["a", "b"], ranking) == value

    def test_cut(self):
        assert score("complete@2", ["a", "b"], ["a", "x", "b"]) == 0


class TestJudged:
    def test_undefined_where_nothing_was_returned_or_the_query_is_missing(self):
        table = evaluate(Qrels({"q1": ["a"], "q2": ["a"]}), Run({"q1": []}), ["judged@2"])
        assert table.undefined == {"judged@2": ("q1", "q2")}

    def test_defined_without_a_relevant_document(self):
        assert score("judged@2", {"a": 0}, ["a", "x"]) == 1 / 2

    def test_negative_grades_are_judged_at_any_level(self):
        assert score("judged@2", {"a": -1, "b": 1}, ["a", "b"], level=3) == 1.0


class TestGroupRecall:
    GRADES = {"a1": 1, "a2": 1, "b1": 1, "b2": 0, "c1": 0}  # noqa: RUF012
    GROUPS = {"q": {"a1": "A", "a2": "A", "b1": "B", "b2": "B", "c1": "C"}}  # noqa: RUF012

    def scored(self, ranking, measure="group_recall@2"):
        qrels = Qrels({"q": self.GRADES}, groups=self.GROUPS)
        table = evaluate(qrels, Run({"q": ranking}), [measure])
        return table.values[0, 0], table.attainable[0, 0]

    @pytest.mark.parametrize(
        "ranking, value",
        [
            (["a1", "a2"], 1 / 2),  # the same group twice
            (["a2", "b1"], 1),
            (["a1", "b2"], 1 / 2),  # of the group, but not relevant
            (["x", "y", "a1"], 0),  # beyond the cut
            ([], 0),
        ],
    )
    def test_groups_found_over_groups_with_something_relevant(self, ranking, value):
        assert self.scored(ranking)[0] == value

    def test_attainable(self):
        assert self.scored([], "group_recall@1")[1] == 1 / 2
        assert self.scored([], "group_recall@2")[1] == 1.0

    def test_same_group_name_in_two_queries_is_two_groups(self):
        qrels = Qrels(
            {"q1": ["a"], "q2": ["b"]},
            groups={"q1": {"a": "G"}, "q2": {"b": "G"}},
        )
        table = evaluate(qrels, Run({"q1": ["a"], "q2": ["x"]}), ["group_recall@1"])
        assert table["group_recall@1"].tolist() == [1.0, 0.0]

    def test_document_without_a_group_is_its_own(self):
        qrels = Qrels({"q": ["a", "b", "c"]}, groups={"q": {"a": "G", "b": "G"}})
        table = evaluate(qrels, Run({"q": ["a", "b"]}), ["group_recall@2"])
        assert table.values[0, 0] == 1 / 2

    def test_needs_groups(self):
        with pytest.raises(InputError, match=r"group_recall needs judgments with groups.*groups = true"):
            score("group_recall@2", ["a"], ["a"])

    def test_undefined_without_relevant(self):
        qrels = Qrels({"q": {"a": 0}}, groups={"q": {"a": "G"}})
        assert math.isnan(evaluate(qrels, Run({"q": ["a"]}), ["group_recall@1"]).values[0, 0])


class TestAttainable:
    @pytest.mark.parametrize(
        "measure, relevant, value",
        [
            ("recall@5", 170, 5 / 170),
            ("context_recall@5", 170, 5 / 170),
            ("ap@5", 170, 5 / 170),
            ("recall@5", 3, 1),
            ("precision@5", 1, 1 / 5),
            ("precision@5", 7, 1),
            ("complete@5", 5, 1),
            ("complete@5", 6, 0),
            ("mrr@5", 170, 1),
            ("ap", 170, 1),
            ("ndcg@5", 170, 1),
            ("success@1", 170, 1),
            ("context_precision@5", 170, 1),
            ("judged@5", 170, 1),
        ],
    )
    def test_best_any_ranking_could_get(self, measure, relevant, value):
        assert attainable(measure, [f"d{n}" for n in range(relevant)]) == value

    def test_undefined_where_the_measure_is(self):
        assert math.isnan(attainable("recall@5", {}))

    def test_follows_the_level_of_the_measure(self):
        assert attainable("precision(rel=2)@2", {"a": 1, "b": 2}) == 1 / 2


class TestNoRelevantItem:
    @pytest.mark.parametrize("grades", [{}, {"b": 0}, {"b": -1}], ids=["no judgments", "grade 0", "negative"])
    @pytest.mark.parametrize("kind", [name for name in KINDS if name not in ("judged", *NEEDY)])
    def test_undefined(self, kind, grades):
        assert math.isnan(score(f"{kind}@3", grades, ["b"]))


class TestMeasureKind:
    def test_every_kind_says_what_and_whence(self):
        for name, kind in KINDS.items():
            assert name == kind.name
            assert kind.summary
            assert kind.source
            assert kind.higher_is_better

    def test_hashable(self):
        assert len({*KINDS.values(), *KINDS.values()}) == len(KINDS)

    @pytest.mark.parametrize("name", ["First", "my-measure", "1st", "", "re call", "recall@5"])
    def test_name_that_could_not_be_written(self, name):
        with pytest.raises(MeasureError, match="allowed are lower-case letters, digits and _"):
            MeasureKind(name, lambda judged, k: judged.lengths, "summary", "ours")

    def test_cutoff_is_one_of_three(self):
        with pytest.raises(MeasureError, match=r"'own'.*'optionl'.*'required', 'optional', 'none'"):
            MeasureKind("own", lambda judged, k: judged.lengths, "summary", "ours", cutoff="optionl")


def test_measures_of_many_queries_do_not_mix():
    qrels = Qrels({"q1": ["a"], "q2": {}, "q3": {"a": 1, "b": 2}, "q4": ["a"]})
    run = Run({"q4": ["a"], "q3": ["x", "b", "a"], "q1": ["x", "a"]})
    table = evaluate(qrels, run, ["mrr", "ap", "recall@2", "ndcg@3"])
    assert table["mrr"].tolist() == pytest.approx([1 / 2, math.nan, 1 / 2, 1], nan_ok=True)
    assert table["ap"].tolist() == pytest.approx([1 / 2, math.nan, (1 / 2 + 2 / 3) / 2, 1], nan_ok=True)
    assert table["recall@2"].tolist() == pytest.approx([1, math.nan, 1 / 2, 1], nan_ok=True)
    ndcg = (2 / math.log2(3) + 1 / 2) / (2 + 1 / math.log2(3))
    assert table["ndcg@3"].tolist() == pytest.approx([1 / math.log2(3), math.nan, ndcg, 1], nan_ok=True)


def test_scores_of_a_join_without_queries_are_empty():
    judged = join(Qrels({}), Run({}))
    for name, kind in KINDS.items():
        if name not in NEEDY:
            assert kind.score(judged, 3).shape == (0,)
    grouped = join(Qrels({}, groups={}), Run({}))
    assert KINDS["group_recall"].score(grouped, 3).shape == (0,)
    spanned = join(Qrels.from_spans(Spans({}, {})), Run({}))
    assert KINDS["span_recall"].score(spanned, 3).shape == (0,)
