"""The fixture `recorder` and --retrieval-record: who may ask a model, and how often."""

from __future__ import annotations

import pytest

from tests.record.conftest import Server


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


TESTS = """
def answered(recorder, runs, name="fresh", **more):
    asks = recorder(name, url="{url}", model="tiny", retries=0, progress=False)
    return asks.answers({{"bm25": runs["bm25"]}}, **more)

def test_one(recorder, runs):
    assert len(answered(recorder, runs).answers) == 5

def test_two(recorder, runs, recordings):
    assert answered(recorder, runs).answers == recordings["fresh"].answers
"""


@pytest.fixture
def asking(project, server):
    project.write("test_asking.py", TESTS.format(url=server.url))
    return project


def test_by_default_nothing_is_asked(asking, server):
    result = asking.run("test_asking.py")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["there is no recording 'fresh', and tests may not record: --retrieval-record=*"]
    )
    assert not server.asked
    assert not (asking.path / "recordings").exists()


def test_once_records_what_is_missing(asking, server):
    asking.run("test_asking.py", "--retrieval-record=once").assert_outcomes(passed=2)
    assert server.asked.total() == 5
    asking.run("test_asking.py", "--retrieval-record=once").assert_outcomes(passed=2)
    asking.run("test_asking.py").assert_outcomes(passed=2)
    assert server.asked.total() == 5


def test_rewrite_records_anew_once_per_session(asking, server):
    for times in (1, 2):
        asking.run("test_asking.py", "--retrieval-record=rewrite").assert_outcomes(passed=2)
        assert server.asked.total() == 5 * times


@pytest.mark.parametrize("mode", ["once", "rewrite"])
def test_the_workers_of_xdist_record_once(asking, server, mode):
    pytest.importorskip("xdist")
    server.delay = 0.2
    result = asking.run_apart("-n2", "-q", "test_asking.py", f"--retrieval-record={mode}")
    assert result.ret == 0, result.stdout.str()
    assert server.asked.total() == 5


def test_a_recording_that_holds_something_else_is_named(asking, server):
    asking.run("test_asking.py", "--retrieval-record=once").assert_outcomes(passed=2)
    asking.write(
        "test_other.py",
        f"""
def asks(recorder):
    return recorder("fresh", url="{server.url}", model="tiny")

def test_kind(recorder, runs):
    asks(recorder).agent({{"bm25": runs["bm25"]}})

def test_context(recorder, runs):
    asks(recorder).answers({{"dense": runs["bm25"]}})
""",
    )
    result = asking.run("test_other.py", "--retrieval-record=once")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "recording fresh is of the kind answers with the contexts bm25, and the test asks for*agent*",
            "* asks for the kind answers with the contexts dense: --retrieval-record=rewrite records it anew",
        ]
    )


@pytest.mark.parametrize("name", ["../fresh", "a/b", "", "."])
def test_a_name_stays_below_the_recordings(asking, server, name):
    asking.write("test_asking.py", TESTS.format(url=server.url).replace("fresh", name))
    result = asking.run("test_asking.py", "--retrieval-record=once")
    result.stdout.fnmatch_lines(["*InputError: a recording is named *its name is that of its folder below*"])
    assert not server.asked


def test_a_server_that_fails_is_told_without_our_code(asking, server):
    server.failures = [400] * 4
    result = asking.run("test_asking.py::test_one", "--retrieval-record=once")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*RecordingError: *answered 400*"])
    result.stdout.no_fnmatch_line("*in ask_once*")
