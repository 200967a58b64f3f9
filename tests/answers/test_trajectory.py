"""A refund desk's agent that did everything wrong and said it nicely: every fault is found."""

from __future__ import annotations

import pytest

from pytest_retrieval import (
    Call,
    InputError,
    Observed,
    Trace,
    assert_called,
    assert_called_before,
    assert_from_observations,
    assert_no_repeated_calls,
    assert_picks_returned,
    assert_stated,
    assert_within_budget,
    check_trajectory,
)

ORDER = {"order_id": "ORD-40028119"}
REJECTED = "the order has not been delivered"

FAULTY = Trace(
    query_id="broken-item",
    request="My parcel ORD-40028119 came with a smashed item, I want my money back",
    calls=[
        Call(
            tool="search_kb",
            arguments={"query": "refund smashed item"},
            observation=["EU customers: sixty days for damaged goods", "Keep the box", "Call us"],
            returned_ids=["kb-eu-7", "kb-12", "kb-30"],
        ),
        Call(
            tool="lookup_order",
            arguments=ORDER,
            observation={"status": "SHIPPED", "total_minor": 4299, "currency": "GBP"},
            tokens=900,
        ),
        Call(
            tool="lookup_order",
            arguments=ORDER,
            observation={"status": "SHIPPED", "total_minor": 4299, "currency": "GBP"},
            tokens=950,
        ),
        Call(tool="refund_order", arguments={**ORDER, "amount_minor": 4299}, error=REJECTED, tokens=1000),
        Call(tool="refund_order", arguments={**ORDER, "amount_minor": 4299}, error=REJECTED, tokens=1000),
        Call(
            tool="refund_order",
            arguments={**ORDER, "amount_minor": 4200},
            observation={"refund": "R-1", "status": "CREATED"},
            tokens=1100,
        ),
    ],
    message="I have refunded 42.00 GBP for your damaged item.",
)

GOOD = Trace(
    query_id="good",
    request="ORD-40028119 is broken",
    calls=[
        Call(tool="lookup_order", arguments=ORDER, observation={"order": {"total_minor": 4299}}, tokens=10),
        Call(tool="approve", arguments={"amount_minor": 4299}, observation={"ticket": "A-77"}, tokens=10),
        Call(
            tool="refund_order",
            arguments={**ORDER, "amount_minor": 4299, "idempotency_key": "A-77"},
            observation={"refund": "R-2", "paid": "42.99 GBP"},
            tokens=10,
        ),
    ],
    message="Refund R-2 of 42.99 GBP for ORD-40028119 is on its way.",
)


def test_all_faults_of_the_faulty_trace():
    found = [
        (finding.kind, finding.step) for finding in check_trajectory(FAULTY, side_effects=["refund_order"])
    ]
    assert found == [
        ("unused observation", 1),
        ("repeated call", 3),
        ("missing idempotency key", 4),
        ("retried rejection", 5),
        ("repeated call", 5),
        ("missing idempotency key", 5),
        ("changed argument", 6),
        ("missing idempotency key", 6),
        ("unused observation", 6),  # the customer is never told the refund's number
    ]


def test_the_changed_argument_is_named_with_both_values():
    (finding,) = [f for f in check_trajectory(FAULTY) if f.kind == "changed argument"]
    assert "amount_minor 4299 → 4200" in finding.text
    assert REJECTED in finding.text


def test_no_approval_gate_was_reached():
    with pytest.raises(AssertionError, match="refund_order was called at step 4, 5, 6 before approve"):
        assert_called_before(FAULTY, "approve", "refund_order")
    with pytest.raises(AssertionError, match="was called 0 times, 1 times is asked for"):
        assert_called(FAULTY, "approve", times=1)


def test_the_refund_is_not_the_order_s_total():
    refund = {"amount_minor": Observed("lookup_order", "total_minor")}
    with pytest.raises(AssertionError, match="called 2 times, 3 times"):
        assert_called(FAULTY, "refund_order", arguments=refund, times=3)


def test_a_claim_that_no_observation_holds():
    with pytest.raises(AssertionError, match=r"states '42\.00 GBP', which no observation holds"):
        assert_from_observations(FAULTY, r"\d+\.\d\d GBP")
    with pytest.raises(AssertionError, match="states nothing like"):
        assert_stated(FAULTY, r"\bORD-\d{8}\b")


