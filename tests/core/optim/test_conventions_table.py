"""docs/conventions.md cell by cell: what the frameworks did in small experiments, what our lines do, what it says.

The numbers were printed by PyTorch 2.13, Keras 3.15 on JAX, TensorFlow 2.21 (tf.compat.v1.train, tf.clip_by_*) and
optax 0.2.8 in float64 (TensorFlow's clips in float32): steps from w = 1 (clips: from 0 with lr 1) for the gradients
given.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from core.optim import parse_optimizer
from core.optim.layout import Layout

INF, NAN = math.inf, math.nan
PAGE = (Path(__file__).parents[3] / "docs" / "conventions.md").read_text(encoding="utf-8")
COLUMNS = {"torch": 1, "keras": 2, "tf1": 3, "optax": 4}


def cell(row: str, column: int) -> str:
    """A cell of the page: of the row that begins so."""
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| {row}"))
    return line.strip("|").split(" | ")[column].strip()


def steps(lines: str, gradients: list[list[float]], start: float = 1.0) -> np.ndarray:
    optimizer, layout = parse_optimizer(lines), Layout(["w"], [(len(gradients[0]),)])
    weights, found = np.full(len(gradients[0]), start), []
    for gradient in gradients:
        ledger, weights = optimizer.step_flat(weights, np.array(gradient), layout)
        found.append(ledger.blocks[0].applied)
    return np.array(found)


ONE = [[1.0]]
EXPERIMENTS = [
    # row of the page, framework, what the cell says, lines, gradients, steps of the framework
    ("ε in Adam ", "torch", "corrected root", "torch.optim.Adam(p, lr=1, eps=0.5)", ONE, [-0.666666666]),
    ("ε in Adam ", "optax", "corrected root", "optax.adam(1.0, eps=0.5)", ONE, [-0.666666666]),
    ("ε in Adam ", "keras", '"hat"', "keras.optimizers.Adam(1.0, epsilon=0.5)", ONE, [-0.059483487]),
    ("ε in Adam ", "tf1", "as Keras", "tf.compat.v1.train.AdamOptimizer(1.0, epsilon=0.5)", ONE, [-0.059483487]),
    ("ε in RMSprop", "torch", "outside", "torch.optim.RMSprop(p, lr=0.1, alpha=0.9, eps=0.5)", ONE, [-0.122514822]),
    ("ε in RMSprop", "keras", "inside", "keras.optimizers.RMSprop(0.1, epsilon=0.5)", ONE, [-0.129099444]),
    ("ε in RMSprop", "optax", "inside", "optax.rmsprop(0.1, decay=0.9, eps=0.5)", ONE, [-0.129099444]),
    ("RMSprop's average", "tf1", "**1**", "tf.compat.v1.train.RMSPropOptimizer(0.1, epsilon=0.5)", ONE, [-0.081649658]),
    ("ε in Adagrad", "keras", "inside", "keras.optimizers.Adagrad(0.1, epsilon=0.5)", ONE, [-0.079056941]),
    ("ε in Adagrad", "optax", "inside", "optax.adagrad(0.1, eps=0.5)", ONE, [-0.079056941]),
    ("Adagrad's sum starts", "torch", "0", "torch.optim.Adagrad(p, lr=0.1)", ONE, [-0.099999999]),
    ("Adagrad's sum starts", "tf1", "0.1", "tf.compat.v1.train.AdagradOptimizer(0.1)", ONE, [-0.095346258]),
    ("ε in Adadelta", "torch", "inside", "torch.optim.Adadelta(p, lr=1, rho=0.9, eps=0.5)", ONE, [-0.912870929]),
    ("ε in Adadelta", "keras", "inside", "keras.optimizers.Adadelta(1.0, rho=0.9, epsilon=0.5)", ONE, [-0.912870929]),
    ("ε in Adadelta", "tf1", "inside", "tf.compat.v1.train.AdadeltaOptimizer(1.0, 0.9, 0.5)", ONE, [-0.912870929]),
    ("ε in Adadelta", "optax", "inside", "optax.adadelta(1.0, rho=0.9, eps=0.5)", ONE, [-0.912870929]),
    ("ε in Adamax", "torch", "abs(g) + ε", "torch.optim.Adamax(p, lr=1, eps=0.5)", ONE, [-0.666666666]),
    ("ε in Adamax", "keras", "n + ε", "keras.optimizers.Adamax(1.0, epsilon=0.5)", ONE, [-0.666666666]),
    ("ε in Adamax", "optax", "as PyTorch", "optax.adamax(1.0, eps=0.5)", ONE, [-0.666666666]),
    ("first NAdam step", "torch", "−0.10565", "torch.optim.NAdam(p, lr=0.1)", ONE, [-0.105645176]),
    ("first NAdam step", "keras", "−0.10628", "keras.optimizers.Nadam(0.1)", ONE, [-0.106278769]),
    ("first NAdam step", "optax", "−0.14737", "optax.nadam(0.1)", ONE, [-0.147368419]),
    (
        "AMSGrad: maximum", "torch", "uncorrected", "torch.optim.Adam(p, lr=1, amsgrad=True)",
        [[10.0], [1.0], [1.0]], [-0.999999998, -0.740810641, -0.633143544],
    ),
    (
        "AMSGrad: maximum", "keras", "uncorrected", "keras.optimizers.Adam(1.0, amsgrad=True)",
        [[10.0], [1.0], [1.0]], [-0.999999683, -0.740810409, -0.633143346],
    ),
    (
        "AMSGrad: maximum", "optax", "v̂", "optax.amsgrad(1.0)",
        [[10.0], [1.0], [1.0]], [-0.999999998, -0.526315788, -0.369003689],
    ),
    (
        "ε in RAdam", "torch", '"hat"', "torch.optim.RAdam(p, lr=1, eps=0.5)", ONE * 8,
        [-1.0] * 5 + [-0.003459862786, -0.004686941615, -0.005869472506],
    ),
    (
        "ε in RAdam", "optax", "corrected root", "optax.radam(1.0, eps=0.5)", ONE * 8,
        [-1.0] * 5 + [-0.017214075, -0.021825876, -0.025825518],
    ),
    (
        "dampening", "torch", "on the first step", "torch.optim.SGD(p, lr=1, momentum=0.9, dampening=0.5)", ONE * 3,
        [-1.0, -1.4, -1.76],
    ),
    (
        "Nesterov", "keras", "μm − lr·g", "keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True)", ONE * 2,
        [-0.19, -0.271],
    ),
    (
        "Nesterov", "tf1", "lr·μ·a", "tf.compat.v1.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True)", ONE * 2,
        [-0.19, -0.271],
    ),
    ("decoupled decay times lr", "keras", "yes", "keras.optimizers.SGD(0.1, weight_decay=0.1)", [[0.0]], [-0.01]),
    ("with a zero gradient", "torch", "decay", "torch.optim.AdamW(p, lr=0.1, weight_decay=0.1)", [[0.0]], [-0.01]),
    ("LAMB's decay", "keras", "outside", "keras.optimizers.Lamb(0.1, weight_decay=0.1)", ONE, [-0.109]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("row", "dialect", "said", "lines", "gradients", "expected"), EXPERIMENTS, ids=lambda value: str(value)[:40]
)
def test_the_cell_the_framework_and_our_lines_agree(
    row: str, dialect: str, said: str, lines: str, gradients: list[list[float]], expected: list[float]
) -> None:
    assert said in cell(row, COLUMNS[dialect])
    tolerance = 2e-6 if dialect == "tf1" or "RMSprop(0.1" in lines else 1e-7
    np.testing.assert_allclose(steps(lines, gradients)[:, 0], expected, rtol=tolerance)


NOT_FINITE = {"nan where": [NAN, 0.0], "everywhere": [NAN, NAN], "as PyTorch": [NAN, 0.0], "becomes c": [5.0, 1.0]}
CLIPS = [
    ("PyTorch `clip_grad_norm_`", "torch.nn.utils.clip_grad_norm_(p, {0})\ntorch.optim.SGD(p, lr=1.0)", "nan where"),
    ("Keras `global_clipnorm`", "keras.optimizers.SGD(1.0, global_clipnorm={0})", "everywhere"),
    ("Keras `clipnorm`", "keras.optimizers.SGD(1.0, clipnorm={0})", "as PyTorch"),
    ("optax `clip_by_global_norm`", "optax.chain(optax.clip_by_global_norm({0}), optax.sgd(1.0))", "as PyTorch"),
    ("`clip_grad_value_`", "torch.nn.utils.clip_grad_value_(p, {0})\ntorch.optim.SGD(p, lr=1.0)", "becomes c"),
]


@pytest.mark.parametrize(("row", "lines", "said"), CLIPS, ids=lambda value: value[:30])
def test_clips_at_their_edges(row: str, lines: str, said: str) -> None:
    assert said in cell(row, 4)
    limited = lines.format(5.0)
    np.testing.assert_array_equal(-steps(limited, [[0.0, 0.0]], 0.0)[0], [0.0, 0.0])
    np.testing.assert_array_equal(-steps(limited, [[INF, 1.0]], 0.0)[0], NOT_FINITE[said])
    nan = [NAN, 1.0] if said == "becomes c" else [NAN, NAN]
    np.testing.assert_array_equal(-steps(limited, [[NAN, 1.0]], 0.0)[0], nan)
    at_the_limit = -steps(limited, [[3.0, 4.0]], 0.0)[0]
    if "1e-6" in cell(row, 2):
        np.testing.assert_allclose(at_the_limit, np.array([3.0, 4.0]) * 5.0 / (5.0 + 1e-6), rtol=1e-12)
    else:
        np.testing.assert_allclose(at_the_limit, [3.0, 4.0], rtol=1e-15)


@pytest.mark.parametrize(
    ("lines", "finite", "infinite"),
    [
        ("torch.nn.utils.clip_grad_norm_(p, float('inf'))\ntorch.optim.SGD(p, lr=1.0)", [3.0, 4.0], [NAN, NAN]),
        ("optax.chain(optax.clip_by_global_norm(float('inf')), optax.sgd(1.0))", [3.0, 4.0], [NAN, NAN]),
        ("keras.optimizers.SGD(1.0, clipnorm=float('inf'))", [NAN, NAN], [NAN, NAN]),
        ("keras.optimizers.SGD(1.0, global_clipnorm=float('inf'))", [NAN, NAN], [NAN, NAN]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_limit_of_inf_is_what_the_frameworks_make_of_it(
    lines: str, finite: list[float], infinite: list[float]
) -> None:
    np.testing.assert_array_equal(-steps(lines, [[3.0, 4.0]], 0.0)[0], finite)
    np.testing.assert_array_equal(-steps(lines, [[INF, 1.0]], 0.0)[0], infinite)


def rates(lines: str, count: int) -> list[float]:
    return [round(-float(step[0]), 4) for step in steps(lines, [[1.0]] * count, 0.0)]


SCHEDULES = [
    ("boundary step", 1, "new rate", "o = torch.optim.SGD(p, lr=1.0)\nMultiStepLR(o, [3])", [1, 1, 1, 0.1, 0.1]),
    (
        "boundary step", 2, "old rate",
        "keras.optimizers.SGD(keras.optimizers.schedules.PiecewiseConstantDecay([3], [1.0, 0.1]))", [1, 1, 1, 1, 0.1],
    ),
    (
        "boundary step", 3, "old rate",
        "lr = tf.compat.v1.train.piecewise_constant(step, [3], [1.0, 0.1])\n"
        "tf.compat.v1.train.GradientDescentOptimizer(lr).minimize(loss, global_step=step)", [1, 1, 1, 1, 0.1],
    ),
    (
        "boundary step", 4, "new rate", "optax.sgd(optax.piecewise_constant_schedule(1.0, {3: 0.1}))",
        [1, 1, 1, 0.1, 0.1],
    ),
    (
        "cosine after its end", 1, "climbs", "o = torch.optim.SGD(p, lr=1.0)\nCosineAnnealingLR(o, 4)",
        [1, 0.8536, 0.5, 0.1464, 0, 0.1464, 0.5],
    ),
    (
        "cosine after its end", 2, "minimum", "keras.optimizers.SGD(keras.optimizers.schedules.CosineDecay(1.0, 4))",
        [1, 0.8536, 0.5, 0.1464, 0, 0, 0],
    ),
    (
        "cosine after its end", 4, "stays", "optax.sgd(optax.cosine_decay_schedule(1.0, 4))",
        [1, 0.8536, 0.5, 0.1464, 0, 0, 0],
    ),
    (
        "polynomial with", 2, "1 at `k = 0`",
        "keras.optimizers.SGD(keras.optimizers.schedules.PolynomialDecay(1.0, 4, 0.0, cycle=True))",
        [1, 0.75, 0.5, 0.25, 0, 0.375, 0.25, 0.125, 0],
    ),
    (
        "linear warm-up", 2, "may be 0",
        "keras.optimizers.SGD(keras.optimizers.schedules.CosineDecay(0.0, 4, warmup_target=1.0, warmup_steps=4))",
        [0, 0.25, 0.5, 0.75, 1, 0.8536, 0.5, 0.1464],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("row", "column", "said", "lines", "expected"), SCHEDULES, ids=lambda value: str(value)[:30])
def test_schedules_at_their_edges(row: str, column: int, said: str, lines: str, expected: list[float]) -> None:
    assert said in cell(row, column)
    np.testing.assert_allclose(rates(lines, len(expected)), expected, atol=1.001e-4)


def test_defaults_of_the_page() -> None:
    """Adadelta's learning rates and where loss scales start, as printed by the frameworks."""
    for dialect, lines, rate in (
        ("torch", "torch.optim.Adadelta(p)", 1.0),
        ("keras", "keras.optimizers.Adadelta()", 0.001),
        ("tf1", "tf.compat.v1.train.AdadeltaOptimizer()", 0.001),
    ):
        assert parse_optimizer(lines).learning_rate == rate == float(cell("default lr of Adadelta", COLUMNS[dialect]))
    scalers = (
        (1, "s = torch.amp.GradScaler('cuda')\ntorch.optim.SGD(p, lr=0.1)", 65536.0),
        (2, "keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))", 32768.0),
    )
    for column, lines, scale in scalers:
        assert parse_optimizer(lines).loss_scale == scale == float(cell("starts at", column))
