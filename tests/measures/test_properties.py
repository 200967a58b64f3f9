"""What holds for every input: agreement with trec_eval, and the invariants of the measures."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_retrieval.measures.rank import KINDS
from pytest_retrieval.measures.ranking import straddling, tie_sensitivity
from pytest_retrieval.measures.table import evaluate
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Run

DOCUMENTS = [f"d{number}" for number in range(12)] + ["D1", "é", "语", "d", "10", "9"]
QUERIES = ["q1", "q2", "q10", "Q1", "d1"]
CUTS = (1, 2, 3, 5, 20)
checked = settings(deadline=None, max_examples=150)

doc_ids = st.sampled_from(DOCUMENTS)
grades = st.integers(-2, 4)
# Quarters are exact as float32, which trec_eval rounds scores to; so few of them make many ties.
scores = st.integers(-6, 6).map(lambda number: number / 4)
judgments = st.dictionaries(
    st.sampled_from(QUERIES), st.dictionaries(doc_ids, grades, max_size=8), min_size=1
)
rankings = st.dictionaries(st.sampled_from(QUERIES), st.dictionaries(doc_ids, scores, max_size=15))
levels = st.integers(1, 3)


def names_at(k):
    return [f"{kind}@{k}" for kind in KINDS if kind not in ("group_recall", "span_recall")]


ALL = [*names_at(1), *names_at(4), "mrr", "ap", "ndcg", "ndcg(gain=exp)@4", "ndcg(gain=exp)"]


def scored(qrels, run, level=1, measures=ALL, **options):
    return evaluate(Qrels(qrels, level), Run(run), measures, unknown_queries="ignore", **options)


THEIRS = {
    **{f"recall@{k}": f"recall_{k}" for k in CUTS},
    **{f"precision@{k}": f"P_{k}" for k in CUTS},
    **{f"ndcg@{k}": f"ndcg_cut_{k}" for k in CUTS},
    **{f"ap@{k}": f"map_cut_{k}" for k in CUTS},
    **{f"success@{k}": f"success_{k}" for k in CUTS},
    "mrr": "recip_rank",
    "ap": "map",
    "ndcg": "ndcg",
}


@checked
@given(judgments, rankings, levels)
def test_agrees_with_trec_eval(qrels, run, level):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    cuts = ",".join(map(str, CUTS))
    wanted = {f"{name}.{cuts}" for name in ("recall", "P", "ndcg_cut", "map_cut", "success")}
    # trec_eval writes past its arrays where every grade of a query is negative; one more judgment of grade 0,
    # of a document that nobody returns, changes no value.
    padded = {query: {**graded, "nowhere": 0} for query, graded in qrels.items()}
    evaluator = pytrec_eval.RelevanceEvaluator(
        padded, wanted | {"recip_rank", "map", "ndcg"}, relevance_level=level
    )
    theirs = evaluator.evaluate(run)
    frame = scored(qrels, run, level, list(THEIRS)).to_frame()
    for query_id in qrels:
        for ours, name in THEIRS.items():
            score = frame.at[query_id, ours]
            if math.isnan(score):  # 0/0: trec_eval says 0
                assert theirs.get(query_id, {}).get(name, 0.0) == 0.0
            elif query_id in run:
                assert score == pytest.approx(theirs[query_id][name], abs=1e-9), (query_id, ours)
            else:  # trec_eval -c
                assert score == 0.0


@checked
@given(judgments, rankings, levels)
def test_undefined_exactly_where_nothing_can_be_found(qrels, run, level):
    frame = scored(qrels, run, level).to_frame()
    for query_id, graded in qrels.items():
        best = max(graded.values(), default=0)
        for name in frame:
            kind = name.partition("@")[0]
            if kind == "judged":
                expected = not run.get(query_id)
            else:
                expected = best < (1 if kind.startswith("ndcg") else level)
            assert math.isnan(frame.at[query_id, name]) == expected, (query_id, name)


@checked
@given(judgments, rankings, levels)
def test_scores_lie_between_0_and_the_attainable(qrels, run, level):
    table = scored(qrels, run, level)
    defined = ~np.isnan(table.values)
    assert (table.values[defined] >= 0).all()
    assert (table.values[defined] <= table.attainable[defined]).all()
    assert (table.attainable[~np.isnan(table.attainable)] <= 1).all()


@checked
@given(judgments, levels)
def test_best_ranking_attains_the_attainable(qrels, level):
    best = {query: sorted(graded, key=lambda doc: -graded[doc]) for query, graded in qrels.items()}
    table = scored(qrels, best, level)
    reached = np.where(np.isnan(table.values), np.nan, table.attainable)
    np.testing.assert_allclose(table.values, reached, rtol=0, atol=1e-12)


@checked
@given(judgments, rankings, levels)
def test_never_falls_as_k_grows(qrels, run, level):
    for kind in ("recall", "success", "complete", "ap", "mrr"):
        table = scored(qrels, run, level, [f"{kind}@{k}" for k in CUTS])
        steps = np.diff(table.values, axis=1)
        assert (steps[~np.isnan(steps)] >= 0).all(), kind


@checked
@given(judgments, rankings, levels, st.randoms(use_true_random=False))
def test_order_of_mappings_plays_no_part(qrels, run, level, random):
    def shuffled(mapping):
        items = list(mapping.items())
        random.shuffle(items)
        return dict(items)

    first = scored(qrels, run, level)
    second = scored(
        shuffled({query: shuffled(graded) for query, graded in qrels.items()}),
        shuffled({query: shuffled(scores) for query, scores in run.items()}),
        level,
    )
    for row, query_id in enumerate(first.query_ids):
        np.testing.assert_array_equal(first.values[row], second.values[second.query_ids.index(query_id)])
    np.testing.assert_array_equal(list(first.mean().values()), list(second.mean().values()))


@checked
@given(judgments, rankings, levels)
def test_inputs_are_left_alone(qrels, run, level):
    before = copy.deepcopy((qrels, run))
    frozen = Qrels(qrels, level), Run(run)
    evaluate(*frozen, ALL, unknown_queries="ignore")
    assert (qrels, run) == before
    assert dict(frozen[0]) == qrels
    assert {query: set(frozen[1][query]) for query in run} == {
        query: set(found) for query, found in run.items()
    }


@checked
@given(judgments, rankings, levels)
def test_ap_is_context_precision_where_everything_was_found(qrels, run, level):
    frame = scored(qrels, run, level, ["recall@20", "ap@20", "context_precision@20"]).to_frame()
    complete = frame[frame["recall@20"] == 1]
    np.testing.assert_allclose(complete["ap@20"], complete["context_precision@20"], rtol=0, atol=1e-12)


lists = st.dictionaries(st.sampled_from(QUERIES), st.lists(doc_ids, max_size=15))


@checked
@given(judgments, lists, levels)
def test_collapse_is_the_list_without_repeats(qrels, run, level):
    once = {query: list(dict.fromkeys(ranking)) for query, ranking in run.items()}
    collapsed = scored(qrels, run, level, duplicates="collapse")
    np.testing.assert_array_equal(collapsed.values, scored(qrels, once, level).values)


@checked
@given(judgments, lists, levels)
def test_no_credit_is_a_repeat_replaced_by_a_stranger(qrels, run, level):
    replaced = {
        query: [
            doc if doc not in ranking[:place] else f"stranger {place}" for place, doc in enumerate(ranking)
        ]
        for query, ranking in run.items()
    }
    no_credit = scored(qrels, run, level, duplicates="no_credit")
    np.testing.assert_array_equal(no_credit.values, scored(qrels, replaced, level).values)


@checked
@given(judgments, rankings, levels)
def test_a_list_of_pairs_in_order_scores_as_its_mapping(qrels, run, level):
    ordered = Run(run)
    pairs = {query: ordered.scored(query) for query in ordered}
    np.testing.assert_array_equal(scored(qrels, run, level).values, scored(qrels, pairs, level).values)


@checked
@given(judgments, rankings, levels)
def test_group_recall_of_single_documents_is_recall(qrels, run, level):
    grouped = Qrels(qrels, level, groups={})
    table = evaluate(grouped, Run(run), ["group_recall@3", "recall@3"], unknown_queries="ignore")
    np.testing.assert_array_equal(table.values[:, 0], table.values[:, 1])
    np.testing.assert_array_equal(table.attainable[:, 0], table.attainable[:, 1])


@checked
@given(judgments, rankings, levels)
def test_group_recall_by_counting_sets(qrels, run, level):
    groups = {query: {doc: doc[-1] for doc in graded} for query, graded in qrels.items()}
    table = evaluate(
        Qrels(qrels, level, groups=groups), Run(run), ["group_recall@3"], unknown_queries="ignore"
    )
    ordered = Run(run)
    for query_id, graded in qrels.items():
        wanted = {groups[query_id][doc] for doc, grade in graded.items() if grade >= level}
        top = ordered.get(query_id, ())[:3]
        found = {groups[query_id][doc] for doc in top if graded.get(doc, 0) >= level}
        expected = len(found) / len(wanted) if wanted else math.nan
        assert table["group_recall@3"][query_id] == pytest.approx(expected, nan_ok=True)


@checked
@given(rankings, st.integers(1, 6))
def test_tie_sensitivity_by_sorting_twice(run, k):
    def top(scores, reverse):
        ids = sorted(scores, reverse=reverse)
        return set(sorted(ids, key=lambda doc: -scores[doc])[:k])

    expected = [query for query, found in run.items() if top(found, False) != top(found, True)]
    assert list(tie_sensitivity(Run(run), k)) == expected
    # Every tie across the cut changes the set and nothing else does: ids are distinct.
    assert list(straddling(Run(run), k)) == expected
