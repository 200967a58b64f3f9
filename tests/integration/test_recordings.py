"""Recordings in a session: gated like runs, stale when their retriever changed, refused where unfit."""

from __future__ import annotations

import json
import tomllib

import pytest

from .conftest import QUERIES, RANKINGS, TOML

SUBJECTS = """
[subjects."rag.bm25"]
measures = ["exact_share", "grounded", "declined_wrongly", "context_recall@2"]

[subjects."agent.bm25"]
measures = ["precision@1", "searches"]
"""
ANSWERS_TOML = """
kind = "answers"
goldset = "store"
results_shown = 2
[contexts.bm25]
subject = "bm25"
[contexts.random]
"""
AGENT_TOML = """
kind = "agent"
goldset = "store"
results_shown = 2
[contexts.bm25]
subject = "bm25"
"""
CITED = {"i1": ["a"], "i2": ["b"], "w1": ["c", "x"], "w2": [], "w3": ["f"]}


class Recorded:
    """A project with a recording of answers and one of an agent."""

    def __init__(self, project):
        self.project = project
        self.answers = {
            (query_id, context): {
                "query_id": query_id,
                "context": context,
                "context_ids": RANKINGS[text][:2] if context == "bm25" else ["y", "z"],
                "cited_ids": CITED[query_id] if context == "bm25" else [],
                "text": "…",
            }
            for context in ("bm25", "random")
            for query_id, (text, _) in QUERIES.items()
        }
        self.traces = {
            query_id: {
                "query_id": query_id,
                "context": "bm25",
                "request": text,
                "calls": [
                    {"tool": "search", "arguments": {"query": text}, "returned_ids": RANKINGS[text][:2]},
                ],
                "picks": RANKINGS[text][:1],
            }
            for query_id, (text, _) in QUERIES.items()
        }
        self.toml = ANSWERS_TOML
        project.write_goldset(toml=TOML + SUBJECTS)
        self.write()

    def write(self):
        write = self.project.write
        write("recordings/rag/manifest.toml", self.toml)
        write("recordings/agent/manifest.toml", AGENT_TOML)
        write("recordings/rag/answers.jsonl", "".join(json.dumps(a) + "\n" for a in self.answers.values()))
        write("recordings/agent/traces.jsonl", "".join(json.dumps(t) + "\n" for t in self.traces.values()))

    def answer(self, query_id, **changed):
        self.answers[query_id, "bm25"] |= changed
        self.write()


@pytest.fixture
def recorded(project):
    return Recorded(project)


@pytest.fixture
def pinned(recorded):
    recorded.project.pin().assert_outcomes(passed=22)
    return recorded


def pins(project):
    return tomllib.loads((project.goldset / "pins.toml").read_text())


def test_answers_and_traces_are_pinned_and_held(pinned):
    found = pins(pinned.project)
    words = {name: pin["value"] for name, pin in found["rag.bm25"]["words"].items()}
    assert words == {
        "exact_share": pytest.approx((0.5 + 0 + 1) / 3),
        "grounded": 1.0,
        "declined_wrongly": 0.0,
        "context_recall@2": pytest.approx((0.5 + 0 + 1) / 3),
    }
    agent = found["agent.bm25"]
    assert agent["all"]["precision@1"]["value"] == pytest.approx(3 / 5)
    assert agent["all"]["searches"]["value"] == 1.0
    result = pinned.project.run()
    result.assert_outcomes(passed=22)
    result.stdout.fnmatch_lines(
        ["note: rag.bm25: 0 of 5 recorded contexts differ from what bm25 returns today, 0 only in order"]
    )


def test_what_is_not_gated_is_described_by_stratum(pinned):
    pinned.answer("w1", latency=1.5, scores=[7.25, 1.0])
    pinned.answer("w3", latency=0.5)
    result = pinned.project.run()
    result.stdout.fnmatch_lines(
        [
            "store · rag.bm25 · described",
            "stratum * replies * cite nothing    latency in s: p50, p95    top score: p10, p50, p90",
            "identifier  2          0.000",
            "words       3          0.333           1  1.45                   7.25  7.25  7.25",
            "all         5          0.200           1  1.45                   7.25  7.25  7.25",
        ]
    )


