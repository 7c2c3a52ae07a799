"""Master weights: a wide copy of narrow weights that remembers what rounding took away."""

from __future__ import annotations

import numpy as np

from core.optim.layout import Array, Layout
from core.optim.transform import State, StepContext, Transform


class MasterWeights(Transform):
    """w <- master copy in the type of the arithmetic: the row is what earlier roundings had left over.

    The finished step goes into the copy unrounded, its rounded value into the stored weights; so updates below half
    a unit in the last place add up instead of being lost. Weights changed from outside replace the copy.
    """

    name = "master_weights"
    label = "master weights"
    cause = "rounding"
    formula = "w ← w_master,  then w_master ← w + u"
    source = "Micikevicius et al. 2018, arXiv:1710.03740, section 3.1"

    def init(self, weights: Array, layout: Layout) -> State:
        return {"master": None, "stored": None}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        master, stored = state["master"], state["stored"]
        if master is not None:
            same = stored == ctx.start
            ctx.weights = master if same.all() else np.where(same, master, ctx.start)
        return u

    def keep(self, state: State, finished: Array, stored: Array) -> None:
        """Remember the finished weights before (in the arithmetic's type) and after rounding."""
        state["master"] = finished
        state["stored"] = stored.astype(finished.dtype)
