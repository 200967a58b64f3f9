"""The ledger: what items reported, kept by the process that prints the summary and writes the pins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, final

from pytest_retrieval.errors import FileError, RetrievalError, counted, listed
from pytest_retrieval.files.pins import save_pins
from pytest_retrieval.gate.cells import Cell, measures_of, slug
from pytest_retrieval.gate.pin import Evidence
from pytest_retrieval.gate.repin import CellChange, refreshments, repin
from pytest_retrieval.report.numbers import number, numbers
from pytest_retrieval.report.scorecard import CellRow, ReplyRow, StageRow
from pytest_retrieval.report.tables import reply_table, stage_table, table

if TYPE_CHECKING:
    from pytest_retrieval.measures.rank import MeasureKind
    from pytest_retrieval.plugin.goldsets import GoldSets

__all__ = ["Ledger"]

_QUERIES = ("query", "queries")


@final
class Ledger:
    """Payloads of gate items, by node id."""

    def __init__(self) -> None:
        self._payloads: dict[str, dict[str, Any]] = {}
        self._ended: set[str] = set()
        self._differing: dict[str, list[str]] = {}
        self._selected = 0
        self.lines: list[str] = []
        """What pinning did, for the summary."""
        self.unwritten: list[tuple[str, str]] = []
        """Tests whose pins could not be written, each with the reason."""

    def add(self, nodeid: str, payload: dict[str, Any], selected: int, *, is_last: bool = True) -> None:
        """Take note of one try of an item; the last one counts, and only it ends the item.

        `selected` is how many gate items its process was told to run.
        """
        before = _lines(self._payloads.get(nodeid, {}))
        differing = [q for q, line in _lines(payload).items() if before.get(q, line) != line]
        if differing:
            self._differing[nodeid] = differing
        self._payloads[nodeid] = payload
        if is_last:
            self._ended.add(nodeid)
        self._selected = max(self._selected, selected)

    @property
    def is_empty(self) -> bool:
        """Whether no gate item has reported."""
        return not self._payloads

    def summary(self) -> list[str]:
        """Return the lines of the terminal section."""
        rows = {
            (row.goldset, row.subject, row.measure, row.stratum): row
            for payload in self._payloads.values()
            for row in map(CellRow.from_plain, payload["rows"])
        }
        notes = dict.fromkeys(
            f"note: {note}" for payload in self._payloads.values() for note in payload.get("notes", ())
        )
        stages = {
            (row.goldset, row.subject, row.stage, row.stratum): row
            for payload in self._payloads.values()
            for row in map(StageRow.from_plain, payload.get("stages", ()))
        }
        replies = {
            (row.goldset, row.subject, row.stratum): row
            for payload in self._payloads.values()
            for row in map(ReplyRow.from_plain, payload.get("replies", ()))
        }
        unjudged: dict[str, list[Cell]] = {}
        for name, *cell in filter(None, (payload.get("unjudged") for payload in self._payloads.values())):
            unjudged.setdefault(name, []).append(Cell(*cell))
        skipped = [
            f"not judged: {counted(len(cells), 'cell', 'cells')} of {name} collected and skipped:"
            f" {listed(cells, 5)}"
            for name, cells in unjudged.items()
        ]
        of_cells, of_stages = table(list(rows.values())), stage_table(list(stages.values()))
        return [*of_cells, *of_stages, *reply_table(list(replies.values())), *skipped, *notes, *self.lines]

    def pin(self, goldsets: GoldSets, kinds: Sequence[MeasureKind], reason: str, *, failed: bool) -> None:
        """Write the pins of every gold set that reported, if every selected item did.

        Where a test `failed`, an item that did not report has its reason there already.
        """
        if self.is_empty:
            self.lines.append("nothing pinned: no gate test was selected")
            return
        for nodeid, queries in self._differing.items():
            self._not_written(
                f"pins not written: {nodeid} was tried more than once, and its tries retrieved different"
                f" results for {listed(queries, 5)}; let `retrievers` return the same object to every try"
                ' (@pytest.fixture(scope="session")), or measure the noise with --retrieval-repeats',
                self._payloads[nodeid]["goldset"],
            )
            return
        if len(self._ended) < self._selected:
            text = (
                f"pins not written: {len(self._ended)} of"
                f" {counted(self._selected, 'selected gate item', 'selected gate items')} reported"
            )
            if failed:
                self.lines.append(text)
            else:
                self._not_written(text, "")
            return
        told = (p for p in self._payloads.values() if "evidence" in p or p.get("gone"))
        names = dict.fromkeys(payload["goldset"] for payload in told)
        if not names:
            self.lines.append("nothing pinned: none of the selected cells could be judged")
        for name in names:
            try:
                self._pin_one(goldsets, name, kinds, reason)
            except FileError as error:
                reasons = "; ".join(map(str, error.problems))
                self._not_written(f"{name}: pins not written: {reasons}", name)
            except RetrievalError as error:
                self._not_written(f"{name}: pins not written: {error}", name)

    def _not_written(self, text: str, goldset: str) -> None:
        """Take note of pins that were asked for and are not there, and of the test they belong to."""
        of_goldset = (test for test, p in self._payloads.items() if goldset in ("", p["goldset"]))
        test = next(of_goldset).partition("[")[0]
        self.unwritten.append((f"{test}[{slug(goldset)}{'-' if goldset else ''}pins_not_written]", text))
        self.lines.append(text)

    def _pin_one(self, goldsets: GoldSets, name: str, kinds: Sequence[MeasureKind], reason: str) -> None:
        goldset = goldsets.get(name)
        today: dict[str, dict[str, Evidence]] = {}
        accepted: dict[str, set[str]] = {}
        reported: dict[Cell, str] = {}
        gone: set[Cell] = set()
        noise: dict[Cell, tuple[float | None, int | None]] = {}
        for nodeid, payload in self._payloads.items():
            if payload["goldset"] != name:
                continue
            gone.update(Cell(*cell) for cell in payload.get("gone", ()))
            if "evidence" not in payload:
                continue
            cell = Cell(*payload["cell"])
            lines = today.setdefault(cell.subject, {})
            lines |= {line["query_id"]: Evidence.from_plain(line) for line in payload["evidence"]}
            if "noise" in payload:
                noise[cell] = tuple(payload["noise"])
            if payload["pinned"]:
                reported[cell] = nodeid.partition("[")[0]
            accepted.setdefault(cell.subject, set()).update(payload["accepted"])
        before = goldsets.pins(name)
        pins, changes = repin(
            before,
            goldset,
            measures_of(goldset, kinds),
            today=today,
            accepted=accepted,
            reported=reported,
            gone=gone,
            reason=reason,
            noise=noise,
        )
        also = refreshments(before, pins)
        if changes or also:
            save_pins(goldsets.home(name), pins)
        self.lines += [*_told(name, changes, also), *_noisy(noise)]


def _lines(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return query → line of evidence that a payload carries."""
    return {line["query_id"]: line for line in payload.get("evidence", ())}


