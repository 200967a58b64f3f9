"""Names of measures: ours (``recall@5``), ir_measures' (``R@5``, ``P(rel=2)@5``), and the canonical one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, final

import numpy as np

from pytest_retrieval.errors import MeasureError
from pytest_retrieval.measures.answer import ANSWER_KINDS, LABEL, label_kind
from pytest_retrieval.measures.rank import KINDS, MeasureKind

if TYPE_CHECKING:
    from pytest_retrieval.measures.ranking import BoolArray, FloatArray, Judged

__all__ = ["Measure", "is_ours", "parse", "parse_all"]

_SPELLING = re.compile(r"(?P<kind>[A-Za-z_][A-Za-z0-9_]*)(?:\((?P<parameters>[^()]*)\))?(?:@(?P<k>.*))?")
_ALSO = {
    "rr": "mrr", "RR": "mrr", "MRR": "mrr", "R": "recall", "P": "precision", "nDCG": "ndcg", "NDCG": "ndcg",
    "AP": "ap", "map": "ap", "MAP": "ap", "Success": "success", "Judged": "judged",
}  # fmt: skip
_GAINS = {"log2": "linear", "exp-log2": "exp"}
_LARGEST = 10**9  # no ranking is deeper, no scale longer; larger numbers are slips and do not fit int64


@final
@dataclass(frozen=True, slots=True)
class Measure:
    """A measure that can score: a kind, a cutoff and parameters.

    Attributes
    ----------
    kind
        What is measured.
    k
        Cutoff, at least 1, or None for the whole ranking.
    level
        Relevance level that overrides the judgments' own, or None.
    parameters
        Values of the kind's parameters that are not its defaults.

    Raises
    ------
    MeasureError
        A cutoff or level that is not a whole number of at least 1, or one that the kind does not take.

    Examples
    --------
    >>> parse("P(rel=2)@5").name
    'precision(rel=2)@5'
    """

    kind: MeasureKind
    k: int | None = None
    level: int | None = None
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for what, value in (("cutoff", self.k), ("level", self.level)):
            if value is not None and not _is_whole(value):
                raise MeasureError(
                    f"{self.kind.name}: the {what} is {value!r}; allowed is a whole number of at least 1"
                )
        if self.k is None and self.kind.cutoff == "required":
            raise MeasureError(f"{self.kind.name} needs a cutoff, as in {self.kind.name}@5")
        if self.k is not None and self.kind.cutoff == "none":
            raise MeasureError(f"{self.kind.name} takes no cutoff")

    @property
    def name(self) -> str:
        """The canonical name; two spellings of one measure share it."""
        given = {"rel": self.level} if self.level is not None else {}
        inside = ",".join(f"{name}={value}" for name, value in {**given, **self.parameters}.items())
        return (
            self.kind.name + (f"({inside})" if inside else "") + (f"@{self.k}" if self.k is not None else "")
        )

    @property
    def higher_is_better(self) -> bool:
        """Whether a larger score is the better one."""
        return self.kind.higher_is_better

    def scores(self, judged: Judged) -> FloatArray:
        """Return one score per query, shape (Q,), NaN where the measure is undefined.

        Raises
        ------
        MeasureError
            A measure of a project's own returned something that is not one number per query.
        """
        levelled = self._levelled(judged)
        scores = self.kind.score(levelled, self.k, **self.parameters)
        return np.where(self.defined(judged), self._per_query(scores, judged, "score"), np.nan)

    def defined(self, judged: Judged) -> BoolArray:
        """Return where the judgments alone leave the measure defined, shape (Q,)."""
        defined = self.kind.defined(self._levelled(judged))
        return self._per_query(defined, judged, "defined").astype(np.bool_)

    def attainable(self, judged: Judged) -> FloatArray:
        """Return the best score any ranking could get per query, shape (Q,), NaN where undefined."""
        best: object = np.full(len(judged.query_ids), 1.0 if self.higher_is_better else 0.0)
        if self.kind.attainable is not None:
            best = self.kind.attainable(self._levelled(judged), self.k)
        return np.where(self.defined(judged), self._per_query(best, judged, "attainable"), np.nan)

    def _per_query(self, values: object, judged: Judged, what: str) -> FloatArray:
        """Return what a function of the kind gave, once it is one number per query."""
        try:
            numbers = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise MeasureError(
                f"measure {self.name}: {what} returned {values!r}; one number per query is needed"
            ) from None
        if numbers.shape != (len(judged.query_ids),):
            raise MeasureError(
                f"measure {self.name}: {what} returned an array of shape {numbers.shape} for"
                f" {len(judged.query_ids)} queries; one number per query is needed"
            )
        return numbers

    def _levelled(self, judged: Judged) -> Judged:
        return judged if self.level is None else judged.at_level(self.level)

    def __str__(self) -> str:
        return self.name


def parse(name: str | Measure, kinds: Iterable[MeasureKind] = ()) -> Measure:
    """Return the measure that a name means.

    Parameters
    ----------
    name
        Such as ``recall@5``, ``mrr@10``, ``ndcg(gain=exp)@10``, ``R@5``, ``P(rel=2)@5``, ``RR``.
    kinds
        Kinds of a project's own, beside ours.

    Raises
    ------
    MeasureError
        The name, a parameter or the cutoff is not known, or a kind takes the name of one of ours; the
        message says what is allowed.

    Examples
    --------
    >>> parse("RR@10") == parse("mrr@10")
    True
    >>> parse("recall@0")
    Traceback (most recent call last):
    ...
    pytest_retrieval.errors.MeasureError: measure 'recall@0': the cutoff is '0'; allowed is a whole number \
