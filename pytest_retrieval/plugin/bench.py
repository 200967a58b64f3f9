"""What a gate test judges one gold set with: its runs, its pins, and the verdicts that follow from them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, final

from pytest_retrieval.errors import RetrievalError, RetrieverError
from pytest_retrieval.gate.branch import lowered_with_reason
from pytest_retrieval.gate.cells import Cell, described
from pytest_retrieval.gate.faults import fault_of, infeasible
from pytest_retrieval.gate.judging import judge
from pytest_retrieval.gate.noise import RETRIEVALS, differing, noise_bands
from pytest_retrieval.gate.pin import rule_threshold
from pytest_retrieval.gate.verdict import DESCRIBED, STALE, VANISHED, Verdict
from pytest_retrieval.plugin.against import accepted, as_strict
from pytest_retrieval.plugin.items import kinds_of
from pytest_retrieval.plugin.running import as_run, check_required
from pytest_retrieval.report.failure import JudgedBy

if TYPE_CHECKING:
    import pytest

    from pytest_retrieval.gate.pin import Pins
    from pytest_retrieval.measures.notation import Measure
    from pytest_retrieval.measures.rank import MeasureKind
    from pytest_retrieval.model.goldset import GoldSet
    from pytest_retrieval.model.run import Run
    from pytest_retrieval.plugin.recordings import Recorded
    from pytest_retrieval.plugin.session import Session

__all__ = ["Bench"]


@final
class Bench:
    """One gold set as one gate test sees it: with the measures that hold for the test.

    What is made of a run is made once per session, whichever test asks first.

    Attributes
    ----------
    session
        That the test is part of.
    """

    def __init__(self, session: Session, goldset: str, node: pytest.Item) -> None:
        self.session = session
        self._name = goldset
        self._node = node

    @property
    def goldset(self) -> GoldSet:
        """The gold set.

        Raises
        ------
        RetrievalError
            It cannot be used.
        """
        return self.session.goldsets.get(self._name)

    @property
    def pins(self) -> Pins:
        """Its pins of today.

        Raises
        ------
        RetrievalError
            They cannot be used.
        """
        return self.session.goldsets.pins(self._name)

    @property
    def kinds(self) -> list[MeasureKind]:
        """The project's own measures that hold for the test."""
        return kinds_of(self._node)

    def measures(self, subject: str) -> tuple[Measure, ...]:
        """Return the measures of a subject, primary first; none where it is not declared."""
        return self.session.goldsets.measures(self._name, subject, self.kinds)

    def recorded(self, subject: str) -> Recorded | None:
        """Return the recording that a subject is part of, if it is part of one."""
        return self.session.recordings.subject(self.goldset, subject)

    @property
    def gone(self) -> set[Cell]:
        """What was pinned at the base and is neither declared nor pinned today."""
        with contextlib.suppress(RetrievalError):  # every cell fails with it when it runs
            now = set(self.session.goldsets.cells(self._name, self.kinds, None))
            return set(self.session.pins_then(self._name).cells) - now
        return set()

    def base(self, cell: Cell) -> JudgedBy | None:
        """Return the base by whose pins a cell is judged, None where it is judged by today's."""
        session = self.session
        if session.against is None:
            return None
        with contextlib.suppress(RetrievalError):  # then the verdict is an error that says so
            then, now = session.pins_then(self._name), self.pins
            if cell in then.cells:
                reason = "" if session.settings.accept_lowered else lowered_with_reason(cell, then, now)
                return JudgedBy(session.settings.against, session.against.label, reason, cell in now.cells)
        return None

    def infeasible(self, cell: Cell) -> str:
        """Return why a cell's statistical rule could never fail, before anything is retrieved for it."""
        pins = self.pins
        pin = pins.cells.get(cell)
        return "" if pin is None else infeasible(pin, pin.n, rule_threshold(pins, self.goldset.alpha))

    def verdicts(self, subject: str) -> Mapping[Cell, Verdict]:
        """Return the verdicts on every cell of a subject, made once per session.

        Raises
        ------
        RetrievalError, Unavailable
            There is nothing that could be judged.
        """
        session, goldset, pins = self.session, self.goldset, self.pins
        measures = self.measures(subject)
        then = session.pins_then(self._name)
        if not measures:
            both = {**pins.cells, **then.cells}
            gone = {cell: _gone(cell, pin.value) for cell, pin in both.items() if cell.subject == subject}
            return accepted(gone, {}, then, pins) if session.settings.accept_lowered else gone
        run = self.run(subject)
        again = self.again(subject, session.settings.repeats)

        def verdicts() -> Mapping[Cell, Verdict]:
            cells = [cell for cell in session.cells(self._name, self.kinds, None) if cell.subject == subject]
            also = described(goldset, subject, measures, cells)
            new = [cell for cell in cells if cell not in then.cells]
            found = self._fresh(subject, judge(goldset, subject, measures, run, pins, new, also, again))
            if session.against is None or len(new) == len(cells):
                return found
            old = [cell for cell in cells if cell in then.cells]
            rules = session.against.rules(goldset)
            of_base = judge(rules, subject, measures, run, then, old, (), again)
            if session.settings.accept_lowered:
                pinned = [cell for cell in old if cell in pins.cells]
                own = judge(rules, subject, measures, run, as_strict(pins, then), pinned, (), again)
                of_base = accepted(of_base, own, then, pins)
            return found | self._fresh(subject, of_base)

        return session.judged((self._name, subject), run, verdicts)

    def run(self, subject: str) -> Run:
        """Return a subject's run, if it can be judged.

        Raises
        ------
        RetrieverError, Unavailable
            It cannot be had, or is at fault.
        """
        session, goldset = self.session, self.goldset
        check_required(goldset, subject)
        recorded = self.recorded(subject)
        if recorded is not None:
            recorded.refuse_uncalibrated(self.measures(subject))
        run = as_run(session.run(subject), subject) if recorded is None else recorded.run
        fault = session.fault((self._name, subject), run, lambda: fault_of(goldset, run))
        if fault:
            raise RetrieverError(f"{subject}: {fault}")
        return run

    def again(self, subject: str, repeats: int) -> tuple[Run, ...]:
        """Return further retrievals by a subject, `repeats` with the first; none of a recording.

        Raises
        ------
        RetrieverError, Unavailable
            One of them failed, or is at fault.
        """
        session = self.session
        if repeats <= 1 or self.recorded(subject) is not None:
            return ()
        found = [run for n in range(1, repeats) if (run := session.again(subject, n)) is not None]
        for run in found:
            fault = session.fault((self._name, subject), run, partial(fault_of, self.goldset, run))
            if fault:
                raise RetrieverError(f"{subject}, retrieved again: {fault}")
        return tuple(found)

    def noise(self, subject: str) -> tuple[int, Mapping[Cell, float]]:
        """Return over how many retrievals the noise of a subject was measured, and each cell's band.

        A subject that returns the same twice has no noise: 0 and nothing.

        Raises
        ------
        RetrieverError, Unavailable
            It cannot be retrieved again.
        """
        first = self.run(subject)

        def measure() -> tuple[int, Mapping[Cell, float]]:
            second = self.again(subject, 2)
            if not any(differing(first, run, self.goldset.gated_queries) for run in second):
                return 0, {}
            number = max(RETRIEVALS, self.session.settings.repeats)
            runs = (first, *self.again(subject, number))
            return number, noise_bands(self.goldset, self.measures(subject), runs)

        return self.session.noise((self._name, subject), first, measure)

    def _fresh(self, subject: str, verdicts: Mapping[Cell, Verdict]) -> dict[Cell, Verdict]:
        """Return verdicts on a recording with what is to be known beside them; stale where it is."""
        recorded = self.recorded(subject)
        if recorded is None:
            return dict(verdicts)
        session, allowed = self.session, self.goldset.recording_drift
        drift = session.recordings.drift(
            self.goldset, subject, session.retrievals, lambda: session.fixture("retrievers")
        )
        told = {
            cell: replace(verdict, notes=(*verdict.notes, *recorded.recording.notes, drift.note))
            for cell, verdict in verdicts.items()
        }
        if not drift.is_stale(allowed):
            return told
        message = drift.message(allowed)
        return {
            cell: verdict if verdict.status == DESCRIBED else replace(verdict, status=STALE, message=message)
            for cell, verdict in told.items()
        }


def _gone(cell: Cell, value: float) -> Verdict:
    message = f"pinned, but subject {cell.subject} is no longer declared in goldset.toml"
    return Verdict(cell=cell, status=VANISHED, message=message, pinned=value)
