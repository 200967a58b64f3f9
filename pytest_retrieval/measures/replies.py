"""The join of replies: what a model cited and was shown, joined with judgments once for every measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Run

if TYPE_CHECKING:
    import numpy.typing as npt

    from pytest_retrieval.model.run import Reply

    IntArray = npt.NDArray[np.int64]
    FloatArray = npt.NDArray[np.float64]
    BoolArray = npt.NDArray[np.bool_]

__all__ = ["JudgedReplies", "join_replies"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class JudgedReplies:
    """One reply per query joined with judgments: one row per distinct document that it cites or was shown.

    Attributes
    ----------
    answered : ndarray of bool, shape (Q,)
        Which queries have a reply.
    cited_query, cited_grade : ndarray of int64, shape (C,)
        Query number and grade of each distinct cited document; the grade is 0 where nobody judged it.
    cited_judged, cited_shown : ndarray of bool, shape (C,)
        Whether somebody judged it, and whether it was in front of the model.
    shown_query, shown_grade : ndarray of int64, shape (S,)
        The same of each distinct document that was shown.
    shown_judged : ndarray of bool, shape (S,)
    numbers : mapping of name → ndarray of float64, shape (Q,)
        Plain numbers of the reply, NaN where it has none.
    """

    answered: BoolArray
    cited_query: IntArray
    cited_grade: IntArray
    cited_judged: BoolArray
    cited_shown: BoolArray
    shown_query: IntArray
    shown_grade: IntArray
    shown_judged: BoolArray
    numbers: Mapping[str, FloatArray]


def join_replies(qrels: Qrels, run: Run) -> JudgedReplies | None:
    """Return the first reply to each judged query joined with its judgments; None for a plain run.

    A run without any ranking may be one of replies that has none.

    Several replies to one query are scored one by one (`evaluate` does so) and then averaged.
    """
    if not run.replies and len(run):
        return None
    replies = [(run.replies.get(query_id) or (None,))[0] for query_id in qrels.query_ids]
    cited, shown = _rows(qrels, replies, "cited"), _rows(qrels, replies, "shown")
    names = sorted({name for reply in replies if reply is not None for name in reply.numbers})
    numbers = {
        name: np.array([np.nan if r is None else r.numbers.get(name, np.nan) for r in replies], dtype=float)
        for name in names
    }
    return JudgedReplies(
        answered=np.array([reply is not None for reply in replies], dtype=np.bool_),
        cited_query=cited[0],
        cited_grade=cited[1],
        cited_judged=cited[2],
        cited_shown=cited[3],
        shown_query=shown[0],
        shown_grade=shown[1],
        shown_judged=shown[2],
        numbers=numbers,
    )


def _rows(
    qrels: Qrels, replies: Iterable[Reply | None], what: str
) -> tuple[IntArray, IntArray, BoolArray, BoolArray]:
    """Return query number, grade, whether judged and whether shown, per distinct document."""
    rows: list[tuple[int, int, bool, bool]] = []
    for number, (query_id, reply) in enumerate(zip(qrels.query_ids, replies, strict=True)):
        if reply is None:
            continue
        grades, shown = qrels[query_id], set(reply.shown)
        rows += (
            (number, grades.get(doc_id, 0), doc_id in grades, doc_id in shown)
            for doc_id in dict.fromkeys(getattr(reply, what))
        )
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4)
    return columns[:, 0], columns[:, 1], columns[:, 2].astype(np.bool_), columns[:, 3].astype(np.bool_)
