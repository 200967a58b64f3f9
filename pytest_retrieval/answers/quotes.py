"""Quotations: found word for word where they are ascribed, or misattributed, stitched, fabricated."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

from pytest_retrieval.errors import InputError, listed
from pytest_retrieval.measures.tokens import Found
from pytest_retrieval.model.records import Answer

__all__ = ["FABRICATED", "FOUND", "MISATTRIBUTED", "STITCHED", "Quote", "check_quotes"]

FOUND, MISATTRIBUTED, STITCHED, FABRICATED = "found", "misattributed", "stitched", "fabricated"

SHORTEST = 3
"""Words below which something in quotation marks is a name or a word, not a quotation."""

_MARKED = re.compile(r"“([^“”]+)”|\"([^\"]+)\"|«([^«»]+)»|„([^„“”]+)[“”]")
_GAP = re.compile(r"\s*(?:\[\s*(?:…|\.{3})\s*\]|\(\s*(?:…|\.{3})\s*\)|…|\.{3,})\s*")
_SAME = str.maketrans(
    {"’": "'", "‘": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "–": "-", "—": "-", "‑": "-", "−": "-"}
)
_EDGES = " \t\n.,;:!?\"'()[]"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """One quotation and what became of it.

    Attributes
    ----------
    text
        As the answer writes it.
    ascribed
        Document that the answer ascribes it to; empty where it names none.
    verdict
        ``"found"``: word for word in the document it is ascribed to (in any of the context, where it is
        ascribed to none). ``"misattributed"``: in another document of the context. ``"stitched"``: made of
        pieces that stand in the context, of one document or several, but not so. ``"fabricated"``: nowhere.
    spans
        (document, start, end) of each piece found: ``texts[document][start:end]``.
    """

    text: str
    ascribed: str
    verdict: str
    spans: tuple[tuple[str, int, int], ...] = ()

    @property
    def found(self) -> bool:
        """Whether it stands where it should."""
        return self.verdict == FOUND

    @property
    def problem(self) -> str:
        """A sentence on what is wrong; empty where nothing is."""
        shown = f"“{self.text}”" if len(self.text) <= 60 else f"“{self.text[:57]}…”"
        where = listed(dict.fromkeys(doc_id for doc_id, _, _ in self.spans))
        ascribed = self.ascribed or "the context"
        return {
            FOUND: "",
            MISATTRIBUTED: f"quotes {shown} from {ascribed}, and it stands in {where}",
            STITCHED: f"quotes {shown} as one passage of {ascribed}, and it is pieced together from {where}",
            FABRICATED: f"quotes {shown} from {ascribed}, and nothing in the context says so",
        }[self.verdict]


class _Normal(NamedTuple):
    """A text in the form in which texts are compared, and where each sign of it came from."""

    text: str
    places: list[int]


def check_quotes(
    answer: Answer,
    texts: Mapping[str, str],
    quotes: Iterable[str | tuple[str, str]] | None = None,
    citations: Sequence[Found] = (),
) -> tuple[Quote, ...]:
    """Return every quotation of an answer with what became of it.

    Texts are compared after normalisation: Unicode NFKC, case folded, white space as one space, curly
    quotation marks and dashes as straight ones. An omission mark (``…``, ``...``, ``[…]``) joins pieces
    that must follow each other in one document.

    Parameters
    ----------
    answer
        Its context is where quotations may come from.
    texts
        Document → text; every document of the context must be there.
    quotes
        Quotations, or pairs (quotation, document); None for those in quotation marks of three words or more.
    citations
        Where the text cites which document: a marked quotation is ascribed to the next citation after it.

    Raises
    ------
    InputError
        A document of the context has no text, or a quotation is none.
    """
    missing = [doc_id for doc_id in dict.fromkeys(answer.context_ids) if doc_id not in texts]
    if missing:
        raise InputError(f"texts lack {listed(missing)}, which the context held; give the text of each")
    pairs = _marked(answer.text, citations) if quotes is None else [_pair(quote) for quote in quotes]
    held = {doc_id: _normal(texts[doc_id]) for doc_id in dict.fromkeys(answer.context_ids)}
    if any(doc_id and doc_id not in held for _, doc_id in pairs):
        others = {doc_id for _, doc_id in pairs if doc_id and doc_id not in held and doc_id in texts}
        known = {**held, **{doc_id: _normal(texts[doc_id]) for doc_id in sorted(others)}}
    else:
        known = held
    return tuple(_judged(text, doc_id, known, held) for text, doc_id in pairs)


def _pair(quote: object) -> tuple[str, str]:
    if isinstance(quote, str) and quote.strip():
        return quote, ""
    pair = isinstance(quote, tuple | list) and len(quote) == 2 and all(isinstance(q, str) for q in quote)
    if pair and quote[0].strip():  # type: ignore[index]
        return quote[0], quote[1]  # type: ignore[index]
    raise InputError(f"a quotation is {quote!r}; a string, or a pair (string, document), is needed")


def _marked(text: str, citations: Sequence[Found]) -> list[tuple[str, str]]:
    """Return what stands in quotation marks, each with the document of the citation that follows."""
    found = []
    matches = list(_MARKED.finditer(text))
    for number, match in enumerate(matches):
        quoted = next(group for group in match.groups() if group is not None)
        if len(quoted.split()) < SHORTEST:
            continue
        limit = matches[number + 1].start() if number + 1 < len(matches) else len(text)
        after = [c for c in citations if match.end() <= c.start < limit]
        found.append((quoted, after[0].doc_id if after else ""))
    return found


def _judged(text: str, ascribed: str, known: Mapping[str, _Normal], held: Mapping[str, _Normal]) -> Quote:
    pieces = [piece for piece in (_normal(part).text for part in _GAP.split(text)) if piece]
    pieces = [piece.strip(_EDGES) or piece for piece in pieces]
    if not pieces:
        return Quote(text=text, ascribed=ascribed, verdict=FABRICATED)
    where = {doc_id: spans for doc_id, body in known.items() if (spans := _in_order(pieces, doc_id, body))}
    if ascribed in where:
        return Quote(text=text, ascribed=ascribed, verdict=FOUND, spans=where[ascribed])
    if where:
        first = next(iter(where))
        verdict = MISATTRIBUTED if ascribed else FOUND
        return Quote(text=text, ascribed=ascribed, verdict=verdict, spans=where[first])
    stitched = _stitched(pieces, held)
    verdict = STITCHED if stitched else FABRICATED
    return Quote(text=text, ascribed=ascribed, verdict=verdict, spans=stitched)


def _in_order(pieces: Sequence[str], doc_id: str, body: _Normal) -> tuple[tuple[str, int, int], ...]:
    """Return where the pieces stand one after another in one document; empty where they do not."""
    place = 0
    spans = []
    for piece in pieces:
        start = _whole(body.text, piece, place)
        if start < 0:
            return ()
        place = start + len(piece)
        spans.append((doc_id, body.places[start], body.places[place - 1] + 1))
    return tuple(spans)


def _whole(body: str, piece: str, start: int) -> int:
    """Return where a piece stands as whole words from `start` on, or -1."""
    while (place := body.find(piece, start)) >= 0:
        end = place + len(piece)
        left = place == 0 or not (body[place - 1].isalnum() and piece[0].isalnum())
        right = end == len(body) or not (body[end].isalnum() and piece[-1].isalnum())
        if left and right:
            return place
        start = place + 1
    return -1


def _stitched(pieces: Sequence[str], held: Mapping[str, _Normal]) -> tuple[tuple[str, int, int], ...]:
    """Return the longest runs of words, three or more, that cover a quotation; empty where they do not.

    A quotation is stitched where at least two such runs cover all its words.
    """
    spans: list[tuple[str, int, int]] = []
    for piece in pieces:
        words = piece.split(" ")
        begin = 0
        while begin < len(words):
            best = _longest(words, begin, held)
            if best is None:
                return ()
            length, span = best
            spans.append(span)
            begin += length
    return tuple(spans) if len(spans) > 1 else ()


def _longest(
    words: Sequence[str], begin: int, held: Mapping[str, _Normal]
) -> tuple[int, tuple[str, int, int]] | None:
    """Return the length and place of the longest run of words from `begin` on that some document holds."""
    for length in range(len(words) - begin, SHORTEST - 1, -1):
        run = " ".join(words[begin : begin + length])
        for doc_id, body in held.items():
            start = _whole(body.text, run, 0)
            if start >= 0:
                return length, (doc_id, body.places[start], body.places[start + len(run) - 1] + 1)
    return None


def _normal(text: str) -> _Normal:
    """Return a text as it is compared, with the place in the original of each of its signs."""
    signs: list[str] = []
    places: list[int] = []
    for place, sign in enumerate(text):
        for plain in unicodedata.normalize("NFKC", sign).translate(_SAME).casefold():
            if plain.isspace():
                if not signs or signs[-1] == " ":
                    continue
                plain = " "
            signs.append(plain)
            places.append(place)
    while signs and signs[-1] == " ":
        signs.pop()
        places.pop()
    return _Normal("".join(signs), places)
