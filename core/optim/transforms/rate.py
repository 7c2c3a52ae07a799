"""The learning rate and its schedule: where the update vector becomes a step."""

from __future__ import annotations

import math
from typing import Any

from core.declare import Parameter
from core.optim.layout import Array
from core.optim.schedules import Schedule
from core.optim.transform import State, StepContext, Transform


class LearningRate(Transform):
    """u <- -lr_t u, with lr_t from the schedule (or the base rate when there is none).

    The schedule reads the number of steps already applied, so a skipped step does not advance it.
    """

    name = "learning_rate"
    label = "learning rate"
    cause = "learning rate"
    formula = "u ← −lr_t · u"
    source = "Robbins and Monro 1951"
    parameters = (
        Parameter(
            "learning_rate", "lr", 0.01, 1e-5, 1.0, "log", minimum=0.0, tooltip="base learning rate before the schedule"
        ),
    )
    learning_rate: float

    def __init__(self, schedule: Schedule | None = None, **values: Any) -> None:
        self.schedule = schedule
        super().__init__(**values)

    def rate(self, count: int) -> float:
        """lr_t for the step after ``count`` applied ones."""
        return self.learning_rate if self.schedule is None else self.schedule.rate(self.learning_rate, count)

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        if self.schedule is not None:
            ctx.figures["lr_t"] = ctx.rate
        return u * -ctx.rate

    def explain(self, figures: dict[str, float]) -> str:
        rate = figures.get("lr_t", self.learning_rate)
        text = f"u ← −{rate:.6g} · u"
        if self.schedule is None or math.isclose(rate, self.learning_rate):
            return text
        return f"{text}   lr_t = {self.schedule.formula}, base lr = {self.learning_rate:.6g}"
