"""What a test becomes: its gold set as a parameter, and one item per cell of a gate test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_retrieval.errors import RetrievalError
from pytest_retrieval.gate.cells import slug
from pytest_retrieval.plugin import fixtures
from pytest_retrieval.plugin.items import Choice, GateItem, kinds_of

if TYPE_CHECKING:
    from pytest_retrieval.plugin.session import Session

__all__ = ["generate", "grouped"]


def generate(metafunc: pytest.Metafunc, session: Session) -> None:
    """Give a test its gold set, and a gate test one item per cell."""
    gated = fixtures.is_ours(metafunc, "gate")
    if not fixtures.is_ours(metafunc, "goldset"):
        if gated:
            _override(metafunc)
        return
    choice = session.chosen(metafunc.definition.get_closest_marker("goldset"))
    if choice.problem:
        metafunc.parametrize("goldset", [choice], indirect=True, scope="session", ids=[pytest.HIDDEN_PARAM])
        if gated:
            item = GateItem("", problem=choice.problem)
            metafunc.parametrize("gate", [item], indirect=True, ids=[pytest.HIDDEN_PARAM])
        return
    chosen = [session.choice_of(name) for name in choice.names]
    if not gated:
        ids = [pytest.HIDDEN_PARAM] if len(chosen) == 1 else [slug(name) for name in choice.names]
        metafunc.parametrize("goldset", chosen, indirect=True, scope="session", ids=ids)
        return
    items = {name: _items(metafunc, session, name, choice.subjects) for name in choice.names}
    if len(chosen) == 1:
        of_goldset = items[choice.names[0]]
        metafunc.parametrize("goldset", chosen, indirect=True, scope="session", ids=[pytest.HIDDEN_PARAM])
        metafunc.parametrize("gate", of_goldset, indirect=True, ids=[item.id for item in of_goldset])
        return
    pairs = [(one, item) for one in chosen for item in items[one.names[0]]]
    ids = [item.id for _, item in pairs]
    metafunc.parametrize(("goldset", "gate"), pairs, indirect=True, scope="session", ids=ids)


def grouped(items: list[pytest.Item]) -> None:
    """Sort the tests that use gold sets by gold set, first come first, within their own places."""
    places = [place for place, item in enumerate(items) if _goldset_of(item)]
    first: dict[str, int] = {}
    for place in places:
        first.setdefault(_goldset_of(items[place]), place)
    chosen = sorted((items[place] for place in places), key=lambda item: first[_goldset_of(item)])
    for place, item in zip(places, chosen, strict=True):
        items[place] = item


def _goldset_of(item: pytest.Item) -> str:
    """Return the gold set that an item was given; empty for a test that uses none."""
    callspec = getattr(item, "callspec", None)
    choice = callspec.params.get("goldset") if callspec is not None else None
    return choice.names[0] if isinstance(choice, Choice) and choice.names else ""


def _items(
    metafunc: pytest.Metafunc, session: Session, name: str, subjects: Sequence[str] | None
) -> list[GateItem]:
    """Return the gold set's own item and one per cell; only the first where the gold set cannot be used."""
    missing = session.choice_of(name)
    if missing.problem:
        return [GateItem(name, problem=missing.problem)]
    try:
        cells = session.cells(name, kinds_of(metafunc.definition), subjects)
    except RetrievalError as error:
        return [GateItem(name, problem=str(error))]
    return [GateItem(name, cells=cells), *(GateItem(name, cell) for cell in cells)]


def _override(metafunc: pytest.Metafunc) -> None:
    """Make a gate test fail whose project has a fixture named `goldset` in the way."""
    place = fixtures.place_of(metafunc, "goldset")
    item = GateItem(
        "",
        problem=f"the fixture `goldset` at {place} stands in the way of `gate`: choose the gold set with"
        " @pytest.mark.goldset(name), and rename that fixture",
    )
    metafunc.parametrize("gate", [item], indirect=True, ids=[pytest.HIDDEN_PARAM])
