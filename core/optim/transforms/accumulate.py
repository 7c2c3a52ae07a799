"""Gradients collected over several calls before one step is taken."""

from __future__ import annotations

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform


class Accumulate(Transform):
    """a <- a + g at each call; the n-th goes on with u = a / n, and a starts over. Other calls move nothing.

    With ``schedule`` 'calls' the learning rate's schedule goes on at every call (Keras), else at every step.
    """

    name = "accumulate"
    label = "gradient accumulation"
    cause = "accumulation"
    formula = "a ← a + g;  every n calls  u ← a / n,  a ← 0"
    source = "keras.optimizers gradient_accumulation_steps; loss / n and a step every n backward passes (PyTorch)"
    parameters = (
        Parameter("steps", "n", 4, 1, 64, "integer", minimum=1, tooltip="calls a step"),
        Parameter("mean", "/ n", True, scale="switch", tooltip="mean of the gradients; off: their sum"),
        Parameter(
            "schedule",
            "schedule",
            "calls",
            scale="choice",
            choices=("calls", "steps"),
            tooltip="what the learning rate's schedule counts: calls (Keras) or steps taken",
        ),
    )
    steps: int
    mean: bool
    schedule: str

    def init(self, weights: Array, layout: Layout) -> State:
        return {"a": np.zeros_like(weights), "collected": 0}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        total = u + state["a"]
        collected = state["collected"] + 1
        ctx.figures["collected"] = collected
        if collected >= self.steps:
            state["a"], state["collected"] = np.zeros_like(total), 0
            return total / self.steps if self.mean else total
        state["a"], state["collected"] = total, collected
        ctx.halted = ctx.keep_state = True
        ctx.advances = self.schedule == "calls"
        return np.zeros_like(u)

    def explain(self, figures: dict[str, float]) -> str:
        collected = figures.get("collected", 0.0)
        if collected < self.steps:
            return f"gradient {collected:.0f} of {self.steps} collected: no step yet"
        return f"u ← the {'mean' if self.mean else 'sum'} of {self.steps} gradients"
