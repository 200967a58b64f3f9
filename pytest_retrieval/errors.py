"""The exceptions of pytest-retrieval, all in one tree.

::

    RetrievalError
    ├── InputError (ValueError)          a value passed to a function cannot be used
    │   ├── MeasureError                 a measure's name, cutoff or parameter is not known
    │   ├── QueryMismatchError           query ids on two sides do not meet
    │   ├── DuplicateDocumentError       a ranking names one document twice
    │   └── FileError                    a file cannot be used; lists every problem found in it
    │       ├── GoldSetError             … of a gold set
    │       └── PinError                 … of the pins or their evidence
    ├── RecordingError                   a model could not be asked, or a journal of replies is damaged
    ├── ReplayError                      a call that a recording does not hold, or that failed when recorded
    ├── RetrieverError                   a retriever raised or returned something that is no ranking
    ├── SettingsError                    an option, ini value or goldset.toml that stops the session
    ├── MissingExtraError (ImportError)  an optional dependency is not installed
    └── Unavailable                      raised or returned by a project: this retriever cannot run here

Beside it stands one warning, `RetrievalWarning`: usable input that leaves a number undefined.

This module stands on the ground: it imports nothing of the package, and every room may import it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar, final

__all__ = [
    "DuplicateDocumentError",
    "FileError",
    "GoldSetError",
    "InputError",
    "MeasureError",
    "MissingExtraError",
    "PinError",
    "Problem",
    "QueryMismatchError",
    "RecordingError",
    "ReplayError",
    "RetrievalError",
    "RetrievalWarning",
    "RetrieverError",
    "SettingsError",
    "Unavailable",
    "counted",
    "listed",
    "or_raise",
]

_Value = TypeVar("_Value")

MOST_PROBLEMS_SHOWN = 50


def listed(names: Iterable[object], most: int = 10) -> str:
    """Return names joined for a message: the first `most`, then how many more there are.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    texts = [str(name) for name in names]
    shown = ", ".join(texts[:most])
    return f"{shown} and {len(texts) - most} more" if len(texts) > most else shown


def counted(count: int, one: str, many: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "query", "queries"), counted(2, "query", "queries")
    ('1 query', '2 queries')
    """
    return f"{count} {one if count == 1 else many}"


class RetrievalError(Exception):
    """Base of every error that this package raises on purpose."""


def look_alike(name: str, known: Iterable[str]) -> str:
    r"""Return a clause on a known id that is written alike with other code points, or an empty string.

    >>> look_alike("caf\u00e9", ["tea", "cafe\u0301"])
    "; 'cafe\\u0301' looks the same and is another composition of Unicode (NFC, NFD): write both alike"
    >>> look_alike("coffee", ["tea"])
    ''
    """
    if name.isascii():
        return ""
    from unicodedata import normalize

    wanted = normalize("NFC", name)
    other = next((id_ for id_ in known if not id_.isascii() and normalize("NFC", id_) == wanted), None)
    if other is None:
        return ""
    return f"; {other!a} looks the same and is another composition of Unicode (NFC, NFD): write both alike"


def or_raise(outcome: _Value | RetrievalError) -> _Value:
    """Return a value that was kept, or raise the error that was kept in its place.

    >>> or_raise(7)
    7
    """
    if isinstance(outcome, RetrievalError):
        raise outcome
    return outcome


class RetrievalWarning(UserWarning):
    """Something in the input is usable but leaves a number undefined, or was left out; named in the text."""


class InputError(RetrievalError, ValueError):
    """A value passed to a function cannot be used; the message says which and what is allowed."""


class MeasureError(InputError):
    """A measure's name, cutoff or parameter is not known."""


class QueryMismatchError(InputError):
    """Query ids on two sides do not meet."""


class DuplicateDocumentError(InputError):
    """A ranking names one document twice."""


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong at one place of a file.

    Attributes
    ----------
    message
        What is wrong, what was allowed and how to mend it, in one line.
    file
        The file as the user knows it.
    line
        Line number from 1; None where the whole file is meant.
    """

    message: str
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}" if place else self.message


class FileError(InputError):
    """A file cannot be used. `problems` holds everything found wrong in it, not only the first.

    Parameters
    ----------
    what
        The thing that could not be read, for the headline.
    problems
        At least one problem.
    """

    def __init__(self, what: str, problems: Iterable[Problem]) -> None:
        self.what = what
        self.problems = tuple(problems)
        count = len(self.problems)
        lines = [f"{what}: {counted(count, 'problem', 'problems')}"]
        lines += [f"  {problem}" for problem in self.problems[:MOST_PROBLEMS_SHOWN]]
        if count > MOST_PROBLEMS_SHOWN:
            lines.append(f"  … and {count - MOST_PROBLEMS_SHOWN} more")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[type[FileError], tuple[str, tuple[Problem, ...]]]:
        return type(self), (self.what, self.problems)


class GoldSetError(FileError):
    """A gold set's files cannot be used."""


class PinError(FileError):
    """The pins of a gold set, or their evidence, cannot be used."""


class RecordingError(RetrievalError):
    """A model could not be asked, or a journal of its replies is damaged."""


class ReplayError(RetrievalError):
    """A tool was called as it never was when it was recorded, or its recorded call failed."""


class RetrieverError(RetrievalError):
    """A retriever raised, or returned something that is no ranking."""


class SettingsError(RetrievalError):
    """An option, an ini value or a goldset.toml cannot be used; the session stops with exit code 4."""


class MissingExtraError(RetrievalError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""


@final
class Unavailable(RetrievalError):
    """This retriever cannot run here: no key, no index, no network.

    Return it in place of a retriever, or raise it in one. Its cells are then skipped by name, or fail
    where the ini key ``retrieval_unavailable`` is ``error``.

    Parameters
    ----------
    reason
        Why, for a reader of the test report.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)
