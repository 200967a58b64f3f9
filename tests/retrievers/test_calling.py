"""Calling a retriever: what it may be, what it may return, and what is told when it does not."""

from __future__ import annotations

import asyncio
import json

import numpy as np
import pandas as pd
import pytest

from pytest_retrieval import Unavailable
from pytest_retrieval.errors import RetrieverError
from pytest_retrieval.retrievers.calling import retrieve
from pytest_retrieval.retrievers.telling import told

QUERIES = {"q1": "red lamp", "q2": "rug"}


def ask(retriever, k=10, **more):
    return retrieve(retriever, QUERIES, k, name="mine", run_async=asyncio.run, **more)


def test_every_query_is_asked_once_in_order_with_its_text_and_k():
    asked = []

    def search(query, k):
        asked.append((query, k))
        return ["a"]

    run = ask(search, 7)
    assert asked == [("red lamp", 7), ("rug", 7)]
    assert run.name == "mine"
    assert dict(run) == {"q1": ("a",), "q2": ("a",)}


def test_each_step_is_told():
    steps = []
    ask(lambda query, k: [], on_query=lambda: steps.append(1))
    assert len(steps) == 2


def test_scores_are_kept_and_a_lists_order_is_never_changed():
    run = ask(lambda query, k: [("b", 1.0), ("a", 3.0), ("c", 2.0)])
    assert run["q1"] == ("b", "a", "c")
    assert run.scored("q1") == (("b", 1.0), ("a", 3.0), ("c", 2.0))


def test_scores_that_only_rise_are_no_scores():
    """A distance, or a list that is worst first: either way no tie and no stage would be told right."""
    with pytest.raises(
        RetrieverError, match=r"mine returned scores that only rise, for query 'q1' 0\.1 and then 0\.4"
    ):
        ask(lambda query, k: [("b", 0.1), ("a", 0.4)])
    with pytest.raises(
        RetrieverError, match="mine, stage 'dense' returned scores that only rise, for query 'q2'"
    ):
        ask(
            lambda query, k: {"dense": [("a", 0.1), ("b", 0.1 if query == "red lamp" else 0.2)], "all": ["a"]}
        )


@pytest.mark.parametrize(
    "of_lamp, of_rug", [([2.0, 1.0], [1.0, 2.0]), ([1.0, 1.0], [1.0, 1.0]), ([2.0], [5.0]), ([], [3.0, 3.0])]
)
def test_scores_that_fall_somewhere_or_nowhere_rise_are_taken(of_lamp, of_rug):
    """From query to query they may do what they like; a reranker may keep the scores it was given."""
    scores = {"red lamp": of_lamp, "rug": of_rug}
    run = ask(lambda query, k: [(f"d{n}", score) for n, score in enumerate(scores[query])])
    assert len(run["q2"]) == len(of_rug)


@pytest.mark.parametrize("code", [1, "no index here", None])
def test_a_program_that_ends_itself_is_a_fault(code):
    def search(query, k):
        raise SystemExit(code)

    with pytest.raises(RetrieverError, match=r"^mine, query 'q1' \('red lamp'\) raised SystemExit"):
        ask(search)

    def make():
        raise SystemExit(code)

    with pytest.raises(RetrieverError, match=r"^the factory of mine raised SystemExit"):
        ask(make)


def test_an_exception_that_cannot_say_what_it_is():
    class Broken(Exception):
        def __str__(self):
            raise ValueError("no text")

    def search(query, k):
        raise Broken

    with pytest.raises(
        RetrieverError, match=r"raised Broken: \(its text cannot be had: __str__ raised ValueError\)"
    ):
        ask(search)


def test_a_mapping_is_sorted_before_it_is_cut():
    assert ask(lambda query, k: {"b": 1.0, "a": 3.0, "c": 2.0}, 2)["q1"] == ("a", "c")


def test_stages_are_kept_in_order_and_the_last_is_the_ranking():
    run = ask(lambda query, k: {"lexical": ["x", "y"], "dense": [("y", 2.0)], "fused": ["y", "x"]})
    assert list(run.stages) == ["lexical", "dense", "fused"]
    assert run["q1"] == run.stages["fused"]["q1"] == ("y", "x")
    assert run.stages["dense"].scored("q1") == (("y", 2.0),)


