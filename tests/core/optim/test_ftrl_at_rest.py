"""FTRL divides by the rate: what becomes of the weights when a decay has reached 0, against TensorFlow 2.21 itself."""

from __future__ import annotations

import numpy as np
import pytest

from core.optim import parse_optimizer
from core.optim.layout import Layout

DECAY = "lr = tf.compat.v1.train.polynomial_decay(0.3, global_step, 2, 0.0)\noptimizer = tf.compat.v1.train."
GRADIENTS = ([1.0, 2.0, -1.0], [0.5, 0.0, 0.0], [1.0, 0.0, 2.0], [1.0, 1.0, 1.0])
NAN = float("nan")
RUNS = {
    "FtrlOptimizer(lr)": [
        [0.41244987, -1.98397137, 0.28603879],
        [0.16174689, -0.99198568, 0.14301939],
        [NAN, 0.0, NAN],
        [0.0, 0.0, 0.0],
    ],
    "FtrlOptimizer(lr, l1_regularization_strength=0.1, l2_regularization_strength=0.1, beta=0.5)": [
        [0.25023549, -1.54254308, 0.16782603],
        [0.09137015, -0.78032811, 0.0855075],
        [NAN, 0.0, NAN],
        [0.0, 0.0, 0.0],
    ],
}
"""Weights after each step, from [1, -2, 0] in float64; TF1 keeps the constants in float32."""


@pytest.mark.parametrize("call", RUNS)
def test_weights_without_a_linear_part_are_zero(call: str) -> None:
    optimizer = parse_optimizer(f"{DECAY}{call}\ntrain_op = optimizer.minimize(loss, global_step=global_step)")
    weights, layout = np.array([1.0, -2.0, 0.0]), Layout(["w"], [(3,)])
    for gradient, expected in zip(GRADIENTS, RUNS[call], strict=True):
        _, weights = optimizer.step_flat(weights, np.array(gradient), layout)
        np.testing.assert_allclose(weights, expected, rtol=1e-6)
