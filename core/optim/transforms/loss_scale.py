"""Loss scaling for narrow number types: gradients are unscaled, checked, and refused when not finite."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform

NOT_FINITE = "not_finite"
"""Entry of ctx.scratch: True when some gradient of this step holds inf or nan."""


class LossScale(Transform):
    """u <- u / scale, the scale being what the loss was multiplied by.

    ``dynamic`` doubles the scale after ``growth_interval`` steps without inf or nan, and halves it after one with
    (the refusal itself is FiniteGuard's, behind this row). ``order`` 'reciprocal' multiplies by 1/scale in float32,
    as PyTorch does; the same bits for powers of two. A scale that moves is a float32 number in PyTorch and Keras;
    PyTorch does not let it grow beyond the largest of them.
    """

    name = "loss_scale"
    label = "unscale"
    cause = "loss scaling"
    formula = "u ← u / scale"
    source = "Micikevicius et al. 2018, arXiv:1710.03740; torch.amp.GradScaler, keras.optimizers.LossScaleOptimizer"
    parameters = (
        Parameter(
            "initial_scale",
            "scale₀",
            65536.0,
            1.0,
            2.0**24,
            "log",
            minimum=0.0,
            open_minimum=True,
            tooltip="what the loss is multiplied by at first",
        ),
        Parameter("dynamic", "dynamic", True, scale="switch", tooltip="off: the scale stays as it is"),
        Parameter("growth_factor", "×", 2.0, 1.0, 4.0, minimum=0.0, tooltip="factor after enough good steps"),
        Parameter("backoff_factor", "÷", 0.5, 0.1, 1.0, minimum=0.0, tooltip="factor after a step with inf or nan"),
        Parameter("growth_interval", "n", 2000, 1, 10_000, "integer", minimum=1, tooltip="good steps before it grows"),
        Parameter("order", "order", "divide", scale="choice", choices=("divide", "reciprocal"), tooltip="u / scale"),
    )
    couples = True
    shares = True
    initial_scale: float
    dynamic: bool
    growth_factor: float
    backoff_factor: float
    growth_interval: int
    order: str

    def remember(self) -> State:
        return {"scale": self._kept(self.initial_scale), "good": 0}

    def _kept(self, scale: float) -> float:
        with np.errstate(over="ignore"):
            return float(np.float32(scale)) if self.dynamic or self.order == "reciprocal" else scale

    def combine(self, updates: Sequence[Array], layouts: Sequence[Layout]) -> Any:
        return not all(np.isfinite(u).all() for u in updates)

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        scale = ctx.shared[self]["scale"]
        ctx.scratch[NOT_FINITE] = ctx.combined
        ctx.figures["loss_scale"] = scale
        if self.order == "divide":
            return u / scale
        inverse = np.float32(1.0 / scale) if scale else np.float32(math.inf)
        return u * float(inverse)

    def after_step(self, memory: State, contexts: Sequence[StepContext]) -> None:
        if not self.dynamic or not any(NOT_FINITE in context.scratch for context in contexts):
            return
        if any(context.scratch.get(NOT_FINITE) for context in contexts):
            memory["scale"], memory["good"] = self._kept(memory["scale"] * self.backoff_factor), 0
            return
        memory["good"] += 1
        if memory["good"] >= self.growth_interval:
            grown = self._kept(memory["scale"] * self.growth_factor)
            if self.order == "divide" or math.isfinite(grown):
                memory["scale"] = grown
            memory["good"] = 0

    def explain(self, figures: dict[str, float]) -> str:
        return f"u ← u / {figures.get('loss_scale', self.initial_scale):.6g}"


class FiniteGuard(Transform):
    """The step is refused, and nothing advances, when a gradient of any variable holds inf or nan.

    Behind a LossScale it takes that row's word for it; alone it looks for itself. With ``schedule`` 'calls' the
    learning rate's schedule goes on nevertheless (scheduler.step() beside a step that was refused).
    """

    name = "finite_guard"
    label = "skip if not finite"
    cause = "guard"
    formula = "no step where a gradient is inf or nan"
    source = "torch.amp.GradScaler.step, keras.optimizers.LossScaleOptimizer"
    parameters = (
        Parameter(
            "schedule",
            "schedule",
            "steps",
            scale="choice",
            choices=("steps", "calls"),
            rare=True,
            tooltip="what the learning rate's schedule counts: steps taken, or refused ones as well",
        ),
    )
    couples = True
    schedule: str

    def combine(self, updates: Sequence[Array], layouts: Sequence[Layout]) -> Any:
        return not all(np.isfinite(u).all() for u in updates)

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        if not ctx.scratch.get(NOT_FINITE, ctx.combined):
            return u
        ctx.halted = ctx.skipped = True
        ctx.goes_on = self.schedule == "calls"
        return np.zeros_like(u)
