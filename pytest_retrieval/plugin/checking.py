"""Checking one item of a gate test: from rankings and pins to a verdict, a payload and an outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, final

import pytest

from pytest_retrieval.errors import RetrievalError, RetrieverError, Unavailable, counted, listed
from pytest_retrieval.gate.branch import branch_changes
from pytest_retrieval.gate.cells import SLICE, Cell, described, groups
from pytest_retrieval.gate.difference import QueryChange
from pytest_retrieval.gate.judging import fault_of, infeasible, judge, must_fallen
from pytest_retrieval.gate.noise import RETRIEVALS, differing, noise_bands
from pytest_retrieval.gate.passages import cut_note
from pytest_retrieval.gate.pin import evidence_of, rule_threshold
from pytest_retrieval.gate.repin import depth_fault
from pytest_retrieval.gate.ruler import pairing
from pytest_retrieval.gate.verdict import (
    DESCRIBED,
    ERROR,
    REGRESSED,
    STALE,
    UNDECIDED,
    UNPINNED,
    VANISHED,
    Verdict,
    worse_by,
)
from pytest_retrieval.model import ALL, Run
from pytest_retrieval.plugin.against import accepted
from pytest_retrieval.plugin.items import GateItem, fail, kinds_of, skip
from pytest_retrieval.plugin.recordings import Recorded
from pytest_retrieval.plugin.running import as_run, check_required
from pytest_retrieval.plugin.settings import PIN_ALL, PIN_NEW, PIN_RAISE
from pytest_retrieval.plugin.state import PAYLOAD
from pytest_retrieval.report.replies import reply_rows
from pytest_retrieval.report.scorecard import row_of
from pytest_retrieval.report.stages import stage_rows
from pytest_retrieval.report.text import failure, number

if TYPE_CHECKING:
    from pytest_retrieval.measures.notation import Measure
    from pytest_retrieval.model import GoldSet
    from pytest_retrieval.plugin.session import Session

__all__ = ["Gate"]


@final
class Gate:
    """The value of the fixture `gate`.

    Attributes
    ----------
    checked
        Whether the test called `check`.
    """

    def __init__(self, session: Session, item: GateItem, node: pytest.Item) -> None:
        self._session = session
        self._item = item
        self._node = node
        self._branch_notes: list[str] = []
        self.checked = False

    def check(self) -> None:
        """Judge this item's cell, or the gold set as a whole, and fail the test unless it holds."""
        __tracebackhide__ = True
        self.checked = True
        if self._item.problem:
            self._fail(self._item.problem)
        if self._item.cell is None:
            self._check_goldset()
        else:
            self._check_cell(self._item.cell)

    def _check_cell(self, cell: Cell) -> None:
        __tracebackhide__ = True
        session, name = self._session, self._item.goldset
        owners = session.owners.get((name, cell), [])
        if len(owners) > 1:
            verdict = Verdict(
                cell=cell,
                status=ERROR,
                message=_collected_twice(owners),
            )
        else:
            verdict = self._verdict(cell)
        session.config.hook.pytest_retrieval_verdict(goldset=session.goldsets.get(name), verdict=verdict)
        pinned = self._pin(verdict)
        self._report(verdict, pinned)
        if verdict.passes or pinned:
            return
        goldset = session.goldsets.get(name)
        self._fail(
            failure(
                name,
                verdict,
                depth=goldset.depth,
                reproduce=self._node.nodeid,
                grades={grade: word for word, grade in goldset.grades.items()},
                details=session.settings.details,
                show_text=session.settings.show_text,
            ),
            cause=verdict.message if verdict.status in (ERROR, STALE) else "",
        )

    def _verdict(self, cell: Cell) -> Verdict:
        """Return the verdict on a cell; whatever keeps it from being judged is an error that says so."""
        try:
            why = self._infeasible(cell)
            if why:
                return Verdict(cell=cell, status=ERROR, message=why)
            return self._judged(cell.subject)[cell]
        except Unavailable as unavailable:
            self._unavailable(cell, unavailable.reason)
        except RetrievalError as error:
            return Verdict(cell=cell, status=ERROR, message=str(error))

    def _infeasible(self, cell: Cell) -> str:
        """Return why a cell's statistical rule could never fail, before anything is retrieved for it."""
        goldset = self._session.goldsets.get(self._item.goldset)
        pins = self._session.goldsets.pins(self._item.goldset)
        pin = pins.cells.get(cell)
        return "" if pin is None else infeasible(pin, pin.n, rule_threshold(pins, goldset.alpha))

    def _judged(self, subject: str) -> Mapping[Cell, Verdict]:
        """Return the verdicts on every cell of a subject, made once per session."""
        session, name = self._session, self._item.goldset
        goldset, pins = session.goldsets.get(name), session.goldsets.pins(name)
        kinds = kinds_of(self._node)
        measures = session.goldsets.measures(name, subject, kinds)
        then = session.pins_then(name)
        if not measures:
            both = {**pins.cells, **then.cells}
            return {cell: _gone(cell, pin.value) for cell, pin in both.items() if cell.subject == subject}
        run = self._run(goldset, subject)
        again = self._again(goldset, subject, run, session.settings.repeats)

        def verdicts() -> Mapping[Cell, Verdict]:
            cells = [cell for cell in session.cells(name, kinds, None) if cell.subject == subject]
            also = described(goldset, subject, measures, cells)
            new = [cell for cell in cells if cell not in then.cells]
            found = self._fresh(
                goldset, subject, judge(goldset, subject, measures, run, pins, new, also, again)
            )
            if session.against is None or len(new) == len(cells):
                return found
            old = [cell for cell in cells if cell in then.cells]
            of_base = judge(session.against.rules(goldset), subject, measures, run, then, old, (), again)
            of_base = self._fresh(goldset, subject, of_base)
            return found | (accepted(of_base, then, pins) if session.settings.accept_lowered else of_base)

        return session.judged((name, subject), run, verdicts)

    def _fresh(self, goldset: GoldSet, subject: str, verdicts: Mapping[Cell, Verdict]) -> dict[Cell, Verdict]:
        """Return verdicts on a recording with what is to be known beside them; stale where it is."""
        recorded = self._recorded(goldset, subject)
        if recorded is None:
            return dict(verdicts)
        drift = self._session.recordings.drift(self._session, goldset, subject, recorded)
        told = {
            cell: replace(verdict, notes=(*verdict.notes, *recorded.recording.notes, drift.note))
            for cell, verdict in verdicts.items()
        }
        if not drift.is_stale(goldset.recording_drift):
            return told
        message = drift.message(goldset.recording_drift)
        return {
            cell: verdict if verdict.status == DESCRIBED else replace(verdict, status=STALE, message=message)
            for cell, verdict in told.items()
        }

    def _recorded(self, goldset: GoldSet, subject: str) -> Recorded | None:
        """Return the recording that a subject is part of, if it is part of one."""
        return self._session.recordings.subject(goldset, subject)

    def _run(self, goldset: GoldSet, subject: str) -> Run:
        """Return a subject's run, if it can be judged.

        Raises
        ------
        RetrieverError, Unavailable
            It cannot be had, or is at fault.
        """
        session = self._session
        check_required(goldset, subject)
        recorded = self._recorded(goldset, subject)
        if recorded is not None:
            recorded.refuse_uncalibrated(self._measures(subject))
        run = as_run(session.run(subject), subject) if recorded is None else recorded.run
        fault = session.fault((goldset.name, subject), run, lambda: fault_of(goldset, run))
        if fault:
            raise RetrieverError(f"{subject}: {fault}")
        return run

    def _again(self, goldset: GoldSet, subject: str, first: Run, repeats: int) -> tuple[Run, ...]:
        """Return further retrievals by a subject, `repeats` with the first; none of a recording.

        Raises
        ------
        RetrieverError, Unavailable
            One of them failed, or is at fault.
        """
        session = self._session
        if repeats <= 1 or self._recorded(goldset, subject) is not None:
            return ()
        found = [run for n in range(1, repeats) if (run := session.again(subject, n)) is not None]
        for run in found:
            fault = session.fault((goldset.name, subject), run, partial(fault_of, goldset, run))
            if fault:
                raise RetrieverError(f"{subject}, retrieved again: {fault}")
        return tuple(found)

    def _noise(self, goldset: GoldSet, subject: str, first: Run) -> tuple[int, Mapping[Cell, float]]:
        """Return over how many retrievals the noise of a subject was measured, and each cell's band.

        A subject that returns the same twice has no noise: 0 and nothing.
        """

        def measure() -> tuple[int, Mapping[Cell, float]]:
            second = self._again(goldset, subject, first, 2)
            if not any(differing(first, run, goldset.gated_queries) for run in second):
                return 0, {}
            number = max(RETRIEVALS, self._session.settings.repeats)
            runs = (first, *self._again(goldset, subject, first, number))
            return number, noise_bands(goldset, self._measures(subject), runs)

        return self._session.noise((goldset.name, subject), first, measure)

    def _unavailable(self, cell: Cell, reason: str) -> NoReturn:
        __tracebackhide__ = True
        name = self._item.goldset
        self._node.stash[PAYLOAD] = _payload(name, notes=[_unjudged(name, cell.subject, reason)])
        text = f"{name}: {cell.subject} is unavailable: {reason}"
        if self._session.settings.fail_unavailable:
            self._fail(f"{text} (retrieval_unavailable = error)", cause=reason)
        skip(text)

    def _pin(self, verdict: Verdict) -> bool:
        """Return whether this session pins the cell, so that its test passes."""
        mode = self._session.settings.pin
        if not mode or not verdict.can_be_pinned:
            return False
        if verdict.status in (REGRESSED, UNDECIDED) or verdict.is_rechunked:
            return mode == PIN_ALL
        if verdict.status == UNPINNED:
            self._check_depth(verdict.cell)
        return True

    def _check_depth(self, cell: Cell) -> None:
        """Fail where a new measure cannot be scored from the rankings that are pinned already."""
        __tracebackhide__ = True
        session, name = self._session, self._item.goldset
        if session.settings.pin == PIN_ALL:
            return
        pinned = session.goldsets.pins(name).evidence.get(cell.subject, {})
        members = groups(session.goldsets.get(name)).get(cell.stratum, ())
        measure = next(m for m in self._measures(cell.subject) if m.name == cell.measure)
        fault = depth_fault(measure, {query: pinned[query] for query in members if query in pinned})
        if fault:
            self._fail(f"{name}: {cell} cannot be pinned: {fault}")

    def _measures(self, subject: str) -> tuple[Measure, ...]:
        return self._session.goldsets.measures(self._item.goldset, subject, kinds_of(self._node))

    def _report(self, verdict: Verdict, pinned: bool) -> None:
        """Leave with the item what the controller is to know."""
        name, cell = self._item.goldset, verdict.cell
        payload: dict[str, Any] = {
            "rows": [row_of(name, verdict, "pinned" if pinned and not verdict.passes else "").plain()],
            "goldset": name,
            "cell": list(cell),
            "pinned": pinned,
        }
        if verdict.status == VANISHED:
            payload["gone"] = [list(cell)] if pinned else []
        elif self._session.settings.pin and verdict.can_be_pinned:
            payload |= self._evidence(verdict)
            if pinned and (verdict.status == UNPINNED or verdict.is_new or payload["accepted"]):
                payload |= self._measured(cell)
        self._node.stash[PAYLOAD] = payload
        properties = {"retrieval": verdict.status, "was": verdict.before, "now": verdict.after}
        self._node.user_properties.extend((key, value) for key, value in properties.items() if value == value)

    def _evidence(self, verdict: Verdict) -> dict[str, Any]:
        """Return what pinning this cell would keep, and whether its stratum's rankings are to be replaced."""
        session, name, cell = self._session, self._item.goldset, verdict.cell
        goldset, measures = session.goldsets.get(name), self._measures(cell.subject)
        run = self._run(goldset, cell.subject)
        members = groups(goldset)[cell.stratum]
        fresh = [query for query in members if session.is_fresh((name, cell.subject, query))]
        lines = evidence_of(goldset, run, measures, fresh)
        return {
            "evidence": [line.plain() for line in lines.values()],
            "accepted": self._accepted(goldset, cell, measures, run),
        }

    def _measured(self, cell: Cell) -> dict[str, Any]:
        """Return the noise band to pin with a cell whose rankings are pinned anew."""
        __tracebackhide__ = True
        goldset = self._session.goldsets.get(self._item.goldset)
        fault = ""
        try:
            number, bands = self._noise(goldset, cell.subject, self._run(goldset, cell.subject))
        except RetrievalError as error:
            fault = str(error)
        if fault:
            self._fail(
                f"{goldset.name}: {cell} cannot be pinned: retrieved a second time: {fault}", cause=fault
            )
        return {"noise": [bands.get(cell, 0.0), number] if number else [None, None]}

    def _accepted(self, goldset: GoldSet, cell: Cell, measures: Sequence[Measure], run: Run) -> list[str]:
        """Return the queries whose pinned rankings are to be replaced by today's."""
        mode = self._session.settings.pin
        by_name = groups(goldset)
        if mode == PIN_ALL:
            return list(by_name[cell.stratum])
        strata = set((goldset.qrels.strata or {}).values()) or {ALL}
        if mode == PIN_NEW or cell.stratum not in strata:
            return []
        assert mode == PIN_RAISE
        pins = self._session.goldsets.pins(self._item.goldset)
        fallen = {q.query_id for q in must_fallen(goldset, cell.subject, measures[0], run, pins)}
        risen: set[str] = set()
        for other, verdict in self._judged(cell.subject).items():
            if verdict.status == DESCRIBED:
                continue
            if other.stratum != cell.stratum and not other.stratum.startswith(SLICE):
                continue
            worse = worse_by(verdict.before, verdict.after, verdict.higher_is_better)
            if worse > verdict.band:
                fallen |= set(by_name[other.stratum])
            elif worse < -verdict.band:
                risen |= {change.query_id for change in verdict.changes if _rose(verdict, change)}
        members = set(by_name[cell.stratum])
        return list(by_name[cell.stratum]) if members & risen and not members & fallen else []

    def _check_goldset(self) -> None:
        """Judge what no cell can see: that every cell is pinned, none has vanished, and must-queries hold."""
        __tracebackhide__ = True
        session, name, cells = self._session, self._item.goldset, self._item.cells
        goldset = session.goldsets.get(name)
        if not cells:
            self._fail(
                f"{name}: nothing is gated: goldset.toml declares no subject with measures. Add, for example,"
                '\n\n    [subjects.bm25]\n    measures = ["recall@5"]\n'
            )
        fault = ""
        try:
            pins = session.goldsets.pins(name)
        except RetrievalError as error:
            fault = str(error)
        if fault:  # outside of the handler, or pytest tells it twice
            self._fail(fault, cause=fault)
        declared = set(session.cells(name, kinds_of(self._node), None))
        unpinned = [cell for cell in cells if cell not in pins.cells]
        rows: list[dict[str, Any]] = []
        stages: list[dict[str, Any]] = []
        replies: list[dict[str, Any]] = []
        problems: list[str] = []
        unavailable: dict[str, str] = {}
        if unpinned and not session.settings.pin:
            problems.append(
                f"{len(unpinned)} of {counted(len(cells), 'cell', 'cells')}"
                f" {'has' if len(unpinned) == 1 else 'have'} no pin yet: {listed(unpinned, 5)}\n"
                "to pin what is new:  pytest --retrieval-pin=new  (then review and commit the pins)"
            )
        for subject in sorted({cell.subject for cell in cells}):
            try:
                verdicts = self._judged(subject)
            except Unavailable as reason:
                unavailable[subject] = reason.reason
                continue
            except RetrievalError as error:
                problems.append(
                    f"{subject} could not be judged: {session.told(str(error), self._node.nodeid)}"
                )
                continue
            stages += self._stages(goldset, subject)
            replies += self._replies(goldset, subject)
            problems += self._must(goldset, subject)
            problems += self._one_sided(goldset, subject)
            problems += self._branch(goldset, subject)
            rows += [
                row_of(name, verdict).plain() for cell, verdict in verdicts.items() if cell not in declared
            ]
        unjudged = [_unjudged(name, subject, reason) for subject, reason in unavailable.items()]
        spans = goldset.qrels.spans
        cut = [f"{name}: {note}" for note in cut_note(spans)] if spans is not None else []
        notes = [*session.goldsets.notes(name), *cut, *self._branch_notes, *unjudged]
        self._node.stash[PAYLOAD] = _payload(name, rows, notes) | {"stages": stages, "replies": replies}
        if session.settings.fail_unavailable:
            problems += (
                f"{subject} is unavailable: {reason} (retrieval_unavailable = error)"
                for subject, reason in unavailable.items()
            )
        if problems:
            self._fail(f"{name}: " + "\n\n".join(problems))
        if len(unavailable) == len({cell.subject for cell in cells}):
            each = "; ".join(f"{subject} is unavailable: {reason}" for subject, reason in unavailable.items())
            skip(f"{name}: nothing was judged: {each}")

    def _stages(self, goldset: GoldSet, subject: str) -> list[dict[str, Any]]:
        """Return what the summary says of a pipeline's stages; nothing where there are none."""
        measures = self._measures(subject)
        if not measures:
            return []
        run = self._run(goldset, subject)
        prompt = goldset.context_size or measures[0].k or goldset.depth
        rows = stage_rows(goldset, subject, run, prompt) if run.stages else ()
        return [row.plain() for row in rows]

    def _replies(self, goldset: GoldSet, subject: str) -> list[dict[str, Any]]:
        """Return what the summary describes of a recording's replies; nothing where the subject is a run."""
        if not self._measures(subject):
            return []  # pinned once and declared no more: its recording may be another one by now
        recorded = self._recorded(goldset, subject)
        if recorded is None:
            return []
        rows = reply_rows(goldset, subject, recorded.recording, recorded.context)
        return [row.plain() for row in rows]

    def _must(self, goldset: GoldSet, subject: str) -> list[str]:
        """Return a paragraph on must-queries that fell or were never pinned."""
        measures, pins = self._measures(subject), self._session.goldsets.pins(goldset.name)
        mode = self._session.settings.pin
        if not measures or not goldset.must or mode == PIN_ALL or subject not in pins.evidence:
            return []
        fallen = must_fallen(goldset, subject, measures[0], self._run(goldset, subject), pins)
        problems = []
        if fallen:
            lines = [self._fallen(change) for change in fallen]
            problems.append(
                f"{len(fallen)} must-quer{'y' if len(fallen) == 1 else 'ies'} of {subject} fell on"
                f" {measures[0].name}:\n" + "\n".join(lines)
            )
        without = sorted(goldset.must - pins.evidence[subject].keys()) if not mode else []
        if without:
            problems.append(
                f"must-queries of {subject} without a pin: {listed(without)}; --retrieval-pin=new pins"
            )
        return problems

    def _fallen(self, change: QueryChange) -> str:
        text = f" “{change.text}”" if self._session.settings.show_text else ""
        return f"  {change.query_id}{text}  {number(change.before)} → {number(change.after)}"

    def _branch(self, goldset: GoldSet, subject: str) -> list[str]:
        """Return a paragraph on what this branch changed about how it is judged, if that favours it."""
        session, against = self._session, self._session.against
        measures = self._measures(subject)
        if against is None or not measures:
            return []
        if goldset.name not in against.goldsets.folders:
            if against.pins(goldset.name).cells:
                self._branch_notes.append(
                    f"the gold set {goldset.name} is not in the repository, so what changed in it since"
                    f" {against.label} cannot be told"
                )
            return []
        changes = branch_changes(
            against.goldsets.get(goldset.name),
            goldset,
            subject,
            measures[0],
            self._run(goldset, subject),
            against.pins(goldset.name),
            session.goldsets.pins(goldset.name),
        )
        favouring = sum(change.favours for change in changes)
        if not changes:
            return []
        favour = {True: " (favours this branch)", False: ""}
        lines = [f"  {change.what}{favour[change.favours]}" for change in changes]
        text = (
            f"{subject}: against {against.label} this branch changed"
            f" {counted(len(changes), 'thing', 'things')} about how it is judged, {favouring} in its own"
            " favour:"
        )
        if not favouring or session.settings.accept_lowered:
            self._branch_notes += [text, *lines]
            return []
        return ["\n".join([text, *lines, "if a reviewer agrees:  add --retrieval-accept-lowered"])]

    def _one_sided(self, goldset: GoldSet, subject: str) -> list[str]:
        """Return paragraphs on pinned queries that are compared no longer: removed ones and reworded ones."""
        if self._session.settings.pin:
            return []
        pinned = self._session.goldsets.pins(goldset.name).evidence.get(subject, {})
        meeting = pairing(goldset, pinned)
        removed, reworded = meeting.removed, meeting.reworded
        problems = []
        if removed:
            problems.append(
                f"{counted(len(removed), 'pinned query', 'pinned queries')} of {subject}"
                f" {'is' if len(removed) == 1 else 'are'} gated no longer: {listed(removed)}\n"
                "if they are meant to go:  pytest --retrieval-pin=new  (then review and commit the pins)"
            )
        if reworded:
            problems.append(
                f"{counted(len(reworded), 'query', 'queries')} of {subject}"
                f" {'has' if len(reworded) == 1 else 'have'} another text than was pinned, so nothing holds"
                f" what was found for {'it' if len(reworded) == 1 else 'them'}: {listed(reworded)}\n"
                "to pin the new text:  pytest --retrieval-pin=new  (then review and commit the pins)"
            )
        return problems

    def _fail(self, text: str, cause: str = "") -> NoReturn:
        """Fail the test; a cause that another test told already is only named."""
        __tracebackhide__ = True
        if cause:
            told = self._session.told(cause, self._node.nodeid)
            if told != cause:
                text = f"{self._item.goldset}: {self._item.cell or ''} {told}"
        fail(text)


