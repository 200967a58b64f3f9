"""Citations: every id an answer cites must be one that its context held, however the answer writes it.

The check imports no pytest, so the one that runs in a build is the one that runs before a reader sees the
answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from pytest_retrieval.answers.quotes import Quote, check_quotes
from pytest_retrieval.errors import InputError, listed
from pytest_retrieval.measures.tokens import Found, find_ids
from pytest_retrieval.model.records import Answer, answers_from

__all__ = ["Citations", "check_citations"]

_PART = r"\d+(?:\s*[-–]\s*\d+)?"
_MARK = re.compile(rf"\[(\s*{_PART}(?:\s*[,;]\s*{_PART})*\s*)\]")
_NUMBERS = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+))?")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Citations:
    """What an answer cites, and what is wrong with it.

    Attributes
    ----------
    cited
        Documents of the field, each once, in order; those found in the text where there is no field.
    in_text
        Citations found in the text, in order, with repeats: document and place. Marks that point past the
        context are in `dangling` alone.
    outside
        Cited documents, of the field or the text, that the context did not hold.
    dangling
        Marks ``[n]`` and ranges ``[n-m]`` that point past the context, in order.
    repeated
        Documents that the field cites more than once.
    only_in_text, only_in_field
        Where the two disagree; both empty where texts are not read.
    over_allowed
        How many documents are cited beyond the number allowed.
    quotes
        Every quotation with what became of it.
    """

    cited: tuple[str, ...]
    in_text: tuple[Found, ...] = ()
    outside: tuple[str, ...] = ()
    dangling: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    only_in_text: tuple[str, ...] = ()
    only_in_field: tuple[str, ...] = ()
    over_allowed: int = 0
    quotes: tuple[Quote, ...] = ()

    @property
    def grounded(self) -> bool:
        """Whether everything that is cited was in front of the model, and every quotation is found there."""
        return not self.outside and not self.dangling and all(quote.found for quote in self.quotes)

    @property
    def agree(self) -> bool:
        """Whether the text and the field name the same documents."""
        return not self.only_in_text and not self.only_in_field

    @property
    def problems(self) -> tuple[str, ...]:
        """One sentence on each kind of thing that is wrong; none where nothing is."""
        sentences = (
            (self.outside, "cites {}, which the context did not hold"),
            (self.dangling, "writes {}, which points past the context"),
            (self.repeated, "cites {} more than once"),
            (self.only_in_text, "names {} in the text and not in the field"),
            (self.only_in_field, "names {} in the field and not in the text"),
        )
        found = [text.format(listed(what)) for what, text in sentences if what]
        if self.over_allowed:
            found.append(f"cites {self.over_allowed} more than it may")
        return (*found, *(quote.problem for quote in self.quotes if not quote.found))


def check_citations(
    answer: object,
    *,
    positions: int | None = None,
    pattern: str | None = None,
    allowed: int | None = None,
    texts: Mapping[str, str] | None = None,
    quotes: Iterable[str | tuple[str, str]] | None = None,
) -> Citations:
    r"""Check what one answer cites against what its context held.

    Parameters
    ----------
    answer
        An `Answer`, or a mapping with ``query_id``, ``context_ids``, ``cited_ids`` and ``text``.
    positions
        Where the text cites by position, as in ``[2]``, ``[1, 3]`` or ``[1-3]``: the number of the first
        document, 0 or 1. None: brackets are not read.
    pattern
        Regular expression of an id as the text writes it; its first group, if it has one, is the id, as in
        ``\(ID: (\d+)\)`` or ``\]\(/p/([\w.-]+)\)`` for links. None: the ids of the context and the field are
        looked for as whole tokens, except those that look like numbers, which are never guessed.
    allowed
        How many documents an answer may cite.
    texts
        Document → text, for quotations. Without it quotations are not checked.
    quotes
        Quotations, each a string or a pair (string, document it is ascribed to). None: what the text puts in
        double quotation marks, ascribed to the citation that follows it.

    Returns
    -------
    Citations

    Raises
    ------
    InputError
        A value is not allowed.

    Examples
    --------
    >>> answer = Answer("q1", context_ids=["a-1", "b-2"], cited_ids=["a-1", "z-9"], text="Take a-1.")
    >>> found = check_citations(answer)
    >>> found.outside, found.only_in_field
    (('z-9',), ('z-9',))
    >>> check_citations(Answer("q1", context_ids=["a", "b"], text="So it is [1][4]."), positions=1).dangling
    ('[4]',)
    """
    value = _one(answer, cited=positions is None and pattern is None)
    if positions not in (None, 0, 1) or isinstance(positions, bool):
        raise InputError(f"positions is {positions!r}; allowed are 0 and 1, the number of the first document")
    if allowed is not None and (isinstance(allowed, bool) or not isinstance(allowed, int) or allowed < 0):
        raise InputError(f"allowed is {allowed!r}; a whole number from 0 is needed")
    marks, dangling = _positions(value, positions)
    in_text = sorted(
        [*marks, *_ids(value, positions, pattern)], key=lambda found: (found.start, found.doc_id)
    )
    named = tuple(dict.fromkeys(found.doc_id for found in in_text))
    cited = value.distinct_cited
    read = bool(named) or positions is not None or pattern is not None
    field, text = set(cited), set(named)
    both = bool(cited) and read
    everything = dict.fromkeys([*cited, *named])
    held = set(value.context_ids)
    chosen = tuple(cited or named)
    return Citations(
        cited=chosen,
        in_text=tuple(in_text),
        outside=tuple(doc_id for doc_id in everything if doc_id not in held),
        dangling=dangling,
        repeated=tuple(doc_id for doc_id in cited if value.cited_ids.count(doc_id) > 1),
        only_in_text=tuple(doc_id for doc_id in named if doc_id not in field) if both else (),
        only_in_field=tuple(doc_id for doc_id in cited if doc_id not in text) if both else (),
        over_allowed=0 if allowed is None else max(0, len(chosen) - allowed),
        quotes=() if texts is None else check_quotes(value, texts, quotes, in_text),
    )


def _one(answer: object, *, cited: bool) -> Answer:
    values = answers_from(answer, cited=cited)
    if len(values) != 1:
        raise InputError(f"check_citations takes one answer, and was given {len(values)}; call it for each")
    return values[0]


def _positions(answer: Answer, first: int | None) -> tuple[list[Found], tuple[str, ...]]:
    """Return the documents that marks ``[n]`` point at, and the marks that point past the context."""
    if first is None:
        return [], ()
    found: list[Found] = []
    dangling: list[str] = []
    number_shown = len(answer.context_ids)
    for mark in _MARK.finditer(answer.text):
        for part in _NUMBERS.finditer(mark.group(1)):
            start, end = (mark.start(1) + place for place in part.span())
            low = int(part.group(1)) - first
            high = int(part.group(2) or part.group(1)) - first
            if low > high:  # a date or a score; a range counts up
                continue
            documents = answer.context_ids[max(low, 0) : min(high, number_shown - 1) + 1]
            found += (Found(doc_id, start, end) for doc_id in documents)
            if low < 0 or high >= number_shown:
                dangling.append(f"[{part.group()}]")
    return found, tuple(dangling)


def _ids(answer: Answer, positions: int | None, pattern: str | None) -> Sequence[Found]:
    """Return the ids written in the text; where positions are read, only those a pattern describes."""
    if positions is not None and pattern is None:
        return ()
    return list(find_ids(answer.text, {*answer.context_ids, *answer.cited_ids}, pattern))
