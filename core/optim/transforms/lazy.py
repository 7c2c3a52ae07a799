"""Lazy moments for sparse gradients: rows that were not used keep their moments and do not move."""

from __future__ import annotations

import numpy as np

from core.optim.layout import Array
from core.optim.transform import State, StepContext
from core.optim.transforms.adaptive import SecondMoment
from core.optim.transforms.momentum import FirstMoment


class LazyFirstMoment(FirstMoment):
    """m <- β₁ m + (1 - β₁) u on the used components only, u <- m there and 0 elsewhere.

    Used are the rows a sparse gradient names; of a dense gradient, the components that are not exactly 0.
    """

    name = "lazy_first_moment"
    label = "first moment of used rows"
    formula = "m ← β₁ m + (1 − β₁) u where used,  u ← m there, else 0"
    source = "torch.optim.SparseAdam"

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        used = ctx.used if ctx.used is not None else u != 0
        ctx.scratch["used"] = used
        old = state["m"]
        new = super().update(u, state, ctx)
        state["m"] = np.where(used, new, old)
        ctx.figures["used_share"] = float(np.count_nonzero(used)) / max(used.size, 1)
        return np.where(used, new, np.zeros_like(new))


class LazySecondMoment(SecondMoment):
    """v <- β₂ v + (1 - β₂) g² on the used components only."""

    name = "lazy_second_moment"
    label = "second moment of used rows"
    formula = "v ← β₂ v + (1 − β₂) g² where used,  u ← u / (√v + ε)"
    source = "torch.optim.SparseAdam"

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        used = ctx.scratch.get("used", u != 0)
        old = state["v"]
        new = super().update(u, state, ctx)
        state["v"] = np.where(used, state["v"], old)
        return np.where(used, new, np.zeros_like(new))
