"""Judgments, rankings and gold sets check what they are made of, and then stay as they are."""

import copy
import dataclasses
import math
import pickle

import numpy as np
import pandas as pd
import pytest

from pytest_retrieval.errors import InputError
from pytest_retrieval.model import Digests, GoldSet, Qrels, Run, Subject, objects

GRADES = {"q1": {"a": 2, "b": 0}, "q2": {}, "q3": {"a": -1}}


class TestQrels:
    def test_a_mapping(self):
        qrels = Qrels(GRADES, 2)
        assert dict(qrels) == GRADES
        assert qrels == GRADES
        assert list(qrels) == ["q1", "q2", "q3"]
        assert len(qrels) == 3
        assert "q2" in qrels
        assert "q9" not in qrels
        assert 1 not in qrels
        with pytest.raises(KeyError):
            qrels["q9"]
        assert repr(qrels) == "<Qrels: 3 queries, 3 judgments, relevant from grade 2>"

    def test_columns(self):
        qrels = Qrels(GRADES)
        assert qrels.starts.tolist() == [0, 2, 2, 3]
        assert qrels.doc_ids.tolist() == ["a", "b", "a"]
        assert qrels.grades.tolist() == [2, 0, -1]
        assert (qrels.starts.dtype, qrels.grades.dtype) == (np.int64, np.int64)
        assert qrels.groups is None

    def test_no_queries(self):
        assert len(Qrels({})) == 0
        assert dict(Qrels({}).select([])) == {}

    def test_id_03_whole_grades_are_taken_as_integers(self):
        qrels = Qrels({"q": {"b": 2.0, "c": np.int64(1), "d": np.float32(3)}})
        assert qrels["q"] == {"b": 2, "c": 1, "d": 3}
        assert all(type(grade) is int for grade in qrels["q"].values())

    @pytest.mark.parametrize("grade", [0.5, "1", "x", None, True, math.nan, math.inf, [1]], ids=repr)
    def test_id_03_anything_else_is_refused(self, grade):
        with pytest.raises(InputError, match=r"grade .* of document 'a' in query 'q' is not a whole number"):
            Qrels({"q": {"a": grade}})

    @pytest.mark.parametrize("grade", [2**53, -(2**53), 1e300, 10**400])
    def test_grades_that_no_column_holds(self, grade):
        with pytest.raises(InputError, match=r"of document 'a' in query 'q' is too large; allowed are"):
            Qrels({"q": {"a": grade}})

    def test_lists_mean_relevant_at_the_level(self):
        assert Qrels({"q": ["a", "b"]}, 3)["q"] == {"a": 3, "b": 3}
        assert Qrels({"q": ("a" for _ in range(1))})["q"] == {"a": 1}

    def test_dup_03_document_named_twice_is_one(self):
        assert Qrels({"q": ["a", "a"]})["q"] == {"a": 1}

    @pytest.mark.parametrize("judgments", ["a", 5, None], ids=repr)
    def test_judgments_of_one_query_of_another_type(self, judgments):
        with pytest.raises(InputError, match=r"judgments of query 'q' are .*allowed are a mapping"):
            Qrels({"q": judgments})

    @pytest.mark.parametrize("judgments", [[("q", "a", 1)], "q", None], ids=repr)
    def test_no_mapping_at_all(self, judgments):
        with pytest.raises(InputError, match=r"judgments are of type .*; allowed is a mapping \{query_id"):
            Qrels(judgments)

    @pytest.mark.parametrize(
        "judgments, message",
        [
            ({1: {}}, "query_id 1 is of type int; ids are strings"),
            ({"": {}}, "empty query_id; an id is a string of at least one character"),
            ({"q": {7: 1}}, "doc_id 7 in query 'q' is of type int"),
            ({"q": {"": 1}}, "empty doc_id in query 'q'"),
            ({"q": [None]}, "doc_id None in query 'q' is of type NoneType"),
        ],
    )
    def test_ids_are_strings(self, judgments, message):
        with pytest.raises(InputError, match=message):
            Qrels(judgments)

    @pytest.mark.parametrize("level", [0, -1, 1.0, True, "1", None], ids=repr)
    def test_level_is_a_whole_number_of_at_least_1(self, level):
        with pytest.raises(InputError, match=r"relevance_level is .*whole number of at least 1"):
            Qrels({}, level)
        with pytest.raises(InputError, match=r"relevance_level is"):
            Qrels.from_columns((), np.zeros(1, int), objects([]), np.zeros(0, int), relevance_level=level)

    def test_level_of_numpy(self):
        assert type(Qrels({}, np.int64(2)).relevance_level) is int

    def test_relevant(self):
        assert Qrels({"q": {"a": 2, "b": 1, "c": 3}}, 2).relevant("q") == {"a": 2, "c": 3}

    def test_groups(self):
        qrels = Qrels({"q1": ["a", "b"], "q2": ["a"]}, groups={"q1": {"a": "G"}})
        assert qrels.groups.tolist() == ["G", "b", "a"]
        assert qrels.select(["q2", "q1"]).groups.tolist() == ["a", "G", "b"]

    def test_select(self):
        qrels = Qrels(
            GRADES,
            2,
            strata={"q1": "s", "q2": "t", "q3": "t"},
            splits={"q1": "train"},
            slices={"q1": ["new"]},
            unanswerable=["q2"],
        )
        some = qrels.select(["q3", "q1", "q3"])
        assert list(some) == ["q3", "q1"]
        assert dict(some) == {"q3": {"a": -1}, "q1": {"a": 2, "b": 0}}
        assert some.relevance_level == 2
        assert some.strata == qrels.strata
        assert some.splits == {"q1": "train"}
        assert some.slices == {"q1": ("new",)}
        assert some.unanswerable == {"q2"}

    def test_select_of_an_unknown_query(self):
        with pytest.raises(KeyError, match="q9"):
            Qrels(GRADES).select(["q9"])


class TestRun:
    def test_a_mapping(self):
        run = Run({"q1": ["b", "a"], "q2": []}, "bm25")
        assert dict(run) == {"q1": ("b", "a"), "q2": ()}
        assert "q2" in run
        assert "q9" not in run
        assert len(run) == 2
        assert run.get("q9", ()) == ()
        with pytest.raises(KeyError):
            run["q9"]
        assert repr(run) == "<Run 'bm25': 2 queries, 2 documents>"
        assert repr(Run({})) == "<Run: 0 queries, 0 documents>"

    def test_lists_are_never_sorted(self):
        assert Run({"q": ["b", "c", "a"]})["q"] == ("b", "c", "a")
        assert Run({"q": [("b", 1.0), ("c", 3.0), ["a", 2.0]]})["q"] == ("b", "c", "a")
        assert Run({"q": np.array(["b", "a"])})["q"] == ("b", "a")

    def test_tie_01_mappings_are_sorted(self):
        assert Run({"q": {"kea": 0.5, "tui": 0.5}})["q"] == ("tui", "kea")
        assert Run({"q": {"a": 1, "b": 3, "c": 2}})["q"] == ("b", "c", "a")

    def test_only_mappings_are_sorted(self):
        run = Run({"q1": ["a", "b"], "q2": {"a": 1.0, "b": 2.0}, "q3": [("a", 1.0), ("b", 2.0)]})
        assert dict(run) == {"q1": ("a", "b"), "q2": ("b", "a"), "q3": ("a", "b")}
        assert run.scored("q2") == (("b", 2.0), ("a", 1.0))
        assert run.scored("q3") == (("a", 1.0), ("b", 2.0))
        assert [(doc, math.isnan(score)) for doc, score in run.scored("q1")] == [("a", True), ("b", True)]
        assert np.isnan(run.scores).tolist() == [True, True, False, False, False, False]

    def test_without_any_score(self):
        run = Run({"q1": ["a", "b"], "q2": {}})
        assert run.scores is None
        assert [doc for doc, score in run.scored("q1") if math.isnan(score)] == ["a", "b"]
        assert run.select(["q1"]).scores is None

    def test_scores_may_be_infinite(self):
        assert Run({"q": {"a": -math.inf, "b": math.inf, "c": 0}})["q"] == ("b", "c", "a")

    @pytest.mark.parametrize("score", [math.nan, np.nan, None, "0.5", b"1", [1.0], 1j, 10**400], ids=repr)
    def test_in_03_scores_that_are_no_numbers_are_named(self, score):
        with pytest.raises(
            InputError, match=r"query 'q': scores that are no numbers: b \(.*; allowed are fin"
        ):
            Run({"q": {"a": 2.0, "b": score, "c": 1.0}})

    def test_in_03_in_pairs_too(self):
        with pytest.raises(InputError, match=r"query 'q': scores that are no numbers: b \(nan\)"):
            Run({"q": [("a", 2.0), ("b", math.nan)]})

    @pytest.mark.parametrize(
        "ranking",
        ["abc", 5, None, {"a", "b"}, frozenset(["a"])],
        ids=["text", "number", "none", "set", "frozenset"],
    )
    def test_ranking_without_an_order(self, ranking):
        with pytest.raises(InputError, match=r"ranking of query 'q' is .*; allowed are a list of doc ids"):
            Run({"q": ranking})

    @pytest.mark.parametrize("rankings", [[["a"]], "q", None], ids=repr)
    def test_no_mapping_at_all(self, rankings):
        with pytest.raises(InputError, match=r"rankings are of type .*; allowed is a mapping \{query_id"):
            Run(rankings)

    @pytest.mark.parametrize(
        "rankings, message",
        [
            ({1: []}, "query_id 1 is of type int"),
            ({"q": [7]}, "doc_id 7 in query 'q' is of type int; ids are strings"),
            ({"q": [("a", 1.0, 2.0)]}, r"query 'q' holds \('a', 1.0, 2.0\), which has 3 parts; allowed are"),
            ({"q": ["a", ("b", 1.0)]}, r"query 'q' mixes ids and pairs: 'a' and \('b', 1.0\); allowed are"),
            ({"q": [("a", 2.0), "b"]}, r"query 'q' mixes ids and pairs: \('a', 2.0\) and 'b'; allowed are"),
            ({"q": [("a", True)]}, r"query 'q': scores that are no numbers: a \(True\); allowed are finite"),
            ({"q": {"a": {"score": 1}}}, "scores that are no numbers: a "),
            (
                {"q": pd.DataFrame({"doc_id": ["a"]})},
                "ranking of query 'q' is a DataFrame; allowed are a list",
            ),
            ({"q": pd.Series({"a": 1.0})}, "ranking of query 'q' is a Series; allowed are a list of doc ids"),
            ({"q": [{"id": "a"}]}, "doc_id {'id': 'a'} in query 'q' is of type dict; ids are strings$"),
            ({"q": {"": 1.0}}, "empty doc_id in query 'q'"),
        ],
    )
    def test_ids_are_strings(self, rankings, message):
        with pytest.raises(InputError, match=message):
            Run(rankings)

    def test_repeats_are_kept_for_evaluate_to_judge(self):
        assert Run({"q": ["a", "a"]})["q"] == ("a", "a")

    def test_select_with_stages(self):
        first = Run({"q1": ["b"], "q2": ["a"]}, "bm25")
        run = Run({"q1": {"a": 1.0}, "q2": {"b": 2.0, "c": 3.0}}, "both", stages={"bm25": first})
        some = run.select(["q2", "q9", "q2"])
        assert dict(some) == {"q2": ("c", "b")}
        assert some.scores.tolist() == [3.0, 2.0]
        assert some.name == "both"
        assert dict(some.stages["bm25"]) == {"q2": ("a",)}


