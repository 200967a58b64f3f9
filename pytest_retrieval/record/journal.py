"""The journal: every reply is on disk before anything else happens to it, and is never paid for twice."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from pytest_retrieval.errors import RecordingError
from pytest_retrieval.record.reading import json_line

__all__ = ["Journal"]


@final
class Journal:
    """Raw replies by the digest of their request, one JSON line each, in the order in which they came.

    Parameters
    ----------
    path
        The file; made when the first reply is kept. A last line that was cut off by a crash is dropped.

    Raises
    ------
    RecordingError
        A line in the middle of the file is no reply.

    Attributes
    ----------
    added
        How many replies were kept since the file was read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._replies: dict[str, dict[str, Any]] = {}
        self.added = 0
        if path.is_file():
            self._read()

    def get(self, request: Mapping[str, Any], repeat: int = 0) -> dict[str, Any] | None:
        """Return the reply to a request, or None where it was never received.

        `repeat` tells apart requests that are the same and are to be asked more than once.
        """
        return self._replies.get(_key(request, repeat))

    def put(self, request: Mapping[str, Any], reply: Mapping[str, Any], repeat: int = 0) -> None:
        """Keep a reply: when this returns it is on disk."""
        key = _key(request, repeat)
        line = json_line({"key": key, "reply": reply})
        with self._lock:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(line.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            self._replies[key] = dict(reply)
            self.added += 1

    def _read(self) -> None:
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        for number, line in enumerate(data[:whole].splitlines(), start=1):
            try:
                entry = json.loads(line)  # not as files are read: a reply is kept as it came, NaN and all
                self._replies[entry["key"]] = entry["reply"]
            except (ValueError, KeyError, TypeError):
                raise RecordingError(
                    f"{self.path}:{number}: is no recorded reply; take the file back, or delete the line to"
                    " have the model asked again"
                ) from None
        if whole < len(data):
            with self.path.open("r+b") as file:
                file.truncate(whole)


def _key(request: Mapping[str, Any], repeat: int = 0) -> str:
    text = json.dumps(request, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    if repeat:
        text += f"\nrepeat {repeat}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
