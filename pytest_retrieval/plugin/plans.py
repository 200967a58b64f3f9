"""The plans of a session's gold sets: read once, and written where that was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from pytest_retrieval.errors import RetrievalError, SettingsError
from pytest_retrieval.files.plan import PLAN, Plan, Planned, load_plan, parse_plan, save_plan
from pytest_retrieval.files.revision import committed
from pytest_retrieval.files.writing import replace_file
from pytest_retrieval.plugin.intents import totals

if TYPE_CHECKING:
    from pytest_retrieval.plugin.session import Session

__all__ = ["Plans"]


@final
class Plans:
    """Gold set → plan.

    Attributes
    ----------
    told
        Lines about plans for the summary.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._plans: dict[str, Plan | None] = {}
        self._committed: dict[str, bytes] = {}
        self.told: list[str] = []

    def get(self, goldset: str) -> Plan | None:
        """Return the plan of a gold set, read once; while locking, one that was removed is not forgotten."""
        if goldset not in self._plans:
            home = self._session.goldsets.home(goldset)
            plan = load_plan(home)
            if plan is None and self._session.settings.lock:
                plan = self._removed(goldset, home / PLAN)
            self._plans[goldset] = plan
        return self._plans[goldset]

    def _removed(self, goldset: str, path: Path) -> Plan | None:
        """Return the plan that the last commit to hold one has, and the folder has not."""
        data = committed(path, goldset)
        if data is None:
            return None
        self._committed[goldset] = data
        self.told.append(f"{goldset}: {PLAN} is gone here; as it was last committed, it counts as locked")
        try:
            return parse_plan(data, f"{PLAN} as last committed")
        except SettingsError:  # it was there, so a reason is needed, whatever it held
            return Plan(self._session.goldsets.get(goldset).alpha)

    def write(self, told: Mapping[str, Mapping[str, Any]], selected: int) -> list[tuple[str, str]]:
        """Write every plan that changed; return a planned test and the reason for each that cannot be.

        Parameters
        ----------
        told
            Node id → notes, of every test that said something of a plan.
        selected
            How many comparisons this process was told to lock; notes say it of other processes.
        """
        notes = [note for note in told.values() if note["lock"] or note["gone"]]
        most = max([selected, *(note["selected"] for note in told.values())])
        if len(notes) < most:
            self.told.append(f"plans not written: {len(notes)} of {most} planned comparisons can be locked")
            return []
        unwritten = []
        if not notes:
            self.told.append("nothing to lock: no test that was selected is marked planned_comparison")
        for name in sorted({note["goldset"] for note in notes}):
            of_goldset = [note for note in notes if note["goldset"] == name]
            try:
                self._write_one(
                    name,
                    [Planned(*note["lock"]) for note in of_goldset if note["lock"]],
                    [note["gone"] for note in of_goldset if note["gone"]],
                )
            except (RetrievalError, OSError) as error:
                self.told.append(f"{name}: plan not written: {error}")
                test = next(nodeid for nodeid, note in told.items() if note["goldset"] == name)
                unwritten.append((test, self.told[-1]))
        return unwritten

    def _write_one(self, name: str, found: list[Planned], gone: list[str]) -> None:
        old = self.get(name)
        plan = old or Plan(self._session.goldsets.get(name).alpha)
        new = plan.locked(found, gone)
        home = self._session.goldsets.home(name)
        reason = self._session.settings.reason
        edited = old is not None and (old.is_loosened or old.is_tightened)
        if old is not None and new.comparisons == old.comparisons and not edited:
            kept = "; no reason was needed, and none was kept" if reason else ""
            self.told.append(
                f"{name}: nothing to lock; the plan is as it was: {totals({name: old}, name)}{kept}"
            )
            if name in self._committed:
                replace_file(home / PLAN, self._committed[name])
            return
        new = new.locked((), reason=reason)
        save_plan(home, new)
        self._plans[name] = new
        self.told.append(
            f"{name}: locked {totals({name: new}, name)}; review and commit {PLAN}, then run pytest"
        )
