"""A gold set from its folder or from DataFrames: every file read, everything checked against everything.

All problems of all files are told at once. Nothing here knows what a gate does; it only sees to it that a
gold set which loads can be gated.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_retrieval.errors import GoldSetError, InputError, Problem, RetrievalWarning, listed
from pytest_retrieval.files.catalog import Catalog, catalog_of
from pytest_retrieval.files.consistency import (
    relevance_problems,
    stated_level,
    undeclared_grades,
    unknown_ids,
    unnamed_groups,
)
from pytest_retrieval.files.content import Unreadable, label_of, read_bytes
from pytest_retrieval.files.digest import digests_of
from pytest_retrieval.files.judgments import (
    Judgment,
    agreeing,
    is_beir_header,
    judgments_of_lines,
    judgments_of_table,
)
from pytest_retrieval.files.layout import Layout, layout_of
from pytest_retrieval.files.queries import Queries, queries_of
from pytest_retrieval.files.settings import Settings, read_settings, settings_from
from pytest_retrieval.files.spans import spans_of
from pytest_retrieval.files.tables import Table, read_table, table_of_frame
from pytest_retrieval.model.goldset import GoldSet, Subject
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.spans import Spans

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "goldset_from_frames",
    "goldset_from_tables",
    "load_content",
    "load_goldset",
    "load_with_notes",
    "read_settings",
]


def load_goldset(path: str | os.PathLike[str]) -> GoldSet:
    r"""Read a gold set.

    Parameters
    ----------
    path
        Its folder or its goldset.toml. A BEIR folder works as it is, with relevance level 1.

    Returns
    -------
    GoldSet

    Raises
    ------
    SettingsError
        goldset.toml cannot be used.
    GoldSetError
        The content cannot be used; every problem of every file is named with its line.
    MissingExtraError
        A Parquet file needs the extra ``parquet``.

    Warns
    -----
    RetrievalWarning
        Queries of a BEIR folder that nobody judged are left out, or answerable queries have no relevant
        document where the gold set allows it.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "goldset.toml").write_text('name = "birds"')
    >>> _ = (folder / "queries.csv").write_text("query_id,query\nq1,alpine parrot\n")
    >>> _ = (folder / "qrels.trec").write_text("q1 0 kea 1\n")
    >>> load_goldset(folder)
    <GoldSet 'birds': 1 queries, no catalog, <Qrels: 1 queries, 1 judgments, relevant from grade 1>>
    """
    return load_content(read_settings(path))


def load_with_notes(path: str | os.PathLike[str]) -> tuple[GoldSet, list[str]]:
    """Read a gold set as `load_goldset` does, and return beside it what that would warn of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        goldset = load_goldset(path)
    return goldset, [str(warning.message) for warning in caught]


def load_content(settings: Settings) -> GoldSet:
    """Read the files of a gold set whose settings were read already.

    Raises and warns as `load_goldset` does.
    """
    assert settings.folder is not None, "settings of a folder"
    problems: list[Problem] = []
    layout = layout_of(settings.folder, problems)
    catalog = None if layout.catalog is None else catalog_of(read_table(layout.catalog), problems)
    judgments, of_qrels = _judgments(layout, settings)
    spans = None
    if layout.spans is not None:
        file = label_of(layout.catalog or settings.folder)
        spans, judgments = spans_of(read_table(layout.spans), catalog, file, of_qrels)
    split_of = _splits(judgments, of_qrels) if layout.by_split else None
    if layout.queries is None:
        raise _error(settings, problems + of_qrels)
    table = read_table(layout.queries)
    queries = queries_of(table, settings, problems, split_of)
    goldset = _checked(settings, queries, judgments, catalog, problems, of_qrels, spans)
    if split_of is not None and len(queries.frame) < len(table.rows):
        left_out = [str(row.values.get("_id", row.values.get("query_id"))) for row in table.rows]
        left_out = [query_id for query_id in left_out if query_id not in queries.lines]
        _warn(
            f"{settings.file}: {len(left_out)} of {len(table.rows)} queries have no judgments in qrels/ and"
            f" are left out: {listed(left_out)}"
        )
    if settings.as_is:
        _warn_of_conventions(goldset)
    return goldset


