"""Judgments check what they are made of, and are read as a mapping and as columns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pytest_retrieval.errors import InputError
from pytest_retrieval.model.columns import objects
from pytest_retrieval.model.qrels import Qrels

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
