"""Assertion helpers for tests that are no gate: a run, its judgments, and the least that is allowed.

Each helper takes rankings and judgments, fails with the queries that pulled the mean down, and returns the
score table, so that a test can go on with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from pytest_retrieval.errors import InputError, counted
from pytest_retrieval.measures.notation import parse
from pytest_retrieval.measures.strata import aligned, members
from pytest_retrieval.measures.table import ScoreTable, evaluate, mean_of, unanswered
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Run

__all__ = [
    "assert_context_precision",
    "assert_judged",
    "assert_mrr",
    "assert_ndcg",
    "assert_precision",
    "assert_recall",
]

QUERIES = ("query", "queries")

WORST = 5
"""Queries that a failing helper names per stratum."""

observers: list[Callable[[str, Qrels], None]] = []
"""The last one is told what each helper measures on which judgments: so looks at a test split are counted."""


def assert_recall(
    run: Run, qrels: Qrels, *, k: int, at_least: float, by: str | Mapping[str, str] | None = None
) -> ScoreTable:
    """Assert that mean recall@k is at least a value, over all queries or in every stratum.

    Parameters
    ----------
    run, qrels
        Rankings and judgments.
    k
        Cutoff, at least 1.
    at_least
        Smallest mean allowed, in [0, 1].
    by
        ``"stratum"`` or ``"split"`` (as the qrels carry them), ``{query_id: name}``, or None for all queries.

    Returns
    -------
    ScoreTable

    Raises
    ------
    AssertionError
        A mean is lower, or undefined because no query has a relevant document.
    InputError
        A value is not allowed.

    Examples
    --------
    >>> qrels = Qrels({"q1": {"c12": 1}, "q2": {"c88": 1}})
    >>> assert_recall(Run({"q1": ["c12"], "q2": ["c88"]}), qrels, k=5, at_least=1.0)
    <ScoreTable: 2 queries; recall@5 1.000>
    """
    __tracebackhide__ = True
    return _assert_mean("recall", run, qrels, k, at_least, by)


def assert_precision(
    run: Run, qrels: Qrels, *, k: int, at_least: float, by: str | Mapping[str, str] | None = None
) -> ScoreTable:
    """Assert that mean precision@k is at least a value; arguments as in `assert_recall`."""
    __tracebackhide__ = True
    return _assert_mean("precision", run, qrels, k, at_least, by)


def assert_mrr(
    run: Run, qrels: Qrels, *, k: int, at_least: float, by: str | Mapping[str, str] | None = None
) -> ScoreTable:
    """Assert that mean reciprocal rank, cut at k, is at least a value; arguments as in `assert_recall`."""
    __tracebackhide__ = True
    return _assert_mean("mrr", run, qrels, k, at_least, by)


def assert_ndcg(
    run: Run, qrels: Qrels, *, k: int, at_least: float, by: str | Mapping[str, str] | None = None
) -> ScoreTable:
    """Assert that mean nDCG@k (linear gain) is at least a value; arguments as in `assert_recall`."""
    __tracebackhide__ = True
    return _assert_mean("ndcg", run, qrels, k, at_least, by)


def assert_context_precision(
    run: Run, qrels: Qrels, *, k: int, at_least: float, by: str | Mapping[str, str] | None = None
) -> ScoreTable:
    """Assert that mean context precision@k is at least a value; arguments as in `assert_recall`."""
    __tracebackhide__ = True
    return _assert_mean("context_precision", run, qrels, k, at_least, by)


def assert_judged(
    run: Run, qrels: Qrels, *, k: int, at_least: float, by: str | Mapping[str, str] | None = None
) -> ScoreTable:
    """Assert that the mean share of judged results in the top k is at least a value.

    Where few results are judged, every other measure is a statement about the judgments. Arguments as in
    `assert_recall`.
    """
    __tracebackhide__ = True
    return _assert_mean("judged", run, qrels, k, at_least, by)


def _assert_mean(
    kind: str,
    run: Run,
    qrels: Qrels,
    k: int,
    at_least: float,
    by: str | Mapping[str, str] | None,
) -> ScoreTable:
    __tracebackhide__ = True
    if isinstance(run, Qrels) or isinstance(qrels, Run):
        raise InputError("the run comes first, its judgments second: (run, qrels, k=…, at_least=…)")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError(f"k is {k!r}; allowed is a whole number of at least 1")
    check_share(at_least, "at_least")
    measure = parse(f"{kind}@{k}")
    for observer in observers[-1:]:
        observer(measure.name, qrels)
    table = evaluate(qrels, run, [measure])
    problems = []
    for name, rows in _classes(qrels, table.query_ids, by).items():
        scores = {table.query_ids[row]: float(table.values[row, 0]) for row in rows}
        mean = mean_of(scores.values())
        if not mean >= at_least:
            problems.append(_shortfall(measure.name, name, mean, at_least, scores))
    if problems:
        missing = unanswered(table)
        raise AssertionError("\n".join([*problems, *([missing] if missing else [])]))
    return table


def _classes(
    qrels: Qrels, query_ids: tuple[str, ...], by: str | Mapping[str, str] | None
) -> dict[str, list[int]]:
    if by is None:
        return {"": list(range(len(query_ids)))}
    return members(aligned(names_of(qrels, by), query_ids))


def names_of(qrels: Qrels, by: str | Mapping[str, str], also: str = "") -> Mapping[str, str]:
    """Return query_id → class: the one given, or the strata or splits that the qrels carry.

    Parameters
    ----------
    qrels, by
        As the helpers take them.
    also
        What a helper takes beside these, for the message.

    Raises
    ------
    InputError
        The qrels carry no such classes.
    """
    known = {"stratum": qrels.strata, "split": qrels.splits}
    names = known.get(by) if isinstance(by, str) else by
    if names is None:
        raise InputError(
            f"by is {by!r}, and these qrels carry no such classes; pass {also}a mapping query_id → name, or"
            " qrels with strata or splits"
        )
    return names


def check_share(value: object, name: str) -> None:
    """Refuse what is no share.

    Raises
    ------
    InputError
        It is no number from 0 to 1.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"{name} is {value!r}; allowed is a number from 0 to 1")


def _shortfall(measure: str, name: str, mean: float, at_least: float, scores: Mapping[str, float]) -> str:
    place = f" of {name}" if name else ""
    defined = {query_id: score for query_id, score in scores.items() if score == score}
    if math.isnan(mean):
        return f"{measure}{place} is undefined: none of {counted(len(scores), *QUERIES)} has what it needs"
    worst = sorted(defined, key=lambda query_id: (defined[query_id], query_id))[:WORST]
    lowest = ", ".join(f"{query_id} {defined[query_id]:.3f}" for query_id in worst)
    return (
        f"{measure}{place} is {apart(mean, at_least)} over {counted(len(defined), *QUERIES)}; at least"
        f" {at_least:g} is asked for; lowest: {lowest}"
    )


def apart(mean: float, limit: float) -> str:
    """Return a mean with three digits, or as many as it takes to stand on its side of the limit."""
    for digits in range(3, 17):
        shown = float(f"{mean:.{digits}f}")
        if shown < limit if mean < limit else shown > limit:
            return f"{mean:.{digits}f}"
    return repr(mean)
