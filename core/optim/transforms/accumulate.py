"""Gradients collected over several calls before one step is taken."""

from __future__ import annotations

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform
from core.optim.transforms.clip import clip_factor, norm_of


class Accumulate(Transform):
    """a <- a + g at each call; the n-th goes on with u = a / n, and a starts over. Other calls move nothing.

    With ``schedule`` 'calls' the learning rate's schedule goes on at every call (Keras), else at every step.
    ``first`` is the number of calls before the first step where that differs (``if i % n == 0`` with i from 0).
    ``kept`` 'last' forgets all but the last gradient (zero_grad before each backward), 'ever' never starts over (no
    zero_grad at all: the sum grows from step to step).
    """

    name = "accumulate"
    label = "gradient accumulation"
    cause = "accumulation"
    formula = "a ← a + g;  every n calls  u ← a / n,  a ← 0"
    source = "keras.optimizers gradient_accumulation_steps; loss / n and a step every n backward passes (PyTorch)"
    parameters: tuple[Parameter, ...] = (
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
        Parameter(
            "first",
            "n₁",
            None,
            1,
            64,
            "integer",
            minimum=1,
            optional=True,
            rare=True,
            tooltip="calls before the first step; None: as many as before each",
        ),
        Parameter(
            "kept",
            "kept",
            "step",
            scale="choice",
            choices=("step", "last", "ever"),
            rare=True,
            tooltip="step: gradients since the last step; last: only the newest; ever: all, zero_grad is missing",
        ),
    )
    steps: int
    mean: bool
    schedule: str
    first: int | None
    kept: str

    def init(self, weights: Array, layout: Layout) -> State:
        ahead = 0 if self.first is None else self.steps - self.first
        return {"a": np.zeros_like(weights), "collected": ahead}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        total = self.collect(u if self.kept == "last" else u + state["a"], ctx)
        collected = state["collected"] + 1
        ctx.figures["collected"] = collected
        if collected >= self.steps:
            state["a"], state["collected"] = (total if self.kept == "ever" else np.zeros_like(total)), 0
            return total / self.steps if self.mean else total
        state["a"], state["collected"] = total, collected
        ctx.halted = ctx.keep_state = True
        ctx.advances = self.schedule == "calls"
        return np.zeros_like(u)

    def collect(self, total: Array, ctx: StepContext) -> Array:
        """What becomes of the sum at each call."""
        return total

    def explain(self, figures: dict[str, float]) -> str:
        collected = figures.get("collected", 0.0)
        if collected < self.steps:
            return f"gradient {collected:.0f} of {self.steps} collected: no step yet"
        if self.kept == "ever":
            return "u ← the sum of all gradients so far: zero_grad is missing"
        if self.kept == "last":
            return f"u ← the last of {self.steps} gradients: zero_grad threw the others away"
        return f"u ← the {'mean' if self.mean else 'sum'} of {self.steps} gradients"


class ClippedAccumulate(Accumulate):
    """a <- clip(a + g): the sum is clipped after every backward, so that later gradients weigh more than early ones.

    The norm is that of the variables updated together (one parameter group).
    """

    name = "clipped_accumulate"
    label = "accumulation, clipped each time"
    formula = "a ← (a + g) · min(1, c / ‖a + g‖);  every n calls  u ← a,  a ← 0"
    source = "clip_grad_norm_ after each backward() of several before one step (PyTorch)"
    parameters = (
        *Accumulate.parameters,
        Parameter("max_norm", "c", 1.0, 1e-3, 100.0, "log", minimum=0.0, infinite=True, tooltip="largest norm"),
    )
    max_norm: float

    def collect(self, total: Array, ctx: StepContext) -> Array:
        norm = norm_of(total)
        factor = clip_factor(norm, self.max_norm, "torch")
        ctx.figures["gradient_norm"], ctx.figures["clip_factor"] = norm, factor
        return total if factor == 1.0 else total * factor
