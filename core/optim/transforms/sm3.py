"""SM3: one accumulator a row and a column instead of one a weight."""

from __future__ import annotations

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import PerVariable, State, StepContext, Transform
from core.optim.transforms.divisor import EPSILON


class Sm3Scaling(Transform):
    """s_i <- min of the accumulators that cover i, plus g_i²; u <- g/√(s + ε); each accumulator <- its largest s.

    With ``beta2`` below 1 it is an average: (1 - β₂) g² + β₂ min.
    """

    name = "sm3_scaling"
    label = "SM3 scaling"
    cause = "adaptive scaling"
    formula = "s ← g² + min(row, column),  u ← g / √(s + ε)"
    source = "Anil et al. 2019, arXiv:1901.11150 (SM3-II)"
    parameters = (
        Parameter("beta2", "β₂", 1.0, 0.9, 1.0, minimum=0.0, maximum=1.0, tooltip="1: sums; below: averages"),
        EPSILON,
    )
    beta2: float
    eps: float

    def init(self, weights: Array, layout: Layout) -> State:
        return {"accumulators": PerVariable(_zeros(shape, weights.dtype) for shape in layout.shapes)}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        result = np.empty_like(u)
        kept = PerVariable()
        share = 1.0 - self.beta2 if self.beta2 != 1.0 else 1.0
        for part, g, old in zip(ctx.layout.slices, ctx.layout.split(u), state["accumulators"], strict=True):
            if not g.size:
                kept.append(old)
                continue
            cover = old[0] if g.ndim == 0 else _smallest(old, g.ndim)
            s = share * g**2 + self.beta2 * cover
            scaled = np.where(s > 0, g * (1.0 / np.sqrt(s + self.eps)), np.zeros_like(g))
            result[part] = scaled.reshape(-1)
            kept.append(_largest(s))
        state["accumulators"] = kept
        return result


def _zeros(shape: tuple[int, ...], dtype: object) -> list[Array]:
    """One accumulator an axis; a number by itself has one."""
    return [np.zeros(length, dtype=dtype) for length in shape] if shape else [np.zeros((), dtype=dtype)]  # type: ignore[call-overload]


def _smallest(accumulators: list[Array], dimensions: int) -> Array:
    result: Array | None = None
    for axis, values in enumerate(accumulators):
        shaped = values.reshape([1] * axis + [-1] + [1] * (dimensions - axis - 1))
        result = shaped if result is None else np.minimum(result, shaped)
    assert result is not None
    return result


def _largest(s: Array) -> list[Array]:
    if s.ndim < 2:
        return [s]
    return [s.max(axis=tuple(i for i in range(s.ndim) if i != axis)) for axis in range(s.ndim)]
