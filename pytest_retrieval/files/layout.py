"""Which files of a folder make up a gold set: ours, or a BEIR folder as it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from pytest_retrieval.errors import Problem, listed
from pytest_retrieval.files.content import label_of
from pytest_retrieval.files.tables import SUFFIXES

__all__ = ["Layout", "layout_of"]

QRELS_SUFFIXES = (".trec", ".trec.gz", *SUFFIXES)


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """The files of a gold set.

    Attributes
    ----------
    queries, catalog
        None where there is none that can be used.
    qrels
        One file, or those of a BEIR folder.
    by_split
        Whether the qrels are a folder whose files are named after splits.
    spans
        Gold spans in place of qrels.
    """

    queries: Path | None
    catalog: Path | None
    qrels: tuple[Path, ...]
    by_split: bool
    spans: Path | None = None


def layout_of(folder: Path, problems: list[Problem]) -> Layout:
    """Return the files of a folder; what is missing or there twice goes to `problems`."""
    queries = _only(folder, _files(folder, ("queries",), SUFFIXES), "queries", SUFFIXES, problems)
    catalogs = _files(folder, ("catalog", "corpus"), SUFFIXES)
    catalog = _only(folder, catalogs, "catalog", SUFFIXES, problems, needed=False)
    single = _files(folder, ("qrels",), QRELS_SUFFIXES)
    by_split = sorted(path for end in (".tsv", ".tsv.gz") for path in (folder / "qrels").glob(f"[!.]*{end}"))
    if by_split and not single:
        return Layout(queries, catalog, tuple(by_split), True)
    spans = _only(folder, _files(folder, ("spans",), SUFFIXES), "spans", SUFFIXES, problems, needed=False)
    if spans is not None:
        if single:
            message = (
                f"there are {single[0].name} and {spans.name}; keep one, for judgments follow from spans"
            )
            problems.append(Problem(message, label_of(folder)))
        return Layout(queries, catalog, (), False, spans)
    both = [*single, folder / "qrels"] if by_split else single
    qrels = _only(folder, both, "qrels", QRELS_SUFFIXES, problems)
    return Layout(queries, catalog, () if qrels is None else (qrels,), False)


def _files(folder: Path, stems: tuple[str, ...], suffixes: tuple[str, ...]) -> list[Path]:
    paths = (folder / f"{stem}{suffix}" for stem in stems for suffix in suffixes)
    return [path for path in paths if path.is_file()]


def _only(
    folder: Path,
    found: list[Path],
    what: str,
    suffixes: tuple[str, ...],
    problems: list[Problem],
    *,
    needed: bool = True,
) -> Path | None:
    if len(found) == 1:
        return found[0]
    allowed = ", ".join(f"{what}{suffix}" for suffix in suffixes)
    if found:
        names = " and ".join(path.name for path in found)
        problems.append(Problem(f"there are {names}; keep one, for only one can count", label_of(folder)))
        return None
    others = sorted(path.name for path in folder.glob(f"{what}.*"))
    if others:
        message = f"{listed(others)} cannot be read as {what}; allowed are {allowed}"
        problems.append(Problem(message, label_of(folder)))
    elif needed:
        problems.append(Problem(f"there is no file of {what}; allowed are {allowed}", label_of(folder)))
    return None
