"""Gold spans on disk: ``spans.jsonl`` and the columns of the catalog that say where each chunk stands."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pytest_retrieval.errors import Problem, look_alike
from pytest_retrieval.files.catalog import Catalog
from pytest_retrieval.files.columns import ids_of, missing_columns, near_misses
from pytest_retrieval.files.judgments import Judgment, whole_number
from pytest_retrieval.files.tables import Table
from pytest_retrieval.model.spans import GoldSpan, Place, Spans

__all__ = ["spans_of"]

_PLACE = ("document", "start", "end")
_COLUMNS = ("query_id", *_PLACE)


def spans_of(
    table: Table, catalog: Catalog | None, catalog_file: str, problems: list[Problem]
) -> tuple[Spans, list[Judgment]]:
    """Return gold spans, and the judgment of every chunk that one overlaps; what is wrong to `problems`."""
    problems += table.problems
    problems += missing_columns(table, list(_COLUMNS))
    problems += near_misses(table, [*_COLUMNS, "grade"])
    places = _places(catalog, catalog_file, problems)
    gold: dict[str, list[GoldSpan]] = {}
    lines: dict[str, list[tuple[GoldSpan, int]]] = {}
    if set(_COLUMNS) <= set(table.columns):
        for row, query_id in zip(table.rows, ids_of(table, "query_id", problems), strict=True):
            place = _place(row.values)
            grade = whole_number(row.values.get("grade", 1))
            if isinstance(place, str) or grade is None:
                why = place if isinstance(place, str) else f"grade {row.values['grade']!r} is no whole number"
                problems.append(Problem(why, table.file, row.line))
            elif query_id is not None:
                span = GoldSpan(*place, grade)
                gold.setdefault(query_id, []).append(span)
                lines.setdefault(query_id, []).append((span, row.line))
    spans = Spans(gold, places)
    if catalog is not None and catalog.complete:
        problems += _stale(lines, {place.document for place in places.values()}, table.file)
    judgments = [
        Judgment(query_id, doc_id, spans.grades(query_id)[doc_id], None, table.file, line)
        for query_id, of_query in lines.items()
        for span, line in of_query
        for doc_id, _ in spans.chunks_of(span)
    ]
    return spans, judgments


def _stale(
    lines: Mapping[str, Sequence[tuple[GoldSpan, int]]], documents: Collection[str], file: str
) -> list[Problem]:
    """Return a problem for each gold span of a document that no chunk is of, if any chunk has a place."""
    return [
        Problem(
            f"document {span.document!r}, of a gold span of query {query_id!r}, has no chunk in the catalog:"
            " the gold set is stale. Remove the span or bring the document back"
            f"{look_alike(span.document, documents)}",
            file,
            line,
        )
        for query_id, of_query in lines.items()
        for span, line in of_query
        if documents and span.document not in documents
    ]


def _places(catalog: Catalog | None, file: str, problems: list[Problem]) -> dict[str, Place]:
    if catalog is None:
        message = "gold spans need a catalog whose chunks say their document, start and end"
        problems.append(Problem(message, file))
        return {}
    places = {}
    for doc_id, item in catalog.items.items():
        place = _place(item)
        if isinstance(place, str):
            problems.append(Problem(f"chunk {doc_id!r}: {place}; gold spans need the place of each", file))
        else:
            places[doc_id] = place
    return places


def _place(values: Mapping[str, Any]) -> Place | str:
    """Return the place in a row, or what is wrong with it."""
    document = values.get("document")
    start, end = (whole_number(values.get(key)) for key in ("start", "end"))
    if not isinstance(document, str) or not document:
        return f"document is {document!r}; allowed is the id of a document"
    if start is None or end is None or not 0 <= start < end:
        return (
            f"start is {values.get('start')!r} and end is {values.get('end')!r}; allowed are characters of"
            " the document with 0 ≤ start < end"
        )
    return Place(document, start, end)
