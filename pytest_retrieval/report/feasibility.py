"""Text of what a gold set could show: two tables, and the assumptions under them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_retrieval.errors import counted
from pytest_retrieval.report.numbers import number
from pytest_retrieval.stats.thresholds import format_p, format_threshold, format_value

if TYPE_CHECKING:
    from pytest_retrieval.files.feasibility import Checked
    from pytest_retrieval.gate.feasibility import Feasibility

__all__ = ["lines_of"]

NO_DROP = "no drop of any size"


def lines_of(checked: Checked) -> list[str]:
    """Return the lines that `pytest-retrieval check` prints."""
    goldset, plan = checked.goldset, checked.plan
    documents = "no catalog" if goldset.catalog is None else f"{len(goldset.catalog)} documents"
    lines = [
        f"{goldset.name}: {counted(len(goldset.queries), 'query', 'queries')}, {documents},"
        f" {counted(len(goldset.qrels.doc_ids), 'judgment', 'judgments')},"
        f" {counted(checked.pinned, 'pinned cell', 'pinned cells')}: readable",
        *(f"note: {note}" for note in checked.notes),
    ]
    if checked.gate:
        threshold = format_threshold(checked.gate[0].threshold)
        lines += ["", f'the gate; where rule = "established", one-sided p below {threshold}:']
        lines += _table(checked.gate)
    elif any(subject.measures for subject in goldset.subjects.values()):
        lines += ["", "the gate: no cell of a measure that is known here"]
    else:
        lines += ["", "the gate: goldset.toml declares no subject with measures, so nothing is gated"]
    state = (
        f"{len(plan.comparisons)} planned" if checked.locked else "nothing locked yet, as if one were planned"
    )
    for split, rows in checked.planned.items():
        where = f"split {split!r}" if split else "every query"
        lines += [
            "",
            f"comparisons on {where}; {state}, two-sided p below {format_threshold(plan.threshold)}:",
        ]
        lines += _table(rows) if rows else ["no measure is declared"]
    rows = [*checked.gate, *(row for of_split in checked.planned.values() for row in of_split)]
    return [*lines, *_assumptions(rows)]


def _table(rows: Sequence[Feasibility]) -> list[str]:
    from tabulate import tabulate

    pinned = any(row.at_zero is not None for row in rows)
    table = []
    for row in rows:
        cells = {"subject": row.subject} if row.subject else {}
        cells |= {"measure": row.measure, "stratum": row.stratum, "n": str(row.n)}
        cells["attainable"] = number(row.attainable)
        if pinned:
            cells |= {"at 0": _percent(row.at_zero), "at 1": _percent(row.at_one)}
        cells["smallest p"] = format_p(row.smallest_p, row.threshold)
        cells["changes needed"] = str(row.changes_needed) if row.possible else f"{row.changes_needed} > n"
        cells["drop found"] = NO_DROP if row.drop.drop is None else format_value(row.drop.drop)
        table.append(cells)
    text: str = tabulate(table, headers="keys", disable_numparse=True)
    return text.splitlines()


def _percent(share: float | None) -> str:
    return "n/a" if share is None else f"{100 * share:.0f}%"


def _assumptions(rows: Sequence[Feasibility]) -> list[str]:
    if not rows:
        return []
    share = max(row.drop.changed_share for row in rows)
    lines = [
        "",
        "n: queries for which the measure is defined.",
        "changes needed: how many queries must change, all in one direction, before it is established.",
        "attainable: mean of the best scores that any ranking could get.",
        f"drop found: the smallest drop of the mean that is found with {100 * rows[0].drop.power:g}% power,"
        f" assuming that {100 * share:g}% of the queries",
        "change, each by what it has to lose: its pinned score, or its attainable one without pins;",
        "by 1 where lower is better.",
    ]
    if any(row.at_zero is not None for row in rows):
        lines.append(
            "at 0, at 1: share of the pinned scores that are 0, and that are 1; most measures go no further."
        )
    never = [row for row in rows if not row.possible]
    if never:
        rows_have = counted(len(never), "row has", "rows have")
        lines.append(f"> n: {rows_have} too few queries to establish anything, whatever is retrieved.")
    return lines
