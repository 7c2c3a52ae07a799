"""A moving average of the weights themselves, which may take their place every few steps."""

from __future__ import annotations

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform

STARTS = ("first step", "initial weights")


class WeightAverage(Transform):
    """a <- β a + (1 - β) w after each step; every ``overwrite`` steps w <- a (the row is zero in between).

    Keras starts from the weights after the first step, TF1's ExponentialMovingAverage from the initial ones. With
    ``warm`` β is at most (1 + t)/(10 + t) in step t (TF1's num_updates). ``repeats`` is the number of gradients
    accumulated for a step: Keras averages at each of them, the weights standing still.
    """

    name = "weight_average"
    label = "average of the weights"
    cause = "averaging"
    formula = "a ← β a + (1 − β) w,  w ← a every n steps"
    source = "Polyak and Juditsky 1992; Keras use_ema; tf.compat.v1.train.ExponentialMovingAverage"
    parameters = (
        Parameter("ema_momentum", "β", 0.99, 0.0, 0.9999, minimum=0.0, maximum=1.0, tooltip="memory of the average"),
        Parameter(
            "overwrite",
            "n",
            None,
            1,
            1000,
            "integer",
            minimum=1,
            optional=True,
            tooltip="steps after which the average replaces the weights; None: never",
        ),
        Parameter("start", "a₀", "first step", scale="choice", choices=STARTS, tooltip="what the average starts from"),
        Parameter("warm", "warm-up", False, scale="switch", tooltip="short memory at first: (1 + t)/(10 + t)"),
        Parameter("repeats", "m", 1, 1, 100, "integer", minimum=1, tooltip="averages a step (gradients accumulated)"),
    )
    ema_momentum: float
    overwrite: int | None
    start: str
    warm: bool
    repeats: int

    def init(self, weights: Array, layout: Layout) -> State:
        return {"average": weights.copy() if self.start == "initial weights" else None}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        average = state["average"]
        weights = ctx.weights + u
        if average is None:
            state["average"] = weights
        else:
            beta = min(self.ema_momentum, (2.0 + ctx.count) / (11.0 + ctx.count)) if self.warm else self.ema_momentum
            for _ in range(self.repeats - 1):
                average = average * beta + ctx.start * (1.0 - beta)
            state["average"] = average * beta + weights * (1.0 - beta)
        if self.overwrite is None or (ctx.count + 1) % self.overwrite:
            return u
        ctx.weights = state["average"]
        return np.zeros_like(u)

    def explain(self, figures: dict[str, float]) -> str:
        text = f"a ← {self.ema_momentum:g} a + {1.0 - self.ema_momentum:g} (w + u)"
        if self.warm:
            text = f"a ← β a + (1 − β) (w + u),  β = min({self.ema_momentum:g}, (1 + t)/(10 + t))"
        return f"{text},  w + u ← a every {self.overwrite} steps" if self.overwrite else f"{text}; w stays as it is"
