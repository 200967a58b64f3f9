"""What an item tells the controller: plain JSON that rides on its report, and may cross from a worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

__all__ = ["FAILED", "PAYLOAD", "payload_of"]

FAILED: pytest.StashKey[str] = pytest.StashKey()
"""What the gate said when it failed an item, in the item's stash; empty while it has not."""

PAYLOAD: pytest.StashKey[dict[str, Any]] = pytest.StashKey()
"""What an item tells, in the item's stash."""


def payload_of(goldset: str, rows: Sequence[dict[str, Any]] = (), **more: Any) -> dict[str, Any]:
    """Return what an item of a gold set tells.

    Parameters
    ----------
    goldset
        Name of the gold set; empty where the item is of none.
    rows
        Of the session's table.
    **more
        ``cell`` and ``pinned``, by default none and False; notes; the evidence of a cell to pin; and so on.
    """
    return {"rows": list(rows), "goldset": goldset, "cell": None, "pinned": False, **more}
