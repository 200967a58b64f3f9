"""Rows of the summary for a pipeline's stages: what the candidates hold, beside what the prompt holds."""

from __future__ import annotations

import math

from pytest_retrieval.gate.cells import groups
from pytest_retrieval.measures.table import evaluate, mean_of
from pytest_retrieval.model.goldset import GoldSet
from pytest_retrieval.model.run import Run
from pytest_retrieval.report.scorecard import StageRow

__all__ = ["stage_rows"]


def stage_rows(goldset: GoldSet, subject: str, run: Run, prompt: int) -> tuple[StageRow, ...]:
    """Return a row per stage and class of queries: recall at the prompt's depth and at the candidates'.

    Parameters
    ----------
    goldset
        Whose gated queries and classes count.
    subject, run
        The pipeline, and what it returned, with stages.
    prompt
        How many documents the prompt holds.
    """
    gated = goldset.gated_queries
    names = list(dict.fromkeys([f"recall@{prompt}", f"recall@{max(goldset.depth, prompt)}"]))
    rows = []
    for stage, ranking in run.stages.items():
        table = evaluate(goldset.qrels.select(gated), ranking.select(gated), names)
        place = {query_id: row for row, query_id in enumerate(table.query_ids)}
        columns = [table.column(measure) for measure in table.measures]
        for stratum, members in groups(goldset).items():
            of_stratum = [place[query_id] for query_id in members]
            means = [mean_of(table.values[of_stratum, column].tolist()) for column in columns]
            took = [ranking.latency[query_id] for query_id in members if query_id in ranking.latency]
            rows.append(
                StageRow(
                    goldset=goldset.name,
                    subject=subject,
                    stage=stage,
                    stratum=stratum,
                    shallow=names[0],
                    deep=names[-1],
                    at_shallow=None if math.isnan(means[0]) else means[0],
                    at_deep=None if math.isnan(means[-1]) else means[-1],
                    latency=mean_of(took) if took else None,
                )
            )
    return tuple(rows)
