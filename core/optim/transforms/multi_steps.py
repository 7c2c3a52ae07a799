"""Gradients collected over several calls, and calls with gradients that are not finite, as optax handles both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform
from core.optim.transforms.clip import norm_of

ACCUMULATORS = ("variable", "float32")


class MultiSteps(Transform):
    """a <- a + (g - a)/(n + 1) over k calls (or their sum), then one step with u = a.

    The calls in between move nothing and advance nothing behind this row. The accumulator is float32 in optax even
    for float64 gradients, unless told otherwise. ``skip`` leaves out a call whose gradient is not finite or larger
    than ``max_squared_norm``.
    """

    name = "multi_steps"
    label = "gradient accumulation"
    cause = "accumulation"
    formula = "a ← a + (g − a)/(n + 1);  every k calls  u ← a"
    source = "optax.MultiSteps"
    parameters = (
        Parameter("every_k", "k", 4, 1, 64, "integer", minimum=1, tooltip="calls a step"),
        Parameter("mean", "mean", True, scale="switch", tooltip="mean of the gradients; off: their sum"),
        Parameter("accumulator", "type", "float32", scale="choice", choices=ACCUMULATORS, tooltip="type a is kept in"),
        Parameter(
            "skip",
            "skip",
            "never",
            scale="choice",
            choices=("never", "not finite", "large"),
            tooltip="calls that are left out",
        ),
        Parameter("max_squared_norm", "‖g‖²_max", 1.0, 1e-3, 1e6, "log", minimum=0.0, tooltip="for skip 'large'"),
    )
    couples = True
    every_k: int
    mean: bool
    accumulator: str
    skip: str
    max_squared_norm: float

    def init(self, weights: Array, layout: Layout) -> State:
        return {"a": self._kept(np.zeros_like(weights)), "n": 0}

    def _kept(self, a: Array) -> Array:
        return a.astype(np.float32) if self.accumulator == "float32" else a

    def combine(self, updates: Sequence[Array], layouts: Sequence[Layout]) -> Any:
        if self.skip == "never":
            return False
        if self.skip == "not finite":
            return not all(np.isfinite(u).all() for u in updates)
        return not math.fsum(norm_of(u) ** 2 for u in updates) < self.max_squared_norm

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        if ctx.combined:
            ctx.halted = ctx.skipped = True
            return np.zeros_like(u)
        n = state["n"]
        a = state["a"].astype(u.dtype, copy=False)
        a = a + (u - a) / (n + 1) if self.mean else u + a
        ctx.figures["collected"] = n + 1
        if n + 1 >= self.every_k:
            state["a"], state["n"] = self._kept(a * 0.0), 0  # as optax clears it: what is not finite stays as nan
            result: Array = a
            return result
        state["a"], state["n"] = self._kept(a), n + 1
        ctx.halted = ctx.keep_state = True
        ctx.advances = False
        return np.zeros_like(u)

    def explain(self, figures: dict[str, float]) -> str:
        n = figures.get("collected", 0.0)
        if n < self.every_k:
            return f"gradient {n:.0f} of {self.every_k} collected: no step yet"
        return f"u ← the {'mean' if self.mean else 'sum'} of {self.every_k} gradients"


class ApplyIfFinite(Transform):
    """Steps with inf or nan in them are refused, unless more than ``max_consecutive_errors`` come in a row."""

    name = "apply_if_finite"
    label = "skip if not finite"
    cause = "guard"
    shows = ("consecutive_errors",)
    formula = "no step where u holds inf or nan"
    source = "optax.apply_if_finite"
    parameters = (
        Parameter("max_consecutive_errors", "n", 5, 0, 100, "integer", minimum=0, tooltip="after so many, let it pass"),
    )
    couples = True
    max_consecutive_errors: int

    def init(self, weights: Array, layout: Layout) -> State:
        return {"bad": 0}

    def combine(self, updates: Sequence[Array], layouts: Sequence[Layout]) -> Any:
        return all(bool(np.isfinite(u).all()) for u in updates)

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        if ctx.combined:
            state["bad"] = 0
            return u
        state["bad"] += 1
        ctx.figures["consecutive_errors"] = state["bad"]
        if state["bad"] > self.max_consecutive_errors:
            return u
        ctx.halted = ctx.keep_state = ctx.skipped = True
        return np.zeros_like(u)
