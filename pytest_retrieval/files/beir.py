"""A BEIR folder as a gold set of its own, with each query's shape as its stratum."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_retrieval.errors import GoldSetError, Problem, RetrievalWarning, listed
from pytest_retrieval.files.goldset import goldset_from_frames, load_content
from pytest_retrieval.files.settings import FILE_NAME, read_settings
from pytest_retrieval.files.sheets import shape_of, wordless
from pytest_retrieval.model.goldset import GoldSet

__all__ = ["goldset_of_beir"]

_LAYOUT = "a BEIR folder holds corpus.jsonl, queries.jsonl and qrels/<split>.tsv"
_NEEDED = (
    ("corpus.jsonl", "corpus.*"),
    ("queries.jsonl", "queries.*"),
    ("qrels/<split>.tsv", "qrels/*.tsv*"),
)
_LEFT_OUT = (".csv", ".jsonl", ".txt", ".trec", ".parquet", ".qrel", ".qrels")


def goldset_of_beir(
    folder: str | os.PathLike[str],
    name: str,
    *,
    splits: Sequence[str] = (),
    gate_splits: Sequence[str] = (),
    notes: list[str] | None = None,
) -> GoldSet:
    """Make a gold set of a BEIR folder, with each query's shape as its stratum.

    Parameters
    ----------
    folder
        With corpus.jsonl, queries.jsonl and qrels/.
    name
        Of the gold set.
    splits
        The splits that are meant, where a name looks like a slip of another.
    gate_splits
        Those that are gated; all but ``test`` by default, and ``test`` where it is the only one.
    notes
        What was left out is added here.

    Raises
    ------
    GoldSetError
        The folder cannot be used.
    """
    import pandas as pd

    problems = _layout_problems(Path(folder))
    if problems:
        raise GoldSetError(f"{folder} as a BEIR folder", problems)
    settings = read_settings(folder)
    settings = replace(
        settings,
        splits=tuple(splits) or settings.splits,
        gate_splits=tuple(gate_splits) or settings.gate_splits,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RetrievalWarning)
        found = load_content(settings)
    if notes is not None:
        notes += [str(warning.message) for warning in caught]
    judgments = [
        {"query_id": query_id, "doc_id": doc_id, "grade": grade}
        for query_id in found.qrels
        for doc_id, grade in found.qrels[query_id].items()
    ]
    queries = found.queries.drop(columns=["slices"])
    if found.catalog is not None:
        items = [{str(key): value for key, value in row.items()} for row in found.catalog.to_dict("records")]
        problems = wordless(items, str(folder))
        if problems:
            raise GoldSetError(f"{folder} as a BEIR folder", problems)
    of_splits: dict[str, Any] = {}
    if found.qrels.splits is not None:
        of_splits["splits"] = sorted(set(found.qrels.splits.values()))
    if found.gate_splits is not None:
        of_splits["gate_splits"] = list(found.gate_splits)
    return goldset_from_frames(
        name,
        queries.assign(stratum=[shape_of(text) for text in queries["query"]]),
        pd.DataFrame(judgments, columns=["query_id", "doc_id", "grade"]),
        found.catalog,
        provenance=f"The BEIR folder {Path(folder).resolve().name}.",
        relevance_level=found.qrels.relevance_level,
        no_relevant="undefined",
        **of_splits,
    )


def _layout_problems(folder: Path) -> list[Problem]:
    """Return what a folder lacks, and the files beside its qrels that would be left out."""
    needed = _NEEDED[1:] if (folder / FILE_NAME).is_file() else _NEEDED
    problems = [
        Problem(f"there is no {what}; {_LAYOUT}") for what, pattern in needed if not any(folder.glob(pattern))
    ]
    others = sorted(path.name for path in folder.glob("qrels/[!.]*") if path.suffix in _LEFT_OUT)
    if others:
        message = f"{listed(others)} would be left out, for only .tsv and .tsv.gz count: rename or remove it"
        problems.append(Problem(message, str(folder / "qrels")))
    return problems