def test_evidence_keeps_what_was_shown_and_cited(pinned):
    path = pinned.project.goldset / "pins" / "rag.bm25.jsonl"
    line = next(line for line in map(json.loads, path.read_text().splitlines()) if line["query_id"] == "w1")
    assert line["replies"] == [{"shown": ["c", "x"], "cited": ["c", "x"]}]
    assert line["ranking"] == ["c", "x"]
    assert line["grades"] == {"a": 1, "c": 2, "d": 2}
    path = pinned.project.goldset / "pins" / "agent.bm25.jsonl"
    line = json.loads(path.read_text().splitlines()[0])
    assert line["replies"][0]["numbers"] == {"exhausted": 0, "searches": 1, "steps": 1, "tool_errors": 0}
    assert line["replies"][0]["picks"] is True


def test_an_answer_that_cites_the_wrong_product_is_a_regression(pinned):
    pinned.answer("i1", cited_ids=["b"])
    result = pinned.project.run("-k", "rag and exact_share and identifier")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "store: rag.bm25 · exact_share · identifier is regressed",
            "  1.000 → 0.500  *",
            "  i1 “HX-1”  1.000 → 0.000",
            "      cites a (exact) → b (unjudged)",
        ]
    )


def test_a_citation_from_nowhere_is_a_loss_of_grounding(pinned):
    pinned.answer("i1", cited_ids=["a", "q"])
    result = pinned.project.run("-k", "rag")
    result.assert_outcomes(failed=4, passed=8)
    result.stdout.fnmatch_lines(
        ["*rag.bm25 · grounded · identifier is regressed", "*q (unjudged, outside the*"]
    )


def test_measures_where_lower_is_better_fail_when_they_rise(pinned):
    trace = pinned.traces["w3"]
    trace["calls"] = trace["calls"] * 3
    pinned.write()
    result = pinned.project.run("-k", "agent and searches and words")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["store: agent.bm25 · searches · words is regressed", "  1.000 → 1.667  (+0.667*"]
    )


def test_corrected_judgments_score_both_sides(pinned):
    gold = {"i1": {"a": 0, "z": 2}, "i2": {"b": 2}, "w1": {"c": 2, "d": 2}, "w2": {"e": 2}, "w3": {"f": 2}}
    pinned.project.write_goldset(toml=TOML + SUBJECTS, gold=gold)
    pinned.project.run("-k", "rag").assert_outcomes(passed=12)


def test_a_changed_retriever_makes_the_recording_stale(pinned):
    pinned.project.rank(w2=["e", "x", "y"])
    result = pinned.project.run("-k", "rag or agent")
    result.assert_outcomes(failed=18)
    result.stdout.fnmatch_lines(
        [
            "store: rag.bm25 · * is stale",
            "  the recording is stale: 1 of 5 recorded contexts (20.0%; recording_drift allows 0.0%) are *",
            "*record again*",
        ]
    )
    result.stdout.fnmatch_lines(["*18 stale*"])
    result = pinned.project.pin("all", "--retrieval-reason", "try", "-k", "rag")
    result.assert_outcomes(failed=12)


def test_another_order_alone_is_named_and_passes(pinned):
    pinned.project.rank(w2=["y", "x", "e"])
    result = pinned.project.run("-k", "rag and words")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["note: rag.bm25: 1 of 5 *, 1 only in order"])


def test_a_drift_that_is_allowed(pinned):
    pinned.project.rank(w2=["e", "x", "y"])
    pinned.project.write_goldset(toml="recording_drift = 0.2\n" + TOML + SUBJECTS)
    pinned.project.run("-k", "rag or agent").assert_outcomes(passed=18)


def test_contexts_without_a_retriever_are_not_checked(recorded):
    subject = '[subjects."rag.random"]\nmeasures = ["exact_share"]\n'
    recorded.project.write_goldset(toml=TOML + subject)
    recorded.project.pin()
    result = recorded.project.run("-k", "random")
    result.stdout.fnmatch_lines(["note: rag.random: contexts not checked: the manifest names no retriever *"])


def test_a_retriever_that_is_not_under_test_is_an_error(recorded):
    recorded.toml = ANSWERS_TOML.replace('subject = "bm25"', 'subject = "dense"')
    recorded.write()
    result = recorded.project.run("-k", "rag and words")
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        ["*was made with the retriever 'dense', and the fixture `retrievers` has no such*"]
    )


def test_the_workers_of_xdist_ask_once(pinned):
    pytest.importorskip("xdist")
    calls = pinned.project.path / "calls"
    calls.unlink()
    result = pinned.project.run_apart("-n2", "-q")
    assert result.ret == 0, result.stdout.str()
    # Five queries for the runs, and five for each of the two recordings.
    assert len(calls.read_text().splitlines()) == 15


