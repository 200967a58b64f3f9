"""One event loop for the whole session, in a thread of its own.

A loop of ours works inside async tests, where a second `asyncio.run` would fail, and clients that bind to
the loop they were made on stay usable from the first query to the last.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    import asyncio

__all__ = ["Loop"]


@final
class Loop:
    """Runs awaitables one by one; started on first use."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def wait(self, awaitable: Awaitable[Any]) -> Any:
        """Run an awaitable to its end and return its result."""
        import asyncio

        async def whole() -> tuple[Any, SystemExit | None]:
            try:
                return await awaitable, None
            except SystemExit as left:  # asyncio would end the loop with it, and nobody would be told
                return None, left

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._loop.run_forever, name="pytest-retrieval", daemon=True
            )
            self._thread.start()
        value, left = asyncio.run_coroutine_threadsafe(whole(), self._loop).result()
        if left is not None:
            raise left
        return value

    def close(self) -> None:
        """End what still runs on the loop, as `asyncio.run` does, and stop it, if it was started."""
        if self._loop is None or self._thread is None:
            return
        import asyncio

        async def end(loop: asyncio.AbstractEventLoop) -> None:
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await loop.shutdown_asyncgens()
            await loop.shutdown_default_executor()

        asyncio.run_coroutine_threadsafe(end(self._loop), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None
