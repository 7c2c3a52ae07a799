"""torch.optim.lr_scheduler: cosine, warm restarts, one cycle and cyclic rates, with their momentum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from core.declare import Parameter, SettingError
from core.optim.schedules.formula import Formula
from core.optim.schedules.torch_rig import Chainable, Group

ETA_MIN = Parameter("eta_min", "lr_min", 0.0, 0.0, 0.1, minimum=0.0, tooltip="lowest rate")
CYCLE_MOMENTUM = Parameter(
    "cycle_momentum", "μ moves", True, scale="switch", tooltip="momentum (or beta1) runs opposite to the rate"
)


class CosineAnnealingLR(Chainable):
    """lr_min + (lr - lr_min)(1 + cos(π k/T))/2: periodic, it climbs back after T."""

    name = "CosineAnnealingLR"
    label = "cosine"
    formula = "lr_min + (lr − lr_min)(1 + cos(π k/T))/2"
    source = "Loshchilov and Hutter 2017, arXiv:1608.03983; torch.optim.lr_scheduler.CosineAnnealingLR"
    parameters = (
        Parameter("T_max", "T", 100, 1, 10_000, "integer", minimum=1, tooltip="half a period, in steps"),
        ETA_MIN,
    )
    T_max: int
    eta_min: float

    def rate(self, base: float, k: int) -> float:
        return self.eta_min + (base - self.eta_min) * (1.0 + math.cos(math.pi * k / self.T_max)) / 2.0

    def follow(self, lr: float, base: float, k: int, group: Group) -> float:
        if (k - 1 - self.T_max) % (2 * self.T_max) == 0:
            return lr + (base - self.eta_min) * (1.0 - math.cos(math.pi / self.T_max)) / 2.0
        now = 1.0 + math.cos(math.pi * k / self.T_max)
        before = 1.0 + math.cos(math.pi * (k - 1) / self.T_max)
        return now / before * (lr - self.eta_min) + self.eta_min


class CosineAnnealingWarmRestarts(Chainable):
    """Cosine from lr to lr_min over T_0 steps, then again, each period T_mult times as long as the one before."""

    name = "CosineAnnealingWarmRestarts"
    label = "cosine with warm restarts"
    formula = "lr_min + (lr − lr_min)(1 + cos(π k_i/T_i))/2"
    source = "Loshchilov and Hutter 2017, arXiv:1608.03983; torch.optim.lr_scheduler.CosineAnnealingWarmRestarts"
    parameters = (
        Parameter("T_0", "T₀", 50, 1, 10_000, "integer", minimum=1, tooltip="steps of the first period"),
        Parameter("T_mult", "T×", 1, 1, 4, "integer", minimum=1, tooltip="each period is that many times as long"),
        ETA_MIN,
    )
    T_0: int
    T_mult: int
    eta_min: float

    def rate(self, base: float, k: int) -> float:
        period, inside = self.T_0, k
        if self.T_mult == 1:
            inside = k % period
        else:
            while inside >= period:
                inside -= period
                period *= self.T_mult
        return self.eta_min + (base - self.eta_min) * (1.0 + math.cos(math.pi * inside / period)) / 2.0

    def at_epoch(self, base: float, epoch: float) -> float:
        """The rate that ``step(epoch)`` sets, for an epoch and a fraction of the next; as PyTorch works it out."""
        period, inside = float(self.T_0), epoch
        if epoch >= self.T_0 and self.T_mult == 1:
            inside = epoch % self.T_0
        elif epoch >= self.T_0:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            inside = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            period = float(self.T_0 * self.T_mult**n)
        return self.eta_min + (base - self.eta_min) * (1.0 + math.cos(math.pi * inside / period)) / 2.0

    def begin(self, lr: float, base: float, group: Group) -> float:
        return self.rate(base, 0)

    def follow(self, lr: float, base: float, k: int, group: Group) -> float:
        return self.rate(base, k)


class OwnRate(Chainable):
    """A schedule that sets the rate by itself: the optimizer's own rate does not matter."""

    def begin(self, lr: float, base: float, group: Group) -> float:
        return self.rate(base, 0)

    def follow(self, lr: float, base: float, k: int, group: Group) -> float:
        return self.rate(base, k)


