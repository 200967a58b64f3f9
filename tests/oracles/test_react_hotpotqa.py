"""Agents that searched Wikipedia for HotpotQA: what the logs hold, and searches that reached their pages.

The logs are read into lines of our traces.jsonl by the small converter below.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict

import pytest

from pytest_retrieval import Qrels, assert_called, load_recording, score_traces, trace_queries

COLLECTION = "react_hotpotqa_traces"
AGENTS = ("base", "reflexion")
STEP = re.compile(r"(\w+)\[(.*)\]", re.DOTALL)
TOOLS = {"Search": ("search", "query"), "Lookup": ("lookup", "keyword"), "Finish": ("finish", "answer")}
ERRORS = ("Could not find", "Invalid Action", "The last page Searched was not found")


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as text:
        return [json.loads(line) for line in text]


def call_of(step):
    """Return one step as a call; a search that found its page returns the page's title."""
    name, argument = STEP.fullmatch(step["action"]).groups()
    tool, key = TOOLS.get(name, (name.lower(), "input"))
    observation = step["observation"]
    failed = observation.startswith(ERRORS)
    call = {"tool": tool, "arguments": {key: argument}}
    if failed:
        return call | {"error": observation}
    if tool == "search":
        call["returned_ids"] = [argument]
    return call | {"observation": observation}


def line_of(trace, query_id, question, context):
    """Return one parsed trace as a line of traces.jsonl."""
    calls = [call_of(step) for step in trace["steps"]]
    last = calls[-1]
    return {
        "query_id": query_id,
        "context": context,
        "request": question,
        "calls": calls,
        "outcome": "exhausted" if trace["status"] == "halted" else "finished",
        "message": last["arguments"]["answer"] if last["tool"] == "finish" else "",
    }


@pytest.fixture(scope="module")
def questions(data):
    return lines(data / "hotpotqa_distractor_100.jsonl.gz")


@pytest.fixture(scope="module")
def raw(data):
    return {agent: lines(data / f"{agent}.traces.jsonl.gz") for agent in AGENTS}


@pytest.fixture(scope="module")
def matched(raw, questions):
    """Return agent → (trace, question); what is logged begins with the question, reflections follow."""

    def question_of(trace):
        (found,) = [q for q in questions if trace["question"].strip().startswith(q["question"].strip())]
        return found

    return {agent: [(trace, question_of(trace)) for trace in traces] for agent, traces in raw.items()}


@pytest.fixture(scope="module")
def recording(matched, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recordings") / "react"
    folder.mkdir()
    (folder / "manifest.toml").write_text('kind = "agent"\ngoldset = "hotpotqa"\n')
    converted = [
        line_of(trace, question["id"], question["question"].strip(), agent)
        for agent, pairs in matched.items()
        for trace, question in pairs
    ]
    (folder / "traces.jsonl").write_text("".join(json.dumps(line) + "\n" for line in converted))
    return load_recording(folder)


@pytest.fixture(scope="module")
def qrels(questions):
    """Return the supporting pages of every question, and its type as its stratum."""
    return Qrels(
        {question["id"]: set(question["supporting_facts"]["title"]) for question in questions},
        strata={question["id"]: question["type"] for question in questions},
    )


def of_agent(recording, agent):
    return [trace for trace in recording.traces if trace.context == agent]


def test_every_count_of_the_collection(recording):
    assert [len(of_agent(recording, agent)) for agent in AGENTS] == [512, 498]
    calls = [call for trace in recording.traces for call in trace.calls]
    assert len(calls) == 3763
    tools = Counter(call.tool for call in calls)
    assert {name: tools[name] for name in ("search", "lookup", "finish")} == {
        "search": 2672,
        "lookup": 194,
        "finish": 896,
    }
    assert tools.total() - 2672 - 194 - 896 == tools["compare"] == 1
    assert sum(len(trace.searches) for trace in recording.traces) == 2672


def test_halted_traces_are_exhausted(recording, raw):
    for agent in AGENTS:
        halted = sum(trace["status"] == "halted" for trace in raw[agent])
        assert sum(trace.outcome == "exhausted" for trace in of_agent(recording, agent)) == halted > 0


def test_the_figures_of_the_table(recording, raw, qrels):
    table = score_traces(recording, qrels)
    for agent in AGENTS:
        steps = [step for trace in raw[agent] for step in trace["steps"]]
        figures = table.by_context()[agent]
        assert figures["traces"] == len(raw[agent])
        assert figures["steps"] == len(steps)
        assert figures["searches"] == sum(step["action"].startswith("Search[") for step in steps)
        assert figures["exhausted"] == sum(trace["status"] == "halted" for trace in raw[agent])
        assert figures["tool_errors"] == sum(
            step["observation"].startswith(("Could not", "Invalid", "The last page")) for step in steps
        )


def reached_by_hand(pairs):
    """Return type of question → traces, supporting pages reached and needed, and traces that have all."""
    counts = defaultdict(lambda: [0, 0, 0, 0])
    for trace, question in pairs:
        needed = set(question["supporting_facts"]["title"])
        found = {
            step["action"][len("Search[") : -1]
            for step in trace["steps"]
            if step["action"].startswith("Search[") and not step["observation"].startswith("Could not find")
        }
        row = counts[question["type"]]
        for place, more in enumerate((1, len(needed & found), len(needed), needed <= found)):
            row[place] += more
    return dict(counts)


@pytest.mark.parametrize("agent", AGENTS)
def test_searches_that_reached_the_supporting_pages_by_type(recording, matched, qrels, agent):
    expected = reached_by_hand(matched[agent])
    table = score_traces(of_agent(recording, agent), qrels)
    assert set(expected) == {"bridge", "comparison"}
    for kind, (traces, reached, _, with_all) in expected.items():
        rows = table.select(stratum=kind).rows
        assert len(rows) == traces
        assert sum(row.returned_exact for row in rows) == reached > 0
        assert sum(row.returned_exact == len(qrels[row.query_id]) for row in rows) == with_all
    none = sum(row.returned_exact == 0 for row in table.rows)
    assert table.summary()["returned_no_exact"] == none


def test_comparisons_are_reached_far_more_often_than_bridges(matched):
    """A comparison names both of its pages, a bridge hides one: that is why types are strata."""
    for pairs in matched.values():
        counts = reached_by_hand(pairs)
        share = {kind: reached / needed for kind, (_, reached, needed, _) in counts.items()}
        assert share["comparison"] > share["bridge"] + 0.1, share


def test_the_agent_s_own_searches_become_queries(recording, qrels, matched):
    queries, judged = trace_queries(of_agent(recording, "base"), qrels)
    expected = {
        (question["id"], step["action"][len("Search[") : -1])
        for trace, question in matched["base"]
        for step in trace["steps"]
        if step["action"].startswith("Search[")
    }
    assert {(name.rpartition("/")[0], text) for name, text in queries.items()} == expected
    assert len(queries) == len(expected)
    assert all(judged[name] == qrels[name.rpartition("/")[0]] for name in queries)


def test_finishing_is_called_once_where_it_is_called(recording):
    for trace in recording.traces:
        if trace.outcome == "finished":
            assert_called(trace, "finish", times=1)
