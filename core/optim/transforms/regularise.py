"""Penalties that are added to the gradient, and decay that acts on the weights themselves."""

from __future__ import annotations

import numpy as np

from core.declare import Parameter
from core.optim.layout import Array
from core.optim.transform import State, StepContext, Transform

STRENGTH = Parameter("weight_decay", "λ", 0.01, 1e-6, 1.0, "log", minimum=0.0, tooltip="strength of the penalty")


class L2(Transform):
    """u <- u + λ w: the gradient of (λ/2)|w|², added before everything that follows (PyTorch's weight_decay).

    With ``half`` off the penalty is λ|w|² as in Keras' regularizers.L2, its gradient 2λw.
    """

    name = "l2"
    label = "L2 added to gradient"
    cause = "regularisation"
    formula = "u ← u + λ w"
    source = "PyTorch torch.optim weight_decay; Keras regularizers.L2 without the half"
    parameters = (
        STRENGTH,
        Parameter("half", "½", True, scale="switch", tooltip="penalty (λ/2)|w|²; off: λ|w|², gradient 2λw"),
    )
    weight_decay: float
    half: bool

    def prepare(self) -> None:
        self.factor = self.weight_decay if self.half else 2.0 * self.weight_decay

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        return u + ctx.weights * self.factor

    def idle(self) -> bool:
        return self.weight_decay == 0.0 or super().idle()


class L1(Transform):
    """u <- u + λ sign(w): a sub-gradient of λ|w|₁; 0 at w = 0, so an exact zero stays where it is."""

    name = "l1"
    label = "L1 added to gradient"
    cause = "regularisation"
    formula = "u ← u + λ sign(w)"
    source = "sub-gradient of the L1 norm (Keras regularizers.L1)"
    parameters = (STRENGTH,)
    weight_decay: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        return u + np.sign(ctx.weights) * self.weight_decay

    def idle(self) -> bool:
        return self.weight_decay == 0.0 or super().idle()


class NormPenalty(Transform):
    """u <- u + λ w / ‖w‖ for each variable: the gradient of λ‖w‖, the norm not squared; 0 at w = 0.

    It pulls every variable with the same force however small its weights are (group lasso), unlike weight decay.
    """

    name = "norm_penalty"
    label = "norm penalty added to gradient"
    cause = "regularisation"
    formula = "u ← u + λ w / ‖w‖"
    source = "Yuan and Lin 2006 (group lasso); loss + λ · torch.norm(w)"
    parameters = (STRENGTH,)
    weight_decay: float

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        result = np.array(u)
        for part in ctx.layout.slices:
            w = ctx.weights[part]
            norm = np.sqrt(np.sum(w * w))
            if norm > 0:
                result[part] = u[part] + w * (self.weight_decay / norm)
        return result

    def idle(self) -> bool:
        return self.weight_decay == 0.0 or super().idle()


class DecoupledDecay(Transform):
    """w <- w (1 - lr_t λ), the gradient untouched (PyTorch AdamW; Keras' weight_decay on every optimizer)."""

    name = "decoupled_decay"
    label = "decoupled weight decay"
    cause = "weight decay"
    formula = "w ← w (1 − lr_t λ)"
    source = "Loshchilov and Hutter 2019, arXiv:1711.05101"
    parameters = (
        STRENGTH,
        Parameter(
            "order",
            "order",
            "factor",
            scale="choice",
            choices=("factor", "difference"),
            tooltip="factor: w (1 − lr λ) (PyTorch); difference: w − w λ lr (Keras)",
        ),
    )
    weight_decay: float
    order: str

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        if self.weight_decay:
            w = ctx.weights
            if self.order == "factor":
                ctx.weights = w * (1.0 - ctx.rate * self.weight_decay)
            else:
                ctx.weights = w - w * self.weight_decay * ctx.rate
        return u

    def idle(self) -> bool:
        return self.weight_decay == 0.0 or super().idle()
