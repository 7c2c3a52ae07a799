"""Adafactor as Keras has it: row and column averages over the last two axes, and a step that shrinks with time."""

from __future__ import annotations

import math

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import PerVariable, State, StepContext, Transform


class RowColumnMoment(Transform):
    """R, C <- averages of g² + ε over the last axis and the one before, u <- g / √(R C / mean R); vectors keep a v.

    The memory of the averages grows: 1 - t^c.
    """

    name = "row_column_moment"
    label = "factored second moment"
    cause = "adaptive scaling"
    shows = ("memory",)
    formula = "R, C ← row and column averages of g² + ε,  u ← g / √(R C / mean R)"
    source = "Shazeer and Stern 2018, arXiv:1804.04235; keras.optimizers.Adafactor"
    parameters = (
        Parameter("beta2_decay", "c", -0.8, -1.0, -0.1, maximum=0.0, tooltip="power of t in the memory 1 − t^c"),
        Parameter("eps", "ε", 1e-30, 1e-38, 1e-3, "log", minimum=0.0, tooltip="added to the squared gradient"),
    )
    beta2_decay: float
    eps: float

    def init(self, weights: Array, layout: Layout) -> State:
        kept = PerVariable()
        for shape in layout.shapes:
            parts = (shape,) if len(shape) < 2 else (shape[:-1], (*shape[:-2], shape[-1]))
            kept.append(tuple(np.zeros(part, dtype=weights.dtype) for part in parts))
        return {"averages": kept}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        memory = 1.0 - float(ctx.count + 1) ** self.beta2_decay
        ctx.figures["memory"] = memory
        result = np.empty_like(u)
        averages = PerVariable()
        for part, g, old in zip(ctx.layout.slices, ctx.layout.split(u), state["averages"], strict=True):
            if not g.size:
                averages.append(old)
                continue
            square = g * g + self.eps
            if g.ndim < 2:
                v = old[0] * memory + square * (1.0 - memory)
                averages.append((v,))
            else:
                rows = old[0] * memory + square.mean(axis=-1) * (1.0 - memory)
                columns = old[1] * memory + square.mean(axis=-2) * (1.0 - memory)
                averages.append((rows, columns))
                v = (rows / rows.mean(axis=-1, keepdims=True))[..., None] * columns[..., None, :]
            result[part] = (g / np.sqrt(v)).reshape(-1)
        state["averages"] = averages
        return result


class RelativeStep(Transform):
    """u <- u min(1, 1/(√t lr_t)): the learning rate is never above 1/√t. Stands behind the learning rate."""

    name = "relative_step"
    label = "relative step"
    cause = "learning rate"
    shows = ("rho",)
    formula = "u ← u · min(lr_t, 1/√t) / lr_t"
    source = "Shazeer and Stern 2018, arXiv:1804.04235; keras.optimizers.Adafactor"

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        limit = 1.0 / math.sqrt(ctx.count + 1)
        ctx.figures["rho"] = min(ctx.rate, limit)
        return u if ctx.rate <= limit else u * (limit / ctx.rate)


class StepWarmup(Transform):
    """u <- u min(t/W, 1): the first W steps grow in a straight line. Stands behind the learning rate."""

    name = "step_warmup"
    label = "warm-up"
    cause = "learning rate"
    formula = "u ← u · min(t/W, 1)"
    source = "keras.optimizers.ScheduleFreeAdamW(warmup_steps)"
    parameters = (Parameter("steps", "W", 0, 0, 1000, "integer", minimum=0, tooltip="steps until the full rate"),)
    steps: int

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        share = (ctx.count + 1) / self.steps if self.steps else 1.0
        return u if share >= 1.0 else u * share
