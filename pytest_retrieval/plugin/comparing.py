"""The value of the fixture `compare`: one comparison on the queries of one split."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

import pytest

from pytest_retrieval.errors import QueryMismatchError, RetrieverError, listed
from pytest_retrieval.files.plan import Plan, Planned
from pytest_retrieval.gate.faults import fault_of
from pytest_retrieval.model.run import Run
from pytest_retrieval.plugin.intents import (
    LOCK,
    TEST,
    WHY,
    changed,
    default_split,
    never_with,
    part_of,
    queries_of,
)
from pytest_retrieval.plugin.items import fail, kinds_of, skip
from pytest_retrieval.stats.compare import Compared, compare, compared_of

if TYPE_CHECKING:
    from pytest_retrieval.measures.notation import Measure
    from pytest_retrieval.model.goldset import GoldSet
    from pytest_retrieval.stats.comparison import Comparison
    from pytest_retrieval.stats.pairing import Scores

__all__ = ["NOTES", "TASK", "Comparing", "Notes", "Task", "is_locking"]


@final
@dataclass(frozen=True, slots=True)
class Task:
    """The planned comparison that a test is to make.

    Attributes
    ----------
    goldset
        Name of the gold set.
    planned
        As locked; while it is being locked, as far as it is known before the test ran.
    plan
        What it stands in.
    threshold
        What p must be below.
    locking
        Whether the test runs only to tell what it compares.
    locked
        While locking: what stands in the plan under this name, None if nothing does.
    free
        While locking: whether it may be locked as something else than it was, because there is a reason.
    """

    goldset: str
    planned: Planned
    plan: Plan
    threshold: float
    locking: bool = False
    locked: Planned | None = None
    free: bool = True


@final
@dataclass(slots=True)
class Notes:
    """What a test's comparisons left behind; `plain` is what rides on its report.

    Attributes
    ----------
    refused
        Why the test compares something else than was locked; no xfail mark excuses that.
    """

    goldset: str = ""
    name: str = ""
    planned: Comparison | None = None
    exploratory: list[Comparison] = field(default_factory=list)
    looks: list[str] = field(default_factory=list)
    lock: Planned | None = None
    gone: str = ""
    refused: str = ""

    def forget_try(self) -> None:
        """Forget what an earlier try of the test compared."""
        self.planned, self.refused = None, ""
        self.exploratory.clear()
        self.looks.clear()

    def plain(self) -> dict[str, Any]:
        """Return the notes as JSON can hold them."""
        return {
            "goldset": self.goldset,
            "name": self.name,
            "planned": None if self.planned is None else str(self.planned).splitlines(),
            "exploratory": [str(found).splitlines()[:EXPLORATORY_LINES] for found in self.exploratory],
            "looks": list(dict.fromkeys(self.looks)),
            "lock": None if self.lock is None else list(astuple(self.lock)),
            "gone": self.gone,
        }


TASK: pytest.StashKey[Task] = pytest.StashKey()
"""The planned comparison of an item, in the item's stash."""

NOTES: pytest.StashKey[Notes] = pytest.StashKey()
"""What an item's comparisons left behind, in the item's stash."""


EXPLORATORY_LINES = 4
"""Lines of a comparison's block that a summary prints where nobody planned it."""


def is_locking(node: pytest.Item) -> bool:
    """Return whether a test runs only to tell what it compares."""
    task = node.stash.get(TASK, None)
    return task is not None and task.locking


@final
class Comparing:
    """Compares two systems on a split of the test's gold set.

    In a test marked ``planned_comparison`` it may be called once, and the threshold is that of the plan.
    Elsewhere its results are exploratory and never established.
    """

    def __init__(
        self, node: pytest.Item, goldset: GoldSet, alpha: float, returned: Callable[[Run], bool]
    ) -> None:
        self._returned = returned
        self._node = node
        self._goldset = goldset
        self._alpha = alpha

    def __call__(
        self,
        a: Run | Scores,
        b: Run | Scores,
        measure: str | Measure | None = None,
        *,
        split: str | None = None,
        by: str | Mapping[str, str] | None = None,
    ) -> Comparison:
        """Compare a with b.

        Parameters
        ----------
        a, b, measure, by
            As of `pytest_retrieval.compare`; what lies outside the split is left aside.
        split
            Whose queries are compared. In a planned test it is the marker's; elsewhere ``"test"`` where the
            gold set has such a split, otherwise every query.
        """
        __tracebackhide__ = True
        task = self._node.stash.get(TASK, None)
        notes = self._node.stash.setdefault(NOTES, Notes(self._goldset.name))
        qrels = self._goldset.qrels
        if task is None:
            chosen = default_split(qrels) if split is None else split
        else:
            chosen = task.planned.split
            _check_once(task, notes, chosen if split is None else split)
        kinds = kinds_of(self._node)
        compared = compared_of(a, b, measure, kinds)
        given = self._given(a, b)
        if task is not None:
            _check_judgments(task, notes, self._goldset)
            _hold(task, notes, compared, given)
        members = queries_of(qrels, chosen)
        sides = _of_split(a, members, set(qrels), "a"), _of_split(b, members, set(qrels), "b")
        for side, name in zip(sides, (compared.a or "a", compared.b or "b"), strict=True):
            fault = fault_of(self._goldset, side, members) if isinstance(side, Run) else ""
            if fault:
                raise RetrieverError(f"{name}: {fault}")
        result = compare(
            *sides,
            measure,
            qrels=qrels.select(members),
            threshold=self._alpha if task is None else task.threshold,
            by=by,
            name=compared.label if task is None else task.planned.name,
            exploratory=task is None,
            kinds=kinds,
        )
        result = replace(result, a=compared.a, b=compared.b, split=chosen, given=given)
        if task is None:
            if not result.name:
                result = replace(result, name=self._node.name)
            notes.exploratory.append(result)
            if chosen == TEST:
                notes.looks.append(f"exploratory comparison {result.name}")
            return result
        result = replace(result, plan_reason=task.plan.reason_told)
        notes.planned = result
        message = never_with(
            task.planned,
            result.n,
            result.threshold,
            f"{result.measure or 'the score'} has {result.n} queries",
        )
        if message:
            pytest.fail(message, pytrace=False)
        return result

    def _given(self, a: object, b: object) -> str:
        """Return what the test brings along, as plans name it; empty where retrievers returned both sides."""
        if not isinstance(a, Run) or not isinstance(b, Run):
            return "scores"
        return "" if self._returned(a) and self._returned(b) else "runs"


