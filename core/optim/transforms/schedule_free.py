"""Schedule-free learning: the gradient is taken between the base iterate z and its average x."""

from __future__ import annotations

import math
from typing import Any

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.schedules.base import Schedule
from core.optim.transform import State, StepContext, Transform


class ScheduleFree(Transform):
    """z <- z + u; x <- (1 - c) x + c z with c by the share of lr^p; w <- β x + (1 - β) z.

    x is not stored: x = (w - (1 - β) z)/β. ``learning_rate`` None takes the chain's; with a schedule, the weight of
    a step reads it one step ahead, as optax does.
    """

    name = "schedule_free"
    label = "schedule-free averaging"
    cause = "averaging"
    shows = ("c",)
    formula = "z ← z + u,  x ← (1 − c) x + c z,  w ← β x + (1 − β) z"
    source = "Defazio et al. 2024, arXiv:2405.15682; optax.contrib.schedule_free"
    parameters = (
        Parameter("b1", "β", 0.9, 0.0, 0.999, minimum=0.0, maximum=1.0, open_minimum=True, tooltip="share of x in w"),
        Parameter("weight_lr_power", "p", 2.0, 0.0, 4.0, tooltip="power of the learning rate in the weights"),
        Parameter(
            "learning_rate", "lr", None, 1e-5, 1.0, "log", optional=True, tooltip="None: the chain's learning rate"
        ),
    )
    b1: float
    weight_lr_power: float
    learning_rate: float | None

    def __init__(self, schedule: Schedule | None = None, **values: Any) -> None:
        self.schedule = schedule
        super().__init__(**values)

    def settings(self) -> dict[str, Any]:
        found = super().settings()
        return found if self.schedule is None else {**found, "schedule": self.schedule.settings()}

    def init(self, weights: Array, layout: Layout) -> State:
        return {"z": weights, "weight_sum": 0.0, "max_lr": 0.0, "k": 1}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        rate = ctx.base_rate if self.learning_rate is None else self.learning_rate
        if self.schedule is not None:
            rate = self.schedule.rate(rate, state["k"])
        largest = max(state["max_lr"], rate)
        weight = largest**self.weight_lr_power
        total = state["weight_sum"] + weight
        c = weight / total if total else 0.0
        if math.isnan(weight) or math.isnan(total):
            c = math.nan
        state["max_lr"], state["weight_sum"], state["k"] = largest, total, state["k"] + 1
        ctx.figures["c"] = c
        start = ctx.start
        if ctx.weights is not start:
            u = (ctx.weights - start) + u
            ctx.weights = start
        old = state["z"]
        z = old + u
        state["z"] = z
        x = self.average(start, old) * (1.0 - c) + z * c
        result: Array = (x * self.b1 + z * (1.0 - self.b1)) - start
        return result

    def average(self, weights: Array, z: Array) -> Array:
        """x, the weights to evaluate and to keep, from those that are trained."""
        result: Array = (weights - z * (1.0 - self.b1)) / self.b1
        return result
