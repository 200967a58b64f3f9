"""One tree of errors, and the parts of their messages."""

import copy
import pickle

import pytest

from pytest_retrieval import errors
from pytest_retrieval.errors import (
    FileError,
    GoldSetError,
    InputError,
    MissingExtraError,
    PinError,
    Problem,
    RetrievalError,
    RetrievalWarning,
    Unavailable,
    listed,
)


def test_every_error_is_in_the_tree_of_the_docstring():
    for name in errors.__all__:
        value = getattr(errors, name)
        if isinstance(value, type) and issubclass(value, Exception) and value is not RetrievalWarning:
            assert issubclass(value, RetrievalError)
            assert name in errors.__doc__


@pytest.mark.parametrize(
    "name", ["MeasureError", "QueryMismatchError", "DuplicateDocumentError", "FileError"]
)
def test_bad_values_are_value_errors(name):
    assert issubclass(getattr(errors, name), InputError)
    assert issubclass(InputError, ValueError)


def test_kinds_of_errors():
    assert issubclass(GoldSetError, FileError)
    assert issubclass(PinError, FileError)
    assert issubclass(MissingExtraError, ImportError)
    assert issubclass(RetrievalWarning, UserWarning)
    assert not issubclass(Unavailable, InputError)


@pytest.mark.parametrize(
    "names, most, text",
    [
        ([], 10, ""),
        (["a"], 10, "a"),
        (["a", "b"], 2, "a, b"),
        (["a", "b", "c"], 2, "a, b and 1 more"),
        (map(str, range(12)), 10, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"),
        ([1, None], 10, "1, None"),
    ],
)
def test_listed(names, most, text):
    assert listed(names, most) == text


@pytest.mark.parametrize(
    "problem, text",
    [
        (Problem("bad grade", "qrels.txt", 7), "qrels.txt:7: bad grade"),
        (Problem("no such file", "qrels.txt"), "qrels.txt: no such file"),
        (Problem("bad grade"), "bad grade"),
    ],
)
def test_problem_says_where(problem, text):
    assert str(problem) == text


class TestFileError:
    def test_lists_every_problem(self):
        error = FileError("qrels", [Problem("bad grade", "q", 1), Problem("bad id", "q", 2)])
        assert str(error) == "qrels: 2 problems\n  q:1: bad grade\n  q:2: bad id"
        assert len(error.problems) == 2

    def test_one_problem(self):
        assert str(FileError("qrels", [Problem("bad grade", "q", 1)])).startswith("qrels: 1 problem\n")

    def test_shows_the_first_fifty_and_keeps_all(self):
        error = FileError("qrels", (Problem("bad", "q", line) for line in range(1, 53)))
        lines = str(error).splitlines()
        assert lines[0] == "qrels: 52 problems"
        assert lines[50:] == ["  q:50: bad", "  … and 2 more"]
        assert len(error.problems) == 52

    @pytest.mark.parametrize("kind", [FileError, GoldSetError, PinError])
    @pytest.mark.parametrize("through", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
    def test_can_be_copied_and_sent(self, kind, through):
        error = kind("qrels", [Problem("bad grade", "q", 1)])
        other = through(error)
        assert type(other) is kind
        assert str(other) == str(error)
        assert other.problems == error.problems


def test_unavailable_carries_its_reason():
    error = pickle.loads(pickle.dumps(Unavailable("no key")))
    assert error.reason == str(error) == "no key"


def test_ids_that_look_alike():
    told = errors.look_alike("Café", ["Cafe", "Cafe\N{COMBINING ACUTE ACCENT}"])
    assert told == (
        r"; 'Cafe\u0301' looks the same and is another composition of Unicode (NFC, NFD): write both alike"
    )
    assert errors.look_alike("Café", ["Cafe"]) == errors.look_alike("Cafe", ["Café"]) == ""