def _noisy(noise: Mapping[Cell, tuple[float | None, int | None]]) -> list[str]:
    """Return a line on each subject whose rankings differ between two retrievals."""
    bands: dict[tuple[str, int], list[float]] = {}
    for cell, (band, retrievals) in noise.items():
        if band is not None and retrievals is not None:
            bands.setdefault((cell.subject, retrievals), []).append(band)
    return [
        f"  {subject} differs between two retrievals: its pins carry a noise band, measured over {number}"
        f" retrievals, {min(of_subject):.3g} to {max(of_subject):.3g}"
        for (subject, number), of_subject in bands.items()
    ]


def _told(name: str, changes: Sequence[CellChange], also: Sequence[str]) -> list[str]:
    if not (changes or also):
        return [f"{name}: nothing to pin; every cell is as it was"]
    what = f"pinned {counted(len(changes), 'cell', 'cells')}" if changes else "every value is as it was"
    lines = [f"{name}: {what}; review and commit pins.toml and pins/"]
    for change in changes:
        before, after = numbers(change.before, change.after)
        if change.before is None:
            lines.append(f"  {change.cell}: new, {number(change.after)} over {counted(change.n, *_QUERIES)}")
        elif change.after is None:
            lines.append(f"  {change.cell}: {before} → gone")
        else:
            lines.append(f"  {change.cell}: {before} → {after} over {counted(change.n, *_QUERIES)}")
    return [*lines, *(f"  written anew: {text}" for text in also)]
