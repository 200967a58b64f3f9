"""Writing a whole file or nothing: beside its target first, then moved over it."""

from __future__ import annotations

import gzip
import os
import tempfile
from pathlib import Path

__all__ = ["replace_file"]


def replace_file(path: str | os.PathLike[str], text: str | bytes) -> None:
    """Write a file whole, text in UTF-8 with LF ends; gzipped where the name ends in ``.gz``.

    A reader sees the old file or the new one, never half of it. The folder is made if it is not there.

    Parameters
    ----------
    path
        The file to write or replace.
    text
        All of its content.

    Raises
    ------
    OSError
        The file cannot be written; the old one is untouched.

    Examples
    --------
    >>> folder = tempfile.mkdtemp()
    >>> replace_file(Path(folder, "notes", "a.txt"), "kea")
    >>> Path(folder, "notes", "a.txt").read_text()
    'kea'
    """
    path = Path(path)
    data = text.encode() if isinstance(text, str) else text
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, _mode_of(path))
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _mode_of(path: Path) -> int:
    """Return the mode of the file replaced, or that of a new one: `mkstemp` makes private files."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask
