"""Schedule-free learning as Keras has it: x is the plain mean of all z."""

from __future__ import annotations

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform


class ScheduleFreeMean(Transform):
    """z <- z + u, x <- (1 - 1/t) x + z/t, w <- (1 - β) z + β x: the weights lie between z and its mean x.

    x is not stored: x = (w - (1 - β) z_old)/β, so weight decay, which acts on w before, reaches x alone.
    """

    name = "schedule_free_mean"
    label = "schedule-free mean"
    cause = "averaging"
    shows = ("1/t",)
    formula = "z ← z + u,  x ← (1 − 1/t) x + z/t,  w ← (1 − β) z + β x"
    source = "Defazio et al. 2024, arXiv:2405.15682; keras.optimizers.ScheduleFreeAdamW"
    parameters = (
        Parameter("beta1", "β", 0.9, 0.0, 0.999, minimum=0.0, maximum=1.0, open_minimum=True, tooltip="share of x"),
    )
    beta1: float

    def init(self, weights: Array, layout: Layout) -> State:
        return {"z": weights.copy()}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        beta, share = self.beta1, 1.0 / (ctx.count + 1)
        old = state["z"]
        z = old + u
        x = (ctx.weights - old * (1.0 - beta)) / beta
        x = x * (1.0 - share) + z * share
        state["z"] = z
        ctx.figures["1/t"] = share
        ctx.weights = z * (1.0 - beta) + x * beta
        return np.zeros_like(u)

    def average(self, weights: Array, state: State) -> Array:
        """x, the weights to evaluate and to keep, from those that are trained."""
        result: Array = (weights - state["z"] * (1.0 - self.beta1)) / self.beta1
        return result
