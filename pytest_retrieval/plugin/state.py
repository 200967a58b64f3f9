"""Where the plugin keeps its state: typed keys of pytest's stash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_retrieval.plugin.checking import Gate
    from pytest_retrieval.plugin.session import Session

SESSION: pytest.StashKey[Session] = pytest.StashKey()
"""The session, in the config's stash."""

GATE: pytest.StashKey[Gate] = pytest.StashKey()
"""The gate of an item, in the item's stash."""

PAYLOAD: pytest.StashKey[dict[str, Any]] = pytest.StashKey()
"""What an item tells the controller, in the item's stash."""
