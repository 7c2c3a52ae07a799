"""Ascent: the gradient with its sign turned."""

from __future__ import annotations

from core.optim.layout import Array
from core.optim.transform import State, StepContext, Transform


class Maximise(Transform):
    """u <- -u: the loss is made as large as possible."""

    name = "maximise"
    label = "maximise"
    cause = "sign"
    formula = "u ← −u"
    source = "maximize=True in torch.optim"

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        return -u
