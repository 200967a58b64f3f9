"""What the files of one gold set must agree on: ids, grades, the relevance level, who has an answer."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_retrieval.errors import Problem, listed, look_alike
from pytest_retrieval.files.catalog import Catalog
from pytest_retrieval.files.judgments import Judgment
from pytest_retrieval.files.queries import Queries
from pytest_retrieval.files.settings import Settings, line_of_key
from pytest_retrieval.model.spans import Spans

__all__ = ["relevance_problems", "stated_level", "undeclared_grades", "unknown_ids", "unnamed_groups"]


def unknown_ids(
    kept: Mapping[tuple[str, str], Judgment], queries: Queries, catalog: Catalog | None
) -> list[Problem]:
    """Return a problem for each judgment of an unknown document and for each unknown query."""
    problems = []
    documents = frozenset() if catalog is None else catalog.items.keys()
    unknown: dict[str, list[Judgment]] = {}
    for (query_id, doc_id), judgment in kept.items():
        if query_id not in queries.lines:
            unknown.setdefault(query_id, []).append(judgment)
        if catalog is not None and catalog.complete and doc_id not in documents:
            message = (
                f"document {doc_id!r}, judged for query {query_id!r}, is not in the catalog: the gold set is"
                f" stale. Remove the judgment or bring the document back{look_alike(doc_id, documents)}"
            )
            problems.append(Problem(message, judgment.file, judgment.line))
    if queries.complete:
        for query_id, of_query in unknown.items():
            message = f"query {query_id!r} is judged ({len(of_query)} documents) but not in {queries.file}"
            problems.append(Problem(message, of_query[0].file, of_query[0].line))
    return problems


def unnamed_groups(kept: Mapping[tuple[str, str], Judgment], settings: Settings) -> list[Problem]:
    """Return a problem where groups are asked for and column 2 of TREC qrels was left at its filler."""
    names = {judgment.group for judgment in kept.values()}
    if not settings.groups or len(kept) < 2 or not (names == {"0"} or names == {"Q0"}):
        return []
    first = next(iter(kept.values()))
    message = f"groups is true, but every document is in group {first.group!r}; name the groups in column 2"
    return [Problem(message, first.file)]


def undeclared_grades(kept: Mapping[tuple[str, str], Judgment], settings: Settings) -> list[Problem]:
    """Return a problem for each judgment whose grade the gold set does not declare."""
    if not settings.grades:
        return []
    allowed = ", ".join(f"{grade} ({name})" for name, grade in settings.grades.items())
    declared = set(settings.grades.values())
    return [
        Problem(
            f"grade {judgment.grade} of document {judgment.doc_id!r} in query {judgment.query_id!r} is not"
            f" among the grades of {settings.file}; allowed are {allowed}",
            judgment.file,
            judgment.line,
        )
        for judgment in kept.values()
        if judgment.grade not in declared
    ]


def stated_level(
    kept: Mapping[tuple[str, str], Judgment], settings: Settings, problems: list[Problem]
) -> int | None:
    """Return the relevance level, which has to be stated where a grade above 1 is possible."""
    highest = max((judgment.grade for judgment in kept.values()), default=0)
    possible = max([highest, *settings.grades.values()])
    if settings.relevance_level is None:
        if possible <= 1:
            return 1
        message = (
            f"grades go up to {possible} but relevance_level is not stated; say from which grade on a"
            " document counts as relevant, such as relevance_level = 1"
        )
        problems.append(Problem(message, settings.file))
        return None
    if kept and settings.relevance_level > highest:
        message = f"relevance_level {settings.relevance_level} is above every grade; the highest is {highest}"
        problems.append(Problem(message, settings.file, line_of_key(settings, "relevance_level")))
        return None
    return settings.relevance_level


def relevance_problems(
    kept: Mapping[tuple[str, str], Judgment],
    settings: Settings,
    queries: Queries,
    level: int,
    spans: Spans | None = None,
) -> list[Problem]:
    """Return a problem for each query that should have something relevant and has none, or vice versa.

    Of a gold set of spans, a query has to have a span: its chunks may all have gone.
    """
    if spans is None:
        relevant: dict[str, list[str]] = {}
        for judgment in kept.values():
            if judgment.grade >= level:
                relevant.setdefault(judgment.query_id, []).append(judgment.doc_id)
        held = {query_id: f"relevant documents: {listed(found)}" for query_id, found in relevant.items()}
        lacking = f"has no document of grade {level} or above; judge one"
    else:
        counts = {
            query_id: sum(span.grade >= level for span in of_query)
            for query_id, of_query in spans.gold.items()
        }
        held = {query_id: f"{count} relevant gold spans" for query_id, count in counts.items() if count}
        lacking = f"has no gold span of grade {level} or above; add one"
    problems = []
    for query_id, line in queries.lines.items():
        if query_id in queries.unanswerable and query_id in held:
            message = f"query {query_id!r} is not answerable but has {held[query_id]}"
        elif query_id in held or query_id in queries.unanswerable or settings.no_relevant == "undefined":
            continue
        else:
            message = (
                f"query {query_id!r} {lacking}, set its answerable to false, or allow it with no_relevant ="
                ' "undefined"'
            )
        problems.append(Problem(message, queries.file, line))
    return problems
