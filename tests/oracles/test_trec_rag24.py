"""TREC RAG 2024: three systems' recorded answers, counted and scored against NIST's judgments, and gated."""

from __future__ import annotations

import gzip
import json
import math
import statistics
import tomllib
from collections import Counter, defaultdict

import pytest

from pytest_retrieval import Answer, Qrels, assert_grounded, check_citations, score_answers

COLLECTION = "trec_rag24"
SYSTEMS = {
    "command-r-plus": "baseline_rag24.test_command-r-plus_top20",
    "gpt-4o": "baseline_rag24.test_gpt-4o_top20",
    "llama": "baseline_rag24.test_l31_70b_instruct_top20",
}
# As the collection's README counts them.
PUBLISHED = {
    "command-r-plus": {"sentences": 3690, "citing": 3361, "cited": 978, "judged": 921, "graded": 796},
    "gpt-4o": {"sentences": 3975, "citing": 2313, "cited": 720, "judged": 705, "graded": 645},
    "llama": {"sentences": 2291, "citing": 2253, "cited": 795, "judged": 759, "graded": 675},
}


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as text:
        return [json.loads(line) for line in text]


def answer_of(line, context=""):
    """Return one system's line as an answer: what any of its sentences cites, through its references."""
    references = line["references"]
    places = dict.fromkeys(place for sentence in line["answer"] for place in sentence["citations"])
    return Answer(
        line["topic_id"],
        context,
        context_ids=references,
        cited_ids=[references[place] for place in places],
        text=" ".join(sentence["text"] for sentence in line["answer"]),
    )


@pytest.fixture(scope="module")
def raw(data):
    return {name: lines(data / "answers" / f"{file}.jsonl.gz") for name, file in SYSTEMS.items()}


@pytest.fixture(scope="module")
def answers(raw):
    return {name: [answer_of(line) for line in of_system] for name, of_system in raw.items()}


@pytest.fixture(scope="module")
def grades(data):
    """Return topic → segment → grade, read by hand."""
    found = defaultdict(dict)
    with gzip.open(data / "qrels.rag24.test.txt.gz", "rt", encoding="utf-8") as text:
        for line in text:
            topic, _, segment, grade = line.split()
            found[topic][segment] = int(grade)
    return dict(found)


def kind_of(topic):
    """Return the stratum of a topic: asked with a question word at its head, or in any other way."""
    return "question" if topic.split()[0] in ("what", "how", "why", "when", "who", "where") else "other"


@pytest.fixture(scope="module")
def strata(raw, grades):
    return {line["topic_id"]: kind_of(line["topic"]) for line in raw["gpt-4o"] if line["topic_id"] in grades}


@pytest.fixture(scope="module")
def tables(answers, grades, strata):
    qrels = Qrels(grades, 1, strata=strata)
    return {
        name: score_answers(of_system, qrels, unknown_queries="ignore") for name, of_system in answers.items()
    }


