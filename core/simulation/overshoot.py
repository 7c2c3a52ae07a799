"""Where the loss is lowest on the line of one step, and whether the step went past that point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.simulation.simulation import Simulation
from core.simulation.wording import Translate, number

CLEARLY = 0.9
"""A lowest point beyond this part of the step is not worth a sentence."""


@dataclass(frozen=True)
class Overshoot:
    """On the batch of one step: the ``loss`` before and ``after`` it, and the slopes there along the whole step."""

    loss: float
    after: float
    slope: float
    slope_after: float
    length: float

    @property
    def lowest(self) -> float:
        """The part of the step after which the loss is lowest: exactly for a quadratic, else by its secant."""
        return self.slope / (self.slope - self.slope_after)

    @property
    def curvature(self) -> float:
        """The mean second derivative along the step."""
        return (self.slope_after - self.slope) / self.length**2

    def sentence(self, rate: float | None = None, translate: Translate = str) -> str:
        """One sentence; ``rate`` is the learning rate where the step is ``-rate * g`` and nothing else."""
        told = translate("The step goes past the lowest point of its line, which lies after {0} of it").format(
            number(self.lowest)
        )
        if self.after > self.loss:
            told += translate(": the loss rises from {0} to {1}").format(number(self.loss), number(self.after))
        elif self.after == self.loss:
            told += translate(": the loss stays at {0}").format(number(self.loss))
        if rate is not None:
            told += translate(
                "; the learning rate times the curvature along it, {0}, is {1}: above 1 a step crosses the lowest "
                "point, above 2 it ends higher"
            ).format(number(self.curvature), number(rate * self.curvature))
        return told + "."


def overshoot(simulation: Simulation, step: int) -> Overshoot | None:
    """How the recorded ``step`` ran past the lowest point of its line; None where it did not, or nothing moved."""
    history = simulation.history
    weights, applied = history.weights(step), history.applied(step)
    if not (np.isfinite(weights).all() and np.isfinite(applied).all() and applied.any()):
        return None
    objective, seed = simulation.objective_at(step), simulation.experiment.seed
    with np.errstate(all="ignore"):
        loss, before = objective.value_and_gradient(weights, step, seed)
        after, behind = objective.value_and_gradient(weights + applied, step, seed)
        slope, slope_after = float(before @ applied), float(behind @ applied)
        length = float(np.sqrt(applied @ applied))
    found = Overshoot(float(loss), float(after), slope, slope_after, length)
    if not np.isfinite([found.loss, found.after, slope, slope_after]).all() or length == 0.0:
        return None
    return found if slope < 0.0 < slope_after and found.lowest < CLEARLY else None
