"""Adafactor's second moment: row and column averages of g² instead of one number a weight."""

from __future__ import annotations

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import PerVariable, State, StepContext, Transform


def factored_axes(shape: tuple[int, ...], factored: bool, least: int) -> tuple[int, int] | None:
    """(second largest axis, largest axis), or None when the variable is not factored."""
    if not factored or len(shape) < 2:
        return None
    order = np.argsort(shape)
    return (int(order[-2]), int(order[-1])) if shape[order[-2]] >= least else None


class FactoredMoment(Transform):
    """R, C <- averages of g² + ε over rows and columns, u <- g / √(R C / mean R); small variables keep a full v.

    The memory of the averages grows: 1 - t^(-decay_rate), computed in float32 as optax does.
    """

    name = "factored_moment"
    label = "factored second moment"
    cause = "adaptive scaling"
    shows = ("memory",)
    formula = "R, C ← row and column averages of g² + ε,  u ← g / √(R C / mean R)"
    source = "Shazeer and Stern 2018, arXiv:1804.04235; optax.scale_by_factored_rms"
    parameters = (
        Parameter("factored", "R C", True, scale="switch", tooltip="off: a full second moment for every variable"),
        Parameter("decay_rate", "c", 0.8, 0.1, 1.0, tooltip="power of t in the memory 1 − t^(−c)"),
        Parameter("step_offset", "t₀", 0, 0, 1000, "integer", tooltip="steps not counted (fine-tuning)"),
        Parameter("least", "n_min", 128, 1, 1024, "integer", tooltip="smallest second-largest side that is factored"),
        Parameter("eps", "ε", 1e-30, 1e-38, 1e-3, "log", minimum=0.0, tooltip="added to the squared gradient"),
    )
    factored: bool
    decay_rate: float
    step_offset: int
    least: int
    eps: float

    def init(self, weights: Array, layout: Layout) -> State:
        kept = PerVariable()
        for shape in layout.shapes:
            axes = factored_axes(shape, self.factored, self.least)
            if axes is None:
                kept.append((np.zeros(shape, dtype=weights.dtype),))
            else:
                without = [tuple(n for i, n in enumerate(shape) if i != axis) for axis in (axes[1], axes[0])]
                kept.append(tuple(np.zeros(part, dtype=weights.dtype) for part in without))
        return {"averages": kept}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        t = np.float32(ctx.count - self.step_offset + 1)
        memory = np.float32(1.0) - t ** np.float32(-self.decay_rate)
        keep, share = float(memory), float(np.float32(1.0) - memory)
        ctx.figures["memory"] = keep
        result = np.empty_like(u)
        averages = PerVariable()
        for part, g, old in zip(ctx.layout.slices, ctx.layout.split(u), state["averages"], strict=True):
            if not g.size:
                averages.append(old)
                continue
            square = g * g + self.eps
            axes = factored_axes(g.shape, self.factored, self.least)
            if axes is None:
                v = old[0] * keep + square * share
                averages.append((v,))
                scaled = g * v**-0.5
            else:
                low, high = axes
                rows = old[0] * keep + square.mean(axis=high) * share
                columns = old[1] * keep + square.mean(axis=low) * share
                averages.append((rows, columns))
                mean = rows.mean(axis=low - 1 if low > high else low, keepdims=True)
                row_factor = np.expand_dims((rows / mean) ** -0.5, axis=high)
                scaled = g * row_factor * np.expand_dims(columns**-0.5, axis=low)
            result[part] = scaled.reshape(-1)
        state["averages"] = averages
        return result
