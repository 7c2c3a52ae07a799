"""Follow the regularised leader (FTRL-Proximal), row by row: shrinkage, adaptive step, L1 threshold, L2."""

from __future__ import annotations

import math

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform

SOURCE = "McMahan et al. 2013 (KDD), algorithm 1; keras.optimizers.Ftrl, tf.compat.v1.train.FtrlOptimizer"


class FtrlShrinkage(Transform):
    """u <- g + 2 s w: a penalty on the weights in the linear part only; the accumulator sees the plain gradient."""

    name = "ftrl_shrinkage"
    label = "L2 shrinkage"
    cause = "regularisation"
    formula = "u ← g + 2 s w"
    source = SOURCE
    parameters = (
        Parameter("shrinkage", "s", 0.0, 0.0, 1.0, minimum=0.0, tooltip="strength; not part of the accumulator"),
    )
    shrinkage: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        if not self.shrinkage:
            return u
        ctx.scratch["ftrl_gradient"] = u
        result: Array = u + ctx.weights * (2.0 * self.shrinkage)
        return result


class FtrlStep(Transform):
    """n' = n + g², z <- z + u - (n'^q - n^q)/lr w, w <- -z lr / n'^q: the minimum of all linear models so far.

    Stands behind the learning rate, which it needs by itself; it sets the weights, so u is 0 afterwards.
    """

    name = "ftrl_step"
    label = "FTRL step"
    cause = "adaptive scaling"
    formula = "n ← n + g²,  z ← z + g − (n^q − n_old^q)/lr_t · w,  w ← −z lr_t / n^q"
    source = SOURCE
    parameters = (
        Parameter("power", "−q", -0.5, -1.0, 0.0, maximum=0.0, tooltip="−0.5: rates fall as in Adagrad; 0: fixed"),
        Parameter("initial", "n₀", 0.1, 0.0, 1.0, minimum=0.0, tooltip="what the accumulator starts at"),
        Parameter(
            "guarded",
            "0 where z is nan",
            False,
            scale="switch",
            rare=True,
            tooltip="TF1 sets a weight to 0 when its z is not a number (after a rate of 0); Keras to nan",
        ),
    )
    power: float
    initial: float
    guarded: bool

    def init(self, weights: Array, layout: Layout) -> State:
        return {"n": np.full_like(weights, self.initial), "z": np.zeros_like(weights)}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        linear, stepped = ctx.scratch.get("before_rate", (None, None))
        if stepped is not u:
            linear = u / -ctx.rate
        gradient = ctx.scratch.get("ftrl_gradient", linear)
        n = state["n"] + gradient * gradient
        before, after = self.raised(state["n"]), self.raised(n)
        z = state["z"] + (linear - (after - before) / ctx.rate * ctx.weights)
        state["n"], state["z"] = n, z
        quadratic = after / ctx.rate
        if self.guarded:
            z = np.where(np.isnan(z), np.zeros_like(z), z)
        ctx.scratch["ftrl"] = (z, z, quadratic)
        ctx.weights = -z / quadratic
        return np.zeros_like(u)

    def raised(self, n: Array) -> Array:
        """n^q."""
        result: Array = np.sqrt(n) if self.power == -0.5 else n**-self.power
        return result


class FtrlL1(Transform):
    """w <- (clip(z, -l1, l1) - z) lr / n^q: weights whose linear part is within l1 are exactly 0."""

    name = "ftrl_l1"
    label = "L1 threshold"
    cause = "regularisation"
    formula = "w ← (clip(z, −λ₁, λ₁) − z) lr_t / n^q"
    source = SOURCE
    parameters = (Parameter("l1", "λ₁", 0.0, 0.0, 1.0, minimum=0.0, tooltip="strength of the penalty λ₁|w|"),)
    l1: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        found = ctx.scratch.get("ftrl")
        if found is None or not self.l1:
            return u
        z, _, quadratic = found
        left = z - np.clip(z, -self.l1, self.l1)
        ctx.scratch["ftrl"] = (z, left, quadratic)
        ctx.weights = -left / quadratic
        return u


class FtrlL2(Transform):
    """n^q / lr grows by 2 λ₂ + β/lr: weights are held back towards 0."""

    name = "ftrl_l2"
    label = "L2 in the divisor"
    cause = "regularisation"
    formula = "w ← (clip(z, −λ₁, λ₁) − z) / (n^q / lr_t + 2 λ₂ + β / lr_t)"
    source = SOURCE
    parameters = (
        Parameter("l2", "λ₂", 0.0, 0.0, 1.0, minimum=0.0, tooltip="strength of the penalty λ₂ w²"),
        Parameter("beta", "β", 0.0, 0.0, 2.0, minimum=0.0, tooltip="smooths the rate while n is small"),
    )
    l2: float
    beta: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        found = ctx.scratch.get("ftrl")
        if found is None or not (self.l2 or self.beta):
            return u
        _, left, quadratic = found
        # at a rate of 0 the frameworks divide by it: inf, and nan in the weights
        held = self.beta / (2.0 * ctx.rate) if ctx.rate else math.inf * self.beta
        ctx.weights = -left / (quadratic + 2.0 * (self.l2 + held))
        return u
