"""A state that a run can go on from."""

from __future__ import annotations

from typing import Any

from core.optim.layout import Array


class Checkpoint:
    """All that a run needs to go on from ``step``."""

    __slots__ = ("digest", "optimizer", "step", "weights")

    def __init__(self, step: int, weights: Array, optimizer: Any, digest: Any) -> None:
        self.digest = digest
        self.step = step
        self.weights = weights
        self.optimizer = optimizer
