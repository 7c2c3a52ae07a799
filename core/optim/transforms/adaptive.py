"""Second-moment scaling: dividing each component by the root of its average square."""

from __future__ import annotations

import math

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform

BETA2 = Parameter("beta2", "β₂", 0.999, 0.8, 0.99999, minimum=0.0, maximum=1.0, tooltip="memory of the average square")
EPSILON = Parameter("eps", "ε", 1e-8, 1e-12, 1e-1, "log", minimum=0.0, tooltip="added to the root")


class SecondMoment(Transform):
    """v <- β₂ v + (1 - β₂) g², u <- u / (√v + ε), g being what went into the first moment.

    Without the correction behind it the divisor is too small early on (v starts at zero).
    """

    name = "second_moment"
    label = "second-moment scaling"
    cause = "adaptive scaling"
    formula = "v ← β₂ v + (1 − β₂) g²,  u ← u / (√v + ε)"
    source = "Kingma and Ba 2015, arXiv:1412.6980"
    parameters = (BETA2, EPSILON)
    beta2: float
    eps: float

    def init(self, weights: Array, layout: Layout) -> State:
        return {"v": np.zeros_like(weights)}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        g = ctx.scratch.get("moment_input", u)
        v = state["v"] * self.beta2 + g * g * (1.0 - self.beta2)
        state["v"] = v
        root = np.sqrt(v)
        ctx.scratch["second_moment"] = (u, root)
        return u / (root + self.eps)


class SecondBiasCorrection(Transform):
    """u <- m̂ / (√v / √(1 - β₂ᵗ) + ε): the divisor corrected for its start at zero, ε outside (PyTorch, optax)."""

    name = "bias_correction_2"
    label = "bias correction 2"
    cause = "bias correction"
    formula = "u ← m̂ / (√v / √(1 − β₂ᵗ) + ε)"
    source = "Kingma and Ba 2015, section 3; torch.optim.Adam"
    parameters = (BETA2, EPSILON)
    beta2: float
    eps: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        found = ctx.scratch.get("second_moment")
        if found is None:
            return u
        numerator, root = found
        correction = math.sqrt(1.0 - self.beta2 ** (ctx.count + 1))
        ctx.figures["sqrt(1-beta2^t)"] = correction
        result: Array = numerator / (root / correction + self.eps)
        return result
