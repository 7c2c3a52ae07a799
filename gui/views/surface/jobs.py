"""What the picture has worked out in the worker's thread: the grid, the gradient field, a probe, a preview run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.problems.lines import Line
from core.problems.objective import Objective
from core.problems.planes import Plane
from core.problems.surfaces import COARSEST, SurfaceEvaluator
from core.simulation import ExperimentError, Simulation
from gui.views.surface.cut import Region
from gui.views.surface.picture import Picture, make_picture

Float64 = NDArray[np.float64]
LEAST_CELLS, MOST_CELLS = 8, 40
ENOUGH_POINTS = 40
PIXELS_A_POINT = 2.5
WORK_SECONDS = 6.0
"""A picture that has taken so much work is not refined further."""
PREVIEW_STEPS = 400
PREVIEW_SECONDS = 0.2


def resolution(width: float, height: float) -> tuple[int, int]:
    """Points across and up of the finest grid for a picture of so many pixels; every coarser level is evenly spaced."""
    across, up = (
        int(np.clip(round(pixels / PIXELS_A_POINT / COARSEST), LEAST_CELLS, MOST_CELLS)) for pixels in (width, height)
    )
    return COARSEST * across + 1, COARSEST * up + 1


class GridJob:
    """Losses on a grid of the plane, coarse to fine, as pictures: ``picture`` is the finest so far."""

    def __init__(
        self, make_evaluator: Callable[[], SurfaceEvaluator], kind: str, known_minimum: float | None = None
    ) -> None:
        self.kind = kind
        self.picture: Picture | None = None
        # made in the worker: the evaluator looks into a cache that only one thread may touch
        self._make_evaluator = make_evaluator
        self._evaluator: SurfaceEvaluator | None = None
        self._known_minimum = known_minimum
        self._spent = 0.0

    def advance(self, seconds: float) -> bool:
        """See gui.worker.Job."""
        begin = time.perf_counter()
        if self._evaluator is None:
            self._evaluator = self._make_evaluator()
        before = self._evaluator.surface
        done = self._evaluator.advance(seconds)
        self._spent += time.perf_counter() - begin
        surface = self._evaluator.surface
        if surface is not None and (self.picture is None or surface is not before):
            # the next level takes about three times what all of them took so far
            enough = done or (len(surface.a) > ENOUGH_POINTS and 4 * self._spent > WORK_SECONDS)
            self.picture = make_picture(
                surface.plane, surface.a, surface.b, surface.values, self.kind, self._known_minimum, enough
            )
            return enough
        return done


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
    """Loss and gradient (size,) at the point (a, b) of the plane, or at ``a`` of the line."""

    a: float
    b: float
    loss: float
    gradient: Float64
    norm: float


class ProbeJob:
    """What the mouse points at, on a plane or a line: ``reading`` when done."""

    def __init__(self, objective: Objective, cut: Plane | Line, a: float, b: float) -> None:
        self.reading: Reading | None = None
        self._objective, self._cut = objective, cut
        self._a, self._b = a, b

    def advance(self, seconds: float) -> bool:
        """See gui.worker.Job."""
        cut = self._cut
        with np.errstate(all="ignore"):
            if isinstance(cut, Line):
                point = cut.lift(self._a)
                loss = float(self._objective.value(point))
            else:
                point = cut.lift(self._a, self._b)
                loss = float(self._objective.values_on(cut, self._a, self._b))
            gradient = np.asarray(self._objective.gradient(point), dtype=np.float64)
            norm = float(np.linalg.norm(gradient))
        self.reading = Reading(self._a, self._b, loss, gradient, norm)
        return True


class PreviewJob:
    """The first steps of a run that would go on from ``first``: ``path`` (steps, size) and the ``losses`` on it,
    growing while the job works. ``make`` makes the run, not begun, whose next step is ``step``.
    """

    def __init__(self, make: Callable[[], Simulation], step: int, first: Float64) -> None:
        self.path: Float64 = first[None, :]
        self.losses: Float64 = np.full(1, np.nan)
        self._make, self._step = make, step
        self._simulation: Simulation | None = None
        self._spent = 0.0

    def advance(self, seconds: float) -> bool:
        """See gui.worker.Job."""
        begin = time.perf_counter()
        if self._simulation is None:
            try:
                self._simulation = self._make()
            except ExperimentError:
                # a place that cannot be used is told when it is let go of, not while it is dragged
                return True
        simulation, last = self._simulation, self._step + PREVIEW_STEPS
        simulation.advance(last - simulation.step, seconds)
        taken = simulation.history.path(self._step)
        self.path = np.concatenate([taken, np.asarray(simulation.weights, np.float64)[None, :]])
        self.losses = np.append(simulation.history.scalar("loss")[self._step :], np.nan)
        self._spent += time.perf_counter() - begin
        return bool(simulation.step >= last or simulation.trouble or self._spent > PREVIEW_SECONDS)
