"""Steps that look at the loss itself: its curvature (Sophia) or its value (Polyak)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from core.declare import Parameter, SettingError
from core.optim import draws
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform
from core.optim.transforms.clip import norm_of


def hessian_diagonal(ctx: StepContext, owner: str) -> Array:
    """The diagonal of the Hessian of the loss at the step's weights, (size,).

    Exact when ``ctx.evaluate`` offers ``hessian_diagonal(weights)``; else by central differences of the gradient
    at two distances (Richardson), two gradients a weight and distance, with a relative error around 1e-9.
    """
    evaluate = ctx.evaluate
    if evaluate is None:
        raise SettingError(
            f"{owner} needs the curvature of the loss: take the step with minimize(loss, variables), "
            "a gradient alone does not tell it"
        )
    exact = getattr(evaluate, "hessian_diagonal", None)
    if exact is not None:
        return np.asarray(exact(ctx.start), dtype=ctx.start.dtype)
    start = ctx.start.astype(np.float64)
    result = np.empty_like(start)
    for i, w in enumerate(start):
        near = max(1.0, abs(w)) * 1e-3
        slopes = []
        for distance in (near, near / 2):
            up, down = start.copy(), start.copy()
            up[i], down[i] = w + distance, w - distance
            ahead, behind = evaluate(up.astype(ctx.start.dtype))[1], evaluate(down.astype(ctx.start.dtype))[1]
            slopes.append((float(ahead[i]) - float(behind[i])) / (up[i] - down[i]))
        result[i] = (4.0 * slopes[1] - slopes[0]) / 3.0
    return result.astype(ctx.start.dtype)


def hutchinson_diagonal(ctx: StepContext, owner: str, key: draws.Key) -> Array:
    """r · H r for random signs r, (size,): right on average, at the price of four gradients whatever the size."""
    evaluate = ctx.evaluate
    if evaluate is None:
        raise SettingError(f"{owner} needs the curvature of the loss: take the step with minimize(loss, variables)")
    r = np.empty_like(ctx.start)
    for part, own in zip(ctx.layout.slices, draws.leaves(key, ctx.layout), strict=True):
        r[part] = draws.signs(own, part.stop - part.start, ctx.start.dtype)
    near = 1e-3 * max(1.0, float(np.abs(ctx.start).max(initial=0.0)))
    slopes = []
    for distance in (near, near / 2):
        ahead, behind = evaluate(ctx.start + r * distance)[1], evaluate(ctx.start - r * distance)[1]
        slopes.append((ahead - behind) / (2.0 * distance))
    result: Array = (slopes[1] * 4.0 - slopes[0]) / 3.0 * r
    return result.astype(ctx.start.dtype, copy=False)


class CurvatureScaling(Transform):
    """u <- m̂ / max(γ h, ε), h an average of the Hessian's diagonal that is renewed every k steps, after the step.

    ``estimator`` 'diagonal' takes the diagonal itself, 'hutchinson' estimates it with random signs (optax's default,
    here with the signs JAX draws from key 0).
    """

    name = "curvature_scaling"
    label = "curvature scaling"
    cause = "adaptive scaling"
    formula = "u ← m̂ / max(γ h, ε);  every k steps h ← β₂ h + (1 − β₂) diag H"
    source = "Liu et al. 2023, arXiv:2305.14342 (Sophia)"
    parameters = (
        Parameter("beta2", "β₂", 0.99, 0.0, 0.9999, minimum=0.0, maximum=1.0, tooltip="memory of the curvature"),
        Parameter("gamma", "γ", 0.01, 1e-3, 1.0, "log", tooltip="share of the curvature that is divided by"),
        Parameter("eps", "ε", 1e-8, 1e-12, 1e-1, "log", minimum=0.0, tooltip="smallest divisor"),
        Parameter("update_interval", "k", 10, 1, 100, "integer", minimum=1, tooltip="steps between curvatures"),
        Parameter(
            "estimator",
            "diag H",
            "diagonal",
            scale="choice",
            choices=("diagonal", "hutchinson"),
            tooltip="the diagonal itself, or r · H r for random signs r",
        ),
    )
    beta2: float
    gamma: float
    eps: float
    update_interval: int
    estimator: str

    def init(self, weights: Array, layout: Layout) -> State:
        return {"h": np.zeros_like(weights), "key": draws.key_of(0)}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        ctx.scratch.pop("moment_input", None)
        h = state["h"]
        if ctx.count % self.update_interval == 0:
            if self.estimator == "hutchinson":
                state["key"], own = draws.split(state["key"], 2)
                diagonal = hutchinson_diagonal(ctx, "Sophia", own)
            else:
                diagonal = hessian_diagonal(ctx, "Sophia")
            state["h"] = h * self.beta2 + diagonal * (1.0 - self.beta2)
        result: Array = u / np.maximum(h * self.gamma, self.eps)
        return result


class PolyakStep(Transform):
    """u <- u min((f - f_min)/(‖u‖² + ε), max): the step that would reach f_min if the loss were its tangent."""

    name = "polyak_step"
    label = "Polyak step size"
    cause = "learning rate"
    shows = ("loss", "factor")
    formula = "u ← u · min((f − f_min) / (‖u‖² + ε), max)"
    source = "Polyak 1987; Loizou et al. 2021, arXiv:2002.10542; optax.polyak_sgd"
    parameters = (
        Parameter("max_learning_rate", "max", 1.0, 1e-4, 10.0, "log", minimum=0.0, tooltip="largest factor"),
        Parameter("f_min", "f_min", 0.0, -10.0, 10.0, tooltip="what the loss is at its minimum"),
        Parameter("eps", "ε", 0.0, 1e-12, 1.0, "log", minimum=0.0, tooltip="added to the squared norm"),
        Parameter(
            "variant",
            "variant",
            "sps",
            scale="choice",
            choices=("sps", "sps+"),
            tooltip="sps+ takes no step where the loss is below f_min; sps goes back up there",
        ),
    )
    couples = True
    max_learning_rate: float
    f_min: float
    eps: float
    variant: str

    def combine(self, updates: Sequence[Array], layouts: Sequence[Layout]) -> Any:
        return math.fsum(norm_of(u) ** 2 for u in updates) if len(updates) > 1 else norm_of(updates[0]) ** 2

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        if ctx.loss is None:
            raise SettingError(
                "the Polyak step needs the value of the loss: take the step with minimize(loss, variables), "
                "a gradient alone does not tell it"
            )
        gap = ctx.loss - self.f_min
        if self.variant == "sps+":
            gap = max(gap, 0.0)
        square = ctx.combined + self.eps
        factor = 0.0 if square <= np.finfo(np.float64).eps else min(gap / square, self.max_learning_rate)
        ctx.figures["loss"] = ctx.loss
        ctx.figures["factor"] = factor
        return u * factor
