"""Telling an exception of the project's code: in one line, with the places there that led to it."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

__all__ = ["told"]

_PLACES = 3
_PACKAGE = str(Path(__file__).parents[1])
_FOREIGN = ("site-packages", "dist-packages")


def told(error: BaseException) -> str:
    """Return an exception's type and text, and where in the project's own code it came from.

    An exception that no line of the project's has a part in is told with the innermost places there are.
    """
    frames = traceback.extract_tb(error.__traceback__)
    shown = [frame for frame in frames if not _is_foreign(frame.filename)] or [
        frame for frame in frames if not frame.filename.startswith(_PACKAGE)
    ]
    places = " ← ".join(
        f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in reversed(shown[-_PLACES:])
    )
    text = f"{type(error).__name__}: {_text_of(error)}"
    return f"{text}\n  at {places}" if places else text


def _text_of(error: BaseException) -> str:
    """Return what an exception says; the code that makes its text is the project's too, and may fail."""
    try:
        return str(error)
    except Exception as fault:
        return f"(its text cannot be had: __str__ raised {type(fault).__name__})"


def _is_foreign(file: str) -> bool:
    """Return whether a file is ours, the standard library's or an installed package's."""
    libraries = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    roots = (_PACKAGE, "<frozen", *(path for path in libraries if path))
    return file.startswith(roots) or any(part in _FOREIGN for part in Path(file).parts)