def goldset_from_frames(
    name: str,
    queries: pd.DataFrame,
    qrels: pd.DataFrame | None,
    catalog: pd.DataFrame | None = None,
    *,
    spans: pd.DataFrame | None = None,
    **settings: Any,
) -> GoldSet:
    """Make a gold set of DataFrames, checked as files are.

    Parameters
    ----------
    name
        What identifies it.
    queries
        Columns query_id, query and those that queries.jsonl may have; query_id may be the index.
    qrels
        Columns query_id, doc_id, grade and, if `groups` is set, group; None where there are `spans`.
    catalog
        Column or index doc_id and any fields.
    spans
        Gold spans in place of `qrels`: columns query_id, document, start, end and, if spans have several,
        grade. The catalog's rows are chunks then, with columns document, start and end.
    **settings
        Keys of goldset.toml, such as ``relevance_level=2``.

    Returns
    -------
    GoldSet

    Raises
    ------
    SettingsError
        A keyword or its value is not allowed.
    InputError
        There are both `qrels` and `spans`, or neither.
    GoldSetError
        The content cannot be used; rows are numbered by position, from 0.

    Examples
    --------
    >>> import pandas as pd
    >>> queries = pd.DataFrame({"query_id": ["q1"], "query": ["alpine parrot"]})
    >>> qrels = pd.DataFrame({"query_id": ["q1"], "doc_id": ["kea"], "grade": [1]})
    >>> goldset_from_frames("birds", queries, qrels).qrels["q1"]
    {'kea': 1}
    """
    if (qrels is None) == (spans is None):
        raise InputError("give qrels, or None and spans=…: judgments of chunks follow from spans")
    return goldset_from_tables(
        settings_from({"name": name, **settings}, f"gold set {name!r}"),
        table_of_frame(queries, "queries.iloc"),
        None if qrels is None else table_of_frame(qrels, "qrels.iloc"),
        None if catalog is None else table_of_frame(catalog, "catalog.iloc"),
        None if spans is None else table_of_frame(spans, "spans.iloc"),
    )


def goldset_from_tables(
    settings: Settings,
    queries: Table,
    qrels: Table | None,
    catalog: Table | None = None,
    spans: Table | None = None,
) -> GoldSet:
    """Make a gold set of tables in memory, checked as files are; judgments may be spans, and not both.

    Raises
    ------
    GoldSetError
        The content cannot be used; places are those of the tables.
    """
    problems: list[Problem] = []
    of_qrels: list[Problem] = []
    items = None if catalog is None else catalog_of(catalog, problems)
    asked = queries_of(queries, settings, problems)
    if spans is not None:
        file = "catalog" if catalog is None else catalog.file
        gold, judgments = spans_of(spans, items, file, of_qrels)
        return _checked(settings, asked, judgments, items, problems, of_qrels, gold)
    judgments = [] if qrels is None else judgments_of_table(qrels, settings.groups, of_qrels)
    return _checked(settings, asked, judgments, items, problems, of_qrels)


def _error(settings: Settings, problems: list[Problem]) -> GoldSetError:
    """Return the error that lists all problems, file by file and in the order of lines."""
    files = {problem.file: place for place, problem in reversed(list(enumerate(problems)))}
    problems = sorted(problems, key=lambda problem: (files[problem.file], problem.line or 0))
    where = "" if settings.folder is None else f" in {label_of(settings.folder)}"
    return GoldSetError(f"gold set {settings.name!r}{where}", problems)


def _warn(message: str) -> None:
    warnings.warn(message, RetrievalWarning, stacklevel=4)


def _warn_of_conventions(goldset: GoldSet) -> None:
    """Say where BEIR's conventions decided something that a goldset.toml would have to state."""
    qrels = goldset.qrels
    if qrels.grades.max(initial=0) > 1:
        warnings.warn(
            f"{goldset.folder}: grades go up to {qrels.grades.max()} and relevance_level is"
            f" {qrels.relevance_level}; write a goldset.toml to set another",
            RetrievalWarning,
            stacklevel=4,
        )
    without = [query_id for query_id in qrels if not qrels.relevant(query_id)]
    if without:
        warnings.warn(
            f"{goldset.folder}: {len(without)} of {len(qrels)} queries have no relevant document at"
            f" relevance_level {qrels.relevance_level} and stay out of most means: {listed(without)}",
            RetrievalWarning,
            stacklevel=4,
        )


