"""pytest-retrieval: fail the build when retrieval gets worse for one kind of query.

This door is lazy (PEP 562): pytest opens it at every start, also where the plugin is not used, so a name
is imported from its room only when somebody asks for it.

PYTEST_DONT_REWRITE: pytest opens this at every start, and there is no assertion in it to explain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_retrieval.answers.citations import Citations, check_citations
    from pytest_retrieval.answers.diagnosis import Diagnosis, diagnose, diagnose_all, diagnosis_counts
    from pytest_retrieval.answers.messages import trace_from_messages
    from pytest_retrieval.answers.planted import Planted, planted_items, steered
    from pytest_retrieval.answers.quotes import Quote
    from pytest_retrieval.answers.replaying import replay
    from pytest_retrieval.answers.request_log import LoggedRequest, RequestLog
    from pytest_retrieval.answers.support import (
        Calibration,
        Supported,
        SupportJudge,
        calibrate,
        judge_digest,
        judge_support,
        support_by_grade,
    )
    from pytest_retrieval.answers.traces import TraceTable, score_traces, trace_queries
    from pytest_retrieval.answers.trajectory import Finding, check_trajectory
    from pytest_retrieval.assertions import (
        assert_called,
        assert_called_before,
        assert_context_precision,
        assert_contexts,
        assert_declines,
        assert_erased,
        assert_exact_share,
        assert_from_observations,
        assert_grounded,
        assert_judged,
        assert_mrr,
        assert_ndcg,
        assert_no_repeated_calls,
        assert_permitted,
        assert_picks_returned,
        assert_precision,
        assert_recall,
        assert_requires_principal,
        assert_self_retrieval,
        assert_stated,
        assert_within_budget,
    )
    from pytest_retrieval.assertions.trajectories import Observed
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
        RecordingError,
        ReplayError,
        RetrievalError,
        RetrievalWarning,
        RetrieverError,
        SettingsError,
        Unavailable,
    )
    from pytest_retrieval.files.goldset import goldset_from_frames, load_goldset
    from pytest_retrieval.files.recording import load_recording
    from pytest_retrieval.files.trec import load_qrels, load_run, save_run
    from pytest_retrieval.measures.answer_table import AnswerTable, score_answers, spearman_with_share
    from pytest_retrieval.measures.notation import Measure
    from pytest_retrieval.measures.rank import MeasureKind
    from pytest_retrieval.measures.ranking import Judged, tie_sensitivity
    from pytest_retrieval.measures.table import ScoreTable, evaluate
    from pytest_retrieval.model.goldset import GoldSet
    from pytest_retrieval.model.qrels import Qrels
    from pytest_retrieval.model.records import (
        Answer,
        Call,
        Recording,
        Trace,
    )
    from pytest_retrieval.model.run import Run
    from pytest_retrieval.model.spans import GoldSpan, Place, Spans
    from pytest_retrieval.record.contexts import random_contexts
    from pytest_retrieval.record.recorder import Recorder
    from pytest_retrieval.retrievers.adapters import (
        from_elasticsearch,
        from_haystack,
        from_langchain,
        from_llama_index,
    )
    from pytest_retrieval.retrievers.assembly import ContextFinding, check_contexts
    from pytest_retrieval.retrievers.calling import retrieve
    from pytest_retrieval.retrievers.finding_itself import Probe, SelfRetrieval, self_retrieval
    from pytest_retrieval.retrievers.fusion import Hybrid, fuse
    from pytest_retrieval.retrievers.lexical import BM25
    from pytest_retrieval.retrievers.overlap import ann_recall, filtered, overlap_at_k
    from pytest_retrieval.retrievers.reranking import Reranked, rerank
    from pytest_retrieval.retrievers.semantic import Semantic
    from pytest_retrieval.retrievers.stages import stage_scores
    from pytest_retrieval.retrievers.tuning import (
        Sweep,
        context_sweep,
        depth_curve,
        fusion_sweep,
        unit_sweep,
    )
    from pytest_retrieval.retrievers.units import (
        UnitSearch,
        pool_units,
        sentences,
        units_of,
    )
    from pytest_retrieval.stats.compare import compare
    from pytest_retrieval.stats.comparison import Comparison

_ROOMS = {
    "answers.citations": ("Citations", "check_citations"),
    "answers.diagnosis": ("Diagnosis", "diagnose", "diagnose_all", "diagnosis_counts"),
    "answers.messages": ("trace_from_messages",),
    "answers.planted": ("Planted", "planted_items", "steered"),
    "answers.quotes": ("Quote",),
    "answers.replaying": ("replay",),
    "answers.request_log": ("LoggedRequest", "RequestLog"),
    "answers.support": (
        "Calibration",
        "SupportJudge",
        "Supported",
        "calibrate",
        "judge_digest",
        "judge_support",
        "support_by_grade",
    ),
    "answers.traces": ("TraceTable", "score_traces", "trace_queries"),
    "answers.trajectory": ("Finding", "check_trajectory"),
    "assertions": (
        "assert_called",
        "assert_called_before",
        "assert_context_precision",
        "assert_contexts",
        "assert_declines",
        "assert_erased",
        "assert_exact_share",
        "assert_from_observations",
        "assert_grounded",
        "assert_judged",
        "assert_mrr",
        "assert_ndcg",
        "assert_no_repeated_calls",
        "assert_permitted",
        "assert_picks_returned",
        "assert_precision",
        "assert_recall",
        "assert_requires_principal",
        "assert_self_retrieval",
        "assert_stated",
        "assert_within_budget",
    ),
    "assertions.trajectories": ("Observed",),
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
        "RecordingError",
        "ReplayError",
        "RetrievalError",
        "RetrievalWarning",
        "RetrieverError",
        "SettingsError",
        "Unavailable",
    ),
    "files.goldset": ("goldset_from_frames", "load_goldset"),
    "files.recording": ("load_recording",),
    "files.trec": ("load_qrels", "load_run", "save_run"),
    "measures.answer_table": ("AnswerTable", "score_answers", "spearman_with_share"),
    "measures.notation": ("Measure",),
    "measures.rank": ("MeasureKind",),
    "measures.ranking": ("Judged", "tie_sensitivity"),
    "measures.table": ("ScoreTable", "evaluate"),
    "model.goldset": ("GoldSet",),
    "model.qrels": ("Qrels",),
    "model.records": ("Answer", "Call", "Recording", "Trace"),
    "model.run": ("Run",),
    "model.spans": ("GoldSpan", "Place", "Spans"),
    "record.contexts": ("random_contexts",),
    "record.recorder": ("Recorder",),
    "retrievers.adapters": ("from_elasticsearch", "from_haystack", "from_langchain", "from_llama_index"),
    "retrievers.assembly": ("ContextFinding", "check_contexts"),
    "retrievers.calling": ("retrieve",),
    "retrievers.finding_itself": ("Probe", "SelfRetrieval", "self_retrieval"),
    "retrievers.fusion": ("Hybrid", "fuse"),
    "retrievers.lexical": ("BM25",),
    "retrievers.overlap": ("ann_recall", "filtered", "overlap_at_k"),
    "retrievers.reranking": ("Reranked", "rerank"),
    "retrievers.semantic": ("Semantic",),
    "retrievers.stages": ("stage_scores",),
    "retrievers.tuning": ("Sweep", "context_sweep", "depth_curve", "fusion_sweep", "unit_sweep"),
    "retrievers.units": ("UnitSearch", "pool_units", "sentences", "units_of"),
    "stats.compare": ("compare",),
    "stats.comparison": ("Comparison",),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__version__ = "0.1.0"
__all__ = [  # noqa: RUF022 - plain order by code point, as a test holds it
    "Answer",
    "AnswerTable",
    "BM25",
    "Calibration",
    "Call",
    "Citations",
    "Comparison",
    "ContextFinding",
    "Diagnosis",
    "DuplicateDocumentError",
    "FileError",
    "Finding",
    "GoldSet",
    "GoldSetError",
    "GoldSpan",
    "Hybrid",
    "InputError",
    "Judged",
    "LoggedRequest",
    "Measure",
    "MeasureError",
    "MeasureKind",
    "MissingExtraError",
    "Observed",
    "PinError",
    "Place",
    "Planted",
    "Probe",
    "Problem",
    "Qrels",
    "QueryMismatchError",
    "Quote",
    "Recorder",
    "Recording",
    "RecordingError",
    "ReplayError",
    "RequestLog",
    "Reranked",
    "RetrievalError",
    "RetrievalWarning",
    "RetrieverError",
    "Run",
    "ScoreTable",
    "SelfRetrieval",
    "Semantic",
    "SettingsError",
    "Spans",
    "SupportJudge",
    "Supported",
    "Sweep",
    "Trace",
    "TraceTable",
    "Unavailable",
    "UnitSearch",
    "ann_recall",
    "assert_called",
    "assert_called_before",
    "assert_context_precision",
    "assert_contexts",
    "assert_declines",
    "assert_erased",
    "assert_exact_share",
    "assert_from_observations",
    "assert_grounded",
    "assert_judged",
    "assert_mrr",
    "assert_ndcg",
    "assert_no_repeated_calls",
    "assert_permitted",
    "assert_picks_returned",
    "assert_precision",
    "assert_recall",
    "assert_requires_principal",
    "assert_self_retrieval",
    "assert_stated",
    "assert_within_budget",
    "calibrate",
    "check_citations",
    "check_contexts",
    "check_trajectory",
    "compare",
    "context_sweep",
    "depth_curve",
    "diagnose",
    "diagnose_all",
    "diagnosis_counts",
    "evaluate",
    "filtered",
    "from_elasticsearch",
    "from_haystack",
    "from_langchain",
    "from_llama_index",
    "fuse",
    "fusion_sweep",
    "goldset_from_frames",
    "judge_digest",
    "judge_support",
    "load_goldset",
    "load_qrels",
    "load_recording",
    "load_run",
    "overlap_at_k",
    "planted_items",
    "pool_units",
    "random_contexts",
    "replay",
    "rerank",
    "retrieve",
    "save_run",
    "score_answers",
    "score_traces",
    "self_retrieval",
    "sentences",
    "spearman_with_share",
    "stage_scores",
    "steered",
    "support_by_grade",
    "tie_sensitivity",
    "trace_from_messages",
    "trace_queries",
    "unit_sweep",
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
