"""The best k: the same as sorting everything, whatever ties at the cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_retrieval import InputError
from pytest_retrieval.retrievers.best import best, check_count


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=3), st.sampled_from([0.0, 0.5, 1.0])),
    st.integers(1, 9),
)
def test_it_is_the_head_of_the_sorted_list(scores, k):
    ids = np.array(list(scores), dtype=object)
    found = best(ids, np.array(list(scores.values()), dtype=np.float64), k)
    assert found == sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:k]


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "5", None])
def test_what_is_no_count(value):
    with pytest.raises(InputError, match=r"depth is .*; allowed is a whole number of at least 1"):
        check_count("depth", value)


def test_counts_of_numpy_count_too():
    check_count("depth", np.int64(5))
