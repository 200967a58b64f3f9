"""Names of measures: ours (``recall@5``), ir_measures' (``R@5``, ``P(rel=2)@5``), and the canonical one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from pytest_retrieval.errors import MeasureError
from pytest_retrieval.measures.rank import KINDS, MeasureKind

if TYPE_CHECKING:
    from pytest_retrieval.measures.ranking import BoolArray, FloatArray, Judged

__all__ = ["Measure", "parse", "parse_all"]

_SPELLING = re.compile(r"(?P<kind>[A-Za-z_][A-Za-z0-9_]*)(?:\((?P<parameters>[^()]*)\))?(?:@(?P<k>.*))?")
_ALSO = {
    "rr": "mrr", "RR": "mrr", "MRR": "mrr", "R": "recall", "P": "precision", "nDCG": "ndcg", "NDCG": "ndcg",
    "AP": "ap", "map": "ap", "MAP": "ap", "Success": "success", "Judged": "judged",
}  # fmt: skip
_GAINS = {"log2": "linear", "exp-log2": "exp"}


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

    Examples
    --------
    >>> parse("P(rel=2)@5").name
    'precision(rel=2)@5'
    """

    kind: MeasureKind
    k: int | None = None
    level: int | None = None
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)

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
        """Direction: whether a larger score is the better one."""
        return self.kind.higher_is_better

    def scores(self, judged: Judged) -> FloatArray:
        """Return one score per query, shape (Q,), NaN where the measure is undefined.

        Raises
        ------
        MeasureError
            A measure of a project's own returned something that is not one number per query.
        """
        judged = self._levelled(judged)
        scores = np.asarray(self.kind.score(judged, self.k, **self.parameters), dtype=np.float64)
        if scores.shape != (len(judged.query_ids),):
            raise MeasureError(
                f"measure {self.name} returned an array of shape {scores.shape} for"
                f" {len(judged.query_ids)} queries; one score per query is needed"
            )
        return np.where(self.kind.defined(judged), scores, np.nan)

    def defined(self, judged: Judged) -> BoolArray:
        """Return where the judgments alone leave the measure defined, shape (Q,)."""
        return self.kind.defined(self._levelled(judged))

    def attainable(self, judged: Judged) -> FloatArray:
        """Return the best score any ranking could get per query, shape (Q,), NaN where undefined."""
        judged = self._levelled(judged)
        best = np.ones(len(judged.query_ids))
        if self.kind.attainable is not None:
            best = self.kind.attainable(judged, self.k)
        return np.where(self.kind.defined(judged), best, np.nan)

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
        The name, a parameter or the cutoff is not known; the message says what is.

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
    known = {**KINDS, **{kind.name: kind for kind in kinds}}
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


def parse_all(names: Iterable[str | Measure], kinds: Sequence[MeasureKind] = ()) -> tuple[Measure, ...]:
    """Return the measures that names mean, each once, in the order given."""
    if isinstance(names, str | Measure):
        names = [names]
    return tuple({measure.name: measure for measure in (parse(name, kinds) for name in names)}.values())


def _cutoff(name: str, kind: MeasureKind, text: str | None) -> int | None:
    if text is None:
        if kind.cutoff == "required":
            raise MeasureError(f"measure {name!r} needs a cutoff, as in {kind.name}@5")
        return None
    if kind.cutoff == "none":
        raise MeasureError(f"measure {name!r} takes no cutoff; write {kind.name}")
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
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
            if not (value.isascii() and value.isdigit()) or int(value) < 1:
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
