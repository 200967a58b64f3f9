"""Keeping a recording: its folder is locked, each reply is in the journal, its files are written whole."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from pytest_retrieval.errors import FileError, InputError, RecordingError, counted
from pytest_retrieval.files.manifest import MANIFEST, read_manifest
from pytest_retrieval.files.recording import FILES
from pytest_retrieval.files.writing import replace_files
from pytest_retrieval.record.asking import each
from pytest_retrieval.record.journal import Journal
from pytest_retrieval.record.reading import json_line

__all__ = ["keep"]

_Task = TypeVar("_Task")

JOURNAL = Path("raw", "replies.jsonl")
NEW_JOURNAL = JOURNAL.with_name("replies.new.jsonl")
LOCK = JOURNAL.with_name(".lock")


def keep(
    folder: Path,
    kind: str,
    tasks: Sequence[_Task],
    work: Callable[[_Task, Journal], dict[str, Any]],
    manifest: Callable[[date | str], Mapping[str, Any]],
    *,
    at_once: int,
    rewrite: bool,
    progress: bool,
) -> None:
    """Do every task and write the recording once all are done.

    Parameters
    ----------
    folder
        Of the recording.
    kind
        What it records.
    tasks
        What is to be asked, in the order of the lines.
    work
        Function from a task and the journal to its line.
    manifest
        Function from the date to the manifest.
    at_once
        Tasks that run at the same time.
    rewrite
        Whether to ask everything anew; the old replies stand until the new ones are whole.
    progress
        Whether to show a bar on a terminal.

    Raises
    ------
    InputError
        There is no task.
    RecordingError
        Another process records here, the folder holds a recording of another kind, or whatever the first task
        to fail raised.
    """
    from filelock import FileLock, Timeout

    if not tasks:
        raise InputError("there is nothing to record: no question, or no context")
    there = _stated(folder, "kind", kind)
    if there != kind:
        raise RecordingError(
            f"{folder} holds a recording of the kind {there}, which one of the kind {kind} would replace;"
            " record it into a folder of its own"
        )
    journal_path = folder / (NEW_JOURNAL if rewrite else JOURNAL)
    journal_path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(str(folder / LOCK), timeout=0):
            journal = Journal(journal_path)
            with _bar(folder.name, len(tasks), progress) as step:
                lines = each(
                    tasks,
                    lambda one: work(one, journal),
                    at_once=at_once,
                    on_done=step,
                    on_stop=_stopping if progress else lambda running: None,
                )
            if rewrite:
                journal_path.replace(folder / JOURNAL)
            stated = manifest(date.today() if journal.added else _stated(folder, "recorded", date.today()))
            text = "".join(json_line(line) + "\n" for line in lines)
            replace_files({folder / FILES[kind]: text, folder / MANIFEST: _toml(stated)})
    except Timeout:
        raise RecordingError(f"another recorder is at work in {folder}; wait for it, or stop it") from None
    (folder / LOCK).unlink(missing_ok=True)


def _stated(folder: Path, key: str, otherwise: Any) -> Any:
    """Return what the manifest of a recording says that is there already."""
    try:
        return read_manifest(folder).get(key, otherwise)
    except FileError:
        return otherwise


def _toml(manifest: Mapping[str, Any]) -> str:
    import tomlkit

    return tomlkit.dumps(manifest)


def _stopping(running: int) -> None:
    if running:
        print(
            f"stopping; {counted(running, 'reply is', 'replies are')} waited for,"
            " because they were asked for already",
            file=sys.stderr,
            flush=True,
        )


@contextlib.contextmanager
def _bar(name: str, total: int, progress: bool) -> Iterator[Callable[[], object]]:
    if not (progress and sys.stderr.isatty()):
        yield lambda: None
        return
    from tqdm import tqdm

    with tqdm(total=total, desc=name, unit="reply") as bar:
        yield lambda: bar.update(1)
