"""A decay of the rate that belongs to the optimizer itself, counted per variable."""

from __future__ import annotations

from core.declare import Parameter
from core.optim.layout import Array
from core.optim.transform import State, StepContext, Transform


class RateDecay(Transform):
    """u <- u / (1 + (t - 1) γ): the learning rate falls with the inverse of time, before any schedule."""

    name = "rate_decay"
    label = "rate decay"
    cause = "learning rate"
    shows = ("rate_divisor",)
    formula = "u ← u / (1 + (t − 1) γ)"
    source = "torch.optim.Adagrad(lr_decay)"
    parameters = (Parameter("lr_decay", "γ", 0.0, 0.0, 0.1, minimum=0.0, tooltip="0: the rate stays"),)
    lr_decay: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        divisor = 1.0 + ctx.count * self.lr_decay
        ctx.figures["rate_divisor"] = divisor
        return u / divisor

    def idle(self) -> bool:
        return self.lr_decay == 0.0 or super().idle()
