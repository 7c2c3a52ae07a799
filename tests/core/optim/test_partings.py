"""Where two lines part: the step, the row and the difference, against what the frameworks themselves did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.optim import parse_optimizer
from core.optim.alike import finished_step
from core.optim.compare import Comparison, compare
from core.optim.layout import Layout

TABLE: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "partings.json").read_text(encoding="utf-8"))
LAYOUT = Layout(["w", "b"], [(2,), (1,)])
VISIBLE = 1e-4
"""Part of the step beyond which the frameworks have parted; the numbers they keep in float32 stay far below."""


def compared(left: str, right: str, tolerance: float | None = None, scale: float = 1.0) -> Comparison:
    gradients = [scale * np.array(g) for g in TABLE["gradients"]]
    start = np.array(TABLE["start"])
    return compare(
        parse_optimizer(left), parse_optimizer(right), gradients, start, LAYOUT, len(gradients), tolerance=tolerance
    )


@pytest.mark.parametrize("pair", TABLE["pairs"], ids=lambda pair: pair["name"])
def test_the_step_the_row_and_the_difference_are_the_frameworks(pair: dict[str, Any]) -> None:
    left, right = np.array(pair["applied_left"]), np.array(pair["applied_right"])
    sizes = np.maximum(np.abs(left).max(axis=1), np.abs(right).max(axis=1))
    apart = np.flatnonzero(np.abs(right - left).max(axis=1) > VISIBLE * sizes)
    parting = compared(pair["left"], pair["right"], VISIBLE).parting
    if not len(apart):
        assert parting is None
        return
    assert parting is not None
    step = int(apart[0])
    assert parting.step == step
    assert parting.culprit.cause == pair["cause"]
    difference = right[step] - left[step]
    np.testing.assert_allclose(parting.difference, difference, rtol=1e-5, atol=1e-5 * np.abs(difference).max())
    assert parting.length == pytest.approx(max(np.linalg.norm(left[step]), np.linalg.norm(right[step])), rel=1e-5)
    assert parting.words


def test_rounding_before_the_parting_is_told_apart_from_it() -> None:
    """With a constant rate the velocity of Keras, lr inside, is PyTorch's times lr: equal but for the last digits."""
    found = compared(
        "o = torch.optim.SGD(p, lr=0.03, momentum=0.9)\nStepLR(o, 10, 0.1)",
        "s = keras.optimizers.schedules.ExponentialDecay(0.03, 10, 0.1, staircase=True)\n"
        "keras.optimizers.SGD(s, momentum=0.9)",
    )
    assert found.parting is not None and found.parting.step == 10
    assert found.first_rounding is not None and found.first_rounding < 10
    assert 0.0 < found.rounding < 1e-15
    assert "Before that they differ by rounding alone" in found.sentence("PyTorch", "Keras")


def test_lines_that_never_part_say_how_far_rounding_sets_them_apart() -> None:
    found = compared("torch.optim.AdamW(p, lr=0.05, weight_decay=0.1)", "optax.adamw(0.05, weight_decay=0.1)")
    assert found.parting is None and found.first_rounding is not None
    assert 0.0 < found.rounding < 1e-15
    assert f"at most {found.rounding:.3g}, first in step {found.first_rounding}" in found.sentence()
    again = compared("torch.optim.Adam(p)", "torch.optim.Adam(p)")
    assert again.sentence().endswith("to the last bit.")


