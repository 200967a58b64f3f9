"""Pinning: what becomes of the pins in a session that was told to pin, and what of that is new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, final

from pytest_retrieval.errors import InputError, counted, listed
from pytest_retrieval.gate.cells import Cell, groups
from pytest_retrieval.gate.pin import Evidence, Pin, Pins, document_ids, refreshed, short, text_digest
from pytest_retrieval.measures.answer import LABEL
from pytest_retrieval.measures.notation import Measure
from pytest_retrieval.measures.table import mean_of
from pytest_retrieval.model.goldset import GoldSet

__all__ = ["CellChange", "depth_fault", "refreshments", "repin"]


@final
@dataclass(frozen=True, slots=True)
class CellChange:
    """What pinning did to one cell: None before where it was new, None after where it is gone."""

    cell: Cell
    before: float | None
    after: float | None
    n: int


def repin(
    pins: Pins,
    goldset: GoldSet,
    measures: Mapping[str, Sequence[Measure]],
    *,
    today: Mapping[str, Mapping[str, Evidence]],
    accepted: Mapping[str, Set[str]],
    reported: Mapping[Cell, str],
    gone: Set[Cell] = frozenset(),
    reason: str = "",
    noise: Mapping[Cell, tuple[float | None, int | None]] = MappingProxyType({}),
) -> tuple[Pins, tuple[CellChange, ...]]:
    """Return the pins after a session that was told to pin, and what changed.

    A query's ranking is replaced by today's where it had none, where its text changed, or where it is
    accepted. Every other ranking stays, and its scores are made anew under today's judgments.

    Parameters
    ----------
    pins
        As they were.
    goldset, measures
        As they are.
    today
        Subject → query → evidence of the cells that reported.
    accepted
        Subject → queries whose rankings are to be replaced.
    reported
        Cell → owning test, of the cells that may be pinned now.
    gone
        Cells that have vanished and are to be pinned no longer.
    reason
        Why something is lowered; stored with every cell that falls.
    noise
        Cell → its noise band and how many retrievals it was measured over, both None for a subject that
        returned the same twice; for those that were measured.

    Raises
    ------
    InputError
        A new measure looks deeper than the pinned rankings were kept, or a cell that is to be pinned has a
        query without evidence.
    """
    by_group = groups(goldset)
    cells = {cell: pin for cell, pin in pins.cells.items() if cell not in gone}
    evidence = {subject: dict(lines) for subject, lines in pins.evidence.items()}
    changes = [
        CellChange(cell, pins.cells[cell].value, None, 0) for cell in sorted(gone) if cell in pins.cells
    ]
    for subject, new_lines in today.items():
        if subject not in measures:
            continue
        old_lines = pins.evidence.get(subject, {})
        chosen = _chosen(goldset, old_lines, new_lines, accepted.get(subject, frozenset()))
        faults = [fault for m in measures[subject] if (fault := depth_fault(m, chosen))]
        if faults:
            raise InputError(f"{subject}: {'; '.join(faults)}")
        for cell in sorted(cell for cell in reported if cell.subject == subject):
            lacking = [query_id for query_id in by_group.get(cell.stratum, ()) if query_id not in chosen]
            if lacking:
                raise InputError(f"{cell} was to be pinned, and there is no evidence of {listed(lacking, 5)}")
        lines = refreshed(goldset, chosen, measures[subject])
        evidence[subject] = lines
        replaced = {query_id for query_id, line in chosen.items() if line is new_lines.get(query_id)}
        of_subject = [cell for cell in cells if cell.subject == subject]
        for cell in sorted({*of_subject, *(cell for cell in reported if cell.subject == subject)}):
            members = set(by_group.get(cell.stratum, ()))
            scores = _scores(lines, members, cell.measure)
            before = cells.get(cell)
            if not scores:
                cells.pop(cell, None)
                after = None
            else:
                measure = next(m for m in measures[subject] if m.name == cell.measure)
                after = _pin(
                    before, mean_of(scores), len(scores), goldset, measure,
                    touched=before is None or bool(members & replaced),
                    owner=reported.get(cell, ""), reason=reason,
                )  # fmt: skip
                if cell in noise:
                    band, retrievals = noise[cell]
                    after = replace(after, noise=band, retrievals=retrievals)
                cells[cell] = after
            if before is None or after is None or before.value != after.value or before.n != after.n:
                changes.append(
                    CellChange(cell, before and before.value, after and after.value, after.n if after else 0)
                )
    subjects = {cell.subject for cell in cells}
    kept = {subject: lines for subject, lines in evidence.items() if subject in subjects}
    return Pins(dict(sorted(cells.items())), kept), tuple(changes)


def _chosen(
    goldset: GoldSet,
    old_lines: Mapping[str, Evidence],
    new_lines: Mapping[str, Evidence],
    accepted: Set[str],
) -> dict[str, Evidence]:
    """Return which ranking stands for each gated query: the pinned one or today's."""
    chosen = {}
    for query_id in goldset.gated_queries:
        old, new = old_lines.get(query_id), new_lines.get(query_id)
        if old is not None and old.query != text_digest(goldset.text_of(query_id)):
            old = None
        if new is not None and (old is None or query_id in accepted):
            chosen[query_id] = new
        elif old is not None:
            chosen[query_id] = old
    return chosen


