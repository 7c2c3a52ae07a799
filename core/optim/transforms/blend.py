"""Muon's Nesterov form: the momentum average blended with the gradient."""

from __future__ import annotations

from core.declare import Parameter
from core.optim.layout import Array
from core.optim.transform import State, StepContext, Transform


class NesterovBlend(Transform):
    """u <- (1 - μ) g + μ m, m being the average that stands in front. Looks one step ahead."""

    name = "nesterov_blend"
    label = "Nesterov look-ahead"
    cause = "momentum"
    formula = "u ← (1 − μ) g + μ m"
    source = "Jordan et al. 2024 (Muon); torch.optim.Muon(nesterov=True)"
    parameters = (
        Parameter("momentum", "μ", 0.95, 0.0, 0.999, minimum=0.0, maximum=1.0, tooltip="share of the average"),
    )
    momentum: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        m, g = ctx.scratch.get("first_moment"), ctx.scratch.get("moment_input")
        if m is None or g is None:
            return u
        result: Array = g + (m - g) * self.momentum
        return result
