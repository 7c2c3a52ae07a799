"""What the computed gradient of a recorded step is made of, where it has parts (batch normalisation)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.optim.dtypes import resolve_dtype
from core.simulation.simulation import Simulation

Float64 = NDArray[np.float64]


def gradient_parts(simulation: Simulation, step: int) -> dict[str, Float64]:
    """Named parts (size,) that add up to the gradient recorded in ``step``; empty when it has none.

    With batch normalisation: what the gradient would be with the statistics of the batch held constant, and what
    flows through them. Worked out anew at the step's weights and batch, in the run's number type; times the loss
    scale where the recorded gradient is that of a scaled loss. The last part is what the others leave of the recorded
    gradient, so that nothing is lost between them, whatever the type rounds away.
    """
    experiment = simulation.experiment
    changed = any(event.target == "problem" for event in experiment.events)
    objective = simulation.objective_at(step) if changed else simulation.objective
    history = simulation.history
    weights = np.asarray(history.weights(step)).astype(resolve_dtype(experiment.arithmetic))
    scale = history.figures(step).get("loss_scale", 1.0)
    with np.errstate(all="ignore"):
        found = objective.gradient_parts(weights, step, experiment.seed)
        parts = {name: scale * np.asarray(part, dtype=np.float64) for name, part in found.items()}
        if parts:
            last = next(reversed(parts))
            others = np.sum([part for name, part in parts.items() if name != last], axis=0)
            parts[last] = np.asarray(history.gradient(step) - others, dtype=np.float64)
    return parts


def expected_parts(simulation: Simulation, step: int) -> dict[str, Float64]:
    """The same times -lr (the base rate): parts (size,) that add up to the expected step."""
    rate = float(simulation.history.scalar("base_learning_rate")[step])
    return {name: -rate * part for name, part in gradient_parts(simulation, step).items()}
