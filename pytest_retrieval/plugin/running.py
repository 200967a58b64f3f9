"""Runs of a session: asked for by name, retrieved on first use, once per session."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import pytest

from pytest_retrieval.errors import RetrieverError, Unavailable, listed, or_raise
from pytest_retrieval.files.shared import shared_run
from pytest_retrieval.model.goldset import GoldSet
from pytest_retrieval.model.run import Run
from pytest_retrieval.plugin.progress import progress
from pytest_retrieval.plugin.waiting import Loop
from pytest_retrieval.retrievers.calling import retrieve

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Retrievals", "Runs", "Unretrieved"]


@final
class Retrievals:
    """Every ranking that was retrieved in this session, so that each is retrieved once.

    Parameters
    ----------
    config
        Of the session.
    shared
        Folder that the processes of this session share, or None where there is only one.
    """

    def __init__(self, config: pytest.Config, shared: Path | None) -> None:
        self._config = config
        self._shared = shared
        self._loop = Loop()
        self._done: dict[tuple[str, ...], Run | RetrieverError | Unavailable] = {}
        self._places: dict[int, str] = {}

    def note_place(self, retrievers: object, place: str) -> None:
        """Remember which fixture made a set of retrievers."""
        self._places[id(retrievers)] = place

    def run(self, goldset: GoldSet, subject: str, retrievers: Mapping[str, object], repeat: int = 0) -> Run:
        """Return the rankings of one retriever, retrieving them on first use.

        A `repeat` beyond 0 is another retrieval, from a fresh factory where there is one.

        Raises
        ------
        RetrieverError, Unavailable
            As the retriever did when it was called.
        """
        place = self._places.get(id(retrievers), "retrievers")
        key = (goldset.name, subject, place, *([f"repeat {repeat}"] if repeat else []))
        if key not in self._done:
            self._done[key] = self._outcome(goldset, subject, retrievers, key)
        return or_raise(self._done[key])

    def ask(
        self,
        goldset: GoldSet,
        subject: str,
        retrievers: Mapping[str, object],
        queries: Mapping[str, str],
        k: int,
        *,
        purpose: str,
    ) -> Run:
        """Return a retriever's rankings for queries that are not the gold set's, asked once per purpose.

        Raises
        ------
        RetrieverError, Unavailable
            As the retriever did when it was called.
        """
        place = self._places.get(id(retrievers), "retrievers")
        key = (goldset.name, subject, place, purpose, str(k), *sorted(queries))
        if key not in self._done:
            self._done[key] = self._shared_outcome(
                key, lambda: self._retrieved(goldset, subject, retrievers[subject], queries, k)
            )
        return or_raise(self._done[key])

    def returned(self, run: Run) -> bool:
        """Return whether a retriever of this session returned this very run, or will when asked."""
        return isinstance(run, Unretrieved) or any(run is done for done in self._done.values())

    def close(self) -> None:
        """End the event loop of async retrievers."""
        self._loop.close()

    def _outcome(
        self, goldset: GoldSet, subject: str, retrievers: Mapping[str, object], key: tuple[str, ...]
    ) -> Run | RetrieverError | Unavailable:
        def ask() -> Run:
            if subject not in retrievers:
                raise RetrieverError(
                    f"the fixture `retrievers` has no {subject!r}; it has {listed(retrievers) or 'none'}"
                )
            return self._ask(goldset, subject, retrievers[subject])

        return self._shared_outcome(key, ask)

    def _shared_outcome(
        self, key: tuple[str, ...], ask: Callable[[], Run]
    ) -> Run | RetrieverError | Unavailable:
        try:
            return ask() if self._shared is None else shared_run(self._shared, key, ask)
        except (RetrieverError, Unavailable) as error:
            return error

    def _ask(self, goldset: GoldSet, subject: str, retriever: object) -> Run:
        texts = goldset.queries["query"]
        queries = {str(query_id): str(text) for query_id, text in texts.items()}
        return self._retrieved(goldset, subject, retriever, queries, _depth(goldset, subject))

    def _retrieved(
        self, goldset: GoldSet, subject: str, retriever: object, queries: Mapping[str, str], k: int
    ) -> Run:
        with progress(self._config, f"{goldset.name}: {subject}", len(queries)) as step:
            try:
                return retrieve(
                    retriever,
                    queries,
                    k,
                    name=subject,
                    run_async=self._loop.wait,
                    on_query=step,
                    show_text=bool(self._config.getini("retrieval_show_text")),
                    passes=(pytest.exit.Exception,),
                )
            except pytest.skip.Exception as skipped:  # pytest's way to say what `Unavailable` says
                raise Unavailable(str(skipped.msg)) from skipped
            except pytest.fail.Exception as failed:
                raise RetrieverError(f"{subject} failed: {failed.msg}") from failed


def _depth(goldset: GoldSet, subject: str) -> int:
    """Return how many documents to ask for: the gold set's depth, or the largest cutoff beyond it."""
    of_subject = goldset.subjects.get(subject)
    names = of_subject.measures if of_subject else ()
    cutoffs = (int(name.rpartition("@")[2]) for name in names if name.rpartition("@")[2].isdigit())
    return max([goldset.depth, *cutoffs])