@pytest.mark.parametrize(
    "file, text, message",
    [
        (
            "recordings/rag/manifest.toml",
            ANSWERS_TOML.replace("store", "shop"),
            "*made for the gold set 'shop'*",
        ),
        (
            "recordings/rag/answers.jsonl",
            '{"query_id": "i1"}\n',
            "*answers.jsonl:1: has no 'context_ids', 'cited_*",
        ),
        ("recordings/rag/answers.jsonl", "{}\n{\n", "*answers.jsonl:2: is no JSON*"),
    ],
)
def test_a_recording_that_cannot_be_used_fails_its_cells(recorded, file, text, message):
    recorded.project.write(file, text)
    result = recorded.project.run("-k", "rag and words")
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines([message])


def test_an_unknown_context_is_named(recorded):
    subject = '[subjects."rag.dense"]\nmeasures = ["exact_share"]\n'
    recorded.project.write_goldset(toml=TOML + subject)
    result = recorded.project.run("-k", "dense and all")
    result.stdout.fnmatch_lines(
        ["*recording rag has nothing under the context 'dense'; it has bm25, random*"]
    )


def test_a_measure_of_answers_on_a_plain_run_is_an_error(recorded):
    recorded.project.write_goldset(toml=TOML.replace('"recall@2"', '"exact_share"'))
    result = recorded.project.run("-k", "bm25 and all")
    result.stdout.fnmatch_lines(["*exact_share is a measure of answers, and this is a plain run*"])


def test_digests_that_changed_are_named_beside_the_verdict(recorded):
    recorded.toml = ANSWERS_TOML + '[digests]\njudgments = "0000"\ncatalog = "0000"\n'
    recorded.write()
    result = recorded.project.pin()
    result.stdout.fnmatch_lines(["note: recording rag: the judgments or query texts changed since*"])
    result.stdout.fnmatch_lines(["note: recording rag: the catalog changed since*"])


def test_the_fixture_and_the_helpers(recorded):
    recorded.project.write(
        "test_answers.py",
        """
from pytest_retrieval import assert_exact_share, assert_grounded, assert_declines

def test_them(recordings, qrels):
    assert sorted(recordings) == ["agent", "rag"]
    answers = recordings["rag"].answers
    assert_grounded(answers)
    assert_exact_share(recordings["rag"], qrels, at_least=0.3, by=None)

def test_the_floor_is_low(recordings, qrels):
    assert_exact_share(recordings["rag"].answers, qrels, at_least=0.5, by="context")

def test_nothing_is_unanswerable(recordings, qrels):
    assert_declines(recordings["rag"].answers, qrels)
""",
    )
    result = recorded.project.run("test_answers.py")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        ["E *exact share of random is 0.000 over 5 queries; at least 0.5 is asked for*"]
    )
    result.stdout.fnmatch_lines(["E *declined is undefined: no answer is to a query that it is defined for"])


