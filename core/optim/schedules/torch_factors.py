"""torch.optim.lr_scheduler: the schedules that are a factor times the base rate."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from core.declare import Parameter, SettingError
from core.optim.schedules.formula import Formula
from core.optim.schedules.torch_rig import Chainable, Group

GAMMA = Parameter("gamma", "γ", 0.1, 0.01, 1.0, "log", tooltip="factor at each decay")


def _needs_steps(schedule: Chainable, total_iters: int) -> None:
    if not total_iters:
        raise SettingError(
            f"{schedule.name} with total_iters=0 can only be the first part of a SequentialLR: PyTorch divides by "
            "total_iters when its turn comes later"
        )


class Factor(Chainable):
    """rate = base * factor(k)."""

    def factor(self, k: int) -> float:
        """The factor of the step with k steps before it."""
        raise NotImplementedError(f"{type(self).__name__} has to implement factor")

    def rate(self, base: float, k: int) -> float:
        return base * self.factor(k)


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

    def follow(self, lr: float, base: float, k: int, group: Group) -> float:
        return lr if k == 0 or k % self.step_size else lr * self.gamma


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

    def begin(self, lr: float, base: float, group: Group) -> float:
        return self.follow(lr, base, 0, group)

    def follow(self, lr: float, base: float, k: int, group: Group) -> float:
        often = self.ordered.count(k)
        return lr * float(self.gamma**often) if often else lr


class ExponentialLR(Factor):
    """lr γ^k."""

    name = "ExponentialLR"
    label = "exponential decay"
    formula = "lr γ^k"
    source = "torch.optim.lr_scheduler.ExponentialLR"
    parameters = (Parameter("gamma", "γ", 0.99, 0.9, 1.0, tooltip="factor of each step"),)
    gamma: float

    def factor(self, k: int) -> float:
        return float(self.gamma**k)

    def follow(self, lr: float, base: float, k: int, group: Group) -> float:
        return lr * self.gamma


class PolynomialLR(Factor):
    """lr (1 - min(k, T)/T)^p: reaches 0 at T and stays there. With T = 0 the rate is left alone."""

    name = "PolynomialLR"
    label = "polynomial decay"
    formula = "lr (1 − min(k, T)/T)^p"
    source = "torch.optim.lr_scheduler.PolynomialLR"
    parameters = (
        Parameter("total_iters", "T", 100, 1, 10_000, "integer", minimum=0, tooltip="steps until the rate is 0"),
        Parameter("power", "p", 1.0, 0.1, 4.0, minimum=0.0, tooltip="1: straight line"),
    )
    total_iters: int
    power: float

    def factor(self, k: int) -> float:
        total = self.total_iters
        return float((1.0 - min(k, total) / total) ** self.power) if total else 1.0

    def follow(self, lr: float, base: float, k: int, group: Group) -> float:
        total = self.total_iters
        if k > total:
            return lr
        return lr * float(((1.0 - k / total) / (1.0 - (k - 1) / total)) ** self.power)

    def check_later(self) -> None:
        _needs_steps(self, self.total_iters)


class LinearLR(Factor):
    """From start_factor to end_factor in a straight line over T steps (warm-up): step 0 has start_factor.

    With T = 0 the rate stays at start_factor for good, as in PyTorch.
    """

    name = "LinearLR"
    label = "linear warm-up"
    formula = "lr (a + (b − a) min(k, T)/T)"
    source = "torch.optim.lr_scheduler.LinearLR"
    parameters = (
        Parameter(
            "start_factor", "a", 1.0 / 3.0, 0.01, 1.0, minimum=0.0, maximum=1.0, open_minimum=True, tooltip="at step 0"
        ),
        Parameter("end_factor", "b", 1.0, 0.0, 1.0, minimum=0.0, maximum=1.0, tooltip="from step T on"),
        Parameter("total_iters", "T", 5, 1, 1000, "integer", minimum=0, tooltip="steps of the ramp"),
    )
    start_factor: float
    end_factor: float
    total_iters: int

    def factor(self, k: int) -> float:
        share = min(k, self.total_iters) / self.total_iters if self.total_iters else 0.0
        return self.start_factor + (self.end_factor - self.start_factor) * share

    def begin(self, lr: float, base: float, group: Group) -> float:
        return lr * self.start_factor

    def follow(self, lr: float, base: float, k: int, group: Group) -> float:
        if k == 0:
            return lr * self.start_factor
        if k > self.total_iters:
            return lr
        rise = self.end_factor - self.start_factor
        return lr * (1.0 + rise / (self.total_iters * self.start_factor + (k - 1) * rise))

    def check_later(self) -> None:
        _needs_steps(self, self.total_iters)


class ConstantLR(Factor):
    """lr · factor for the first T steps, lr afterwards; with T = 0 lr · factor for good, as in PyTorch."""

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

    def prepare(self) -> None:
        if self.scale == 0.0 and self.total_iters:
            raise SettingError(
                "ConstantLR: a factor of 0 cannot be undone after total_iters steps (PyTorch divides by it); "
                "give a small one, or leave the first steps out"
            )

    def factor(self, k: int) -> float:
        return self.scale if k < self.total_iters or not self.total_iters else 1.0

    def begin(self, lr: float, base: float, group: Group) -> float:
        return lr * self.scale

    def follow(self, lr: float, base: float, k: int, group: Group) -> float:
        if k == 0:
            return lr * self.scale
        return lr * (1.0 / self.scale) if k == self.total_iters else lr

    def again(self, lr: float, base: float, group: Group) -> float:
        return base * self.scale if self.total_iters else base


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

    def begin(self, lr: float, base: float, group: Group) -> float:
        return base * self.function(0)

    def follow(self, lr: float, base: float, k: int, group: Group) -> float:
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

    def follow(self, lr: float, base: float, k: int, group: Group) -> float:
        return lr * self.function(k)

    def again(self, lr: float, base: float, group: Group) -> float:
        return lr * self.function(0)

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "function": self.function.text}
