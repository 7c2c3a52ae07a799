"""Sums and products of many parts, and words that are no numbers."""

import numpy as np
import pytest

from core.problems import ExpressionError, expression


def test_a_sum_of_110_squares():
    made = expression(" + ".join(f"{k}*w{k}**2" for k in range(1, 111)))
    w = np.linspace(-1, 1, 110)
    weights = np.arange(1, 111)
    loss, gradient = made.value_and_gradient(w)
    assert np.isclose(loss, (weights * w**2).sum(), rtol=1e-13)
    np.testing.assert_allclose(gradient, 2 * weights * w, rtol=1e-13)


def test_a_long_chain_is_joined_from_the_left():
    # 100 / 2 / 2 ... - and + keep their order as well
    assert expression("x" + "/2" * 80).value([2.0**80]) == 1
    assert expression("x" + "-1+2" * 60).value([0.0]) == 60
    assert expression("x" + "-y*2" * 70).value([0.0, 1.0]) == -140


@pytest.mark.parametrize("text", ["nan*x", "NaN + x", "x - Infinity"])
def test_nan_is_no_coordinate(text):
    with pytest.raises(ExpressionError, match="is no number a formula can use"):
        expression(text)
