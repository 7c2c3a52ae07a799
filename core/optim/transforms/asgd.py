"""Averaged SGD: a rate that falls with time, a decay tied to it, and an average that is kept beside the weights."""

from __future__ import annotations

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform
from core.optim.transforms.rate import unscaled

LAMBD = Parameter("lambd", "λ", 1e-4, 0.0, 0.1, minimum=0.0, tooltip="decay of the weights and of the rate")


class FallingRate(Transform):
    """u <- -η_t g, η_1 = lr, η_(t+1) = lr / (1 + λ lr t)^α. Stands behind the learning rate."""

    name = "falling_rate"
    label = "falling rate"
    cause = "learning rate"
    shows = ("eta",)
    formula = "u ← −η_t g,  η_(t+1) = lr / (1 + λ lr t)^α"
    source = "Polyak and Juditsky 1992; torch.optim.ASGD"
    parameters = (
        LAMBD,
        Parameter("alpha", "α", 0.75, 0.1, 1.0, minimum=0.0, tooltip="power of the fall"),
    )
    lambd: float
    alpha: float

    def init(self, weights: Array, layout: Layout) -> State:
        return {"eta": None}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        eta = ctx.rate if state["eta"] is None else state["eta"]
        base = 1.0 + self.lambd * ctx.rate * (ctx.count + 1)
        state["eta"] = ctx.rate / base**self.alpha
        ctx.scratch["eta"] = eta
        ctx.figures["eta"] = eta
        return u if eta == ctx.rate else unscaled(u, ctx) * -eta


class FallingDecay(Transform):
    """w <- w (1 - λ η_t)."""

    name = "falling_decay"
    label = "weight decay"
    cause = "weight decay"
    formula = "w ← w (1 − λ η_t)"
    source = "torch.optim.ASGD(lambd)"
    parameters = (LAMBD,)
    lambd: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        ctx.weights = ctx.weights * (1.0 - self.lambd * ctx.scratch.get("eta", ctx.rate))
        return u

    def idle(self) -> bool:
        return self.lambd == 0.0 or super().idle()


class IterateAverage(Transform):
    """ā <- ā + μ (w - ā), μ = 1/max(1, t - t₀): kept beside the weights, which it never touches (row zero)."""

    name = "iterate_average"
    label = "average kept beside"
    cause = "averaging"
    formula = "ā ← ā + μ_t (w + u − ā),  μ_(t+1) = 1 / max(1, t − t₀)"
    source = "torch.optim.ASGD (state 'ax')"
    parameters = (
        Parameter("t0", "t₀", 1e6, 1.0, 1e6, "log", minimum=-1.0, infinite=True, tooltip="step from which it averages"),
    )
    t0: float

    def init(self, weights: Array, layout: Layout) -> State:
        return {"ax": None, "mu": 1.0}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        weights = ctx.weights + u
        mu, average = state["mu"], state["ax"]
        state["ax"] = weights if average is None or mu == 1.0 else average + (weights - average) * mu
        state["mu"] = 1.0 / max(1.0, ctx.count + 1 - self.t0)
        return u
