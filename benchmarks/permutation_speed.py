"""How fast the sign-flip test is, against numpy sampling and scipy at an equal number of resamples.

The data are differences of reciprocal ranks, as two systems on the MS MARCO development queries would give:
6,980 queries, ranks drawn from a seed. All ways are timed in one run, the best of several, so that ratios can
be compared between machines where seconds cannot.

Run it with ``python benchmarks/permutation_speed.py``; ``--help`` names the options.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pytest_retrieval.stats import sign_flip

Floats = NDArray[np.float64]


def reciprocal_rank_differences(queries: int, deepest: int, seed: int) -> Floats:
    """Differences of 1/rank for ranks drawn evenly on a log scale, 0 beyond the deepest."""
    rng = np.random.default_rng(seed)
    ranks = np.exp(rng.uniform(0, np.log(2 * deepest), size=(2, queries))).astype(int)
    scores = np.where(ranks <= deepest, 1 / ranks, 0.0)
    differences: Floats = scores[0] - scores[1]
    return differences


def by_numpy(differences: Floats, resamples: int, seed: int) -> float:
    """Sign-flip p as one would write it with numpy: blocks of random signs and one matrix product each."""
    rng = np.random.default_rng(seed)
    limit = abs(differences.sum()) * (1 - 1e-9)
    rows = max(1, 10_000_000 // len(differences))
    hits = 0
    for done in range(0, resamples, rows):
        size = (min(rows, resamples - done), len(differences))
        signs = rng.integers(0, 2, size=size, dtype=np.int8) * 2 - 1
        hits += int(np.count_nonzero(np.abs(signs @ differences) >= limit))
    return (hits + 1) / (resamples + 1)


def by_numpy_bits(differences: Floats, resamples: int, seed: int) -> float:
    """The fastest that we could make it with numpy alone: unpacked random bits, float32 and BLAS."""
    rng = np.random.default_rng(seed)
    single = differences.astype(np.float32)
    total = float(differences.sum())
    limit = abs(total) * (1 - 1e-6)
    rows = max(8, 10_000_000 // len(differences) // 8 * 8)
    hits = 0
    for done in range(0, resamples, rows):
        bits = np.unpackbits(np.frombuffer(rng.bytes(rows * len(differences) // 8), dtype=np.uint8))
        flipped = bits.reshape(rows, -1)[: resamples - done].astype(np.float32) @ single
        hits += int(np.count_nonzero(np.abs(2 * flipped - total) >= limit))
    return (hits + 1) / (resamples + 1)


def by_scipy(differences: Floats, resamples: int, seed: int) -> float:
    """Sign-flip p by scipy, vectorised, in batches that fit into memory."""
    from scipy.stats import permutation_test

    result = permutation_test(
        (differences,),
        lambda x, axis: np.mean(x, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, 10_000_000 // len(differences)),
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)


def best_of(repeats: int, run: Callable[[], float]) -> tuple[float, float]:
    """Return the shortest time in seconds and what the run returned."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        found = run()
        seconds.append(time.perf_counter() - start)
    return min(seconds), found


def measure(differences: Floats, resamples: int, seed: int, repeats: int, *, with_scipy: bool) -> None:
    test = sign_flip(differences, resamples=resamples, seed=seed)
    print(
        f"{len(differences):,} differences, {test.changed:,} of them not 0, "
        f"{len(np.unique(np.abs(differences).round(12))) - 1:,} sizes; {resamples:,} resamples"
    )
    ours, p = best_of(repeats, lambda: sign_flip(differences, resamples=resamples, seed=seed).p)
    print(f"  {'sign_flip, ' + test.method:<24} {ours:8.3f} s              p = {p:.5f}")
    rivals: dict[str, tuple[Callable[[Floats, int, int], float], int]] = {
        "numpy, random signs": (by_numpy, repeats),
        "numpy, bits and BLAS": (by_numpy_bits, repeats),
    }
    if with_scipy:
        rivals["scipy permutation_test"] = (by_scipy, 1)
    for label, (rival, times) in rivals.items():
        theirs, p = best_of(times, partial(rival, differences, resamples, seed))
        print(f"  {label:<24} {theirs:8.3f} s  {theirs / ours:6.1f} times   p = {p:.5f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--queries", type=int, default=6_980)
    parser.add_argument("--resamples", type=int, default=99_999)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=3, help="best of so many runs; scipy runs once")
    parser.add_argument("--without-scipy", action="store_true", help="leave out the slowest")
    options = parser.parse_args()
    for deepest in (10, 1_000):
        print(f"reciprocal ranks to {deepest:,}: ", end="")
        measure(
            reciprocal_rank_differences(options.queries, deepest, options.seed),
            options.resamples,
            options.seed,
            options.repeats,
            with_scipy=not options.without_scipy,
        )


if __name__ == "__main__":
    main()