of at least 1, as in recall@5
    """
    if isinstance(name, Measure):
        return name
    known = {**KINDS, **ANSWER_KINDS, **_own(kinds)}
    if isinstance(name, str) and name.startswith(LABEL):
        return _label(name)
    match = _SPELLING.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        raise MeasureError(f"{name!r} is no name of a measure; names look like recall@5 or ndcg(gain=exp)@10")
    word = match["kind"]
    kind = known.get(word) or known.get(_ALSO.get(word, ""))
    if kind is None:
        close = difflib.get_close_matches(word.lower(), known, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise MeasureError(f"measure {name!r}: {word!r} is not known; known are {', '.join(known)}{hint}")
    level, parameters = _parameters(name, kind, match["parameters"] or "")
    return Measure(kind, _cutoff(name, kind, match["k"]), level, parameters)


def is_ours(name: str) -> bool:
    """Return whether a name is of a kind of ours, or no name: else it is a project's own, or a slip.

    Examples
    --------
    >>> is_ours("R@5"), is_ours("label:faithful"), is_ours("wasted@5")
    (True, True, False)
    """
    match = None if name.startswith(LABEL) else _SPELLING.fullmatch(name)
    return match is None or _ALSO.get(match["kind"], match["kind"]) in {**KINDS, **ANSWER_KINDS}


def _label(name: str) -> Measure:
    """Return the measure that reads a label: ``label:faithful``, or ``label:toxic(better=low)``."""
    word, _, rest = name.partition("(")
    kind = label_kind(word)
    if rest and rest not in ("better=low)", "better=high)"):
        raise MeasureError(f"measure {name!r}: allowed is {word}, or {word}(better=low)")
    if rest == "better=low)":
        return Measure(replace(kind, name=word, higher_is_better=False), parameters={"better": "low"})
    return Measure(kind)


def parse_all(names: Iterable[str | Measure], kinds: Sequence[MeasureKind] = ()) -> tuple[Measure, ...]:
    """Return the measures that names mean, each once, in the order given."""
    if isinstance(names, str | Measure):
        names = [names]
    if not isinstance(names, Iterable):
        raise MeasureError(f"measures are {names!r}; allowed is a list of names such as ['recall@5']")
    return tuple({measure.name: measure for measure in (parse(name, kinds) for name in names)}.values())


def _own(kinds: Iterable[MeasureKind]) -> dict[str, MeasureKind]:
    """Return a project's kinds by name; one that hid a measure of ours would change what a name means."""
    own = {kind.name: kind for kind in kinds}
    for name, kind in own.items():
        if name in _ALSO or {**KINDS, **ANSWER_KINDS}.get(name, kind) is not kind:
            raise MeasureError(f"the kind of measure {name!r} takes the name of one of ours; give it another")
    return own


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _LARGEST


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < len(str(_LARGEST)) and _is_whole(int(text))


def _cutoff(name: str, kind: MeasureKind, text: str | None) -> int | None:
    if text is None:
        if kind.cutoff == "required":
            raise MeasureError(f"measure {name!r} needs a cutoff, as in {kind.name}@5")
        return None
    if kind.cutoff == "none":
        raise MeasureError(f"measure {name!r} takes no cutoff; write {kind.name}")
    if not _is_number(text):
        raise MeasureError(
            f"measure {name!r}: the cutoff is {text!r}; allowed is a whole number of at least 1, as in"
            f" {kind.name}@5"
        )
    return int(text)


def _parameters(name: str, kind: MeasureKind, text: str) -> tuple[int | None, dict[str, str]]:
    level = None
    parameters: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, _, value = (side.strip() for side in part.partition("="))
        value = value.strip("'\"")
        if key == "dcg" and "gain" in kind.parameters and value in _GAINS:
            key, value = "gain", _GAINS[value]
        if key == "rel" and kind.uses_level:
            if not _is_number(value):
                raise MeasureError(
                    f"measure {name!r}: rel is {value!r}; allowed is a whole number of at least 1"
                )
            level = int(value)
        elif key in kind.parameters and value in kind.parameters[key]:
            if value != kind.parameters[key][0]:
                parameters[key] = value
        else:
            allowed = (["rel=<level>"] if kind.uses_level else []) + [
                f"{known}={'|'.join(values)}" for known, values in kind.parameters.items()
            ]
            raise MeasureError(
                f"measure {name!r}: parameter {part!r} is not known; allowed are"
                f" {', '.join(allowed) or 'none'}"
            )
    return level, parameters
