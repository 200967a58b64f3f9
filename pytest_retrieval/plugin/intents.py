"""What a test marked as a planned comparison intends, held against the plan that was locked."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, final

import pytest

from pytest_retrieval.errors import InputError, RetrievalError, counted, listed
from pytest_retrieval.files.digest import judgments_digest
from pytest_retrieval.files.plan import Plan, Planned
from pytest_retrieval.gate.pin import short
from pytest_retrieval.plugin.items import Choice
from pytest_retrieval.stats import format_p, format_threshold, smallest_p

if TYPE_CHECKING:
    from pytest_retrieval.model.goldset import GoldSet
    from pytest_retrieval.model.qrels import Qrels
    from pytest_retrieval.plugin.session import Session

__all__ = [
    "LOCK",
    "MARKER",
    "TEST",
    "WHY",
    "Intent",
    "changed",
    "changed_before",
    "default_split",
    "intents_of",
    "never",
    "part_of",
    "queries_of",
]

MARKER = "planned_comparison"
TEST = "test"
"""The split that is kept for planned comparisons."""

LOCK = "pytest --retrieval-lock"
WHY = ' --retrieval-reason "why"'

USAGE = 'write @pytest.mark.planned_comparison("hybrid over bm25 on recall@5", split="test")'


@final
@dataclass(frozen=True, slots=True)
class Intent:
    """What the marker of one test says.

    Attributes
    ----------
    goldset
        Name of the gold set; empty where it is not known.
    planned
        The comparison as it would be locked, or None where that cannot be said.
    problem
        Why it cannot be made, whatever the plan says.
    """

    goldset: str = ""
    planned: Planned | None = None
    problem: str = ""


def intents_of(session: Session, items: Sequence[pytest.Item]) -> dict[pytest.Item, Intent]:
    """Return the intent of every test that is marked; those that share a name have a problem.

    A test whose gold set is not here or cannot be read is left out: its fixture says why.
    """
    intents = {}
    parts: dict[tuple[str, str], tuple[int, str]] = {}
    for item in items:
        marks = list(item.iter_markers(MARKER))
        intent = _intent(session, item, marks, parts) if marks else None
        if intent is not None:
            intents[item] = intent
    same: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
    for item, intent in intents.items():
        if intent.planned is not None:
            same[intent.goldset, intent.planned.name].append(item)
    for (goldset, name), sharing in same.items():
        if len(sharing) > 1:
            problem = _shared(goldset, name, [item.nodeid for item in sharing])
            intents |= dict.fromkeys(sharing, Intent(goldset, problem=problem))
    return intents


def changed(goldset: str, locked: Planned, planned: Planned) -> str:
    """Return how a comparison differs from what was locked, as the beginning of a sentence."""
    what = []
    if locked.split != planned.split:
        what.append(f"is about the split {planned.split!r}, and {locked.split!r} was locked")
    elif locked.queries != planned.queries:
        what.append(
            f"is about {counted(planned.queries, 'query', 'queries')} now, and {locked.queries} were locked"
        )
    elif locked.judgments != planned.judgments:
        number = counted(planned.queries, "query", "queries")
        what.append(f"is about {number} whose ids, texts or judgments changed since it was locked")
    if locked.owner != planned.owner:
        what.append(f"is made by {planned.owner}, and {locked.owner} was locked")
    if locked.measure != planned.measure:
        what.append(f"compares {_said(planned.measure)}, and {_said(locked.measure)} was locked")
    if (locked.a, locked.b) != (planned.a, planned.b):
        what.append(
            f"compares {_said(planned.a)} with {_said(planned.b)}, and {_said(locked.a)} with"
            f" {_said(locked.b)} was locked"
        )
    if locked.given != planned.given:
        what.append(f"compares {planned.origin}, and {locked.origin} were locked")
    return f"{goldset}: {planned.name!r} {'; it '.join(what)}; lock the change with a reason"


def changed_before(goldset: str, locked: Planned, planned: Planned) -> str:
    """Return how a comparison whose measure and sides are not known yet differs from what was locked."""
    known = replace(planned, measure=locked.measure, a=locked.a, b=locked.b, given=locked.given)
    return changed(goldset, locked, known)


def _said(name: str) -> str:
    return name or "what has no name"


def queries_of(qrels: Qrels, split: str) -> tuple[str, ...]:
    """Return the queries of a split, sorted by id; every query where `split` is empty.

    Raises
    ------
    InputError
        There is no such split, or the judgments have splits and none was named.
    """
    if not split and not qrels.splits:
        return tuple(sorted(qrels.query_ids))
    splits = qrels.splits or {}
    found = tuple(sorted(query_id for query_id in qrels.query_ids if splits.get(query_id) == split))
    if not found:
        there = listed(sorted(set(splits.values())))
        what = f"no query is in the split {split!r}" if split else "no split was named"
        raise InputError(f"{what}; splits are {there}" if there else f"{what}: the gold set has no splits")
    return found


def default_split(qrels: Qrels) -> str:
    """Return ``"test"`` where there is such a split, else an empty string."""
    splits = qrels.splits or {}
    return TEST if any(splits.get(query_id) == TEST for query_id in qrels.query_ids) else ""


def never(goldset: GoldSet, planned: Planned, threshold: float) -> str:
    """Return why a comparison could not establish anything whatever was retrieved, or an empty string.

    Which measure will be compared is not known yet. Measures look either at documents graded above 0 or at
    queries without any, so no measure is defined for more queries than the more frequent kind.
    """
    qrels = goldset.qrels
    members = queries_of(qrels, planned.split)
    graded = sum(any(grade > 0 for grade in qrels[query_id].values()) for query_id in members)
    most = max(graded, len(members) - graded)
    return never_with(planned, most, threshold, f"at most {most} of {len(members)} queries can be scored")


def never_with(planned: Planned, n: int, threshold: float, scored: str) -> str:
    """Return that so many queries can never give a p below the threshold, or an empty string."""
    smallest = smallest_p(n)
    if smallest < threshold:
        return ""
    place = f" of the split {planned.split!r}" if planned.split else ""
    return (
        f"{planned.name}: this plan can never establish anything: {scored}{place}, so p is at least"
        f" {format_p(smallest, threshold)}, and only a p below {format_threshold(threshold)} establishes."
        " Add queries, or plan fewer comparisons"
    )


def _intent(
    session: Session,
    item: pytest.Item,
    marks: Sequence[pytest.Mark],
    parts: dict[tuple[str, str], tuple[int, str]],
) -> Intent | None:
    problem = _marker_problem(marks)
    if problem:
        return Intent(problem=problem)
    callspec = getattr(item, "callspec", None)
    choice = callspec.params.get("goldset") if callspec is not None else None
    if not isinstance(choice, Choice):
        choice = session.chosen(item.get_closest_marker("goldset"))
    if choice.skips:
        return None  # its fixture skips, and says why
    if choice.problem or len(choice.names) != 1:
        several = f"several gold sets ({listed(choice.names)}); a comparison is about one"
        return Intent(problem=choice.problem or f"this planned test names {several}")
    (goldset,) = choice.names
    (name,), split = marks[0].args, marks[0].kwargs.get("split")
    try:
        whole = session.goldsets.get(goldset)
    except RetrievalError:
        return None
    if split is None:
        split = default_split(whole.qrels)
    try:
        if (goldset, split) not in parts:
            parts[goldset, split] = part_of(whole, split)
    except InputError as error:
        return Intent(goldset, problem=f"planned comparison {name!r}: {error}; {USAGE}")
    queries, judgments = parts[goldset, split]
    owner = _owner(item, session.goldsets.home(goldset))
    return Intent(goldset, Planned(name, split, owner, queries, judgments))


def part_of(goldset: GoldSet, split: str) -> tuple[int, str]:
    """Return how many queries a split holds, and a short digest of their texts and judgments."""
    members = queries_of(goldset.qrels, split)
    texts = {str(query_id): str(text) for query_id, text in goldset.queries["query"].items()}
    return len(members), short(judgments_digest(goldset.qrels.select(members), texts, goldset.grades))


def _marker_problem(marks: Sequence[pytest.Mark]) -> str:
    if len(marks) > 1:
        return f"a test makes one planned comparison, and this one is marked with {len(marks)}; {USAGE}"
    (mark,) = marks
    if len(mark.args) != 1 or not isinstance(mark.args[0], str) or not mark.args[0].strip():
        return f"@pytest.mark.planned_comparison needs the comparison's name, not {mark.args!r}; {USAGE}"
    if not mark.args[0].isprintable():
        return f"@pytest.mark.planned_comparison: the name {mark.args[0]!r} is not one line of text; {USAGE}"
    strange = mark.kwargs.keys() - {"split"}
    if strange:
        return f"@pytest.mark.planned_comparison takes no {listed(sorted(strange))}; {USAGE}"
    split = mark.kwargs.get("split", TEST)
    if not isinstance(split, str) or not split:
        return f"@pytest.mark.planned_comparison: split is {split!r}, a split's name is needed; {USAGE}"
    return ""


def _owner(item: pytest.Item, folder: Path) -> str:
    """Return the test as plan.toml names it: with its parameters, unless the gold set is the only one."""
    test = item.nodeid.partition("::")[2]
    callspec = getattr(item, "callspec", None)
    if callspec is None or callspec.params.keys() <= {"goldset"}:
        test = test.partition("[")[0]
    return f"{Path(os.path.relpath(item.path, folder)).as_posix()}::{test}"


def _shared(goldset: str, name: str, nodeids: Iterable[str]) -> str:
    tests = list(dict.fromkeys(nodeid.partition("[")[0] for nodeid in nodeids))
    if len(tests) == 1:
        return (
            f"{goldset}: planned comparison {name!r} is parametrised; a planned comparison is made once: give"
            " each one a test and a name of its own"
        )
    return (
        f"{goldset}: planned comparison {name!r} is claimed by {len(tests)} tests: {listed(tests)}; give each"
        ' a name of its own, then lock with a reason:  pytest --retrieval-lock --retrieval-reason "why"'
    )


def totals(plans: Mapping[str, Plan], goldset: str) -> str:
    """Return how many comparisons a plan holds and what that makes of its threshold."""
    plan = plans[goldset]
    number = counted(len(plan.comparisons), "planned comparison", "planned comparisons")
    return f"{number}, each established below {format_threshold(plan.threshold)}"
