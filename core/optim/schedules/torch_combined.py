"""torch.optim.lr_scheduler: schedules made of schedules, and the one that watches the loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from core.declare import Parameter, SettingError
from core.optim.schedules.base import Schedule
from core.optim.schedules.torch_rig import Chainable, Container


class SequentialLR(Container):
    """One schedule after the other: each starts afresh, from the base rate, at its milestone."""

    name = "SequentialLR"
    label = "one schedule after the other"
    formula = "the part whose turn it is, counted from its milestone"
    source = "torch.optim.lr_scheduler.SequentialLR"
    parameters = (
        Parameter("milestones", "m", [10], 1, 1000, "list", tooltip="steps at which the next part takes over"),
    )
    milestones: list[float]
    in_turn = True

    def __init__(self, parts: Sequence[Schedule], **values: Any) -> None:
        self.parts = tuple(parts)
        super().__init__(**values)

    def prepare(self) -> None:
        if len(self.milestones) != len(self.parts) - 1:
            raise SettingError(
                f"SequentialLR: {len(self.parts)} schedulers need {len(self.parts) - 1} milestones, "
                f"{len(self.milestones)} were given"
            )
        if any(b < a for a, b in zip(self.milestones, self.milestones[1:], strict=False)):
            raise SettingError(f"SequentialLR: milestones must not go down: {self.milestones}")
        if any(part.watches for part in self.parts):
            raise SettingError("SequentialLR: a scheduler that watches the loss cannot be part of it (as in PyTorch)")
        for part in self.parts[1:]:
            if isinstance(part, Chainable):
                part.check_later()
        super().prepare()


class ChainedScheduler(Container):
    """All at once: each acts on the rate that the ones before it have left (several schedulers stepped each step)."""

    name = "ChainedScheduler"
    label = "schedules on top of each other"
    formula = "each part acts on the rate the part before it left"
    source = "torch.optim.lr_scheduler.ChainedScheduler"

    def __init__(self, parts: Sequence[Chainable]) -> None:
        self.parts = tuple(parts)
        super().__init__()

    def prepare(self) -> None:
        if not self.parts:
            raise SettingError("ChainedScheduler needs at least one scheduler")
        super().prepare()


class ReduceLROnPlateau(Schedule):
    """lr · factor whenever the loss has not improved for more than ``patience`` steps; never below min_lr."""

    name = "ReduceLROnPlateau"
    label = "reduce on a plateau"
    formula = "lr f^(plateaus so far)"
    source = "torch.optim.lr_scheduler.ReduceLROnPlateau"
    watches = True
    parameters = (
        Parameter("mode", "better", "min", scale="choice", choices=("min", "max"), tooltip="lower or higher is better"),
        Parameter(
            "factor", "f", 0.1, 0.01, 0.99, minimum=0.0, maximum=1.0, open_maximum=True, tooltip="at each plateau"
        ),
        Parameter(
            "patience", "p", 10, 0, 100, "integer", minimum=0, tooltip="steps without improvement that are borne"
        ),
        Parameter("threshold", "θ", 1e-4, 1e-6, 0.1, "log", minimum=0.0, tooltip="smallest change that counts"),
        Parameter(
            "threshold_mode", "θ is", "rel", scale="choice", choices=("rel", "abs"), tooltip="relative or absolute"
        ),
        Parameter("cooldown", "c", 0, 0, 100, "integer", minimum=0, tooltip="steps after a drop that are not counted"),
        Parameter("min_lr", "lr_min", 0.0, 0.0, 0.1, minimum=0.0, tooltip="lowest rate"),
        Parameter("eps", "ε", 1e-8, 0.0, 1e-3, minimum=0.0, tooltip="smaller drops are left out"),
    )
    mode: str
    factor: float
    patience: int
    threshold: float
    threshold_mode: str
    cooldown: int
    min_lr: float
    eps: float

    def rate(self, base: float, k: int) -> float:
        return base

    def remember(self) -> dict[str, Any]:
        best = math.inf if self.mode == "min" else -math.inf
        return {"lowered": 1.0, "best": best, "bad": 0, "wait": 0}

    def watched_rate(self, base: float, k: int, memory: dict[str, Any]) -> float:
        return base * float(memory["lowered"])

    def observe(self, memory: dict[str, Any], base: float, loss: float) -> dict[str, Any]:
        new = dict(memory)
        if self._better(loss, memory["best"]):
            new["best"], new["bad"] = loss, 0
        else:
            new["bad"] = memory["bad"] + 1
        if new["wait"] > 0:
            new["wait"] -= 1
            new["bad"] = 0
        if new["bad"] > self.patience:
            old = base * memory["lowered"]
            lower = max(old * self.factor, self.min_lr)
            if old - lower > self.eps and base > 0:
                new["lowered"] = lower / base
            new["wait"], new["bad"] = self.cooldown, 0
        return new

    def _better(self, loss: float, best: float) -> bool:
        if self.mode == "min":
            limit = best * (1.0 - self.threshold) if self.threshold_mode == "rel" else best - self.threshold
            return loss < limit
        limit = best * (1.0 + self.threshold) if self.threshold_mode == "rel" else best + self.threshold
        return loss > limit
