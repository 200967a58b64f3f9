"""trec_eval's own outputs on its own test files, as it prints them: four decimals.

Which qrels, results and options each output belongs to stands in trec_eval's Makefile (target `quicktest`).
"""

import re
from dataclasses import dataclass

import pytest

from pytest_retrieval.files.trec import load_qrels, load_run
from pytest_retrieval.measures.table import evaluate
from pytest_retrieval.model.run import Run

COLLECTION = "trec_eval_tests"

OURS = {"P": "precision", "recall": "recall", "ndcg_cut": "ndcg", "map_cut": "ap", "success": "success"}
WHOLE = {"map": "ap", "ndcg": "ndcg", "recip_rank": "mrr"}


@dataclass(frozen=True)
class Output:
    """One of trec_eval's outputs: its inputs, options -l and -M, and how many of its values are ours too."""

    name: str
    qrels: str
    results: str
    level: int = 1
    depth: int | None = None
    values: int = 168


OUTPUTS = [
    Output("out.test", "qrels.test.gz", "results.test.gz", values=11),
    Output("out.test.a", "qrels.test.gz", "results.test.gz", values=42),
    Output("out.test.aq", "qrels.test.gz", "results.test.gz"),
    Output("out.test.aqc", "qrels.test.gz", "results.trunc"),
    Output("out.test.aqcM", "qrels.test.gz", "results.trunc", depth=100),
    Output("out.test.aql", "qrels.rel_level.gz", "results.test.gz", level=2),
    Output("out.test.meas_params", "qrels.test.gz", "results.test.gz", values=44),
]


def our_name(theirs):
    """Return our name of one of trec_eval's measures, or None where we have no such measure."""
    match = re.fullmatch(r"([A-Za-z_]+)_(\d+)", theirs)
    if match and match[1] in OURS:
        return f"{OURS[match[1]]}@{match[2]}"
    return WHOLE.get(theirs)


def shared_values(text):
    """Return (query or 'all', our measure, value as printed) for every line that is a measure of ours."""
    lines = (line.split(None, 2) for line in text.splitlines())
    return [
        (query_id, our_name(measure), value.strip())
        for measure, query_id, value in lines
        if our_name(measure) is not None
    ]


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda output: output.name)
def test_every_shared_value(data, output):
    qrels = load_qrels(data / output.qrels, output.level)
    run = load_run(data / output.results)
    if output.depth is not None:
        run = Run({query_id: ranking[: output.depth] for query_id, ranking in run.items()})
    expected = shared_values((data / output.name).read_text())
    assert len(expected) == output.values
    table = evaluate(qrels, run, [measure for _, measure, _ in expected])
    means, frame = table.mean(), table.to_frame()
    for query_id, measure, value in expected:
        score = means[measure] if query_id == "all" else frame.at[query_id, measure]
        assert f"{score:.4f}" == value, (query_id, measure)


def test_query_without_results_counts_0_under_c(data):
    table = evaluate(load_qrels(data / "qrels.test.gz"), load_run(data / "results.trunc"), ["ap"])
    assert table.missing == ("302",)
    assert table["ap"]["302"] == 0.0


def test_one_topic_alone(data):
    """The excerpt of topic 302 scores as topic 302 does among the others."""
    table = evaluate(
        load_qrels(data / "qrels-302.test"), load_run(data / "results-302.test"), ["ap", "mrr", "P@5"]
    )
    assert table.query_ids == ("302",)
    assert [f"{score:.4f}" for score in table.values[0]] == ["0.4175", "1.0000", "0.8000"]