def shares_by_hand(of_system, grades, level):
    """Return topic → exact share, from the lines as they are published."""
    shares = {}
    for line in of_system:
        judged = grades.get(line["topic_id"])
        if judged is None or max(judged.values()) < level:
            continue
        cited = {line["references"][n] for sentence in line["answer"] for n in sentence["citations"]}
        good = [segment for segment in cited if judged.get(segment, 0) >= level]
        shares[line["topic_id"]] = len(good) / len(cited) if cited else 0.0
    return shares


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_count_of_the_collection(raw, tables, system):
    sentences = [sentence for line in raw[system] for sentence in line["answer"]]
    figures = tables[system].summary()
    assert len(raw[system]) == 301
    assert figures["answers"] == len(tables[system]) == 89
    assert {
        "sentences": len(sentences),
        "citing": sum(bool(sentence["citations"]) for sentence in sentences),
        "cited": figures["cited"],
        "judged": figures["cited"] - figures["unjudged_cited"],
        "graded": figures["exact_cited"],
    } == PUBLISHED[system]
    assert figures["partial_cited"] == 0
    assert figures["irrelevant_cited"] == PUBLISHED[system]["judged"] - PUBLISHED[system]["graded"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_sentence_checked_on_its_own_counts_the_same(raw, system):
    """A sentence whose citations stand in its text as marks, as a reader would see them."""
    citing = dangling = 0
    for line in raw[system]:
        for sentence in line["answer"]:
            marked = sentence["text"].replace("[", "(") + "".join(f"[{n}]" for n in sentence["citations"])
            found = check_citations(
                {"query_id": line["topic_id"], "context_ids": line["references"], "text": marked}, positions=0
            )
            citing += bool(found.in_text)
            dangling += len(found.dangling)
    assert (citing, dangling) == (PUBLISHED[system]["citing"], 0)


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("system", SYSTEMS)
def test_exact_shares_by_hand(raw, answers, grades, strata, system, level):
    expected = shares_by_hand(raw[system], grades, level)
    table = score_answers(answers[system], Qrels(grades, level, strata=strata), unknown_queries="ignore")
    assert table.per_query().dropna().to_dict() == pytest.approx(expected, abs=1e-12)
    assert table.mean()["exact_share"] == pytest.approx(math.fsum(expected.values()) / len(expected))
    for stratum, figures in table.by_stratum().items():
        of_stratum = [share for topic, share in expected.items() if strata[topic] == stratum]
        assert figures["exact_share"] == pytest.approx(statistics.fmean(of_stratum))


def test_three_topics_have_nothing_relevant(tables, grades):
    empty = {topic for topic, judged in grades.items() if max(judged.values()) < 1}
    assert len(empty) == 3
    for table in tables.values():
        assert {row.query_id for row in table.rows if not row.answerable} == empty


def test_no_system_cites_what_it_was_not_shown(answers, tables):
    for of_system in answers.values():
        assert_grounded(of_system)
    assert all(not table.above_ceiling() for table in tables.values())


# The gate between systems: the first system's answers are pinned, and the others' take their place.

GOLDSET = """
name = "rag24"
relevance_level = 1
no_relevant = "undefined"
unjudged = "{unjudged}"
gate_also = ["all"]
[subjects."rag.top20"]
measures = ["exact_share", "grounded", "declined_wrongly"]
"""
MANIFEST = """
kind = "answers"
goldset = "rag24"
[contexts.top20]
"""
GATE = "def test_pinned(gate):\n    gate.check()\n"


class Project:
    def __init__(self, pytester, raw, grades, strata, unjudged):
        self.pytester, self.raw, self.grades = pytester, raw, grades
        self.goldset = pytester.path / "goldsets" / "rag24"
        self.recording = pytester.path / "recordings" / "rag"
        for folder in (self.goldset, self.recording):
            folder.mkdir(parents=True)
        topics = {line["topic_id"]: line["topic"] for line in raw["gpt-4o"]}
        (self.goldset / "goldset.toml").write_text(GOLDSET.format(unjudged=unjudged))
        (self.goldset / "queries.jsonl").write_text(
            "".join(
                json.dumps({"query_id": topic, "query": topics[topic], "stratum": stratum}) + "\n"
                for topic, stratum in strata.items()
            )
        )
        (self.goldset / "qrels.trec").write_text(
            "".join(f"{t} 0 {s} {g}\n" for t, judged in grades.items() for s, g in judged.items())
        )
        (self.recording / "manifest.toml").write_text(MANIFEST)
        (pytester.path / "test_gate.py").write_text(GATE)

    def record(self, system):
        answers = [answer_of(line, "top20") for line in self.raw[system] if line["topic_id"] in self.grades]
        keys = ("query_id", "context", "context_ids", "cited_ids", "text")
        (self.recording / "answers.jsonl").write_text(
            "".join(json.dumps({key: getattr(a, key) for key in keys}) + "\n" for a in answers)
        )


@pytest.fixture
def project(pytester, monkeypatch, raw, grades, strata):
    monkeypatch.delenv("CI", raising=False)
    return lambda unjudged="irrelevant": Project(pytester, raw, grades, strata, unjudged)


def mean_by_stratum(shares, strata):
    found = {"all": statistics.fmean(shares.values())}
    for stratum in set(strata.values()):
        found[stratum] = statistics.fmean(
            share for topic, share in shares.items() if strata[topic] == stratum
        )
    return found


@pytest.mark.parametrize("now", ["command-r-plus", "gpt-4o", "llama"])
def test_the_gate_between_two_systems(project, raw, grades, strata, now):
    then = "command-r-plus"
    project = project()
    project.record(then)
    project.pytester.runpytest("--retrieval-pin=new", "-q").assert_outcomes(passed=10)
    before = mean_by_stratum(shares_by_hand(raw[then], grades, 1), strata)
    pins = tomllib.loads((project.goldset / "pins.toml").read_text())["rag.top20"]
    assert {name: cell["exact_share"]["value"] for name, cell in pins.items()} == pytest.approx(before)
    project.record(now)
    after = mean_by_stratum(shares_by_hand(raw[now], grades, 1), strata)
    result = project.pytester.runpytest("-q", "-k", "exact_share")
    fallen = {name for name in before if after[name] < before[name] - 1e-12}
    risen = {name for name in before if after[name] > before[name] + 1e-12}
    assert result.parseoutcomes().get("failed", 0) == len(fallen)
    assert result.parseoutcomes().get("passed", 0) == len(before) - len(fallen)
    out = result.stdout.str()
    for name in fallen:
        assert f"rag24: rag.top20 · exact_share · {name} is regressed" in out
        assert f"{before[name]:.3f} → {after[name]:.3f}" in out
    for name in before.keys() - fallen:
        assert f"exact_share · {name} is regressed" not in out
    assert (now == then) == (not fallen | risen)


@pytest.mark.parametrize("then, now", [("gpt-4o", "command-r-plus"), ("gpt-4o", "llama")])
def test_a_red_that_unjudged_citations_could_undo_is_undecided(project, raw, grades, strata, then, now):
    project = project("unknown")
    project.record(then)
    project.pytester.runpytest("--retrieval-pin=new", "-q").assert_outcomes(passed=10)
    project.record(now)
    out = project.pytester.runpytest("-q", "-k", "exact_share").stdout.str()
    before, after = (shares_by_hand(raw[system], grades, 1) for system in (then, now))
    seen = set()
    for name in ("all", "other", "question"):
        topics = [topic for topic in before if name in ("all", strata[topic])]
        fall = math.fsum(before[topic] - after[topic] for topic in topics)
        needed, predicted = judgments_needed(raw[then], raw[now], grades, topics, fall)
        word = "improved" if fall < 0 else "undecided" if needed <= predicted else "regressed"
        assert f"exact_share · {name} is {word}" in out, (name, needed, predicted)
        seen.add(word)
    assert "undecided" in seen


def judgments_needed(then, now, grades, topics, fall):
    """Return how many segments would have to be relevant to undo a fall, and how many are predicted to be.

    Each relevant one lifts today's share by 1 / cited, and the pinned share too where it was cited then.
    """
    cited = [
        {
            line["topic_id"]: {line["references"][n] for s in line["answer"] for n in s["citations"]}
            for line in system
        }
        for system in (then, now)
    ]
    gains, seen = [], Counter()
    for topic in topics:
        was, is_now = cited[0][topic], cited[1][topic]
        for segment in is_now:
            if segment in grades[topic]:
                seen[grades[topic][segment] >= 1] += 1
            else:
                gains.append(1 / len(is_now) - (1 / len(was) if segment in was else 0))
    needed, lifted = 0, 0.0
    for gain in sorted(gains, reverse=True):
        if lifted >= fall - 1e-9:
            break
        needed, lifted = needed + 1, lifted + gain
    enough = lifted >= fall - 1e-9
    return needed if enough else math.inf, len(gains) * seen[True] / seen.total()
