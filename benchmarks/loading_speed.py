"""Loading a TREC run of 698,000 rows and six measures, against pytrec_eval, in one process.

Both sides read the same file and score it against the same judgments; they take turns, and the figure is the
ratio of their medians (below 1: no slower). The means are compared too, so that neither side may cheat.

    python benchmarks/loading_speed.py [rounds]
"""

from __future__ import annotations

import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytrec_eval

from pytest_retrieval.files.trec import load_run
from pytest_retrieval.measures.table import evaluate
from pytest_retrieval.model.qrels import Qrels

QUERIES = 6_980
DEPTH = 100
CORPUS = 8_841_823
SEED = 20_240_611
MEASURES = {
    "recall@10": "recall_10",
    "precision@5": "P_5",
    "mrr": "recip_rank",
    "ndcg@10": "ndcg_cut_10",
    "ap@100": "map_cut_100",
    "success@5": "success_5",
}


def make(folder: Path) -> tuple[Path, dict[str, dict[str, int]]]:
    """Write a run of distinct documents per query; judge one ranked and one unranked document of each."""
    generator = np.random.default_rng(SEED)
    path = folder / "bm25.run"
    judgments: dict[str, dict[str, int]] = {}
    with path.open("w") as file:
        for query in range(QUERIES):
            documents = generator.choice(CORPUS, size=DEPTH + 1, replace=False).tolist()
            scores = np.sort(generator.integers(1, 2**22, size=DEPTH))[::-1] / 2**17
            rows = zip(documents, scores.tolist(), strict=False)
            file.writelines(
                f"{1_000_000 + query} Q0 {doc} {rank} {score:.6f} bm25\n"
                for rank, (doc, score) in enumerate(rows, 1)
            )
            ranked = documents[int(generator.integers(DEPTH))]
            judgments[str(1_000_000 + query)] = {str(ranked): 1, str(documents[DEPTH]): 1}
    return path, judgments


def ours(path: Path, judgments: dict[str, dict[str, int]]) -> list[float]:
    means = evaluate(Qrels(judgments), load_run(path), list(MEASURES)).mean()
    return [means[measure] for measure in MEASURES]


def theirs(path: Path, judgments: dict[str, dict[str, int]]) -> list[float]:
    with path.open() as file:
        run = pytrec_eval.parse_run(file)
    evaluator = pytrec_eval.RelevanceEvaluator(
        judgments, {"recall.10", "P.5", "recip_rank", "ndcg_cut.10", "map_cut.100", "success.5"}
    )
    scores = evaluator.evaluate(run)
    return [
        pytrec_eval.compute_aggregated_measure(name, [of_query[name] for of_query in scores.values()])
        for name in MEASURES.values()
    ]


def timed(side: Callable[..., list[float]], *arguments: object) -> tuple[float, list[float]]:
    gc.collect()
    start = time.perf_counter()
    means = side(*arguments)
    return time.perf_counter() - start, means


def main(rounds: int = 5) -> float:
    """Print both medians and their ratio, and return the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        path, judgments = make(Path(folder))
        times: dict[str, list[float]] = {"pytest-retrieval": [], "pytrec_eval": []}
        for turn in range(rounds + 1):
            our_time, our_means = timed(ours, path, judgments)
            their_time, their_means = timed(theirs, path, judgments)
            np.testing.assert_allclose(our_means, their_means, atol=1e-9)
            if turn:  # the first turn warms imports and the page cache
                times["pytest-retrieval"].append(our_time)
                times["pytrec_eval"].append(their_time)
    medians = {name: statistics.median(values) for name, values in times.items()}
    ratio = medians["pytest-retrieval"] / medians["pytrec_eval"]
    print(f"{QUERIES * DEPTH:,} rows, {QUERIES:,} queries, {len(MEASURES)} measures, {rounds} rounds")
    for name, median in medians.items():
        print(f"{name:>16}: {median:.3f} s (from {min(times[name]):.3f} to {max(times[name]):.3f})")
    print(f"{'ratio':>16}: {ratio:.2f}")
    return ratio


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
