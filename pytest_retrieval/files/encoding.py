"""What a file is instead of UTF-8 text, and how it becomes that.

An encoding is named only where the bytes leave no doubt: a byte order mark, or the zeros between letters.
Single-byte encodings such as Latin-1 and Windows-1252 cannot be told apart.
"""

from __future__ import annotations

import codecs

from pytest_retrieval.errors import counted

__all__ = ["IN_A_SPREADSHEET", "not_text", "not_utf_8"]

# UTF-32's little-endian mark begins with UTF-16's, so it is asked first.
_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_ZIP = b"PK\x03\x04"
_LOOKED_AT = 4096
IN_A_SPREADSHEET = "in a spreadsheet, save as 'CSV UTF-8'"


def not_text(data: bytes) -> str | None:
    """Return what the first bytes show a file to be, if that is anything but UTF-8.

    Examples
    --------
    >>> not_text("kea".encode("utf-16-le"))
    "is UTF-16; convert it: iconv -f UTF-16LE -t UTF-8, or, in a spreadsheet, save as 'CSV UTF-8'"
    >>> not_text(b"kea")
    """
    if data.startswith(_ZIP):
        return f"is a ZIP archive, such as an Excel workbook, and no text; {IN_A_SPREADSHEET}"
    name = next((name for mark, name in _MARKS.items() if data.startswith(mark)), None)
    encoding = name or _unmarked(data[:_LOOKED_AT])
    if encoding is None:
        return None
    said = name or encoding.removesuffix("LE").removesuffix("BE")
    return f"is {said}; convert it: iconv -f {encoding} -t UTF-8, or, {IN_A_SPREADSHEET}"


def not_utf_8(place: int, byte: int, lines: int, mixed: int) -> str:
    """Return the message for a file of which some lines are not UTF-8.

    Parameters
    ----------
    place, byte
        Of the first byte that is not, counted from 0 in its line.
    lines
        How many lines are not.
    mixed
        How many others hold letters beyond ASCII in good UTF-8.
    """
    more = f" (and {counted(lines - 1, 'more line is', 'more lines are')} not)" if lines > 1 else ""
    what = f"byte {place + 1} of the line is 0x{byte:02x}, which is not UTF-8{more};"
    if mixed >= lines:  # a few lines of another encoding may look like UTF-8 by chance
        good = counted(mixed, "line holds", "lines hold")
        return f"{what} {good} letters in good UTF-8, so the file mixes encodings: write the others anew"
    return (
        f"{what} save the file as UTF-8 ({IN_A_SPREADSHEET}), or convert it: iconv -f <its encoding> -t"
        " UTF-8, where Windows and old spreadsheets mostly write WINDOWS-1252"
    )


def _unmarked(data: bytes) -> str | None:
    """Return UTF-16LE or UTF-16BE where every other byte is mostly zero, as text of Latin letters has it."""
    half = len(data) // 2
    if half < 2:
        return None
    first, second = data[: 2 * half : 2].count(0), data[1 : 2 * half : 2].count(0)
    if second > 0.6 * half and first < 0.1 * half:
        return "UTF-16LE"
    return "UTF-16BE" if first > 0.6 * half and second < 0.1 * half else None
