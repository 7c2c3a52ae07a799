"""keras.callbacks.ReduceLROnPlateau: the rate is lowered when the loss has not improved for some epochs."""

from __future__ import annotations

from typing import Any

from core.declare import Parameter
from core.optim.schedules.absolute import AbsoluteSchedule


class KerasPlateau(AbsoluteSchedule):
    """lr · factor after ``patience`` steps in a row without improvement (PyTorch bears one more); never below min_lr.

    A step stands for an epoch, its loss for the monitored one.
    """

    name = "KerasPlateau"
    label = "reduce on a plateau (Keras)"
    formula = "lr f^(plateaus so far)"
    source = "keras.callbacks.ReduceLROnPlateau"
    watches = True
    parameters = (
        Parameter("mode", "better", "min", scale="choice", choices=("min", "max"), tooltip="lower or higher is better"),
        Parameter(
            "factor", "f", 0.1, 0.01, 0.99, minimum=0.0, maximum=1.0, open_maximum=True, tooltip="at each plateau"
        ),
        Parameter(
            "patience", "p", 10, 0, 100, "integer", minimum=0, tooltip="steps without improvement until the rate falls"
        ),
        Parameter("min_delta", "δ", 1e-4, 1e-6, 0.1, "log", minimum=0.0, tooltip="smallest change that counts"),
        Parameter("cooldown", "c", 0, 0, 100, "integer", minimum=0, tooltip="steps after a drop that are not counted"),
        Parameter("min_lr", "lr_min", 0.0, 0.0, 0.1, minimum=0.0, tooltip="lowest rate"),
    )
    mode: str
    factor: float
    patience: int
    min_delta: float
    cooldown: int
    min_lr: float

    def __init__(self, start: float, **values: Any) -> None:
        self.start = start
        super().__init__(**values)

    def largest(self) -> float:
        return self.start

    def at(self, k: int) -> float:
        return self.start

    def remember(self) -> dict[str, Any]:
        return {"lowered": 1.0, "best": None, "wait": 0, "cooling": 0}

    def watched_rate(self, base: float, k: int, memory: dict[str, Any]) -> float:
        return base * float(memory["lowered"])

    def observe(self, memory: dict[str, Any], base: float, loss: float) -> dict[str, Any]:
        new = dict(memory)
        if new["cooling"] > 0:
            new["cooling"], new["wait"] = new["cooling"] - 1, 0
        if self._better(loss, new["best"]):
            new["best"], new["wait"] = loss, 0
        elif new["cooling"] <= 0:
            new["wait"] += 1
            old = base * new["lowered"]
            if new["wait"] >= self.patience and old > self.min_lr and base > 0.0:
                new["lowered"] = max(old * self.factor, self.min_lr) / base
                new["cooling"], new["wait"] = self.cooldown, 0
        return new

    def _better(self, loss: float, best: float | None) -> bool:
        if best is None:
            return True
        return loss + self.min_delta < best if self.mode == "min" else loss - self.min_delta > best

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "base": self.start}
