"""A hint for a test that asks for a fixture of ours where no gold set was found, so that there is none.

Run below the project's root and without an ini file, pytest takes that folder for the root, and gold sets are
looked for there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["hint"]

FIXTURES = (
    "gate", "goldset", "catalog", "queries", "qrels", "retrievers", "runs", "recordings", "recorder",
    "compare",
)  # fmt: skip


def hint(config: pytest.Config, name: object) -> str:
    """Return why a fixture of that name is not there; empty where the name is none of ours."""
    if name not in FIXTURES:
        return ""
    places = ", ".join(str(config.rootpath / entry) for entry in config.getini("retrieval_goldsets"))
    return (
        f"`{name}` is a fixture of pytest-retrieval where a gold set is found; no goldset.toml was, in or"
        f" below {places}. Run pytest from the project's folder, give it an ini file there (pytest.ini or"
        " pyproject.toml) or --rootdir, or name the folders with the ini key retrieval_goldsets"
    )
