"""How often the paired tests raise a false alarm, and how often they find what is there.

Synthetic differences are drawn with no difference behind them (false alarms) or with a known drop (power).
Every verdict is taken as a user would get it, from `compare_scores`, `sign_flip` and `bonferroni`. With
``--scores`` the sizes of the differences are those between the systems of a real score table instead.

Run it with ``python benchmarks/simulation.py``; ``--help`` names the options.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pytest_retrieval.stats import bonferroni, compare_scores, detectable_drop, sign_flip

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]

QUERIES = 30
TIES = 0.73
CELLS = 18
ALPHA = 0.05


def sizes_of(kind: str) -> Draw:
    """How large changes are: a function of a generator and a number."""

    def ones(rng: np.random.Generator, count: int) -> Floats:
        return np.ones(count)

    def recall(rng: np.random.Generator, count: int) -> Floats:
        return rng.choice([0.2, 0.25, 1 / 3, 0.5, 1.0], size=count)

    def reciprocal_rank(rng: np.random.Generator, count: int) -> Floats:
        sizes: Floats = np.abs(
            np.subtract(*(1 / rng.permuted(np.tile(np.arange(1, 11), (count, 1)), axis=1)[:, :2].T))
        )
        return sizes

    def ndcg(rng: np.random.Generator, count: int) -> Floats:
        return np.abs(rng.normal(0, 0.15, size=count))

    return {"success": ones, "recall": recall, "reciprocal rank": reciprocal_rank, "ndcg": ndcg}[kind]


def from_scores(path: Path) -> Iterator[tuple[str, float, Draw]]:
    """Sizes between each two systems of a CSV table with a row per query: name, share of ties, draw."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    systems = [column for column in rows[0] if column != "query_id"]
    scores = {system: np.array([float(row[system]) for row in rows]) for system in systems}
    for one, other in itertools.combinations(systems, 2):
        sizes = np.abs((scores[one] - scores[other]).round(12))
        changed = sizes[sizes > 0]
        if len(changed):
            yield f"{one} / {other}", 1 - len(changed) / len(sizes), drawn_from(changed)


def drawn_from(observed: Floats) -> Draw:
    """Sizes drawn from those observed."""

    def draw(rng: np.random.Generator, count: int) -> Floats:
        return rng.choice(observed, size=count)

    return draw


def differences(
    rng: np.random.Generator, queries: int, ties: float, draw: Draw, losing: float = 0.5
) -> Floats:
    """Differences of one data set: ties, and changes of which a share is losses."""
    changed = rng.random(queries) >= ties
    signs = np.where(rng.random(queries) < losing, -1.0, 1.0)
    return np.where(changed, signs * draw(rng, queries), 0.0)


def rate(hits: int, trials: int) -> str:
    """A share and its standard error."""
    share = hits / trials
    return f"{share:.4f} ± {math.sqrt(max(share * (1 - share), 1 / trials) / trials):.4f}"


def false_alarms(rng: np.random.Generator, name: str, ties: float, draw: Draw, trials: int) -> None:
    """One row: how often each test is below 0.025 where nothing is different."""
    found = dict.fromkeys(("permutation", "t", "interval"), 0)
    threshold = bonferroni(ALPHA, 2)
    for trial in range(trials):
        values = differences(rng, QUERIES, ties, draw)
        a = {f"{query:02}": float(value) for query, value in enumerate(values)}
        result = compare_scores(a, dict.fromkeys(a, 0.0), threshold=threshold, name=str(trial))
        found["permutation"] += result.established
        found["t"] += result.t_p is not None and result.t_p < threshold
        found["interval"] += (
            not result.interval_degenerate and not result.interval[0] <= 0 <= result.interval[1]
        )
    print(f"| {name} | {ties:.0%} | " + " | ".join(rate(hits, trials) for hits in found.values()) + " |")


def families(rng: np.random.Generator, kind: str, ties: float, trials: int) -> None:
    """One row: how often any of 18 cells alarms where nothing is different."""
    plain = corrected = 0
    for _ in range(trials):
        smallest = min(sign_flip(differences(rng, QUERIES, ties, sizes_of(kind))).p for _ in range(CELLS))
        plain += smallest < ALPHA
        corrected += smallest < bonferroni(ALPHA, CELLS)
    print(f"| {kind} | {ties:.0%} | {rate(plain, trials)} | {rate(corrected, trials)} |")


def power(rng: np.random.Generator, kind: str, ties: float, queries: int, trials: int) -> None:
    """One row: the drop said to be found in 80 % of all cases, and how often it is."""
    draw = sizes_of(kind)
    observed = None if kind == "success" else draw(rng, 500)
    claim = detectable_drop(queries, changed_share=1 - ties, threshold=ALPHA, sizes=observed)
    if claim.drop is None:
        print(f"| {kind} | {queries} | {ties:.0%} | no drop of any size | |")
        return
    mean = 1.0 if observed is None else float(observed.mean())
    losing = 0.5 + claim.drop / (2 * (1 - ties) * mean)
    hits = sum(
        sign_flip(differences(rng, queries, ties, draw, losing), alternative="less").p < ALPHA
        for _ in range(trials)
    )
    print(f"| {kind} | {queries} | {ties:.0%} | {claim.drop:.3f} | {rate(hits, trials)} |")


def rare_losses(rng: np.random.Generator, queries: int, trials: int) -> None:
    """One row: false alarms where nine small wins balance one large loss, so that the mean is 0."""
    hits = 0
    for _ in range(trials):
        values = np.where(rng.random(queries) < 0.1, -0.9, 0.1)
        hits += sign_flip(values).p < ALPHA
    print(f"| {queries} | {rate(hits, trials)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trials", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scores", type=Path, help="CSV with query_id and a column of scores per system")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    kinds = ("success", "recall", "reciprocal rank", "ndcg")

    print(f"\nFalse alarms at 0.025, two-sided, {QUERIES} queries, no difference behind them\n")
    print("| sizes | ties | sign flip | t-test | percentile interval |\n| --- | --- | --- | --- | --- |")
    if options.scores:
        for name, ties, draw in from_scores(options.scores):
            false_alarms(rng, name, ties, draw, options.trials)
        return
    for kind, ties in itertools.product(kinds, (TIES, 0.3)):
        false_alarms(rng, kind, ties, sizes_of(kind), options.trials)

    print(f"\nFalse alarms of {CELLS} cells together, {QUERIES} queries each\n")
    print("| sizes | ties | any p < 0.05 | any p < 0.05 / 18 |\n| --- | --- | --- | --- |")
    for kind, ties in itertools.product(kinds, (TIES, 0.3)):
        families(rng, kind, ties, options.trials // 4)

    print("\nDrop found with 80 % power at a one-sided 0.05, as claimed and as found\n")
    print("| sizes | queries | ties | drop claimed | found |\n| --- | --- | --- | --- | --- |")
    for kind, queries, ties in itertools.product(kinds, (12, QUERIES, 100), (TIES, 0.3)):
        power(rng, kind, ties, queries, options.trials // 2)

    print("\nFalse alarms at 0.05 where rare large losses balance many small wins\n")
    print("| queries | sign flip |\n| --- | --- |")
    for queries in (6, 12, QUERIES, 100):
        rare_losses(rng, queries, options.trials)


if __name__ == "__main__":
    main()
