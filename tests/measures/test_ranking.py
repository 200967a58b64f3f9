"""The join of rankings with judgments, and what ties do to a cut."""

import numpy as np
import pytest

from pytest_retrieval.errors import DuplicateDocumentError, InputError, QueryMismatchError
from pytest_retrieval.measures.ranking import join, ranks_of, straddling, tie_sensitivity, tied_at
from pytest_retrieval.measures.table import evaluate
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Run


class TestJoin:
    def test_keeps_judged_rows_by_query_and_rank(self):
        judged = join(
            Qrels({"q1": {"a": 2, "b": 0}, "q2": {"a": 1}}, 2),
            Run({"q2": ["u", "a"], "q1": ["b", "u", "a"]}),
        )
        assert judged.query_ids == ("q1", "q2")
        assert judged.level == 2
        assert judged.hit_query.tolist() == [0, 0, 1]
        assert judged.hit_rank.tolist() == [1, 3, 2]
        assert judged.hit_grade.tolist() == [0, 2, 1]
        assert judged.lengths.tolist() == [3, 2]
        assert judged.gold_query.tolist() == [0, 0, 1]
        assert judged.relevant().tolist() == [1, 0]
        assert judged.at_level(1).relevant().tolist() == [1, 1]
        assert not judged.has_groups

    def test_document_judged_for_another_query_is_unjudged_here(self):
        judged = join(Qrels({"q1": ["a"], "q2": ["b"]}), Run({"q1": ["b"], "q2": ["a"]}))
        assert judged.hit_rank.tolist() == []

    def test_document_judged_for_two_queries_keeps_both_grades(self):
        judged = join(Qrels({"q1": {"a": 1}, "q2": {"a": 3}}), Run({"q1": ["a"], "q2": ["a"]}))
        assert judged.hit_grade.tolist() == [1, 3]

    def test_cover_01_missing_query_is_named(self):
        qrels = Qrels({"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}})
        table = evaluate(qrels, Run({"q1": ["a"], "q3": ["x", "c"]}), ["rr@5"])
        assert table["rr@5"].to_dict() == {"q1": 1.0, "q2": 0.0, "q3": 0.5}
        assert table.mean()["rr@5"] == 0.5
        assert table.missing == ("q2",)

    def test_answered_with_nothing_is_not_missing(self):
        judged = join(Qrels({"q1": ["a"], "q2": ["a"]}), Run({"q1": []}))
        assert judged.missing == ("q2",)
        assert judged.lengths.tolist() == [0, 0]

    def test_cover_02_queries_that_do_not_meet_are_named_on_both_sides(self):
        with pytest.raises(
            QueryMismatchError,
            match=r"answers 1 query that the qrels do not judge: q02; .* judge 1 that .* answer: q2\. Mend",
        ):
            join(Qrels({"q1": ["a"], "q2": ["a"]}), Run({"q1": ["a"], "q02": ["a"]}))

    def test_only_unknown_queries(self):
        with pytest.raises(QueryMismatchError, match=r"answers 2 queries .*: q8, q9; .*: none\. Mend"):
            join(Qrels({"q1": ["a"]}), Run({"q1": ["a"], "q8": [], "q9": ["a"]}))

    def test_unknown_queries_ignored_change_nothing(self):
        qrels = Qrels({"q1": ["a", "b"], "q2": ["a"]})
        known = Run({"q1": ["x", "a"], "q2": ["a"]})
        more = Run({"q0": ["a", "a"], "q1": ["x", "a"], "q9": ["b"], "q2": ["a"]})
        for duplicates in ("error", "no_credit", "collapse"):
            alone = join(qrels, known, duplicates=duplicates)
            among = join(qrels, more, duplicates=duplicates, unknown_queries="ignore")
            for name in ("lengths", "hit_query", "hit_rank", "hit_grade"):
                np.testing.assert_array_equal(getattr(among, name), getattr(alone, name))

    def test_run_without_queries(self):
        judged = join(Qrels({"q": ["a"]}), Run({}))
        assert judged.missing == ("q",)
        assert judged.hit_rank.tolist() == []

    def test_judgments_without_documents(self):
        judged = join(Qrels({"q": {}}), Run({"q": ["a", "b"]}))
        assert judged.lengths.tolist() == [2]
        assert judged.hit_rank.tolist() == []
        assert judged.relevant().tolist() == [0]

    def test_groups_count_as_named(self):
        qrels = Qrels({"q": ["a", "b", "c"]}, groups={"q": {"a": "G", "b": "G", "c": "H"}})
        judged = join(qrels, Run({"q": ["b", "c", "a"]}))
        assert judged.has_groups
        first, second, third = judged.hit_group.tolist()
        assert first == third != second

    @pytest.mark.parametrize(
        "options, message",
        [
            ({"duplicates": "drop"}, r"duplicates is 'drop'; allowed are 'error', 'no_credit', 'collapse'"),
            ({"unknown_queries": "drop"}, r"unknown_queries is 'drop'; allowed are 'error', 'ignore'"),
        ],
    )
    def test_unknown_option(self, options, message):
        with pytest.raises(InputError, match=message):
            join(Qrels({}), Run({}), **options)

    def test_plain_dicts_are_told_what_to_do(self):
        with pytest.raises(InputError, match=r"qrels is of type dict; allowed is Qrels, as in Qrels\("):
            join({"q": {"a": 1}}, Run({}))
        with pytest.raises(InputError, match=r"run is of type dict; allowed is Run, as in Run\("):
            join(Qrels({}), {"q": ["a"]})


class TestDuplicates:
    QRELS = Qrels({"q1": ["a", "b"], "q2": ["c"]})
    RUN = Run({"q1": ["a", "a", "x", "b", "x"], "q2": ["y", "c"]})

    def test_dup_01_error_names_id_and_ranks(self):
        with pytest.raises(
            DuplicateDocumentError,
            match=r"1 ranking names a document .*: query 'q': id 'a' at ranks 1 and 2\. .*'no_credit' or",
        ):
            join(Qrels({"q": {"a": 1, "b": 1}}), Run({"q": ["a", "a", "x"]}))

    def test_unjudged_repeats_are_errors_too(self):
        with pytest.raises(DuplicateDocumentError, match=r"id 'x' at ranks 1 and 2 and 4"):
            join(Qrels({"q": ["a"]}), Run({"q": ["x", "x", "a", "x"]}))

    def test_every_query_is_counted_and_the_first_are_named(self):
        queries = [f"q{number}" for number in range(7)]
        with pytest.raises(
            DuplicateDocumentError, match=r"7 rankings name a document .*'q4'.* and 2 more\. "
        ):
            join(Qrels({query: ["a"] for query in queries}), Run({query: ["a", "a"] for query in queries}))

    def test_same_document_in_two_queries_is_no_repeat(self):
        assert join(Qrels({"q1": ["a"], "q2": ["a"]}), Run({"q1": ["a"], "q2": ["a"]})).lengths.tolist() == [
            1,
            1,
        ]

    def test_no_credit_keeps_the_rank(self):
        judged = join(self.QRELS, self.RUN, duplicates="no_credit")
        assert judged.hit_rank.tolist() == [1, 4, 2]
        assert judged.lengths.tolist() == [5, 2]

    def test_collapse_moves_up(self):
        judged = join(self.QRELS, self.RUN, duplicates="collapse")
        assert judged.hit_rank.tolist() == [1, 3, 2]
        assert judged.lengths.tolist() == [3, 2]

    def test_collapse_equals_the_list_without_repeats(self):
        once = Run({query: list(dict.fromkeys(ranking)) for query, ranking in self.RUN.items()})
        measures = ["recall@2", "precision@3", "ap", "ndcg@3", "judged@3", "mrr", "context_precision@4"]
        collapsed = evaluate(self.QRELS, self.RUN, measures, duplicates="collapse")
        np.testing.assert_array_equal(collapsed.values, evaluate(self.QRELS, once, measures).values)

    def test_collapse_of_every_row(self):
        judged = join(Qrels({"q": ["a"]}), Run({"q": ["a"] * 4}), duplicates="collapse")
        assert judged.lengths.tolist() == [1]


class TestTies:
    TIE_05 = Run({"q": {"a": 0.81, "b": 0.8, "c": 0.8, "d": 0.8, "e": 0.7}})

    def test_tie_05_group_across_the_cut_is_named(self):
        assert straddling(self.TIE_05, 2) == ("q",)
        assert tied_at(self.TIE_05, "q", 2) == ("b", "c", "d")

    @pytest.mark.parametrize("k, expected", [(1, ()), (2, ("q",)), (3, ("q",)), (4, ()), (5, ()), (9, ())])
    def test_straddling(self, k, expected):
        assert straddling(self.TIE_05, k) == expected
        assert bool(tied_at(self.TIE_05, "q", k)) == bool(expected)
        assert tie_sensitivity(self.TIE_05, k) == expected

    def test_each_query_by_itself(self):
        run = Run({"q1": {"a": 1.0}, "q2": {"a": 1.0, "b": 1.0}, "q3": {"a": 2.0, "b": 1.0}, "q4": {}})
        assert straddling(run, 1) == ("q2",)
        assert tie_sensitivity(run, 1) == ("q2",)

    def test_rankings_without_scores_have_no_ties(self):
        run = Run({"q": ["a", "b"]})
        assert straddling(run, 1) == ()
        assert tied_at(run, "q", 1) == ()
        assert tie_sensitivity(run, 1) == ()

    def test_query_without_scores_beside_one_with(self):
        run = Run({"q1": ["a", "b", "c"], "q2": {"a": 1.0, "b": 1.0}})
        assert straddling(run, 1) == ("q2",)
        assert tie_sensitivity(run, 1) == ("q2",)

    @pytest.mark.parametrize("k", [0, -1, 2.5, True])
    def test_in_02_k_is_a_whole_number_of_at_least_1(self, k):
        with pytest.raises(InputError, match="whole number of at least 1"):
            tie_sensitivity(self.TIE_05, k)

    @pytest.mark.parametrize("k", [0, -1, 2.5, True])
    @pytest.mark.parametrize("function", [straddling, lambda run, k: tied_at(run, "q", k)])
    def test_in_02_for_the_other_two(self, function, k):
        with pytest.raises(InputError, match="whole number of at least 1"):
            function(self.TIE_05, k)


def test_ranks_of_keeps_the_first_rank_of_a_repeat():
    assert ranks_of(["b", "a", "b"]) == {"b": 1, "a": 2}
