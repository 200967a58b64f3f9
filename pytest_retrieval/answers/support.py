"""Support: whether the text of a cited document says what an answer claims, as a judge reads it.

The judge is a model, and a model errs: its number counts only with a calibration on labels that people gave,
and a calibration holds for one model and one prompt.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, final

from pytest_retrieval.errors import InputError, MissingExtraError, QueryMismatchError, listed
from pytest_retrieval.measures.table import mean_of
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.records import Answer, Recording, answers_from

__all__ = [
    "Calibration",
    "SupportJudge",
    "Supported",
    "calibrate",
    "is_calibrated",
    "judge_digest",
    "judge_support",
    "support_by_grade",
    "told_uncalibrated",
]


class SupportJudge(Protocol):
    """Reads a claim and the text it cites: an NLI model, an LLM with a prompt, or a person."""

    def __call__(self, claim: str, cited_text: str, /) -> bool:
        """Return whether the text supports the claim."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Supported:
    """What a judge said of one claim and one document it cites.

    Attributes
    ----------
    query_id, context, reply
        The answer; `reply` numbers the replies to one query under one context, from 0.
    claim
        What was claimed.
    doc_id
        What it cites.
    supported
        What the judge said.
    """

    query_id: str
    context: str
    reply: int
    claim: str
    doc_id: str
    supported: bool


def judge_support(
    answers: object,
    judge: SupportJudge,
    texts: Mapping[str, str],
    *,
    claims: Callable[[Answer], Iterable[tuple[str, str]]] | None = None,
) -> tuple[Supported, ...]:
    """Ask a judge of every claim and the document that it cites.

    Parameters
    ----------
    answers
        Answers, mappings, a DataFrame or a recording.
    judge
        ``judge(claim, cited_text) -> bool``.
    texts
        Document → what the model read of it.
    claims
        Function from an answer to its pairs (claim, cited document). None: the whole text of the answer is
        one claim about each document it cites.

    Returns
    -------
    tuple of Supported
        In the order of the answers.

    Raises
    ------
    InputError
        A cited document has no text, or the judge returned something that is neither true nor false.

    Examples
    --------
    >>> answers = [Answer("q1", context_ids=["a"], cited_ids=["a"], text="It is blue.")]
    >>> judge_support(answers, lambda claim, text: "blue" in text, {"a": "a red sofa"})[0].supported
    False
    """
    found = []
    replies: Counter[tuple[str, str]] = Counter()
    for answer in answers_from(answers, cited=claims is None):
        reply = replies[answer.query_id, answer.context]
        replies[answer.query_id, answer.context] += 1
        pairs = (
            [(answer.text, doc_id) for doc_id in answer.distinct_cited] if claims is None else claims(answer)
        )
        for claim, doc_id in pairs:
            if doc_id not in texts:
                raise InputError(
                    f"the answer to {answer.query_id!r} cites {doc_id!r}, and texts has no such id"
                )
            said = judge(claim, texts[doc_id])
            if said not in (True, False):
                raise InputError(f"the judge returned {said!r} for {claim!r}; true or false is needed")
            found.append(
                Supported(
                    query_id=answer.query_id,
                    context=answer.context,
                    reply=reply,
                    claim=claim,
                    doc_id=doc_id,
                    supported=bool(said),
                )
            )
    return tuple(found)


def support_by_grade(judged: Sequence[Supported], qrels: Qrels) -> dict[tuple[str, bool], int]:
    """Return (grade, supported) → claims; the grade is exact, partial, irrelevant or unjudged.

    A claim may be faithful to a document that is the wrong one: ``("partial", True)`` counts those.

    Raises
    ------
    QueryMismatchError
        A query has no judgments.
    """
    unknown = dict.fromkeys(one.query_id for one in judged if one.query_id not in qrels)
    if unknown:
        raise QueryMismatchError(f"{len(unknown)} judged queries have no judgments: {listed(unknown)}")
    counts = {(grade, said): 0 for grade in _GRADES for said in (True, False)}
    for one in judged:
        grade = qrels[one.query_id].get(one.doc_id)
        counts[_word(grade, qrels.relevance_level), one.supported] += 1
    return counts


_GRADES = ("exact", "partial", "irrelevant", "unjudged")


def _word(grade: int | None, level: int) -> str:
    if grade is None:
        return "unjudged"
    return "exact" if grade >= level else "partial" if grade > 0 else "irrelevant"


