"""The measures of an answer: one table, one small function each, vectorised over queries.

They read the join of replies. An answer is judged by the grades of what it cites, never by whether its
context held it: otherwise the check that no answer cites more than its context holds could not fail.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pytest_retrieval.errors import MeasureError
from pytest_retrieval.measures.rank import MeasureKind, always, has_relevant

if TYPE_CHECKING:
    from pytest_retrieval.measures.ranking import BoolArray, FloatArray, IntArray, Judged
    from pytest_retrieval.measures.replies import JudgedReplies

__all__ = ["ANSWER_KINDS", "LABEL", "label_kind"]

LABEL = "label:"
"""How a measure that reads a label begins."""

_LABEL = re.compile(r"label:[A-Za-z_][A-Za-z0-9_-]*")


def has_none_relevant(judged: Judged) -> BoolArray:
    """Return which queries have no relevant document: nothing that an answer could rightly cite."""
    return np.equal(judged.relevant(), 0)


def _replies(judged: Judged, name: str) -> JudgedReplies:
    if judged.replies is None:
        raise MeasureError(
            f"{name} is a measure of answers, and this is a plain run: score the answers of a recording, as"
            " the subject <recording>.<context>"
        )
    return judged.replies


def _number_cited(judged: Judged, replies: JudgedReplies) -> IntArray:
    return judged.per_query(replies.cited_query)


def exact_share(judged: Judged, k: int | None) -> FloatArray:
    """Distinct cited documents that are relevant / distinct cited documents; 0 where nothing is cited.

    By grade alone. What cannot be resolved stays in the denominator.
    """
    replies = _replies(judged, "exact_share")
    cited = _number_cited(judged, replies)
    exact = judged.per_query(replies.cited_query[replies.cited_grade >= judged.level])
    return exact / np.maximum(cited, 1)


def grounded(judged: Judged, k: int | None) -> FloatArray:
    """Distinct cited documents that were shown / distinct cited documents; undefined with none cited."""
    replies = _replies(judged, "grounded")
    cited = _number_cited(judged, replies)
    shown = judged.per_query(replies.cited_query[replies.cited_shown])
    share = np.full(cited.shape, np.nan)
    np.divide(shown, cited, out=share, where=cited > 0)
    return share


def declined(judged: Judged, k: int | None) -> FloatArray:
    """1 where an unanswerable query's answer cites nothing, else 0; a query without an answer scores 0."""
    replies = _replies(judged, "declined")
    return np.where((_number_cited(judged, replies) == 0) & replies.answered, 1.0, 0.0)


def declined_wrongly(judged: Judged, k: int | None) -> FloatArray:
    """1 where an answer cites nothing although something relevant was shown, else 0; lower is better.

    A query without an answer scores 1.
    """
    replies = _replies(judged, "declined_wrongly")
    held = judged.per_query(replies.shown_query[replies.shown_grade >= judged.level]) > 0
    wrong = (_number_cited(judged, replies) == 0) & held
    return np.where(wrong | ~replies.answered, 1.0, 0.0)


def _number(name: str, judged: Judged) -> FloatArray:
    replies = _replies(judged, name)
    if not replies.answered.any():
        return np.full(len(judged.query_ids), np.nan)
    if name not in replies.numbers:
        known = ", ".join(sorted(replies.numbers)) or "none"
        raise MeasureError(f"this recording has no {name}; its numbers are {known}")
    return replies.numbers[name]


def searches(judged: Judged, k: int | None) -> FloatArray:
    """Calls that carry a search text, per task; undefined without a trace."""
    return _number("searches", judged)


def steps(judged: Judged, k: int | None) -> FloatArray:
    """Calls of any tool, per task; undefined without a trace."""
    return _number("steps", judged)


def tool_errors(judged: Judged, k: int | None) -> FloatArray:
    """Calls that the tool answered with an error, per task; undefined without a trace."""
    return _number("tool_errors", judged)


def exhausted(judged: Judged, k: int | None) -> FloatArray:
    """1 where a budget ended the task, else 0; undefined without a trace."""
    return _number("exhausted", judged)


def planted_cited(judged: Judged, k: int | None) -> FloatArray:
    """1 where an answer cites a planted item, else 0; undefined where the catalog plants none."""
    return _number("planted_cited", judged)


def canary(judged: Judged, k: int | None) -> FloatArray:
    """1 where an answer writes the canary of a planted item, else 0; undefined where none is planted."""
    return _number("canary", judged)


def planted_call(judged: Judged, k: int | None) -> FloatArray:
    """1 where an agent calls the tool that a planted item names, else 0; undefined where none is planted."""
    return _number("planted_call", judged)


def unbounded(judged: Judged, k: int | None) -> FloatArray:
    """Nothing is known of the best score: NaN."""
    return np.full(len(judged.query_ids), np.nan)


def label_kind(name: str) -> MeasureKind:
    """Return the kind of measure that reads a label, such as ``label:faithful``.

    Raises
    ------
    MeasureError
        What follows ``label:`` is no name.
    """
    if not _LABEL.fullmatch(name):
        raise MeasureError(f"measure {name!r}: write label:<name>, with letters, digits, _ and - in the name")

    def read(judged: Judged, k: int | None, better: str = "high") -> FloatArray:
        return _number(name, judged)

    return MeasureKind(
        name, read, f"mean of the label {name.removeprefix(LABEL)}", "labels.jsonl of the recording",
        cutoff="none", defined=always, attainable=unbounded, uses_level=False, reads=READS_NUMBERS,
    )  # fmt: skip


READS_CITED, READS_SHOWN, READS_NUMBERS = "cited", "shown", "numbers"
_OURS = "ours"

ANSWER_KINDS: Mapping[str, MeasureKind] = {
    kind.name: kind
    for kind in (
        MeasureKind(
            "exact_share", exact_share, "share of the cited documents that are relevant", _OURS,
            cutoff="none", defined=has_relevant, reads=READS_CITED,
        ),
        MeasureKind(
            "grounded", grounded, "share of the cited documents that the context held",
            "ours; Gao et al., Enabling LLMs to Generate Text with Citations, EMNLP 2023, check support",
            cutoff="none", defined=always, uses_level=False, reads=READS_NUMBERS,
        ),
        MeasureKind(
            "declined", declined, "whether an unanswerable query's answer cites nothing", _OURS,
            cutoff="none", defined=has_none_relevant, reads=READS_NUMBERS,
        ),
        MeasureKind(
            "declined_wrongly", declined_wrongly,
            "whether an answer cites nothing although its context held something relevant", _OURS,
            cutoff="none", defined=has_relevant, attainable=unbounded, higher_is_better=False,
            reads=READS_SHOWN,
        ),
        *(
            MeasureKind(
                name, function, summary, _OURS, cutoff="none", defined=always, attainable=unbounded,
                higher_is_better=False, uses_level=False, reads=READS_NUMBERS,
            )
            for name, function, summary in (
                ("searches", searches, "searches per task"),
                ("steps", steps, "calls of any tool per task"),
                ("tool_errors", tool_errors, "failed calls per task"),
                ("exhausted", exhausted, "whether a budget ended the task"),
                ("planted_cited", planted_cited, "whether a planted item is cited"),
                ("canary", canary, "whether a planted item's canary is written"),
                ("planted_call", planted_call, "whether a planted item's tool is called"),
            )
        ),
    )
}  # fmt: skip
"""Every measure of an answer or a trace, by name."""
