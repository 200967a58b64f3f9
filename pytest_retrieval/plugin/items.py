"""Items: which gold sets a test uses, and what one item of a gate test stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, final

import pytest

from pytest_retrieval.errors import listed
from pytest_retrieval.gate.cells import Cell, cell_id, slug

if TYPE_CHECKING:
    from pytest_retrieval.measures.rank import MeasureKind
    from pytest_retrieval.plugin.goldsets import GoldSets

__all__ = ["Choice", "GateItem", "choose", "fail", "kinds_of", "skip"]


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """The gold sets of a test, or why there is no telling.

    Attributes
    ----------
    names, subjects
        Of the gold sets, and of what is gated there; None for every subject.
    problem
        Why they cannot be used.
    skips
        Whether that skips the test rather than failing it.
    """

    names: tuple[str, ...] = ()
    subjects: tuple[str, ...] | None = None
    problem: str = ""
    skips: bool = False


@final
@dataclass(frozen=True, slots=True, eq=False)
class GateItem:
    """One item of a gate test: a cell, or the gold set as a whole where `cell` is None.

    Two items are never equal: pytest must not take the gate of one test for that of another.
    """

    goldset: str
    cell: Cell | None = None
    cells: tuple[Cell, ...] = ()
    problem: str = ""

    @property
    def id(self) -> str:
        """The item's part of a node id."""
        return slug(self.goldset) if self.cell is None else f"{slug(self.goldset)}-{cell_id(self.cell)}"

    @property
    def keywords(self) -> set[str]:
        """Words that ``-k`` finds beside the node id."""
        if self.cell is None:
            return {self.goldset}
        subject, measure, stratum = self.cell
        spelled = measure.replace("@", "_at_")
        return {self.goldset, subject, stratum, slug(stratum), slug(measure), slug(spelled)}


def choose(goldsets: GoldSets, default: str, mark: pytest.Mark | None, *, skip_missing: bool) -> Choice:
    """Return which gold sets a test uses: its marker's, the ini file's, or the only one there is.

    Where `skip_missing`, the names of gold sets that are not here are returned with those that are.
    """
    known = goldsets.folders
    if mark is None:
        if not known and not (default and skip_missing):
            return Choice(problem=NO_GOLDSET, skips=skip_missing)
        names: Sequence[str] = [default] if default else list(known)
        if len(names) > 1:
            return Choice(
                problem=f"there are {len(known)} gold sets ({listed(known)}): say which with"
                " @pytest.mark.goldset(name) or the ini key retrieval_goldset"
            )
        subjects = None
    else:
        names, subjects = mark.args, mark.kwargs.get("subjects")
        problem = _marker_problem(mark)
        if problem:
            return Choice(problem=problem)
    unknown = [name for name in names if name not in known]
    if unknown and not skip_missing:
        return Choice(
            problem=f"no gold set is named {listed(map(repr, unknown))}; there are {listed(known) or 'none'}"
        )
    return Choice(tuple(names), None if subjects is None else tuple(subjects))


NO_GOLDSET = (
    "no gold set was found: a gold set is a folder with a goldset.toml below goldsets/, or below what the ini"
    " key retrieval_goldsets names (a BEIR folder needs one too); `pytest-retrieval init` makes one"
)


def _marker_problem(mark: pytest.Mark) -> str:
    usage = "write @pytest.mark.goldset('name', …, subjects=['name', …])"
    if not mark.args or not all(isinstance(name, str) for name in mark.args):
        return f"@pytest.mark.goldset needs names of gold sets, not {mark.args!r}; {usage}"
    if len(set(mark.args)) < len(mark.args):
        return f"@pytest.mark.goldset names a gold set twice: {listed(mark.args)}"
    strange = mark.kwargs.keys() - {"subjects"}
    if strange:
        return f"@pytest.mark.goldset takes no {listed(sorted(strange))}; {usage}"
    subjects = mark.kwargs.get("subjects")
    some = isinstance(subjects, list | tuple) and bool(subjects)
    if subjects is not None and not (some and all(isinstance(name, str) for name in subjects)):
        return f"@pytest.mark.goldset: subjects is {subjects!r}, a list of names is needed; {usage}"
    return ""


def kinds_of(node: pytest.Item) -> list[MeasureKind]:
    """Return the project's own measures that hold for a test."""
    return [kind for kinds in node.ihook.pytest_retrieval_measures() for kind in kinds or ()]


def fail(text: str) -> NoReturn:
    """Fail the test that runs with a text that says everything: no traceback, and no exception before it."""
    __tracebackhide__ = True
    raise pytest.fail.Exception(text, pytrace=False) from None


def skip(text: str) -> NoReturn:
    """Skip the test that runs; the report names the place of that test, and not a line of ours."""
    raise pytest.skip.Exception(text, _use_item_location=True)
