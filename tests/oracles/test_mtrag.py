"""MT-RAG: answers that people rated, gated by answerability, and an automatic score held against people."""

from __future__ import annotations

import gzip
import json
import math
import statistics
import tomllib
from collections import Counter, defaultdict

import numpy as np
import pytest

from pytest_retrieval import calibrate, judge_digest, load_goldset, load_recording

COLLECTION = "mtrag"
MODELS = ("reference", "llama-3.1-405b-instruct", "gpt-4o")
STRATA = {"ANSWERABLE": 135, "PARTIAL": 15, "UNANSWERABLE": 7, "CONVERSATIONAL": 2}

GOLDSET = """
name = "mtrag"
stratum = "answerability"
gate_also = ["all"]
[subjects."human.gpt-4o"]
measures = ["label:faithful", "label:conditional_idk"]
"""
MANIFEST = """
kind = "answers"
goldset = "mtrag"
provenance = "IBM/mt-rag-benchmark, reference_subset_with_human_evaluations.json"
[contexts]
reference = {}
"llama-3.1-405b-instruct" = {}
gpt-4o = {}
"""
GATE = "def test_pinned(gate):\n    gate.check()\n"


@pytest.fixture(scope="module")
def collection(data):
    path = data / "reference_subset_with_human_evaluations.json.gz"
    return json.loads(gzip.decompress(path.read_bytes()))


@pytest.fixture(scope="module")
def tasks(collection):
    return {task["task_id"]: task for task in collection["tasks"]}


@pytest.fixture(scope="module")
def rated(collection):
    """Return (task, model) → its evaluation."""
    return {(one["task_id"], one["model_id"]): one for one in collection["evaluations"]}


def rating(evaluation, name):
    """Return the median of the people's ratings, 1 to 4, as the collection aggregates them."""
    return statistics.median(int(one["value"]) for one in evaluation["annotations"][name].values())


def is_faithful(evaluation):
    """Return whether people call an answer faithful: median "Mostly yes" (3) or better."""
    return rating(evaluation, "faithfulness") >= 3


def automatic(evaluation, name):
    return evaluation["annotations"][name]["composite"]["value"]


def labels_of(evaluation):
    return {"faithful": is_faithful(evaluation), "conditional_idk": automatic(evaluation, "conditional_idk")}


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def write_goldset(folder, collection, tasks):
    """Write the tasks as a gold set: what a task's answer was to rest on is relevant to it."""
    write(
        folder / "catalog.jsonl",
        ({"doc_id": one["document_id"], "text": one["text"]} for one in collection["documents"]),
    )
    write(
        folder / "queries.jsonl",
        (
            {
                "query_id": name,
                "query": task["input"][-1]["text"],
                "answerability": task["Answerability"][0],
                "answerable": bool(task["contexts"]),
            }
            for name, task in tasks.items()
        ),
    )
    (folder / "goldset.toml").write_text(GOLDSET)
    (folder / "qrels.trec").write_text(
        "".join(f"{n} 0 {c['document_id']} 1\n" for n, task in tasks.items() for c in task["contexts"])
    )


def write_recording(folder, tasks, rated, said_by=lambda model: model):
    """Write all answers and what people said of them; `said_by` puts one model in another's place."""
    write(
        folder / "answers.jsonl",
        (
            {
                "query_id": name,
                "context": model,
                "context_ids": [one["document_id"] for one in task["contexts"]],
                "cited_ids": [],
                "text": rated[name, said_by(model)]["model_response"],
            }
            for model in MODELS
            for name, task in tasks.items()
        ),
    )
    (folder / "manifest.toml").write_text(MANIFEST)
    write(
        folder / "labels.jsonl",
        (
            {"query_id": name, "context": model, "label": label, "value": value}
            for model in MODELS
            for name in tasks
            for label, value in labels_of(rated[name, said_by(model)]).items()
        ),
    )


@pytest.fixture
def folder(pytester, monkeypatch, collection, tasks, rated):
    monkeypatch.delenv("CI", raising=False)
    write_goldset(pytester.path / "goldsets" / "mtrag", collection, tasks)
    write_recording(pytester.path / "recordings" / "human", tasks, rated)
    (pytester.path / "test_gate.py").write_text(GATE)
    return pytester.path


def shares(tasks, rated, model, label):
    """Return stratum → mean of a label, by hand; `all` beside them."""
    values = defaultdict(list)
    for name, task in tasks.items():
        value = float(labels_of(rated[name, model])[label])
        values["all"].append(value)
        values[task["Answerability"][0]].append(value)
    return {stratum: math.fsum(found) / len(found) for stratum, found in values.items()}


def test_the_strata_and_the_answers(collection, tasks, rated):
    assert len(collection["documents"]) == 350
    assert len(rated) == 477 == len(tasks) * len(MODELS)
    assert Counter(task["Answerability"][0] for task in tasks.values()) == STRATA


