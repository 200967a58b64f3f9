"""Quick columns: a file of words read by pandas' C engine, or not at all if it leaves any doubt."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["quick_frame", "separators_of"]


def separators_of(data: bytes) -> tuple[str, ...]:
    """Return what may separate the columns, quickest first.

    A single space or tab is only tried where the other does not occur at all; lines that hold two in a row
    or begin with one then show as empty cells.
    """
    if b"\t" not in data:
        return " ", r"\s+"
    return ("\t", r"\s+") if b" " not in data else (r"\s+",)


def quick_frame(
    data: bytes, names: list[str], number: str, separators: tuple[str, ...]
) -> pd.DataFrame | None:
    """Return the columns of a file, all of them filled, or None where a line is not as all others."""
    if any(byte in data for byte in (b"\0", b"\v", b"\f")):
        return None
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        return None
    frames = (_parsed(data, names, number, separator) for separator in separators)
    return next((frame for frame in frames if frame is not None), None)


def _parsed(data: bytes, names: list[str], number: str, separator: str) -> pd.DataFrame | None:
    import pandas as pd

    types: dict[str, Any] = {**dict.fromkeys(names, object), number: np.float64}
    # pandas 2 reads numbers inexactly unless told; pandas 3 always reads them exactly and warns if told.
    exact: dict[str, Any] = {"float_precision": "round_trip"} if pd.__version__.startswith("2.") else {}
    try:
        frame: pd.DataFrame = pd.read_csv(
            io.BytesIO(data),
            sep=separator,
            header=None,
            names=names,
            dtype=types,
            quoting=csv.QUOTE_NONE,
            na_filter=False,
            engine="c",
            **exact,
        )
    except (ValueError, OverflowError):  # pandas' own parser errors are ValueErrors
        return None
    # A first line with more columns than names becomes an index; a short line is filled with "".
    whole = isinstance(frame.index, pd.RangeIndex) and len(frame) > 0
    if not whole or any((frame[name].to_numpy() == "").any() for name in names if name != number):
        return None
    return frame
