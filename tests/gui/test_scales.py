"""Axes of signed numbers, steady bounds and readable colours: round trips, ticks, hysteresis, contrast."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QColor

from gui.theme import CAUSE_COLORS, DARK, LIGHT
from gui.widgets.readable import contrast_ratio, luminance, text_color
from gui.widgets.signed_scale import SYMLOG, SignedScale, threshold_for, tick_step, tick_text
from gui.widgets.steady import PATIENCE, SteadyBound, SteadyChoice, SteadyRange, nice_ceiling


@given(st.floats(-1e12, 1e12), st.integers(-12, 6))
def test_symlog_is_inverted_odd_and_monotone(value, exponent):
    scale = SignedScale(SYMLOG, 10.0**exponent)
    place = scale.place(value)
    np.testing.assert_allclose(float(scale.values(place)), value, rtol=1e-9, atol=1e-12 * 10.0**exponent)
    assert scale.place(-value) == -place
    assert scale.place(value * 2) * np.sign(value) >= place * np.sign(value)


def test_symlog_far_out_a_decade_is_one_unit():
    scale = SignedScale(SYMLOG, 1e-6)
    assert scale.place(1.0) - scale.place(0.1) == pytest.approx(1.0, abs=1e-4)


def test_symlog_ticks_are_powers_of_ten_on_both_sides():
    scale = SignedScale(SYMLOG, 1e-3)
    assert scale.ticks(-1.0, 10.0, 50) == [-1, -0.1, -0.01, -0.001, 0, 0.001, 0.01, 0.1, 1, 10]
    few = scale.ticks(-1.0, 10.0, 5)
    assert 0.0 in few and len(few) <= 6 and 10.0 in few
    assert scale.ticks(0.0, 0.0, 5) == [0.0]


def test_threshold_lies_below_the_smaller_and_within_reach_of_the_larger():
    assert threshold_for(5e-5, 2.0) == pytest.approx(1e-6)
    assert threshold_for(0.0, 1.0) == pytest.approx(1e-12)
    assert threshold_for(0.0, 0.0) == 1.0


@pytest.mark.parametrize(
    ("value", "step", "text"),
    [(0.1, 0.05, "0.10"), (-0.2, 0.1, "−0.2"), (2000.0, 500.0, "2000"), (1e-6, 0.0, "1e-6"), (1e-19, 0.1, "0"),
     (0.05, 0.0, "0.05"), (-1e7, 0.0, "−1e7"), (2.5e-6, 5e-7, "2.5e-6"),
     (7.25e-4, 0.0, "7.25e-4")],
)  # fmt: skip
def test_tick_texts(value, step, text):
    assert tick_text(value, step) == text.replace("e-", "e−")


def test_tick_steps_are_round_and_few():
    assert tick_step(1.0, 5) == pytest.approx(0.2)
    assert tick_step(0.7, 10) == pytest.approx(0.1)
    assert tick_step(0.0, 5) == 0.0 and tick_step(float("inf"), 3) == 0.0


class Hand:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self):
        return self.now


def test_a_bound_grows_at_once_and_shrinks_late():
    clock = Hand()
    bound = SteadyBound(clock)
    assert bound.update(0.9, True) == 1.0
    assert bound.update(1.1, True) == 1.5
    assert bound.update(0.5, True) == 1.5
    clock.now += 0.9 * PATIENCE
    # more than half is needed again: the waiting starts anew
    assert bound.update(0.5, True) == 1.5 and bound.update(0.8, True) == 1.5
    assert bound.update(0.1, True) == 1.5
    clock.now += 0.9 * PATIENCE
    assert bound.update(0.1, True) == 1.5
    clock.now += 0.2 * PATIENCE
    assert bound.update(0.1, True) == pytest.approx(0.1)
    assert bound.update(float("nan"), True) == pytest.approx(0.1)
    assert bound.update(0.01, False) == pytest.approx(0.01)


@given(st.floats(1e-300, 1e300))
def test_nice_ceilings_are_not_below_and_close(value):
    assert value * (1 - 1e-9) <= nice_ceiling(value) <= 1.6 * value


def test_range_and_choice():
    steady = SteadyRange()
    assert steady.update(-0.3, 2.2, False) == (pytest.approx(-0.3), 3.0)
    assert steady.update(0.1, 2.2, False)[0] == 0.0
    clock = Hand()
    choice = SteadyChoice(clock)
    assert choice.update("linear", True) == "linear"
    assert choice.update("symlog", True) == "linear"
    clock.now += 0.9 * PATIENCE
    assert choice.update("symlog", True) == "linear"
    clock.now += 0.2 * PATIENCE
    assert choice.update("symlog", True) == "symlog"
    assert choice.update("linear", False) == "linear"


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_every_meaning_is_readable_as_text(theme, qapp):
    for meaning in ("computed", "applied", *CAUSE_COLORS):
        ratio = contrast_ratio(luminance(QColor(text_color(theme, meaning))), luminance(QColor(theme.card)))
        assert ratio >= 4.4, meaning
