"""Writing a gold set: its files in their plainest form, and never over one that exists."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_retrieval.errors import Problem, SettingsError, listed
from pytest_retrieval.files.writing import replace_files
from pytest_retrieval.model.goldset import ALL, GoldSet

__all__ = ["problems_of_ids", "texts_of_goldset", "write_new"]

_FLAGS = {"answerable": True, "synthetic": False, "must": False}


def write_new(texts: Mapping[Path, str], folder: Path) -> None:
    """Write files that must not exist yet: all of them or none.

    Parameters
    ----------
    texts
        File → text.
    folder
        The gold set's, which has to be empty: what else lies there would be read as part of it.

    Raises
    ------
    SettingsError
        A file exists, and the message names all that do; or one cannot be written.
    """
    there = [path for path in texts if path.exists()]
    others = sorted(folder.glob("[!.]*")) if folder.is_dir() else []
    there += [path for path in others if path not in there]
    if there:
        raise SettingsError(f"nothing was written, for these exist already: {listed(there)}")
    try:
        replace_files(texts)
    except OSError as error:
        raise SettingsError(f"{error.filename}: cannot be written: {error.strerror or error}") from None


def texts_of_goldset(goldset: GoldSet, measures: Mapping[str, list[str]]) -> dict[str, str]:
    """Return the files of a gold set, name → text.

    Parameters
    ----------
    goldset
        Read and checked.
    measures
        Subject → its measures, primary first.
    """
    texts = {
        "goldset.toml": _toml(goldset, measures),
        "queries.jsonl": _queries(goldset),
        "qrels.trec": _qrels(goldset),
    }
    if goldset.catalog is not None:
        texts["catalog.jsonl"] = _catalog(goldset)
    return texts


def _toml(goldset: GoldSet, measures: Mapping[str, list[str]]) -> str:
    import tomlkit

    document = tomlkit.document()
    document["name"] = goldset.name
    document["version"] = goldset.version or "1"
    document["provenance"] = goldset.provenance or "Say who asked these questions, and who judged them."
    document["licence"] = goldset.licence or "Say under which terms the texts may be used."
    document["relevance_level"] = goldset.qrels.relevance_level
    document["unjudged"] = goldset.unjudged
    qrels = goldset.qrels
    if any(not qrels.relevant(query_id) for query_id in qrels if query_id not in qrels.unanswerable):
        document["no_relevant"] = "undefined"
    if qrels.splits is not None:
        document["splits"] = sorted(set(qrels.splits.values()))
    if goldset.gate_splits is not None:
        document["gate_splits"] = list(goldset.gate_splits)
    document["gate_also"] = [ALL] if len(set((goldset.qrels.strata or {}).values())) > 1 else []
    document["depth"] = goldset.depth
    subjects = tomlkit.table(is_super_table=True)
    for subject, names in measures.items():
        table = tomlkit.table()
        table["measures"] = names
        subjects[subject] = table
    document["subjects"] = subjects
    return document.as_string()


def _queries(goldset: GoldSet) -> str:
    lines = []
    for query_id, row in goldset.queries.iterrows():
        line: dict[str, Any] = {"query_id": str(query_id)}
        for name, value in row.items():
            if value is None or value != value or value == "" or _FLAGS.get(str(name)) == value:
                continue
            line[str(name)] = list(value) if isinstance(value, tuple) else value
        if line.get("slices") == []:
            del line["slices"]
        lines.append(_json(line))
    return "".join(lines)


def _qrels(goldset: GoldSet) -> str:
    return "".join(
        f"{query_id} 0 {doc_id} {grade}\n"
        for query_id in goldset.qrels
        for doc_id, grade in sorted(goldset.qrels[query_id].items())
    )


def _catalog(goldset: GoldSet) -> str:
    assert goldset.catalog is not None
    import numpy as np

    names = [str(name) for name in goldset.catalog.columns]
    cells = goldset.catalog.to_numpy(dtype=object)
    # A frame fills what an item lacks with "", which a catalog of thousands of columns cannot afford to hold.
    filled = (cells != "") & (cells != None) & (cells == cells)  # noqa: E711
    if len(cells):
        filled[0] |= ~filled.any(axis=0) & (cells[0] == "")  # so that an empty column is still one
    return "".join(
        _json({"doc_id": doc_id, **{names[place]: row[place] for place in np.flatnonzero(there)}})
        for doc_id, row, there in zip(goldset.catalog.index, cells, filled, strict=True)
    )


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, default=str) + "\n"


def problems_of_ids(goldset: GoldSet, file: str = "") -> list[Problem]:
    """Return the ids that a TREC file cannot hold, for they have white space in them."""
    ids = [*goldset.qrels.query_ids, *goldset.qrels.doc_ids.tolist()]
    return [
        Problem(
            f"id {name!r} has white space in it, which a TREC file cannot hold; replace it, say by '_'", file
        )
        for name in dict.fromkeys(ids)
        if any(character.isspace() for character in name)
    ]