def _check_once(task: Task, notes: Notes, split: str) -> None:
    __tracebackhide__ = True
    name = task.planned.name
    if split != task.planned.split:
        notes.refused = (
            f"{name}: planned on the split {task.planned.split!r}, and this call asks for {split!r}"
        )
        fail(notes.refused)
    if notes.planned is not None:
        pytest.fail(
            f"{name}: a second comparison in a planned test; what a plan establishes is one comparison. Give"
            " the second a test, a name and a place in the plan of its own, or put it into a test without the"
            " marker, where it is exploratory",
            pytrace=False,
        )


def _check_judgments(task: Task, notes: Notes, goldset: GoldSet) -> None:
    """Refuse a gold set that a project's own fixture put in place of the one that the plan is about."""
    __tracebackhide__ = True
    planned = task.planned
    there = (goldset.name, *part_of(goldset, planned.split))
    if there != (task.goldset, planned.queries, planned.judgments):
        notes.refused = (
            f"{planned.name}: the fixture `goldset` of this test holds other questions or judgments than"
            f" the gold set {task.goldset!r}, which the plan is about: a fixture of that name of your own"
            " hides the plugin's"
        )
        fail(notes.refused)


def _hold(task: Task, notes: Notes, compared: Compared, given: str) -> None:
    """Hold what a test compares against what was locked; while locking, take note of it and end the test."""
    __tracebackhide__ = True
    planned = replace(task.planned, measure=compared.measure_name, a=compared.a, b=compared.b, given=given)
    if task.locking:
        if task.locked not in (None, planned) and not task.free:
            fail(changed(task.goldset, task.locked, planned) + f":  {LOCK}{WHY}")
        notes.lock = planned
        done = "locked already" if task.locked == planned else "locked"
        skip(f"{planned.name}: {done}, not compared; it is compared without --retrieval-lock")
    if planned != task.planned:
        notes.refused = changed(task.goldset, task.planned, planned) + f":  {LOCK}{WHY}"
        fail(notes.refused)


def _of_split(side: Any, members: tuple[str, ...], judged: set[str], what: str) -> Any:
    """Return one side without the queries of other splits."""
    if isinstance(side, Run):
        unknown = [query_id for query_id in side if query_id not in judged]
        _check_known(unknown, what)
        return side.select(members)
    if not callable(getattr(side, "items", None)):
        return side  # compare says what is wrong with it
    scores = list(side.items())
    _check_known([query_id for query_id, _ in scores if str(query_id) not in judged], what)
    held = {str(query_id) for query_id, _ in scores}
    missing = [query_id for query_id in members if query_id not in held]
    if missing:
        raise QueryMismatchError(
            f"{what} has no score for {len(missing)} of the {len(members)} queries compared:"
            f" {listed(missing)}; give NaN where a score is undefined"
        )
    return _Some(scores, set(members), getattr(side, "name", None))


def _check_known(unknown: list[Any], what: str) -> None:
    if unknown:
        raise QueryMismatchError(
            f"{what} is about {len(unknown)} queries that the gold set lacks: {listed(unknown)}"
        )


@final
class _Some:
    """Scores of some queries, with the name that tells what they are; an id that came twice stays twice."""

    def __init__(self, scores: list[tuple[Any, Any]], members: set[str], name: object) -> None:
        self._scores = [(query_id, score) for query_id, score in scores if str(query_id) in members]
        self.name = name

    def items(self) -> list[tuple[Any, Any]]:
        """Query ids and their scores."""
        return self._scores