def _judgments(layout: Layout, settings: Settings) -> tuple[list[Judgment], list[Problem]]:
    judgments: list[Judgment] = []
    problems: list[Problem] = []
    for path in layout.qrels:
        judgments += _judgments_of(path, settings.groups, problems)
    return judgments, problems


def _judgments_of(path: Path, groups: bool, problems: list[Problem]) -> list[Judgment]:
    label = label_of(path)
    plain = path.name.removesuffix(".gz")
    if plain.endswith((".trec", ".tsv")):
        try:
            data = read_bytes(path, label)
        except Unreadable as error:
            problems.append(error.problem)
            return []
        header = data.partition(b"\n")[0].decode(errors="replace")
        if plain.endswith(".trec") or is_beir_header(header) or "doc_id" not in header.split():
            judgments, found = judgments_of_lines(data, label, groups=groups)
            problems += found
            return judgments
    return judgments_of_table(read_table(path), groups, problems)


def _splits(judgments: list[Judgment], problems: list[Problem]) -> dict[str, str]:
    """Return query_id → split, named after the qrels file that judges it."""
    split_of: dict[str, str] = {}
    told: set[str] = set()
    for judgment in judgments:
        split = Path(judgment.file).name.partition(".")[0]
        known = split_of.setdefault(judgment.query_id, split)
        if known != split and judgment.query_id not in told:
            told.add(judgment.query_id)
            message = f"query {judgment.query_id!r} is judged in split {known!r} too; a query has one split"
            problems.append(Problem(message, judgment.file, judgment.line))
    return split_of


def _checked(
    settings: Settings,
    queries: Queries,
    judgments: list[Judgment],
    catalog: Catalog | None,
    problems: list[Problem],
    of_qrels: list[Problem],
    spans: Spans | None = None,
) -> GoldSet:
    """Return the gold set if its parts fit together.

    Raises
    ------
    GoldSetError
        With `problems`, those of the qrels and what does not fit.
    """
    whole = bool(judgments) and not of_qrels
    kept = agreeing(judgments, of_qrels)
    of_qrels += unknown_ids(kept, queries, catalog)
    of_qrels += undeclared_grades(kept, settings)
    of_qrels += unnamed_groups(kept, settings)
    level = stated_level(kept, settings, problems)
    if (whole if spans is None else not of_qrels) and queries.complete and level is not None:
        problems += relevance_problems(kept, settings, queries, level, spans)
    if problems or of_qrels:
        raise _error(settings, problems + of_qrels)
    assert level is not None, "a missing level is a problem"
    return _assembled(settings, queries, kept, catalog, level, spans)


def _assembled(
    settings: Settings,
    queries: Queries,
    kept: Mapping[tuple[str, str], Judgment],
    catalog: Catalog | None,
    level: int,
    spans: Spans | None,
) -> GoldSet:
    graded: dict[str, dict[str, int]] = {query_id: {} for query_id in queries.lines}
    groups: dict[str, dict[str, str]] = {}
    for (query_id, doc_id), judgment in kept.items():
        graded[query_id][doc_id] = judgment.grade
        if judgment.group is not None:
            groups.setdefault(query_id, {})[doc_id] = judgment.group
    qrels = Qrels(
        graded,
        level,
        groups=groups if settings.groups else None,
        strata=queries.strata,
        splits=queries.splits,
        slices=queries.slices,
        unanswerable=queries.unanswerable,
        spans=spans,
    )
    texts = dict(zip(queries.frame.index, queries.frame["query"], strict=True))
    return GoldSet(
        name=settings.name,
        qrels=qrels,
        queries=queries.frame,
        digests=digests_of(qrels, texts, settings.grades, None if catalog is None else catalog.items),
        catalog=None if catalog is None else catalog.frame,
        subjects={
            name: Subject(name, subject.measures, subject.requires)
            for name, subject in settings.subjects.items()
        },
        gate_splits=queries.gate_splits,
        must=queries.must,
        folder="" if settings.folder is None else label_of(settings.folder),
        **{key: getattr(settings, key) for key in _AS_SET},
    )


_AS_SET = (
    "version",
    "provenance",
    "licence",
    "grades",
    "gate_also",
    "unjudged",
    "depth",
    "context_size",
    "min_judged",
    "tolerance",
    "alpha",
    "recording_drift",
)
