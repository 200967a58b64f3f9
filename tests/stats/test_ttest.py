"""The t-test agrees with scipy's and says so where it is undefined."""

import numpy as np
import pytest

from pytest_retrieval.errors import InputError
from pytest_retrieval.stats.ttest import paired_t_p


@pytest.mark.parametrize("seed", range(5))
def test_scipy_agrees(seed):
    from scipy.stats import ttest_rel

    rng = np.random.default_rng(seed)
    a, b = rng.random(20), rng.random(20)
    assert paired_t_p(a - b) == pytest.approx(ttest_rel(a, b).pvalue, rel=1e-8)


def test_five_losses_among_thirty():
    # power-01
    assert paired_t_p([-0.2] * 5 + [0.0] * 25) == pytest.approx(0.022608, abs=5e-7)


@pytest.mark.parametrize(
    "differences", [[], [0.5], [0.0] * 30, [0.1] * 30, [0.1 + 0.2, 0.3], [1e6 + 1e-8, 1e6]]
)
def test_undefined_without_spread(differences):
    assert paired_t_p(differences) is None


def test_refuses_nan():
    with pytest.raises(InputError):
        paired_t_p([float("nan")])
