"""The waterfall of a step: each measure against its formula, and formulas with the settings of their step."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from core.simulation.contrast import contrast
from core.simulation.formulas import formula
from core.simulation.running_sums import running_sums
from core.simulation.waterfall import waterfall
from tests.gui.synthetic import Bowl, simulate

numbers = st.floats(-1e3, 1e3, allow_nan=False).map(lambda x: round(x, 3))


@st.composite
def ledgers(draw):
    size, count = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    expected = draw(arrays(np.float64, size, elements=numbers))
    rows = draw(arrays(np.float64, (count, size), elements=numbers))
    return expected, rows, expected + rows.sum(axis=0)


@given(ledgers())
def test_bars_lead_from_the_expected_to_the_applied_step(ledger):
    expected, rows, applied = ledger
    scale = np.abs(np.vstack([expected, rows])).sum() + 1e-300
    for measure in ("along", "across", "length"):
        fall = waterfall(expected, rows, applied, measure)
        spans = fall.spans()
        assert spans[0, 0] == spans[-1, 0] == 0.0
        np.testing.assert_array_equal(spans[1:-1, 0], spans[:-2, 1])  # each begins where the one before ends
        np.testing.assert_allclose(spans[-2, 1], spans[-1, 1], atol=1e-12 * scale)
        np.testing.assert_allclose(fall.values[0] + fall.changes.sum(), fall.applied, atol=1e-12 * scale)


@given(ledgers())
def test_along_and_across_make_up_the_applied_step(ledger):
    expected, rows, applied = ledger
    if not np.linalg.norm(expected) > 1e-6:
        return
    along, across = (waterfall(expected, rows, applied, m) for m in ("along", "across"))
    assert along.expected == pytest.approx(np.linalg.norm(expected), rel=1e-12)
    assert along.applied == pytest.approx(applied @ expected / np.linalg.norm(expected), rel=1e-9, abs=1e-9)
    # where the applied step hardly turns, the direction across is known to few digits of the expected length
    assert across.expected == pytest.approx(0.0, abs=1e-8 * (1.0 + np.linalg.norm(expected)))
    assert math.hypot(along.applied, across.applied) == pytest.approx(np.linalg.norm(applied), rel=1e-9, abs=1e-9)


def test_in_the_plane_by_hand():
    expected, applied = np.array([2.0, 0.0]), np.array([1.0, 3.0])
    rows = np.array([[-1.0, 0.0], [0.0, 3.0]])
    np.testing.assert_allclose(waterfall(expected, rows, applied, "along").spans()[:, 1], [2, 1, 1, 1])
    np.testing.assert_allclose(waterfall(expected, rows, applied, "across").spans()[:, 1], [0, 0, 3, 3])
    np.testing.assert_allclose(waterfall(expected, rows, applied, "length").values, [2, 1, math.sqrt(10)])
    np.testing.assert_allclose(
        waterfall(expected, rows, applied, "size").spans(), [[0, 2], [0, 1], [0, 3], [0, 10**0.5]]
    )
    np.testing.assert_allclose(waterfall(expected[:1], rows[:, :1], applied[:1], "value").values, [2, 1, 1])


def test_rows_that_did_nothing_and_no_computed_direction():
    fall = waterfall(np.zeros(2), np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1e-9]]), np.array([3.0, 4.0]), "along")
    assert fall.fallback and fall.acted.tolist() == [False, True, False]
    np.testing.assert_allclose(fall.values, [0, 0, 5, 5])
    assert waterfall(np.zeros(2), np.zeros((1, 2)), np.zeros(2), "across").applied == 0.0


def test_broken_numbers_do_not_raise():
    rows = np.array([[np.inf, 0.0], [np.nan, 1.0]])
    for measure in ("along", "across", "length", "size"):
        waterfall(np.array([np.inf, 1.0]), rows, np.array([np.nan, 2.0]), measure)


def test_running_sums_keep_what_contributions_would_lose():
    steps = np.array([-1e19, -0.1, -0.25, -1e-3, -1e18, -7.0])  # d_0 .. d_n
    rows = np.diff(steps)[:, np.newaxis]
    sums = running_sums(steps[:1], rows, steps[-1:])[:, 0]
    np.testing.assert_allclose(sums[[0, 4, 5]], steps[[0, 4, 5]])
    rows = np.diff(steps[:4])[:, np.newaxis]
    # -1e19 + 1e19 - 0.1 is 0 in float64; taken from the other end it is -0.1
    np.testing.assert_allclose(running_sums(steps[:1], rows, steps[3:4])[:, 0], steps[:4], rtol=1e-12)


def test_contrast_by_hand():
    found = contrast(np.array([3.0, 4.0, 0.0]), np.array([-3.0, 0.0, 4.0]))
    assert (found.expected_norm, found.applied_norm, found.ratio) == (5.0, 5.0, 1.0)
    assert found.cosine == pytest.approx(-9 / 25) and found.angle == pytest.approx(math.degrees(math.acos(-9 / 25)))
    assert (found.flipped, found.unmoved, found.broken) == (1, 1, 0)
    nothing = contrast(np.zeros(2), np.array([1.0, np.inf]))
    assert math.isnan(nothing.ratio) and math.isnan(nothing.angle) and nothing.broken == 1


def test_formulas_have_the_settings_of_their_step():
    simulation = simulate(
        ("l2", {"weight_decay": 0.5}), ("clip_by_global_norm", {"max_norm": 1.0}),
        ("learning_rate", {"learning_rate": 0.1}), objective=Bowl({"w": (2,)}, start=[3.0, 4.0]), steps=3,
    )  # fmt: skip
    simulation.change("clip_by_global_norm", "max_norm", 2.0)
    simulation.change("l2", "enabled", False)
    simulation.advance(2)
    early, late = simulation.optimizer_at(2), simulation.optimizer_at(3)
    figures = simulation.history.figures(0)
    assert figures["gradient_norm"] == pytest.approx(7.5)  # g + 0.5 w = 1.5 (3, 4)
    assert "‖u‖ = 7.5 > 1 " in formula(early, "clip_by_global_norm", figures)
    assert "> 2 " in formula(late, "clip_by_global_norm", simulation.history.figures(3))
    assert formula(early, "l2", figures).startswith("u ← u + λ w   with λ = 0.5")
    assert "switched off" in formula(late, "l2", figures)
    assert formula(late, "nothing", figures) == ""
