"""Semantic search over a catalog: embeddings of a model that the user names, compared one by one.

Every document is compared with the question, so the result is exact: what an approximate index is held
against. Nothing is loaded before the first question, so a subject whose ``requires`` is not met costs
nothing, and neither does a test run that never asks.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, final

import numpy as np

from pytest_retrieval.errors import InputError, MissingExtraError
from pytest_retrieval.files.vectors import VectorCache
from pytest_retrieval.model.columns import objects
from pytest_retrieval.retrievers.best import best, check_count
from pytest_retrieval.retrievers.texts import texts_of

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    Vectors = npt.NDArray[np.float32]

__all__ = ["Semantic"]

DECIMALS = 6
"""Of a score. The same text embedded in another batch or on another machine differs by about 1e-7."""

DELAY = 1.0
"""Seconds before the progress line appears."""


@final
class Semantic:
    """Exact search by embeddings: cosine similarity of question and document.

    The model is loaded and the catalog embedded when the first question is asked. Texts are embedded in
    one fixed order, and each question by itself, so the order of the catalog changes nothing. Scores are
    rounded to 6 decimals; equal ones are ordered by id ascending. Documents without text are left out.

    Parameters
    ----------
    catalog
        DataFrame indexed by doc_id, or ``{doc_id: text}``, or ``{doc_id: {field: text}}``.
    fields
        Columns to embed, joined in this order; by default all of them.
    model
        Name or folder of a sentence-transformers model; or an object with ``encode(texts)``; or
        ``callable(texts)`` that returns an array of one row per text.
    batch_size
        Texts embedded at once.
    cache
        Folder to keep the catalog's embeddings in, under a digest of the model and the texts; None keeps
        them in memory only.
    device
        Where a model given by name or folder runs, such as ``"cpu"``; by default the library's choice.

    Raises
    ------
    InputError
        The catalog has no text or a field is not in it; the model is none; or, at the first question, the
        model returns something that is no embedding or cannot be told apart from others in a cache.
    MissingExtraError
        At the first question: sentence-transformers is not installed.

    References
    ----------
    Reimers and Gurevych, Sentence-BERT, EMNLP 2019.

    Examples
    --------
    >>> import numpy as np
    >>> letters = lambda texts: np.array([[text.count(letter) for letter in "abc"] for text in texts])
    >>> search = Semantic({"d1": "aab", "d2": "cc", "d3": "aab"}, model=letters)
    >>> search("ab", 2)
    [('d1', 0.948683), ('d3', 0.948683)]
    """

    def __init__(
        self,
        catalog: pd.DataFrame | Mapping[str, Any],
        fields: Sequence[str] | None = None,
        *,
        model: object,
        batch_size: int = 32,
        cache: str | os.PathLike[str] | None = None,
        device: str | None = None,
    ) -> None:
        texts = {doc_id: text for doc_id, text in texts_of(catalog, fields).items() if text.strip()}
        if not texts:
            raise InputError("the catalog holds no text; semantic search needs at least one document")
        check_count("batch_size", batch_size)
        named = isinstance(model, str | os.PathLike)
        if not named and not callable(getattr(model, "encode", model)):
            raise InputError(
                f"model is {model!r}; allowed are the name or folder of a sentence-transformers model, an"
                " object with encode(texts), and callable(texts)"
            )
        self._doc_ids = objects(list(texts))
        self._texts = list(texts.values())
        self._given = model
        self._batch_size = batch_size
        self._cache = None if cache is None else VectorCache(cache)
        self._device = device
        self._model: Any = None
        self._vectors: Vectors | None = None
        self._asked: dict[str, Vectors] = {}  # a hybrid and its leg ask the same questions

    def __call__(self, query: str, k: int) -> list[tuple[str, float]]:
        """Return the best documents as (doc_id, score), best first, equal scores by doc_id ascending.

        Scores are cosines, from -1 to 1.
        """
        vectors = self._of_catalog()
        if query not in self._asked:
            (self._asked[query],) = self._embedded([query], "query")
        asked = self._asked[query]
        if asked.shape != vectors.shape[1:]:
            raise InputError(
                f"the model embeds a question in {asked.shape[0]} numbers and a document in"
                f" {vectors.shape[1]}"
            )
        cosines: npt.NDArray[np.float64] = np.asarray(vectors @ asked, dtype=np.float64)
        scores: npt.NDArray[np.float64] = np.round(cosines, DECIMALS)
        return best(self._doc_ids, scores, k)

    def _of_catalog(self) -> Vectors:
        """Return one row of length 1 per document, shape (N, D); made or read on first use."""
        if self._vectors is None:
            self._model = self._loaded()
            distinct = sorted(set(self._texts), key=lambda text: (len(text), text))
            digest = "" if self._cache is None else _digest(self._model, self._batch_size, distinct)
            found = None if self._cache is None else self._cache.get(digest, len(distinct))
            if found is None:
                found = self._batches(distinct)
                if self._cache is not None:
                    self._cache.put(digest, found)
            row = {text: number for number, text in enumerate(distinct)}
            self._vectors = found[[row[text] for text in self._texts]]
        return self._vectors

    def _loaded(self) -> Any:
        if not isinstance(self._given, str | os.PathLike):
            return self._given
        try:
            library = import_module("sentence_transformers")
        except ImportError as error:
            raise MissingExtraError(
                f"embedding with the model {os.fspath(self._given)!r} needs sentence-transformers ({error}):"
                " pip install 'pytest-retrieval[semantic]'"
            ) from error
        return library.SentenceTransformer(os.fspath(self._given), device=self._device)

    def _batches(self, texts: list[str]) -> Vectors:
        """Embed texts in batches of neighbours in length, telling a terminal how far it is."""
        from tqdm import tqdm

        parts = []
        with tqdm(
            total=len(texts), desc="embedding", unit="text", leave=False, delay=DELAY, disable=None
        ) as bar:
            for start in range(0, len(texts), self._batch_size):
                batch = texts[start : start + self._batch_size]
                parts.append(self._embedded(batch, "document"))
                bar.update(len(batch))
        return np.concatenate(parts)

    def _embedded(self, texts: list[str], what: str) -> Vectors:
        """Embed texts as questions or as documents; rows have length 1, or 0 where nothing was embedded."""
        encode = _encoder(self._model, what)
        given = encode(texts)
        vectors = np.asarray(given, dtype=np.float64)
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise InputError(
                f"the model returned an array of shape {vectors.shape} for {len(texts)} texts; allowed is"
                " one row of numbers per text"
            )
        if not np.isfinite(vectors).all():
            raise InputError(f"the model returned numbers that are not finite for {texts[0][:60]!r}")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def _encoder(model: Any, what: str) -> Callable[[list[str]], Any]:
    """Return how to embed: models with prompts of their own tell questions from documents."""
    special = getattr(model, f"encode_{what}", None)
    if callable(special):
        return lambda texts: special(texts, batch_size=len(texts), show_progress_bar=False)
    encode = getattr(model, "encode", None)
    return encode if callable(encode) else model  # type: ignore[no-any-return]


def _digest(model: Any, batch_size: int, texts: Sequence[str]) -> str:
    """Return the digest of everything that embeddings depend on: model, versions, batches, texts."""
    digest = hashlib.sha256(f"{_identity(model)}\n{batch_size}\n".encode())
    for text in texts:
        digest.update(len(text).to_bytes(8, "big") + text.encode(errors="surrogatepass"))
    return digest.hexdigest()


def _tokenizer_text(tokenizer: Any) -> str:
    """Return what a fast tokenizer does to a text, as JSON; empty for any other.

    Truncation and padding are left out: the first text that a model embeds sets them, to its max_seq_length
    and to the batch, so they tell a model that was used from a new one and nothing else.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return ""
    settings = json.loads(backend.to_str())
    sides = {side: getattr(tokenizer, side, None) for side in ("padding_side", "truncation_side")}
    return json.dumps({**settings, "truncation": None, "padding": None, **sides}, sort_keys=True)


def _identity(model: Any) -> str:
    """Return what tells a model from every other.

    Raises
    ------
    InputError
        It is neither a torch module nor has it a `digest`.
    """
    own = getattr(model, "digest", None)
    if isinstance(own, str) and own:
        return own
    if not callable(getattr(model, "state_dict", None)):
        raise InputError(
            f"a cache must tell models apart, and {model!r} does not say what it is: give it an attribute"
            " `digest`, a string that changes whenever its embeddings would; or leave `cache` out"
        )
    torch, library = import_module("torch"), import_module("sentence_transformers")
    digest = hashlib.sha256(f"{model!r}\n{torch.__version__}\n{library.__version__}\n".encode())
    for what in ("prompts", "default_prompt_name", "max_seq_length", "truncate_dim"):
        digest.update(f"{what} {getattr(model, what, None)!r}\n".encode())
    digest.update(_tokenizer_text(getattr(model, "tokenizer", None)).encode())
    for name, tensor in sorted(model.state_dict().items()):
        data = tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(data)
    return digest.hexdigest()
