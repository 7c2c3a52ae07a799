"""Axes of the timeline: ticks are round and few, their labels short, and they never run into one another."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.views.timeline.axis import linear_ticks, log_ticks, short_number
from gui.views.timeline.stretch import whole_range


@given(st.floats(-12, 12), st.floats(0.05, 20), st.floats(2, 12))
def test_labels_keep_their_distance(low, span, count):
    places, _ = log_ticks(low, low + span, count)
    # a label is about 13 pixels high where each has been given 20
    assert all(b - a >= 0.65 * span / count for a, b in pairwise(places))
    assert all(low - 1e-9 <= place <= low + span + 1e-9 for place in places)


@pytest.mark.parametrize(
    ("count", "end"), [(0, 4), (1, 4), (5, 4), (6, 5), (102, 110), (400, 400), (12_346, 13_000), (100_001, 100_000)]
)
def test_the_axis_ends_at_a_round_number_a_little_above(count, end):
    assert whole_range(count) == end


def test_ticks_are_round_and_few():
    assert linear_ticks(0.0, 1.0, 5) == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert linear_ticks(0.0, 180.0, 2, degrees=True) == [0.0, 90.0, 180.0]
    assert log_ticks(-3.2, 2.1, 8)[0] == [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0]
    major, _ = log_ticks(-2.0, -1.5, 4)
    assert all(-2.0 <= place <= -1.5 for place in major) and len(major) >= 2
    assert linear_ticks(float("nan"), 1.0, 5) == [] and log_ticks(2.0, 2.0, 5) == ([], [])
    for low, high in ((-320.0, 305.0), (-5.0, 290.0)):
        assert len(log_ticks(low, high, 4)[0]) <= 6


def test_numbers_are_short():
    assert [short_number(value) for value in (0.0, 0.05, 1234.5, 3.25e-7, 1e-8, -2e9, float("inf"), float("-inf"))] == [
        "0",
        "0.05",
        "1234",
        "3.25·10⁻⁷",
        "10⁻⁸",
        "−2·10⁹",
        "∞",
        "−∞",
    ]
