"""The commands ``pytest-retrieval record answers`` and ``record agent``."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pytest_retrieval.errors import InputError, RetrievalError, counted

if TYPE_CHECKING:
    from pytest_retrieval.model.goldset import GoldSet
    from pytest_retrieval.model.records import Recording
    from pytest_retrieval.model.run import Run
    from pytest_retrieval.record.recorder import Recorder

__all__ = ["record"]

_Command = TypeVar("_Command", bound=Callable[..., Any])

RANDOM = "random"


@click.group()
def record() -> None:
    """Record what a model answers, or what an agent does, over a gold set.

    Every reply is on disk before it is used; run the same command again to go on after an interruption.
    """


def _shared(command: _Command) -> _Command:
    """Add the options that both commands have."""
    options = [
        click.argument("goldset", type=click.Path(exists=True, path_type=Path)),
        click.option("--into", required=True, type=click.Path(path_type=Path), help="Its folder."),
        click.option("--url", required=True, help="An OpenAI-compatible server, up to and with /v1."),
        click.option("--model", required=True, help="The model's name, as the server knows it."),
        click.option("--key-env", metavar="NAME", help="Environment variable that holds the API key."),
        click.option("--digest", default="", help="Digest of the model, for the manifest."),
        click.option("--licence", default="", help="The model's licence, for the manifest."),
        click.option(
            "--instructions",
            type=click.File(encoding="utf-8"),
            help="File with what the model is told, in place of ours.",
        ),
        click.option("--field", "fields", multiple=True, help="Catalog column that the model reads."),
        click.option("--split", "splits", multiple=True, help="Only questions of this split."),
        click.option("--k", default=5, show_default=True, type=click.IntRange(1), help="Documents shown."),
        click.option(
            "--option",
            "options",
            multiple=True,
            metavar="NAME=VALUE",
            help="Option of the request, such as max_tokens=400.",
        ),
        click.option(
            "--at-once", default=4, show_default=True, type=click.IntRange(1), help="Requests at a time."
        ),
        click.option("--rewrite", is_flag=True, help="Ask everything anew."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@record.command()
@_shared
@click.option(
    "--context",
    "contexts",
    multiple=True,
    default=("bm25", RANDOM),
    show_default=True,
    metavar="NAME[=SOURCE]",
    help="bm25, random, NAME=run.trec, or NAME=module:function that makes a retriever of a catalog.",
)
@click.option(
    "--allowed", default=3, show_default=True, type=click.IntRange(1), help="Documents an answer may cite."
)
@click.option("--seed", default=0, show_default=True, help="Of the random contexts.")
@click.option(
    "--repeats", default=1, show_default=True, type=click.IntRange(1), help="Replies to each question."
)
def answers(
    contexts: tuple[str, ...],
    allowed: int,
    seed: int,
    repeats: int,
    k: int,
    splits: tuple[str, ...],
    **of: Any,
) -> None:
    """Record an answer to every question of gold set GOLDSET under every kind of context."""

    def recorded(recorder: Recorder, goldset: GoldSet, queries: list[str]) -> Recording:
        runs = {}
        for given in contexts:
            name, _, source = given.partition("=")
            runs[name] = _run(goldset, name, source, k, seed, queries)
        return recorder.answers(runs, k=k, queries=queries, allowed=allowed, repeats=repeats)

    _record(recorded, splits, **of)


@record.command()
@_shared
@click.option(
    "--tool",
    "tools",
    multiple=True,
    default=("bm25",),
    show_default=True,
    metavar="NAME[=SOURCE]",
    help="Retriever behind the search tool: bm25, or NAME=module:function that makes one of a catalog.",
)
@click.option(
    "--searches", default=3, show_default=True, type=click.IntRange(1), help="Searches an agent may make."
)
@click.option(
    "--picks", default=3, show_default=True, type=click.IntRange(1), help="Documents it is to pick."
)
@click.option(
    "--mode",
    default="tools",
    show_default=True,
    type=click.Choice(["tools", "json"]),
    help="The server's tool calls, or decisions of a schema for models without them.",
)
def agent(
    tools: tuple[str, ...],
    searches: int,
    picks: int,
    mode: str,
    k: int,
    splits: tuple[str, ...],
    **of: Any,
) -> None:
    """Record an agent with one search tool on every question of gold set GOLDSET."""

    def recorded(recorder: Recorder, goldset: GoldSet, queries: list[str]) -> Recording:
        retrievers = {}
        for given in tools:
            name, _, source = given.partition("=")
            retrievers[name] = _retriever(goldset, name, source)
        return recorder.agent(retrievers, k=k, searches=searches, picks=picks, mode=mode, queries=queries)

    _record(recorded, splits, **of)


def _record(
    work: Callable[[Recorder, GoldSet, list[str]], Recording],
    splits: tuple[str, ...],
    *,
    goldset: Path,
    into: Path,
    url: str,
    model: str,
    key_env: str | None,
    digest: str,
    licence: str,
    instructions: Any,
    fields: tuple[str, ...],
    options: tuple[str, ...],
    at_once: int,
    rewrite: bool,
) -> None:
    from pytest_retrieval.files.goldset import load_goldset
    from pytest_retrieval.record.recorder import DEFAULT_OPTIONS, Recorder

    key = None
    if key_env is not None:
        key = os.environ.get(key_env)
        if not key:
            raise click.UsageError(f"--key-env {key_env}: the environment has no such variable")
    try:
        asked = load_goldset(goldset)
        recorder = Recorder(
            into,
            asked,
            url=url,
            model=model,
            key=key,
            digest=digest,
            licence=licence,
            instructions=instructions.read() if instructions else None,
            fields=fields or None,
            options={**DEFAULT_OPTIONS, **_options(options)},
            at_once=at_once,
            rewrite=rewrite,
        )
        done = work(recorder, asked, _queries(asked, splits))
    except RetrievalError as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        click.echo("stopped; what was received is kept: the same command goes on from there", err=True)
        sys.exit(130)
    click.echo(f"{done!r}\nwrote {into}")
    for warning in _unusable(done):
        click.echo(warning, err=True)


def _unusable(recording: Recording) -> list[str]:
    """Return what is said of replies that cannot be used: they score as if nothing was cited or picked."""
    answers = [answer for answer in recording.answers if answer.error]
    if answers:
        count = f"{len(answers)} of {counted(len(recording.answers), 'reply', 'replies')}"
        first = answers[0]
        return [
            f"warning: {count} cannot be used and cite nothing: first {first.query_id}, {first.context}:"
            f" {first.error}"
        ]
    traces = [trace for trace in recording.traces if trace.outcome == "failed"]
    if not traces:
        return []
    failed = f"{len(traces)} of {counted(len(recording.traces), 'task', 'tasks')}"
    last = shorten(traces[0].message, 80, placeholder=" …")
    return [
        f"warning: {failed} failed, with a last reply that picks nothing: first {traces[0].query_id},"
        f" {traces[0].context}: {last!r}"
    ]


def _queries(goldset: GoldSet, splits: tuple[str, ...]) -> list[str]:
    of = goldset.qrels.splits or {}
    unknown = [split for split in splits if split not in of.values()]
    if unknown:
        there = ", ".join(sorted(set(of.values()))) or "none"
        raise click.UsageError(f"--split {unknown[0]}: splits are {there}")
    return [query_id for query_id in goldset.qrels.query_ids if not splits or of.get(query_id) in splits]


def _run(goldset: GoldSet, name: str, source: str, k: int, seed: int, queries: list[str]) -> Run:
    from pytest_retrieval.files.trec import load_run
    from pytest_retrieval.record.contexts import random_contexts
    from pytest_retrieval.record.recorder import wait_for
    from pytest_retrieval.retrievers.calling import retrieve

    if not source and name == RANDOM:
        return random_contexts(goldset, k, seed)
    if source and ":" not in source:
        return load_run(source, name).select(queries)
    retriever = _retriever(goldset, name, source)
    texts = {query_id: goldset.text_of(query_id) for query_id in queries}
    return retrieve(retriever, texts, k, name=name, run_async=wait_for)


def _retriever(goldset: GoldSet, name: str, source: str) -> object:
    from pytest_retrieval.retrievers.lexical import BM25

    if goldset.catalog is None:
        raise InputError(f"gold set {goldset.name!r} has no catalog, so there is nothing to search")
    if not source and name == "bm25":
        return BM25(goldset.catalog)
    module, sign, attribute = source.partition(":")
    if not sign or not module or not attribute:
        raise click.UsageError(f"{name}={source}: write {name}=module:function, or bm25")
    sys.path.insert(0, os.getcwd())
    try:
        make = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise click.UsageError(f"{name}={source}: {error}") from error
    return make(goldset.catalog)


def _options(given: tuple[str, ...]) -> Mapping[str, Any]:
    import json

    found = {}
    for option in given:
        name, sign, value = option.partition("=")
        if not sign or not name:
            raise click.UsageError(f"--option {option}: write NAME=VALUE")
        try:
            found[name] = json.loads(value)
        except json.JSONDecodeError:
            found[name] = value
    return found
