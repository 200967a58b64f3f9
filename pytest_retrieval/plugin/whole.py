"""The gold set as a whole: what no cell can see of a subject, and a gate test's first item says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from pytest_retrieval.errors import counted, listed
from pytest_retrieval.gate.branch import branch_changes
from pytest_retrieval.gate.judging import must_fallen
from pytest_retrieval.gate.ruler import pairing
from pytest_retrieval.plugin.settings import PIN_ALL
from pytest_retrieval.report.numbers import number
from pytest_retrieval.report.replies import reply_rows
from pytest_retrieval.report.stages import stage_rows

if TYPE_CHECKING:
    from pytest_retrieval.gate.difference import QueryChange
    from pytest_retrieval.plugin.bench import Bench

__all__ = ["Seen", "seen_of"]


@final
@dataclass(frozen=True, slots=True)
class Seen:
    """What is to be said of a subject beside its cells.

    Attributes
    ----------
    problems
        Paragraphs on what fails the gold set's item.
    notes
        Lines for the summary.
    stages, replies
        Rows for the summary, of a pipeline's stages and of a recording's replies.
    """

    problems: tuple[str, ...]
    notes: tuple[str, ...]
    stages: tuple[dict[str, Any], ...]
    replies: tuple[dict[str, Any], ...]


def seen_of(bench: Bench, subject: str) -> Seen:
    """Return what is to be said of a subject that could be judged.

    Raises
    ------
    RetrievalError
        The base that the branch is held against cannot be used.
    """
    must, accepted = _must(bench, subject)
    favouring, notes = _branch(bench, subject)
    return Seen(
        problems=(*must, *_one_sided(bench, subject), *favouring),
        notes=(*accepted, *notes),
        stages=tuple(_stages(bench, subject)),
        replies=tuple(_replies(bench, subject)),
    )


def _stages(bench: Bench, subject: str) -> list[dict[str, Any]]:
    """Return what the summary says of a pipeline's stages; nothing where there are none."""
    goldset, measures = bench.goldset, bench.measures(subject)
    if not measures:
        return []
    run = bench.run(subject)
    prompt = goldset.context_size or measures[0].k or goldset.depth
    rows = stage_rows(goldset, subject, run, prompt) if run.stages else ()
    return [row.plain() for row in rows]


def _replies(bench: Bench, subject: str) -> list[dict[str, Any]]:
    """Return what the summary describes of a recording's replies; nothing where the subject is a run."""
    if not bench.measures(subject):
        return []  # pinned once and declared no more: its recording may be another one by now
    recorded = bench.recorded(subject)
    if recorded is None:
        return []
    rows = reply_rows(bench.goldset, subject, recorded.recording, recorded.context)
    return [row.plain() for row in rows]


def _must(bench: Bench, subject: str) -> tuple[list[str], list[str]]:
    """Return paragraphs on must-queries that fell or were never pinned, and notes on what was accepted."""
    goldset, measures, pins = bench.goldset, bench.measures(subject), bench.pins
    mode = bench.session.settings.pin
    if not measures or not goldset.must or mode == PIN_ALL or subject not in pins.evidence:
        return [], []
    session, run = bench.session, bench.run(subject)
    fallen = must_fallen(goldset, subject, measures[0], run, pins)
    own = {change.query_id for change in fallen}
    then = session.pins_then(goldset.name)
    problems: list[str] = []
    notes: list[str] = []
    if session.against is not None and subject in then.evidence:
        of_base = must_fallen(goldset, subject, measures[0], run, then)
        if session.settings.accept_lowered:  # what the branch pinned anew; what fell below that is still told
            notes = [
                f"must-query {change.query_id} fell against {session.against.label} and was accepted"
                for change in of_base
                if change.query_id not in own
            ]
        else:
            fallen = of_base
    base = f" against {session.against.label}" if session.against is not None and then.evidence else ""
    if fallen:
        show_text = session.settings.show_text
        lines = [_fallen(change, show_text) for change in fallen]
        anew = base and not session.settings.accept_lowered and len(own) < len(fallen)
        agree = ["what this branch pinned anew, if a reviewer agrees:  add --retrieval-accept-lowered"]
        agree = agree if anew else []
        problems.append(
            f"{counted(len(fallen), 'must-query', 'must-queries')} of {subject} fell on"
            f" {measures[0].name}{base}:\n" + "\n".join([*lines, *agree])
        )
    without = sorted(goldset.must - pins.evidence[subject].keys()) if not mode else []
    if without:
        problems.append(
            f"must-queries of {subject} without a pin: {listed(without)}; --retrieval-pin=new pins"
        )
    return problems, notes


def _fallen(change: QueryChange, show_text: bool) -> str:
    text = f" “{change.text}”" if show_text else ""
    return f"  {change.query_id}{text}  {number(change.before)} → {number(change.after)}"


def _one_sided(bench: Bench, subject: str) -> list[str]:
    """Return paragraphs on pinned queries that are compared no longer: removed ones and reworded ones."""
    if bench.session.settings.pin:
        return []
    meeting = pairing(bench.goldset, bench.pins.evidence.get(subject, {}))
    removed, reworded = meeting.removed, meeting.reworded
    problems = []
    if removed:
        problems.append(
            f"{counted(len(removed), 'pinned query', 'pinned queries')} of {subject}"
            f" {'is' if len(removed) == 1 else 'are'} gated no longer: {listed(removed)}\n"
            f"if they are meant to go:  {bench.session.pin_new}  (then review and commit the pins)"
        )
    if reworded:
        problems.append(
            f"{counted(len(reworded), 'query', 'queries')} of {subject}"
            f" {'has' if len(reworded) == 1 else 'have'} another text than was pinned, so nothing holds"
            f" what was found for {'it' if len(reworded) == 1 else 'them'}: {listed(reworded)}\n"
            f"to pin the new text:  {bench.session.pin_new}  (then review and commit the pins)"
        )
    return problems


def _branch(bench: Bench, subject: str) -> tuple[list[str], list[str]]:
    """Return what this branch changed about how it is judged: a paragraph if that favours it, else notes."""
    session, goldset = bench.session, bench.goldset
    against, measures = session.against, bench.measures(subject)
    if against is None or not measures:
        return [], []
    if goldset.name not in against.goldsets.folders:
        unknown = (
            f"the gold set {goldset.name} is not in the repository, so what changed in it since"
            f" {against.label} cannot be told"
        )
        return [], [unknown] if against.pins(goldset.name).cells else []
    changes = branch_changes(
        against.goldset(goldset.name),
        goldset,
        subject,
        measures[0],
        bench.run(subject),
        against.pins(goldset.name),
        bench.pins,
    )
    favouring = sum(change.favours for change in changes)
    if not changes:
        return [], []
    favour = {True: " (favours this branch)", False: ""}
    lines = [f"  {change.what}{favour[change.favours]}" for change in changes]
    text = (
        f"{subject}: against {against.label} this branch changed"
        f" {counted(len(changes), 'thing', 'things')} about how it is judged, {favouring} in its own"
        " favour:"
    )
    if not favouring or session.settings.accept_lowered:
        return [], [text, *lines]
    return ["\n".join([text, *lines, "if a reviewer agrees:  add --retrieval-accept-lowered"])], []
