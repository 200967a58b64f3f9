"""The recorder: what it asks, what it keeps, and what it does when it is stopped in the middle."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter

import pytest
from click.testing import CliRunner

from pytest_retrieval import (
    InputError,
    Recorder,
    RecordingError,
    Run,
    load_recording,
    random_contexts,
    score_answers,
)
from pytest_retrieval.cli import main
from pytest_retrieval.record.journal import _key

from .conftest import completion


def contexts(goldset, k=3):
    ids = list(goldset.catalog.index)
    return {
        "bm25": Run({q: ids[n : n + k] for n, q in enumerate(goldset.qrels)}),
        "random": random_contexts(goldset, k),
    }


def recorder(folder, goldset, server, **options):
    return Recorder(folder, goldset, url=server.url, model="tiny", progress=False, retries=2, **options)


def test_answers_with_their_manifest(tmp_path, goldset, server):
    facts = {"digest": "sha256:1", "licence": "MIT", "provenance": "a test"}
    of = recorder(tmp_path / "rag", goldset, server, stated={"context_window": 512}, **facts)
    recording = of.answers(contexts(goldset), k=3)
    assert len(recording.answers) == 24
    assert recording.subjects == ("rag.bm25", "rag.random")
    first = recording.answers[0]
    assert (first.query_id, first.context, first.context_ids) == ("q0", "bm25", ("d0", "d1", "d2"))
    assert (first.cited_ids, first.text) == (("d0",), "Take d0.")
    manifest = tomllib.loads((tmp_path / "rag" / "manifest.toml").read_text())
    assert (manifest["kind"], manifest["goldset"], manifest["model"]) == ("answers", "lamps", "tiny")
    assert manifest["contexts"] == {"bm25": {"k": 3, "subject": "bm25"}, "random": {"k": 3}}
    assert manifest["digests"]["catalog"] == goldset.digests.catalog
    assert manifest["options"] == {"context_window": 512, "temperature": 0, "seed": 0, "max_tokens": 400}
    assert manifest["allowed_citations"] == 3
    assert "3 at most" in manifest["prompts"]["instructions"]
    assert score_answers(recording, goldset.qrels).above_ceiling() == ()


def test_what_is_asked(tmp_path, goldset, server):
    of = recorder(tmp_path / "rag", goldset, server, options={"temperature": 0}, fields=["name"])
    of.answers({"bm25": contexts(goldset)["bm25"]}, queries=["q1"], k=2)
    (body,) = map(json.loads, server.asked)
    assert body["model"] == "tiny"
    assert body["messages"][0]["role"] == "system"
    assert body["messages"][-1]["content"] == (
        "Documents:\n\nID: d1\nname: lamp 1\n\nID: d2\nname: lamp 2\n\nThe user asks: lamp 1"
    )
    schema = body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["cited_ids"]["maxItems"] == 3
    assert "enum" not in json.dumps(schema)


def sent(server):
    return {name.lower(): value for name, value in server.headers[-1].items()}


def test_nothing_secret_is_kept(tmp_path, goldset, server):
    url = server.url.replace("http://", "http://me:hunter2@")
    of = Recorder(tmp_path / "rag", goldset, url=url, model="tiny", progress=False)
    of.answers({"bm25": contexts(goldset)["bm25"]}, queries=["q1"])
    assert sent(server)["authorization"].startswith("Basic ")
    of = Recorder(tmp_path / "key", goldset, url=server.url, model="tiny", key="sk-hunter2", progress=False)
    of.answers({"bm25": contexts(goldset)["bm25"]}, queries=["q2"])
    assert sent(server)["authorization"] == "Bearer sk-hunter2"
    for path in tmp_path.rglob("*"):
        if path.is_file():
            text = path.read_text()
            assert "hunter2" not in text, path
            assert "127.0.0.1" not in text, path


def test_the_same_again_asks_nothing(tmp_path, goldset, server):
    recorder(tmp_path / "rag", goldset, server).answers(contexts(goldset))
    before, text = server.asked.total(), (tmp_path / "rag" / "answers.jsonl").read_bytes()
    recorder(tmp_path / "rag", goldset, server).answers(contexts(goldset))
    assert server.asked.total() == before
    assert (tmp_path / "rag" / "answers.jsonl").read_bytes() == text
    recorder(tmp_path / "rag", goldset, server, rewrite=True).answers(contexts(goldset))
    assert server.asked.total() == 2 * before
    assert (tmp_path / "rag" / "answers.jsonl").read_bytes() == text


def test_what_is_written_anew_from_kept_replies_keeps_its_date(tmp_path, goldset, server):
    recorder(tmp_path / "rag", goldset, server).answers(contexts(goldset))
    manifest = tmp_path / "rag" / "manifest.toml"
    old = re.sub(r"recorded = .*", "recorded = 2020-02-02", manifest.read_text())
    manifest.write_text(old)
    recorder(tmp_path / "rag", goldset, server).answers(contexts(goldset))
    assert manifest.read_text() == old


def test_errors_that_may_pass_are_retried_and_others_end_it(tmp_path, goldset, server):
    server.failures = [503, 429]
    recorder(tmp_path / "rag", goldset, server, at_once=1).answers(contexts(goldset), queries=["q0"])
    assert len(load_recording(tmp_path / "rag").answers) == 2
    server.failures = [400]
    with pytest.raises(RecordingError, match="answered 400"):
        recorder(tmp_path / "other", goldset, server, at_once=1).answers(contexts(goldset))
    assert not (tmp_path / "other" / "manifest.toml").exists()


def test_what_was_received_before_an_error_is_kept(tmp_path, goldset, server):
    asked = []

    def third_breaks(body):
        asked.append(body)
        return b"no json" if len(asked) == 3 else completion('{"answer": "x", "cited_ids": []}')

    server.reply = third_breaks
    with pytest.raises(RecordingError, match="what is no JSON"):
        recorder(tmp_path / "rag", goldset, server, at_once=1).answers(contexts(goldset))
    recorder(tmp_path / "rag", goldset, server, at_once=1).answers(contexts(goldset))
    assert len(asked) == 24 + 1  # the broken one was asked again


@pytest.mark.parametrize(
    "content, finish, error",
    [
        ('{"answer": "x"', "length", "the reply was cut short"),
        ("I would take d0", "stop", "the reply is no JSON"),
        ('{"answer": "x"}', "stop", "the reply breaks its schema: it: 'cited_ids' is a required property"),
        (
            '{"answer": "x", "cited_ids": [7]}',
            "stop",
            "the reply breaks its schema: cited_ids.0: 7 is not of type",
        ),
        ("null", "stop", "the reply breaks its schema: it: None is not of type 'object'"),
        ("[" * 100_000, "stop", "the reply is no JSON"),
    ],
)
def test_a_reply_that_cannot_be_used_is_recorded_as_that(tmp_path, goldset, server, content, finish, error):
    server.reply = lambda body: completion(content, finish)
    recording = recorder(tmp_path / "rag", goldset, server).answers(contexts(goldset), queries=["q0"])
    assert recording.answers[0].error.startswith(error)
    assert (recording.answers[0].text, recording.answers[0].cited_ids) == (content, ())
    assert score_answers(recording, goldset.qrels).summary()["broken"] == 2


def test_repeats_count_the_seed_up(tmp_path, goldset, server):
    of = recorder(tmp_path / "rag", goldset, server)
    recording = of.answers({"bm25": contexts(goldset)["bm25"]}, queries=["q0"], repeats=3)
    assert len(recording.answers) == 3
    assert sorted(json.loads(body)["seed"] for body in server.asked) == [0, 1, 2]


def test_repeats_are_asked_each_where_no_seed_tells_them_apart(tmp_path, goldset, server):
    texts = iter(range(100))
    server.reply = lambda body: completion(json.dumps({"answer": str(next(texts)), "cited_ids": []}))
    of = recorder(tmp_path / "rag", goldset, server, options={"temperature": 1}, at_once=1)
    for _ in range(2):  # the second time everything is there already
        recording = of.answers({"bm25": contexts(goldset)["bm25"]}, queries=["q0"], repeats=3)
        assert [answer.text for answer in recording.answers] == ["0", "1", "2"]
    assert server.asked.total() == 3


def test_a_content_in_parts_is_joined(tmp_path, goldset, server):
    parts = [{"type": "text", "text": '{"answer": "x",'}, {"type": "text", "text": '"cited_ids": []}'}]
    server.reply = lambda body: completion(parts)
    recording = recorder(tmp_path / "rag", goldset, server).answers(contexts(goldset), queries=["q0"])
    assert (recording.answers[0].text, recording.answers[0].error) == ("x", "")


def test_half_a_character_is_kept_as_it_came(tmp_path, goldset, server):
    server.reply = lambda body: completion('{"answer": "für \\ud800", "cited_ids": []}')
    recording = recorder(tmp_path / "rag", goldset, server).answers(contexts(goldset), queries=["q0"])
    assert recording.answers[0].text == "für \ud800"


@pytest.mark.parametrize(
    "reply, message",
    [
        ({"choices": []}, "answered without choices"),
        ([1], "answered without choices"),
        ({"choices": [None]}, "answered without a message"),
        ({"choices": [{"message": "hi"}]}, "answered without a message"),
        ({"choices": [{"message": {"content": 5}}]}, "answered with a content that is no text"),
        ({"choices": [{"message": {"tool_calls": {}}}]}, "answered with tool calls that are no list"),
    ],
)
def test_a_reply_of_another_shape_is_not_kept(tmp_path, goldset, server, reply, message):
    server.reply = lambda body: reply
    of = recorder(tmp_path / "rag", goldset, server, at_once=1)
    with pytest.raises(RecordingError, match=message):
        of.answers(contexts(goldset), queries=["q0"])
    assert not (tmp_path / "rag" / "raw" / "replies.jsonl").exists()


@pytest.mark.parametrize(
    "run, message",
    [
        (
            {"q0": ["d0", "zz"]},
            r"context 'mine' of the question 'q0' holds 'zz', which the catalog of 'lamps'",
        ),
        ({"zz": ["d0"]}, r"context 'mine' holds nothing for any of 1 questions; its query_ids are 'zz'"),
    ],
)
def test_contexts_that_cannot_be_shown_are_refused_before_anything_is_asked(
    tmp_path, goldset, server, run, message
):
    with pytest.raises(InputError, match=message):
        recorder(tmp_path / "rag", goldset, server).answers({"mine": Run(run)}, queries=["q0"])
    assert not server.asked


@pytest.mark.parametrize("name", ["k", "allowed", "repeats", "longest"])
def test_counts_are_whole_numbers_of_at_least_1(tmp_path, goldset, server, name):
    with pytest.raises(InputError, match=f"{name} is 0; allowed is a whole number"):
        recorder(tmp_path / "rag", goldset, server).answers(contexts(goldset), **{name: 0})


def test_ctrl_c_says_what_is_waited_for_and_keeps_it(tmp_path, goldset, server, capsys, monkeypatch):
    from pytest_retrieval.record import asking

    server.delay = 0.5

    def interrupted(running, results, on_done):
        raise KeyboardInterrupt

    monkeypatch.setattr(asking, "_collect", interrupted)
    of = Recorder(tmp_path / "rag", goldset, url=server.url, model="tiny", at_once=2)
    with pytest.raises(KeyboardInterrupt):
        of.answers(contexts(goldset))
    assert "stopping; 2 replies are waited for" in capsys.readouterr().err
    assert len((tmp_path / "rag" / "raw" / "replies.jsonl").read_text().splitlines()) == 2


def test_requests_run_a_few_at_a_time(tmp_path, goldset, server):
    running, most = [], []

    def slow(body):
        running.append(body)
        most.append(len(running))
        time.sleep(0.02)
        running.remove(body)
        return completion('{"answer": "x", "cited_ids": []}')

    server.reply = slow
    recorder(tmp_path / "rag", goldset, server, at_once=3).answers(contexts(goldset))
    assert 1 < max(most) <= 3


SCRIPT = """
import sys
import pandas as pd
from pytest_retrieval import Recorder, Run, goldset_from_frames
folder, url = sys.argv[1:]
n = 40
queries = pd.DataFrame({"query_id": [f"q{i}" for i in range(n)], "query": [f"lamp {i}" for i in range(n)]})
qrels = pd.DataFrame({"query_id": queries["query_id"], "doc_id": "d0", "grade": 1})
catalog = pd.DataFrame({"doc_id": [f"d{i}" for i in range(n)], "name": [f"lamp {i}" for i in range(n)]})
goldset = goldset_from_frames("lamps", queries, qrels, catalog)
run = Run({f"q{i}": [f"d{i}"] for i in range(n)})
Recorder(folder, goldset, url=url, model="tiny", at_once=2, progress=False).answers({"bm25": run})
"""


def test_killed_twenty_times_it_ends_with_the_same_bytes_and_asks_nothing_twice(tmp_path, server):
    script = tmp_path / "record.py"
    script.write_text(SCRIPT)
    whole = [sys.executable, str(script), str(tmp_path / "whole"), server.url]
    subprocess.run(whole, check=True)
    expected = (tmp_path / "whole" / "answers.jsonl").read_bytes()
    server.asked.clear()
    server.delay = 0.03
    command = [sys.executable, str(script), str(tmp_path / "killed"), server.url]
    journal = tmp_path / "killed" / "raw" / "replies.jsonl"
    chance = random.Random(7)
    kills = 0
    for _ in range(20):
        before, asked = kept(journal), Counter(server.asked)
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        wanted = min(38, len(before) + chance.randint(1, 2))
        while process.poll() is None and len(kept(journal)) < wanted:
            time.sleep(0.002)
        time.sleep(chance.random() * 0.03)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL if chance.random() < 0.7 else signal.SIGINT)
            kills += 1
        process.wait()
        time.sleep(2 * server.delay)  # let the server finish what the dead process had asked
        asked_again = {_key(json.loads(body)) for body in server.asked - asked}
        assert not asked_again & before
    assert kills >= 15
    server.delay = 0
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "killed" / "answers.jsonl").read_bytes() == expected
    assert len(kept(journal)) == journal.read_bytes().count(b"\n") == 40


def kept(journal):
    """Return the keys of the replies that are whole on disk."""
    data = journal.read_bytes() if journal.exists() else b""
    return {json.loads(line)["key"] for line in data[: data.rfind(b"\n") + 1].splitlines()}


def test_two_recorders_do_not_write_one_recording(tmp_path, goldset, server):
    from filelock import FileLock

    (tmp_path / "rag" / "raw").mkdir(parents=True)
    held = FileLock(str(tmp_path / "rag" / "raw" / ".lock"))
    with held, pytest.raises(RecordingError, match="another recorder is at work"):
        recorder(tmp_path / "rag", goldset, server).answers(contexts(goldset))


@pytest.mark.parametrize("rewrite", [False, True])
def test_a_recording_of_another_kind_is_not_replaced(tmp_path, goldset, server, rewrite):
    recorder(tmp_path / "rag", goldset, server).answers(contexts(goldset))
    files = {path: path.read_bytes() for path in (tmp_path / "rag").rglob("*") if path.is_file()}
    with pytest.raises(RecordingError, match="rag holds a recording of the kind answers, which one of the"):
        recorder(tmp_path / "rag", goldset, server, rewrite=rewrite).agent({"bm25": search})
    assert {path: path.read_bytes() for path in (tmp_path / "rag").rglob("*") if path.is_file()} == files


def test_a_damaged_journal_is_named(tmp_path, goldset, server):
    recorder(tmp_path / "rag", goldset, server).answers(contexts(goldset))
    journal = tmp_path / "rag" / "raw" / "replies.jsonl"
    journal.write_text("nonsense\n" + journal.read_text())
    with pytest.raises(RecordingError, match=r"replies.jsonl:1: is no recorded reply"):
        recorder(tmp_path / "rag", goldset, server).answers(contexts(goldset))


def test_a_server_that_is_not_there(tmp_path, goldset):
    of = Recorder(
        tmp_path / "rag", goldset, url="http://127.0.0.1:9/v1", model="m", retries=0, progress=False
    )
    with pytest.raises(RecordingError, match="cannot be reached"):
        of.answers(contexts(goldset))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"url": "localhost"}, "write it as http"),
        ({"url": "ftp://me:secret@x/v1"}, "write it as http"),
        ({"fields": ["colour"]}, "no column 'colour'"),
        ({"at_once": 0}, "at_once is 0"),
        ({"options": {"stop": None}}, "option stop is None; allowed is what JSON and TOML both hold"),
        ({"options": {"temperature": float("nan")}}, "option temperature is nan"),
        ({"options": {"seed": "abc"}}, "option seed is 'abc'; allowed is a whole number"),
    ],
)
def test_what_is_refused(tmp_path, goldset, options, message):
    with pytest.raises(InputError, match=message) as failure:
        Recorder(tmp_path, goldset, **{"url": "http://127.0.0.1:1/v1", "model": "m", **options})
    assert "secret" not in str(failure.value)


def test_questions_and_contexts_that_are_not_there(tmp_path, goldset, server):
    of = recorder(tmp_path / "rag", goldset, server)
    with pytest.raises(InputError, match="has no query 'q99'"):
        of.answers(contexts(goldset), queries=["q99"])
    with pytest.raises(InputError, match="nothing to record"):
        of.answers({})
    with pytest.raises(InputError, match="a catalog of at least 50"):
        random_contexts(goldset, 50)


def test_documents_that_the_catalog_does_not_hold(tmp_path, goldset, server):
    of = recorder(tmp_path / "rag", goldset, server)
    with pytest.raises(InputError, match="holds 'zz', which the catalog of 'lamps' does not"):
        of.answers({"bm25": Run({"q0": ["d0", "zz"]})}, queries=["q0"])
    server.reply = decided({"action": "search", "query": "lamp"})
    with pytest.raises(InputError, match="holds 'zz', which the catalog of 'lamps' does not"):
        of.agent({"bm25": lambda query, k: ["zz"]}, mode="json", queries=["q0"])


def test_random_contexts_depend_on_seed_and_query_alone(goldset):
    run = random_contexts(goldset, 3, seed=1)
    assert run["q3"] == random_contexts(goldset, 3, seed=1)["q3"]
    assert run["q3"] != random_contexts(goldset, 3, seed=2)["q3"]
    assert all(len(set(run[query_id])) == 3 for query_id in run)


# --- agents ------------------------------------------------------------------------------------------------


def search(query, k):
    return [f"d{n}" for n in range(k)] if "lamp" in query else []


def decided(*decisions):
    """Return a reply function that gives decisions by the number of results it was shown."""

    def reply(body):
        seen = sum("Results:" in str(message.get("content")) for message in body["messages"])
        return completion(json.dumps(decisions[min(seen, len(decisions) - 1)]))

    return reply


def test_an_agent_by_decisions(tmp_path, goldset, server):
    server.reply = decided(
        {"action": "search", "query": "moon"},
        {"action": "search", "query": "lamp", "picks": []},
        {"action": "pick", "query": "", "picks": ["d1", "zz"]},
    )
    of = recorder(tmp_path / "agent", goldset, server)
    recording = of.agent({"bm25": search}, k=2, searches=3, mode="json", queries=["q0"])
    (trace,) = recording.traces
    assert [call.arguments["query"] for call in trace.calls] == ["moon", "lamp"]
    assert trace.calls[0].observation == "nothing was found"
    assert trace.calls[1].returned_ids == ("d0", "d1")
    assert trace.calls[1].tokens == 7
    assert (trace.picks, trace.outcome) == (("d1", "zz"), "finished")
    manifest = recording.manifest
    assert manifest["contexts"] == {"bm25": {"subject": "bm25", "k": 2}}
    assert manifest["max_searches"] == 3


def test_an_agent_that_never_stops_searching_is_made_to_pick(tmp_path, goldset, server):
    def greedy(body):
        name = body["response_format"]["json_schema"]["name"]
        first = len(body["messages"]) == 2
        value = {"action": "search", "query": "lamp"} | ({} if first else {"picks": []})
        return completion(json.dumps(value if name == "decision" else {"message": "so", "picks": ["d0"]}))

    server.reply = greedy
    of = recorder(tmp_path / "agent", goldset, server)
    (trace,) = of.agent({"bm25": search}, searches=2, mode="json", queries=["q0"]).traces
    assert (len(trace.calls), trace.picks, trace.message) == (2, ("d0",), "so")


def test_an_agent_with_the_server_s_own_tool_calls(tmp_path, goldset, server):
    def with_tools(body):
        if "tools" not in body:
            return completion(json.dumps({"message": "done", "picks": ["d0"]}))
        if any(message["role"] == "tool" for message in body["messages"]):
            return completion("I am done.")
        calls = [
            {"id": "c1", "function": {"name": "search", "arguments": '{"query": "lamp"}'}},
            {"id": "c2", "function": {"name": "fly", "arguments": "{}"}},
        ]
        return completion(None, "tool_calls", tool_calls=calls)

    server.reply = with_tools
    of = recorder(tmp_path / "agent", goldset, server)
    (trace,) = of.agent({"bm25": search}, k=2, queries=["q0"]).traces
    assert [(call.tool, call.failed) for call in trace.calls] == [("search", False), ("fly", True)]
    assert (trace.picks, trace.message, trace.outcome) == (("d0",), "done", "finished")


def called(*queries):
    calls = [
        {"id": f"c{n}", "function": {"name": "search", "arguments": json.dumps({"query": query})}}
        for n, query in enumerate(queries)
    ]
    return completion(None, tool_calls=calls)


def test_calls_beyond_the_budget_are_refused_and_show_nothing(tmp_path, goldset, server):
    def reply(body):
        shown = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        if not shown:
            return called("lamp 1", "lamp 2", "lamp 3")
        assert [text.startswith("ID: ") for text in shown] == [True, True, False]
        assert shown[2] == "no call is left: 2 are allowed"
        return completion('{"message": "x", "picks": ["d0"]}')

    server.reply = reply
    recording = recorder(tmp_path / "agent", goldset, server).agent(
        {"bm25": search}, queries=["q0"], searches=2
    )
    (trace,) = recording.traces
    assert [call.arguments["query"] for call in trace.searches] == ["lamp 1", "lamp 2"]
    assert trace.tokens == 7  # one reply made both calls


def test_a_search_that_returns_what_the_catalog_lacks_is_named(tmp_path, goldset, server):
    server.reply = lambda body: called("lamp 1")
    with pytest.raises(InputError, match=r"what 'bm25' returned for 'lamp 1' holds 'zz', which the catalog"):
        recorder(tmp_path / "agent", goldset, server).agent({"bm25": lambda query, k: ["zz"]}, queries=["q0"])


def test_calls_that_make_no_sense_are_answered_with_an_error(tmp_path, goldset, server):
    def reply(body):
        if any(message["role"] == "tool" for message in body["messages"]):
            return completion('{"message": "x", "picks": []}')
        return completion(
            None, tool_calls=["x", {"function": "y"}, {"function": {"name": 5, "arguments": "{"}}]
        )

    server.reply = reply
    (trace,) = recorder(tmp_path / "agent", goldset, server).agent({"bm25": search}, queries=["q0"]).traces
    assert [(call.tool, call.failed) for call in trace.calls] == [("search", True), ("5", True)]


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_number_that_json_cannot_hold_is_no_argument_of_a_call(tmp_path, goldset, server, number):
    """It would be written into the recording, and the recording could be read no more."""
    call = {"id": "c", "function": {"name": "search", "arguments": f'{{"query": {number}}}'}}
    server.reply = lambda body: {**completion("", tool_calls=[call]), "logprobs": float("nan")}
    recording = recorder(tmp_path / "agent", goldset, server).agent({"x": search}, queries=["q0"], searches=1)
    (made,) = recording.traces[0].calls
    assert made.arguments == {}
    assert "one tool" in made.error


def test_an_agent_whose_words_make_no_sense_has_failed(tmp_path, goldset, server):
    server.reply = lambda body: completion("blah")
    of = recorder(tmp_path / "agent", goldset, server)
    (trace,) = of.agent({"bm25": search}, mode="json", queries=["q0"]).traces
    assert (trace.outcome, trace.message, trace.picks) == ("failed", "blah", ())


def test_an_unknown_mode(tmp_path, goldset, server):
    with pytest.raises(InputError, match="mode is 'psychic'"):
        recorder(tmp_path / "agent", goldset, server).agent({"bm25": search}, mode="psychic")


def recorded(tmp_path, server, kind, *more):
    """What the command prints, of a gold set of three questions."""
    folder = tmp_path / "lamps"
    folder.mkdir(exist_ok=True)
    (folder / "goldset.toml").write_text('name = "lamps"\n')
    rows = [{"query_id": f"q{n}", "query": f"lamp {n}"} for n in range(3)]
    documents = [{"doc_id": f"d{n}", "name": f"lamp {n}"} for n in range(3)]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "catalog.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents))
    (folder / "qrels.trec").write_text("".join(f"q{n} 0 d{n} 1\n" for n in range(3)))
    command = ["record", kind, str(folder), "--into", str(tmp_path / kind), "--url", server.url]
    return CliRunner().invoke(main, [*command, "--model", "tiny", *more])


def test_the_command_says_how_many_replies_cannot_be_used(tmp_path, server):
    usable = server.reply
    server.reply = lambda body: completion("Take d0.") if "asks: lamp 1" in str(body) else usable(body)
    done = recorded(tmp_path, server, "answers", "--context", "bm25")
    assert done.exit_code == 0, done.output
    assert (
        "warning: 1 of 3 replies cannot be used and cite nothing: first q1, bm25: the reply is no JSON"
        in (done.output)
    )
    server.reply = usable
    assert "warning" not in recorded(tmp_path, server, "answers", "--context", "bm25", "--rewrite").output
    server.reply = lambda body: completion("blah")
    assert "warning: 3 of 3 tasks failed, with a last reply that picks nothing: first q0, bm25: 'blah'" in (
        recorded(tmp_path, server, "agent", "--mode", "json").output
    )