def test_the_good_trace_passes_everything():
    assert check_trajectory(GOOD, side_effects="refund_order") == ()
    assert_called_before(GOOD, "lookup_order", "refund_order")
    assert_called(
        GOOD, "refund_order", arguments={"amount_minor": Observed("lookup_order", "order.total_minor")}
    )
    assert_called(GOOD, "approve", times=1)
    assert_called(GOOD, "cancel_order", times=0)
    assert_no_repeated_calls(GOOD)
    assert_within_budget(GOOD, steps=8, tokens=30_000, errors=0)
    assert_stated(GOOD, r"\bORD-\d{8}\b", r"42\.99")
    assert_from_observations(GOOD, r"\d+\.\d\d GBP", r"\bR-\d+\b")


def test_a_retry_after_an_error_of_transport_is_no_fault():
    calls = [
        Call(tool="lookup", arguments={"id": 1}, error="connection timed out"),
        Call(tool="lookup", arguments={"id": 1}, observation={"total": 4299}),
    ]
    assert check_trajectory(Trace(query_id="t", calls=calls, message="It is 4299.")) == ()


def test_what_was_known_before_proves_no_use():
    echo = Call(tool="lookup", arguments={"id": "ORD-7"}, observation={"id": "ORD-7", "carrier": "post"})
    (finding,) = check_trajectory(
        Trace(query_id="t", request="where is ORD-7", calls=[echo], message="ORD-7?")
    )
    assert finding.kind == "unused observation"


@pytest.mark.parametrize(
    "budget, message",
    [
        ({"steps": 5}, "6 steps, at most 5 are allowed"),
        ({"searches": 0}, "1 searches, at most 0"),
        ({"tokens": 4000}, "4950 tokens, at most 4000"),
        ({"errors": 1}, "2 errors, at most 1"),
    ],
)
def test_budgets(budget, message):
    with pytest.raises(AssertionError, match=message):
        assert_within_budget(FAULTY, **budget)


def test_tokens_that_nobody_counted_pass_no_budget():
    with pytest.raises(AssertionError, match="nobody counted its tokens"):
        assert_within_budget(Trace(query_id="t"), tokens=10)


def test_a_task_that_a_budget_ended():
    with pytest.raises(AssertionError, match="its outcome is exhausted"):
        assert_within_budget(Trace(query_id="t", outcome="exhausted"), steps=9)


def test_repeated_calls_name_both_steps():
    with pytest.raises(AssertionError, match="step 3 repeats step 2: lookup_order") as failure:
        assert_no_repeated_calls(FAULTY)
    assert "step 5 repeats step 4: refund_order" in str(failure.value)
    assert_no_repeated_calls(FAULTY, tools=["search_kb"])


def test_picks_that_no_call_returned():
    call = Call(tool="search", arguments={"query": "sofa"}, returned_ids=["a"])
    assert_picks_returned([Trace(query_id="q1", calls=[call], picks=["a"])])
    with pytest.raises(AssertionError, match="q2: picks z, which no call returned"):
        assert_picks_returned([Trace(query_id="q2", calls=[call], picks=["z", "a", "z"])])


def test_arguments_by_value_by_function_and_by_type():
    trace = Trace(query_id="t", calls=[Call(tool="set", arguments={"on": True, "level": 1})])
    assert_called(trace, "set", arguments={"on": True, "level": lambda level: level < 3})
    for wrong in ({"on": 1}, {"level": 2}, {"missing": None}, {"level": True}):
        with pytest.raises(AssertionError, match="called was set"):
            assert_called(trace, "set", arguments=wrong)


@pytest.mark.parametrize(
    "check",
    [
        lambda: assert_called([], "x"),
        lambda: assert_called("a trace", "x"),
        lambda: assert_called(GOOD, "x", times=-1),
        lambda: assert_within_budget(GOOD),
        lambda: assert_within_budget(GOOD, steps=-1),
        lambda: assert_stated(GOOD),
        lambda: assert_stated(GOOD, "("),
        lambda: check_trajectory(GOOD, transport="("),
    ],
)
def test_what_is_refused(check):
    with pytest.raises(InputError):
        check()
