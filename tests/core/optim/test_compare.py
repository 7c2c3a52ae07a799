"""Two lines side by side: where they part, through which row, and by how much."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from core.optim import parse_optimizer
from core.optim.aligned import align
from core.optim.compare import Comparison, compare
from core.optim.layout import Array, Layout

LAYOUT = Layout(["w"], [(2,)])


def _bowl(weights: Array, k: int) -> tuple[float, Array]:
    return float(0.5 * (weights[0] ** 2 + 25 * weights[1] ** 2)), np.array([weights[0], 25 * weights[1]])


def run(left: str, right: str, at: Any = _bowl, steps: int = 20, **more: Any) -> Comparison:
    return compare(parse_optimizer(left), parse_optimizer(right), at, np.array([2.0, 1.0]), LAYOUT, steps, **more)


def test_the_same_optimizer_in_four_frameworks_never_parts() -> None:
    torch = "torch.optim.SGD(p, lr=0.01, momentum=0.9, nesterov=True)"
    for other in (
        "keras.optimizers.SGD(0.01, momentum=0.9, nesterov=True)",
        "tf.compat.v1.train.MomentumOptimizer(0.01, 0.9, use_nesterov=True)",
        "optax.sgd(0.01, momentum=0.9, nesterov=True)",
    ):
        found = run(torch, other)
        assert found.parting is None
        assert found.distance.max() == 0.0
        assert "same steps, all 20" in found.sentence("PyTorch", "the other")


def test_adam_parts_at_once_through_the_bias_correction() -> None:
    """ε outside the corrected root (PyTorch) or 'hat' (Keras); the table of matched settings says where they get."""
    found = run("torch.optim.Adam(p, lr=0.05, eps=1e-3)", "keras.optimizers.Adam(0.05, epsilon=1e-3)", steps=50)
    parting = found.parting
    assert parting is not None
    assert parting.step == 0
    assert parting.culprit.cause == "bias correction"
    assert (parting.culprit.left, parting.culprit.right) == ("bias_correction_2", "bias_correction_2")
    expected = np.array([1.9507783, 0.95006317]) - np.array([1.950025, 0.950002])
    np.testing.assert_allclose(parting.difference, expected, rtol=2e-3)
    assert parting.size == pytest.approx(np.linalg.norm(parting.difference))
    np.testing.assert_allclose(found.left_path[50], [0.11568117, -0.037900935], rtol=1e-6)
    np.testing.assert_allclose(found.right_path[50], [0.12040932, -0.038053536], rtol=1e-6)
    text = found.sentence("PyTorch", "Keras")
    assert "part at step 0" in text
    assert "bias correction" in text


def test_the_place_of_the_rate_shows_when_the_rate_changes() -> None:
    """MOM-01: with lr inside the velocity (Keras) the old rate lives on; equal until the rate drops at step 3."""
    torch = "o = torch.optim.SGD(p, lr=0.01, momentum=0.9)\nStepLR(o, 3, 0.1)"
    keras = (
        "s = keras.optimizers.schedules.ExponentialDecay(0.01, decay_steps=3, decay_rate=0.1, staircase=True)\n"
        "keras.optimizers.SGD(s, momentum=0.9)"
    )
    found = run(torch, keras)
    assert found.parting is not None
    assert found.parting.step == 3
    assert found.distance[3] == 0.0
    assert found.distance[4] > 0.0


def test_decay_before_or_after_the_momentum() -> None:
    torch = "torch.optim.SGD(p, lr=0.01, momentum=0.9, weight_decay=0.1)"
    found = run(torch, "keras.optimizers.SGD(0.01, momentum=0.9, weight_decay=0.1)")
    assert found.parting is not None
    assert found.parting.step == 1
    causes = {pair.cause for pair in found.parting.rows}
    assert {"regularisation", "weight decay"} <= causes
    missing = [pair for pair in found.parting.rows if pair.left is None or pair.right is None]
    assert missing


def test_clipping_rules_part_by_a_millionth() -> None:
    left = "torch.nn.utils.clip_grad_norm_(p, 1.0)\ntorch.optim.SGD(p, lr=0.01)"
    right = "keras.optimizers.SGD(0.01, global_clipnorm=1.0)"
    found = run(left, right)
    assert found.parting is not None
    assert found.parting.culprit.cause == "clipping"
    assert found.parting.size == pytest.approx(0.01 * 1e-6 / math.hypot(2.0, 25.0), rel=1e-3)
    assert "torch rule" in found.parting.left_words
    assert "tensorflow rule" in found.parting.right_words
    assert run(left, right, tolerance=1e-3).parting is None


def test_different_base_rates_are_named_as_such() -> None:
    found = run("torch.optim.SGD(p, lr=0.01)", "torch.optim.SGD(p, lr=0.02)")
    assert found.parting is not None
    assert found.parting.culprit.left == "expected"
    assert found.parting.left_words == "the rate 0.01"


def test_a_recorded_sequence_of_gradients_will_do() -> None:
    gradients = [np.array([1.0, 0.0])] * 3
    found = run("torch.optim.Adagrad(p, lr=0.1)", "optax.adagrad(0.1)", gradients, steps=3)
    assert found.parting is not None
    assert found.parting.culprit.cause == "adaptive scaling"
    np.testing.assert_allclose(found.parting.difference, [0.1 - 0.1 / math.sqrt(1.1), 0.0], rtol=1e-5)


def test_a_refused_step_is_a_difference() -> None:
    gradients = [np.array([1.0, 1.0]), np.array([math.inf, 1.0])]
    left = "GradScaler('cpu', init_scale=1.0)\ntorch.optim.SGD(p, lr=0.1)"
    found = run(left, "torch.optim.SGD(p, lr=0.1)", gradients, steps=2)
    assert found.parting is not None
    assert found.parting.step == 1


def test_aligned_rows_add_up_to_what_was_applied() -> None:
    left, right = parse_optimizer("torch.optim.AdamW(p, lr=0.1)"), parse_optimizer("optax.lamb(0.1, weight_decay=0.1)")
    start, gradient = np.array([2.0, 1.0]), np.array([3.0, -4.0])
    one, _ = left.step_flat(start, gradient, LAYOUT)
    two, _ = right.step_flat(start, gradient, LAYOUT)
    pairs = align(one.blocks[0], two.blocks[0])
    np.testing.assert_allclose(sum(pair.left_contribution for pair in pairs), one.blocks[0].applied, rtol=1e-12)
    np.testing.assert_allclose(sum(pair.right_contribution for pair in pairs), two.blocks[0].applied, rtol=1e-12)
    total = sum(pair.difference for pair in pairs)
    np.testing.assert_allclose(total, two.blocks[0].applied - one.blocks[0].applied, atol=1e-14)
