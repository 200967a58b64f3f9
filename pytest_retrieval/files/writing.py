"""Writing a whole file or nothing: beside its target first, then moved over it."""

from __future__ import annotations

import errno
import gzip
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["replace_file", "replace_files"]


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
    replace_files({Path(path): text})


def replace_files(texts: Mapping[Path, str | bytes]) -> None:
    """Write files whole: each beside its target first, and none in its place before all are there.

    A symbolic link stays one, and the file that it points to is replaced.

    Parameters
    ----------
    texts
        File → all of its content.

    Raises
    ------
    OSError
        One cannot be written; where that shows before the first was replaced, the old ones are untouched.
    """
    beside: dict[Path, str] = {}
    try:
        for path, text in texts.items():
            target = Path(os.path.realpath(path))
            data = text.encode() if isinstance(text, str) else text
            if path.suffix == ".gz":
                data = gzip.compress(data, mtime=0)
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
            handle, beside[target] = _temporary(target)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(beside[target], _mode_of(target))
        for target, temporary in beside.items():
            os.replace(temporary, target)
    except BaseException:
        for temporary in beside.values():
            Path(temporary).unlink(missing_ok=True)
        raise


def _temporary(target: Path) -> tuple[int, str]:
    """Return an open new file beside a target; a failure names the target, the only file anybody knows."""
    try:
        return tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    except OSError as error:
        error.filename = str(target)
        raise


def _mode_of(path: Path) -> int:
    """Return the mode of the file replaced, or that of a new one: `mkstemp` makes private files."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask
