"""The door: what the package exports, and that it imports nothing until it is asked."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_retrieval


def test_exported_members_are_sorted_and_there():
    assert pytest_retrieval.__all__ == sorted(pytest_retrieval.__all__)
    for name in pytest_retrieval.__all__:
        assert getattr(pytest_retrieval, name).__module__.startswith("pytest_retrieval"), name


def test_every_exported_member_has_a_docstring():
    assert [name for name in pytest_retrieval.__all__ if not getattr(pytest_retrieval, name).__doc__] == []


def test_type_checkers_see_the_same_names():
    """The table that imports lazily, the imports for type checkers and `__all__` name the same things."""
    tree = ast.parse(Path(pytest_retrieval.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    checked = {
        alias.name: node.module
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    lazy = {
        name: f"pytest_retrieval.{room}" for room, names in pytest_retrieval._ROOMS.items() for name in names
    }
    assert checked == lazy
    assert sorted(lazy) == pytest_retrieval.__all__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'recal'"):
        pytest_retrieval.recal  # noqa: B018


def test_dir_lists_the_public_names():
    assert set(pytest_retrieval.__all__) <= set(dir(pytest_retrieval))


def test_importing_the_package_imports_no_room():
    code = (
        "import sys, pytest_retrieval;"
        "heavy = ('numpy', 'pandas', 'scipy', 'pytest_retrieval');"
        "print(*sorted(m for m in sys.modules if m.split('.')[0] in heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["pytest_retrieval"]
