"""Weights that are moved on the picture: the start of the run, or the point of the step shown."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.problems.lines import Line
from core.problems.planes import Plane
from core.simulation import Event, Simulation
from gui.views.surface.cut import CutChoice

Float64 = NDArray[np.float64]


def moved(choice: CutChoice, cut: Plane | Line, weights: Float64, a: float, b: float) -> Float64:
    """``weights`` (size,) moved within the plane, or along the line, to where (a, b) stands."""
    found = weights.copy()
    if isinstance(cut, Line):
        if choice.is_line and choice.kind != "slice weight":
            return np.asarray(weights + (a - float(cut.project(weights))) * cut.direction)
        # the weight itself, not one that is off by rounding
        found[choice.first if choice.is_line else 0] = a
        return found
    if choice.kind == "weights":
        found[choice.first], found[choice.second] = a, b
        return found
    old_a, old_b = cut.project(weights)
    return np.asarray(weights + (a - old_a) * cut.u + (b - old_b) * cut.v)


def events_with(events: list[Event], step: int, weights: Float64) -> list[Event]:
    """``events`` with the weights put there before ``step`` (in place of others put there before)."""
    kept = [event for event in events if (event.step, event.target) != (step, "weights")]
    return [*kept, Event(step, "weights", "value", numbers(weights))]


def from_start(simulation: Simulation, start: Float64) -> Simulation:
    """The same run from another start, not yet begun."""
    return Simulation(simulation.experiment.replace(start=numbers(start)), trusted=simulation.trusted)


def from_step(simulation: Simulation, step: int, weights: Float64) -> Simulation:
    """The same run with other weights in ``step``, that step not yet taken."""
    other = simulation.fork(step)
    other.set_events(events_with(simulation.experiment.events, step, weights))
    return other


def numbers(weights: Float64) -> list[float]:
    """As plain data."""
    return [float(x) for x in weights]