class OneCycleLR(OwnRate):
    """Up from max_lr/div to max_lr, down to max_lr/(div·final_div); the momentum runs the other way."""

    name = "OneCycleLR"
    label = "one cycle"
    formula = "lr_max/d ↗ lr_max ↘ lr_max/(d·d_f)"
    source = "Smith and Topin 2018, arXiv:1708.07120; torch.optim.lr_scheduler.OneCycleLR"
    parameters = (
        Parameter("max_lr", "lr_max", 0.1, 1e-4, 1.0, "log", minimum=0.0, tooltip="highest rate"),
        Parameter("total_steps", "T", 1000, 2, 10_000, "integer", minimum=1, tooltip="steps of the whole cycle"),
        Parameter("pct_start", "p", 0.3, 0.0, 1.0, minimum=0.0, maximum=1.0, tooltip="share of the way up"),
        Parameter("anneal_strategy", "shape", "cos", scale="choice", choices=("cos", "linear"), tooltip="of each leg"),
        CYCLE_MOMENTUM,
        Parameter("base_momentum", "μ_min", 0.85, 0.0, 1.0, minimum=0.0, tooltip="momentum at the highest rate"),
        Parameter("max_momentum", "μ_max", 0.95, 0.0, 1.0, minimum=0.0, tooltip="momentum at both ends"),
        Parameter(
            "div_factor", "d", 25.0, 1.0, 100.0, "log", minimum=0.0, open_minimum=True, tooltip="lr_max / first rate"
        ),
        Parameter(
            "final_div_factor",
            "d_f",
            1e4,
            1.0,
            1e6,
            "log",
            minimum=0.0,
            open_minimum=True,
            tooltip="first rate / last rate",
        ),
        Parameter("three_phase", "3 legs", False, scale="switch", tooltip="down as long as up, then a last descent"),
    )
    max_lr: float
    total_steps: int
    pct_start: float
    anneal_strategy: str
    cycle_momentum: bool
    base_momentum: float
    max_momentum: float
    div_factor: float
    final_div_factor: float
    three_phase: bool

    def prepare(self) -> None:
        first, total = self.max_lr / self.div_factor, self.total_steps
        self._numbers = {"first": first, "top": self.max_lr, "last": first / self.final_div_factor}
        if self.cycle_momentum:
            self._numbers |= {"low": self.base_momentum, "high": self.max_momentum}
        up = self.pct_start * total - 1.0
        self._legs: list[tuple[float, str, str, str, str]]
        if self.three_phase:
            down = 2.0 * self.pct_start * total - 2.0
            self._legs = [
                (up, "first", "top", "high", "low"),
                (down, "top", "first", "low", "high"),
                (total - 1.0, "first", "last", "high", "high"),
            ]
        else:
            self._legs = [(up, "first", "top", "high", "low"), (total - 1.0, "top", "last", "low", "high")]
        if up == 0.0:
            raise SettingError(
                f"OneCycleLR: with total_steps={total} and pct_start={self.pct_start:g} the way up has no steps, and "
                "PyTorch divides by zero; choose another pct_start"
            )
        self.moves_momentum = self.cycle_momentum

    def rate(self, base: float, k: int) -> float:
        return self._between(k, 0, self._numbers)

    def momentum(self, k: int) -> float | None:
        return self._between(k, 2, self._numbers) if self.cycle_momentum else None

    def construct(self, group: Group) -> None:
        # the legs are read from the group at each step: the last scheduler that wrote them there decides
        group.shared.update(self._numbers)
        group.initial = self._numbers["first"]

    def begin(self, lr: float, base: float, group: Group) -> float:
        return self._between(0, 0, group.shared)

    def follow(self, lr: float, base: float, k: int, group: Group) -> float:
        return self._between(k, 0, group.shared)

    def again(self, lr: float, base: float, group: Group) -> float:
        return self._between(0, 0, group.shared)

    def shared_momentum(self, k: int, group: Group) -> float | None:
        return self._between(k, 2, group.shared) if self.cycle_momentum else None

    def _between(self, k: int, column: int, numbers: Mapping[str, float]) -> float:
        k = min(k, self.total_steps - 1)
        begin = 0.0
        for i, (end, *names) in enumerate(self._legs):
            if k <= end or i == len(self._legs) - 1:
                share = (k - begin) / (end - begin)
                a, b = numbers[names[column]], numbers[names[column + 1]]
                if self.anneal_strategy == "cos":
                    return b + (a - b) / 2.0 * (1.0 + math.cos(math.pi * share))
                return (b - a) * share + a
            begin = end
        raise AssertionError("the last leg always answers")


