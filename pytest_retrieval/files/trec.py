"""TREC runs and qrels, and BEIR's qrels.tsv: what other tools write and read.

A file is read twice at most. pandas' C engine takes the ordinary file at once; whatever it cannot take
without doubt is read again line by line, and that pass decides: it returns the same values or names every
problem with its line.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pytest_retrieval.errors import FileError, InputError, Problem, RetrievalWarning, listed
from pytest_retrieval.files.content import (
    Unreadable,
    columns_filled,
    label_of,
    lines_of,
    read_bytes,
    words_of,
)
from pytest_retrieval.files.judgments import agreeing, is_beir_header, judgments_of_lines, whole_number
from pytest_retrieval.files.quick import quick_frame, separators_of
from pytest_retrieval.files.writing import replace_file
from pytest_retrieval.model.columns import objects
from pytest_retrieval.model.order import by_score
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Run

if TYPE_CHECKING:
    from pytest_retrieval.model.columns import FloatArray, IntArray, ObjectArray

__all__ = ["load_qrels", "load_run", "save_run"]


class RunColumns(NamedTuple):
    """The rows of a run file in the order of its lines."""

    query_ids: ObjectArray
    doc_ids: ObjectArray
    scores: FloatArray


def load_run(path: str | os.PathLike[str], name: str = "") -> Run:
    r"""Read a TREC run: query, Q0, document, rank, score, tag, separated by white space.

    The file is a mapping document → score: its rank column is ignored, rankings are sorted by score
    descending and equal scores by document id descending, as trec_eval does. Words after the tag are
    ignored too. A document named twice stays twice; `evaluate` decides what that means.

    Parameters
    ----------
    path
        Plain or gzipped.
    name
        Name of the system; by default the file's name up to its first dot.

    Returns
    -------
    Run
        Queries in the order in which the file first names them.

    Raises
    ------
    FileError
        With every problem of the file and its line.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "bm25.run")
    >>> _ = path.write_text("q1 Q0 kea 1 0.5 bm25\nq1 Q0 tui 2 0.75 bm25\n")
    >>> load_run(path)["q1"]
    ('tui', 'kea')
    """
    label = label_of(path)
    data = _bytes_of(path, "run", label)
    columns = _fast_run(data) or _careful_run(data, label)
    codes, query_ids, order = _blocks(columns.query_ids)
    doc_ids, scores = columns.doc_ids, columns.scores
    if order is not None:
        doc_ids, scores = doc_ids[order], scores[order]
    starts = _starts(codes, len(query_ids))
    ranked = by_score(doc_ids, scores, starts)
    if not _is_counting(ranked):
        doc_ids, scores = doc_ids[ranked], scores[ranked]
    return Run.from_columns(
        query_ids, starts, doc_ids, scores, name=name or Path(path).name.partition(".")[0]
    )


def load_qrels(path: str | os.PathLike[str], relevance_level: int = 1, *, groups: bool = False) -> Qrels:
    r"""Read TREC qrels (query, group, document, grade) or BEIR's tsv with its header.

    Lines that begin with ``#`` are comments, as for trec_eval. The same judgment twice is one item.

    Parameters
    ----------
    path
        Plain or gzipped.
    relevance_level
        Smallest grade that counts as relevant.
    groups
        Column 2 of TREC qrels names a group of interchangeable documents; otherwise it is ignored.

    Returns
    -------
    Qrels
        Queries in the order in which the file first names them.

    Raises
    ------
    FileError
        With every problem of the file and its line.

    Warns
    -----
    RetrievalWarning
        Queries without any relevant document at this level; they stay out of most means.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "qrels.txt")
    >>> _ = path.write_text("q1 0 kea 1\nq1 0 tui 0\n")
    >>> load_qrels(path)["q1"]
    {'kea': 1, 'tui': 0}
    """
    label = label_of(path)
    data = _bytes_of(path, "qrels", label)
    qrels = None if groups else _fast_qrels(data, relevance_level)
    if qrels is None:
        qrels = _careful_qrels(data, label, relevance_level, groups)
    _warn_without_relevant(qrels, label)
    return qrels


def save_run(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a TREC run that reads back as the same rankings under trec_eval's tie rule.

    Scores are kept where they fall strictly; otherwise they are derived from the ranks. A query without
    documents cannot be written in this format and is left out.

    Parameters
    ----------
    run
        Rankings; the run's name becomes the tag.
    path
        Written whole or not at all; gzipped where it ends in ``.gz``.

    Raises
    ------
    InputError
        An id holds white space, which separates the columns, or the run holds no document.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "mine.run")
    >>> save_run(Run({"q1": ["kea", "tui"]}, name="mine"), path)
    >>> print(path.read_text(), end="")
    q1 Q0 kea 1 2.0 mine
    q1 Q0 tui 2 1.0 mine
    """
    documents = run.doc_ids.tolist()
    if not documents:
        raise InputError(f"{label_of(path)}: the run holds no document, so there is nothing to write")
    broken = [name for name in dict.fromkeys([*run.query_ids, *documents]) if not _is_one_word(name)]
    if broken:
        raise InputError(
            f"{label_of(path)}: a TREC run separates its columns by white space, so ids cannot hold any:"
            f" {listed(map(repr, broken))}"
        )
    tag = "_".join(run.name.split()) or "run"
    lines: list[str] = []
    for number, query_id in enumerate(run.query_ids):
        start, end = int(run.starts[number]), int(run.starts[number + 1])
        scores = _falling(None if run.scores is None else run.scores[start:end], end - start)
        rows = zip(documents[start:end], scores.tolist(), strict=True)
        lines += (
            f"{query_id} Q0 {doc} {rank} {score!r} {tag}\n" for rank, (doc, score) in enumerate(rows, 1)
        )
    replace_file(path, "".join(lines))