def judge_digest(model: str, prompt: str) -> str:
    """Return the digest that a calibration is bound to: SHA-256 of the judge's model and prompt.

    Examples
    --------
    >>> judge_digest("nli-large", "Does the text say so?") == judge_digest("nli-large", "Does it?")
    False
    """
    text = json.dumps([model, prompt], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How far a judge agrees with people, and what its share is worth with theirs beside it.

    Attributes
    ----------
    judge
        Digest of the judge's model and prompt; empty where none was given.
    n
        Labels that both gave.
    agreement
        Share of them that are equal.
    kappa
        Cohen's kappa: agreement beyond what the two label frequencies alone would give; NaN where each gave
        one and the same label throughout.
    judge_mean, human_mean
        Means over the labels that both gave.
    estimate, low, high
        Prediction-powered estimate of the mean over everything that the judge labelled, and its interval;
        NaN where nothing but the shared labels was given.
    level
        Of the interval.
    """

    judge: str
    n: int
    agreement: float
    kappa: float
    judge_mean: float
    human_mean: float
    estimate: float
    low: float
    high: float
    level: float

    def plain(self) -> dict[str, Any]:
        """Return the calibration as a manifest holds it, under ``[judges.<name>.calibration]``."""
        return {name: value for name, value in asdict(self).items() if value == value}

    def __str__(self) -> str:
        text = f"{self.agreement:.3f} agreement over {self.n} labels, kappa {self.kappa:.3f}"
        if self.estimate != self.estimate:
            return text
        return (
            f"{text}; mean {self.estimate:.3f}, {self.level:.0%} interval {self.low:.3f} to {self.high:.3f}"
        )


def calibrate(
    judge_labels: Mapping[Hashable, float],
    human_labels: Mapping[Hashable, float],
    *,
    judge: str = "",
    level: float = 0.95,
) -> Calibration:
    """Hold a judge's labels against people's.

    Parameters
    ----------
    judge_labels
        Item → the judge's label, a number or true or false, for everything it labelled.
    human_labels
        Item → people's label, on the same scale, for a sample of those.
    judge
        `judge_digest` of the judge's model and prompt, which the calibration is bound to.
    level
        Of the interval, above 0 and below 1.

    Returns
    -------
    Calibration

    Raises
    ------
    QueryMismatchError
        People labelled items that the judge did not.
    InputError
        Fewer than two labels are shared, or a label is no number.
    MissingExtraError
        The interval needs the extra ``calibrate``.

    References
    ----------
    Cohen, A coefficient of agreement for nominal scales, 1960. Angelopoulos, Bates, Fannjiang, Jordan and
    Zrnic, Prediction-powered inference, Science 2023.

    Examples
    --------
    >>> found = calibrate({1: True, 2: True, 3: False, 4: False}, {1: True, 2: False, 3: False, 4: False})
    >>> found.n, found.agreement, found.kappa
    (4, 0.75, 0.5)
    """
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise InputError(f"level is {level!r}; allowed is a number above 0 and below 1")
    strange = [item for item in human_labels if item not in judge_labels]
    if strange:
        raise QueryMismatchError(
            f"people labelled {len(strange)} items that the judge did not: {listed(map(repr, strange))}"
        )
    of_judge = {item: _number(value, item, "judge_labels") for item, value in judge_labels.items()}
    of_people = {item: _number(value, item, "human_labels") for item, value in human_labels.items()}
    n = len(of_people)
    if n < 2:
        raise InputError(f"{n} items have a label of both; a calibration needs two, better a hundred")
    pairs = [(of_judge[item], value) for item, value in of_people.items()]
    agreement = sum(said == meant for said, meant in pairs) / n
    rest = [value for item, value in of_judge.items() if item not in of_people]
    estimate, low, high = _prediction_powered(pairs, rest, level) if rest else (_NAN, _NAN, _NAN)
    return Calibration(
        judge=judge,
        n=n,
        agreement=agreement,
        kappa=_kappa(pairs, agreement),
        judge_mean=sum(said for said, _ in pairs) / n,
        human_mean=sum(meant for _, meant in pairs) / n,
        estimate=estimate,
        low=low,
        high=high,
        level=level,
    )


def is_calibrated(judge: Mapping[str, Any]) -> bool:
    """Return whether a judge of a manifest has a calibration of just this model and prompt."""
    calibration = judge.get("calibration")
    if not isinstance(calibration, Mapping):
        return False
    return calibration.get("judge") == judge_digest(str(judge.get("model", "")), str(judge.get("prompt", "")))


def told_uncalibrated(recording: Recording, label: str) -> str:
    """Return what is to be said of a label whose judge nobody calibrated: its mean, and why none gates."""
    values = recording.labels[label].values()
    return (
        f"recording {recording.name}: label {label} is uncalibrated: mean {mean_of(values):.3f} over"
        f" {len(values)} labels; calibrate its judge (model and prompt as they are) to gate it"
    )


_NAN = float("nan")


def _number(value: object, item: Hashable, what: str) -> float:
    if not isinstance(value, int | float) or value != value or abs(value) == float("inf"):
        raise InputError(f"{what} hold {value!r} for {item!r}; a number, true or false is needed")
    return float(value)


def _kappa(pairs: Sequence[tuple[float, float]], agreement: float) -> float:
    n = len(pairs)
    said, meant = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    by_chance = sum(said[label] * meant[label] for label in said) / n**2
    return _NAN if by_chance == 1 else (agreement - by_chance) / (1 - by_chance)


def _prediction_powered(
    pairs: Sequence[tuple[float, float]], rest: Sequence[float], level: float
) -> tuple[float, float, float]:
    """Return the power-tuned estimate and interval of the mean, as ppi-python computes them."""
    import numpy as np

    try:
        from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
    except ImportError:
        raise MissingExtraError(
            "a prediction-powered interval needs ppi-python: pip install 'pytest-retrieval[calibrate]'"
        ) from None
    said, meant = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    others = np.array(rest, dtype=np.float64)
    estimate = ppi_mean_pointestimate(meant, said, others)
    low, high = ppi_mean_ci(meant, said, others, alpha=1 - level)
    return float(np.ravel(estimate)[0]), float(np.ravel(low)[0]), float(np.ravel(high)[0])
