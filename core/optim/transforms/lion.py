"""Lion's two averages of one gradient: the direction comes from β₁, the memory from β₂."""

from __future__ import annotations

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform


class LionMoment(Transform):
    """u <- β₁ m + (1 - β₁) g, then m <- β₂ m + (1 - β₂) g; a sign stands behind it."""

    name = "lion_moment"
    label = "Lion's average"
    cause = "momentum"
    formula = "u ← β₁ m + (1 − β₁) g,  m ← β₂ m + (1 − β₂) g"
    source = "Chen et al. 2023, arXiv:2302.06675 (Lion)"
    parameters = (
        Parameter("beta1", "β₁", 0.9, 0.0, 0.9999, minimum=0.0, maximum=1.0, tooltip="share of the memory in the step"),
        Parameter("beta2", "β₂", 0.99, 0.0, 0.9999, minimum=0.0, maximum=1.0, tooltip="memory of the average"),
    )
    beta1: float
    beta2: float

    def init(self, weights: Array, layout: Layout) -> State:
        return {"m": np.zeros_like(weights)}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        m = state["m"]
        state["m"] = m * self.beta2 + u * (1.0 - self.beta2)
        result: Array = u * (1.0 - self.beta1) + m * self.beta1
        return result
