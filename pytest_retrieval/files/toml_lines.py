"""Where a key stands in a text of TOML, for messages: the parser of the standard library keeps no lines."""

from __future__ import annotations

import re

__all__ = ["line_in"]


def line_in(text: str, key: str, table: str | None = None) -> int | None:
    r"""Return the line that sets a top-level key or opens its table, or that opens one table under it.

    Examples
    --------
    >>> line_in('depth = 10\n[subjects.bm25]\n[subjects."a b"]\n', "subjects", "a b")
    3
    """
    wanted = [rf"\s*{re.escape(key)}\s*=", rf"\s*\[\s*{re.escape(key)}\s*[].]"]
    if table is not None:
        spelled = rf"(?:{re.escape(table)}|\"{re.escape(table)}\"|'{re.escape(table)}')"
        wanted = [rf"\s*\[\s*{re.escape(key)}\s*\.\s*{spelled}\s*\]", *wanted]
    lines = text.splitlines()
    for pattern in wanted:
        for number, line in enumerate(lines, start=1):
            if re.match(pattern, line):
                return number
    return None