def test_a_stage_that_only_some_queries_reach():
    run = ask(lambda query, k: {"fused": ["a"]} if query == "rug" else {"lexical": ["b"], "fused": ["a"]})
    assert "q2" not in run.stages["lexical"]
    assert run["q2"] == ("a",)


def test_an_empty_mapping_is_an_empty_ranking():
    assert ask(lambda query, k: {})["q1"] == ()


def test_awaitables_are_waited_for_wherever_they_come_from():
    async def found():
        return ["a"]

    assert ask(lambda query, k: found())["q1"] == ("a",)


class Client:
    made = 0

    def __init__(self, size=1):
        type(self).made += 1

    def search(self, query, k):
        return ["a"]


def test_a_class_is_a_factory_and_made_once():
    Client.made = 0
    assert ask(Client)["q1"] == ("a",)
    assert Client.made == 1


class Both:
    def search(self, query, k):
        return ["searched"]

    def __call__(self):
        raise AssertionError("an object that has `search` is no factory")


def test_search_goes_before_being_callable():
    assert ask(Both())["q1"] == ("searched",)


def test_a_function_whose_arguments_all_have_defaults_is_a_retriever():
    assert ask(lambda query="", k=10: [query])["q1"] == ("red lamp",)


def test_any_arguments_are_those_of_a_retriever():
    assert ask(lambda *arguments: [arguments[0]])["q1"] == ("red lamp",)


def test_a_builtin_without_a_signature_is_called_as_a_retriever():
    with pytest.raises(RetrieverError, match=r"mine, query 'q1' \('red lamp'\) raised "):
        ask(max)


@pytest.mark.parametrize("thing", ["lucene", 5, None, ["a"], {"search": 1}])
def test_what_is_no_retriever(thing):
    with pytest.raises(RetrieverError, match=r"mine is .*; a retriever is callable\(query, k\)"):
        ask(thing)


def test_a_factory_that_makes_none():
    with pytest.raises(RetrieverError, match="mine is 'lucene'; a retriever is"):
        ask(lambda: "lucene")


@pytest.mark.parametrize(
    "answer, message",
    [
        (None, "returned None; allowed are ids"),
        (5, "returned 5; allowed are ids"),
        (np.float64(0.5), "returned .*0.5.*; allowed are ids"),
        ("a", "returned 'a'; allowed are ids"),
        (b"a", "returned b'a'; allowed are ids"),
        ({"a", "b"}, "returned {.*; a set has no order"),
        (frozenset("a"), "returned frozenset.*; a set has no order"),
        ([1, 2], "doc_id 1 in query 'q1' is of type int"),
        ([None], "doc_id None in query 'q1'"),
        ([""], "empty doc_id in query 'q1'"),
        ([("a", "high")], r"query 'q1': scores that are no numbers: a \('high'\)"),
        ([("a", float("nan"))], r"query 'q1': scores that are no numbers: a \(nan\)"),
        (pd.Series({"a": 1.0}), "returned a Series; allowed are ids, .*; a table does not say which column"),
        (pd.DataFrame({"doc_id": ["a"]}), "returned a DataFrame; allowed are ids, .*; a table does not say"),
        ({"dense": pd.Series({"a": 1.0})}, "returned a Series as stage 'dense'; allowed are ids"),
        ([("a", 1.0, {})], "holds .'a', 1.0, {}., which has 3 parts; allowed are a list of doc ids"),
        (["a", ("b", 1.0)], "mixes ids and pairs: 'a' and "),
        ([("a", True)], "scores that are no numbers: a .True."),
        ([{"id": "a"}], "doc_id {'id': 'a'} in query 'q1' is of type dict; ids are strings"),
        ({"a": 1.0, "b": None}, "mixes scores and stages: a, b"),
        ({"a": None}, "returned None as stage 'a'"),
        ({"a": {"b"}}, "returned {'b'} as stage 'a'.*; a set has no order"),
        ({"a": ["x"], "b": "y"}, "returned 'y' as stage 'b'"),
    ],
)
def test_what_is_no_ranking(answer, message):
    with pytest.raises(RetrieverError, match=f"^mine.*{message}"):
        ask(lambda query, k: answer)


@pytest.mark.parametrize("score", [1, 1.5, np.float32(0.5), np.int64(3), np.array(2.0)])
def test_every_kind_of_number_is_a_score(score):
    assert ask(lambda query, k: {"a": score})["q1"] == ("a",)


