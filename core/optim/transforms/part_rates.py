"""A learning rate for each part of the variables (optax.partition, masked optimizers)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from core.optim.layout import Array
from core.optim.mask import Mask
from core.optim.schedules.base import Schedule
from core.optim.transform import State, StepContext
from core.optim.transforms.rate import LearningRate


class Part(NamedTuple):
    """The variables ``mask`` picks, and their rate; None leaves their update as it is, not even negated."""

    mask: Mask
    learning_rate: float | None
    schedule: Schedule | None = None


class PartRates(LearningRate):
    """u <- -lr_t u with the chain's rate for the first part of the variables, and own rates for the others.

    Variables that no part picks keep their update as it is. Only the first rate is adjusted live.
    """

    formula = "u ← −lr_t · u, each part of the variables with its own lr_t"
    source = "optax.partition, optax.masked"

    def __init__(self, mask: Mask, others: Sequence[Part], schedule: Schedule | None = None, **values: Any) -> None:
        self.mask = mask
        self.others = tuple(others)
        super().__init__(schedule, **values)

    def settings(self) -> dict[str, Any]:
        found = super().settings()
        found["mask"] = self.mask.settings()
        found["others"] = [
            (part.mask.settings(), part.learning_rate, part.schedule.settings() if part.schedule else None)
            for part in self.others
        ]
        return found

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        result = u.copy()
        if self.schedule is not None:
            ctx.figures["lr_t"] = ctx.rate
        layout = ctx.layout
        for piece, name, shape in zip(layout.slices, layout.names, layout.shapes, strict=True):
            rate = self._rate_of(name, shape, ctx)
            if rate is not None:
                result[piece] *= -rate
        return result

    def _rate_of(self, name: str, shape: tuple[int, ...], ctx: StepContext) -> float | None:
        if self.mask.picks(name, shape):
            return ctx.rate
        for part in self.others:
            if part.mask.picks(name, shape):
                if part.learning_rate is None or part.schedule is None:
                    return part.learning_rate
                return part.schedule.rate(part.learning_rate, ctx.step)
        return None

    def explain(self, figures: dict[str, float]) -> str:
        own = [f"{super().explain(figures)} for {self.mask.text}"]
        for part in self.others:
            rate = "u as it is" if part.learning_rate is None else f"lr {part.learning_rate:.6g}"
            own.append(f"{rate} for {part.mask.text}")
        return "; ".join(own)
