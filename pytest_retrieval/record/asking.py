"""Asking many questions at once: bounded, resumable, and stopped without losing what was received."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from pytest_retrieval.record.client import ChatClient
from pytest_retrieval.record.journal import Journal

__all__ = ["ask_once", "each"]

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


def ask_once(
    client: ChatClient, journal: Journal, request: Mapping[str, Any], repeat: int = 0
) -> dict[str, Any]:
    """Return the reply to a request: the journal's, or the server's, which the journal then keeps."""
    reply = journal.get(request, repeat)
    if reply is None:
        reply = client.ask(request)
        journal.put(request, reply, repeat)
    return reply


def each(
    tasks: Sequence[_Task],
    work: Callable[[_Task], _Result],
    *,
    at_once: int,
    on_done: Callable[[], object],
    on_stop: Callable[[int], object] = lambda running: None,
) -> list[_Result]:
    """Return the result of every task, in the order of the tasks.

    At the first error, or when the user interrupts, no further task is begun; those that run are waited for,
    for their replies were asked for already; `on_stop` is told how many those are when the user interrupts.

    Raises
    ------
    Exception
        Whatever the first task to fail raised.
    """
    results: dict[int, _Result] = {}
    pool = ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="recording")
    running: dict[Future[_Result], int] = {}
    todo = iter(enumerate(tasks))
    try:
        for number, task in todo:
            running[pool.submit(work, task)] = number
            if len(running) >= at_once:
                _collect(running, results, on_done)
        while running:
            _collect(running, results, on_done)
    except KeyboardInterrupt:
        on_stop(len(running))
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return [results[number] for number in range(len(tasks))]


def _collect(
    running: dict[Future[_Result], int], results: dict[int, _Result], on_done: Callable[[], object]
) -> None:
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in sorted(done, key=running.__getitem__):
        results[running.pop(future)] = future.result()
        on_done()
