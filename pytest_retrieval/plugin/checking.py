"""Checking one item of a gate test: from verdicts to a payload and an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, final

import pytest

from pytest_retrieval.errors import RetrievalError, Unavailable, counted, listed
from pytest_retrieval.gate.passages import cut_note
from pytest_retrieval.gate.verdict import ERROR, STALE, Verdict
from pytest_retrieval.plugin.bench import Bench
from pytest_retrieval.plugin.items import GateItem, fail, skip
from pytest_retrieval.plugin.payload import FAILED, PAYLOAD, payload_of
from pytest_retrieval.plugin.pinning import evidence, fault_of_depth, is_pinned
from pytest_retrieval.plugin.whole import Seen, seen_of
from pytest_retrieval.report.failure import failure
from pytest_retrieval.report.scorecard import row_of

if TYPE_CHECKING:
    from pytest_retrieval.gate.cells import Cell
    from pytest_retrieval.plugin.session import Session

__all__ = ["GATE", "Gate"]


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
        self._bench = Bench(session, item.goldset, node)
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
            verdict = Verdict(cell=cell, status=ERROR, message=_collected_twice(owners))
        else:
            verdict = self._verdict(cell)
        goldset = self._bench.goldset
        session.config.hook.pytest_retrieval_verdict(goldset=goldset, verdict=verdict)
        pinned = is_pinned(verdict, session.settings.pin)
        self._report(verdict, pinned)
        if verdict.passes or pinned:
            return
        self._fail(
            failure(
                name,
                verdict,
                depth=goldset.depth,
                reproduce=session.from_here(self._node.nodeid),
                pin_new=session.pin_new,
                base=self._bench.base(cell),
                grades={grade: word for word, grade in goldset.grades.items()},
                details=session.settings.details,
                show_text=session.settings.show_text,
            ),
            cause=verdict.message if verdict.status in (ERROR, STALE) else "",
        )

    def _verdict(self, cell: Cell) -> Verdict:
        """Return the verdict on a cell; whatever keeps it from being judged is an error that says so."""
        __tracebackhide__ = True
        try:
            why = self._bench.infeasible(cell)
            if why:
                return Verdict(cell=cell, status=ERROR, message=why)
            return self._bench.verdicts(cell.subject)[cell]
        except Unavailable as unavailable:
            self._unavailable(cell, unavailable.reason)
        except RetrievalError as error:
            return Verdict(cell=cell, status=ERROR, message=str(error))

    def _unavailable(self, cell: Cell, reason: str) -> NoReturn:
        __tracebackhide__ = True
        name = self._item.goldset
        self._node.stash[PAYLOAD] = payload_of(name, notes=[_unjudged(name, cell.subject, reason)])
        text = f"{name}: {cell.subject} is unavailable: {reason}"
        if self._session.settings.fail_unavailable:
            self._fail(f"{text} (retrieval_unavailable = error)", cause=reason)
        skip(text)

    def _report(self, verdict: Verdict, pinned: bool) -> None:
        """Leave with the item what the controller is to know; fail it where its pin could not be made."""
        __tracebackhide__ = True
        name, cell = self._item.goldset, verdict.cell
        fault = fault_of_depth(self._bench, verdict) if pinned else ""
        if fault:
            self._fail(f"{name}: {cell} cannot be pinned: {fault}")
        kept: dict[str, Any] = {}
        try:
            kept = evidence(self._bench, verdict, pinned=pinned)
        except RetrievalError as error:
            fault = str(error)
        if fault:  # outside of the handler, or pytest tells it twice
            self._fail(f"{name}: {cell} cannot be pinned: retrieved a second time: {fault}", cause=fault)
        rows = [row_of(name, verdict, "pinned" if pinned and not verdict.passes else "").plain()]
        self._node.stash[PAYLOAD] = payload_of(name, rows, cell=list(cell), pinned=pinned, **kept)
        properties = {"retrieval": verdict.status, "was": verdict.before, "now": verdict.after}
        told = self._node.user_properties
        told[:] = [entry for entry in told if entry[0] not in properties]  # of an earlier try
        told.extend((key, value) for key, value in properties.items() if value == value)

    def _check_goldset(self) -> None:
        """Judge what no cell can see: that every cell is pinned, none has vanished, and must-queries hold."""
        __tracebackhide__ = True
        session, bench, name, cells = self._session, self._bench, self._item.goldset, self._item.cells
        goldset = bench.goldset
        if not cells:
            self._fail(
                f"{name}: nothing is gated: goldset.toml declares no subject with measures. Add, for example,"
                '\n\n    [subjects.bm25]\n    measures = ["recall@5"]\n'
            )
        fault = ""
        try:
            pins = bench.pins
        except RetrievalError as error:
            fault = str(error)
        if fault:  # outside of the handler, or pytest tells it twice
            self._fail(fault, cause=fault)
        declared = set(session.cells(name, bench.kinds, None))
        gone = bench.gone
        unpinned = [cell for cell in cells if cell not in pins.cells and cell not in gone]
        problems: list[str] = []
        unavailable: dict[str, str] = {}
        rows: list[dict[str, Any]] = []
        seen: list[Seen] = []
        if unpinned and not session.settings.pin:
            problems.append(
                f"{len(unpinned)} of {counted(len(cells), 'cell', 'cells')}"
                f" {'has' if len(unpinned) == 1 else 'have'} no pin yet: {listed(unpinned, 5)}\n"
                f"to pin what is new:  {session.pin_new}  (then review and commit the pins)"
            )
        subjects = sorted({cell.subject for cell in cells})
        for subject in subjects:
            try:
                verdicts = bench.verdicts(subject)
            except Unavailable as reason:
                unavailable[subject] = reason.reason
                continue
            except RetrievalError as error:
                problems.append(
                    f"{subject} could not be judged: {session.told(str(error), self._node.nodeid)}"
                )
                continue
            seen.append(seen_of(bench, subject))
            problems += seen[-1].problems
            rows += [
                row_of(name, verdict).plain() for cell, verdict in verdicts.items() if cell not in declared
            ]
        spans = goldset.qrels.spans
        self._node.stash[PAYLOAD] = payload_of(
            name,
            rows,
            notes=[
                *session.goldsets.notes(name),
                *(f"{name}: {note}" for note in (cut_note(spans) if spans is not None else ())),
                *(note for of_subject in seen for note in of_subject.notes),
                *self._ungated(subjects),
                *(_unjudged(name, subject, reason) for subject, reason in unavailable.items()),
            ],
            stages=[row for of_subject in seen for row in of_subject.stages],
            replies=[row for of_subject in seen for row in of_subject.replies],
        )
        if session.settings.fail_unavailable:
            problems += (
                f"{subject} is unavailable: {reason} (retrieval_unavailable = error)"
                for subject, reason in unavailable.items()
            )
        if problems:
            self._fail(f"{name}: " + "\n\n".join(problems))
        if len(unavailable) == len(subjects):
            each = "; ".join(f"{subject} is unavailable: {reason}" for subject, reason in unavailable.items())
            skip(f"{name}: nothing was judged: {each}")

    def _ungated(self, subjects: Sequence[str]) -> list[str]:
        """Return a note on the retrievers that the gold set does not gate: a broken one would not be seen."""
        bench, name = self._bench, self._item.goldset
        if all(bench.recorded(subject) for subject in subjects):
            return []
        declared = {*bench.goldset.subjects, *(cell.subject for cell in bench.pins.cells)}
        try:
            offered = [retriever for retriever in bench.session.names() if retriever not in declared]
        except (RetrievalError, Unavailable):
            return []  # the cells say so
        if not offered:
            return []
        verb = "is" if len(offered) == 1 else "are"
        return [
            f"{name}: {listed(offered)} {verb} in the fixture `retrievers` and not gated; to gate one, add"
            f" [subjects.{offered[0]}] with its measures to goldset.toml"
        ]

    def _fail(self, text: str, cause: str = "") -> NoReturn:
        """Fail the test; a cause that another test told already is only named."""
        __tracebackhide__ = True
        if cause:
            told = self._session.told(cause, self._node.nodeid)
            if told != cause:
                text = f"{self._item.goldset}: {self._item.cell or ''} {told}"
        self._node.stash[FAILED] = text
        fail(text)


GATE: pytest.StashKey[Gate] = pytest.StashKey()
"""The gate of an item, in the item's stash."""


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


def _unjudged(goldset: str, subject: str, reason: str) -> str:
    return f"{goldset}: {subject} is unavailable, so none of its cells was judged: {reason}"
