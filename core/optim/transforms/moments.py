"""First-moment averages beyond plain momentum: Nesterov within Adam, plain moving averages, Lion, optimism, signs."""

from __future__ import annotations

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform
from core.optim.transforms.momentum import BETA1


class NesterovMoment(Transform):
    """u <- β₁ m/(1 - β₁^(t+1)) + (1 - β₁) g/(1 - β₁ᵗ): NAdam as optax has it, without a momentum schedule.

    Stands behind a FirstMoment (and its bias correction, which it takes the place of).
    """

    name = "nesterov_moment"
    label = "Nesterov look-ahead"
    cause = "momentum"
    formula = "u ← β₁ m / (1 − β₁ᵗ⁺¹) + (1 − β₁) g / (1 − β₁ᵗ)"
    source = "Dozat 2016; optax.scale_by_adam(nesterov=True)"
    parameters = (BETA1,)
    beta1: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        m, g = ctx.scratch.get("first_moment"), ctx.scratch.get("moment_input")
        if m is None or g is None:
            return u
        t = ctx.count + 1
        ahead = (m / (1.0 - self.beta1 ** (t + 1))) * self.beta1
        result: Array = ahead + (g / (1.0 - self.beta1**t)) * (1.0 - self.beta1)
        return result


class MovingAverage(Transform):
    """m <- β m + (1 - β) u, u <- m (over 1 - βᵗ when ``debias`` is on): an average of the updates themselves.

    Unlike the first moment of Adam it hands nothing on to what follows. ``accumulator`` is the type m is kept in.
    """

    name = "moving_average"
    label = "moving average"
    cause = "momentum"
    shows = ("1-beta^t",)
    formula = "m ← β m + (1 − β) u,  u ← m"
    source = "optax.ema"
    parameters = (
        Parameter("decay", "β", 0.9, 0.0, 0.9999, minimum=0.0, maximum=1.0, tooltip="memory of the average"),
        Parameter("debias", "/(1 − βᵗ)", True, scale="switch", tooltip="make up for the start at zero"),
        Parameter(
            "accumulator",
            "type",
            "variable",
            scale="choice",
            choices=("variable", "float32"),
            tooltip="type the average is kept in",
        ),
    )
    decay: float
    debias: bool
    accumulator: str

    def init(self, weights: Array, layout: Layout) -> State:
        return {"m": np.zeros_like(weights, dtype=np.float32 if self.accumulator == "float32" else None)}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        # a float32 accumulator is multiplied in float32, as JAX promotes types
        m: Array = (state["m"] * self.decay + u * (1.0 - self.decay)).astype(u.dtype, copy=False)
        state["m"] = m.astype(np.float32) if self.accumulator == "float32" else m
        if not self.debias:
            return m
        correction = 1.0 - self.decay ** (ctx.count + 1)
        ctx.figures["1-beta^t"] = correction
        result: Array = m / correction
        return result

    def explain(self, figures: dict[str, float]) -> str:
        return self.told(self.formula + " / (1 − βᵗ)" if self.debias else self.formula, figures)


class OptimisticGradient(Transform):
    """u <- (α + β) u - β u_old: steps against the gradient that is expected next (u_old = u on the first step)."""

    name = "optimistic_gradient"
    label = "optimism"
    cause = "momentum"
    formula = "u ← (α + β) u − β u_old"
    source = "Mokhtari et al. 2019, arXiv:1901.08511; optax.scale_by_optimistic_gradient"
    parameters = (
        Parameter("alpha", "α", 1.0, 0.0, 2.0, tooltip="weight of the gradient"),
        Parameter("beta", "β", 1.0, 0.0, 2.0, tooltip="weight of its change since the last step"),
    )
    alpha: float
    beta: float

    def init(self, weights: Array, layout: Layout) -> State:
        return {"old": None}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        old = u if state["old"] is None else state["old"]
        state["old"] = u
        result: Array = u * (self.alpha + self.beta) - old * self.beta
        return result
