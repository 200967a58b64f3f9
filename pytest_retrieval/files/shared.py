"""Runs shared between the processes of one session: retrieved by one, read by the rest.

The first process to ask retrieves under a lock; the others wait and read its file. A failure is shared like a
result, so that a retriever that raises is called once, not once per process.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_retrieval.errors import RetrieverError, Unavailable
from pytest_retrieval.files.writing import replace_file
from pytest_retrieval.model.run import Run

__all__ = ["done_once", "first_to_tell", "shared_run"]

_FAILURES = {"error": RetrieverError, "unavailable": Unavailable}


def shared_run(folder: Path, key: tuple[str, ...], retrieve: Callable[[], Run]) -> Run:
    """Return the run of a key, retrieving it in the first process that asks.

    Parameters
    ----------
    folder
        A folder of this session alone.
    key
        What identifies the run within the session.
    retrieve
        Called in one process only.

    Raises
    ------
    RetrieverError, Unavailable
        Raised by `retrieve`, here or in the process that called it.
    """
    from filelock import FileLock

    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]
    path = folder / f"{name}.json"
    with FileLock(str(folder / f"{name}.lock")):
        if not path.exists():
            replace_file(path, json.dumps(_outcome(retrieve)))
    outcome = json.loads(path.read_text(encoding="utf-8"))
    for kind, error in _FAILURES.items():
        if kind in outcome:
            raise error(outcome[kind])
    return _run(outcome["run"])


def done_once(folder: Path, key: tuple[str, ...], work: Callable[[], object]) -> None:
    """Do something in one process of this session only; the others wait until it is done.

    Where it raises, the next process that asks does it again.
    """
    from filelock import FileLock

    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]
    path = folder / f"{name}.done"
    with FileLock(str(folder / f"{name}.lock")):
        if not path.exists():
            work()
            path.touch()


def first_to_tell(folder: Path, cause: str, teller: str) -> str:
    """Return which test of this session, in whichever process, was the first to tell a cause."""
    path = folder / f"{hashlib.sha256(cause.encode()).hexdigest()[:32]}.told"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(teller)
    except FileExistsError:
        return path.read_text(encoding="utf-8") or teller
    return teller


def _outcome(retrieve: Callable[[], Run]) -> dict[str, Any]:
    try:
        return {"run": _plain(retrieve())}
    except Unavailable as unavailable:
        return {"unavailable": unavailable.reason}
    except RetrieverError as error:
        return {"error": str(error)}


def _plain(run: Run) -> dict[str, Any]:
    """Return a run as JSON can hold it; scores keep every digit, NaN becomes null."""
    return {
        "name": run.name,
        "rankings": {
            query_id: [
                [doc_id, None if math.isnan(score) else repr(score)] for doc_id, score in run.scored(query_id)
            ]
            for query_id in run
        },
        "queries": dict(run.queries),
        "latency": dict(run.latency),
        "stages": [_plain(stage) for stage in run.stages.values()],
    }


def _run(plain: dict[str, Any]) -> Run:
    rankings: dict[str, Any] = {
        query_id: [(doc_id, None if score is None else float(score)) for doc_id, score in ranking]
        for query_id, ranking in plain["rankings"].items()
    }
    stages = {stage["name"]: _run(stage) for stage in plain["stages"]}
    return Run(rankings, plain["name"], stages=stages, queries=plain["queries"], latency=plain["latency"])
