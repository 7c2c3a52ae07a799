"""torch.optim.lr_scheduler: the schedules that are a factor times the base rate."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from core.declare import Parameter
from core.optim.schedules.base import Schedule
from core.optim.schedules.formula import Formula

GAMMA = Parameter("gamma", "γ", 0.1, 0.01, 1.0, "log", minimum=0.0, tooltip="factor at each decay")


class Chainable(Schedule):
    """A PyTorch schedule, which can act on a rate that other schedules have changed before it.

    ``begin`` is what its construction does to the current rate, ``follow`` what its k-th step() does.
    """

    def begin(self, lr: float, base: float) -> float:
        """The rate after this schedule has been set up on an optimizer whose rate is ``lr``."""
        return lr

    def follow(self, lr: float, base: float, k: int) -> float:
        """The rate for step k (counted from 0) when step k - 1 had the rate ``lr``."""
        raise NotImplementedError(f"{type(self).__name__} has to implement follow")


class Factor(Chainable):
    """rate = base * factor(k); on a changed rate the quotient of two neighbouring factors acts."""

    def factor(self, k: int) -> float:
        """The factor of the step with k steps before it."""
        raise NotImplementedError(f"{type(self).__name__} has to implement factor")

    def rate(self, base: float, k: int) -> float:
        return base * self.factor(k)

    def begin(self, lr: float, base: float) -> float:
        return lr * self.factor(0)

    def follow(self, lr: float, base: float, k: int) -> float:
        now, before = self.factor(k), self.factor(k - 1)
        if now == before:
            return lr
        return lr * (now / before) if before else base * now


class StepLR(Factor):
    """lr γ^⌊k / step_size⌋: the boundary step already has the lower rate."""

    name = "StepLR"
    label = "step decay"
    formula = "lr γ^⌊k/s⌋"
    source = "torch.optim.lr_scheduler.StepLR"
    parameters = (
        Parameter("step_size", "s", 30, 1, 1000, "integer", minimum=1, tooltip="steps between two decays"),
        GAMMA,
    )
    step_size: int
    gamma: float

    def factor(self, k: int) -> float:
        return float(self.gamma ** (k // self.step_size))


class MultiStepLR(Factor):
    """lr γ^(milestones reached): at a milestone the rate is already lower; one named twice counts twice."""

    name = "MultiStepLR"
    label = "decay at milestones"
    formula = "lr γ^#{m ≤ k}"
    source = "torch.optim.lr_scheduler.MultiStepLR"
    parameters = (
        Parameter("milestones", "m", [30, 80], 0, 1000, "list", tooltip="steps at which the rate drops"),
        GAMMA,
    )
    milestones: list[float]
    gamma: float

    def prepare(self) -> None:
        self.ordered = sorted(self.milestones)

    def factor(self, k: int) -> float:
        return float(self.gamma ** bisect_right(self.ordered, k))


class ExponentialLR(Factor):
    """lr γ^k."""

    name = "ExponentialLR"
    label = "exponential decay"
    formula = "lr γ^k"
    source = "torch.optim.lr_scheduler.ExponentialLR"
    parameters = (Parameter("gamma", "γ", 0.99, 0.9, 1.0, minimum=0.0, tooltip="factor of each step"),)
    gamma: float

    def factor(self, k: int) -> float:
        return float(self.gamma**k)


class PolynomialLR(Factor):
    """lr (1 - min(k, T)/T)^p: reaches 0 at T and stays there."""

    name = "PolynomialLR"
    label = "polynomial decay"
    formula = "lr (1 − min(k, T)/T)^p"
    source = "torch.optim.lr_scheduler.PolynomialLR"
    parameters = (
        Parameter("total_iters", "T", 100, 1, 10_000, "integer", minimum=1, tooltip="steps until the rate is 0"),
        Parameter("power", "p", 1.0, 0.1, 4.0, minimum=0.0, tooltip="1: straight line"),
    )
    total_iters: int
    power: float

    def factor(self, k: int) -> float:
        return float((1.0 - min(k, self.total_iters) / self.total_iters) ** self.power)


class LinearLR(Factor):
    """From start_factor to end_factor in a straight line over T steps (warm-up): step 0 has start_factor."""

    name = "LinearLR"
    label = "linear warm-up"
    formula = "lr (a + (b − a) min(k, T)/T)"
    source = "torch.optim.lr_scheduler.LinearLR"
    parameters = (
        Parameter(
            "start_factor", "a", 1.0 / 3.0, 0.01, 1.0, minimum=0.0, maximum=1.0, open_minimum=True, tooltip="at step 0"
        ),
        Parameter("end_factor", "b", 1.0, 0.0, 1.0, minimum=0.0, maximum=1.0, tooltip="from step T on"),
        Parameter("total_iters", "T", 5, 1, 1000, "integer", minimum=1, tooltip="steps of the ramp"),
    )
    start_factor: float
    end_factor: float
    total_iters: int

    def factor(self, k: int) -> float:
        share = min(k, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * share


class ConstantLR(Factor):
    """lr · factor for the first T steps, lr afterwards."""

    name = "ConstantLR"
    label = "constant warm-up"
    formula = "lr f while k < T, then lr"
    source = "torch.optim.lr_scheduler.ConstantLR"
    parameters = (
        Parameter("scale", "f", 1.0 / 3.0, 0.01, 1.0, minimum=0.0, maximum=1.0, tooltip="factor of the first steps"),
        Parameter("total_iters", "T", 5, 1, 1000, "integer", minimum=0, tooltip="how many steps it lasts"),
    )
    scale: float
    total_iters: int

    def factor(self, k: int) -> float:
        return self.scale if k < self.total_iters else 1.0


class LambdaLR(Chainable):
    """lr f(k), with f the arithmetic of a pasted lambda (worked out by a whitelist, never executed)."""

    name = "LambdaLR"
    label = "own factor"
    formula = "lr f(k)"
    source = "torch.optim.lr_scheduler.LambdaLR"

    def __init__(self, function: Formula, **values: Any) -> None:
        self.function = function
        super().__init__(**values)
        self.formula = f"lr · ({function.body})"

    def rate(self, base: float, k: int) -> float:
        return base * self.function(k)

    def begin(self, lr: float, base: float) -> float:
        return base * self.function(0)

    def follow(self, lr: float, base: float, k: int) -> float:
        return base * self.function(k)

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "function": self.function.text}


class MultiplicativeLR(Chainable):
    """lr f(1) f(2) ... f(k), with f the arithmetic of a pasted lambda."""

    name = "MultiplicativeLR"
    label = "own factor of each step"
    formula = "lr f(1) ⋯ f(k)"
    source = "torch.optim.lr_scheduler.MultiplicativeLR"

    def __init__(self, function: Formula, **values: Any) -> None:
        self.function = function
        self._products = [1.0]
        super().__init__(**values)

    def rate(self, base: float, k: int) -> float:
        products = self._products
        while len(products) <= k:
            products.append(products[-1] * self.function(len(products)))
        return base * products[k]

    def follow(self, lr: float, base: float, k: int) -> float:
        return lr * self.function(k)

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "function": self.function.text}
