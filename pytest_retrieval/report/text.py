"""Text for a terminal: a failure worth reading, and the table of a session."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from pytest_retrieval.errors import counted, listed
from pytest_retrieval.gate.cells import SLICE
from pytest_retrieval.gate.difference import CONTEXT, NOT_FOUND, Move, QueryChange
from pytest_retrieval.gate.verdict import (
    DESCRIBED,
    ERROR,
    HELD,
    REGRESSED,
    STALE,
    UNDECIDED,
    UNPINNED,
    VANISHED,
    Verdict,
    worse_by,
)
from pytest_retrieval.model import ALL
from pytest_retrieval.report.scorecard import CellRow, ReplyRow, StageRow
from pytest_retrieval.stats.signflip import smallest_p

__all__ = ["failure", "number", "numbers", "reply_table", "stage_table", "table"]

QUERIES = ("query", "queries")

WORST = 10
"""Queries that a failure shows unless asked for all."""

MOVES = 6
"""Documents that a failure shows per query unless asked for all."""

LOST, PUSHED = "lost by", "pushed down by"


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
    if verdict.status in (REGRESSED, UNDECIDED):
        lines += _fell(verdict)
        lines += _undecided(verdict, details)
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
        f"  {before} → {after}  ({sign}{numbers(worse, 0.0)[0]}; tolerance {verdict.tolerance:g}"
        f"{_noise(verdict)}) over {counted(verdict.n, *QUERIES)}: {verdict.lost} lost, {verdict.gained}"
        f" gained, {verdict.unchanged} unchanged"
    ]
    if pinned != before and verdict.pinned is not None:
        lines.append(
            f"  pinned as {pinned}: {verdict.gold_changed:+.3g} by changed judgments, queries or strata, then"
            f" {verdict.ranking_changed:+.3g} by the ranking, which alone decides"
        )
    overall = verdict.overall
    if overall is not None and verdict.cell.stratum != "all":
        was, now = numbers(overall.before, overall.after)
        hides = worse_by(overall.before, overall.after, verdict.higher_is_better) <= 0
        everything = f"all {overall.n} queries" if overall.n != 1 else "the only query"
        lines.append(f"  {everything}: {was} → {now}" + (" (the average hides this loss)" if hides else ""))
    if verdict.best is not None and verdict.pinned is not None and verdict.best != verdict.pinned:
        lines.append(f"  best ever pinned: {number(verdict.best)}")
    return lines


def _noise(verdict: Verdict) -> str:
    """Return the noise band, and how many retrievals the number of today is the mean of, if there is any."""
    band = "" if verdict.retrievals is None else f", noise band {verdict.band:.3g}"
    return band + (f"; the mean of {verdict.repeats} retrievals" if verdict.repeats > 1 else "")


def _queries(
    verdict: Verdict, depth: int, grades: dict[int, str], details: bool, show_text: bool
) -> list[str]:
    lost = [change for change in verdict.changes if _worse(verdict, change)]
    gained = [change for change in verdict.changes if not _worse(verdict, change)]
    limit = _cutoff(verdict.cell.measure)
    lines = []
    for title, changes in (("lost, worst first:", lost), ("gained:", list(reversed(gained)))):
        shown = changes if details else changes[: WORST if title.startswith("lost") else 3]
        if not shown:
            continue
        lines += ["", title]
        for change in shown:
            lines += _query(change, depth, limit, grades, details, show_text)
        if len(shown) < len(changes):
            lines.append(f"  … and {len(changes) - len(shown)} more: --retrieval-details shows them")
    return [*lines, *_by_stage(lost, limit)]


def _by_stage(lost: Sequence[QueryChange], limit: float) -> list[str]:
    """Return how many documents each stage lost, most first, or nothing where no stages were pinned."""
    moves = [move for change in lost for move in change.moves if move.lost_by(limit) is not None]
    lines = []
    for what in (LOST, PUSHED):
        counts = Counter(_loser(move, limit) for move in moves if _what(move, limit) == what)
        shown = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        if shown:
            lines.append(f"{what}: " + ", ".join(f"{stage} {count}" for stage, count in shown))
    return ["", *lines] if lines else []


def _loser(move: Move, limit: float) -> str:
    """Return the stage that lost a document as a reader calls it."""
    stage = str(move.lost_by(limit))
    if stage == CONTEXT:
        return "assembly"
    return f"{stage} leg" if move.is_leg(stage) else stage


def _what(move: Move, limit: float) -> str:
    """Return whether a document that fell left the first `limit`, or stands lower in them."""
    return LOST if move.after is None or move.after > limit else PUSHED


def _cutoff(measure: str) -> float:
    """Return the cutoff in a measure's name; infinite where it has none."""
    k = measure.rpartition("@")[2]
    return float(k) if k.isdigit() else math.inf


