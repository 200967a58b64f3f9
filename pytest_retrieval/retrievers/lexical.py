"""BM25 over a catalog: the baseline every gold set can be measured against, on bm25s."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, final

import numpy as np

from pytest_retrieval.errors import InputError
from pytest_retrieval.model.columns import objects
from pytest_retrieval.retrievers.best import best, check_count
from pytest_retrieval.retrievers.texts import texts_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BM25"]

METHODS = ("lucene", "robertson", "atire", "bm25l", "bm25+")

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
        Column, or columns, to index, joined in this order; by default all of them.
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
        The catalog is empty or no document has a word, a field is not in it, or an argument is not allowed.

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
        fields: str | Sequence[str] | None = None,
        *,
        stemmer: Callable[[str], str] | None = None,
        stop_words: Iterable[str] = (),
        token_pattern: str = WORDS,
        k1: float = 1.5,
        b: float = 0.75,
        method: str = "lucene",
    ) -> None:
        import bm25s

        _check_arguments(stemmer, token_pattern, k1, b, method)
        self._stemmer = stemmer
        self._stop_words = _stop_words(stop_words)
        self._pattern = token_pattern
        texts = texts_of(catalog, fields)
        if not texts:
            raise InputError("the catalog is empty; BM25 needs at least one document")
        self._doc_ids = objects(list(texts))
        self._index = bm25s.BM25(k1=k1, b=b, method=method)
        tokens = self._tokens(list(texts.values()))
        if not any(tokens):
            raise InputError(
                f"none of the {len(texts)} documents of the catalog has a word in the fields to index, as"
                f" token_pattern {token_pattern!r} knows words; name the fields that hold texts"
            )
        with _quiet("bm25s"):
            self._index.index(tokens, show_progress=False)

    def __call__(self, query: str, k: int) -> list[tuple[str, float]]:
        """Return the best documents as (doc_id, score), best first, equal scores by doc_id ascending.

        Documents that share no word with the query are left out, so the list may be shorter than `k`.
        """
        if not isinstance(query, str):
            raise InputError(f"the query is {query!r}; a text is needed")
        check_count("k", k)
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


def _stop_words(words: Iterable[str]) -> list[str]:
    listed = [None] if isinstance(words, str) or not isinstance(words, Iterable) else list(words)
    if not all(isinstance(word, str) for word in listed):
        raise InputError(f"stop_words is {words!r}; allowed is a list of words")
    return [str(word).lower() for word in listed]


def _check_arguments(stemmer: object, token_pattern: object, k1: object, b: object, method: object) -> None:
    if stemmer is not None and not callable(stemmer):
        raise InputError(f"stemmer is {stemmer!r}; allowed is a function from a word to its stem, or None")
    try:
        re.compile(token_pattern)  # type: ignore[call-overload]
    except (re.error, TypeError) as error:
        raise InputError(
            f"token_pattern is {token_pattern!r}, which is no regular expression: {error}"
        ) from None
    for name, value, high in (("k1", k1, float("inf")), ("b", b, 1.0)):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value <= high or value == float("inf"):  # type: ignore[operator]
            allowed = "a number from 0" + (" to 1" if high == 1 else "")
            raise InputError(f"{name} is {value!r}; allowed is {allowed}")
    if method not in METHODS:
        raise InputError(f"method is {method!r}; allowed are {', '.join(METHODS)}")


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
