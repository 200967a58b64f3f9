"""Assertion helpers for tests that are no gate.

They import pytest nowhere but live beside the plugin, for it rewrites their assertions. Each fails with what
pulled the number down, and returns what it measured, so that a test can go on with it.
"""

from __future__ import annotations

from pytest_retrieval.assertions.means import (
    assert_context_precision,
    assert_judged,
    assert_mrr,
    assert_ndcg,
    assert_precision,
    assert_recall,
    observers,
)
from pytest_retrieval.assertions.replies import assert_declines, assert_exact_share, assert_grounded
from pytest_retrieval.assertions.serving import (
    assert_contexts,
    assert_erased,
    assert_permitted,
    assert_requires_principal,
    assert_self_retrieval,
)
from pytest_retrieval.assertions.trajectories import (
    assert_called,
    assert_called_before,
    assert_from_observations,
    assert_no_repeated_calls,
    assert_picks_returned,
    assert_stated,
    assert_within_budget,
)

__all__ = [
    "assert_called",
    "assert_called_before",
    "assert_context_precision",
    "assert_contexts",
    "assert_declines",
    "assert_erased",
    "assert_exact_share",
    "assert_from_observations",
    "assert_grounded",
    "assert_judged",
    "assert_mrr",
    "assert_ndcg",
    "assert_no_repeated_calls",
    "assert_permitted",
    "assert_picks_returned",
    "assert_precision",
    "assert_recall",
    "assert_requires_principal",
    "assert_self_retrieval",
    "assert_stated",
    "assert_within_budget",
    "observers",
]
