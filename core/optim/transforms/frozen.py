"""Frozen variables: those that are not trainable, and those that the code freezes by a rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.optim.layout import Array
from core.optim.mask import Mask
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


class FrozenPart(Transform):
    """The same for the variables ``mask`` picks; the optimizer keeps them in blocks of their own."""

    name = "frozen_part"
    label = "frozen variables"
    cause = "frozen variables"
    formula = "u ← 0 where frozen"
    source = "requires_grad = False (PyTorch), layer.trainable = False (Keras)"

    def __init__(self, mask: Mask, **values: Any) -> None:
        self.mask = mask
        super().__init__(**values)

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "mask": self.mask.settings()}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        if ctx.frozen:
            ctx.halted = True
            return np.zeros_like(u)
        return u

    def explain(self, figures: dict[str, float]) -> str:
        return f"{self.formula}: {self.mask.text}"
