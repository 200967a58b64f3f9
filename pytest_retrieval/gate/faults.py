"""What keeps a run or a cell from being judged: each a sentence that says so, or an empty string."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from pytest_retrieval.errors import InputError, counted, listed, look_alike
from pytest_retrieval.gate.passages import SPAN_KINDS, rechunked
from pytest_retrieval.gate.pin import ESTABLISHED, Pin, short
from pytest_retrieval.gate.ruler import judgment_changes
from pytest_retrieval.gate.sides import Sides
from pytest_retrieval.gate.undecided import mean_judged
from pytest_retrieval.measures.notation import Measure
from pytest_retrieval.measures.table import evaluate
from pytest_retrieval.model.goldset import GoldSet
from pytest_retrieval.model.run import Run
from pytest_retrieval.stats.signflip import smallest_p

__all__ = ["cut_otherwise", "fault_of", "forged", "infeasible", "too_little_judged"]

SAME = 1e-9
"""Scores closer than this are the same; they were made by the same code, perhaps on another machine."""

_TAKE_BACK = "take pins/ back from version control, or delete the pins and pin again"


def fault_of(goldset: GoldSet, run: Run, queries: Collection[str] | None = None) -> str:
    """Return why a run cannot be judged at all on some queries, the gated ones unless said.

    An empty string where nothing keeps it from that.

    A run that returned nothing for every query, documents that are not in the catalog, or one document
    twice for one query is a fault of the retriever, not a regression. A recording was checked when it was
    read, and what it cites outside its context is a score, not a fault.
    """
    gated = goldset.gated_queries if queries is None else queries
    if run.replies:
        answered = any(query_id in run.replies for query_id in gated)
        which = f"{len(gated)} {'gated ' if queries is None else ''}queries"
        return "" if answered else f"the recording answers none of the {which}"
    if all(query_id not in run or not run[query_id] for query_id in gated):
        which = "the only query" if len(gated) == 1 else f"each of the {len(gated)} queries"
        return f"the retriever returned nothing for {which}"
    try:
        evaluate(goldset.qrels, run, ["judged@1"])
    except InputError as error:
        return str(error)
    known = goldset.doc_ids
    if known is None:
        return ""
    strange = {doc_id for doc_id in run.doc_ids.tolist() if doc_id not in known}
    if not strange:
        return ""
    places = [
        f"{query_id!r} returned {listed(map(repr, found), most=3)}"
        for query_id in run.query_ids
        if (found := [doc_id for doc_id in run[query_id] if doc_id in strange])
    ]
    alike = next((hint for doc_id in sorted(strange)[:10] if (hint := look_alike(doc_id, known))), "")
    return (
        f"{counted(len(strange), 'returned id is', 'returned ids are')} not in the catalog of"
        f" {counted(len(known), 'document', 'documents')}: query"
        f" {listed(places, most=3)}. Index this catalog, or return the catalog's own ids{alike}"
    )


def infeasible(pin: Pin, n: int, threshold: float) -> str:
    """Return why a pin's statistical rule could never fail over n queries, or an empty string."""
    if pin.rule != ESTABLISHED or smallest_p(n, "less") < threshold:
        return ""
    return (
        f"rule = established can never fail here: {counted(n, 'query gives', 'queries give')} a p of"
        f" {smallest_p(n, 'less'):.2g} at the least; the threshold is {threshold:.2g}; add queries, have"
        " fewer such pins, or drop the rule"
    )


def too_little_judged(sides: Sides, measure: Measure, pairs: Mapping[str, tuple[float, float]]) -> str:
    """Return why too few results are judged for any verdict, or an empty string."""
    least = sides.goldset.min_judged
    if least is None or measure.kind.reads == "numbers":  # no judgment could change such a score
        return ""
    share = mean_judged(sides.goldset, measure, sides.run, list(pairs))
    if share >= least:
        return ""
    return f"mean judged@{measure.k or sides.goldset.depth} is {share:.3f}, below min_judged = {least:g}"


def cut_otherwise(sides: Sides, measure: Measure, queries: Iterable[str]) -> str:
    """Return why a measure that goes by the ids of chunks cannot be compared, or an empty string."""
    if measure.kind.name in SPAN_KINDS:
        return ""
    moved = rechunked(sides.goldset, {query_id: sides.evidence[query_id] for query_id in queries})
    if not moved:
        return ""
    return (
        f"{counted(len(moved), 'chunk', 'chunks')} of the pinned rankings"
        f" {'is' if len(moved) == 1 else 'are'} cut otherwise today, and {measure.name} goes by the"
        f" ids of chunks: {listed(moved)}; measures of spans such as span_recall@{measure.k or 5} hold"
        " across chunkings, this one has to be pinned anew"
    )


def forged(sides: Sides, measure: Measure, pin: Pin, pairs: Mapping[str, tuple[float, float]]) -> str:
    """Return why pinned scores do not follow from the pinned rankings, under the very same judgments."""
    lines = {query_id: sides.evidence[query_id] for query_id in pairs}
    cut = [query_id for query_id, line in lines.items() if not (line.replies or line.holds(measure.k))]
    if cut:
        return (
            f"pins and evidence disagree: {measure.name} is pinned, and the rankings of {listed(cut)} are"
            f" not as long as it needs, or as `returned` says; {_TAKE_BACK}"
        )
    if pin.judgments != short(sides.goldset.digests.judgments):
        return ""
    graded = dict.fromkeys(change[0] for change in judgment_changes(sides.goldset, sides.evidence, pairs))
    if graded:
        return (
            f"pins and evidence disagree: the grades of {listed(graded)} are not those of the judgments,"
            f" which are the same as when it was pinned; {_TAKE_BACK}"
        )
    stored = {query_id: sides.evidence[query_id].scores.get(measure.name) for query_id in pairs}
    wrong = [
        query_id
        for query_id, score in stored.items()
        if score is not None and abs(score - pairs[query_id][0]) > SAME
    ]
    if not wrong:
        return ""
    return (
        f"pins and evidence disagree: the pinned {measure.name} of {listed(wrong)} does not follow from"
        f" the pinned ranking, though the judgments are the same; {_TAKE_BACK} if the measure itself"
        " changed"
    )
