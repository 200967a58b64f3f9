"""The bytes and lines of a file: plain or gzipped, UTF-8, with the place of every fault."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path
from typing import NamedTuple

from pytest_retrieval.errors import Problem, counted
from pytest_retrieval.files.encoding import not_text, not_utf_8

__all__ = [
    "IS_POINTER",
    "POINTER",
    "Line",
    "Unreadable",
    "columns_filled",
    "label_of",
    "lines_of",
    "read_bytes",
    "words_of",
]

BOM = b"\xef\xbb\xbf"
POINTER = b"version https://git-lfs.github.com/spec/"
"""How the text begins that stands in a checkout for a file of Git LFS."""

IS_POINTER = "is a Git LFS pointer, not the file: fetch it with git lfs pull, or check out with lfs: true"
_GZIP = b"\x1f\x8b"


class Line(NamedTuple):
    """One line of text without its end, numbered from 1."""

    number: int
    text: str


class Unreadable(Exception):
    """A file whose bytes cannot be had at all; carries the one problem to report."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


def label_of(path: str | os.PathLike[str]) -> str:
    """Return a path as messages show it: relative to the working directory where it lies inside.

    Examples
    --------
    >>> label_of("goldsets/store/queries.jsonl")
    'goldsets/store/queries.jsonl'
    """
    path = Path(path)
    try:
        return path.relative_to(Path.cwd()).as_posix() if path.is_absolute() else path.as_posix()
    except ValueError:
        return str(path)


def read_bytes(path: Path, label: str) -> bytes:
    """Return the bytes of a file, unpacked if they are gzip, without a byte order mark.

    Raises
    ------
    Unreadable
        The file is missing, empty, no complete gzip or no UTF-8 by its first bytes.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise Unreadable(Problem("no such file", label)) from None
    except OSError as error:
        raise Unreadable(Problem(f"cannot be read: {error.strerror or error}", label)) from None
    if data.startswith(POINTER):
        raise Unreadable(Problem(IS_POINTER, label))
    if data.startswith(_GZIP):
        data = _unpacked(data, label)
    elif path.suffix == ".gz" and data:
        raise Unreadable(Problem("ends in .gz but is not gzip; rename it or compress it", label))
    fault = not_text(data)
    if fault is not None:
        raise Unreadable(Problem(fault, label))
    data = data.removeprefix(BOM)
    if not data or data.isspace():
        raise Unreadable(Problem("the file is empty", label))
    return data


def lines_of(data: bytes, label: str) -> tuple[list[Line], list[Problem]]:
    """Return the lines that are UTF-8, blank ones left out, and one problem if there are others."""
    try:
        numbered = enumerate(data.decode().split("\n"), start=1)
        return [Line(number, text.removesuffix("\r")) for number, text in numbered if text.strip()], []
    except UnicodeDecodeError:
        pass
    lines: list[Line] = []
    bad: list[tuple[int, int, int]] = []
    for number, raw in enumerate(data.split(b"\n"), start=1):
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            bad.append((number, error.start, raw[error.start]))
            continue
        if text.strip():
            lines.append(Line(number, text.removesuffix("\r")))
    mixed = sum(not line.text.isascii() for line in lines)
    number, place, byte = bad[0]
    return lines, [Problem(not_utf_8(place, byte, len(bad), mixed), label, number)]


def words_of(text: str) -> list[str]:
    """Return the words of a line; only ASCII white space separates, as for trec_eval."""
    return [word.decode() for word in text.encode().split()]


def columns_filled(words: list[str]) -> str:
    """Return how many columns of a line are filled, as text."""
    return counted(sum(1 for word in words if word), "column", "columns")


def _unpacked(data: bytes, label: str) -> bytes:
    try:
        return gzip.decompress(data)
    except EOFError:
        raise Unreadable(Problem("the gzip file is cut short; fetch or write it again", label)) from None
    except (OSError, zlib.error) as error:
        raise Unreadable(Problem(f"the gzip file is damaged: {error}", label)) from None
