"""Text for a terminal: a failure worth reading, and the table of a session."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from pytest_retrieval.gate.difference import NOT_FOUND, Move, QueryChange
from pytest_retrieval.gate.verdict import ERROR, REGRESSED, UNPINNED, VANISHED, Verdict, worse_by
from pytest_retrieval.report.scorecard import CellRow

__all__ = ["failure", "number", "numbers", "table"]

WORST = 10
"""Queries that a failure shows unless asked for all."""

MOVES = 6
"""Documents that a failure shows per query unless asked for all."""


def number(value: float | None, digits: int = 3) -> str:
    """Return a score as a reader expects it; n/a where it is undefined.

    Examples
    --------
    >>> number(0.64444), number(None), number(float("nan"))
    ('0.644', 'n/a', 'n/a')
    """
    return "n/a" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def numbers(*values: float | None) -> list[str]:
    """Return scores with three digits, or with as many as it takes for different ones to look different.

    Examples
    --------
    >>> numbers(0.64444, 0.64441)
    ['0.64444', '0.64441']
    """
    distinct = {value for value in values if value is not None and not math.isnan(value)}
    for digits in range(3, 13):
        if len({number(value, digits) for value in distinct}) == len(distinct):
            return [number(value, digits) for value in values]
    return [number(value, 12) for value in values]


def failure(
    goldset: str,
    verdict: Verdict,
    *,
    depth: int,
    reproduce: str,
    grades: dict[int, str] | None = None,
    details: bool = False,
    show_text: bool = True,
) -> str:
    """Return what a failing cell's test prints.

    Parameters
    ----------
    goldset
        Name of the gold set.
    verdict
        Of the cell.
    depth
        How deep rankings were asked for.
    reproduce
        The command that runs this cell alone.
    grades
        Grade → its name.
    details
        Whether to show every query and document.
    show_text
        Whether to show the texts of queries.
    """
    lines = [f"{goldset}: {verdict.cell} is {verdict.status}"]
    if verdict.status == REGRESSED:
        lines += _fell(verdict)
        lines += _queries(verdict, depth, grades or {}, details, show_text)
        lines += _evidence(verdict)
    else:
        lines += [f"  {line}" for line in verdict.message.splitlines()]
    lines += [f"note: {note}" for note in verdict.notes]
    lines += ["", f"this cell alone:  pytest {quoted(reproduce)}", *_mend(verdict, reproduce)]
    return "\n".join(lines)


def quoted(argument: str) -> str:
    """Return an argument in double quotes, as every shell takes a node id."""
    return f'"{argument}"'


def _fell(verdict: Verdict) -> list[str]:
    pinned, before, after = numbers(verdict.pinned, verdict.before, verdict.after)
    worse = worse_by(verdict.before, verdict.after, verdict.higher_is_better)
    sign = "−" if verdict.higher_is_better else "+"
    lines = [
        f"  {before} → {after}  ({sign}{numbers(worse, 0.0)[0]}; tolerance {verdict.tolerance:g})"
        f" over {verdict.n} queries: {verdict.lost} lost, {verdict.gained} gained,"
        f" {verdict.unchanged} unchanged"
    ]
    if pinned != before:
        lines.append(
            f"  pinned as {pinned}; under today's judgments and strata the pinned rankings are worth {before}"
        )
    overall = verdict.overall
    if overall is not None and verdict.cell.stratum != "all":
        was, now = numbers(overall.before, overall.after)
        hides = worse_by(overall.before, overall.after, verdict.higher_is_better) <= 0
        lines.append(
            f"  all {overall.n} queries: {was} → {now}" + (" (the average hides this loss)" if hides else "")
        )
    if verdict.best is not None and verdict.pinned is not None and verdict.best != verdict.pinned:
        lines.append(f"  best ever pinned: {number(verdict.best)}")
    return lines


def _queries(
    verdict: Verdict, depth: int, grades: dict[int, str], details: bool, show_text: bool
) -> list[str]:
    lost = [change for change in verdict.changes if _worse(verdict, change)]
    gained = [change for change in verdict.changes if not _worse(verdict, change)]
    lines = []
    for title, changes in (("lost, worst first:", lost), ("gained:", list(reversed(gained)))):
        shown = changes if details else changes[: WORST if title.startswith("lost") else 3]
        if not shown:
            continue
        lines += ["", title]
        for change in shown:
            lines += _query(change, depth, grades, details, show_text)
        if len(shown) < len(changes):
            lines.append(f"  … and {len(changes) - len(shown)} more: --retrieval-details shows them")
    return lines


def _worse(verdict: Verdict, change: QueryChange) -> bool:
    return worse_by(change.before, change.after, verdict.higher_is_better) > 0


def _query(
    change: QueryChange, depth: int, grades: dict[int, str], details: bool, show_text: bool
) -> list[str]:
    before, after = numbers(change.before, change.after)
    text = f" “{change.text}”" if show_text else ""
    lines = [f"  {change.query_id}{text}  {before} → {after}"]
    shown = change.moves if details else change.moves[:MOVES]
    lines += [f"      {_move(move, depth, grades)}" for move in shown]
    if len(shown) < len(change.moves):
        lines.append(f"      … and {len(change.moves) - len(shown)} more documents moved")
    return lines


def _move(move: Move, depth: int, grades: dict[int, str]) -> str:
    grade = grades.get(move.grade, f"grade {move.grade}")
    text = f"{move.doc_id} ({grade})  {_rank(move.before, depth)} → {_rank(move.after, depth)}"
    if move.stages:
        ranks = ", ".join(f"{stage} {rank or '–'}" for stage, rank in move.stages.items())
        held = "no stage holds it" if move.last_held == NOT_FOUND else f"last held by {move.last_held}"
        text += f"; {held} ({ranks})"
    return text


def _rank(rank: int | None, depth: int) -> str:
    return f"not in {depth}" if rank is None else f"rank {rank}"


def _evidence(verdict: Verdict) -> list[str]:
    if verdict.p is None or verdict.smallest_p is None:
        return []
    changed = verdict.lost + verdict.gained
    return [
        "",
        "The drop is a fact about these queries. Whether other queries like them lose too: one-sided paired"
        f" p = {_p(verdict.p)}; the smallest that {changed} changed"
        f" quer{'y allows' if changed == 1 else 'ies allow'} is {_p(verdict.smallest_p)}.",
    ]


def _p(p: float) -> str:
    return f"{p:.4f}" if p >= 0.001 else f"{p:.2g}"


def _mend(verdict: Verdict, reproduce: str) -> list[str]:
    if verdict.status == REGRESSED:
        return [
            "if the loss is meant:  pytest "
            + quoted(reproduce)
            + ' --retrieval-pin=all --retrieval-reason "why"  (then review and commit the pins)'
        ]
    if verdict.status == UNPINNED:
        return ["to pin what is new:  pytest --retrieval-pin=new  (then review and commit the pins)"]
    if verdict.status == VANISHED:
        return ["if it is meant to go:  pytest --retrieval-pin=new  (then review and commit the pins)"]
    return []


def table(rows: Iterable[CellRow], extra: Sequence[CellRow] = ()) -> list[str]:
    """Return the table of a session's cells, gold set by gold set, and what to know of their queries."""
    from tabulate import tabulate

    rows = sorted(
        rows, key=lambda row: (row.goldset, row.subject, row.measure, row.stratum == "all", row.stratum)
    )
    body = [
        [
            row.goldset, row.subject, row.measure, row.stratum, row.n,
            _was_now(row), number(row.attainable), row.status,
        ]
        for row in rows
    ]  # fmt: skip
    header = ["gold set", "subject", "measure", "stratum", "n", "was → now", "at most", "verdict"]
    lines = tabulate(body, header, tablefmt="simple", disable_numparse=True, colalign=_ALIGN).splitlines()
    return [*lines, *_remarks(rows)]


_ALIGN = ("left", "left", "left", "left", "right", "left", "right", "left")


def _was_now(row: CellRow) -> str:
    if row.before is None and row.after is None:
        return "–" if row.status in (ERROR, VANISHED) else "n/a"
    if row.before is None:
        return f"– → {number(row.after)}"
    before, after = numbers(row.before, row.after)
    return before if before == after else f"{before} → {after}"


def _remarks(rows: Sequence[CellRow]) -> list[str]:
    """Return what stands behind the means, one line a kind, each cell's largest first."""
    kinds = (
        ("undefined", "queries have no score and stay out of the mean"),
        ("missing", "queries got no results and score 0"),
        ("unjudged", "results in the top k that nobody judged count as not relevant"),
        ("tied", "queries have documents of equal score on both sides of k"),
    )
    lines = []
    for kind, what in kinds:
        found: dict[tuple[str, str, str], tuple[int, int]] = {}
        for row in rows:
            count = getattr(row, kind)
            if count:
                key = (row.goldset, row.subject, row.stratum)
                of = row.results if kind == "unjudged" else row.n + row.undefined
                found[key] = max(found.get(key, (0, 0)), (count, of))
        if found:
            several = len({goldset for goldset, _, _ in found}) > 1
            places = [
                f"{goldset + '/' if several else ''}{subject}/{stratum} {count} of {of}"
                for (goldset, subject, stratum), (count, of) in sorted(found.items())
            ]
            lines.append(f"{kind}: {what}: {'; '.join(places)}")
    notes = dict.fromkeys(f"{row.goldset}: {note}" for row in rows for note in row.notes)
    return [*lines, *notes]
