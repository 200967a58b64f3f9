"""BM25 over a catalog: the baseline every gold set can be measured against, on bm25s."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, final

import numpy as np

from pytest_retrieval.errors import InputError
from pytest_retrieval.model import objects
from pytest_retrieval.retrievers.best import best
from pytest_retrieval.retrievers.texts import texts_of

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
        texts = texts_of(catalog, fields)
        if not texts:
            raise InputError("the catalog is empty; BM25 needs at least one document")
        self._doc_ids = objects(list(texts))
        self._index = bm25s.BM25(k1=k1, b=b, method=method)
        with _quiet("bm25s"):
            self._index.index(self._tokens(list(texts.values())), show_progress=False)

    def __call__(self, query: str, k: int) -> list[tuple[str, float]]:
        """Return the best documents as (doc_id, score), best first, equal scores by doc_id ascending.

        Documents that share no word with the query are left out, so the list may be shorter than `k`.
        """
        words = [word for word in self._tokens([query])[0] if word in self._index.vocab_dict]
        if not words:
            return []
        scores = np.asarray(self._index.get_scores(words), dtype=np.float64)
        found = np.flatnonzero(scores > 0)
        return best(self._doc_ids[found], scores[found], k)

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
