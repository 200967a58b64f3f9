"""Noise: how much a cell's mean differs from one retrieval to the next, where anything differs at all.

An approximate index that is built anew on several threads returns slightly other rankings each time. A drop
of that size says nothing about a change, so it is measured when it is pinned, and allowed for afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pytest_retrieval.gate.cells import Cell, groups
from pytest_retrieval.measures.notation import Measure
from pytest_retrieval.measures.table import ScoreTable, evaluate, mean_of
from pytest_retrieval.model.goldset import GoldSet
from pytest_retrieval.model.run import Run

__all__ = ["RETRIEVALS", "differing", "mean_table", "noise_bands"]

RETRIEVALS = 10
"""Retrievals that a band is measured over, at least."""

WIDTH = 2.0
"""How many times the range of the means a band is wide.

With ten retrievals of normal noise this gives a false red within twenty builds in 0.4 % of cases, where the
plain range of five would give 41 %.
"""


def differing(first: Run, second: Run, queries: Iterable[str]) -> tuple[str, ...]:
    """Return the queries whose rankings are not the same in two retrievals."""
    return tuple(query_id for query_id in queries if first.get(query_id, ()) != second.get(query_id, ()))


def noise_bands(goldset: GoldSet, measures: Sequence[Measure], runs: Sequence[Run]) -> dict[Cell, float]:
    """Return the band of every class of queries and measure: twice the range of the mean over retrievals.

    Parameters
    ----------
    goldset, measures
        What is gated.
    runs
        Retrievals by one subject, whose name they carry, at least two.

    Returns
    -------
    dict
        Cell → band, at least 0; 0 where the mean is undefined.

    References
    ----------
    The factor and the number of retrievals were chosen by simulation; see `WIDTH`.
    """
    gated = goldset.gated_queries
    qrels = goldset.qrels.select(gated)
    tables = [evaluate(qrels, run.select(gated), measures) for run in runs]
    place = {query_id: row for row, query_id in enumerate(tables[0].query_ids)}
    bands = {}
    for stratum, members in groups(goldset).items():
        rows = [place[query_id] for query_id in members]
        for measure in measures:
            column = tables[0].column(measure)
            means = [mean_of(table.values[rows, column].tolist()) for table in tables]
            spread = max(means) - min(means)
            bands[Cell(runs[0].name, measure.name, stratum)] = WIDTH * spread if spread == spread else 0.0
    return bands


def mean_table(tables: Sequence[ScoreTable]) -> ScoreTable:
    """Return the table of several retrievals' mean scores, a query at a time; the first table's otherwise."""
    from dataclasses import replace

    if len(tables) == 1:
        return tables[0]
    return replace(tables[0], values=np.mean([table.values for table in tables], axis=0))
