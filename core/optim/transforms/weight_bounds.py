"""Weights that lines of the training loop hold within bounds after each step."""

from __future__ import annotations

import math

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array
from core.optim.transform import State, StepContext, Transform


class ClipWeights(Transform):
    """w + u is moved into [low, high], behind the finished step (the weight clipping of Wasserstein GANs)."""

    name = "clip_weights"
    label = "weights clipped"
    cause = "own rule"
    formula = "w + u ← min(max(w + u, low), high)"
    source = "Arjovsky, Chintala and Bottou 2017, arXiv:1701.07875; p.data.clamp_(low, high)"
    parameters = (
        Parameter("low", "low", -0.01, -1.0, 0.0, infinite=True, tooltip="smallest weight"),
        Parameter("high", "high", 0.01, 0.0, 1.0, infinite=True, tooltip="largest weight"),
    )
    low: float
    high: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        moved = ctx.weights + u
        if self.low == -math.inf and self.high == math.inf:
            return u
        inside = np.clip(moved, self.low, self.high)
        if np.array_equal(inside, moved, equal_nan=True):
            return u
        ctx.weights = inside  # exactly the bound, which w + (bound - w) would miss by a rounding
        return np.zeros_like(u)
