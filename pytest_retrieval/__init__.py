"""pytest-retrieval: fail the build when retrieval gets worse for one kind of query.

This door is lazy (PEP 562): pytest opens it at every start, also where the plugin is not used, so a name
is imported from its room only when somebody asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_retrieval.assertions import (
        assert_context_precision,
        assert_judged,
        assert_mrr,
        assert_ndcg,
        assert_precision,
        assert_recall,
    )
    from pytest_retrieval.errors import (
        DuplicateDocumentError,
        FileError,
        GoldSetError,
        InputError,
        MeasureError,
        MissingExtraError,
        PinError,
        Problem,
        QueryMismatchError,
        RetrievalError,
        RetrievalWarning,
        RetrieverError,
        SettingsError,
        Unavailable,
    )
    from pytest_retrieval.files.goldset import goldset_from_frames, load_goldset
    from pytest_retrieval.files.trec import load_qrels, load_run, save_run
    from pytest_retrieval.measures.notation import Measure
    from pytest_retrieval.measures.rank import MeasureKind
    from pytest_retrieval.measures.ranking import Judged, tie_sensitivity
    from pytest_retrieval.measures.table import ScoreTable, evaluate
    from pytest_retrieval.model import GoldSet, Qrels, Run
    from pytest_retrieval.retrievers.adapters import (
        from_elasticsearch,
        from_haystack,
        from_langchain,
        from_llama_index,
    )
    from pytest_retrieval.retrievers.calling import retrieve
    from pytest_retrieval.retrievers.fusion import Hybrid, fuse
    from pytest_retrieval.retrievers.lexical import BM25
    from pytest_retrieval.retrievers.overlap import ann_recall, filtered, overlap_at_k
    from pytest_retrieval.retrievers.reranking import Reranked, rerank
    from pytest_retrieval.retrievers.semantic import Semantic
    from pytest_retrieval.retrievers.units import UnitSearch, pool_units, sentences, units_of
    from pytest_retrieval.stats.compare import compare
    from pytest_retrieval.stats.comparison import Comparison

_ROOMS = {
    "assertions": (
        "assert_context_precision",
        "assert_judged",
        "assert_mrr",
        "assert_ndcg",
        "assert_precision",
        "assert_recall",
    ),
    "errors": (
        "DuplicateDocumentError",
        "FileError",
        "GoldSetError",
        "InputError",
        "MeasureError",
        "MissingExtraError",
        "PinError",
        "Problem",
        "QueryMismatchError",
        "RetrievalError",
        "RetrievalWarning",
        "RetrieverError",
        "SettingsError",
        "Unavailable",
    ),
    "files.goldset": ("goldset_from_frames", "load_goldset"),
    "files.trec": ("load_qrels", "load_run", "save_run"),
    "measures.notation": ("Measure",),
    "measures.rank": ("MeasureKind",),
    "measures.ranking": ("Judged", "tie_sensitivity"),
    "measures.table": ("ScoreTable", "evaluate"),
    "model": ("GoldSet", "Qrels", "Run"),
    "retrievers.adapters": ("from_elasticsearch", "from_haystack", "from_langchain", "from_llama_index"),
    "retrievers.calling": ("retrieve",),
    "retrievers.fusion": ("Hybrid", "fuse"),
    "retrievers.lexical": ("BM25",),
    "retrievers.overlap": ("ann_recall", "filtered", "overlap_at_k"),
    "retrievers.reranking": ("Reranked", "rerank"),
    "retrievers.semantic": ("Semantic",),
    "retrievers.units": ("UnitSearch", "pool_units", "sentences", "units_of"),
    "stats.compare": ("compare",),
    "stats.comparison": ("Comparison",),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__version__ = "0.1.0"
__all__ = [
    "BM25",
    "Comparison",
    "DuplicateDocumentError",
    "FileError",
    "GoldSet",
    "GoldSetError",
    "Hybrid",
    "InputError",
    "Judged",
    "Measure",
    "MeasureError",
    "MeasureKind",
    "MissingExtraError",
    "PinError",
    "Problem",
    "Qrels",
    "QueryMismatchError",
    "Reranked",
    "RetrievalError",
    "RetrievalWarning",
    "RetrieverError",
    "Run",
    "ScoreTable",
    "Semantic",
    "SettingsError",
    "Unavailable",
    "UnitSearch",
    "ann_recall",
    "assert_context_precision",
    "assert_judged",
    "assert_mrr",
    "assert_ndcg",
    "assert_precision",
    "assert_recall",
    "compare",
    "evaluate",
    "filtered",
    "from_elasticsearch",
    "from_haystack",
    "from_langchain",
    "from_llama_index",
    "fuse",
    "goldset_from_frames",
    "load_goldset",
    "load_qrels",
    "load_run",
    "overlap_at_k",
    "pool_units",
    "rerank",
    "retrieve",
    "save_run",
    "sentences",
    "tie_sensitivity",
    "units_of",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its room."""
    room = _ROOM_OF.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{room}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return [*__all__, "__version__"]
