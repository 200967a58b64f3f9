"""The fixtures: a gold set and its parts, runs, and the gate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pytest_retrieval.errors import RetrievalError
from pytest_retrieval.plugin.checking import GATE, Gate
from pytest_retrieval.plugin.comparing import is_locking
from pytest_retrieval.plugin.items import Choice, fail
from pytest_retrieval.plugin.recorders import Recorders
from pytest_retrieval.plugin.recordings import Recordings
from pytest_retrieval.plugin.running import Runs
from pytest_retrieval.plugin.session import SESSION

if TYPE_CHECKING:
    import pandas as pd

    from pytest_retrieval.model.goldset import GoldSet
    from pytest_retrieval.model.qrels import Qrels

__all__ = ["is_ours", "place_of", "yield_to_project"]

NO_RETRIEVERS = """\
no fixture `retrievers` says what is under test. Define it in conftest.py:

    @pytest.fixture(scope="session")
    def retrievers(catalog):
        return {"bm25": BM25(catalog)}      # name -> callable(query, k)
"""


NO_ITEMS = (
    "`gate` makes one item for each cell, which pytest does only for a fixture that a test function, or a"
    " method of a plain class, takes as an argument: not for a unittest.TestCase, and not by getfixturevalue"
)


def yield_to_project(session: pytest.Session) -> None:
    """Let a fixture that a plugin of the project defines override ours of the same name.

    pytest lets the plugin win that is registered last. Ours are registered when gold sets are found, after
    the project's own plugins; a conftest wins in any case.
    """
    manager: Any = getattr(session, "_fixturemanager", None)
    by_node: dict[str, dict[object, list[Any]]] = getattr(manager, "_arg2node2fixturedefs", {})
    for nodes in by_node.values():  # pytest 9.2: the first definition at a node wins
        nodes.get(session, []).sort(key=_is_defined_here)
    by_name: dict[str, list[Any]] = getattr(manager, "_arg2fixturedefs", {})
    for definitions in by_name.values():  # before: the last definition wins
        definitions.sort(key=lambda definition: not _is_defined_here(definition))


def _is_defined_here(definition: Any) -> bool:
    return str(definition.func.__module__) == __name__


def _chosen_now(request: pytest.FixtureRequest) -> Choice:
    """Return the gold set of a test that pytest could not parametrise: that of a unittest.TestCase."""
    session = request.config.stash[SESSION]
    choice = session.chosen(session.item.get_closest_marker("goldset"))
    if len(choice.names) > 1:
        return Choice(
            problem=f"this test names {len(choice.names)} gold sets, and pytest cannot make an item for each"
            " here: name one"
        )
    return choice


def is_ours(metafunc: pytest.Metafunc, name: str) -> bool:
    """Return whether a test uses this fixture, and uses our definition of it."""
    definitions = metafunc._arg2fixturedefs.get(name)
    return bool(definitions and definitions[-1].func.__module__ == __name__)


def place_of(metafunc: pytest.Metafunc, name: str) -> str:
    """Return where the definition of a fixture that a test uses stands."""
    definition = metafunc._arg2fixturedefs[name][-1]
    code = definition.func.__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


@pytest.fixture(scope="session")
def goldset(request: pytest.FixtureRequest) -> GoldSet:
    """The gold set that the test's marker names, the ini file's default, or the only one there is."""
    choice = getattr(request, "param", None) or _chosen_now(request)
    if choice.problem and choice.skips:
        pytest.skip(choice.problem)
    if choice.problem:
        fail(choice.problem)
    try:
        return request.config.stash[SESSION].goldsets.get(choice.names[0])
    except RetrievalError as error:
        fail(str(error))


@pytest.fixture(scope="session")
def catalog(goldset: GoldSet) -> pd.DataFrame:
    """The gold set's documents, a DataFrame indexed by doc_id."""
    if goldset.catalog is None:
        fail(f"gold set {goldset.name!r} has no catalog file")
    return goldset.catalog.copy()  # a project may change it; the gate keeps its own


@pytest.fixture(scope="session")
def queries(goldset: GoldSet) -> pd.DataFrame:
    """The gold set's queries, a DataFrame indexed by query_id."""
    return goldset.queries.copy()


@pytest.fixture(scope="session")
def qrels(goldset: GoldSet) -> Qrels:
    """The gold set's judgments, with strata, splits and slices."""
    return goldset.qrels


@pytest.fixture(scope="session")
def retrievers() -> Mapping[str, object]:
    """What is under test, name → retriever. A project defines it in its conftest.py."""
    fail(NO_RETRIEVERS)


@pytest.fixture(scope="session")
def runs(request: pytest.FixtureRequest, goldset: GoldSet) -> Runs:
    """Rankings by name, each retrieved on first use and once per session."""
    session = request.config.stash[SESSION]
    return Runs(
        goldset,
        session.retrievals,
        lambda: session.fixture("retrievers"),
        only_named=lambda: is_locking(session.item),
    )


@pytest.fixture(scope="session")
def recordings(request: pytest.FixtureRequest) -> Recordings:
    """Recordings by name, each read on first use and checked against its gold set."""
    return request.config.stash[SESSION].recordings


@pytest.fixture(scope="session")
def recorder(request: pytest.FixtureRequest, goldset: GoldSet) -> Recorders:
    """Reads a recording, or makes it where the command line allows that: `recorder(name, url=…, model=…)`."""
    return Recorders(request.config.stash[SESSION], goldset)


@pytest.fixture
def gate(request: pytest.FixtureRequest, goldset: GoldSet) -> Gate:
    """The gate of the test's gold set: `gate.check()` judges the item's cell."""
    session = request.config.stash[SESSION]
    if not hasattr(request, "param"):
        fail(NO_ITEMS)
    gate = Gate(session, request.param, session.item)
    session.item.stash[GATE] = gate
    return gate