class CyclicLR(OwnRate):
    """Back and forth between base_lr and max_lr in straight lines; the momentum runs the other way."""

    name = "CyclicLR"
    label = "cyclic"
    formula = "lr_lo + (lr_hi − lr_lo) · triangle(k) · height(k)"
    source = "Smith 2017, arXiv:1506.01186; torch.optim.lr_scheduler.CyclicLR"
    parameters = (
        Parameter("base_lr", "lr_lo", 0.001, 1e-5, 1.0, "log", minimum=0.0, tooltip="lowest rate"),
        Parameter("max_lr", "lr_hi", 0.1, 1e-5, 1.0, "log", minimum=0.0, tooltip="highest rate"),
        Parameter("step_size_up", "up", 2000, 1, 5000, "integer", minimum=1, tooltip="steps of the way up"),
        Parameter(
            "step_size_down",
            "down",
            None,
            1,
            5000,
            "integer",
            minimum=1,
            optional=True,
            tooltip="steps of the way down",
        ),
        Parameter(
            "mode",
            "height",
            "triangular",
            scale="choice",
            choices=("triangular", "triangular2", "exp_range", "own"),
            tooltip="the same, halved each cycle, or γ^k",
        ),
        Parameter("gamma", "γ", 1.0, 0.9, 1.0, minimum=0.0, tooltip="for exp_range: factor of each step"),
        CYCLE_MOMENTUM,
        Parameter("base_momentum", "μ_min", 0.8, 0.0, 1.0, minimum=0.0, tooltip="momentum at the highest rate"),
        Parameter("max_momentum", "μ_max", 0.9, 0.0, 1.0, minimum=0.0, tooltip="momentum at the lowest rate"),
    )
    base_lr: float
    max_lr: float
    step_size_up: int
    step_size_down: int | None
    mode: str
    gamma: float
    cycle_momentum: bool
    base_momentum: float
    max_momentum: float

    def __init__(self, scale_fn: Formula | None = None, scale_mode: str = "cycle", **values: Any) -> None:
        self.scale_fn = scale_fn
        self.scale_mode = scale_mode
        super().__init__(**values)

    def prepare(self) -> None:
        if self.mode == "own" and self.scale_fn is None:
            raise SettingError("CyclicLR: mode 'own' needs a scale_fn")
        down = self.step_size_down if self.step_size_down is not None else self.step_size_up
        self._total = float(self.step_size_up + down)
        self._ratio = self.step_size_up / self._total
        self.moves_momentum = self.cycle_momentum

    def construct(self, group: Group) -> None:
        group.lr = self.base_lr
        if self.cycle_momentum:
            group.shared.update(low=self.base_momentum, high=self.max_momentum)

    def begin(self, lr: float, base: float, group: Group) -> float:
        # PyTorch puts base_lr in the place of the group's initial rate only after this first rate is set
        return base

    def _height(self, k: int) -> float:
        cycle = math.floor(1.0 + k / self._total)
        x = 1.0 + k / self._total - cycle
        scale = x / self._ratio if x <= self._ratio else (x - 1.0) / (self._ratio - 1.0)
        if self.mode == "triangular2":
            return scale / 2.0 ** (cycle - 1)
        if self.mode == "exp_range":
            return scale * float(self.gamma**k)
        if self.mode == "own" and self.scale_fn is not None:
            return scale * self.scale_fn(cycle if self.scale_mode == "cycle" else k)
        return scale

    def rate(self, base: float, k: int) -> float:
        return self.base_lr + (self.max_lr - self.base_lr) * self._height(k)

    def momentum(self, k: int) -> float | None:
        if not self.cycle_momentum:
            return None
        return self.max_momentum - (self.max_momentum - self.base_momentum) * self._height(k)

    def settings(self) -> dict[str, Any]:
        found = super().settings()
        if self.scale_fn is not None:
            found.update(scale_fn=self.scale_fn.text, scale_mode=self.scale_mode)
        return found


class SWALR(Chainable):
    """From the rate as it is to swa_lr over T steps, along a cosine or a line; constant from then on."""

    name = "SWALR"
    label = "rate for weight averaging"
    formula = "lr (1 − α_k) + lr_swa α_k,  α rises from 0 to 1 in T steps"
    source = "Izmailov et al. 2018, arXiv:1803.05407; torch.optim.swa_utils.SWALR"
    parameters = (
        Parameter("swa_lr", "lr_swa", 0.05, 1e-5, 1.0, "log", minimum=0.0, tooltip="rate at the end"),
        Parameter("anneal_epochs", "T", 10, 0, 1000, "integer", minimum=0, tooltip="steps until it is reached"),
        Parameter("anneal_strategy", "shape", "cos", scale="choice", choices=("cos", "linear"), tooltip="of the way"),
    )
    swa_lr: float
    anneal_epochs: int
    anneal_strategy: str
    counts_calls = True

    def _share(self, k: int) -> float:
        if self.anneal_epochs == 0:
            return 1.0
        t = max(0.0, min(1.0, k / self.anneal_epochs))
        return t if self.anneal_strategy == "linear" else (1.0 - math.cos(math.pi * t)) / 2.0

    def rate(self, base: float, k: int) -> float:
        share = self._share(k)
        return self.swa_lr * share + base * (1.0 - share)

    def construct(self, group: Group) -> None:
        group.shared["swa"] = self.swa_lr

    def begin(self, lr: float, base: float, group: Group) -> float:
        return self.follow(lr, base, 0, group)

    def follow(self, lr: float, base: float, k: int, group: Group) -> float:
        goal, before, share = group.shared["swa"], self._share(k - 1), self._share(k)
        if self.anneal_epochs == 0:
            before = self._share(max(k, 1) - 1)
        start = goal if before == 1.0 else (lr - before * goal) / (1.0 - before)
        return goal * share + start * (1.0 - share)

    def again(self, lr: float, base: float, group: Group) -> float:
        return self.follow(lr, base, 0, group)
