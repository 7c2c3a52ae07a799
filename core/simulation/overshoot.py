"""Where the loss is lowest on the line of one step, and whether the step went past that point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.simulation.simulation import Simulation
from core.simulation.wording import Translate, number

CLEARLY = 0.9
"""A lowest point beyond this part of the step is not worth a sentence."""
HALVINGS = 40


@dataclass(frozen=True)
class Overshoot:
    """On the batch of one step: the ``loss`` before and ``after`` it, after which part of it the loss is ``lowest``,
    and the mean second derivative along it.
    """

    loss: float
    after: float
    lowest: float
    curvature: float

    def sentence(self, rate: float | None = None, translate: Translate = str) -> str:
        """One sentence; ``rate`` is the learning rate where the step is ``-rate * g`` and nothing else."""
        told = translate("The step goes past a lowest point of its line, which lies after {0} of it").format(
            number(self.lowest)
        )
        if self.after > self.loss:
            told += translate(": the loss rises from {0} to {1}").format(number(self.loss), number(self.after))
        elif self.after == self.loss:
            told += translate(": the loss stays at {0}").format(number(self.loss))
        if rate is not None:
            told += translate(
                "; the learning rate times the mean curvature along it, {0}, is {1}: above 1 a step crosses the lowest "
                "point, and on a parabola above 2 it ends higher"
            ).format(number(self.curvature), number(rate * self.curvature))
        return told + "."


def overshoot(simulation: Simulation, step: int) -> Overshoot | None:
    """How the recorded ``step`` ran past the lowest point of its line; None where it did not, or nothing moved."""
    history = simulation.history
    weights, applied = history.weights(step), history.applied(step)
    if not (np.isfinite(weights).all() and np.isfinite(applied).all() and applied.any()):
        return None
    objective, seed = simulation.objective_at(step), simulation.experiment.seed

    def at(part: float) -> tuple[float, float]:
        """Loss and slope after this part of the step."""
        loss, gradient = objective.value_and_gradient(weights + part * applied, step, seed)
        return float(loss), float(gradient @ applied)

    with np.errstate(all="ignore"):
        (loss, slope), (after, slope_after) = at(0.0), at(1.0)
        square = float(applied @ applied)
        numbers = np.isfinite([loss, after, slope, slope_after, square]).all() and square > 0.0
        if not numbers or not slope < 0.0 < slope_after:
            return None
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            found = at(middle)[1]
            low, high = (middle, high) if found < 0.0 else (low, middle)
            if found == 0.0:
                break
    if high >= CLEARLY:
        return None
    return Overshoot(loss, after, high, (slope_after - slope) / square)
