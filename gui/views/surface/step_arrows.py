"""The arrows of one step in the plane of the picture: computed, applied, and the ledger's rows between their tips."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.problems.planes import Plane
from core.simulation import History
from gui.views.surface.magnify import Magnification

Float64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StepArrows:
    """All in plane coordinates: ``origin`` (2,), vectors ``computed`` and ``applied`` (2,), ``rows`` (rows, 2).

    ``outside_computed`` and ``outside_applied`` are the parts of the two vectors' lengths that the plane does not
    show (0: the arrow lies in the plane).
    """

    origin: Float64
    computed: Float64
    applied: Float64
    rows: Float64
    names: tuple[str, ...]
    causes: tuple[str, ...]
    labels: tuple[str, ...]
    outside_computed: float
    outside_applied: float

    def tips(self, magnification: Magnification) -> tuple[Float64, Float64]:
        """Where the computed and the applied arrow end."""
        return (
            self.origin + magnification.computed * self.computed,
            self.origin + magnification.applied * self.applied,
        )

    def chain(self, factor: float) -> tuple[Float64, Float64]:
        """Tails and tips (rows, 2) of the ledger's rows drawn head to tail, from the tip of the computed arrow."""
        with np.errstate(all="ignore"):
            stations = self.computed + np.concatenate([np.zeros((1, 2)), np.cumsum(self.rows, axis=0)])
            stations = self.origin + factor * stations
        return stations[:-1], stations[1:]


def arrows_of_step(plane: Plane, history: History, step: int) -> StepArrows:
    """The arrows of a recorded step, from the weights before it."""
    schema = history.schema(step)
    computed, applied, rows = history.expected(step), history.applied(step), history.rows(step)
    with np.errstate(all="ignore"):
        return StepArrows(
            origin=np.array(plane.project(history.weights(step))),
            computed=np.array(plane.project_vector(computed)),
            applied=np.array(plane.project_vector(applied)),
            rows=np.stack(plane.project_vector(rows), axis=1),
            names=schema.names,
            causes=schema.causes,
            labels=schema.labels,
            outside_computed=_outside(plane, computed),
            outside_applied=_outside(plane, applied),
        )


def _outside(plane: Plane, vector: Float64) -> float:
    length = float(np.linalg.norm(vector))
    if plane.size == 2 or not length > 0.0 or not np.isfinite(length):
        return 0.0
    return float(plane.distance(plane.origin + vector / length))
