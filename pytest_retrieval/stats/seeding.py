"""Random bits that depend on a seed and a name, and on nothing else.

Neither the order of the tests, nor the process, nor Python's hash seed may change a p-value. So every
comparison has bits of its own, derived with SHA-256 from the seed and the comparison's name.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from pytest_retrieval.errors import InputError

if TYPE_CHECKING:
    from numpy.random import PCG64

__all__ = ["bit_generator"]


def bit_generator(seed: int, name: str = "") -> PCG64:
    """Return the bit generator of one named comparison.

    Parameters
    ----------
    seed : int
        Any integer. The same seed and name give the same bits everywhere.
    name : str, optional
        Name of the comparison, so that two comparisons under one seed do not share their bits.

    Returns
    -------
    numpy.random.PCG64
        Seeded with the first 128 bits of the SHA-256 of ``"{seed}:{name}"``.

    Raises
    ------
    InputError
        If `seed` is not an integer.

    Examples
    --------
    >>> int(bit_generator(0, "hybrid over bm25").random_raw()) == int(bit_generator(0, "bm25").random_raw())
    False
    """
    from numpy.random import PCG64

    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InputError(f"seed must be an integer, got {seed!r}")
    digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    return PCG64(int.from_bytes(digest[:16], "big"))