@final
class Runs(Mapping[str, Run]):
    """The value of the fixture `runs`: name → rankings, each retrieved when somebody first asks for it.

    It asks for the fixture `retrievers` only when a run is missing, with the request of the test that runs
    now, so that a conftest nearer to the test may bring retrievers of its own.

    Parameters
    ----------
    goldset, retrievals
        Whose queries, and what was retrieved so far.
    retrievers
        Function that returns the value of the fixture `retrievers`.
    only_named
        Function that says whether the test that runs now needs the names of runs and not their rankings.
    """

    def __init__(
        self,
        goldset: GoldSet,
        retrievals: Retrievals,
        retrievers: Callable[[], Mapping[str, object]],
        only_named: Callable[[], bool] = lambda: False,
    ) -> None:
        self._goldset = goldset
        self._retrievals = retrievals
        self._retrievers = retrievers
        self._only_named = only_named

    def __getitem__(self, name: str) -> Run:
        __tracebackhide__ = True
        if not self._only_named():
            return self.again(name, 0)
        self._check_known(name)
        return Unretrieved(name, lambda: self.again(name, 0))

    def again(self, name: str, repeat: int) -> Run:
        """Return another retrieval by the same retriever, the first of all for 0."""
        __tracebackhide__ = True
        check_required(self._goldset, name)
        return self._retrievals.run(self._goldset, name, self._check_known(name), repeat)

    def _check_known(self, name: str) -> Mapping[str, object]:
        __tracebackhide__ = True
        retrievers = self._asked()
        if name not in retrievers:
            raise KeyError(f"no retriever is named {name!r}; there are {listed(retrievers) or 'none'}")
        return retrievers

    def __iter__(self) -> Iterator[str]:
        return iter(self._asked())

    def __len__(self) -> int:
        return len(self._asked())

    def __contains__(self, name: object) -> bool:
        return name in self._asked()

    def _asked(self) -> Mapping[str, object]:
        """Return what the fixture `retrievers` returned, if that is a mapping."""
        retrievers = self._retrievers()
        if isinstance(retrievers, Mapping):
            return retrievers
        raise RetrieverError(
            f"the fixture `retrievers` returned {type(retrievers).__name__}; a mapping name → retriever is"
            ' needed: {"bm25": BM25(catalog)}'
        )


class Unretrieved(Run):  # type: ignore[misc]  # final for everybody else
    """A run known by its name, whose rankings are retrieved when somebody first looks into it.

    Locking a plan has to know what a test compares, and nothing of how well it does.
    """

    __slots__ = ("_retrieve",)

    def __init__(self, name: str, retrieve: Callable[[], Run]) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "_retrieve", retrieve)

    def __getattr__(self, attribute: str) -> Any:
        """Retrieve: every attribute of a run but its name is missing until then."""
        if attribute not in Run.__slots__:  # type: ignore[attr-defined]
            raise AttributeError(f"a Run has no {attribute!r}")
        run = self._retrieve()
        for name in Run.__slots__:  # type: ignore[attr-defined]
            object.__setattr__(self, name, getattr(run, name))
        return getattr(self, attribute)


def check_required(goldset: GoldSet, name: str) -> None:
    """Raise Unavailable where a subject requires a package that is not installed, before it is made."""
    lacking = lacking_of(goldset, name)
    if lacking:
        raise Unavailable(f"{name} requires {listed(lacking)}, not installed here")


def lacking_of(goldset: GoldSet, name: str) -> list[str]:
    """Return the packages that a subject requires and that are not installed."""
    subject = goldset.subjects.get(name)
    return [] if subject is None else [package for package in subject.requires if not _installed(package)]


def _installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def as_run(value: Any, name: str) -> Run:
    """Return what a project's own fixture `runs` holds as a run.

    Raises
    ------
    RetrieverError
        It is none.
    """
    if isinstance(value, Run):
        return value
    raise RetrieverError(
        f"the fixture `runs` holds {type(value).__name__} as {name!r}; a Run is needed:"
        " Run({query_id: [doc_id]}) or load_run(path)"
    )
