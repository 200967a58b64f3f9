"""The measures of a ranking: one table, one small function each, vectorised over queries.

Every function takes the join and a cutoff and returns one score per query. What a measure means is stated
where it stands, with its source; where conventions differ, the docstring says which one is ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from pytest_retrieval.errors import InputError, MeasureError
from pytest_retrieval.model.order import first_of_each, place_in_each

if TYPE_CHECKING:
    from pytest_retrieval.measures.ranking import BoolArray, FloatArray, IntArray, Judged
    from pytest_retrieval.model.spans import Spans

__all__ = ["KINDS", "MeasureKind"]

CUTOFFS = ("required", "optional", "none")
LARGEST_EXPONENT = 1000  # 2^1000 still leaves room to add up many gains in a float64
_NAME = re.compile(r"[a-z_][a-z0-9_]*|label:[A-Za-z_][A-Za-z0-9_-]*")


def has_relevant(judged: Judged) -> BoolArray:
    """Return which queries have a relevant document; the rest leave most measures undefined."""
    return judged.relevant() > 0


def has_gain(judged: Judged) -> BoolArray:
    """Return which queries have a document of positive grade."""
    return judged.per_query(judged.gold_query[judged.gold_grade > 0]) > 0


def always(judged: Judged) -> BoolArray:
    """Return that the judgments leave the measure defined for every query."""
    return np.ones(len(judged.query_ids), dtype=np.bool_)


@final
@dataclass(frozen=True, slots=True)
class MeasureKind:
    """A family of measures: ``recall`` is a kind, ``recall@5`` a measure.

    Define one and return it from the hook ``pytest_retrieval_measures`` to use a measure of your own.

    Attributes
    ----------
    name
        Lower-case word; what stands before ``@``.
    score
        ``score(judged, k, **parameters) -> ndarray of float64, shape (Q,)``; k is None without a cutoff.
    summary
        One line for reports.
    source
        Where the definition comes from.
    cutoff
        ``"required"``, ``"optional"`` or ``"none"``.
    defined
        ``defined(judged) -> ndarray of bool, shape (Q,)``: where the judgments alone leave the measure
        defined. Elsewhere its score is NaN and stays out of every mean.
    attainable
        ``attainable(judged, k) -> ndarray of float64, shape (Q,)``: the best score any ranking could get,
        or None where that is 1 (0 where lower is better).
    higher_is_better
        Direction.
    parameters
        Parameter name → allowed values, default first.
    uses_level
        Whether the relevance level changes the score.
    reads
        Whose grades it reads: ``"ranking"``; ``"cited"`` or ``"shown"``: what an answer cites, what it was
        shown; or ``"numbers"``: none, so that no judgment could change the score.

    Raises
    ------
    MeasureError
        The name cannot stand before ``@``, or the cutoff is none of the three.

    Examples
    --------
    >>> import numpy as np
    >>> def first_is_judged(judged, k):
    ...     return judged.per_query(judged.hit_query[judged.hit_rank == 1]).astype(float)
    >>> kind = MeasureKind("first_judged", first_is_judged, "was rank 1 judged", "ours", cutoff="none")
    >>> kind.higher_is_better
    True
    """

    name: str
    score: Callable[..., FloatArray]
    summary: str
    source: str
    cutoff: str = "required"
    defined: Callable[[Judged], BoolArray] = has_relevant
    attainable: Callable[[Judged, int | None], FloatArray] | None = None
    higher_is_better: bool = True
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    uses_level: bool = True
    reads: str = "ranking"

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise MeasureError(
                f"a kind of measure is called {self.name!r}; allowed are lower-case letters, digits and _"
            )
        if self.cutoff not in CUTOFFS:
            raise MeasureError(
                f"kind of measure {self.name!r}: cutoff is {self.cutoff!r}; allowed are"
                f" {', '.join(map(repr, CUTOFFS))}"
            )


def _share(part: IntArray | FloatArray, whole: IntArray | FloatArray) -> FloatArray:
    """Return part / whole, NaN where the whole is 0."""
    share = np.full(part.shape, np.nan)
    np.divide(part, whole, out=share, where=whole > 0)
    return share


def _found(judged: Judged, k: int | None) -> IntArray:
    return judged.per_query(judged.hit_query[judged.hits(k)])


def _best_found(judged: Judged, k: int | None) -> IntArray:
    relevant = judged.relevant()
    return relevant if k is None else np.minimum(relevant, k)


def recall(judged: Judged, k: int | None) -> FloatArray:
    """Relevant documents in the top k / all relevant documents."""
    return _share(_found(judged, k), judged.relevant())


def recall_attainable(judged: Judged, k: int | None) -> FloatArray:
    """min(k, R) / R."""
    return _share(_best_found(judged, k), judged.relevant())


def precision(judged: Judged, k: int | None) -> FloatArray:
    """Relevant documents in the top k / k, also for a ranking shorter than k."""
    assert k is not None
    return _found(judged, k) / float(k)


def precision_attainable(judged: Judged, k: int | None) -> FloatArray:
    """min(k, R) / k."""
    assert k is not None
    return _best_found(judged, k) / float(k)


def reciprocal_rank(judged: Judged, k: int | None) -> FloatArray:
    """1 / rank of the first relevant document; exactly 0 where none stands in the top k."""
    rows = judged.hits(k)
    queries, ranks = judged.hit_query[rows], judged.hit_rank[rows]
    first = first_of_each(queries)
    scores = np.zeros(len(judged.query_ids))
    scores[queries[first]] = 1.0 / ranks[first]
    return scores


def ndcg(judged: Judged, k: int | None, gain: str = "linear") -> FloatArray:
    """DCG of the top k / DCG of the best order of all judged documents, cut at k.

    Discount log2(rank + 1). Gain is the grade (``linear``) or 2^grade − 1 (``exp``); negative grades gain 0.
    The relevance level plays no part.
    """
    gains = _gain(judged.hit_grade, gain)
    kept = judged.hit_rank <= (np.inf if k is None else k)
    found = judged.sum_per_query(judged.hit_query[kept], gains[kept] / np.log2(judged.hit_rank[kept] + 1.0))
    return _share(found, _ideal_dcg(judged, k, gain))


def _ideal_dcg(judged: Judged, k: int | None, gain: str) -> FloatArray:
    order = np.lexsort((-judged.gold_grade, judged.gold_query))
    queries, gains = judged.gold_query[order], _gain(judged.gold_grade[order], gain)
    rank = place_in_each(queries)
    kept = rank <= (np.inf if k is None else k)
    return judged.sum_per_query(queries[kept], gains[kept] / np.log2(rank[kept] + 1.0))


def _gain(grades: IntArray, gain: str) -> FloatArray:
    positive = np.maximum(grades, 0).astype(np.float64)
    if gain == "linear":
        return positive
    if positive.max(initial=0.0) > LARGEST_EXPONENT:
        raise InputError(
            f"ndcg(gain=exp): grade {int(positive.max())} gains more than a float holds; allowed are grades"
            f" up to {LARGEST_EXPONENT}, or gain=linear"
        )
    return np.exp2(positive) - 1.0


def _precision_sum(judged: Judged, k: int | None) -> FloatArray:
    """Return the sum of precision@rank over the ranks up to k that hold a relevant document."""
    rows = judged.hits(k)
    return judged.sum_per_query(judged.hit_query[rows], judged.place_in_query(rows) / judged.hit_rank[rows])


def average_precision(judged: Judged, k: int | None) -> FloatArray:
    """Sum of precision@rank over the relevant ranks up to k / all relevant documents."""
    return _share(_precision_sum(judged, k), judged.relevant())


def context_precision(judged: Judged, k: int | None) -> FloatArray:
    """Mean of precision@rank over the ranks up to k that hold a relevant document; 0 where none does.

    It divides by the relevant documents found, not by all there are: it is not average precision. It can
    fall when one more relevant document is found ([1,0,0,0,0] → [1,0,0,0,1]: 1.0 → 0.7), so pin recall
    beside it.
    """
    found = _found(judged, k)
    return _precision_sum(judged, k) / np.maximum(found, 1)


def success(judged: Judged, k: int | None) -> FloatArray:
    """1 where any relevant document stands in the top k, else 0."""
    return np.where(_found(judged, k) > 0, 1.0, 0.0)


def complete(judged: Judged, k: int | None) -> FloatArray:
    """1 where all relevant documents stand in the top k, else 0."""
    return np.where(_found(judged, k) == judged.relevant(), 1.0, 0.0)


def complete_attainable(judged: Judged, k: int | None) -> FloatArray:
    """1 where R ≤ k, else 0."""
    return np.where(_best_found(judged, k) == judged.relevant(), 1.0, 0.0)


def judged_share(judged: Judged, k: int | None) -> FloatArray:
    """Judged documents in the top k / min(k, documents returned); undefined where nothing was returned.

    Grade 0 and negative grades are judged.
    """
    assert k is not None
    seen = judged.per_query(judged.hit_query[judged.hit_rank <= k])
    return _share(seen, np.minimum(judged.lengths, k))


def group_recall(judged: Judged, k: int | None) -> FloatArray:
    """Groups of interchangeable documents with a relevant one in the top k / groups with a relevant one."""
    if not judged.has_groups:
        raise InputError(
            "group_recall needs judgments with groups: set `groups = true` in goldset.toml and name the"
            " groups in column 2 of qrels.trec, or pass groups= to Qrels"
        )
    rows = judged.hits(k)
    return _share(_groups(judged, judged.hit_query[rows], judged.hit_group[rows]), _gold_groups(judged))


def group_recall_attainable(judged: Judged, k: int | None) -> FloatArray:
    """min(k, groups) / groups."""
    groups = _gold_groups(judged)
    return _share(groups if k is None else np.minimum(groups, k), groups)


def _gold_groups(judged: Judged) -> IntArray:
    rows = judged.gold_grade >= judged.level
    return _groups(judged, judged.gold_query[rows], judged.gold_group[rows])


def _groups(judged: Judged, queries: IntArray, groups: IntArray) -> IntArray:
    """Return the number of distinct groups per query."""
    distinct = np.unique(np.stack([queries, groups], axis=1), axis=0)
    return judged.per_query(distinct[:, 0])


def span_recall(judged: Judged, k: int | None) -> FloatArray:
    """Characters of the gold spans that lie in a chunk of the top k / characters of the gold spans.

    A character counts once, however many spans or chunks hold it.
    """
    spans = judged.spans
    if spans is None:
        raise InputError(
            "span_recall needs gold spans: write spans.jsonl (query_id, document, start, end, grade), give"
            " the chunks of the catalog the columns document, start and end, or use Qrels.from_spans"
        )
    covered = []
    for query_id in judged.query_ids:
        ranking = judged.run.get(query_id, ())[:k]
        places = judged.run.places.get(query_id, ())[:k] or [spans.places.get(doc_id) for doc_id in ranking]
        covered.append(spans.covered(query_id, places, judged.level))
    return _share(np.array(covered, dtype=np.int64), _gold_characters(judged, spans))


def span_recall_attainable(judged: Judged, k: int | None) -> FloatArray:
    """Characters of the gold spans that lie in any chunk / characters of the gold spans; k plays no part."""
    spans = judged.spans
    if spans is None:
        return np.ones(len(judged.query_ids))
    held = [spans.covered(query_id, spans.places.values(), judged.level) for query_id in judged.query_ids]
    return _share(np.array(held, dtype=np.int64), _gold_characters(judged, spans))


def has_gold_span(judged: Judged) -> BoolArray:
    """Return which queries have a gold span of the level, in a chunk or not."""
    if judged.spans is None:
        return has_relevant(judged)
    return _gold_characters(judged, judged.spans) > 0


def _gold_characters(judged: Judged, spans: Spans) -> IntArray:
    return np.array([spans.length(query_id, judged.level) for query_id in judged.query_ids], dtype=np.int64)


_TREC = "trec_eval"
_RAGAS = "Es et al., RAGAs, EACL 2024; ID-based context measures of the Ragas documentation"

KINDS: Mapping[str, MeasureKind] = {
    kind.name: kind
    for kind in (
        MeasureKind(
            "recall", recall, "share of the relevant documents found", f"{_TREC}: recall_k",
            attainable=recall_attainable,
        ),
        MeasureKind(
            "precision", precision, "share of the top k that is relevant", f"{_TREC}: P_k",
            attainable=precision_attainable,
        ),
        MeasureKind(
            "mrr", reciprocal_rank, "reciprocal rank of the first relevant document",
            f"{_TREC}: recip_rank; Voorhees, The TREC-8 Question Answering Track Report, 1999",
            cutoff="optional",
        ),
        MeasureKind(
            "ndcg", ndcg, "discounted gain against the best possible order",
            f"{_TREC}: ndcg_cut_k; Järvelin and Kekäläinen, Cumulated gain-based evaluation, TOIS 2002;"
            " gain=exp: Burges et al., ICML 2005",
            cutoff="optional", defined=has_gain, parameters={"gain": ("linear", "exp")}, uses_level=False,
        ),
        MeasureKind(
            "ap", average_precision, "mean precision at the relevant ranks, over all relevant documents",
            f"{_TREC}: map_cut_k", cutoff="optional", attainable=recall_attainable,
        ),
        MeasureKind("success", success, "whether any relevant document was found", f"{_TREC}: success_k"),
        MeasureKind(
            "complete", complete, "whether every relevant document was found", "ours: recall@k = 1",
            attainable=complete_attainable,
        ),
        MeasureKind(
            "judged", judged_share, "share of the results that somebody judged",
            "ir_measures: Judged@k", defined=always, uses_level=False,
        ),
        MeasureKind(
            "context_precision", context_precision, "mean precision at the relevant ranks of a context",
            _RAGAS,
        ),
        MeasureKind(
            "context_recall", recall, "share of the relevant documents in the context", _RAGAS,
            attainable=recall_attainable,
        ),
        MeasureKind(
            "group_recall", group_recall, "share of the groups of interchangeable documents found",
            "ours: subtopic recall (Zhai, Cohen and Lafferty, SIGIR 2003) over groups of equal documents",
            attainable=group_recall_attainable,
        ),
        MeasureKind(
            "span_recall", span_recall, "share of the characters of the gold spans found",
            "token-wise recall of Smith and Troynikov, Evaluating Chunking Strategies for Retrieval, Chroma"
            " 2024, over characters",
            defined=has_gold_span, attainable=span_recall_attainable,
        ),
    )
}  # fmt: skip
"""Every measure of a ranking, by name."""
