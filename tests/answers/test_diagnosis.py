"""Diagnosis: each branch of the tree, each by a request made for it."""

from __future__ import annotations

import pytest

from pytest_retrieval import (
    Answer,
    InputError,
    LoggedRequest,
    Qrels,
    RequestLog,
    Run,
    diagnose,
    diagnose_all,
    diagnosis_counts,
)

FULL = {
    "lexical": ["a", "b"],
    "dense": ["c", "a"],
    "fused": ["a", "c", "b"],
    "reranked": ["a", "b"],
    "context": ["a"],
    "cited": ["a"],
}


def log(request, gold=("a",), **known):
    return RequestLog({"q": {**FULL, **request}}, Qrels({"q": dict.fromkeys(gold, 1)}), **known)


LOST = {"lexical": [], "dense": ["c"], "fused": ["c"], "reranked": ["c"], "context": ["c"], "cited": []}


@pytest.mark.parametrize(
    "request_, known, verdict, why",
    [
        ({}, {}, "answered", "cites a"),
        ({"cited": []}, {}, "generation", "place 1 of 1, and the answer cites nothing"),
        ({"cited": ["b"]}, {}, "generation", "the answer cites b"),
        ({"cited": None}, {}, "generation", "not logged"),
        # A right citation of what was not in the prompt is no answer from the prompt.
        ({"context": ["b"]}, {}, "ordering or assembly", "last held by reranked at rank 1"),
        (
            {"reranked": ["b"], "context": ["b"], "cited": []},
            {},
            "ordering or assembly",
            "last held by fused at rank 1",
        ),
        ({**LOST, "lexical": ["x", "a"]}, {}, "lexical finds it, dense loses it", "finds a at rank 2"),
        (
            {**LOST, "lexical": None},
            {"lexical": Run({"q": ["a"]})},
            "lexical finds it, dense loses it",
            "at rank 1",
        ),
        (LOST, {"catalog": ["b", "c"]}, "not in the corpus", "a is not in the catalog"),
        (LOST, {"catalog": ["a"], "indexed": ["c"]}, "ingestion", "a is not in the index"),
        (LOST, {"indexed": ["a"]}, "query or filter", "no stage found it"),
        (
            {**LOST, "rewritten": "oak", "filter": {"lang": "de"}},
            {"indexed": ["a"]},
            "query or filter",
            "('oak' was searched), under the filter {'lang': 'de'}",
        ),
        (
            {**LOST, "filtered": ["a"], "filter": "year > 2024"},
            {},
            "query or filter",
            "year > 2024 removed a",
        ),
        (LOST, {}, "ingestion or query", "no stage found a"),
    ],
)
def test_every_branch(request_, known, verdict, why):
    found = diagnose("q", log(request_, **known))
    assert found.verdict == verdict
    assert why in found.why
    assert found.documents == {"a": verdict}
    assert found.advice in str(found)


def test_of_several_the_one_that_came_furthest_counts():
    found = diagnose("q", log({"cited": []}, gold=("z", "c", "a"), indexed=["a", "c"]))
    assert found.verdict == "generation"
    assert found.documents == {"z": "ingestion", "c": "ordering or assembly", "a": "generation"}


@pytest.mark.parametrize("cited, verdict", [([], "answered"), (["c"], "not in the corpus")])
def test_a_question_without_an_answer(cited, verdict):
    assert diagnose("q", log({"cited": cited}, gold=())).verdict == verdict


def test_candidates_without_fusion_are_what_the_legs_found():
    request = LoggedRequest.from_plain({"lexical": ["a"], "dense": ["b"], "context": ["b"]}, "q")
    assert request.candidates == ("a", "b")
    assert LoggedRequest.from_plain({"context": ["b"]}, "q").candidates == ("b",)
    assert LoggedRequest.from_plain({}, "q").prompt is None


def test_counts_per_stratum():
    qrels = Qrels(
        {q: {"a": 1} for q in ("q1", "q2", "q3")}, strata={"q1": "code", "q2": "code", "q3": "words"}
    )
    requests = [{"query_id": q, **FULL} for q in ("q1", "q2")]
    requests.append({"query_id": "q3", **LOST})
    table = diagnosis_counts(RequestLog(requests, qrels, indexed=[]))
    assert table.loc["code"].to_dict() == {"ingestion": 0, "answered": 2}
    assert table.loc["words"].to_dict() == {"ingestion": 1, "answered": 0}
    assert table.loc["all"].to_dict() == {"ingestion": 1, "answered": 2}


def test_a_recording_is_a_log():
    run = Run(
        {"q1": ["a"], "q2": ["b"]},
        "hybrid",
        stages={
            "lexical": Run({"q1": ["a"], "q2": ["b"]}, queries={"q1": "rewritten"}),
            "fused": Run({"q1": ["b", "a"], "q2": ["b"]}),
        },
    )
    answers = [
        Answer("q1", "hybrid", ["b"], ["b"]),
        Answer("q1", "bm25", ["a"], ["a"]),
        Answer("q2", "hybrid", ["b"], ["b"]),
    ]
    found = RequestLog.from_answers(answers, run, Qrels({"q1": ["a"], "q2": ["b"]}))
    assert found["q1"].rewritten == "rewritten"
    assert {q: one.verdict for q, one in diagnose_all(found).items()} == {
        "q1": "ordering or assembly",
        "q2": "answered",
    }
    with pytest.raises(InputError, match="the contexts bm25, hybrid"):
        RequestLog.from_answers(answers, Run({}, "other"), Qrels({"q1": ["a"]}))


def test_a_query_that_is_not_logged():
    with pytest.raises(InputError, match="'p' is not logged; the log has 'q'"):
        diagnose("p", log({}))
