"""The tables of a session: cells, a pipeline's stages, and what a recording's replies were like."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_retrieval.errors import counted, listed
from pytest_retrieval.gate.cells import SLICE
from pytest_retrieval.gate.verdict import DESCRIBED, ERROR, HELD, STALE, VANISHED
from pytest_retrieval.model.goldset import ALL
from pytest_retrieval.report.numbers import number, numbers
from pytest_retrieval.report.scorecard import CellRow, ReplyRow, StageRow
from pytest_retrieval.stats.signflip import smallest_p

__all__ = ["reply_table", "stage_table", "table"]


def table(rows: Sequence[CellRow]) -> list[str]:
    """Return the tables of a session, one per gold set and subject: strata down, measures across.

    What is gated comes first, then the other classes of queries; below each table stands what a reader should
    know of the queries behind the means.
    """
    by_subject: dict[tuple[str, str], list[CellRow]] = {}
    for row in sorted(rows, key=lambda row: (row.goldset, row.subject)):
        by_subject.setdefault((row.goldset, row.subject), []).append(row)
    lines: list[str] = []
    for (goldset, subject), of_subject in by_subject.items():
        lines += ["", f"{goldset} · {subject}", *_grid(of_subject), *_remarks(of_subject)]
    return [*lines[1:], *_counted(rows)]


def stage_table(rows: Sequence[StageRow]) -> list[str]:
    """Return the tables of stages, one per gold set and subject: strata down, stages across.

    Each place holds two measures, at the depth of the prompt and at the depth of the candidates.
    """
    from tabulate import tabulate

    by_subject: dict[tuple[str, str], list[StageRow]] = {}
    for row in rows:
        by_subject.setdefault((row.goldset, row.subject), []).append(row)
    lines: list[str] = []
    for (goldset, subject), of_subject in sorted(by_subject.items()):
        stages = list(dict.fromkeys(row.stage for row in of_subject))
        strata = sorted(dict.fromkeys(row.stratum for row in of_subject), key=_by_kind)
        cells = {(row.stratum, row.stage): row for row in of_subject}
        body = [
            [stratum, *(_both_depths(cells.get((stratum, stage))) for stage in stages)] for stratum in strata
        ]
        first = of_subject[0]
        title = f"{goldset} · {subject} · stages: {first.shallow}, then {first.deep}"
        grid: str = tabulate(body, ["stratum", *stages], tablefmt="simple", disable_numparse=True)
        lines += ["", title, *grid.splitlines()]
        slow = {
            row.stage: row.latency for row in of_subject if row.stratum == ALL and row.latency is not None
        }
        if slow:
            lines.append(
                "mean latency: " + ", ".join(f"{stage} {took:.3g} s" for stage, took in slow.items())
            )
    return lines


def reply_table(rows: Sequence[ReplyRow]) -> list[str]:
    """Return the tables of replies, one per gold set and subject, without columns that nobody measured."""
    from tabulate import tabulate

    by_subject: dict[tuple[str, str], list[ReplyRow]] = {}
    for row in rows:
        by_subject.setdefault((row.goldset, row.subject), []).append(row)
    lines: list[str] = []
    for (goldset, subject), of_subject in sorted(by_subject.items()):
        columns = {
            "latency in s: p50, p95": [row.latency for row in of_subject],
            "top score: p10, p50, p90": [row.top_score for row in of_subject],
        }
        told = {name: values for name, values in columns.items() if any(values)}
        broken = any(row.unusable for row in of_subject)
        body = [
            [
                row.stratum,
                row.replies,
                *([row.unusable] if broken else []),
                number(row.nothing),
                *(
                    "" if values[place] is None else _shown_quantiles(values[place])
                    for values in told.values()
                ),
            ]
            for place, row in sorted(enumerate(of_subject), key=lambda pair: _by_kind(pair[1].stratum))
        ]
        head = ["stratum", "replies", *(["unusable"] if broken else []), "cite nothing", *told]
        grid: str = tabulate(body, head, tablefmt="simple", disable_numparse=True)
        lines += ["", f"{goldset} · {subject} · described", *grid.splitlines()]
    return lines


def _shown_quantiles(values: Sequence[float] | None) -> str:
    return "  ".join(f"{value:.3g}" for value in values or ())


def _both_depths(row: StageRow | None) -> str:
    return "" if row is None else f"{number(row.at_shallow)}  {number(row.at_deep)}"


def _counted(rows: Sequence[CellRow]) -> list[str]:
    """Return how many cells there are of each verdict."""
    gated = [row.status for row in rows if row.status != DESCRIBED]
    counts = ", ".join(f"{gated.count(status)} {status}" for status in sorted(set(gated)))
    return ["", f"{counted(len(gated), 'cell', 'cells')}: {counts}"] if gated else []


def _grid(rows: Sequence[CellRow]) -> list[str]:
    from tabulate import tabulate

    measures = list(dict.fromkeys(row.measure for row in sorted(rows, key=_by_cutoff)))
    cells = {(row.stratum, row.measure): row for row in rows}
    gated = {row.stratum for row in rows if row.status != DESCRIBED}
    strata = sorted({row.stratum for row in rows}, key=lambda name: (name not in gated, _by_kind(name)))
    body = []
    for stratum in strata:
        of_stratum = [cells.get((stratum, measure)) for measure in measures]
        n = max(row.n for row in of_stratum if row is not None)
        name = stratum if stratum in gated else f"({stratum})"
        body.append([name, n, *(_shown(row) for row in of_stratum)])
    header = ["stratum (not gated)" if len(gated) < len(strata) else "stratum", "n", *measures]
    align = ("left", "right", *("left" for _ in measures))
    grid: str = tabulate(body, header, tablefmt="simple", disable_numparse=True, colalign=align)
    return grid.splitlines()


def _by_cutoff(row: CellRow) -> tuple[float, str]:
    return (math.inf if row.k is None else row.k, row.measure)


def _by_kind(stratum: str) -> tuple[bool, bool, str]:
    """Sort key: strata, then `all`, then slices."""
    return (stratum.startswith(SLICE), stratum == ALL, stratum)


def _shown(row: CellRow | None) -> str:
    if row is None:
        return ""
    status = "" if row.status in (HELD, DESCRIBED) else f" {row.status}"
    if row.after is None:
        return f"{'–' if row.status in (ERROR, STALE, VANISHED) else 'n/a'}{status}"
    before, after = numbers(row.before, row.after)
    text = after if row.before is None or before == after else f"{before} → {after}"
    told = row.attainable is not None and 0 < row.attainable < 1  # 0 is the best where lower is better
    best = f" (at most {number(row.attainable)})" if told else ""
    return f"{text}{status}{best}"


def _remarks(rows: Sequence[CellRow]) -> list[str]:
    """Return what stands behind the means, one line a kind, for the measure with the smallest cutoff."""
    first = min(rows, key=_by_cutoff).measure
    chosen = [row for row in rows if row.measure == first and not row.stratum.startswith(SLICE)]
    lines = []
    for kind, thing, what in (
        ("undefined", "queries", "have no score and stay out of the means"),
        ("missing", "queries", "got no results and score 0"),
        ("unjudged", "results", f"in the {first} window nobody judged; they count as not relevant"),
        ("tied", "queries", f"have equal scores on both sides of the cutoff of {first}"),
    ):
        found = {
            row.stratum: (getattr(row, kind), row.results if thing == "results" else row.queries)
            for row in chosen
        }
        counts = {name: pair for name, pair in found.items() if pair[0]}
        if not counts:
            continue
        whole = counts.pop(ALL, None)
        worst = sorted(counts, key=lambda name: (-counts[name][0], name))
        places = listed((f"{name} {counts[name][0]}" for name in worst), most=4)
        if whole is None:
            count, of = sum(count for count, _ in counts.values()), sum(of for _, of in counts.values())
        else:
            count, of = whole
        lines.append(f"{kind}: {count} of {of} {thing} {what}" + (f" ({places})" if places else ""))
    near = [f"{row.stratum} {row.near} ({row.dropped})" for row in chosen if row.near]
    if near:
        what = "so few results that dropped out, judged relevant, would turn a cell red"
        lines.append(f"near: {what}: {listed(near, 4)}")
    lines += _power(chosen)
    return [*lines, *(f"note: {note}" for note in dict.fromkeys(n for row in rows for n in row.notes))]


def _power(rows: Sequence[CellRow]) -> list[str]:
    """Return what the smallest gated stratum could show at best; `pytest-retrieval check` tells the rest."""
    gated = [row for row in rows if row.status != DESCRIBED and row.n]
    if not gated:
        return []
    least = min(gated, key=lambda row: (row.n, row.stratum))
    p = smallest_p(least.n, "less")
    return [
        f"power: the smallest stratum is {least.stratum} ({counted(least.n, 'query', 'queries')}); no loss"
        f" there can have a one-sided p below {p:.2g}"
    ]