def _bytes_of(path: str | os.PathLike[str], what: str, label: str) -> bytes:
    try:
        return read_bytes(Path(path), label)
    except Unreadable as error:
        raise FileError(f"{what} {label}", [error.problem]) from None


def _fast_run(data: bytes) -> RunColumns | None:
    frame = quick_frame(data, ["query", "q0", "doc", "rank", "score", "tag"], "score", separators_of(data))
    if frame is None or np.isnan(frame["score"].to_numpy()).any():
        return None
    return RunColumns(frame["query"].to_numpy(), frame["doc"].to_numpy(), frame["score"].to_numpy())


def _fast_qrels(data: bytes, relevance_level: int) -> Qrels | None:
    """Return qrels of a file without comments, repeated judgments or anything doubtful."""
    header, _, body = data.partition(b"\n")
    if is_beir_header(header.decode(errors="replace")):
        frame = quick_frame(body, ["query", "doc", "grade"], "grade", ("\t",))
    elif header.startswith(b"#") or b"\n#" in data:
        return None
    else:
        frame = quick_frame(data, ["query", "group", "doc", "grade"], "grade", separators_of(data))
    if frame is None:
        return None
    grades = frame["grade"].to_numpy()
    if not (np.isfinite(grades) & (grades == np.trunc(grades)) & (np.abs(grades) < 2**53)).all():
        return None
    if frame.duplicated(["query", "doc"]).any():
        return None
    codes, query_ids, order = _blocks(frame["query"].to_numpy())
    doc_ids, whole = frame["doc"].to_numpy(), grades.astype(np.int64)
    if order is not None:
        doc_ids, whole = doc_ids[order], whole[order]
    starts = _starts(codes, len(query_ids))
    return Qrels.from_columns(query_ids, starts, doc_ids, whole, relevance_level=relevance_level)


def _careful_run(data: bytes, label: str) -> RunColumns:
    lines, problems = lines_of(data, label)
    queries: list[str] = []
    documents: list[str] = []
    scores: list[float] = []
    for number, text in lines:
        words = words_of(text)
        problem = _run_problem(words)
        if problem is None:
            queries.append(words[0])
            documents.append(words[2])
            scores.append(float(words[4]))
        else:
            problems.append(Problem(problem, label, number))
    if problems:
        raise FileError(f"run {label}", sorted(problems, key=_line))
    return RunColumns(objects(queries), objects(documents), np.array(scores, dtype=np.float64))


def _run_problem(words: list[str]) -> str | None:
    """Return what is wrong with a line of a run."""
    if len(words) < 6:
        return f"{columns_filled(words)}; expected 6 columns (query, Q0, document, rank, score, tag)"
    if len(words) > 6 and whole_number(words[3]) is None:
        return f"{len(words)} columns and rank {words[3]!r}: does an id hold white space? Columns cannot"
    number = _number(words[4])
    if number is None or number != number:
        return (
            f"score {words[4]!r} of document {words[2]!r} in query {words[0]!r} is not a number; allowed are"
            " numbers and infinities"
        )
    return None


def _number(word: str) -> float | None:
    if "_" in word or not word.isascii():
        return None
    try:
        return float(word)
    except ValueError:
        return None


def _careful_qrels(data: bytes, label: str, relevance_level: int, groups: bool) -> Qrels:
    judgments, problems = judgments_of_lines(data, label, groups=groups)
    kept = agreeing(judgments, problems)
    if problems:
        raise FileError(f"qrels {label}", sorted(problems, key=_line))
    graded: dict[str, dict[str, int]] = {}
    named: dict[str, dict[str, str]] = {}
    for judgment in kept.values():
        graded.setdefault(judgment.query_id, {})[judgment.doc_id] = judgment.grade
        if judgment.group is not None:
            named.setdefault(judgment.query_id, {})[judgment.doc_id] = judgment.group
    return Qrels(graded, relevance_level, groups=named if groups else None)


def _line(problem: Problem) -> int:
    return problem.line or 0


def _blocks(query_ids: ObjectArray) -> tuple[IntArray, list[str], IntArray | None]:
    """Return sorted query numbers, the ids in order of first appearance, and the row order if it changed."""
    import pandas as pd

    codes, names = pd.factorize(query_ids)
    order = None
    if (codes[1:] < codes[:-1]).any():
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
    return codes, names.tolist(), order


def _starts(codes: IntArray, count: int) -> IntArray:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(codes, minlength=count))])


def _is_counting(order: IntArray) -> bool:
    return bool((order[1:] > order[:-1]).all())


def _is_one_word(name: str) -> bool:
    return not any(sign.isspace() or sign in "\0\ufeff" or "\ud800" <= sign <= "\udfff" for sign in name)


def _falling(scores: FloatArray | None, count: int) -> FloatArray:
    """Return the scores of one ranking if they fall strictly, or scores that do."""
    if scores is not None and not np.isnan(scores).any() and (scores[1:] < scores[:-1]).all():
        return scores
    return np.arange(count, 0, -1, dtype=np.float64)


def _warn_without_relevant(qrels: Qrels, label: str) -> None:
    relevant = np.concatenate([[0], np.cumsum(qrels.grades >= qrels.relevance_level)])
    counts = relevant[qrels.starts[1:]] - relevant[qrels.starts[:-1]]
    without = [qrels.query_ids[number] for number in np.flatnonzero(counts == 0).tolist()]
    if without:
        warnings.warn(
            f"{label}: {len(without)} of {len(qrels)} queries have no relevant document at relevance_level"
            f" {qrels.relevance_level}, are undefined for most measures and stay out of their means:"
            f" {listed(without)}",
            RetrievalWarning,
            stacklevel=3,
        )
