"""Mask of frozen variables."""

from __future__ import annotations

import numpy as np

from core.optim.layout import Array
from core.optim.transform import State, StepContext, Transform


class FrozenMask(Transform):
    """u <- 0 for variables that are not trainable; their step ends here, no momentum or decay moves them."""

    name = "frozen_mask"
    label = "frozen variables"
    cause = "frozen variables"
    formula = "u ← 0 where frozen"
    source = "trainable=False (TensorFlow), requires_grad_(False) (PyTorch)"

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        if ctx.frozen:
            ctx.halted = True
            return np.zeros_like(u)
        return u
