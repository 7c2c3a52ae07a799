"""NAdam's look-ahead with a momentum that grows from step to step (Keras)."""

from __future__ import annotations

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform
from core.optim.transforms.momentum import BETA1

WARMING = 0.96
CASTS = ("float64", "float32 decay", "float32")


class ScheduledNesterov(Transform):
    """u <- μ_(t+1) m / (1 - Π_(t+1)) + (1 - μ_t) g / (1 - Π_t), with μ_t = β₁(1 - 0.96^(ψ t)/2) and Π_t their product.

    Stands behind a FirstMoment and takes the place of its bias correction. ``cast`` says which constants go through
    float32: TensorFlow makes 0.96 (and a β₁ given as a plain number) a float32 tensor first, but not in Π.
    """

    name = "scheduled_nesterov"
    label = "Nesterov look-ahead"
    cause = "momentum"
    shows = ("mu_t",)
    formula = "u ← μ_(t+1) m / (1 − Π_(t+1)) + (1 − μ_t) g / (1 − Π_t),  μ_t = β₁(1 − ½·0.96^(ψ t))"
    source = "Dozat 2016; keras.optimizers.Nadam (ψ = 1)"
    moved = "beta1"
    parameters = (
        BETA1,
        Parameter("momentum_decay", "ψ", 1.0, 0.0, 1.0, minimum=0.0, tooltip="how fast μ grows: 1 in Keras"),
        Parameter(
            "cast",
            "constants",
            "float64",
            scale="choice",
            choices=CASTS,
            tooltip="float32 decay: 0.96 rounded to float32; float32: β₁ as well (Keras on TensorFlow)",
        ),
    )
    beta1: float
    momentum_decay: float
    cast: str

    def prepare(self) -> None:
        self._products = [1.0]
        self._decay = float(np.float32(WARMING)) if self.cast != "float64" else WARMING
        self._beta = float(np.float32(self.beta1)) if self.cast == "float32" else self.beta1

    def momentum_of(self, t: int, beta1: float | None = None) -> float:
        """μ_t, t counting from 1; ``beta1`` is what a schedule wants it to be."""
        return (self._beta if beta1 is None else beta1) * (1.0 - 0.5 * self._decay ** (t * self.momentum_decay))

    def product_of(self, t: int) -> float:
        """Π_t = μ_1 ... μ_t of a run with these settings from the start."""
        products = self._products
        while len(products) <= t:
            step = len(products)
            products.append(products[-1] * self._factor(step, self.beta1))
        return products[t]

    def _factor(self, t: int, beta1: float) -> float:
        """What step t multiplies Π with: μ_t, but never with rounded constants."""
        return beta1 * (1.0 - 0.5 * WARMING ** (t * self.momentum_decay))

    def init(self, weights: Array, layout: Layout) -> State:
        return {"product": 1.0, "steps": 0}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        m, g = ctx.scratch.get("first_moment"), ctx.scratch.get("moment_input")
        if m is None or g is None:
            return u
        t = ctx.count + 1
        beta1 = self.beta1 if ctx.momentum is None else ctx.momentum
        # variables that join later (counting the optimizer's steps) find Π as the others have made it
        known = state["product"] if state["steps"] == t - 1 else self.product_of(t - 1)
        product = known * self._factor(t, beta1)
        state["product"], state["steps"] = product, t
        now, following = self.momentum_of(t, ctx.momentum), self.momentum_of(t + 1, ctx.momentum)
        ctx.figures["mu_t"] = now
        result: Array = m * following / (1.0 - product * following) + g * (1.0 - now) / (1.0 - product)
        return result
