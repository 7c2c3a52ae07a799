"""Rows of Keras and TF1 optimizers: they add up for hostile gradients and in narrow types, and explain themselves."""

from __future__ import annotations

import numpy as np
import pytest

from core.optim import parse_optimizer
from core.optim.layout import Layout
from tests.core.optim.reference_problems import assert_closes

KERAS = "keras.optimizers."
TF1 = "tf.compat.v1.train."
LINES = [
    KERAS + "SGD(0.1, momentum=0.9, nesterov=True, weight_decay=0.1, clipnorm=1.0)",
    KERAS + "RMSprop(0.1, momentum=0.9, centered=True, clipvalue=0.5)",
    KERAS + "Adagrad(0.1, global_clipnorm=1.0)",
    KERAS + "Adadelta(1.0)",
    KERAS + "Adam(0.1, amsgrad=True, use_ema=True, ema_overwrite_frequency=2)",
    KERAS + "AdamW(0.1, gradient_accumulation_steps=2)",
    KERAS + "Adamax(0.1)",
    KERAS + "Nadam(0.1)",
    KERAS + "Ftrl(0.1, l1_regularization_strength=0.1, l2_regularization_strength=0.1, beta=1.0, "
    "l2_shrinkage_regularization_strength=0.1)",
    KERAS + "Lion(0.1)",
    KERAS + "Lamb(0.1, weight_decay=0.1)",
    KERAS + "Adafactor(0.1)",
    KERAS + "Muon(0.1)",
    KERAS + "ScheduleFreeAdamW(0.1, warmup_steps=3)",
    KERAS + "LossScaleOptimizer(keras.optimizers.Adam(0.1), initial_scale=4.0, dynamic_growth_steps=2)",
    "keras.regularizers.L1L2(0.1, 0.1)\n" + KERAS + "SGD(0.1, loss_scale_factor=4.0)",
    TF1 + "GradientDescentOptimizer(0.1)",
    TF1 + "MomentumOptimizer(0.1, 0.9, use_nesterov=True)",
    TF1 + "AdagradOptimizer(0.1)",
    TF1 + "AdadeltaOptimizer(1.0)",
    TF1 + "RMSPropOptimizer(0.1, momentum=0.9, centered=True)",
    TF1 + "AdamOptimizer(0.1)",
    TF1 + "FtrlOptimizer(0.1, l1_regularization_strength=0.1)",
    TF1 + "ProximalGradientDescentOptimizer(0.1, 0.1, 0.1)",
    TF1 + "ProximalAdagradOptimizer(0.1, 0.1, 0.1, 0.1)",
    "tf.clip_by_norm(g, 1.0, axes=[0])\ntf.clip_by_average_norm(g, 0.1)\n" + TF1 + "GradientDescentOptimizer(0.1)",
]
LAYOUT = Layout(["w", "b"], [(3, 2), (2,)])
GRADIENTS = {
    "plain": np.array([0.5, -1.0, 2.0, 0.25, -0.125, 3.0, 1.0, -1.0]),
    "zero": np.zeros(8),
    "denormal": np.full(8, 5e-324),
    "huge": np.full(8, 1e300),
    "inf": np.array([np.inf, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
    "nan": np.array([1.0, np.nan, 1.0, 1.0, 1.0, 1.0, 1.0, -np.inf]),
}


@pytest.mark.parametrize("arithmetic", ["float64", "float32", "float16"])
@pytest.mark.parametrize("line", LINES)
def test_ledgers_close_for_hostile_gradients(line: str, arithmetic: str) -> None:
    for kind, hostile in GRADIENTS.items():
        optimizer = parse_optimizer(line)
        optimizer.arithmetic = arithmetic
        weights = np.linspace(-1.0, 1.0, 8).astype(arithmetic)
        for gradient in (GRADIENTS["plain"], hostile, GRADIENTS["plain"]):
            with np.errstate(over="ignore"):
                narrow = gradient.astype(arithmetic)
            ledger, weights = optimizer.step_flat(weights, narrow, LAYOUT)
            assert_closes(ledger, f"{line} with {kind} in {arithmetic}")
            assert weights.dtype == np.dtype(arithmetic)


@pytest.mark.parametrize("line", LINES)
def test_clipping_and_zero_gradients_make_no_nan(line: str) -> None:
    optimizer = parse_optimizer(line)
    weights = np.linspace(-1.0, 1.0, 8)
    for _ in range(3):
        _, weights = optimizer.step_flat(weights, np.zeros(8), LAYOUT)
        assert np.isfinite(weights).all()


@pytest.mark.parametrize("line", LINES)
def test_every_row_explains_itself(line: str) -> None:
    optimizer = parse_optimizer(line)
    weights = np.linspace(-1.0, 1.0, 8)
    for _ in range(2):
        ledger, weights = optimizer.step_flat(weights, GRADIENTS["plain"], LAYOUT)
    for row in optimizer.chain:
        assert row.label and row.cause and row.source
        assert "= nan" not in row.explain(ledger.figures)


@pytest.mark.parametrize("line", LINES)
def test_a_step_repeated_from_a_snapshot_has_the_same_bits(line: str) -> None:
    optimizer = parse_optimizer(line)
    weights = np.linspace(-1.0, 1.0, 8)
    for _ in range(3):
        _, weights = optimizer.step_flat(weights, GRADIENTS["plain"], LAYOUT)
    kept = optimizer.snapshot()
    _, first = optimizer.step_flat(weights, GRADIENTS["plain"], LAYOUT)
    optimizer.restore(kept)
    _, second = optimizer.step_flat(weights, GRADIENTS["plain"], LAYOUT)
    np.testing.assert_array_equal(first, second)
