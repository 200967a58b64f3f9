"""How often the noise band of a pin gives a false red: an HNSW graph, built anew on four threads each time.

Needs usearch. Prints, for all questions and for each half of them, the share of trials in which any of twenty
further builds falls below the first by more than the band that was measured with it:

    python benchmarks/noise_band.py
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from usearch.index import Index

from pytest_retrieval.gate.noise import RETRIEVALS, WIDTH

DOCUMENTS, QUESTIONS, NUMBERS, K = 3_000, 60, 24, 10
BUILDS = 20


def unit_vectors(rng: np.random.Generator, count: int) -> NDArray[np.float32]:
    """Return random vectors of length 1."""
    vectors = rng.standard_normal((count, NUMBERS)).astype(np.float32)
    lengths: NDArray[np.float32] = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / lengths


def recall_of_a_build(
    documents: NDArray[np.float32], questions: NDArray[np.float32], exact: list[set[int]]
) -> NDArray[np.float64]:
    """Build the graph and return recall@10 of each question."""
    index = Index(ndim=NUMBERS, metric="cos", connectivity=8, expansion_add=32, expansion_search=32)
    index.add(np.arange(len(documents)), documents, threads=4)
    found = [index.search(question, K).keys.tolist() for question in questions]
    return np.array([len(right.intersection(keys)) / K for right, keys in zip(exact, found, strict=True)])


def false_reds(means: NDArray[np.float64], measured: int, trials: int, seed: int) -> NDArray[np.float64]:
    """Return, per cell, the share of trials with a false red; and last, that of trials with any."""
    rng, red = np.random.default_rng(seed), np.zeros(means.shape[1] + 1)
    for _ in range(trials):
        drawn = means[rng.permutation(len(means))[: measured + BUILDS]]
        pinned, later = drawn[:measured], drawn[measured:]
        band = WIDTH * (pinned.max(axis=0) - pinned.min(axis=0))
        fell = ((pinned[0] - later).round(12) > band.round(12)).any(axis=0)
        red += [*fell, fell.any()]
    return red / trials


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--graphs", type=int, default=200, help="graphs to build and to draw from")
    parser.add_argument("--trials", type=int, default=4_000)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    documents, questions = unit_vectors(rng, DOCUMENTS), unit_vectors(rng, QUESTIONS)
    nearest = np.argsort(-(questions @ documents.T), axis=1)[:, :K]
    exact = [set(row) for row in nearest.tolist()]
    scores = [recall_of_a_build(documents, questions, exact) for _ in range(options.graphs)]
    cells = {"all": slice(None), "even": slice(None, None, 2), "odd": slice(1, None, 2)}
    means = np.array([[score[part].mean() for part in cells.values()] for score in scores])
    print(f"recall@{K} of {options.graphs} graphs, ± standard deviation:", end=" ")
    print(
        ", ".join(
            f"{c} {m:.4f} ± {s:.4f}" for c, m, s in zip(cells, means.mean(0), means.std(0), strict=True)
        )
    )
    for measured in (RETRIEVALS, 2 * RETRIEVALS, 3 * RETRIEVALS):
        shares = false_reds(means, measured, options.trials, options.seed)
        print(f"measured over {measured}, false red within {BUILDS} builds:", end=" ")
        print(", ".join(f"{c} {100 * share:.1f} %" for c, share in zip([*cells, "any"], shares, strict=True)))


if __name__ == "__main__":
    main()
