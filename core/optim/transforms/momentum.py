"""First-moment averages: momentum in its forms."""

from __future__ import annotations

import numpy as np

from core.declare import Parameter
from core.optim.dtypes import FLOAT64, constants
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform
from core.optim.transforms.divisor import FORM, POWER, Float32Power, averaged

MOMENTUM = Parameter(
    "momentum", "μ", 0.9, 0.0, 0.999, minimum=0.0, tooltip="share of the old buffer that is kept each step"
)


BETA1 = Parameter("beta1", "β₁", 0.9, 0.0, 0.9999, minimum=0.0, maximum=1.0, tooltip="memory of the average")


class Momentum(Transform):
    """b <- μ b + (1 - dampening) u, u <- b (Polyak's heavy ball; the first step ignores dampening, as PyTorch does)."""

    name = "momentum"
    label = "momentum"
    cause = "momentum"
    formula = "b ← μ b + (1 − τ) u,  u ← b"
    source = "Polyak 1964; torch.optim.SGD"
    moved = "momentum"
    parameters = (
        MOMENTUM,
        Parameter("dampening", "τ", 0.0, 0.0, 1.0, tooltip="share of the gradient left out after the first step"),
    )
    momentum: float
    dampening: float

    def init(self, weights: Array, layout: Layout) -> State:
        return {"b": None}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        old = state["b"]
        momentum = self.momentum if ctx.momentum is None else ctx.momentum
        if old is None:
            b = u
        elif self.dampening:
            b = old * momentum + u * (1.0 - self.dampening)
        else:
            b = old * momentum + u
        state["b"] = b
        ctx.scratch["nesterov"] = (u, b)
        return b

    def idle(self) -> bool:
        return (self.momentum == 0.0 and not self.dampening) or super().idle()

    def explain(self, figures: dict[str, float]) -> str:
        return self.told(self.formula if self.dampening else "b ← μ b + u,  u ← b", figures)


class Nesterov(Transform):
    """u <- u' + μ b, with u' the update before momentum: looks one step ahead. Stands right behind Momentum."""

    name = "nesterov"
    label = "Nesterov look-ahead"
    cause = "momentum"
    formula = "u ← u′ + μ b"
    source = "Nesterov 1983; Sutskever et al. 2013; torch.optim.SGD(nesterov=True)"
    moved = "momentum"
    parameters = (MOMENTUM,)
    momentum: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        found = ctx.scratch.get("nesterov")
        if found is None:
            return u
        before, buffer = found
        result: Array = before + buffer * (self.momentum if ctx.momentum is None else ctx.momentum)
        return result

    def idle(self) -> bool:
        return self.momentum == 0.0 or super().idle()


class FirstMoment(Transform):
    """m <- β₁ m + (1 - β₁) u, u <- m: the exponential average of the gradient (Adam's first moment)."""

    name = "first_moment"
    label = "first moment"
    cause = "momentum"
    formula = "m ← β₁ m + (1 − β₁) u,  u ← m"
    source = "Kingma and Ba 2015, arXiv:1412.6980"
    moved = "beta1"
    parameters = (
        BETA1,
        Parameter("initial", "m₀", 0.0, 0.0, 1.0, tooltip="what the average starts at (1e-6 in Yogi)"),
        FORM,
    )
    beta1: float
    initial: float
    form: str

    def init(self, weights: Array, layout: Layout) -> State:
        return {"m": np.full_like(weights, self.initial) if self.initial else np.zeros_like(weights)}

    def prepare(self) -> None:
        self._float64 = constants(self.beta1, 1.0 - self.beta1)

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        ctx.scratch["moment_input"] = u
        old = state["m"]
        if ctx.momentum is None and u.dtype is FLOAT64:
            beta1, share = self._float64
        else:
            beta1 = self.beta1 if ctx.momentum is None else ctx.momentum
            share = 1.0 - beta1
        m: Array = old * beta1 + u * share if self.form == "average" else averaged(old, u, beta1, share, self.form)
        state["m"] = ctx.scratch["first_moment"] = m
        return m


class FirstBiasCorrection(Transform):
    """u <- u / (1 - β₁ᵗ): makes up for the average having started at zero."""

    name = "bias_correction_1"
    label = "bias correction 1"
    cause = "bias correction"
    shows = ("1-beta1^t",)
    formula = "u ← u / (1 − β₁ᵗ)"
    source = "Kingma and Ba 2015, section 3"
    moved = "beta1"
    parameters = (BETA1, POWER)
    beta1: float
    power: str

    def prepare(self) -> None:
        self._float32 = Float32Power(self.beta1) if self.power == "float32" else None

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        t = ctx.count + 1
        if self._float32 is None:
            correction = 1.0 - (self.beta1 if ctx.momentum is None else ctx.momentum) ** t
        else:
            correction = 1.0 - self._float32(t)
        ctx.figures["1-beta1^t"] = correction
        return u / correction
