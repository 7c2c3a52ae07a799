"""Random chains of any rows: their optax code takes the same steps, or there is a reason why there is none."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from core.declare import Parameter, SettingError
from core.optim import Chain, NotRepresentable, Optimizer, emit_optimizer, parse_optimizer
from core.optim.layout import Array, Layout
from core.optim.mask import Mask
from core.optim.transform import Transform
from core.optim.transforms import TRANSFORMS
from core.optim.transforms.nested import Masked
from core.optim.transforms.rate import LearningRate

LAYOUT = Layout(["b", "w"], [(2,), (3, 2)])
FAMILIES = (
    ("first_moment", "bias_correction_1", "second_moment", "bias_correction_2"),
    ("first_moment", "bias_correction_1", "nesterov_moment", "second_moment", "bias_correction_2"),
    ("first_moment", "bias_correction_1", "belief_moment", "bias_correction_2"),
    ("momentum", "nesterov"),
    ("lion_moment", "sign"),
    ("second_moment", "centred_second_moment"),
    ("second_moment", "accumulated_steps"),
)
"""Rows that mean something together; by themselves chance would hardly ever put them in order."""


def kinds() -> list[type[Transform]]:
    found = []
    for kind in TRANSFORMS.values():
        try:
            kind()
        except (TypeError, SettingError):
            continue
        if kind.name not in ("rounding", "learning_rate", "master_weights", "frozen_mask"):
            found.append(kind)
    return found


KINDS = kinds()


def value(parameter: Parameter, chance: random.Random) -> Any:
    if parameter.scale == "switch":
        return chance.random() < 0.5
    if parameter.scale == "choice":
        return chance.choice(parameter.choices)
    if parameter.scale in ("list", "integer"):
        return parameter.default
    return chance.uniform(max(parameter.low, parameter.minimum), min(parameter.high, parameter.maximum))


def family(chance: random.Random) -> list[Transform]:
    shared = {"beta1": chance.choice([0.5, 0.9]), "beta2": chance.choice([0.9, 0.99]), "eps": 1e-3}
    shared["rho"] = shared["beta2"]
    rows = []
    for name in chance.choice(FAMILIES):
        kind = TRANSFORMS[name]
        values: dict[str, Any] = {p.key: shared[p.key] for p in kind.parameters if p.key in shared}
        for parameter in kind.parameters:
            if parameter.key in ("rule", "order") and chance.random() < 0.3:
                values[parameter.key] = chance.choice(parameter.choices)
        rows.append(kind(**values))
    return rows


def some_rows(chance: random.Random) -> list[Transform]:
    rows: list[Transform] = []
    for _ in range(chance.randrange(4)):
        if chance.random() < 0.4:
            rows += family(chance)
        else:
            kind = chance.choice(KINDS)
            try:
                rows.append(kind(**{p.key: value(p, chance) for p in kind.parameters if chance.random() < 0.5}))
            except SettingError:
                continue
        if chance.random() < 0.1:
            rows[-1] = Masked(rows[-1], Mask(ndim=(">", 1)))
        if chance.random() < 0.05:
            rows[-1].enabled = False
    if chance.random() < 0.9 or not rows:
        rows.insert(chance.randrange(len(rows) + 1), LearningRate(learning_rate=chance.choice([0.1, 0.01])))
    return rows


def evaluate(weights: Array) -> tuple[float, Array]:
    return float(np.sum(weights**2 + weights**4)), 2 * weights + 4 * weights**3


def step(optimizer: Optimizer, weights: Array) -> Array:
    loss, gradient = evaluate(weights)
    return optimizer.step_flat(weights, gradient, LAYOUT, loss=loss, evaluate=evaluate)[1]


@pytest.mark.parametrize("seed", range(5))
def test_written_chains_take_the_same_steps(seed: int) -> None:
    chance = random.Random(seed)
    written = 0
    for _ in range(70):
        try:
            optimizer = Optimizer(Chain(some_rows(chance)))
            text = emit_optimizer(optimizer, "optax")
        except NotRepresentable as reason:
            assert str(reason)
            continue
        except SettingError:
            # rows that have no place in one chain (two learning rates in one of them)
            continue
        again = parse_optimizer(text, "optax")
        written += 1
        a = b = np.random.default_rng(seed).normal(size=8)
        with np.errstate(all="ignore"):
            for _ in range(4):
                a, b = step(optimizer, a), step(again, b)
                if not np.isfinite(a).all() or np.abs(a).max() > 1e3:
                    break
                np.testing.assert_allclose(b, a, rtol=1e-7, atol=1e-9, err_msg=f"{optimizer.chain.transforms}\n{text}")
    assert written > 10
