"""BM25 over a catalog: the baseline every gold set can be measured against, on bm25s."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, final

import numpy as np

from pytest_retrieval.errors import InputError, listed
from pytest_retrieval.model import objects
from pytest_retrieval.order import by_score

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BM25"]

WORDS = r"(?u)\b\w+\b"
"""What counts as a word by default: runs of letters, digits and underscores."""


@final
class BM25:
    """Lexical search: BM25 as bm25s computes it, with stable ties.

    Parameters
    ----------
    catalog
        DataFrame indexed by doc_id, or ``{doc_id: text}``, or ``{doc_id: {field: text}}``.
    fields
        Columns to index, joined in this order; by default all of them.
    stemmer
        Function from a word to its stem, such as ``Stemmer.Stemmer("english").stemWord``; None for none.
    stop_words
        Words to leave out; none by default.
    token_pattern
        Regular expression for a word; text is lower-cased first.
    k1, b, method
        Of BM25; `method` is one of bm25s' (``"lucene"``, ``"robertson"``, ``"atire"``, ``"bm25l"``,
        ``"bm25+"``).

    Raises
    ------
    InputError
        The catalog is empty or a field is not in it.

    References
    ----------
    Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009; Lù, BM25S, 2024.

    Examples
    --------
    >>> search = BM25({"c12": "damaged items", "c15": "refunds to the card", "c16": "card refunds"})
    >>> [doc_id for doc_id, score in search("refunds card", 10)]
    ['c16', 'c15']
    """

    def __init__(
        self,
        catalog: pd.DataFrame | Mapping[str, Any],
        fields: Sequence[str] | None = None,
        *,
        stemmer: Callable[[str], str] | None = None,
        stop_words: Iterable[str] = (),
        token_pattern: str = WORDS,
        k1: float = 1.5,
        b: float = 0.75,
        method: str = "lucene",
    ) -> None:
        import bm25s

        self._stemmer = stemmer
        self._stop_words = [word.lower() for word in stop_words]
        self._pattern = token_pattern
        doc_ids, texts = _texts(catalog, fields)
        if not doc_ids:
            raise InputError("the catalog is empty; BM25 needs at least one document")
        self._doc_ids = objects(doc_ids)
        self._index = bm25s.BM25(k1=k1, b=b, method=method)
        with _quiet("bm25s"):
            self._index.index(self._tokens(texts), show_progress=False)

    def __call__(self, query: str, k: int) -> list[tuple[str, float]]:
        """Return the best documents as (doc_id, score), best first, equal scores by doc_id ascending.

        Documents that share no word with the query are left out, so the list may be shorter than `k`.
        """
        words = [word for word in self._tokens([query])[0] if word in self._index.vocab_dict]
        if not words:
            return []
        scores = np.asarray(self._index.get_scores(words), dtype=np.float64)
        candidates = np.flatnonzero(scores > 0)
        if len(candidates) > k:
            least = np.partition(scores[candidates], -k)[-k]
            candidates = candidates[scores[candidates] >= least]
        ids, kept = self._doc_ids[candidates], scores[candidates]
        order = by_score(ids, kept, np.array([0, len(ids)]), ties="ascending")[:k]
        return list(zip(ids[order].tolist(), kept[order].tolist(), strict=True))

    def _tokens(self, texts: list[str]) -> list[list[str]]:
        import bm25s

        stemmer = self._stemmer
        tokens: list[list[str]] = bm25s.tokenize(
            texts,
            token_pattern=self._pattern,
            stopwords=self._stop_words,
            stemmer=None if stemmer is None else lambda words: [stemmer(word) for word in words],
            return_ids=False,
            show_progress=False,
        )
        return tokens


@contextmanager
def _quiet(logger: str) -> Iterator[None]:
    """Keep a library's debug messages out of the reports of failing tests."""
    found = logging.getLogger(logger)
    level = found.level
    found.setLevel(logging.WARNING)
    try:
        yield
    finally:
        found.setLevel(level)


def _texts(
    catalog: pd.DataFrame | Mapping[str, Any], fields: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Return ids and texts of a catalog, fields joined by line ends."""
    if isinstance(catalog, Mapping):
        if not fields and all(isinstance(text, str) for text in catalog.values()):
            return list(catalog), list(catalog.values())
        records = {doc_id: dict(item) for doc_id, item in catalog.items()}
        columns = list(dict.fromkeys(name for item in records.values() for name in item))
    else:
        columns = [str(column) for column in catalog.columns]
        rows = catalog.to_numpy(dtype=object).tolist()
        records = {
            doc_id: dict(zip(columns, row, strict=True))
            for doc_id, row in zip(catalog.index.tolist(), rows, strict=True)
        }
    wanted = list(fields) if fields is not None else columns
    unknown = [name for name in wanted if name not in columns]
    if unknown:
        raise InputError(
            f"the catalog has no field {listed(map(repr, unknown))}; it has {listed(columns, 30)}"
        )
    return list(records), ["\n".join(_words(item.get(name)) for name in wanted) for item in records.values()]


def _words(value: object) -> str:
    """Return the text of one field; of a mapping or a list, that of its values."""
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, Mapping):
        return " ".join(_words(inner) for inner in value.values())
    if isinstance(value, list | tuple):
        return " ".join(_words(inner) for inner in value)
    return str(value)
