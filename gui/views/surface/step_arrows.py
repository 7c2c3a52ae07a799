"""The arrows of one step in the picture's coordinates: computed, applied, and the ledger's rows between their tips."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.problems.lines import Line
from core.problems.planes import Plane
from core.simulation import History
from gui.views.surface.magnify import Magnification

Float64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StepArrows:
    """All in plane coordinates: ``origin`` (2,), vectors ``computed`` and ``applied`` (2,), ``rows`` (rows, 2).

    ``outside_computed`` and ``outside_applied`` are the parts of the two vectors' lengths that the plane does not
    show (0: the arrow lies in the plane). On a line all vectors point along it; they are then drawn one above the
    other, ``lane`` apart: the computed one, the rows, the applied one.
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
    lane: float = 0.0

    @property
    def tails(self) -> tuple[Float64, Float64]:
        """Where the computed and the applied arrow begin."""
        return self.origin + self._lifted(1), self.origin + self._lifted(len(self.rows) + 2)

    def in_lanes(self, lane: float) -> StepArrows:
        """The same arrows ``lane`` above one another."""
        return replace(self, lane=lane)

    def _lifted(self, lanes: int) -> Float64:
        return np.array([0.0, lanes * self.lane])

    def tips(self, magnification: Magnification) -> tuple[Float64, Float64]:
        """Where the computed and the applied arrow end."""
        computed, applied = self.tails
        # of a run that flies away they end beyond all numbers, and are not drawn
        with np.errstate(all="ignore"):
            return computed + magnification.computed * self.computed, applied + magnification.applied * self.applied

    def chain(self, factor: float) -> tuple[Float64, Float64]:
        """Tails and tips (rows, 2) of the ledger's rows drawn head to tail, from the tip of the computed arrow."""
        with np.errstate(all="ignore"):
            stations = self.computed + np.concatenate([np.zeros((1, 2)), np.cumsum(self.rows, axis=0)])
            stations = self.origin + factor * stations
        lifts = np.zeros((len(self.rows), 2))
        lifts[:, 1] = self.lane * np.arange(2, len(self.rows) + 2)
        return stations[:-1] + lifts, stations[1:] + lifts


def arrows_of_step(plane: Plane, history: History, step: int) -> StepArrows:
    """The arrows of a recorded step, from the weights before it."""
    return _arrows(plane, history, step, np.array(plane.project(history.weights(step))), plane.project_vector)


def arrows_on_line(line: Line, history: History, step: int, height: float) -> StepArrows:
    """The arrows of a recorded step along a line, from the point at ``height``."""

    def along(vectors: Float64) -> tuple[Float64, Float64]:
        t = line.project_vector(vectors)
        return t, np.zeros_like(t)

    origin = np.array([float(line.project(history.weights(step))), height])
    return _arrows(line, history, step, origin, along)


def _arrows(
    cut: Plane | Line,
    history: History,
    step: int,
    origin: Float64,
    projected: Callable[[Float64], tuple[Float64, Float64]],
) -> StepArrows:
    schema = history.schema(step)
    computed, applied, rows = history.expected(step), history.applied(step), history.rows(step)
    with np.errstate(all="ignore"):
        return StepArrows(
            origin=origin,
            computed=np.array(projected(computed)),
            applied=np.array(projected(applied)),
            rows=np.stack(projected(rows), axis=1),
            names=schema.names,
            causes=schema.causes,
            labels=schema.labels,
            outside_computed=_outside(cut, computed),
            outside_applied=_outside(cut, applied),
        )


def _outside(cut: Plane | Line, vector: Float64) -> float:
    length = float(np.linalg.norm(vector))
    if holds_everything(cut) or not length > 0.0 or not np.isfinite(length):
        return 0.0
    return float(cut.distance(cut.origin + vector / length))


def holds_everything(cut: Plane | Line) -> bool:
    """Whether nothing can lie outside: the plane of two weights, the line of one."""
    return cut.size == (1 if isinstance(cut, Line) else 2)