def _undecided(verdict: Verdict, details: bool) -> list[str]:
    """Return what nobody knows and what it would take to know it; of a plain red, how far it is from that."""
    flip = verdict.flip
    lines = [f"  {verdict.message}"] if verdict.message else []
    if flip is None:
        return lines
    if flip.by_ties:
        lines.append(
            "  documents of equal score stand on both sides of the cutoff; another tie rule would undo this"
            f" for {listed(flip.by_ties)}"
        )
    if not flip.documents:
        return lines
    needed = f"judging {counted(len(flip.documents), 'result', 'results')} relevant would undo this"
    known = f"of {flip.unjudged} unjudged, {flip.predicted:.1f} are predicted to be relevant"
    if len(flip.documents) > flip.predicted:
        return [*lines, f"  {needed}; {known}: too few to leave it open"]
    lines += ["", f"nobody knows: {needed}; {known}. Judge first:"]
    shown = flip.documents if details else flip.documents[:WORST]
    lines += (
        f"  {query_id} {doc_id} ({f'rank {rank}' if rank else 'cited'})" for query_id, doc_id, rank in shown
    )
    hidden = len(flip.documents) - len(shown)
    return [*lines, f"  … and {hidden} more: --retrieval-details shows them"] if hidden else lines


def _worse(verdict: Verdict, change: QueryChange) -> bool:
    return worse_by(change.before, change.after, verdict.higher_is_better) > 0


def _query(
    change: QueryChange, depth: int, limit: float, grades: dict[int, str], details: bool, show_text: bool
) -> list[str]:
    before, after = numbers(change.before, change.after)
    text = f" “{change.text}”" if show_text else ""
    lines = [f"  {change.query_id}{text}  {before} → {after}"]
    if change.cited_before is not None or change.cited_after is not None:
        then, now = _cited(change.cited_before, grades), _cited(change.cited_after, grades)
        lines.append(f"      cites {then} → {now}")
    shown = change.moves if details else change.moves[:MOVES]
    lines += [f"      {_move(move, change.returned, depth, limit, grades)}" for move in shown]
    if len(shown) < len(change.moves):
        lines.append(f"      … and {len(change.moves) - len(shown)} more documents moved")
    return lines


def _cited(cited: Sequence[tuple[str, int | None, bool]] | None, grades: dict[int, str]) -> str:
    """Return what an answer cites, with each document's grade and whether it was shown."""
    if cited is None:
        return "unanswered"
    texts = []
    for doc_id, grade, shown in cited:
        word = "unjudged" if grade is None else grades.get(grade, f"grade {grade}")
        texts.append(f"{doc_id} ({word}{'' if shown else ', outside the context'})")
    return listed(texts, most=MOVES) or "nothing"


def _move(
    move: Move, returned: tuple[int | None, int | None], depth: int, limit: float, grades: dict[int, str]
) -> str:
    grade = grades.get(move.grade, f"grade {move.grade}")
    before, after = _rank(move.before, returned[0], depth), _rank(move.after, returned[1], depth)
    text = f"{move.doc_id} ({grade})  {before} → {after}"
    loser = move.lost_by(limit)
    if loser is not None:
        ranks = ", ".join(
            _in_stage(move, stage) for stage in dict.fromkeys([*move.stages_before, *move.stages])
        )
        found = move.found_at(loser)
        where = "" if found is None or _what(move, limit) == PUSHED else f"found at depth {found}, "
        text += f"; {where}{_what(move, limit)} {_loser(move, limit)} ({ranks})"
    elif move.stages:
        ranks = ", ".join(f"{stage} {rank or '–'}" for stage, rank in move.stages.items())
        held = "no stage holds it" if move.last_held == NOT_FOUND else f"last held by {move.last_held}"
        text += f"; {held} ({ranks})"
    return text


def _in_stage(move: Move, stage: str) -> str:
    """Return a document's rank in one stage, then and now where they differ; what is gone is told as gone."""
    if stage not in move.stages:
        return f"{stage} {move.stages_before[stage] or '–'} → no such stage"
    now = move.stages[stage]
    then = move.stages_before.get(stage, now)
    return f"{stage} {now or '–'}" if then == now else f"{stage} {then or '–'} → {now or '–'}"


def _rank(rank: int | None, returned: int | None, depth: int) -> str:
    if rank is not None:
        return f"rank {rank}"
    if returned is None or returned >= depth:
        return f"not in {depth}"
    return f"not among the {returned} returned" if returned else "nothing returned"


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
    if verdict.is_rechunked:
        return [f'to pin it anew:  pytest {quoted(reproduce)} --retrieval-pin=all --retrieval-reason "why"']
    if verdict.status in (REGRESSED, UNDECIDED):
        also = ""
        if verdict.cell.stratum == ALL:
            also = "; it pins every ranking anew, and so every stratum"
        elif verdict.cell.stratum.startswith(SLICE):
            also = "; it pins the rankings of these queries anew, and so their strata"
        return [
            "if the loss is meant:  pytest "
            + quoted(reproduce)
            + f' --retrieval-pin=all --retrieval-reason "why"  (then review and commit the pins{also})'
        ]
    if verdict.status == UNPINNED or verdict.is_new:
        return ["to pin what is new:  pytest --retrieval-pin=new  (then review and commit the pins)"]
    if verdict.status == VANISHED:
        return ["if it is meant to go:  pytest --retrieval-pin=new  (then review and commit the pins)"]
    return []


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
        body = [
            [
                row.stratum,
                row.replies,
                number(row.nothing),
                *(
                    "" if values[place] is None else _shown_quantiles(values[place])
                    for values in told.values()
                ),
            ]
            for place, row in sorted(enumerate(of_subject), key=lambda pair: _by_kind(pair[1].stratum))
        ]
        head = ["stratum", "replies", "cite nothing", *told]
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