def depth_fault(measure: Measure, lines: Mapping[str, Evidence]) -> str:
    """Return why a measure cannot be scored from pinned rankings, or an empty string."""
    name = measure.kind.name
    if name.startswith(LABEL) and lines:
        replies = [reply for line in lines.values() for reply in line.replies]
        if not any(name in reply.numbers for reply in replies):
            return (
                f"{measure.name} was not there when the replies were pinned; to pin them anew: "
                ' pytest --retrieval-pin=all --retrieval-reason "why"'
            )
    cut = [query_id for query_id, line in lines.items() if not line.holds(measure.k)]
    if not cut:
        return ""
    return (
        f"{measure.name} looks deeper than the pinned rankings of {counted(len(cut), 'query', 'queries')}"
        f' were kept: {listed(cut)}; to pin them anew:  pytest --retrieval-pin=all --retrieval-reason "why"'
    )


def refreshments(before: Pins, after: Pins) -> list[str]:
    """Return what is written anew beside the values: rankings, scores, classes, owners, digests.

    Pins may be different although no value is; whoever commits them needs to know why.
    """
    found = []
    for subject, lines in after.evidence.items():
        old = before.evidence.get(subject, {})
        if not old:
            continue  # its cells are all new, and told as such
        both = [query_id for query_id in lines if query_id in old]
        counts = {
            "new": sum(query_id not in old for query_id in lines),
            "gone": sum(query_id not in lines for query_id in old),
            "with another ranking": sum(_ranking(lines[q]) != _ranking(old[q]) for q in both),
            "with other scores": sum(dict(lines[q].scores) != dict(old[q].scores) for q in both),
            "with other grades": sum(dict(lines[q].grades) != dict(old[q].grades) for q in both),
            "of another class": sum(_classes(lines[q]) != _classes(old[q]) for q in both),
        }
        told = [f"{count} {what}" for what, count in counts.items() if count]
        if told:
            found.append(
                f"evidence of {subject}: of {counted(len(lines), 'query', 'queries')} {', '.join(told)}"
            )
    cells = [cell for cell in after.cells if cell in before.cells]
    for what, names in (
        ("owner", ("owner",)),
        ("best value", ("best",)),
        ("reason", ("reason",)),
        ("noise band", ("noise", "retrievals")),
        ("digests", ("level", "judgments", "catalog", "document_ids", "documents")),
    ):
        moved = [
            cell
            for cell in cells
            if any(getattr(before.cells[cell], name) != getattr(after.cells[cell], name) for name in names)
        ]
        if moved:
            found.append(f"{what} of {counted(len(moved), 'cell', 'cells')}: {listed(moved, 3)}")
    return found


def _ranking(line: Evidence) -> tuple[object, ...]:
    return (line.query, line.ranking, line.returned, dict(line.ranks), line.replies, line.places)


def _classes(line: Evidence) -> tuple[object, ...]:
    return (line.stratum, line.slices)


def _scores(lines: Mapping[str, Evidence], members: set[str], measure: str) -> list[float]:
    return [
        score
        for query_id, line in lines.items()
        if query_id in members and (score := line.scores.get(measure)) is not None
    ]


def _pin(
    before: Pin | None,
    value: float,
    n: int,
    goldset: GoldSet,
    measure: Measure,
    *,
    touched: bool,
    owner: str,
    reason: str,
) -> Pin:
    judgments = short(goldset.digests.judgments)
    level = goldset.qrels.relevance_level
    catalog: dict[str, Any] = {
        "catalog": short(goldset.digests.catalog),
        "document_ids": document_ids(goldset.doc_ids),
        "documents": None if goldset.doc_ids is None else len(goldset.doc_ids),
    }
    if before is None:
        return Pin(value=value, n=n, best=value, level=level, judgments=judgments, owner=owner, **catalog)
    better = max if measure.higher_is_better else min
    fell = value != before.value and better(value, before.value) == before.value
    best = better(before.best, value) if before.judgments == judgments else value
    recovered = before.judgments == judgments and best == value != before.value
    return replace(
        before,
        value=value,
        n=n,
        best=best,
        level=level,
        judgments=judgments,
        **(catalog if touched else {}),
        reason=reason if touched and fell and reason else "" if recovered else before.reason,
        owner=owner or before.owner,
    )
