"""Plain factors, weight decay added to the update, signs, and noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from core.declare import Parameter
from core.optim import draws
from core.optim.layout import Array, Layout
from core.optim.schedules.absolute import AbsoluteSchedule
from core.optim.transform import State, StepContext, Transform

COUNTED = {"k": 0}


class Scale(Transform):
    """u <- f u, f a number or a schedule (its value times f) that counts this transform's own steps."""

    name = "scale"
    label = "factor"
    cause = "learning rate"
    shows = ("factor",)
    formula = "u ← f · u"
    source = "optax.scale, optax.scale_by_schedule"
    parameters = (
        Parameter("factor", "f", 1.0, -2.0, 2.0, tooltip="factor"),
        Parameter(
            "cleared", "always 0", False, scale="switch", rare=True, tooltip="0 whatever came in, nan too (set_to_zero)"
        ),
    )
    factor: float
    cleared: bool

    def __init__(self, schedule: AbsoluteSchedule | None = None, **values: Any) -> None:
        self.schedule = schedule
        super().__init__(**values)

    def settings(self) -> dict[str, Any]:
        found = super().settings()
        return found if self.schedule is None else {**found, "schedule": self.schedule.settings()}

    def init(self, weights: Array, layout: Layout) -> State:
        return dict(COUNTED)

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        if self.cleared:
            return np.zeros_like(u)
        factor = self.factor
        if self.schedule is not None:
            factor *= self.schedule.at(state["k"])
            state["k"] += 1
            ctx.figures["factor"] = factor
        return u * factor


def named_factor(factor: float, label: str, formula: str = "") -> Scale:
    """A factor that lines of a training loop put on the loss or the gradient; it is no learning rate."""
    row = Scale(factor=factor)
    row.label, row.cause, row.formula = label, "own rule", formula or row.formula
    return row


class AddedDecay(Transform):
    """u <- u + λ w behind the gradient's own scaling: decoupled decay, multiplied by the learning rate afterwards.

    With a schedule λ is its value times ``weight_decay``.
    """

    name = "added_decay"
    label = "weight decay in the update"
    cause = "weight decay"
    shows = ("weight_decay",)
    formula = "u ← u + λ w"
    source = "Loshchilov and Hutter 2019, arXiv:1711.05101; optax.add_decayed_weights"
    parameters = (
        Parameter("weight_decay", "λ", 0.01, 1e-6, 1.0, "log", tooltip="strength, multiplied by the learning rate"),
    )
    weight_decay: float

    def __init__(self, schedule: AbsoluteSchedule | None = None, **values: Any) -> None:
        self.schedule = schedule
        super().__init__(**values)

    def settings(self) -> dict[str, Any]:
        found = super().settings()
        return found if self.schedule is None else {**found, "schedule": self.schedule.settings()}

    def init(self, weights: Array, layout: Layout) -> State:
        return dict(COUNTED)

    def strength(self, state: State, ctx: StepContext) -> float:
        """This step's λ."""
        if self.schedule is None:
            return self.weight_decay
        found = self.weight_decay * self.schedule.at(state["k"])
        state["k"] += 1
        ctx.figures["weight_decay"] = found
        return found

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        strength = self.strength(state, ctx)
        return u + ctx.weights * strength if strength else u


class StepDecay(AddedDecay):
    """u <- u - λ w on the finished step: decay that the learning rate does not touch."""

    name = "step_decay"
    label = "weight decay of the step"
    formula = "u ← u − λ w"
    source = "optax.add_decayed_weights behind the learning rate; optax.adafactor(weight_decay_rate)"
    parameters = (
        Parameter("weight_decay", "λ", 0.01, 1e-6, 1.0, "log", tooltip="share of the weight taken off each step"),
    )

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        strength = self.strength(state, ctx)
        return u - ctx.weights * strength if strength else u


class FromageShrink(Transform):
    """w + u <- (w + u) / √(1 + lr_t²): keeps the weights' norm from growing with steps at right angles to them."""

    name = "fromage_shrink"
    label = "Fromage shrink"
    cause = "weight decay"
    shows = ("s",)
    formula = "u ← s u + (s − 1) w,  s = 1/√(1 + lr_t²)"
    source = "Bernstein et al. 2020, arXiv:2002.03432 (Fromage)"

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        shrink = 1.0 / (1.0 + ctx.rate**2) ** 0.5
        ctx.figures["s"] = shrink
        return u * shrink + ctx.weights * (shrink - 1.0)


class Sign(Transform):
    """u <- sign(u): every component takes a step of the same length (0 where it is exactly 0)."""

    name = "sign"
    label = "sign"
    cause = "sign"
    formula = "u ← sign(u)"
    source = "Bernstein et al. 2018, arXiv:1802.04434 (signSGD)"

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        return np.sign(u)


class Noise(Transform):
    """u <- u + √(η / tᵞ) n, n standard normal: JAX's own numbers for the seed (but for their last bits).

    A dictionary of parameters is drawn for in the order of their names, as JAX does.
    """

    name = "noise"
    label = "gradient noise"
    cause = "noise"
    shows = ("deviation",)
    formula = "u ← u + √(η / tᵞ) · n"
    source = "Neelakantan et al. 2015, arXiv:1511.06807; optax.add_noise"
    parameters = (
        Parameter("eta", "η", 0.01, 1e-6, 1.0, "log", minimum=0.0, tooltip="variance of the noise at first"),
        Parameter("gamma", "γ", 0.55, 0.0, 1.0, tooltip="power with which the variance falls"),
        Parameter("seed", "seed", 0, 0, 1000, "integer", minimum=0, tooltip="start of the random numbers"),
    )
    eta: float
    gamma: float
    seed: int

    def init(self, weights: Array, layout: Layout) -> State:
        return {"k": 0, "key": draws.key_of(self.seed)}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        t = state["k"] = state["k"] + 1
        deviation = math.sqrt(self.eta / t**self.gamma)
        ctx.figures["deviation"] = deviation
        state["key"], sample = draws.split(state["key"], 2)
        noise = np.empty_like(u)
        for part, key in zip(ctx.layout.slices, draws.leaves(sample, ctx.layout), strict=True):
            noise[part] = draws.normal(key, part.stop - part.start, u.dtype)
        return u + noise * deviation
