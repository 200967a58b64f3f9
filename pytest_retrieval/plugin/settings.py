"""Options and ini keys, read once: nothing below the plugin knows pytest's config."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from pytest_retrieval.errors import SettingsError

if TYPE_CHECKING:
    import pytest

__all__ = [
    "PIN_ALL",
    "PIN_NEW",
    "PIN_RAISE",
    "RECORD_NONE",
    "RECORD_ONCE",
    "RECORD_REWRITE",
    "Settings",
    "read",
]

PIN_NEW, PIN_RAISE, PIN_ALL = "new", "raise", "all"
RECORD_NONE, RECORD_ONCE, RECORD_REWRITE = "none", "once", "rewrite"
_RECORDS = (RECORD_NONE, RECORD_ONCE, RECORD_REWRITE)
_PINS = (PIN_NEW, PIN_RAISE, PIN_ALL)
_UNAVAILABLE = ("skip", "error")
_MISSING = ("error", "skip")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the command line and the ini file say.

    Attributes
    ----------
    rootdir
        What relative places are relative to.
    default
        Gold set of tests that name none; empty for the only one there is.
    pin
        ``""``, ``"new"``, ``"raise"`` or ``"all"``.
    lock
        Whether planned comparisons are locked instead of run.
    reason
        Why a pin is lowered, or a locked plan changed.
    against, accept_lowered
        Revision to judge against, and whether what was lowered with a reason passes there.
    record
        ``"none"``, ``"once"`` or ``"rewrite"``.
    details
        Whether failures show every query.
    fail_unavailable
        Whether an unavailable retriever's cells fail rather than skip.
    skip_missing
        Whether tests of a gold set that is not here are skipped rather than failing.
    show_text
        Whether failures show the texts of queries.
    repeats
        How many times to retrieve.
    """

    rootdir: Path
    default: str = ""
    pin: str = ""
    lock: bool = False
    reason: str = ""
    record: str = RECORD_NONE
    details: bool = False
    against: str = ""
    accept_lowered: bool = False
    fail_unavailable: bool = False
    skip_missing: bool = False
    show_text: bool = True
    repeats: int = 1


def read(config: pytest.Config) -> Settings:
    """Return the settings of a session.

    Raises
    ------
    SettingsError
        A value is not allowed, or two do not go together.
    """
    pin = config.getoption("--retrieval-pin") or ""
    lock = bool(config.getoption("--retrieval-lock"))
    reason = " ".join(config.getoption("--retrieval-reason").split())
    if not reason.isprintable():
        raise SettingsError(f"--retrieval-reason {reason!r} is printed with results: give plain text")
    unavailable = config.getini("retrieval_unavailable")
    if pin and pin not in _PINS:
        raise SettingsError(f"--retrieval-pin={pin}: allowed are {', '.join(_PINS)}")
    if unavailable not in _UNAVAILABLE:
        raise SettingsError(f"retrieval_unavailable = {unavailable}: allowed are {', '.join(_UNAVAILABLE)}")
    missing = config.getini("retrieval_missing")
    if missing not in _MISSING:
        raise SettingsError(f"retrieval_missing = {missing}: allowed are {', '.join(_MISSING)}")
    record = config.getoption("--retrieval-record")
    if record not in _RECORDS:
        raise SettingsError(f"--retrieval-record={record}: allowed are {', '.join(_RECORDS)}")
    if pin == PIN_ALL and not reason:
        raise SettingsError(
            "--retrieval-pin=all lowers pins: say why with --retrieval-reason 'text'; it is stored with them"
        )
    if reason and not (pin or lock):
        raise SettingsError(
            "--retrieval-reason is stored with a pin or a plan: give --retrieval-pin too, or --retrieval-lock"
        )
    for option, what in (("--retrieval-pin", "pins are"), ("--retrieval-lock", "plans are")):
        if not config.getoption(option):
            continue
        if config.getoption("collectonly"):
            raise SettingsError(f"{option} needs the tests to run: it does not go with --collect-only")
        if _under_ci():
            raise SettingsError(
                f"{option} is refused where the environment variable CI is set: {what} written by people,"
                " reviewed, and committed"
            )
    given = config.getoption("--retrieval-against")
    against = (given or "").strip()
    if given is not None and not against:
        raise SettingsError(
            "--retrieval-against names no revision (a variable that is empty?): give one, as in"
            " --retrieval-against=origin/main"
        )
    accept_lowered = bool(config.getoption("--retrieval-accept-lowered"))
    if pin and against:
        raise SettingsError("--retrieval-pin writes pins and --retrieval-against judges by others: give one")
    if accept_lowered and not against:
        raise SettingsError("--retrieval-accept-lowered goes with --retrieval-against=REV")
    repeats = config.getoption("--retrieval-repeats")
    if not repeats.isdecimal() or int(repeats) < 1:
        raise SettingsError(f"--retrieval-repeats={repeats}: allowed is a whole number of at least 1")
    return Settings(
        repeats=int(repeats),
        against=against,
        accept_lowered=accept_lowered,
        rootdir=config.rootpath,
        default=config.getini("retrieval_goldset"),
        pin=pin,
        lock=lock,
        reason=reason,
        record=record,
        details=bool(config.getoption("--retrieval-details")),
        fail_unavailable=unavailable == "error",
        skip_missing=missing == "skip",
        show_text=bool(config.getini("retrieval_show_text")),
    )


def _under_ci() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false")
