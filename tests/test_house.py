"""The house: a room imports only what stands above it, and no module itself by way of others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import pytest_retrieval

PACKAGE = Path(pytest_retrieval.__file__).parent
ORDER = [
    "errors",
    "model",
    "measures",
    "stats",
    "answers",
    "gate",
    "files",
    "retrievers",
    "report",
    "record",
    "assertions",
    "plugin",
    "cli",
]
PURE = ["model", "measures", "stats", "answers", "gate", "report"]
DOOR = "__init__"


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and name of every module that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            assert node.module is not None
            yield node.lineno, node.module
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def broken_rules(path: Path, room: str) -> list[str]:
    """Return what a file of a room imports and may not."""
    found = []
    for line, name in imports(path):
        package, _, rest = name.partition(".")
        if package == "pytest_retrieval" and rest:
            other = rest.partition(".")[0]
            if other in ORDER and other != room and ORDER.index(other) > ORDER.index(room):
                found.append(f"{path.name}:{line}: {room} imports {other}, which stands below it")
        elif package in ("pytest", "_pytest") and room not in ("plugin", "assertions"):
            found.append(f"{path.name}:{line}: {room} imports pytest")
        elif room in PURE and package in ("os", "pathlib", "time", "random", "tempfile", "shutil"):
            found.append(f"{path.name}:{line}: {room} is pure and imports {package}")
    return list(dict.fromkeys(found))


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem != DOOR)


def test_every_room_has_a_place_in_the_order():
    assert {room_of(path) for path in FILES} == set(ORDER)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_only_what_stands_above_it(path):
    assert broken_rules(path, room_of(path)) == []


@pytest.mark.parametrize(
    "room, text, rule",
    [
        ("measures", "from pytest_retrieval.gate.pin import Pin", "stands below"),
        ("model", "import pytest_retrieval.measures.rank", "stands below"),
        ("stats", "def f():\n    from pytest_retrieval import plugin", "stands below"),
        ("files", "import pytest", "imports pytest"),
        ("gate", "from pathlib import Path", "is pure"),
    ],
)
def test_the_walk_refuses_what_it_should(tmp_path, room, text, rule):
    path = tmp_path / "room.py"
    path.write_text(text)
    found = broken_rules(path, room)
    assert len(found) == 1
    assert rule in found[0]


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == DOOR else parts)


def circle(files: list[Path]) -> list[str]:
    """Return modules that import each other in a circle, also for their types alone; none where none do."""
    names = {module_of(path) for path in files}
    graph = {module_of(path): {name for _, name in imports(path) if name in names} for path in files}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_by_way_of_others():
    assert circle(FILES) == []


def test_a_circle_is_seen_also_where_only_a_type_closes_it(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.PACKAGE", tmp_path / "house")
    (tmp_path / "house").mkdir()
    files = {
        "a.py": "from house.b import thing",
        "b.py": "if TYPE_CHECKING:\n    from house.c import Other",
        "c.py": "def f():\n    import house.a",
        "d.py": "import house.a",
    }
    paths = [tmp_path / "house" / name for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(text)
    assert set(circle(paths)) == {"house.a", "house.b", "house.c"}
    assert circle([paths[0], paths[1], paths[3]]) == []


def test_no_module_is_named_utils():
    assert [path for path in FILES if path.stem in ("utils", "util", "helpers", "common", "misc")] == []
