from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from pytest_retrieval.files.writing import replace_file


def test_writes_whole_files_in_utf_8_with_lf(tmp_path):
    path = tmp_path / "new" / "a.txt"
    replace_file(path, "é\n")
    assert path.read_bytes() == b"\xc3\xa9\n"
    replace_file(str(path), "b\r\n")
    assert path.read_bytes() == b"b\r\n"
    assert os.listdir(path.parent) == ["a.txt"]


def test_gzip_is_the_same_every_time(tmp_path):
    replace_file(tmp_path / "a.gz", "kea")
    replace_file(tmp_path / "b.gz", "kea")
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"kea"
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def refuse(*_):
        raise PermissionError("no")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError):
        replace_file(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_modes(tmp_path):
    ordinary = tmp_path / "ordinary"
    ordinary.write_text("")
    replace_file(tmp_path / "new", "x")
    assert (tmp_path / "new").stat().st_mode == ordinary.stat().st_mode
    Path(tmp_path / "new").chmod(0o640)
    replace_file(tmp_path / "new", "y")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640
