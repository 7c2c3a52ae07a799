"""Rprop: steps of a length of their own, from the signs of the gradient alone; one row, as it cannot be taken apart."""

from __future__ import annotations

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform
from core.optim.transforms.rate import unscaled


class Rprop(Transform):
    """Δ <- Δ η⁺ where the sign stayed, Δ η⁻ (and no step) where it turned; u <- -sign(g) Δ.

    Stands behind the learning rate, which is Δ at first and does not matter later. Whether the sign stayed is read
    from the product of two gradients, as PyTorch does: where that is too small to be told from 0 Δ stays.
    """

    name = "rprop"
    label = "Rprop"
    cause = "own rule"
    formula = "Δ ← clip(Δ · (η⁺ | 1 | η⁻), Δ_min, Δ_max),  u ← −sign(g) Δ"
    source = "Riedmiller and Braun 1993; torch.optim.Rprop"
    parameters = (
        Parameter("eta_minus", "η⁻", 0.5, 0.1, 0.9, minimum=0.0, maximum=1.0, tooltip="where the sign turned"),
        Parameter("eta_plus", "η⁺", 1.2, 1.0, 2.0, minimum=1.0, tooltip="where the sign stayed"),
        Parameter("step_min", "Δ_min", 1e-6, 1e-9, 1e-2, "log", minimum=0.0, tooltip="shortest step"),
        Parameter("step_max", "Δ_max", 50.0, 1e-2, 100.0, "log", minimum=0.0, tooltip="longest step"),
    )
    eta_minus: float
    eta_plus: float
    step_min: float
    step_max: float

    def init(self, weights: Array, layout: Layout) -> State:
        return {"previous": np.zeros_like(weights), "step": None}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        step = state["step"]
        if step is None:
            step = np.full_like(u, ctx.rate)
        g = unscaled(u, ctx)
        product = g * state["previous"]
        grown, shrunk = self.eta_plus, self.eta_minus
        factor = np.where(product > 0, grown, np.where(product < 0, shrunk, 1.0)).astype(u.dtype, copy=False)
        step = np.clip(step * factor, self.step_min, self.step_max)
        kept = np.where(product < 0, np.zeros_like(u), g)
        state["step"], state["previous"] = step, kept
        # the sign of nan is 0, as PyTorch takes it: such a weight stays where it is
        direction = np.where(kept > 0, -1.0, np.where(kept < 0, 1.0, 0.0)).astype(u.dtype, copy=False)
        result: Array = direction * step
        return result
