"""Rankings check what they are made of; lists stay in order, and mappings are sorted by score."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from pytest_retrieval.errors import InputError
from pytest_retrieval.model.run import Run


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
