"""A log of requests is read whole or refused with the reason."""

from __future__ import annotations

import pytest

from pytest_retrieval import InputError, Qrels, RequestLog


@pytest.mark.parametrize(
    "requests, told",
    [
        ({"q": {"fusd": ["a"]}}, "unknown keys fusd"),
        ({"q": {"fused": "abc"}}, "fused"),
        ({"x": {}}, "without judgments: 'x'"),
        ([{"fused": ["a"]}], "has no query_id"),
        ([{"query_id": "q"}, {"query_id": "q"}], "logged twice"),
    ],
)
def test_a_log_that_cannot_be_read(requests, told):
    with pytest.raises(InputError, match=told):
        RequestLog(requests, Qrels({"q": ["a"]}))
