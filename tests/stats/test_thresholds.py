"""Thresholds, and numbers printed so that they cannot be misread."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_retrieval.errors import InputError
from pytest_retrieval.stats.thresholds import bonferroni, format_p, format_threshold, format_value


def test_planned_comparisons_share_alpha():
    # mult-01
    threshold = bonferroni(0.05, 3)
    assert round(threshold, 6) == 0.016667
    assert [p < threshold for p in (0.03, 0.016, 0.0166)] == [False, True, True]
    assert bonferroni(0.05, 1) == 0.05


@pytest.mark.parametrize(
    "alpha, planned", [(0.05, 0), (0.05, 2.0), (0.05, True), (0.0, 1), (1.0, 1), ("5%", 1)]
)
def test_refused(alpha, planned):
    with pytest.raises(InputError):
        bonferroni(alpha, planned)


@pytest.mark.parametrize(
    "p, threshold, text",
    [
        (0.7654, 0.025, "0.765"),
        (1.0, 0.025, "1.000"),
        (0.02496, 0.025, "0.02496"),
        (0.025, 0.025, "0.025"),
        (0.0251, 0.025, "0.0251"),
        (0.0166, 0.05 / 3, "0.0166"),
        (0.00390625, 0.025, "0.004"),
        (0.0004, 0.025, "0.0004"),
        (1e-5, 0.025, "1.00e-05"),
        (5e-324, 0.025, "4.94e-324"),
    ],
)
def test_format_p(p, threshold, text):
    assert format_p(p, threshold) == text


@pytest.mark.parametrize(
    "threshold, text",
    [(0.025, "0.025"), (0.05 / 3, "0.0166667"), (0.05 / 11, "0.00454546"), (0.1 + 0.2, "0.3")],
)
def test_a_threshold_is_rounded_up(threshold, text):
    assert format_threshold(threshold) == text


@given(st.floats(1e-300, 1.0), st.sampled_from([0.05, 0.025, 0.05 / 3, 0.05 / 7, 0.001]))
def test_p_reads_on_the_right_side_of_its_threshold(p, threshold):
    read = float(format_p(p, threshold))
    assert read > 0
    assert (read < threshold) == (p < threshold)


@given(st.integers(1, 2_000), st.integers(1, 40))
def test_p_very_near_its_threshold_reads_right(step, planned):
    threshold = 0.05 / planned
    for p in (threshold - step * 1e-10, threshold + step * 1e-10):
        assert (float(format_p(p, threshold)) < float(format_threshold(threshold))) == (p < threshold)


@given(st.integers(1, 200), st.sampled_from([1, 2, 3, 7, 18]))
def test_p_near_its_threshold_reads_right_beside_the_printed_threshold(step, planned):
    threshold = 0.05 / planned
    for p in (threshold - step * 1e-5 / 3, threshold + step * 1e-5 / 3):
        if p > 0:
            assert (float(format_p(p, threshold)) < float(format_threshold(threshold))) == (p < threshold)


@pytest.mark.parametrize(
    "value, text",
    [
        (0.0193, "0.019"),
        (-0.0781, "-0.078"),
        (0.0, "0.000"),
        (-0.0, "0.000"),
        (-0.00012, "-0.00012"),
        (12.0, "12.000"),
    ],
)
def test_format_value(value, text):
    assert format_value(value) == text
