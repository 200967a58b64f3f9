"""The folder of embeddings: what was put comes back, and what is not what was put does not."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_retrieval.files.vectors import VectorCache

VECTORS = np.arange(6, dtype=np.float32).reshape(3, 2)


def test_what_was_put_comes_back_bit_by_bit(tmp_path):
    cache = VectorCache(tmp_path / "deep" / "folder")
    cache.put("5e1f", VECTORS)
    assert VectorCache(tmp_path / "deep" / "folder").get("5e1f", 3).tobytes() == VECTORS.tobytes()
    assert [path.name for path in (tmp_path / "deep" / "folder").iterdir()] == ["5e1f.npy"]


def test_reading_makes_no_folder(tmp_path):
    assert VectorCache(tmp_path / "cache").get("5e1f", 3) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "array",
    [
        VECTORS[:2],
        VECTORS.astype(np.float64),
        VECTORS.reshape(-1),
        np.full((3, 2), np.nan, dtype=np.float32),
    ],
    ids=["rows", "type", "shape", "nan"],
)
def test_an_array_of_another_kind_counts_as_absent(tmp_path, array):
    cache = VectorCache(tmp_path)
    cache.put("5e1f", array)
    assert cache.get("5e1f", 3) is None


def test_pickles_are_not_opened(tmp_path):
    np.save(tmp_path / "5e1f.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert VectorCache(tmp_path).get("5e1f", 1) is None


def test_a_home_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    VectorCache("~/vectors").put("5e1f", VECTORS)
    assert (tmp_path / "vectors" / "5e1f.npy").exists()