def test_the_recording_is_read_with_its_labels(folder, tasks, rated):
    goldset = load_goldset(folder / "goldsets" / "mtrag")
    recording = load_recording(folder / "recordings" / "human", goldset)
    assert len(recording.answers) == 477
    assert recording.subjects == tuple(f"human.{model}" for model in MODELS)
    assert {label: len(values) for label, values in recording.labels.items()} == {
        "faithful": 477,
        "conditional_idk": 477,
    }
    refused = [one for one in rated.values() if automatic(one, "conditional_idk") == 0]
    assert len(refused) == 477 - sum(recording.labels["conditional_idk"].values()) == 16


def test_labels_are_pinned_by_answerability(folder, pytester, tasks, rated):
    pytester.runpytest("--retrieval-pin=new", "-q").assert_outcomes(passed=11)
    pins = tomllib.loads((folder / "goldsets" / "mtrag" / "pins.toml").read_text())["human.gpt-4o"]
    for label in ("faithful", "conditional_idk"):
        found = {stratum: cells[f"label:{label}"]["value"] for stratum, cells in pins.items()}
        assert found == pytest.approx(shares(tasks, rated, "gpt-4o", label))
    assert {stratum: cells["label:faithful"]["n"] for stratum, cells in pins.items()} == STRATA | {"all": 159}


@pytest.mark.parametrize("other", ["llama-3.1-405b-instruct", "reference"])
def test_another_model_in_its_place_is_judged_by_answerability(folder, pytester, tasks, rated, other):
    pytester.runpytest("--retrieval-pin=new", "-q").assert_outcomes(passed=11)
    write_recording(folder / "recordings" / "human", tasks, rated, lambda model: other)
    result = pytester.runpytest("-q", "--retrieval-details")
    red = set()
    for label in ("faithful", "conditional_idk"):
        before, after = (shares(tasks, rated, model, label) for model in ("gpt-4o", other))
        red |= {(label, stratum) for stratum in before if after[stratum] < before[stratum]}
    assert red, "people rate no two models alike"
    result.assert_outcomes(passed=11 - len(red), failed=len(red))
    out = result.stdout.str()
    for label, stratum in red:
        assert f"mtrag: human.gpt-4o · label:{label} · {stratum} is regressed" in out


# An automatic score that is to stand for people: RAGAS' faithfulness, true from 0.75.


def judged_by_rl_f(rated):
    return {key: automatic(one, "rl_f") >= 0.75 for key, one in rated.items()}


def test_agreement_and_kappa_by_hand(rated):
    judge = judged_by_rl_f(rated)
    people = {key: is_faithful(one) for key, one in rated.items()}
    table = Counter((judge[key], people[key]) for key in rated)
    # Counted on the collection: yes/yes, yes/no, no/yes, no/no.
    cells = [table[pair] for pair in ((True, True), (True, False), (False, True), (False, False))]
    assert cells == [322, 13, 81, 61]
    agreement = (322 + 61) / 477
    chance = ((322 + 13) * (322 + 81) + (81 + 61) * (13 + 61)) / 477**2
    found = calibrate(judge, people, judge=judge_digest("rl_f", "RAGAS, from 0.75"))
    assert found.n == 477
    assert found.agreement == pytest.approx(agreement, abs=1e-12)
    assert found.kappa == pytest.approx((agreement - chance) / (1 - chance), abs=1e-12)
    assert found.judge_mean == pytest.approx(335 / 477)
    assert found.human_mean == pytest.approx(403 / 477)
    assert math.isnan(found.estimate)


@pytest.mark.parametrize("size, seed", [(160, 1), (100, 2)])
def test_the_prediction_powered_estimate_by_hand(rated, size, seed):
    """People's ratings of some answers, the automatic score of all: PPI++'s formula for a mean."""
    pytest.importorskip("ppi_py")
    judge = judged_by_rl_f(rated)
    chosen = set(np.random.default_rng(seed).permutation(len(rated))[:size].tolist())
    sample = {key: is_faithful(one) for n, (key, one) in enumerate(rated.items()) if n in chosen}
    found = calibrate(judge, sample)
    y = np.array([float(value) for value in sample.values()])
    f = np.array([float(judge[key]) for key in sample])
    rest = np.array([float(judge[key]) for key in rated if key not in sample])
    n, more = len(y), len(rest)
    pooled = np.concatenate([f, rest])
    power = np.mean((y - y.mean()) * (f - f.mean())) / ((1 + n / more) * pooled.var(ddof=1))
    assert 0 < power < 1
    estimate = power * rest.mean() + (y - power * f).mean()
    spread = np.sqrt(power**2 * rest.var() / more + (y - power * f).var() / n)
    assert found.estimate == pytest.approx(estimate, abs=1e-12)
    assert found.high - found.low == pytest.approx(2 * 1.959964 * spread, rel=0.02)
    truth = statistics.fmean(is_faithful(one) for one in rated.values())
    assert found.low < truth < found.high
    assert abs(found.estimate - truth) < abs(statistics.fmean(judge.values()) - truth)
