"""Columns: one-dimensional whatever they hold, and frozen whoever made them."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from pytest_retrieval.model.columns import objects
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Run

GRADES = {"q1": {"a": 2, "b": 0}, "q2": {}, "q3": {"a": -1}}


def test_objects_stay_one_dimensional():
    assert objects([]).shape == (0,)
    assert objects(["ab", "cd"]).tolist() == ["ab", "cd"]
    assert objects([("a", 1), ("b", 2)]).shape == (2,)


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
