"""Proximal steps: L1 and L2 penalties solved exactly after the gradient's step instead of being added to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array
from core.optim.transform import State, StepContext, Transform

SOURCE = "Duchi and Singer 2009, JMLR 10 (FOBOS); tf.compat.v1.train.ProximalGradientDescentOptimizer"
ADAPTED = Parameter(
    "adapted", "lr/√s", False, scale="switch", tooltip="with the step length of each weight (ProximalAdagrad)"
)


def step_length(ctx: StepContext, adapted: bool) -> Any:
    """lr_t, or lr_t over the divisor of each component when an adaptive scaling stands before."""
    quotient = ctx.scratch.get("quotient") if adapted else None
    return ctx.rate if quotient is None else ctx.rate / quotient[-1]


def _adapted(formula: str, adapted: bool) -> str:
    """With the step length of each weight where that is used."""
    return formula.replace("lr_t", "(lr_t/√s)") if adapted else formula


class ProximalL1(Transform):
    """w <- sign(q) max(|q| - lr λ₁, 0) with q = w + u: small weights become exactly 0 (soft threshold)."""

    name = "proximal_l1"
    label = "L1 soft threshold"
    cause = "regularisation"
    formula = "w ← sign(q) max(|q| − lr_t λ₁, 0),  q = w + u"
    source = SOURCE
    parameters = (
        Parameter("l1", "λ₁", 0.0, 0.0, 1.0, minimum=0.0, tooltip="strength of the penalty λ₁|w|"),
        ADAPTED,
    )
    l1: float
    adapted: bool

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        if not self.l1:
            return u
        reached = ctx.weights + u
        left = np.maximum(np.abs(reached) - step_length(ctx, self.adapted) * self.l1, 0.0)
        ctx.weights = np.sign(reached) * left
        return np.zeros_like(u)

    def explain(self, figures: dict[str, float]) -> str:
        return self.told(_adapted(self.formula, self.adapted), figures)


class ProximalL2(Transform):
    """w <- q / (1 + lr λ₂) with q = w + u: the exact minimum of the penalty (λ₂/2) w² and the distance to q."""

    name = "proximal_l2"
    label = "L2 proximal step"
    cause = "regularisation"
    formula = "w ← q / (1 + lr_t λ₂),  q = w + u"
    source = SOURCE
    parameters = (
        Parameter("l2", "λ₂", 0.0, 0.0, 1.0, minimum=0.0, tooltip="strength of the penalty (λ₂/2) w²"),
        ADAPTED,
    )
    l2: float
    adapted: bool

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        if not self.l2:
            return u
        ctx.weights = (ctx.weights + u) / (1.0 + step_length(ctx, self.adapted) * self.l2)
        return np.zeros_like(u)

    def explain(self, figures: dict[str, float]) -> str:
        return self.told(_adapted(self.formula, self.adapted), figures)
