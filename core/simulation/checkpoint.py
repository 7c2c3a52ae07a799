"""States that a run can go on from, and which of them are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from core.optim.layout import Array

EVERY = 256
EVERY_OF_LARGE = 64
LARGE = 256
LEAST_KEPT = 8


class Checkpoint:
    """All that a run needs to go on from ``step``."""

    __slots__ = ("digest", "optimizer", "step", "weights")

    def __init__(self, step: int, weights: Array, optimizer: Any, digest: Any) -> None:
        self.digest = digest
        self.step = step
        self.weights = weights
        self.optimizer = optimizer


@dataclass(frozen=True)
class Checkpoints:
    """Those of one run, the earliest first, one every ``spacing`` steps. Never changed, only replaced, so that
    another thread may read them.
    """

    spacing: int
    kept: tuple[Checkpoint, ...] = ()

    @classmethod
    def none_of(cls, size: int) -> Checkpoints:
        """For a run of ``size`` weights: those of large models take long to work a step out again."""
        return cls(EVERY if size < LARGE else EVERY_OF_LARGE)

    def due(self, step: int) -> bool:
        """Whether the state before ``step`` is to be kept."""
        return step % self.spacing == 0 and not (self.kept and self.kept[-1].step >= step)

    def and_one(self, checkpoint: Checkpoint, each: int, most: int) -> Checkpoints:
        """With one more; when at ``each`` bytes they outgrow ``most``, every other one is left out from then on."""
        kept = (*self.kept, checkpoint)
        if len(kept) * each > most and len(kept) > LEAST_KEPT:
            return Checkpoints(2 * self.spacing, kept[:-1:2] + kept[-1:])
        return replace(self, kept=kept)

    def up_to(self, step: int) -> tuple[Checkpoint, ...]:
        """Those at or before ``step``."""
        return tuple(checkpoint for checkpoint in self.kept if checkpoint.step <= step)

    def holding(self, kept: tuple[Checkpoint, ...]) -> Checkpoints:
        """The same spacing with other states."""
        return replace(self, kept=kept)