class TestFrozen:
    @pytest.mark.parametrize(
        "value, names",
        [
            (Qrels(GRADES, groups={}), ["starts", "doc_ids", "grades", "groups"]),
            (Run({"q": {"a": 1.0}}), ["starts", "doc_ids", "scores"]),
        ],
        ids=["Qrels", "Run"],
    )
    def test_columns_and_attributes_refuse_writing(self, value, names):
        for name in names:
            with pytest.raises(ValueError, match="read-only"):
                getattr(value, name)[0] = 0
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(value, name, None)

    def test_callers_columns_stay_writable(self):
        grades = np.array([1])
        Qrels.from_columns(("q",), np.array([0, 1]), objects(["a"]), grades)
        grades[0] = 2
        scores = np.array([1.0])
        Run.from_columns(("q",), np.array([0, 1]), objects(["a"]), scores)
        scores[0] = 2.0

    def test_what_was_passed_is_copied(self):
        strata = {"q1": "s"}
        grades = copy.deepcopy(GRADES)
        qrels = Qrels(grades, strata=strata)
        strata["q1"] = "t"
        grades["q1"]["a"] = 9
        assert qrels.strata == {"q1": "s"}
        assert qrels["q1"] == {"a": 2, "b": 0}

    @pytest.mark.parametrize("through", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))])
    def test_can_be_copied_and_sent(self, through):
        qrels = through(Qrels(GRADES, 2, strata={"q1": "s"}))
        assert (dict(qrels), qrels.relevance_level, qrels.strata) == (GRADES, 2, {"q1": "s"})
        run = through(Run({"q": {"a": 1.0, "b": 2.0}}, "mine"))
        assert (dict(run), run.name, run.scores.tolist()) == ({"q": ("b", "a")}, "mine", [2.0, 1.0])


def gold_set(qrels, **options):
    return GoldSet(
        name="desk",
        qrels=qrels,
        queries=pd.DataFrame({"query": ["refund?", "again?"]}, index=pd.Index(["q2", "q1"], name="query_id")),
        digests=Digests("", "", ""),
        **options,
    )


class TestGoldSet:
    def test_gated_queries_are_those_of_the_gates_splits_by_id(self):
        splits = {"q2": "test", "q1": "test", "q3": "train"}
        qrels = Qrels({"q2": ["a"], "q1": ["a"], "q3": ["a"]}, splits=splits)
        assert gold_set(qrels, gate_splits=("test",)).gated_queries == ("q1", "q2")
        assert gold_set(qrels, gate_splits=("test", "train")).gated_queries == ("q1", "q2", "q3")
        assert gold_set(qrels).gated_queries == ("q1", "q2", "q3")
        assert gold_set(Qrels({"q2": [], "q1": []}), gate_splits=("test",)).gated_queries == ("q1", "q2")

    def test_text_and_repr(self):
        gold = gold_set(Qrels({"q1": ["a"]}))
        assert gold.text_of("q1") == "again?"
        assert repr(gold) == (
            "<GoldSet 'desk': 2 queries, no catalog, <Qrels: 1 queries, 1 judgments, relevant from grade 1>>"
        )
        assert "3 documents" in repr(gold_set(Qrels({}), catalog=pd.DataFrame(index=list("abc"))))

    def test_subject(self):
        subject = Subject("bm25", ("recall@5", "mrr@10"))
        assert subject.requires == ()
        assert subject == Subject("bm25", ("recall@5", "mrr@10"))


def test_objects_stay_one_dimensional():
    assert objects([]).shape == (0,)
    assert objects(["ab", "cd"]).tolist() == ["ab", "cd"]
    assert objects([("a", 1), ("b", 2)]).shape == (2,)
