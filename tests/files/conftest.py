from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[[str, "str | bytes"], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a file into a fresh working directory, gzipped where its name says so; messages show the name."""
    monkeypatch.chdir(tmp_path)

    def file(name: str, content: str | bytes) -> Path:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        return path

    return file


@pytest.fixture
def real_data() -> Path:
    """Return the folder of collections made by others; the test is skipped where it is absent."""
    default = Path(__file__).parents[3] / "shared" / "data"
    folder = Path(os.environ.get("PYTEST_RETRIEVAL_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"no real collections in {folder}; set PYTEST_RETRIEVAL_DATA")
    return folder
