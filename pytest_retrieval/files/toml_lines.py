"""Where things stand in a text of TOML, for messages: the parser of the standard library keeps no lines."""

from __future__ import annotations

import tomllib
from typing import final

__all__ = ["Places"]


@final
class Places:
    r"""The line of every table and key of a text, as far as a line tells by itself.

    Examples
    --------
    >>> places = Places('depth = 10\n[subjects.bm25]\n[subjects."a b"]\nmeasures = [\n"recall@5"]\n')
    >>> places.line("depth"), places.line("subjects", "a b"), places.line("subjects", "a b", "measures")
    (1, 3, 4)
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        for number, line in enumerate(text.splitlines(), start=1):
            opens = line.lstrip().startswith("[")
            found = _path_of(line)
            if opens and found:
                table = found
            path = table if opens else (*table, *found)
            for length in range(1, len(path) + 1) if found else ():
                self._lines.setdefault(path[:length], number)

    def line(self, *path: str) -> int | None:
        """Return the line of a key or table, or else of the innermost table around it that is known."""
        known = (path[:length] for length in range(len(path), 0, -1) if path[:length] in self._lines)
        return next((self._lines[place] for place in known), None)


def _path_of(line: str) -> tuple[str, ...]:
    """Return the keys that one line sets or opens; none where it does neither by itself."""
    before, sign, _ = line.partition("=")
    for text in (line, f"{before}= 0" if sign else ""):  # a value may go on over further lines
        try:
            value: object = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue
        path: tuple[str, ...] = ()
        while isinstance(value, dict) and len(value) == 1:
            ((key, value),) = value.items()
            path = (*path, key)
        return path
    return ()
