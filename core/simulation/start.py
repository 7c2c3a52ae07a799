"""The weights a run starts from, or goes on from when they are put somewhere by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.optim.dtypes import resolve_dtype
from core.optim.layout import Array
from core.problems.objective import Objective
from core.simulation.experiment import Experiment, ExperimentError


def start_weights(experiment: Experiment, objective: Objective) -> Array:
    """Those the experiment gives, else the problem's own, (size,), in the type they are stored in."""
    if experiment.start is not None:
        return given_weights(experiment.start, objective, experiment.storage, "start")
    start = np.asarray(objective.initial_weights(experiment.seed), dtype=np.float64)
    return start.astype(resolve_dtype(experiment.storage))


def given_weights(given: Any, objective: Objective, storage: str, where: str) -> Array:
    """Weights given as numbers, checked, in the type they are stored in; ExperimentError says what is wrong."""
    size = objective.size
    try:
        weights = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ExperimentError(f"{where}: a list of {size} numbers is needed, not {given!r}") from None
    if weights.shape != (size,):
        what = "starting value" if where == "start" else "number"
        raise ExperimentError(
            f"{where}: {objective.name} has {size} weight{'s' * (size != 1)}, "
            f"{weights.size} {what}{'s were' if weights.size != 1 else ' was'} given"
        )
    if not np.isfinite(weights).all():
        raise ExperimentError(f"{where}: {weights[~np.isfinite(weights)][0]} is not a finite number")
    return weights.astype(resolve_dtype(storage))
