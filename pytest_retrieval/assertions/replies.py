"""Assertions on answers: what they cite was shown, it is what people judged right, and they decline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pytest_retrieval.answers.citations import Citations, check_citations
from pytest_retrieval.assertions.means import QUERIES, WORST, apart, check_share, names_of, observers
from pytest_retrieval.errors import InputError, counted, listed
from pytest_retrieval.measures.answer_table import AnswerRow, AnswerTable, score_answers
from pytest_retrieval.measures.table import mean_of
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.records import Answer, answers_from

__all__ = ["assert_declines", "assert_exact_share", "assert_grounded"]


def assert_grounded(
    answers: object,
    *,
    positions: int | None = None,
    pattern: str | None = None,
    allowed: int | None = None,
    texts: Mapping[str, str] | None = None,
) -> tuple[Citations, ...]:
    """Assert that everything an answer cites was in its context.

    Parameters
    ----------
    answers
        Answers, mappings, a DataFrame or a recording; at least one.
    positions, pattern, allowed, texts
        As for `check_citations`: how texts cite, how many documents an answer may cite, and the documents'
        texts where quotations are to be checked too.

    Returns
    -------
    tuple of Citations
        One per answer.

    Raises
    ------
    AssertionError
        An answer cites what its context did not hold, quotes what it does not say, or cites too many.
    InputError
        There is no answer, or a value is not allowed.

    Examples
    --------
    >>> assert_grounded([Answer("q1", context_ids=["a"], cited_ids=["b"])])
    Traceback (most recent call last):
    ...
    AssertionError: 1 of 1 answers is not grounded:
      q1: cites b, which the context did not hold
    """
    __tracebackhide__ = True
    values = _some(answers, cited=positions is None and pattern is None)
    found = tuple(
        check_citations(answer, positions=positions, pattern=pattern, allowed=allowed, texts=texts)
        for answer in values
    )
    wrong = [
        (answer, check)
        for answer, check in zip(values, found, strict=True)
        if not check.grounded or check.over_allowed
    ]
    if wrong:
        shown = [f"  {_place(answer)}: {'; '.join(check.problems)}" for answer, check in wrong[:WORST]]
        more = [f"  … and {len(wrong) - WORST} more"] if len(wrong) > WORST else []
        verb = "is" if len(wrong) == 1 else "are"
        head = f"{len(wrong)} of {len(values)} answers {verb} not grounded:"
        raise AssertionError("\n".join([head, *shown, *more]))
    return found


def assert_exact_share(
    answers: object,
    qrels: Qrels,
    *,
    at_least: float,
    by: str | Mapping[str, str] | None = None,
) -> AnswerTable:
    """Assert that the mean exact share of answers is at least a value, over all or in every class.

    The exact share of an answer is the share of the distinct documents it cites that are relevant by their
    judgments; 0 where it cites nothing. Several replies to one query are averaged first; queries without a
    relevant document stay out.

    Parameters
    ----------
    answers
        Answers, mappings, a DataFrame or a recording; at least one.
    qrels
        Judgments.
    at_least
        Smallest mean allowed, in [0, 1].
    by
        ``"stratum"``, ``"split"`` (as the qrels carry them), ``"context"``, ``{query_id: name}``, or None.

    Returns
    -------
    AnswerTable

    Raises
    ------
    AssertionError
        A mean is lower, or undefined because no query has a relevant document.
    InputError
        There is no answer, or a value is not allowed.

    Examples
    --------
    >>> qrels = Qrels({"q1": {"a": 1}})
    >>> assert_exact_share([Answer("q1", context_ids=["a"], cited_ids=["a"])], qrels, at_least=0.6)
    <AnswerTable: 1 answers; exact_share 1.000>
    """
    __tracebackhide__ = True
    table = _table(answers, qrels, "exact_share")
    check_share(at_least, "at_least")
    _assert_means(table.rows, qrels, by, "exact share", lambda row: row.exact_share, at_least)
    return table


def assert_declines(
    answers: object,
    qrels: Qrels,
    *,
    at_least: float = 1.0,
    wrongly_at_most: float | None = None,
    by: str | Mapping[str, str] | None = None,
) -> AnswerTable:
    """Assert that answers to queries without any relevant document cite nothing.

    Parameters
    ----------
    answers, qrels, by
        As for `assert_exact_share`.
    at_least
        Smallest share of unanswerable queries whose answers cite nothing, in [0, 1].
    wrongly_at_most
        Largest share, over the other queries, of answers that cite nothing although their context held
        something relevant. None: not looked at.

    Returns
    -------
    AnswerTable

    Raises
    ------
    AssertionError
        Too few decline, too many decline wrongly, or no query is unanswerable.
    InputError
        There is no answer, or a value is not allowed.

    Examples
    --------
    >>> qrels = Qrels({"q1": {"a": 0}}, unanswerable=["q1"])
    >>> assert_declines([Answer("q1", context_ids=["a"])], qrels)
    <AnswerTable: 1 answers; exact_share n/a>
    """
    __tracebackhide__ = True
    table = _table(answers, qrels, "declined")
    check_share(at_least, "at_least")
    unanswerable = [row for row in table.rows if not row.answerable]
    _assert_means(unanswerable, qrels, by, "declined", lambda row: float(row.recommends_nothing), at_least)
    if wrongly_at_most is not None:
        check_share(wrongly_at_most, "wrongly_at_most")
        rest = [row for row in table.rows if row.answerable]
        _assert_means(
            rest,
            qrels,
            by,
            "declined wrongly",
            lambda row: float(row.recommends_nothing and row.exact_in_context > 0),
            wrongly_at_most,
            most=True,
        )
    return table


def _some(answers: object, *, cited: bool = True) -> tuple[Answer, ...]:
    values = answers_from(answers, cited=cited)
    if not values:
        raise InputError("there is no answer to check; a recording of traces has .traces, not answers")
    return values


def _table(answers: object, qrels: Qrels, what: str) -> AnswerTable:
    table = score_answers(_some(answers), qrels)
    for observer in observers[-1:]:
        observer(what, qrels)
    return table


def _place(answer: Answer) -> str:
    return f"{answer.query_id} ({answer.context})" if answer.context else answer.query_id


def _class_of(qrels: Qrels, by: str | Mapping[str, str] | None) -> Callable[[AnswerRow], str]:
    if by is None:
        return lambda row: ""
    if by == "context":
        return lambda row: row.context
    classes = names_of(qrels, by, also="'context', ")
    return lambda row: classes.get(row.query_id, "(none)")


def _assert_means(
    rows: Sequence[AnswerRow],
    qrels: Qrels,
    by: str | Mapping[str, str] | None,
    what: str,
    score: Callable[[AnswerRow], float],
    limit: float,
    *,
    most: bool = False,
) -> None:
    """Raise where a class's mean is below the limit, or above it where `most` says so."""
    __tracebackhide__ = True
    class_of = _class_of(qrels, by)
    classes: dict[str, dict[tuple[str, str], list[float]]] = {}
    for row in rows:
        of_class = classes.setdefault(class_of(row), {})
        of_class.setdefault((row.query_id, row.context), []).append(score(row))
    problems = [] if classes else [f"{what} is undefined: no answer is to a query that it is defined for"]
    for name, replies in sorted(classes.items()):
        scores = {place: mean_of(values) for place, values in replies.items()}
        mean = mean_of(scores.values())
        if not (mean <= limit if most else mean >= limit):
            problems.append(_shortfall(what, name, mean, limit, scores, most))
    if problems:
        raise AssertionError("\n".join(problems))


def _shortfall(
    what: str,
    name: str,
    mean: float,
    limit: float,
    scores: Mapping[tuple[str, str], float],
    most: bool,
) -> str:
    place = f" of {name}" if name else ""
    defined = {key: score for key, score in scores.items() if score == score}
    if not defined:
        return f"{what}{place} is undefined: none of {counted(len(scores), *QUERIES)} has a relevant document"
    sign = -1 if most else 1
    worst = sorted(defined, key=lambda key: (sign * defined[key], key))[:WORST]
    named = listed(f"{query_id} {defined[query_id, context]:.3f}" for query_id, context in worst)
    asked = f"at most {limit:g} is allowed" if most else f"at least {limit:g} is asked for"
    return (
        f"{what}{place} is {apart(mean, limit)} over {counted(len(defined), *QUERIES)}; {asked};"
        f" {'highest' if most else 'lowest'}: {named}"
    )
