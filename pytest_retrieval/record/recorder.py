"""The recorder: asks a model what a gold set asks, and leaves a recording that needs the model no more."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, final

from pytest_retrieval.errors import InputError, listed
from pytest_retrieval.files.recording import line_of_answer, line_of_trace, load_recording
from pytest_retrieval.model.goldset import GoldSet
from pytest_retrieval.model.records import AGENT, ANSWERS, Recording
from pytest_retrieval.model.run import Run
from pytest_retrieval.record.agent import MODES, Agent
from pytest_retrieval.record.answers import Question, answer_of, request_of
from pytest_retrieval.record.asking import ask_once
from pytest_retrieval.record.client import ChatClient
from pytest_retrieval.record.contexts import check_contexts, check_known
from pytest_retrieval.record.keeping import keep
from pytest_retrieval.record.prompts import (
    AGENT_INSTRUCTIONS,
    ANSWER_INSTRUCTIONS,
    answer_schema,
    decision_schema,
    pick_schema,
    search_schema,
    search_tool,
    shown,
)
from pytest_retrieval.retrievers.calling import retrieve

if TYPE_CHECKING:
    from pytest_retrieval.model.records import Trace
    from pytest_retrieval.record.journal import Journal

__all__ = ["Recorder"]

_Task = TypeVar("_Task")

DEFAULT_OPTIONS: Mapping[str, Any] = {"temperature": 0, "seed": 0, "max_tokens": 400}


@final
class Recorder:
    """Records answers or an agent over a gold set, from any OpenAI-compatible server.

    Every reply is on disk, in ``raw/replies.jsonl``, before it is used. Interrupted, however roughly, the
    next run goes on where this one stopped and asks nothing twice. Keys, headers and the server's address
    are not kept.

    Parameters
    ----------
    folder
        Where the recording goes; its name is the recording's.
    goldset
        What is asked.
    url
        The server's address, up to and with ``/v1``.
    model
        Name of the model, as the server knows it and as the manifest states it.
    key
        API key, if the server asks for one.
    digest, licence, provenance
        Of the model and the recording, for the manifest.
    instructions
        What the model is told; ``{allowed}``, ``{searches}`` and ``{picks}`` are filled in. None for ours.
    examples
        Messages ``{"role": …, "content": …}`` that stand between instructions and question.
    fields
        Catalog columns that the model reads, in this order; None for all.
    show
        Function ``show(doc_id, item) -> str`` in place of ours; it must name the id.
    options
        Options of the request, such as temperature, seed and max_tokens.
    stated
        Options that requests do not carry and the manifest should tell, such as the server's context window.
    at_once
        Requests that run at the same time.
    retries, timeout
        Of each request; see `ChatClient`.
    rewrite
        Whether to ask everything anew. The old recording stands until the new one is whole.
    progress
        Whether to show a bar on a terminal.

    Raises
    ------
    InputError
        The gold set has no catalog, or a value is not allowed.
    MissingExtraError
        The extra ``record`` is not installed.
    """

    def __init__(
        self,
        folder: str | Path,
        goldset: GoldSet,
        *,
        url: str,
        model: str,
        key: str | None = None,
        digest: str = "",
        licence: str = "",
        provenance: str = "",
        instructions: str | None = None,
        examples: Sequence[Mapping[str, str]] = (),
        fields: Sequence[str] | None = None,
        show: Callable[[str, Mapping[str, Any]], str] | None = None,
        options: Mapping[str, Any] | None = None,
        stated: Mapping[str, Any] | None = None,
        at_once: int = 4,
        retries: int = 5,
        timeout: float = 300.0,
        rewrite: bool = False,
        progress: bool = True,
    ) -> None:
        if goldset.catalog is None:
            raise InputError(f"gold set {goldset.name!r} has no catalog, so there is nothing to show a model")
        unknown = [field for field in fields or () if field not in goldset.catalog]
        if unknown:
            raise InputError(
                f"the catalog has no column {listed(map(repr, unknown))}; it has {listed(goldset.catalog)}"
            )
        _check_counts(at_once=at_once)
        given = dict(DEFAULT_OPTIONS if options is None else options)
        _check_options(given)
        self._folder = Path(folder)
        self._goldset = goldset
        self._client = ChatClient(url, key=key, retries=retries, timeout=timeout)
        self._model = model
        self._facts = {"digest": digest, "licence": licence, "provenance": provenance}
        self._instructions = instructions
        self._examples = [dict(example) for example in examples]
        self._fields = list(fields) if fields is not None else [str(name) for name in goldset.catalog]
        self._show = show or shown
        self._stated = dict(stated or {})
        self._options = given
        self._at_once = at_once
        self._rewrite = rewrite
        self._progress = progress

    def answers(
        self,
        contexts: Mapping[str, Run],
        *,
        k: int = 5,
        made_by: Mapping[str, str] | None = None,
        queries: Iterable[str] | None = None,
        allowed: int = 3,
        repeats: int = 1,
        longest: int = 600,
    ) -> Recording:
        """Record an answer to every question under every kind of context.

        Parameters
        ----------
        contexts
            Name → run whose top k is the context; see also `random_contexts`.
        k
            Documents in a context.
        made_by
            Context → subject that retrieved it, so that sessions can tell when it goes stale. By default each
            context that is not named ``random`` is made by the subject of the same name.
        queries
            query_ids; by default all of the gold set's, of every split.
        allowed
            How many documents an answer may cite.
        repeats
            Replies per question and context; the seed counts up.
        longest
            Characters of an answer's text.

        Returns
        -------
        Recording

        Raises
        ------
        RecordingError
            The server fails; what was received is kept, and the next run goes on from there.
        InputError
            A value is not allowed.
        """
        _check_counts(k=k, allowed=allowed, repeats=repeats, longest=longest)
        asked = self._queries(queries)
        check_contexts(self._goldset, contexts, asked, k)
        made_by = {c: c for c in contexts if c != "random"} if made_by is None else dict(made_by)
        instructions = self._told(ANSWER_INSTRUCTIONS, allowed=allowed)
        schema = answer_schema(allowed, longest)
        questions = [
            Question(query_id, self._goldset.text_of(query_id), context, run.get(query_id, ())[:k], repeat)
            for context, run in contexts.items()
            for query_id in asked
            for repeat in range(repeats)
        ]

        def answer(question: Question, journal: Journal) -> dict[str, Any]:
            request = request_of(
                question,
                model=self._model,
                instructions=instructions,
                examples=self._examples,
                documents=self._documents,
                schema=schema,
                options=self._options,
            )
            # Where a seed tells repeats apart, their requests differ already.
            repeat = 0 if "seed" in request else question.repeat
            reply = ask_once(self._client, journal, request, repeat)
            return line_of_answer(*answer_of(question, reply, schema))

        manifest = {
            "results_shown": k,
            "allowed_citations": allowed,
            "prompts": {"instructions": instructions, "examples": json.dumps(self._examples)},
            "schemas": {"answer": schema},
            "contexts": {c: {"k": k, **({"subject": made_by[c]} if c in made_by else {})} for c in contexts},
        }
        return self._record(ANSWERS, questions, answer, manifest)

    def agent(
        self,
        tools: Mapping[str, object],
        *,
        k: int = 5,
        searches: int = 3,
        picks: int = 3,
        mode: str = "tools",
        queries: Iterable[str] | None = None,
    ) -> Recording:
        """Record an agent with one search tool on every question, once per retriever behind the tool.

        Parameters
        ----------
        tools
            Name → retriever behind the tool; the name is the context, and the subject that made it.
        k
            Documents that a search returns.
        searches
            How often the agent may search.
        picks
            How many documents it is to pick.
        mode
            ``"tools"``: the server's tool calls. ``"json"``: decisions of a schema, for models without them.
        queries
            query_ids; by default all of the gold set's, of every split.

        Returns
        -------
        Recording

        Raises
        ------
        RecordingError, RetrieverError
            The server or a retriever fails; what was received is kept.
        InputError
            A value is not allowed.
        """
        if mode not in MODES:
            raise InputError(f"mode is {mode!r}; allowed are {listed(map(repr, MODES))}")
        _check_counts(k=k, searches=searches, picks=picks)
        asked = self._queries(queries)
        instructions = self._told(AGENT_INSTRUCTIONS, searches=searches, picks=picks)
        tasks = [(context, query_id) for context in tools for query_id in asked]

        def task(of: tuple[str, str], journal: Journal) -> dict[str, Any]:
            context, query_id = of

            def search(text: str) -> tuple[str, ...]:
                found = retrieve(tools[context], {"q": text}, k, name=context, run_async=wait_for)["q"]
                check_known(self._goldset, found, f"what {context!r} returned for {text!r}")
                return found

            agent = Agent(
                ask=lambda request: ask_once(self._client, journal, request),
                search=search,
                show=self._documents,
                model=self._model,
                instructions=instructions,
                options=self._options,
                examples=self._examples,
                mode=mode,
                k=k,
                picks=picks,
                searches=searches,
            )
            trace: Trace = agent.trace(query_id, context, self._goldset.text_of(query_id))
            return line_of_trace(trace)

        tool = search_tool(k)["function"]["description"]
        manifest = {
            "results_shown": k,
            "max_searches": searches,
            "prompts": {
                "instructions": instructions,
                "tool": tool,
                "mode": mode,
                "examples": json.dumps(self._examples),
            },
            "schemas": {
                "first": search_schema(),
                "decision": decision_schema(picks),
                "picks": pick_schema(picks),
            },
            "contexts": {context: {"subject": context, "k": k} for context in tools},
        }
        return self._record(AGENT, tasks, task, manifest)

    def _record(
        self,
        kind: str,
        tasks: Sequence[_Task],
        work: Callable[[_Task, Journal], dict[str, Any]],
        manifest: Mapping[str, Any],
    ) -> Recording:
        keep(
            self._folder,
            kind,
            tasks,
            work,
            lambda recorded: self._manifest(kind, manifest, recorded),
            at_once=self._at_once,
            rewrite=self._rewrite,
            progress=self._progress,
        )
        return load_recording(self._folder, self._goldset)

    def _manifest(self, kind: str, more: Mapping[str, Any], recorded: date | str) -> dict[str, Any]:
        digests = self._goldset.digests
        return {
            "kind": kind,
            "goldset": self._goldset.name,
            "model": self._model,
            **{name: value for name, value in self._facts.items() if value},
            "recorded": recorded,
            **{name: value for name, value in more.items() if not isinstance(value, dict)},
            **{name: value for name, value in more.items() if isinstance(value, dict)},
            "options": {**self._stated, **self._options},
            "digests": {"judgments": digests.judgments, "catalog": digests.catalog},
            "tools": {name: version(name) for name in ("pytest-retrieval", "urllib3")},
        }

    def _documents(self, doc_ids: Sequence[str]) -> str:
        catalog = self._goldset.catalog
        assert catalog is not None, "the constructor refuses a gold set without"
        items = ((doc_id, catalog.loc[doc_id]) for doc_id in doc_ids)
        return "\n\n".join(self._show(doc_id, {f: item[f] for f in self._fields}) for doc_id, item in items)

    def _told(self, ours: str, **numbers: int) -> str:
        text = ours if self._instructions is None else self._instructions
        for name, value in numbers.items():
            text = text.replace(f"{{{name}}}", str(value))
        return text

    def _queries(self, queries: Iterable[str] | None) -> list[str]:
        known = list(self._goldset.qrels.query_ids)
        asked = known if queries is None else list(dict.fromkeys(queries))
        unknown = [query_id for query_id in asked if query_id not in self._goldset.qrels]
        if unknown:
            raise InputError(f"gold set {self._goldset.name!r} has no query {listed(map(repr, unknown))}")
        return asked


def _check_counts(**counts: object) -> None:
    for name, count in counts.items():
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InputError(f"{name} is {count!r}; allowed is a whole number of at least 1")


def _check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that the manifest could not state or that repeats could not count up."""
    import tomlkit

    seed = options.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InputError(f"option seed is {seed!r}; allowed is a whole number")
    for name, value in options.items():
        try:
            json.dumps(value, allow_nan=False)
            tomlkit.item(value)
        except (TypeError, ValueError, tomlkit.exceptions.TOMLKitError):
            raise InputError(
                f"option {name} is {value!r}; allowed is what JSON and TOML both hold: leave it out where it"
                " is None"
            ) from None


def wait_for(awaitable: Any) -> Any:
    """Return the result of what an async retriever returned."""

    async def whole() -> Any:
        return await awaitable

    return asyncio.run(whole())
