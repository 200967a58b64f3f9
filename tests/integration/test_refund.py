"""Five worked queries: what the gate prints is what anyone can work out by hand."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from pytest_retrieval import evaluate, load_goldset, load_run

FOLDER = Path(__file__).parents[1] / "goldsets" / "refund"

CONFTEST = """
from pathlib import Path
import pytest
from pytest_retrieval import load_run

@pytest.fixture(scope="session")
def runs(goldset):
    return {"worked": load_run(Path(__file__).parent / "goldsets/refund/worked.trec")}
"""


@pytest.fixture
def refund(project):
    shutil.rmtree(project.goldset)
    shutil.copytree(FOLDER, project.path / "goldsets/refund")
    project.write("conftest.py", CONFTEST)
    return project


def test_the_gate_prints_the_worked_figures(refund):
    """Recall: 1, 1, 1/2, 0, 1. Precision: 1/5, 1/5, 1/5, 0, 2/5. Reciprocal rank: 1, 1/4, 1, 0, 1."""
    result = refund.pin()
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        [
            "refund · worked",
            "stratum *n  precision@5 *recall@5 *mrr@10*",
            "all *5  0.200 pinned (at most 0.280) *0.700 pinned *0.650 pinned*",
            "refund: pinned 3 cells; *",
            "  worked · mrr@10 · all: new, 0.650 over 5 queries",
            "  worked · precision@5 · all: new, 0.200 over 5 queries",
            "  worked · recall@5 · all: new, 0.700 over 5 queries",
        ]
    )
    pins = tomllib.loads((refund.path / "goldsets/refund/pins.toml").read_text())["worked"]["all"]
    assert pins["recall@5"]["value"] == pytest.approx(0.70)
    assert pins["precision@5"]["value"] == pytest.approx(0.20)
    assert pins["mrr@10"]["value"] == pytest.approx(0.65)
    refund.run().stdout.fnmatch_lines(["all *0.200 * 0.700 * 0.650", "3 cells: 3 held"])


def test_evaluate_gives_the_same_figures():
    goldset = load_goldset(FOLDER)
    table = evaluate(goldset.qrels, load_run(FOLDER / "worked.trec"), ["recall@5", "precision@5", "mrr@10"])
    assert table.mean() == pytest.approx({"recall@5": 0.70, "precision@5": 0.20, "mrr@10": 0.65})


def test_one_document_less_is_told_with_its_ranks(refund):
    refund.pin()
    path = refund.path / "goldsets/refund/worked.trec"
    path.write_text(path.read_text().replace("r2 Q0 c88 4", "r2 Q0 c15 4"))
    result = refund.run()
    result.assert_outcomes(failed=3, passed=1)
    result.stdout.fnmatch_lines(
        [
            "refund: worked · recall@5 · all is regressed",
            "  0.700 → 0.500  (−0.200; tolerance 0) over 5 queries: 1 lost, 0 gained, 4 unchanged",
            "  r2 “How long does a refund to my card take?”  1.000 → 0.000",
            "      c88 (grade 1)  rank 4 → not among the 5 returned",
        ]
    )
