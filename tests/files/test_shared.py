"""Runs shared between processes: retrieved by one, equal in all, failures too."""

from __future__ import annotations

import multiprocessing
import time

import pytest

from pytest_retrieval import Run, Unavailable
from pytest_retrieval.errors import RetrieverError
from pytest_retrieval.files.shared import first_to_tell, shared_run

KEY = ("store", "bm25", "conftest::retrievers")


def never():
    raise AssertionError("retrieved a second time")


@pytest.mark.parametrize(
    "run",
    [
        Run({}),
        Run({"q1": []}, "bm25"),
        Run({"q1": ["b", "a"], "q2": []}, "bm25"),
        Run({"q1": [("b", 0.1), ("a", 1 / 3)], "q2": ["c"]}, "bm25"),
        Run({"q1": {"a": 1.0, "b": 1.0}}),
        Run({"q1": [("a", float("inf")), ("b", -float("inf"))]}),
        Run({"q1": ["ä", "b c", '"']}, "früh"),
        Run({"q1": ["a"]}, stages={"lexical": Run({"q1": [("b", 0.5)]}, "lexical"), "x": Run({}, "x")}),
    ],
    ids=["empty", "no documents", "ids", "some scores", "ties", "infinite", "text", "stages"],
)
def test_the_other_process_reads_the_same_run(tmp_path, run):
    first = shared_run(tmp_path, KEY, lambda: run)
    again = shared_run(tmp_path, KEY, never)
    for found in (first, again):
        assert dict(found) == dict(run)
        assert found.name == run.name
        for query_id in run:
            assert [score for _, score in found.scored(query_id)] == pytest.approx(
                [score for _, score in run.scored(query_id)], abs=0, rel=0, nan_ok=True
            )
        assert {s: dict(r) for s, r in found.stages.items()} == {s: dict(r) for s, r in run.stages.items()}
        assert list(found.stages) == list(run.stages)


@pytest.mark.parametrize("error", [RetrieverError("query 'q1' raised\n  at x"), Unavailable("no key")])
def test_a_failure_is_shared_like_a_result(tmp_path, error):
    def fail():
        raise error

    for retrieve in (fail, never):
        with pytest.raises(type(error)) as caught:
            shared_run(tmp_path, KEY, retrieve)
        assert str(caught.value) == str(error)


def test_another_exception_is_not_kept(tmp_path):
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shared_run(tmp_path, KEY, interrupted)
    assert dict(shared_run(tmp_path, KEY, lambda: Run({"q1": ["a"]}))) == {"q1": ("a",)}


def test_keys_are_kept_apart(tmp_path):
    for number, key in enumerate([("a", "b"), ("a,b",), ("ab",), ("b", "a"), ('a","b',)]):
        run = Run({"q": [str(number)]})
        assert shared_run(tmp_path, key, lambda run=run: run)["q"] == (str(number),)


def work(folder, counted):
    def retrieve():
        with (folder / "calls").open("a") as calls:
            calls.write("x")
        time.sleep(0.2)
        return Run({"q1": ["a"]})

    counted.put(dict(shared_run(folder, KEY, retrieve)))


def test_processes_that_ask_at_once_wait_for_the_first(tmp_path):
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    processes = [context.Process(target=work, args=(tmp_path, results)) for _ in range(4)]
    for process in processes:
        process.start()
    found = [results.get(timeout=30) for _ in processes]
    for process in processes:
        process.join()
    assert found == [{"q1": ("a",)}] * 4
    assert (tmp_path / "calls").read_text() == "x"


def test_the_first_to_tell_a_cause_tells_it_for_all(tmp_path):
    assert first_to_tell(tmp_path, "no index", "test_a") == "test_a"
    assert first_to_tell(tmp_path, "no index", "test_b") == "test_a"
    assert first_to_tell(tmp_path, "no disk", "test_b") == "test_b"


def test_a_teller_who_has_not_written_yet_does_not_silence_another(tmp_path):
    first_to_tell(tmp_path, "no index", "")
    assert first_to_tell(tmp_path, "no index", "test_b") == "test_b"
