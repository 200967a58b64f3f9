"""The entry point: options, ini keys and the one question whether there is anything to do.

pytest imports this module at every start, so it stays small and imports nothing heavy. Fixtures, the
generate hook and the report are registered only where a gold set is found or asked for.

PYTEST_DONT_REWRITE: pytest opens this at every start, and there is no assertion in it to explain.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pytest_retrieval.plugin import hookspecs

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

pytest.register_assert_rewrite("pytest_retrieval.assertions")

GOLDSET_FILE = "goldset.toml"
RECORDING_FILE = "manifest.toml"
DEFAULT_FOLDERS = ["goldsets"]
DEFAULT_RECORDINGS = ["recordings"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and ini keys, each in one line of `pytest --help`."""
    group = parser.getgroup("retrieval", "retrieval quality, gated per kind of query")
    group.addoption(
        "--retrieval-pin",
        metavar="{new,raise,all}",
        help="write pins: new = what is unpinned; raise = also what only improved; all = also what fell, with"
        " --retrieval-reason",
    )
    group.addoption(
        "--retrieval-lock",
        action="store_true",
        help="lock the planned comparisons found, without running them; a later change needs"
        " --retrieval-reason",
    )
    group.addoption(
        "--retrieval-reason",
        metavar="TEXT",
        default="",
        help="why a pin is lowered or a locked plan changed; stored with it",
    )
    group.addoption(
        "--retrieval-record",
        metavar="{none,once,rewrite}",
        default="none",
        help="whether tests may ask a model: none = only read recordings; once = record what is missing;"
        " rewrite = record anew",
    )
    group.addoption(
        "--retrieval-repeats",
        metavar="N",
        default="1",
        help="retrieve N times, from a fresh factory where there is one, and judge the mean",
    )
    group.addoption(
        "--retrieval-details", action="store_true", help="show every changed query, not the worst ten"
    )
    group.addoption(
        "--retrieval-against",
        metavar="REV",
        help="judge against the pins, tolerances, rules and cells of the merge base of REV and HEAD",
    )
    group.addoption(
        "--retrieval-accept-lowered",
        action="store_true",
        help="with --retrieval-against: let pass, and print, what this branch lowered with a reason",
    )
    parser.addini(
        "retrieval_goldsets",
        "folders or globs that hold gold sets",
        type="args",
        default=DEFAULT_FOLDERS,
    )
    parser.addini(
        "retrieval_recordings",
        "folders or globs that hold recordings",
        type="args",
        default=DEFAULT_RECORDINGS,
    )
    parser.addini("retrieval_goldset", "the gold set of tests that name none", default="")
    parser.addini(
        "retrieval_unavailable", "what an unavailable retriever's cells do: skip or error", default="skip"
    )
    parser.addini(
        "retrieval_pins",
        "folder that holds pins and plans, <gold set>/pins.toml; by default its own",
        default="",
    )
    parser.addini(
        "retrieval_missing", "what tests of a gold set that is not here do: error or skip", default="error"
    )
    parser.addini("retrieval_show_text", "show the texts of queries in failures", type="bool", default=True)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Make our hooks known."""
    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers always, and the rest of the plugin where there are gold sets."""
    config.addinivalue_line(
        "markers",
        "goldset(*names, subjects=None): gold sets, and subjects of theirs, that a test uses; given on a"
        " test, class or module",
    )
    config.addinivalue_line(
        "markers",
        "planned_comparison(name, split='test'): the test makes this one comparison, locked in plan.toml"
        " before its result was looked at",
    )
    folders = goldset_folders(config)
    recordings = folders_with(config, "retrieval_recordings", RECORDING_FILE)
    if folders or recordings or asked_for(config):
        from pytest_retrieval.plugin.driving import start

        start(config, folders, recordings, lambda root: goldset_folders(config, root))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say where gold sets were looked for, where a test asks for a fixture of ours and there is none."""
    report = yield
    error = call.excinfo.value if call.excinfo is not None else None
    if type(error).__name__ == "FixtureLookupError":
        from pytest_retrieval.plugin.hint import hint

        text = hint(item.config, getattr(error, "argname", None))
        if text:
            report.sections.append(("pytest-retrieval", text))
    return report


def asked_for(config: pytest.Config) -> bool:
    """Return whether the project says that it uses the plugin, gold sets or not."""
    return bool(
        list(config.getini("retrieval_goldsets")) != DEFAULT_FOLDERS
        or list(config.getini("retrieval_recordings")) != DEFAULT_RECORDINGS
        or config.getini("retrieval_goldset")
        or config.getini("retrieval_missing") not in ("", "error")
        or config.getoption("--retrieval-pin")
        or config.getoption("--retrieval-lock")
        or config.getoption("--retrieval-against") is not None
    )


def goldset_folders(config: pytest.Config, root: Path | None = None) -> list[Path]:
    """Return the folders that hold a goldset.toml, sorted: each entry itself, or its children."""
    return folders_with(config, "retrieval_goldsets", GOLDSET_FILE, root)


def folders_with(config: pytest.Config, key: str, file: str, root: Path | None = None) -> list[Path]:
    """Return the folders that hold a file among the entries of an ini key and their children, sorted.

    Entries are relative to the rootdir, or to the folder given: a copy of the rootdir at another revision.
    """
    root = root or config.rootpath
    found: set[Path] = set()
    for entry in config.getini(key):
        if any(sign in entry for sign in "*?["):
            from glob import glob

            places = [root / match for match in glob(entry, root_dir=root, recursive=True)]
        else:
            places = [root / entry]
        for place in places:
            if os.path.isfile(place / file):
                found.add(place)
            elif os.path.isdir(place):
                children = (place / child for child in os.listdir(place))
                found.update(child for child in children if os.path.isfile(child / file))
    return sorted(found)
