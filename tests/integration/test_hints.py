"""The commands that a failure prints work where pytest was called, be it above the rootdir or below."""

from __future__ import annotations

import shlex

import pytest

PRINTED = ("this cell alone:  ", "if the loss is meant:  ", "to pin what is new:  ")


@pytest.fixture
def below(pinned, pytester, monkeypatch):
    """The project as a folder `shop` of a repository, with a rootdir of its own."""
    shop = pinned.path / "shop"
    shop.mkdir()
    for path in list(pinned.path.iterdir()):
        if path != shop and not path.name.startswith("."):
            path.rename(shop / path.name)
    (shop / "pytest.ini").write_text("[pytest]\n")
    (shop / "tests").mkdir()
    (shop / "test_search.py").rename(shop / "tests" / "test_search.py")
    pytester.chdir()
    return pinned


def commands(result):
    lines = result.stdout.str().splitlines()
    printed = [line.removeprefix(start) for line in lines for start in PRINTED if line.startswith(start)]
    return [shlex.split(line.partition("  (")[0])[1:] for line in printed]


@pytest.mark.parametrize("place, arguments", [(".", ["shop"]), ("shop", []), ("shop/tests", [])])
def test_a_command_runs_the_cell_it_is_of(below, monkeypatch, place, arguments):
    rankings = below.path / "shop" / "rankings.json"
    rankings.write_text(rankings.read_text().replace('"HX-1": ["a", "b", "c"]', '"HX-1": ["x"]'))
    monkeypatch.chdir(below.path / place)
    result = below.run(*arguments)
    result.assert_outcomes(failed=2, passed=2)
    found = commands(result)
    assert len(found) == 4
    alone = [command for command in found if len(command) == 1]
    assert len(alone) == 2
    for command in alone:
        below.run(*command).assert_outcomes(failed=1)
    accept = next(command for command in found if len(command) > 1 and "identifier" in command[0])
    below.run(*accept).assert_outcomes(passed=1)
    below.run(*arguments).assert_outcomes(passed=4)


@pytest.mark.parametrize("place, arguments", [(".", ["shop"]), ("shop", []), ("shop/tests", [])])
def test_the_command_that_pins_pins(below, monkeypatch, place, arguments):
    (below.path / "shop/goldsets/store/pins.toml").unlink()
    monkeypatch.chdir(below.path / place)
    result = below.run(*arguments)
    result.assert_outcomes(failed=4)
    pin = {tuple(command) for command in commands(result) if len(command) > 1 or command[0].startswith("-")}
    assert len(pin) == 1
    below.run(*pin.pop()).assert_outcomes(passed=4)
    below.run(*arguments).assert_outcomes(passed=4)
