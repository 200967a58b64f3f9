"""Text of planned comparisons for a terminal: what the plan establishes, and what it does not cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_retrieval.errors import listed
from pytest_retrieval.stats.comparison import LEFT_OUT, UNANSWERED
from pytest_retrieval.stats.thresholds import format_threshold

if TYPE_CHECKING:
    from pytest_retrieval.files.plan import Plan

__all__ = ["exploratory_lines", "look_lines", "noisy_lines", "planned_lines"]

VERDICT_LINES = 6
"""Lines of a comparison's block that hold its verdict; the rest stands beside it."""

ALWAYS = (UNANSWERED, LEFT_OUT)
"""How further lines begin that a verdict must not be read without."""

MOST_LOOKS = 10
"""Looks that a summary lists unless asked for all."""


def planned_lines(
    goldset: str, plan: Plan, notes: Sequence[Mapping[str, Any]], place: str = "", *, details: bool = False
) -> list[str]:
    """Return what became of one plan: a block per comparison that ran, and the names of those that did not.

    Parameters
    ----------
    goldset
        Name of the gold set.
    plan
        As locked.
    notes
        Of the tests that ran, as `Notes.plain` gives them.
    place
        Where the plan stands, unless that is beside the gold set.
    details
        Whether to print every line of each block.
    """
    blocks = {note["name"]: note["planned"] for note in notes if note["planned"]}
    lines = [
        f"{goldset}, planned comparisons: {len(plan.comparisons)}{f' ({place})' if place else ''}",
        f"{goldset}, p-value threshold: {format_threshold(plan.threshold)}",
    ]
    for name in sorted(blocks):
        verdict, rest = blocks[name][:VERDICT_LINES], blocks[name][VERDICT_LINES:]
        lines += verdict + [line for line in rest if details or any(f", {part}" in line for part in ALWAYS)]
    absent = [planned.name for planned in plan.comparisons if planned.name not in blocks]
    if absent:
        lines.append(f"{goldset}, planned and not compared: {len(absent)} ({listed(absent)})")
    if plan.last_reason:
        lines.append(f"{goldset}, plan locked anew: {plan.reason_told}")
    if plan.is_tightened:
        lines.append(
            f"{goldset}, the plan was locked at {format_threshold(plan.locked_threshold or 0)} and is"
            " stricter now; write that down:  pytest --retrieval-lock"
        )
    return lines


def noisy_lines(goldset: str, sides: Sequence[str]) -> list[str]:
    """Return what p does not cover where a side differs from call to call.

    Examples
    --------
    >>> noisy_lines("store", ["hnsw"])
    ['store, differing from call to call: hnsw; each comparison is of one retrieval, and another may find \
otherwise']
    """
    if not sides:
        return []
    return [
        f"{goldset}, differing from call to call: {listed(sides)}; each comparison is of one retrieval, and"
        " another may find otherwise"
    ]


def exploratory_lines(notes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return how each comparison that nobody planned begins, under one line that says what they are."""
    blocks = [block for note in notes for block in note["exploratory"]]
    if not blocks:
        return []
    lines = [line for block in blocks for line in block]
    return [f"exploratory, never established, p uncorrected: {len(blocks)}", *lines]


def look_lines(notes: Mapping[str, Mapping[str, Any]], *, details: bool = False) -> list[str]:
    """Return how often the test split was read outside the plan, and by which tests.

    Parameters
    ----------
    notes
        Node id → notes.
    details
        Whether to list every look.
    """
    looks = [f"{nodeid}: {look}" for nodeid, note in sorted(notes.items()) for look in note["looks"]]
    if not looks:
        return []
    shown = looks if details else looks[:MOST_LOOKS]
    rest = [f"  … and {len(looks) - len(shown)} more"] if len(shown) < len(looks) else []
    return [
        f"looks at the test split outside the plan: {len(looks)}",
        *(f"  {look}" for look in shown),
        *rest,
    ]
