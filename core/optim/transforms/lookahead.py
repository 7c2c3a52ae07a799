"""Lookahead: slow weights that every few steps go part of the way the fast ones went."""

from __future__ import annotations

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform


class Lookahead(Transform):
    """Every k steps slow <- slow + α (w + u - slow), and the fast weights w go there. Works on the finished step."""

    name = "lookahead"
    label = "lookahead"
    cause = "averaging"
    formula = "every k steps  s ← s + α (w + u − s),  w ← s"
    source = "Zhang et al. 2019, arXiv:1907.08610; optax.lookahead"
    parameters = (
        Parameter("sync_period", "k", 5, 1, 50, "integer", minimum=1, tooltip="steps between synchronisations"),
        Parameter("slow_step_size", "α", 0.5, 0.0, 1.0, tooltip="share of the way the slow weights go"),
    )
    sync_period: int
    slow_step_size: float

    def init(self, weights: Array, layout: Layout) -> State:
        return {"slow": weights, "since": 0}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        since = state["since"] + 1
        state["since"] = since % self.sync_period
        if since < self.sync_period:
            return u
        slow = state["slow"]
        way = ctx.weights + u - slow
        state["slow"] = slow + way * self.slow_step_size
        return u - way * (1.0 - self.slow_step_size)
