"""nDCG@10 of six systems for each of the 97 judged queries of TREC Deep Learning 2019 and 2020, as CSV.

``python benchmarks/trec_dl_scores.py scores.csv`` reads the collection ``trec_dl`` in the folder that
PYTEST_RETRIEVAL_DATA names; ``python benchmarks/simulation.py --scores scores.csv`` draws from its
differences.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pandas as pd

from pytest_retrieval import evaluate, load_qrels, load_run

LEVEL = 2
MEASURE = "ndcg@10"


def scores(year: Path) -> pd.DataFrame:
    """Scores of one year, a row per query and a column per system."""
    qrels = load_qrels(year / "qrels.txt", LEVEL)
    runs = sorted((year / "runs").glob("*.run.gz"))
    return pd.DataFrame(
        {path.name.partition(".")[0]: evaluate(qrels, load_run(path), [MEASURE])[MEASURE] for path in runs}
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("csv", type=Path, help="the file to write")
    options = parser.parse_args()
    if "PYTEST_RETRIEVAL_DATA" not in os.environ:
        parser.error("set PYTEST_RETRIEVAL_DATA to the folder that holds trec_dl")
    collection = Path(os.environ["PYTEST_RETRIEVAL_DATA"]) / "trec_dl"
    table = pd.concat([scores(collection / year) for year in ("dl19", "dl20")])
    table.to_csv(options.csv, index_label="query_id")
    print(f"{options.csv}: {len(table)} queries, {len(table.columns)} systems")


if __name__ == "__main__":
    main()
