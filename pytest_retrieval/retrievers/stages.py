"""Scores of each stage of a pipeline, per stratum: which stage limits the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_retrieval.errors import InputError
from pytest_retrieval.measures.notation import Measure
from pytest_retrieval.measures.table import evaluate
from pytest_retrieval.model.goldset import ALL
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Run

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["stage_scores"]


def stage_scores(qrels: Qrels, run: Run, measures: Sequence[str | Measure]) -> pd.DataFrame:
    """Return the means of every stage of a run, per stratum.

    A document that no stage holds cannot be brought back by a later one. So recall at the depth of the
    candidates says what a re-ranker could reach at most, and recall at the depth of the prompt what it did.

    Parameters
    ----------
    qrels
        Judgments; only their queries are read.
    run
        Of a retriever that returns stages, such as `Hybrid`, or of `fuse` or `rerank`.
    measures
        Names, or measures.

    Returns
    -------
    DataFrame
        A row per stage and stratum, indexed by both, in the order of the stages, the stratum ``all`` last; a
        column per measure. NaN where a measure is undefined for every query of a stratum. A query that did
        not reach a stage scores 0 there.

    Raises
    ------
    InputError
        The run has no stages.
    MeasureError
        A measure is not known.

    Examples
    --------
    >>> from pytest_retrieval import fuse
    >>> legs = [Run({"q": ["x", "a"]}, "dense"), Run({"q": ["a", "y"]}, "lexical")]
    >>> scores = stage_scores(Qrels({"q": {"a": 1}}), fuse(legs), ["recall@1", "recall@2"])
    >>> scores.xs("all", level="stratum").T.to_dict("list")
    {'dense': [0.0, 1.0], 'lexical': [1.0, 1.0], 'fused': [1.0, 1.0]}
    """
    import pandas as pd

    if not run.stages:
        raise InputError(
            f"the run{f' {run.name!r}' if run.name else ''} has no stages; its retriever returns one ranking,"
            " not a mapping stage → ranking"
        )
    rows = {}
    names: list[str] = []
    for stage, ranking in run.stages.items():
        table = evaluate(qrels, ranking.select(qrels.query_ids), measures)
        names = [measure.name for measure in table.measures]
        strata = {} if table.strata is None else table.by_stratum()
        for stratum, means in strata.items():
            if stratum != ALL:
                rows[stage, stratum] = [means[name] for name in names]
        means = table.mean()
        rows[stage, ALL] = [means[name] for name in names]
    index = pd.MultiIndex.from_tuples(rows, names=["stage", "stratum"])
    return pd.DataFrame(list(rows.values()), index=index, columns=names)
