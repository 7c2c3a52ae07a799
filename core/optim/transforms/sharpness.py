"""Sharpness-aware minimisation: the gradient is taken where the loss nearby is worst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.declare import Parameter, SettingError
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform

PERIOD = Parameter("sync_period", "k", 2, 1, 10, "integer", minimum=1, tooltip="one descent after k − 1 steps uphill")
RESET = Parameter("reset_state", "reset", True, scale="switch", tooltip="the ascent forgets after every descent")
DESCENDS = "sharpness_descends"
SOURCE = "Foret et al. 2021, arXiv:2010.01412; optax.contrib.sam"


class _Ascent(Transform):
    """Shared by the modes: the transforms of the adversary, run on the gradient to give a step uphill."""

    reset_state: bool

    def __init__(self, adversary: Sequence[Transform], **values: Any) -> None:
        self.adversary = tuple(adversary)
        super().__init__(**values)

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "adversary": [transform.settings() for transform in self.adversary]}

    def init(self, weights: Array, layout: Layout) -> State:
        """The states of all its transforms side by side ('0.b', '1.m'), so that they divide like any other."""
        state: State = {"ascents": 0}
        for i, transform in enumerate(self.adversary):
            state.update({f"{i}.{key}": value for key, value in transform.init(weights, layout).items()})
        return state

    def uphill(self, gradient: Array, state: State, ctx: StepContext, weights: Array) -> Array:
        """The step of the adversary at ``weights``, its sign turned."""
        count = state["ascents"]
        state["ascents"] = count + 1
        inner = StepContext(ctx.layout, weights, gradient, count)
        inner.loss, inner.evaluate = ctx.loss, ctx.evaluate
        u = gradient
        for i, transform in enumerate(self.adversary):
            if transform.couples:
                inner.combined = transform.combine((u,), (ctx.layout,))
            prefix = f"{i}."
            own = {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
            u = transform.update(u, own, inner)
            state.update({f"{i}.{key}": value for key, value in own.items()})
        return -u

    def forget(self, state: State, ctx: StepContext) -> None:
        """Back to the start, where ``reset_state`` wants it."""
        if self.reset_state:
            state.update(self.init(ctx.start, ctx.layout))


class SharpnessGradient(_Ascent):
    """u <- the gradient at w + ε, ε the adversary's k - 1 steps uphill: both evaluations within one step."""

    name = "sharpness_gradient"
    label = "gradient at the sharpest point"
    cause = "own rule"
    formula = "u ← g(w + ε),  ε uphill from w"
    source = SOURCE
    parameters = (PERIOD, RESET)
    sync_period: int

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        if ctx.evaluate is None:
            raise SettingError(
                "sharpness-aware minimisation evaluates the loss several times a step: take it with "
                "minimize(loss, variables), a gradient alone is not enough"
            )
        weights = ctx.weights
        for _ in range(self.sync_period - 1):
            weights = weights + self.uphill(u, state, ctx, weights)
            u = ctx.evaluate(weights)[1]
        self.forget(state, ctx)
        return u


class SharpnessReturn(Transform):
    """First of the two rows of SAM in turns: on the k-th step w goes back to where the ascent began.

    Steps 1 to k - 1 go uphill and are shown as such; only the k-th descends, from the point remembered.
    """

    name = "sharpness_return"
    label = "back from the ascent"
    cause = "own rule"
    formula = "on every k-th step  w ← w₀"
    source = SOURCE
    parameters = (PERIOD,)
    sync_period: int

    def init(self, weights: Array, layout: Layout) -> State:
        return {"since": 0, "cache": weights}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        since, cache = state["since"], state["cache"]
        descends = since == self.sync_period - 1
        ctx.scratch[DESCENDS] = descends
        ctx.scratch["sharpness_gradient"] = u
        if since == 0:
            state["cache"] = ctx.start
        state["since"] = (since + 1) % self.sync_period
        if descends:
            ctx.weights = cache
        else:
            ctx.advances = False
        return u


class SharpnessStep(_Ascent):
    """Last of the two: u <- the step uphill, or on the k-th step the descent measured from the ascent's start."""

    name = "sharpness_step"
    label = "sharpness ascent"
    cause = "own rule"
    formula = "u ← ρ g/‖g‖ uphill;  on every k-th step  u ← (w₀ − w) + u"
    source = SOURCE
    parameters = (RESET,)

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        if ctx.scratch.get(DESCENDS, True):
            back = ctx.weights
            ctx.weights = ctx.start
            self.forget(state, ctx)
            return (back - ctx.start) + u
        return self.uphill(ctx.scratch["sharpness_gradient"], state, ctx, ctx.start)
