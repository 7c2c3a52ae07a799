"""The same lines run by Keras itself (extra 'bench', on JAX): 100 steps agree, from the line and from what is emitted.

Lines of the other dialects are emitted as Keras first: what Keras then does is what the original line does.
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any

import numpy as np
import pytest

from core.optim import NotRepresentable, Optimizer, emit_optimizer, parse_optimizer
from core.optim.layout import Array, Layout

jax = pytest.importorskip("jax", reason="needs the extra 'bench': jax is not installed")
if importlib.util.find_spec("keras") is None:
    pytest.skip("needs the extra 'bench': keras is not installed", allow_module_level=True)
os.environ["KERAS_BACKEND"] = "jax"
keras = pytest.importorskip("keras", reason="needs the extra 'bench': keras is not installed")

SHAPES: dict[str, tuple[int, ...]] = {"bias": (2,), "kernel": (3, 2), "table": (2, 2, 2)}
LAYOUT = Layout(list(SHAPES), list(SHAPES.values()))
STEPS = 100
K = "keras.optimizers."
S = "keras.optimizers.schedules."
LINES = [
    f"{K}SGD(0.02)",
    f"{K}SGD(0.02, momentum=0.9, nesterov=True, weight_decay=0.01)",
    f"{K}SGD({S}ExponentialDecay(0.05, 7, 0.8, staircase=True), momentum=0.5)",
    f"{K}SGD({S}InverseTimeDecay(0.05, 9, 0.5))",
    f"{K}SGD({S}PolynomialDecay(0.05, 20, 0.001, power=2.0), clipnorm=0.5)",
    f"{K}SGD({S}PiecewiseConstantDecay([10, 30], [0.05, 0.02, 0.005]), global_clipnorm=0.7)",
    f"{K}SGD({S}CosineDecay(0.0, 60, alpha=0.1, warmup_target=0.05, warmup_steps=10))",
    f"{K}SGD({S}CosineDecayRestarts(0.05, 15, t_mul=2.0, m_mul=0.8, alpha=0.01), clipvalue=0.3)",
    f"{K}RMSprop(0.005, rho=0.8, momentum=0.5, centered=True, epsilon=1e-4)",
    f"{K}Adagrad(0.05, initial_accumulator_value=0.2)",
    f"{K}Adadelta(0.8, rho=0.9)",
    f"{K}Adam(0.01, beta_1=0.8, amsgrad=True)",
    f"{K}Adam({S}CosineDecay(0.02, 50), gradient_accumulation_steps=3, clipnorm=1.0)",
    f"{K}AdamW(0.01, weight_decay=0.1, use_ema=True, ema_momentum=0.9)",
    f"{K}AdamW(0.01, use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=7)",
    f"{K}Adamax(0.01, beta_2=0.95)",
    f"{K}Nadam(0.01)",
    f"{K}Ftrl(0.05, l1_regularization_strength=0.01, l2_regularization_strength=0.02, beta=0.1)",
    f"{K}Lion(0.003, weight_decay=0.1)",
    f"{K}Lamb(0.01)",
    f"{K}Adafactor(0.05, relative_step=False)",
    f"{K}Muon(0.01)",
    f"{K}ScheduleFreeAdamW(0.01, warmup_steps=5)",
    f"{K}LossScaleOptimizer({K}SGD(0.02, momentum=0.9), initial_scale=8.0, dynamic_growth_steps=11)",
    f"{K}Adam(0.01, loss_scale_factor=64.0)",
    f"optimizer = {K}AdamW(0.01, weight_decay=0.2)\noptimizer.exclude_from_weight_decay(var_names=['bias'])",
]
TRANSLATED = [
    "torch.optim.SGD(params, lr=0.02, momentum=0.9, nesterov=True)",
    "torch.optim.AdamW(params, lr=0.01, eps=0, weight_decay=0.1)",
    "torch.optim.Adadelta(params, lr=0.7)",
    "optimizer = torch.optim.SGD(params, lr=0.05)\ntorch.optim.lr_scheduler.StepLR(optimizer, 20, 0.5)",
    "tf.compat.v1.train.AdamOptimizer(0.01)",
    "tf.compat.v1.train.MomentumOptimizer(0.02, 0.9)",
    "tf.compat.v1.train.FtrlOptimizer(0.05, l1_regularization_strength=0.02)",
    "optax.sgd(optax.cosine_decay_schedule(0.05, 60), momentum=None)",
    "optax.lion(0.003, weight_decay=0.1)",
    "optax.adagrad(0.05)",
    "optax.rmsprop(0.005, momentum=0.5)",
    "optax.chain(optax.clip_by_global_norm(0.5), optax.sgd(0.02, momentum=0.9))",
]
SINGLE = ("Schedule", "schedules", "ScheduleFree", "Nadam", "Muon", "Adafactor", "Lamb", "LossScale")
"""What Keras works out in float32 whatever the variables are: rates of schedules, powers of betas."""


def start() -> Array:
    return np.random.default_rng(11).normal(size=LAYOUT.size)


def gradient(weights: Array) -> Array:
    """A bent bowl: the same bits go to both optimizers."""
    off = weights - np.random.default_rng(3).normal(size=LAYOUT.size)
    return off + off**3


def ours(optimizer: Optimizer, steps: int) -> list[Array]:
    weights, path = start(), []
    for _ in range(steps):
        _, weights = optimizer.step_flat(weights, gradient(weights), LAYOUT, loss=0.0)
        path.append(weights)
    return path


def theirs(text: str, steps: int) -> list[Array]:
    """The lines executed, and ``steps`` gradients applied to variables in float64."""
    lines = text.split("\n")
    if not any(line.startswith("optimizer =") for line in lines):
        at = next(i for i, line in enumerate(lines) if line.startswith("keras.optimizers."))
        lines[at] = f"optimizer = {lines[at]}"
    names: dict[str, Any] = {"keras": keras}
    with jax.enable_x64(True):
        variables = [
            keras.Variable(part.copy(), dtype="float64", name=name)
            for name, part in zip(SHAPES, LAYOUT.split(start()), strict=True)
        ]
        setup, clips = (
            [line for line in lines if "gradients" not in line],
            [line for line in lines if "gradients" in line],
        )
        assert not clips, "clipping lines are TensorFlow's: Keras' own arguments are run here"
        exec("\n".join(setup), names)
        optimizer, path = names["optimizer"], []
        optimizer.build(variables)
        step = jax.jit(optimizer.stateless_apply)
        values, state = [one.value for one in variables], [one.value for one in optimizer.variables]
        for _ in range(steps):
            weights = np.concatenate([np.asarray(value).reshape(-1) for value in values])
            scale = 1.0
            if hasattr(optimizer, "dynamic_scale"):
                places = [one.path for one in optimizer.variables]
                scale = float(state[places.index(optimizer.dynamic_scale.path)])
            elif optimizer.loss_scale_factor is not None:
                scale = optimizer.loss_scale_factor
            parts = [jax.numpy.asarray(part * scale) for part in LAYOUT.split(gradient(weights))]
            values, state = step(state, parts, values)
            path.append(np.concatenate([np.asarray(value).reshape(-1) for value in values]))
    return path


@pytest.fixture(autouse=True)
def _float64() -> Any:
    before = keras.config.floatx()
    keras.config.set_floatx("float64")
    yield
    keras.config.set_floatx(before)


def near(text: str) -> dict[str, float]:
    return {"rtol": 2e-4, "atol": 2e-5} if any(word in text for word in SINGLE) else {"rtol": 1e-9, "atol": 1e-11}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", LINES)
def test_a_hundred_steps_agree(text: str) -> None:
    optimizer = parse_optimizer(text)
    emitted = emit_optimizer(optimizer, "keras")
    assert parse_optimizer(emitted).settings() == optimizer.settings(), emitted
    expected = theirs(text, STEPS)
    for k, (own, other) in enumerate(zip(ours(optimizer, STEPS), expected, strict=True)):
        np.testing.assert_allclose(own, other, **near(text), err_msg=f"step {k + 1} of {text}")
    again = theirs(emitted, 12)
    np.testing.assert_allclose(again[-1], expected[11], rtol=1e-12, atol=1e-14, err_msg=emitted)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", TRANSLATED)
def test_lines_of_other_dialects_do_the_same_in_keras(text: str) -> None:
    optimizer = parse_optimizer(text)
    try:
        emitted = emit_optimizer(optimizer, "keras")
    except NotRepresentable as reason:
        pytest.fail(f"{text} is within Keras: {reason}")
    if "gradients" in emitted:
        limit = emitted.split("clip_by_global_norm(gradients, ")[1].split(")")[0]
        emitted = emitted.split("\n")[-1].replace(")", f", global_clipnorm={limit})")
    for k, (own, other) in enumerate(zip(ours(optimizer, STEPS), theirs(emitted, STEPS), strict=True)):
        np.testing.assert_allclose(own, other, **near(emitted), err_msg=f"step {k + 1} of {emitted}")
