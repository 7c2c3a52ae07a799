"""The learning rate and its schedule: where the update vector becomes a step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from core.declare import Parameter
from core.optim.dtypes import FLOAT64
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
        Parameter(
            "order",
            "order",
            "product",
            scale="choice",
            choices=("product", "numerator"),
            tooltip="product: lr · (a / b); numerator: (lr · a) / b, as Keras and TF1 round it",
        ),
    )
    learning_rate: float
    order: str

    def __init__(self, schedule: Schedule | None = None, **values: Any) -> None:
        self.schedule = schedule
        self._cached, self._factor = math.nan, np.array(math.nan)
        super().__init__(**values)

    @property
    def shares(self) -> bool:  # type: ignore[override]
        """A schedule that watches the loss has to remember it."""
        return self.schedule is not None and self.schedule.watches

    def rate(self, count: int, memory: State | None = None) -> float:
        """lr_t for the step after ``count`` applied ones; ``memory`` is that of a schedule that watches the loss."""
        if self.schedule is None:
            return self.learning_rate
        if memory is not None:
            return self.schedule.watched_rate(self.learning_rate, count, memory)
        return self.schedule.rate(self.learning_rate, count)

    def remember(self) -> State:
        return self.schedule.remember() if self.schedule is not None else {}

    def after_step(self, memory: State, contexts: Sequence[StepContext]) -> None:
        first = contexts[0]
        if self.schedule is not None and first.loss is not None and first.advances and not first.skipped:
            memory.update(self.schedule.observe(memory, self.learning_rate, first.loss))

    def settings(self) -> dict[str, Any]:
        found = super().settings()
        if self.schedule is not None:
            found["schedule"] = self.schedule.settings()
        return found

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        if self.schedule is not None:
            ctx.figures["lr_t"] = ctx.rate
        if self.order == "numerator":
            return numerator_first(u, ctx)
        rate = ctx.rate
        if u.dtype is not FLOAT64:
            result: Array = u * -rate
        else:
            if rate != self._cached:
                self._cached, self._factor = rate, np.array(-rate)
            result = u * self._factor
        ctx.scratch["before_rate"] = (u, result)
        return result

    def explain(self, figures: dict[str, float]) -> str:
        rate = figures.get("lr_t", self.learning_rate)
        text = f"u ← −{rate:.6g} · u"
        if self.schedule is None or math.isclose(rate, self.learning_rate):
            return text
        rule = self.schedule.formula.removeprefix("lr_t = ")
        return f"{text}   lr_t = {rule}, base lr = {self.learning_rate:.6g}"


def unscaled(u: Array, ctx: StepContext) -> Array:
    """What the learning rate was multiplied into when ``u`` is what it made of it, else -u (there is no rate)."""
    before = ctx.scratch.get("before_rate")
    if before is not None and before[1] is u:
        found: Array = before[0]
        return found
    return -u


def numerator_first(u: Array, ctx: StepContext) -> Array:
    """-lr_t u, multiplied into the numerator when u is a quotient; what came in is kept as 'before_rate'."""
    rate = -ctx.rate
    quotient = ctx.scratch.get("quotient")
    result: Array
    if quotient is not None and quotient[0] is u:
        _, numerator, up, down, more, divisor = quotient
        result = numerator * (rate * up / down) / (divisor if more == 1.0 else divisor * more)
    else:
        result = u * rate
    ctx.scratch["before_rate"] = (u, result)
    return result
