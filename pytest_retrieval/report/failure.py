"""A failure worth reading: which queries, what they lost and at which stage, and what to do now."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from pytest_retrieval.errors import counted, listed
from pytest_retrieval.gate.cells import SLICE
from pytest_retrieval.gate.difference import CONTEXT, NOT_FOUND, Move, QueryChange
from pytest_retrieval.gate.verdict import REGRESSED, UNDECIDED, UNPINNED, VANISHED, Verdict, worse_by
from pytest_retrieval.model.goldset import ALL
from pytest_retrieval.report.numbers import number, numbers

__all__ = ["JudgedBy", "failure", "quoted"]

WORST = 10
"""Queries that a failure shows unless asked for all."""

MOVES = 6
"""Documents that a failure shows per query unless asked for all."""

LOST, PUSHED = "lost by", "pushed down by"


@final
@dataclass(frozen=True, slots=True)
class JudgedBy:
    """Another revision, by whose pins a cell is judged.

    Attributes
    ----------
    revision, label
        As the user named it, and as a reader knows it.
    reason
        Why this branch pinned the cell anew, if it said so and that could be accepted.
    is_pinned
        Whether this branch still pins the cell.
    """

    revision: str
    label: str
    reason: str = ""
    is_pinned: bool = True


def failure(
    goldset: str,
    verdict: Verdict,
    *,
    depth: int,
    reproduce: str,
    grades: dict[int, str] | None = None,
    details: bool = False,
    show_text: bool = True,
    pin_new: str = "pytest --retrieval-pin=new",
    base: JudgedBy | None = None,
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
    pin_new
        The command that pins what is new.
    base
        What it was judged by, where that is another revision.
    """
    lines = [f"{goldset}: {verdict.cell} is {verdict.status}"]
    if base is not None:
        lines.append(f"  judged by the pins of {base.label}")
    if verdict.status in (REGRESSED, UNDECIDED):
        lines += _fell(verdict)
        lines += _undecided(verdict, details)
        lines += _queries(verdict, depth, grades or {}, details, show_text)
        lines += _evidence(verdict)
    else:
        lines += [f"  {line}" for line in verdict.message.splitlines()]
    lines += [f"note: {note}" for note in verdict.notes]
    alone = f"pytest {quoted(reproduce)}" + (f" --retrieval-against={base.revision}" if base else "")
    mend = _mend(verdict, reproduce, pin_new) if base is None else _mend_branch(verdict, reproduce, base)
    lines += ["", f"this cell alone:  {alone}", *mend]
    return "\n".join(lines)


def quoted(argument: str) -> str:
    """Return an argument in double quotes, as every shell takes a node id."""
    return f'"{argument}"'


def _fell(verdict: Verdict) -> list[str]:
    pinned, before, after = numbers(verdict.pinned, verdict.before, verdict.after)
    worse = worse_by(verdict.before, verdict.after, verdict.higher_is_better)
    sign = "−" if verdict.higher_is_better == (worse > 0) else "+"
    by = f"{sign}{numbers(abs(worse), 0.0)[0]}; " if worse else ""
    lines = [
        f"  {before} → {after}  ({by}tolerance {verdict.tolerance:g}"
        f"{_noise(verdict)}) over {counted(verdict.n, 'query', 'queries')}: {verdict.lost} lost,"
        f" {verdict.gained} gained, {verdict.unchanged} unchanged"
    ]
    if pinned != before and verdict.pinned is not None:
        lines.append(
            f"  pinned as {pinned}: {_signed(verdict.gold_changed)} by changed judgments, queries or strata,"
            f" then {_signed(verdict.ranking_changed)} by the ranking, which alone decides"
        )
    overall = verdict.overall
    if overall is not None and verdict.cell.stratum != "all":
        was, now = numbers(overall.before, overall.after)
        hides = worse > 0 and worse_by(overall.before, overall.after, verdict.higher_is_better) <= 0
        everything = f"all {overall.n} queries" if overall.n != 1 else "the only query"
        lines.append(f"  {everything}: {was} → {now}" + (" (the average hides this loss)" if hides else ""))
    if verdict.best is not None and verdict.pinned is not None and verdict.best != verdict.pinned:
        lines.append(f"  best ever pinned: {number(verdict.best)}")
    return lines


def _signed(difference: float) -> str:
    return f"{difference:+.3g}".replace("-", "−", 1) if difference < 0 else f"{difference:+.3g}"


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
    if hidden:
        lines.append(f"  … and {hidden} more: --retrieval-details shows them")
    if flip.predicted >= flip.unjudged:  # a share of 1 is what a list of answers gives, not a pool
        lines.append(
            "  every result judged here is relevant; if all documents that answer are listed, goldset.toml"
            ' says so with unjudged = "irrelevant"'
        )
    return lines


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
    worse = worse_by(verdict.before, verdict.after, verdict.higher_is_better)
    if verdict.p is None or verdict.smallest_p is None or worse <= 0:
        return []
    changed = verdict.lost + verdict.gained
    return [
        "",
        "The drop is a fact about these queries. Whether other queries like them lose too: one-sided paired"
        f" p = {_p(verdict.p)}; the smallest that"
        f" {counted(changed, 'changed query allows', 'changed queries allow')} is {_p(verdict.smallest_p)}.",
    ]


def _p(p: float) -> str:
    return f"{p:.4f}" if p >= 0.001 else f"{p:.2g}"


def _mend_branch(verdict: Verdict, reproduce: str, base: JudgedBy) -> list[str]:
    """Return what to do about a cell that another revision's pins judge: nothing is pinned there."""
    agree = "if a reviewer agrees:  add --retrieval-accept-lowered"
    if verdict.status == VANISHED and not base.is_pinned:
        return [f"this branch took the cell out; {agree}"]
    meant = "if the loss is meant"
    if verdict.is_rechunked:
        meant = "to have this branch's pins judge it"
    elif verdict.status not in (REGRESSED, UNDECIDED):
        return []
    if _is_unjudged(verdict):
        return [_JUDGE]
    if base.reason:
        return [f"this branch pinned it anew: {base.reason}; {agree}"]
    return [
        f"{meant}:  pytest {quoted(reproduce)} --retrieval-pin=all --retrieval-reason"
        ' "why"  (then commit the pins, and a reviewer adds --retrieval-accept-lowered here)'
    ]


_JUDGE = "to decide it:  judge what it returns; no pin mends this, only a lower min_judged in goldset.toml"


def _is_unjudged(verdict: Verdict) -> bool:
    """Return whether too little is judged for any verdict."""
    return verdict.status == UNDECIDED and bool(verdict.message)


def _mend(verdict: Verdict, reproduce: str, pin_new: str) -> list[str]:
    if verdict.is_rechunked:
        return [f'to pin it anew:  pytest {quoted(reproduce)} --retrieval-pin=all --retrieval-reason "why"']
    if _is_unjudged(verdict):
        return [_JUDGE]
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
        return [f"to pin what is new:  {pin_new}  (then review and commit the pins)"]
    if verdict.status == VANISHED:
        return [f"if it is meant to go:  {pin_new}  (then review and commit the pins)"]
    return []