def _collected_twice(nodeids: Sequence[str]) -> str:
    tests = dict.fromkeys(nodeid.partition("[")[0] for nodeid in nodeids)
    if len(tests) == 1:
        return (
            f"this cell is collected {len(nodeids)} times by one test, which is parametrised:"
            f" {listed(nodeids)}; take the parameters away, and give each system a name in the fixture"
            " `retrievers` and a table [subjects.name] in goldset.toml"
        )
    return (
        f"this cell is collected by {len(tests)} tests: {listed(nodeids)}; give each test its own gold sets"
        " or subjects: @pytest.mark.goldset(name, subjects=[…])"
    )


def _payload(goldset: str, rows: Sequence[dict[str, Any]] = (), notes: Sequence[str] = ()) -> dict[str, Any]:
    """Return what an item that pins nothing tells the controller."""
    return {"rows": list(rows), "goldset": goldset, "cell": None, "pinned": False, "notes": list(notes)}


def _unjudged(goldset: str, subject: str, reason: str) -> str:
    return f"{goldset}: {subject} is unavailable, so none of its cells was judged: {reason}"


def _rose(verdict: Verdict, change: QueryChange) -> bool:
    return worse_by(change.before, change.after, verdict.higher_is_better) < 0


def _gone(cell: Cell, value: float) -> Verdict:
    message = f"pinned, but subject {cell.subject} is no longer declared in goldset.toml"
    return Verdict(cell=cell, status=VANISHED, message=message, pinned=value)
