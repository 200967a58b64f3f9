"""Embeddings kept in a folder of the user's choice, one file per content digest."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, final

from pytest_retrieval.files.writing import replace_file

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["VectorCache"]


@final
class VectorCache:
    """Arrays by digest, as ``.npy`` files.

    A file that is cut short or holds anything else counts as absent, so a cache can be deleted, copied or
    spoilt without consequence.

    Parameters
    ----------
    folder
        Where the files lie; made when the first one is written.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> cache = VectorCache(tempfile.mkdtemp())
    >>> cache.get("5e1f", rows=2) is None
    True
    >>> cache.put("5e1f", np.ones((2, 3), dtype=np.float32))
    >>> cache.get("5e1f", rows=2).shape
    (2, 3)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).expanduser()

    def get(self, digest: str, rows: int) -> npt.NDArray[np.float32] | None:
        """Return the array of shape (rows, D) under a digest, or None where there is none."""
        import numpy as np

        try:
            found = np.load(self._file(digest), allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        usable = found.dtype == np.float32 and found.ndim == 2 and len(found) == rows
        return found if usable and bool(np.isfinite(found).all()) else None

    def put(self, digest: str, vectors: npt.NDArray[np.float32]) -> None:
        """Keep an array under a digest.

        Raises
        ------
        OSError
            The folder cannot be written.
        """
        import numpy as np

        buffer = io.BytesIO()
        np.save(buffer, vectors, allow_pickle=False)
        replace_file(self._file(digest), buffer.getvalue())

    def _file(self, digest: str) -> Path:
        return self.folder / f"{digest}.npy"
