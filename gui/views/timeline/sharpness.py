"""The largest curvature along the run, worked out in the worker between the steps while its plot is shown."""

from __future__ import annotations

import time
from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal, Slot

from core.problems.curvature import Spectrum, spectrum_in_parts
from core.problems.objective import Objective
from core.simulation import Simulation
from core.simulation.history import History
from gui.run import Run
from gui.session import Session
from gui.views.timeline.columns import Columns

Float64 = NDArray[np.float64]
SLOT = "sharpness"
SHARPNESS, LIMIT = "sharpness", "stability_limit"
EVERY_STEP = 64
"""Up to here every step is looked at; later ones in distances of 1/64 of their number, so that long runs end too."""


class SharpnessJob:
    """Eigenvalues of the steps from ``values`` on to the end of the history; ``values`` only grows.

    ``values[k]`` is the largest Hessian eigenvalue before step k; between the steps looked at it is interpolated.
    """

    def __init__(self, simulation: Simulation, history: History, values: Float64) -> None:
        self.values = values
        self.history = history
        self._simulation = simulation
        self._parts: Generator[None, None, Spectrum] | None = None
        self._objective: tuple[object, Objective] | None = None

    def advance(self, seconds: float) -> bool:
        """See gui.worker.Job."""
        end = time.perf_counter() + seconds
        while True:
            step = next_step(len(self.values))
            if step >= self.history.count:
                return True
            if self._parts is None:
                weights = np.asarray(self.history.weights(step), dtype=np.float64)
                self._parts = spectrum_in_parts(self._objective_at(step), weights, count=1)
            try:
                while True:
                    next(self._parts)
                    if time.perf_counter() >= end:
                        return False
            except StopIteration as finished:
                self._take(step, finished.value.sharpness)
            except (FloatingPointError, np.linalg.LinAlgError):
                # a run that diverged: nothing to draw there
                self._take(step, np.nan)
            if time.perf_counter() >= end:
                return False

    def _objective_at(self, step: int) -> Objective:
        events = [e for e in self._simulation.experiment.events if e.target == "problem" and e.step <= step]
        if self._objective is None or self._objective[0] != events:
            self._objective = (events, self._simulation.objective_at(step))
        return self._objective[1]

    def _take(self, step: int, value: float) -> None:
        self._parts = None
        old = self.values
        last = old[-1] if len(old) else value
        between = np.linspace(last, value, step - len(old) + 2)[1:]
        self.values = np.concatenate([old, between])


def next_step(done: int) -> int:
    """The step looked at after the steps 0 .. ``done`` - 1 are covered."""
    return done if done < EVERY_STEP else done - 1 + done // EVERY_STEP


def stability_limits(history: History) -> Float64:
    """2 / lr of every step, (count,): above it plain gradient descent is unstable (Cohen et al. 2021)."""
    rates = history.scalar("learning_rate")
    return np.divide(2.0, rates, out=np.full(len(rates), np.nan), where=rates > 0.0)


class SharpnessSource(QObject):
    """Keeps the two columns of the plot up to date for the current run."""

    grown = Signal()

    def __init__(self, session: Session, columns: Columns, parent: QObject) -> None:
        super().__init__(parent)
        self._session, self._columns = session, columns
        self._job: SharpnessJob | None = None
        session.engine.worked.connect(self._on_worked)

    def follow(self, run: Run) -> None:
        """Have what is missing for ``run`` worked out; returns at once."""
        history, engine = run.history, self._session.engine
        extra = self._columns.extra.setdefault(history, {})
        extra[LIMIT] = stability_limits(history)
        values = extra.get(SHARPNESS, np.empty(0))
        if next_step(len(values)) >= history.count:
            return
        if self._job is not None and self._job.history is history and engine.works_on(SLOT):
            return
        self._job = SharpnessJob(run.simulation, history, values)
        engine.submit(SLOT, self._job)

    def stop(self) -> None:
        """Nobody looks at it any more."""
        if self._job is not None:
            self._session.engine.cancel(SLOT)
            self._job = None

    @Slot(str, object, bool)
    def _on_worked(self, slot: str, job: object, done: bool) -> None:
        if slot != SLOT or job is not self._job or not isinstance(job, SharpnessJob):
            return
        extra = self._columns.extra.setdefault(job.history, {})
        before = len(extra.get(SHARPNESS, ()))
        extra[SHARPNESS] = job.values
        if len(job.values) > before:
            self.grown.emit()