def test_an_epsilon_that_is_hardly_to_be_seen_is_a_real_difference() -> None:
    """ε = 1e-8 beside roots of 10⁴: the first step is lr·(1 − ε/|g|) or, with ε hat, lr·(1 − ε/(|g| √(1 − β₂)))."""
    found = compared("torch.optim.Adam(p, lr=0.05)", "keras.optimizers.Adam(0.05, epsilon=1e-8)", scale=1e4)
    assert found.parting is not None and found.parting.step == 0
    gradient = 1e4 * np.abs(TABLE["gradients"][0])
    expected = 0.05 * (1e-8 / (gradient * np.sqrt(1e-3)) - 1e-8 / gradient)
    np.testing.assert_allclose(np.abs(found.parting.difference), expected, rtol=1e-2)
    assert found.parting.culprit.left == "bias_correction_2"


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        (
            "o = torch.optim.SGD(p, lr=0.01)\nMultiStepLR(o, [5], 0.1)",
            "keras.optimizers.SGD(keras.optimizers.schedules.PiecewiseConstantDecay([5], [0.01, 0.001]))",
            ("0.001 with A, 0.01 with B", "milestone step has the lower rate", "boundary step still has the higher"),
        ),
        (
            "keras.optimizers.RMSprop(0.01, epsilon=1e-10)",
            "tf.compat.v1.train.RMSPropOptimizer(0.01)",
            ("v₀ = 0 with A, 1 with B",),
        ),
        (
            "torch.optim.Adam(p, weight_decay=0.1)",
            "torch.optim.AdamW(p, weight_decay=0.1)",
            ("only with A: L2 added to gradient", "only with B: decoupled weight decay"),
        ),
        (
            "optax.chain(optax.clip_by_global_norm(1.0), optax.MultiSteps(optax.sgd(0.01), 3))",
            "optax.MultiSteps(optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.01)), 3)",
            ("with A it stands before gradient accumulation, with B behind it",),
        ),
        (
            "torch.optim.Adam(p, lr=0.01, amsgrad=True)",
            "optax.amsgrad(0.01)",
            ("with A AMSGrad: largest of the uncorrected v", "with B AMSGrad: largest of the corrected"),
        ),
    ],
)
def test_the_sentence_says_both_rules(left: str, right: str, words: tuple[str, ...]) -> None:
    told = compared(left, right).sentence("A", "B")
    for word in words:
        assert word in told
    assert "no such row" not in told or "only with" in told


def test_parameter_groups_are_told_one_by_one() -> None:
    lines = "torch.optim.SGD([{{'params': [w], 'momentum': 0.9}}, {{'params': [b], 'momentum': {0}}}], lr=0.1)"
    found = compared(lines.format(0.5), lines.format(0.8))
    assert found.parting is not None and found.parting.step == 1
    assert "group 0: the same. group 1: μ = 0.5 with A, 0.8 with B" in found.sentence("A", "B")


@pytest.mark.parametrize(
    "lines",
    [
        "torch.optim.AdamW(p, lr=0.1)",
        "optax.lamb(0.1, weight_decay=0.1)",
        "keras.optimizers.SGD(0.1, momentum=0.9, weight_decay=0.1)",
        "torch.optim.SGD([{'params': [w], 'lr': 0.3}, {'params': [b]}], lr=0.1)",
        "optax.clip(1.0)",
        "optax.lookahead(optax.sgd(0.1), 1, 0.5)",
    ],
)
def test_the_finished_step_is_the_last_of_the_prefixes(lines: str) -> None:
    optimizer, weights = parse_optimizer(lines), np.array(TABLE["start"])
    for gradient in TABLE["gradients"][:3]:
        ledger, weights = optimizer.step_flat(weights, np.array(gradient), LAYOUT)
        np.testing.assert_array_equal(finished_step(ledger.blocks[0]), ledger.blocks[0].prefixes[-2])


def test_a_group_without_decay_is_told() -> None:
    """The row of a group whose decay is 0 stands there, switched off."""
    groups = "torch.optim.SGD([{'params': [w], 'weight_decay': 0.1}, {'params': [b], 'weight_decay': 0.0}], lr=0.1)"
    found = compared(groups, "torch.optim.SGD(p, lr=0.1, weight_decay=0.1)")
    assert found.parting is not None and found.parting.step == 0
    start = TABLE["start"][2]
    np.testing.assert_allclose(found.parting.difference, [0.0, 0.0, -0.1 * 0.1 * start], rtol=1e-12)
    assert "group 0: the same. group 1: only with B: L2 added to gradient" in found.sentence("A", "B")