def test_a_project_with_recordings_alone_gets_the_fixture(pytester, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    folder = pytester.path / "recordings" / "rag"
    folder.mkdir(parents=True)
    (folder / "manifest.toml").write_text('kind = "answers"\ngoldset = "elsewhere"\n')
    (folder / "answers.jsonl").write_text('{"query_id": "q", "context_ids": ["a"], "cited_ids": ["b"]}\n')
    pytester.makepyfile(
        """
        from pytest_retrieval import assert_grounded

        def test_it(recordings):
            assert_grounded(recordings["rag"].answers)
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *q: cites b, which the context did not hold"])


def test_labels_of_people_are_gated_and_those_of_an_uncalibrated_judge_are_not(recorded):
    toml = TOML + '[subjects."rag.bm25"]\nmeasures = ["label:faithful"]\n'
    recorded.project.write_goldset(toml=toml)
    labels = [
        {"query_id": query_id, "context": "bm25", "label": "faithful", "value": query_id != "w2"}
        for query_id in QUERIES
    ]
    path = "recordings/rag/labels.jsonl"
    recorded.project.write(path, "".join(json.dumps(label) + "\n" for label in labels))
    recorded.project.pin()
    assert pins(recorded.project)["rag.bm25"]["words"]["label:faithful"]["value"] == pytest.approx(2 / 3)
    recorded.toml = ANSWERS_TOML + '[judges.nli]\nmodel = "nli"\nprompt = "Does it?"\n'
    recorded.write()
    by_judge = "".join(json.dumps(label | {"judge": "nli"}) + "\n" for label in labels)
    recorded.project.write(path, by_judge)
    result = recorded.project.run("-k", "faithful")
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["*label faithful is uncalibrated: mean 0.800 over 5 labels*"])


def test_an_unavailable_retriever_checks_nothing_and_says_so(pinned):
    """Answers are judged all the same: what is missing here is the retriever that made their contexts."""
    conftest = pinned.project.path / "conftest.py"
    text = conftest.read_text().replace('return {"bm25": search}', 'return {"bm25": Unavailable("no index")}')
    conftest.write_text("from pytest_retrieval import Unavailable\n" + text)
    result = pinned.project.run("-k", "rag and words")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["note: rag.bm25: contexts not checked: bm25 is unavailable: no index"])


def test_a_retriever_that_lacks_a_package_checks_nothing_and_says_so(pinned):
    subjects = SUBJECTS + '[subjects.bm25]\nmeasures = ["recall@2"]\nrequires = ["no_such_package"]\n'
    toml = TOML.replace('[subjects.bm25]\nmeasures = ["recall@2"]\n', "")
    pinned.project.write_goldset(toml=toml + subjects)
    result = pinned.project.run("-k", "rag and words")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        ["note: rag.bm25: contexts not checked: bm25 requires no_such_package, not installed here"]
    )


def test_an_agent_that_never_searched_has_nothing_to_check(recorded):
    for trace in recorded.traces.values():
        trace["calls"] = []
    recorded.write()
    recorded.project.pin()
    result = recorded.project.run("-k", "agent")
    result.stdout.fnmatch_lines(["note: agent.bm25: contexts not checked: it holds no search"])


def test_names_identify_recordings(recorded):
    recorded.project.write(
        "test_names.py",
        """
def test_there_is_none(recordings):
    assert "nobody" not in recordings
    recordings["nobody"]

def test_there_are_two(recordings):
    assert sorted(recordings) == ["agent", "rag"] and len(recordings) == 2
    recordings["rag"]
""",
    )
    write = recorded.project.write
    write("more/recordings/rag/manifest.toml", recorded.toml)
    write(
        "more/recordings/rag/answers.jsonl",
        (recorded.project.path / "recordings/rag/answers.jsonl").read_text(),
    )
    write("pytest.ini", "[pytest]\nretrieval_recordings =\n    recordings\n    more/recordings\n")
    result = recorded.project.run("test_names.py")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*no recording is named 'nobody'; there are agent, rag*"])
    result.stdout.fnmatch_lines(["*two recordings are named 'rag': *rename one of the folders*"])


def test_a_recording_for_another_gold_set_is_no_subject_of_this_one(recorded):
    recorded.project.write("recordings/rag/manifest.toml", ANSWERS_TOML.replace('"store"', '"shop"'))
    result = recorded.project.run("-k", "rag and words and grounded")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*made for the gold set 'shop', and 'store' declares the subject rag.bm25*"])


def test_a_label_that_people_gave_later_is_pinned_anew(pinned):
    project = pinned.project
    labels = [{"query_id": q, "context": "bm25", "label": "kind", "value": 1} for q in QUERIES]
    project.write("recordings/rag/labels.jsonl", "".join(json.dumps(label) + "\n" for label in labels))
    project.write_goldset(toml=TOML + SUBJECTS.replace('"grounded"', '"grounded", "label:kind"'))
    project.run("-k", "rag").assert_outcomes(passed=12, failed=3)  # what was pinned is judged as before
    result = project.pin()
    result.stdout.fnmatch_lines(["*cannot be pinned: label:kind was not there when the replies were pinned*"])
    project.pin("all", "--retrieval-reason", "labels came").assert_outcomes(passed=25)
    project.run().assert_outcomes(passed=25)
    labels[0]["value"] = 0
    project.write("recordings/rag/labels.jsonl", "".join(json.dumps(label) + "\n" for label in labels))
    project.run("-k", "label and all").stdout.fnmatch_lines(["*label:kind · all is regressed*"])


def test_a_recording_that_lost_a_pinned_context_is_told_without_our_code(pinned):
    pinned.answers = {key: line | {"context": "random"} for key, line in pinned.answers.items()}
    pinned.write()
    pinned.project.write_goldset(toml=TOML + SUBJECTS.replace("rag.bm25", "rag.random"))
    result = pinned.project.run()
    result.stdout.no_fnmatch_line("*subjects.py*")