def test_an_exception_names_query_text_and_place():
    def search(query, k):
        if query == "rug":
            raise OSError("gone")
        return ["a"]

    with pytest.raises(RetrieverError) as caught:
        ask(search)
    first, place = str(caught.value).splitlines()
    assert first == "mine, query 'q2' ('rug') raised OSError: gone"
    line = search.__code__.co_firstlineno + 2
    assert place.startswith(f"  at {__file__}:{line} in search")
    assert isinstance(caught.value.__cause__, OSError)


def test_an_exception_of_an_async_retriever_names_its_place():
    async def search(query, k):
        await asyncio.sleep(0)
        raise OSError("gone")

    with pytest.raises(RetrieverError, match=rf"at {__file__}:\d+ in search"):
        ask(search)


def test_an_exception_of_a_factory():
    def make():
        raise OSError("gone")

    with pytest.raises(RetrieverError, match=r"the factory of mine raised OSError: gone\n  at .* in make"):
        ask(make)


def test_an_interrupt_is_no_fault_of_the_retriever():
    def search(query, k):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(search)


def unavailable(*arguments):
    raise Unavailable("no key")


@pytest.mark.parametrize(
    "retriever",
    [Unavailable("no key"), lambda: Unavailable("no key"), lambda: unavailable(), lambda q, k: unavailable()],
    ids=["instead", "made", "raised by the factory", "raised"],
)
def test_unavailable_stays_what_it_is(retriever):
    with pytest.raises(Unavailable) as caught:
        ask(retriever)
    assert caught.value.reason == "no key"


def caught_from(function, *arguments):
    try:
        function(*arguments)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def test_places_in_libraries_are_left_out_where_there_are_others():
    text = told(caught_from(json.loads, "{"))
    assert text.splitlines()[0].startswith("JSONDecodeError: ")
    assert "json/decoder.py" not in text
    assert text.splitlines()[1].endswith("in caught_from")


def test_no_more_than_three_places_are_told_innermost_first():
    def deep(n):
        return 1 / n if n == 0 else deep(n - 1)

    places = told(caught_from(deep, 9)).splitlines()[1].removeprefix("  at ").split(" ← ")
    assert len(places) == 3
    assert all(place.endswith("in deep") for place in places)


def test_an_exception_that_was_never_raised_has_no_place():
    assert told(ValueError("x")) == "ValueError: x"


def test_a_stage_may_tell_its_query_and_its_latency():
    def search(query, k):
        return {
            "dense": {"ranking": [("a", 0.9), ("b", 0.1)], "query": f"{query} rewritten", "latency": 0.5},
            "context": {"ranking": {"a": 1.0}},
        }

    run = retrieve(search, {"q": "oak"}, 1)
    assert run["q"] == ("a",)
    assert run.stages["dense"]["q"] == ("a",)
    assert dict(run.stages["dense"].queries) == {"q": "oak rewritten"}
    assert dict(run.stages["dense"].latency) == {"q": 0.5}
    assert dict(run.stages["context"].queries) == {}
    assert dict(run.select(["q"]).stages["dense"].queries) == {"q": "oak rewritten"}


def test_a_document_called_ranking_is_no_stage_with_a_ranking():
    run = retrieve(lambda query, k: {"dense": {"ranking": 0.5, "b": 0.7}}, {"q": "oak"}, 5)
    assert run["q"] == ("b", "ranking")


@pytest.mark.parametrize(
    "stage, told",
    [
        ({"ranking": ["a"], "took": 1}, "stage 'dense' has the unknown keys took; allowed are"),
        ({"ranking": "a"}, "stage 'dense' has the ranking 'a'; allowed are"),
        ({"ranking": ["a"], "query": 5}, "has the query 5; allowed is the text"),
        ({"ranking": ["a"], "latency": -1}, "has the latency -1; allowed are seconds"),
        ({"ranking": ["a"], "latency": float("nan")}, "has the latency nan; allowed are seconds"),
    ],
)
def test_a_stage_that_tells_what_it_cannot(stage, told):
    with pytest.raises(RetrieverError, match="query 'q'") as caught:
        retrieve(lambda query, k: {"dense": stage}, {"q": "oak"}, 5)
    assert told in str(caught.value)
