"""A gradient that the training loop throws away before it is used."""

from __future__ import annotations

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array
from core.optim.transform import State, StepContext, Transform


class DroppedGradient(Transform):
    """u <- 0: zero_grad stands between backward and step.

    With ``to_none`` the gradient is None then, and the variable takes no part; else it is zero, and momentum and
    decay still move the weight.
    """

    name = "dropped_gradient"
    label = "zero_grad before the step"
    cause = "own rule"
    formula = "u ← 0"
    source = "optimizer.zero_grad() between backward() and step() (PyTorch)"
    parameters = (
        Parameter("to_none", "None", True, scale="switch", tooltip="set_to_none: no step at all; off: a gradient of 0"),
    )
    to_none: bool

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        if self.to_none:
            ctx.halted = True
        return np.zeros_like(u)
