"""What the picture has worked out in the worker's thread: the grid, the gradient field, a probe, a preview run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.problems.objective import Objective
from core.problems.planes import Plane
from core.simulation import Experiment, ExperimentError, Simulation
from gui.views.surface.cut import Region
from gui.views.surface.picture import Picture, make_picture

Float64 = NDArray[np.float64]
COARSEST = 16
LEAST_CELLS, MOST_CELLS = 4, 20
PIXELS_A_POINT = 2.5
WORK_SECONDS = 6.0
"""A picture that has taken so much work is not refined further."""
NUMBERS_AT_ONCE = 1_000_000
PREVIEW_STEPS = 400
PREVIEW_SECONDS = 0.2


def grid_axes(region: Region, width: float, height: float) -> tuple[Float64, Float64]:
    """The points across and up of the finest grid for a picture of so many pixels."""
    axes = []
    for low, high, pixels in ((region.left, region.right, width), (region.bottom, region.top, height)):
        cells = int(np.clip(round(pixels / PIXELS_A_POINT / COARSEST), LEAST_CELLS, MOST_CELLS))
        axes.append(np.linspace(low, high, COARSEST * cells + 1))
    return axes[0], axes[1]


class GridJob:
    """Losses on a grid of the plane, coarse to fine; every point is worked out once. ``picture`` is the best so far."""

    def __init__(
        self,
        objective: Objective,
        plane: Plane,
        axes: tuple[Float64, Float64],
        kind: str,
        known_minimum: float | None = None,
        batch: tuple[int, int] | None = None,
    ) -> None:
        self.plane = plane
        self.kind = kind
        self.picture: Picture | None = None
        self._value: Callable[[Float64], Any] = objective.value
        if batch is not None:
            step, seed = batch
            self._value = lambda points: objective.value(points, step, seed)
        self._known_minimum = known_minimum
        self._xs, self._ys = axes
        self._z = np.full((len(self._ys), len(self._xs)), np.nan)
        self._stride = COARSEST
        self._rows, self._columns = _new_points(len(self._ys), len(self._xs), COARSEST, first=True)
        self._done = 0
        self._at_once = 64
        self._spent = 0.0

    def advance(self, seconds: float) -> bool:
        """See gui.worker.Job."""
        begin = time.perf_counter()
        while self._done < len(self._rows):
            if not self._evaluate(begin, seconds):
                return False
        return self._publish()

    def _evaluate(self, begin: float, seconds: float) -> bool:
        """Work out some more points; False when the slice is over."""
        most = max(1, NUMBERS_AT_ONCE // self.plane.size)
        part = slice(self._done, self._done + min(self._at_once, most))
        rows, columns = self._rows[part], self._columns[part]
        start = time.perf_counter()
        values = self._value(self.plane.lift(self._xs[columns], self._ys[rows]))
        self._z[rows, columns] = values
        self._done += len(rows)
        now = time.perf_counter()
        took = now - start
        self._spent += took
        left = seconds - (now - begin)
        # as many points as a quarter of a slice takes, found by doubling and halving
        if took < seconds / 8:
            self._at_once *= 2
        elif took > seconds / 2:
            self._at_once = max(1, self._at_once // 2)
        return left > took

    def _publish(self) -> bool:
        step = self._stride
        enough = step == 1 or (step <= 4 and self._spent * 4 > WORK_SECONDS)
        self.picture = make_picture(
            self.plane,
            self._xs[::step],
            self._ys[::step],
            self._z[::step, ::step].copy(),
            self.kind,
            self._known_minimum,
            complete=enough,
        )
        if enough:
            return True
        self._stride = step // 2
        self._rows, self._columns = _new_points(len(self._ys), len(self._xs), self._stride, first=False)
        self._done = 0
        return False


def _new_points(rows: int, columns: int, stride: int, first: bool) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Grid points on multiples of ``stride`` that the level before (twice the stride) has not had."""
    i, j = np.meshgrid(np.arange(0, rows, stride), np.arange(0, columns, stride), indexing="ij")
    i, j = i.ravel(), j.ravel()
    if not first:
        fresh = (i % (2 * stride) != 0) | (j % (2 * stride) != 0)
        i, j = i[fresh], j[fresh]
    return i, j


class FieldJob:
    """The direction of steepest descent at evenly spread points: ``points`` and ``directions``, (n, 2), when done."""

    def __init__(self, objective: Objective, plane: Plane, region: Region, across: int, up: int) -> None:
        self.points: Float64 = np.empty((0, 2))
        self.directions: Float64 = np.empty((0, 2))
        self.spacing = (region.width / across, region.height / up)
        self._objective, self._plane = objective, plane
        xs = region.left + self.spacing[0] * (np.arange(across) + 0.5)
        ys = region.bottom + self.spacing[1] * (np.arange(up) + 0.5)
        self._pending = np.stack([grid.ravel() for grid in np.meshgrid(xs, ys)], axis=1)
        self._found: list[Float64] = []
        self._done = 0
        self._at_once = 8

    def advance(self, seconds: float) -> bool:
        """See gui.worker.Job."""
        end = time.perf_counter() + seconds
        while self._done < len(self._pending):
            start = time.perf_counter()
            part = self._pending[self._done : self._done + self._at_once]
            gradients = self._objective.gradient(self._plane.lift(part[:, 0], part[:, 1]))
            self._found.append(-np.stack(self._plane.project_vector(gradients), axis=1))
            self._done += len(part)
            now = time.perf_counter()
            if now - start < seconds / 8:
                self._at_once *= 2
            if now + (now - start) > end:
                break
        if self._done < len(self._pending):
            return False
        self.directions = np.concatenate(self._found)
        self.points = self._pending
        return True


@dataclass(frozen=True, slots=True)
class Reading:
    """Loss and gradient (size,) at the point (a, b) of the plane."""

    a: float
    b: float
    loss: float
    gradient: Float64
    norm: float


class ProbeJob:
    """What the mouse points at: ``reading`` when done."""

    def __init__(self, objective: Objective, plane: Plane, a: float, b: float) -> None:
        self.reading: Reading | None = None
        self._objective, self._plane = objective, plane
        self._a, self._b = a, b

    def advance(self, seconds: float) -> bool:
        """See gui.worker.Job."""
        point = self._plane.lift(self._a, self._b)
        loss = float(self._objective.value(point))
        gradient = np.asarray(self._objective.gradient(point), dtype=np.float64)
        with np.errstate(all="ignore"):
            norm = float(np.linalg.norm(gradient))
        self.reading = Reading(self._a, self._b, loss, gradient, norm)
        return True


class PreviewJob:
    """The first steps of the run from another start: ``path`` (steps, size), growing while the job works."""

    def __init__(self, experiment: Experiment, start: Float64) -> None:
        self.start = start
        self.path: Float64 = start[None, :]
        self._experiment = experiment
        self._simulation: Simulation | None = None
        self._spent = 0.0

    def advance(self, seconds: float) -> bool:
        """See gui.worker.Job."""
        begin = time.perf_counter()
        if self._simulation is None:
            try:
                self._simulation = Simulation(self._experiment.replace(start=[float(x) for x in self.start]))
            except ExperimentError:
                # a start that cannot be used is told when it is let go of, not while it is dragged
                return True
        simulation = self._simulation
        simulation.advance(PREVIEW_STEPS - simulation.step, seconds)
        self.path = np.concatenate([simulation.history.path(), np.asarray(simulation.weights, np.float64)[None, :]])
        self._spent += time.perf_counter() - begin
        return bool(simulation.step >= PREVIEW_STEPS or simulation.trouble or self._spent > PREVIEW_SECONDS)
