"""Bits depend on seed and name alone."""

import hashlib

import numpy as np
import pytest

from pytest_retrieval.errors import InputError
from pytest_retrieval.stats.seeding import bit_generator


def test_bits_come_from_the_digest_of_seed_and_name():
    digest = hashlib.sha256(b"3:a over b").digest()
    expected = np.random.PCG64(int.from_bytes(digest[:16], "big")).random_raw(4)
    assert bit_generator(3, "a over b").random_raw(4).tolist() == expected.tolist()


def test_global_random_state_is_neither_read_nor_changed():
    before = np.random.get_state()[1].tolist()
    bit_generator(0, "x").random_raw(10)
    assert np.random.get_state()[1].tolist() == before


@pytest.mark.parametrize("seed", ["0", 1.0, None, True])
def test_refused(seed):
    with pytest.raises(InputError, match="integer"):
        bit_generator(seed)
