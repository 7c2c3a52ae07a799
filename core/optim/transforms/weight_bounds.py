"""Weights that lines of the training loop hold within bounds after each step."""

from __future__ import annotations

import math

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array
from core.optim.transform import State, StepContext, Transform

EPSILON = 1e-7
"""Keras adds it to norms."""


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


class NormBounds(Transform):
    """Behind the finished step each column of w + u is scaled until its norm lies in [low, high] (Keras' constraints).

    ``share`` is how much of the way it goes; Keras divides by the norm + 1e-7, so that a column within the bounds
    shrinks by that as well. A column is what enters one unit: all along the first axis.
    """

    name = "norm_bounds"
    label = "norms of weights bounded"
    cause = "own rule"
    formula = "w_j ← (w_j + u_j) · ((1 − r) n + r min(max(n, low), high)) / (n + ε),  n = ‖w_j + u_j‖"
    source = "Srivastava et al. 2014, JMLR 15; keras.constraints.MaxNorm, UnitNorm, MinMaxNorm"
    parameters = (
        Parameter("low", "low", 0.0, 0.0, 5.0, minimum=0.0, tooltip="smallest norm of a column"),
        Parameter("high", "high", 2.0, 0.0, 5.0, minimum=0.0, infinite=True, tooltip="largest norm of a column"),
        Parameter("share", "r", 1.0, 0.0, 1.0, minimum=0.0, maximum=1.0, tooltip="part of the way that is gone"),
    )
    low: float
    high: float
    share: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        moved = ctx.weights + u
        bounded = moved.copy()
        for part, w in zip(ctx.layout.slices, ctx.layout.split(moved), strict=True):
            norms = np.sqrt(np.sum(np.square(w), axis=0 if w.ndim else None, keepdims=True))
            wanted = np.clip(norms, self.low, self.high)
            if self.share != 1.0:
                wanted = self.share * wanted + (1.0 - self.share) * norms
            bounded[part] = (w * (wanted / (EPSILON + norms))).reshape(-1)
        ctx.weights = bounded
        return np.zeros_like(u)
