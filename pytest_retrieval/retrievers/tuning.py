"""Settings chosen on the train split: how deep, which fusion constant, which unit.

Each function makes one table and says which setting it points at. That informs a choice and establishes
nothing: what was chosen is compared on the test split, once, by a planned comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from pytest_retrieval.errors import InputError, listed
from pytest_retrieval.measures.answer_table import score_answers
from pytest_retrieval.measures.notation import parse
from pytest_retrieval.measures.ranking import tie_sensitivity
from pytest_retrieval.measures.table import ScoreTable, evaluate
from pytest_retrieval.model.goldset import ALL
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.records import Answer, Recording
from pytest_retrieval.model.run import Run
from pytest_retrieval.retrievers.best import check_count
from pytest_retrieval.retrievers.calling import retrieve
from pytest_retrieval.retrievers.fusion import fuse
from pytest_retrieval.retrievers.lexical import BM25
from pytest_retrieval.retrievers.units import UnitSearch

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Sweep", "context_sweep", "depth_curve", "fusion_sweep", "unit_sweep"]

TEST = "test"
DEPTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
CONSTANTS = (0, 1, 5, 10, 20, 40, 60, 100, 200, 1000)
TIES = "ties"
"""Column of a unit sweep: queries whose top k changes with ties reversed."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """One table of a setting's values, and what it points at. As a string it is ready to be printed.

    Attributes
    ----------
    title
        What was varied and measured, and over which queries.
    table : DataFrame
        A row per value of the setting, a column per stratum or measure.
    chosen
        Column → the value that the table points at; of equally good ones the first.
    note
        How `chosen` was found.
    """

    title: str
    table: pd.DataFrame
    chosen: Mapping[str, Any]
    note: str

    def __str__(self) -> str:
        from tabulate import tabulate

        rows = [
            [_shown(value), *(_shown(cell) for cell in row)]
            for value, row in zip(self.table.index, self.table.to_numpy(dtype=object), strict=True)
        ]
        rows.append([self.note, *(_shown(self.chosen.get(str(column), "")) for column in self.table.columns)])
        headers = [str(self.table.index.name or ""), *map(str, self.table.columns)]
        text = tabulate(
            rows,
            headers,
            tablefmt="simple",
            disable_numparse=True,
            colalign=["left", *["right"] * len(headers[1:])],
        )
        return f"{self.title}\n{text}"


def depth_curve(
    qrels: Qrels,
    run: Run,
    depths: Sequence[int] | None = None,
    *,
    split: str | None = "train",
    gain: float = 0.01,
) -> Sweep:
    """Return recall at growing depth, per stratum, and where it flattens.

    A re-ranker can only reorder its candidates, so the depth it gets is chosen where recall stops rising.

    Parameters
    ----------
    qrels
        Judgments; where they have splits, only queries of `split` are read.
    run
        Rankings as deep as the deepest candidate list in question.
    depths
        Depths; by default 1, 2, 5, 10 and so on, as far as the run goes.
    split
        Split to read, never ``"test"``; None for every query, where there are no splits.
    gain
        A curve is flat from the first depth on beyond which recall rises by no more than this.

    Raises
    ------
    InputError
        The split cannot be read, or a depth is beyond the longest ranking: retrieve deeper.

    Examples
    --------
    >>> qrels = Qrels({"q1": {"a": 1, "b": 1}, "q2": {"c": 1}})
    >>> curve = depth_curve(qrels, Run({"q1": ["a", "x", "b", "y"], "q2": ["c"]}), [1, 2, 4], split=None)
    >>> curve.table["all"].tolist(), curve.chosen["all"]
    ([0.75, 0.75, 1.0], 4)
    """
    wanted = _readable(qrels, split)
    run = run.select(wanted.query_ids)
    longest = int(np.diff(run.starts).max(initial=0))
    if depths is None:
        depths = [depth for depth in DEPTHS if depth <= longest]
    for depth in depths:
        check_count("a depth", depth)
    depths = sorted(set(depths))
    if not depths or depths[-1] > longest:
        raise InputError(
            f"depths are {listed(depths) or 'none'}; the longest ranking holds {longest} documents."
            " Retrieve as deep as the curve is to go"
        )
    scores = evaluate(wanted, run, [f"recall@{depth}" for depth in depths])
    table = _by_group({depth: (scores, f"recall@{depth}") for depth in depths}, "depth")
    flat = {}
    for group in table.columns:
        last = table[group].iloc[-1]
        near = [depth for depth in depths if last - table.at[depth, group] <= gain]
        flat[str(group)] = near[0] if near else None  # none where recall is undefined
    title = f"recall at growing depth{_over(wanted, split)}"
    return Sweep(title, table, flat, f"flat from, within {gain:g}")


def fusion_sweep(
    qrels: Qrels,
    runs: Sequence[Run] | Mapping[str, Run],
    constants: Sequence[float] = CONSTANTS,
    *,
    measure: str = "recall@5",
    split: str | None = "train",
) -> Sweep:
    """Return a measure of the fused run for several constants of reciprocal rank fusion, per stratum.

    Parameters
    ----------
    qrels
        Judgments; where they have splits, only queries of `split` are read.
    runs
        What to fuse, as for `fuse`.
    constants
        Constants, each at least 0.
    measure
        One measure.
    split
        Split to read, never ``"test"``; None for every query, where there are no splits.

    Raises
    ------
    InputError
        The split cannot be read, or the runs cannot be fused.

    Examples
    --------
    >>> qrels = Qrels({"q": {"top": 1}})
    >>> runs = [Run({"q": ["top", "both"]}, "a"), Run({"q": ["x", "y", "z", "both"]}, "b")]
    >>> fusion_sweep(qrels, runs, [0, 60], measure="recall@1", split=None).table["all"].tolist()
    [1.0, 0.0]
    """
    wanted = _readable(qrels, split)
    if not constants:
        raise InputError("no constant was given; name at least one")
    name, higher = parse(measure).name, parse(measure).higher_is_better
    by_constant = {
        constant: (evaluate(wanted, fuse(runs, constant).select(wanted.query_ids), [measure]), name)
        for constant in constants
    }
    table = _by_group(by_constant, "constant")
    best = {str(group): _best_row(table[group], higher) for group in table.columns}
    return Sweep(f"{name} by fusion constant{_over(wanted, split)}", table, best, "best")


def unit_sweep(
    qrels: Qrels,
    queries: Mapping[str, str],
    units: Mapping[str, Mapping[str, Sequence[str]]],
    *,
    k: int = 5,
    index: Callable[[dict[str, str]], Callable[[str, int], Any]] = BM25,
    split: str | None = "train",
) -> Sweep:
    """Return what a context of k items would hold, for several ways to cut the items into units.

    Parameters
    ----------
    qrels
        Judgments; where they have splits, only queries of `split` are read.
    queries
        query_id → text; ``dict(queries["query"])`` of the fixture.
    units
        Name of the unit → what `units_of` returns.
    k
        Items that the context holds.
    index
        Makes the retriever over the units, as for `UnitSearch`.
    split
        Split to read, never ``"test"``; None for every query, where there are no splits.

    Returns
    -------
    Sweep
        Columns precision@k, recall@k, judged@k, and ``ties``: the queries whose k items change when equal
        scores are ordered the other way round. A gap that ties could close is no gap.

    Raises
    ------
    InputError
        The split cannot be read, a query has no text, or there is no unit.

    Examples
    --------
    >>> from pytest_retrieval import units_of
    >>> catalog = {"d1": {"name": "desk", "text": "Oak. Low."}, "d2": {"name": "oak shelf", "text": "High."}}
    >>> cuts = {"whole": units_of(catalog), "name": units_of(catalog, ["name"])}
    >>> sweep = unit_sweep(Qrels({"q": {"d2": 1}}), {"q": "oak shelf"}, cuts, k=1, split=None)
    >>> sweep.table["recall@1"].to_dict(), sweep.chosen["recall@1"]
    ({'whole': 1.0, 'name': 1.0}, 'whole')
    """
    import pandas as pd

    wanted = _readable(qrels, split)
    check_count("k", k)
    silent = [query_id for query_id in wanted.query_ids if query_id not in queries]
    if silent:
        raise InputError(f"queries without a text: {listed(map(repr, silent))}")
    if not units:
        raise InputError("no unit was given; name at least one")
    asked = {query_id: queries[query_id] for query_id in wanted.query_ids}
    measures = [f"precision@{k}", f"recall@{k}", f"judged@{k}"]
    rows = {}
    for name, cut in units.items():
        run = retrieve(UnitSearch(cut, index), asked, len(cut), name=name)  # as deep as ties may reach
        means = evaluate(wanted, run, measures).mean()
        rows[name] = [*(means[measure] for measure in measures), len(tie_sensitivity(run, k))]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=[*measures, TIES]).astype({TIES: int})
    table.index.name = "unit"
    best = {measure: _best_row(table[measure], True) for measure in measures[:2]}
    return Sweep(f"what {k} items hold, by unit{_over(wanted, split)}", table, best, "best")


def _readable(qrels: Qrels, split: str | None) -> Qrels:
    """Return the judgments of the split that may be tuned on."""
    if split == TEST:
        raise InputError(
            "tuning on the test split makes every later comparison on it worthless; allowed is another split"
        )
    if qrels.splits is None:
        if split not in (None, "train"):
            raise InputError(f"the judgments have no split {split!r}, nor any other; pass split=None")
        return qrels
    if split is None:
        raise InputError(
            f"the judgments have splits: {listed(sorted(set(qrels.splits.values())))}; name the one to read"
        )
    members = [query_id for query_id in qrels.query_ids if qrels.splits.get(query_id) == split]
    if not members:
        known = listed(sorted(set(qrels.splits.values())))
        raise InputError(f"no query is of the split {split!r}; there are {known}")
    return qrels.select(members)


def context_sweep(
    recordings: Mapping[int, Recording | Sequence[Answer]],
    qrels: Qrels,
    *,
    context: str | None = None,
    split: str | None = "train",
) -> Sweep:
    """Return what answers are worth at several sizes of their context.

    More context can help, and it can drown the answer. How many documents the prompt should hold is measured
    on answers recorded at each size.

    Parameters
    ----------
    recordings
        Size of the context → the answers recorded with it.
    qrels
        Judgments; where they have splits, only queries of `split` are read.
    context
        Kind of context; needed where the recordings have several.
    split
        Split to read, never ``"test"``; None for every query, where there are no splits.

    Raises
    ------
    InputError
        The split cannot be read, there is no answer to read, or several kinds of context and none named.

    Examples
    --------
    >>> qrels = Qrels({"q": {"a": 1}})
    >>> two = [Answer("q", "", ["x", "y"], ["x"])]
    >>> three = [Answer("q", "", ["x", "y", "a"], ["a"])]
    >>> context_sweep({2: two, 3: three}, qrels, split=None).chosen["exact_share"]
    3
    """
    import pandas as pd

    wanted = _readable(qrels, split)
    if not recordings:
        raise InputError("no recording was given; name at least one size of the context")
    rows: dict[int, dict[str, float]] = {}
    for size in sorted(recordings):
        check_count("a size of the context", size)
        table = score_answers(recordings[size], wanted, unknown_queries="ignore").select(context=context)
        kinds = dict.fromkeys(row.context for row in table.rows)
        if len(kinds) != 1:
            hint = (
                f"there are {listed(map(repr, kinds))}: name one with context=" if kinds else "there is none"
            )
            raise InputError(f"at size {size}: one kind of context is read at a time; {hint}")
        rows[size] = table.mean()
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index.name = "documents"
    lower = {"declined_wrongly"}
    best = {str(name): _best_row(frame[name], name not in lower) for name in frame.columns}
    return Sweep(f"answers by size of the context{_over(wanted, split)}", frame, best, "best")


def _over(qrels: Qrels, split: str | None) -> str:
    count = f"{len(qrels)} queries"
    return f", {count} without splits" if qrels.splits is None else f", {count} of the {split} split"


def _by_group(scores: Mapping[Any, tuple[ScoreTable, str]], setting: str) -> pd.DataFrame:
    """Return a row per value of the setting and a column per stratum, ``all`` last."""
    import pandas as pd

    rows = {}
    for value, (table, measure) in scores.items():
        strata = {} if table.strata is None else table.by_stratum()
        rows[value] = {stratum: means[measure] for stratum, means in strata.items() if stratum != ALL}
        rows[value][ALL] = table.mean()[measure]
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index.name = setting
    return frame


def _best_row(column: pd.Series[float], higher: bool) -> Any:
    """Return the value whose score is best, the first of equals; None where none is defined."""
    defined = column.dropna()
    if defined.empty:
        return None
    best = defined.max() if higher else defined.min()
    return defined.index[np.flatnonzero(np.abs(defined.to_numpy() - best) <= 1e-12)[0]]


def _shown(value: Any) -> str:
    if value is None or value != value:
        return "n/a"
    return f"{float(value):.3f}" if isinstance(value, float | np.floating) else str(value)
