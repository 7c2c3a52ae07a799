"""Rprop as optax 0.2.8 does it: a call returns the step the call before it worked out."""

from __future__ import annotations

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform


class DelayedRprop(Transform):
    """s <- s η₊ where the sign stayed, s η₋ where it turned; the step s sign(g) is taken one call later.

    The first step therefore does nothing. One row: the rule cannot be taken apart.
    """

    name = "delayed_rprop"
    label = "Rprop, one step late"
    cause = "own rule"
    formula = "u ← the stored s · sign(g), 0 where g turned against it"
    source = "Riedmiller and Braun 1993; optax.rprop (its version 0.2.8 lags one step behind the paper)"
    parameters = (
        Parameter("step_size", "s₀", 0.01, 1e-6, 1.0, "log", minimum=0.0, tooltip="first step size of every weight"),
        Parameter("eta_minus", "η₋", 0.5, 0.1, 0.99, minimum=0.0, tooltip="factor where the gradient changed sign"),
        Parameter("eta_plus", "η₊", 1.2, 1.01, 2.0, minimum=0.0, tooltip="factor where it did not"),
        Parameter("min_step_size", "s_min", 1e-6, 1e-10, 1e-2, "log", minimum=0.0, tooltip="smallest step size"),
        Parameter("max_step_size", "s_max", 50.0, 0.1, 100.0, "log", minimum=0.0, tooltip="largest step size"),
    )
    step_size: float
    eta_minus: float
    eta_plus: float
    min_step_size: float
    max_step_size: float

    def init(self, weights: Array, layout: Layout) -> State:
        return {"s": np.full_like(weights, self.step_size), "stored": np.zeros_like(weights)}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        stored, size = state["stored"], state["s"]
        product = u * stored
        factor = np.where(product > 0, self.eta_plus, self.eta_minus).astype(u.dtype)
        moved = np.clip(size * factor, self.min_step_size, self.max_step_size)
        size = np.where(product == 0, size, moved)
        state["s"] = size
        zero = np.zeros_like(u)
        state["stored"] = np.where(product < 0, zero, size * np.sign(u))
        return np.where(product < 0, zero, stored)
