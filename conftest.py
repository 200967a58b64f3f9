"""What is under test in goldsets/, and what every test of this repository may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import pandas as pd

pytest_plugins = ["pytester"]


@pytest.fixture(scope="session")
def retrievers(catalog: pd.DataFrame) -> dict[str, object]:
    """What the gold sets of this repository gate, and a variant that a plan holds against it."""
    from pytest_retrieval import BM25

    heading = "name" if "name" in catalog else "title"
    return {"bm25": BM25(catalog), "bm25_headings": BM25(catalog, [heading])}
