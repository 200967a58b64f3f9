"""ir_measures itself on its own test files, to six decimals, per query and on average.

Its RR@k and Judged@k come from another tie order than its other measures (ids ascending, not descending).
They are compared where no query has ties; where they differ, the difference is asserted to need a tie (on
real runs with ties: test_trec_dl).
"""

import gzip

import pytest

from pytest_retrieval.files.trec import load_qrels, load_run
from pytest_retrieval.measures.ranking import straddling
from pytest_retrieval.measures.table import evaluate
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Run

ir_measures = pytest.importorskip("ir_measures")

COLLECTION = "ir_measures_tests"
CUTS = (1, 3, 5, 10, 20, 100, 1000)


def shared(level, own_order):
    """Return the measures that both have; those with an order of their own only if asked for."""
    one_order = [
        measure(rel=level) @ k
        for measure in (ir_measures.P, ir_measures.R, ir_measures.AP, ir_measures.Success)
        for k in CUTS
    ]
    whole = [ir_measures.AP(rel=level), ir_measures.RR(rel=level), ir_measures.nDCG]
    graded = [ir_measures.nDCG @ k for k in CUTS]
    other_order = [ir_measures.RR(rel=level) @ k for k in CUTS] + [ir_measures.Judged @ k for k in CUTS]
    return [*one_order, *whole, *graded, *(other_order if own_order else [])]


def unpacked(path, folder):
    """Return a plain copy of a file: ir_measures reads no gzip."""
    copy = folder / path.name.removesuffix(".gz")
    copy.write_bytes(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
    return str(copy)


@pytest.fixture(scope="module")
def files(data, request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ir_measures")
    run = data / request.param
    qrels = data / f"{request.param.partition('.')[0]}.qrels"
    theirs = (
        list(ir_measures.read_trec_qrels(unpacked(qrels, folder))),
        list(ir_measures.read_trec_run(unpacked(run, folder))),
    )
    return load_qrels(qrels), load_run(run), *theirs


@pytest.mark.filterwarnings("ignore::pytest_retrieval.errors.RetrievalWarning")
@pytest.mark.parametrize(
    "files, level",
    [*(("compat.run.gz", level) for level in (1, 2, 3, 4, 10, 50)), ("cwl.run", 1)],
    indirect=["files"],
)
def test_every_shared_measure(files, level):
    qrels, run, their_qrels, their_run = files
    relevant = [query_id for query_id in qrels if any(grade >= level for grade in qrels[query_id].values())]
    assert relevant
    measures = shared(level, own_order=True)
    table = evaluate(qrels, run, [str(measure) for measure in measures])
    compared = 0
    for metric in ir_measures.iter_calc(measures, their_qrels, their_run):
        if metric.query_id not in relevant and "nDCG" not in str(metric.measure):
            continue  # 0/0: ir_measures says 0
        ours = table[str(metric.measure)][metric.query_id]
        assert ours == pytest.approx(metric.value, abs=5e-7), (metric.query_id, str(metric.measure))
        compared += 1
    assert compared >= len(measures) * len(relevant)
    if len(relevant) == len(qrels):
        averages = ir_measures.calc_aggregate(measures, their_qrels, their_run)
        for measure, value in averages.items():
            assert table.mean()[str(measure)] == pytest.approx(value, abs=5e-7)


@pytest.mark.parametrize("files", ["compat.run.gz", "cwl.run"], indirect=True)
def test_no_ties_in_these_files(files):
    """Why RR@k and Judged@k may be compared above."""
    _, run, _, _ = files
    for query_id in run:
        scores = [score for _, score in run.scored(query_id)]
        assert len(set(scores)) == len(scores)


QRELS = {
    "tied": {"a": 1, "z": 0},
    "tied, relevant last": {"z": 1},
    "apart": {"a": 1, "z": 0},
    "tied below the cut": {"a": 1},
}
RUN = {
    "tied": {"a": 2.0, "z": 2.0, "m": 1.0},
    "tied, relevant last": {"a": 2.0, "z": 2.0, "m": 1.0},
    "apart": {"a": 3.0, "z": 2.0, "m": 1.0},
    "tied below the cut": {"a": 3.0, "z": 2.0, "m": 2.0},
}


def test_its_own_tie_order_matters_in_tied_queries_only():
    """RR@1 and Judged@1 differ from ours exactly in queries whose ties straddle rank 1; P@1 never does."""
    measures = [ir_measures.RR @ 1, ir_measures.Judged @ 1, ir_measures.P @ 1, ir_measures.RR]
    table = evaluate(Qrels(QRELS), Run(RUN), [str(measure) for measure in measures])
    differing = {
        (str(metric.measure), metric.query_id)
        for metric in ir_measures.iter_calc(measures, QRELS, RUN)
        if abs(table[str(metric.measure)][metric.query_id] - metric.value) > 5e-7
    }
    assert straddling(Run(RUN), 1) == ("tied", "tied, relevant last")
    # In "tied" both documents are judged, so Judged@1 is 1 in either order.
    assert differing == {
        ("RR@1", "tied"),
        ("RR@1", "tied, relevant last"),
        ("Judged@1", "tied, relevant last"),
    }
