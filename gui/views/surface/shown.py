"""What of the session the surface shows: problem, weights and vectors of the step, and where its run began."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject

from core.problems.objective import Objective
from core.simulation import Simulation
from gui.session import Session

Float64 = NDArray[np.float64]


class ShownStep(QObject):
    """Reads the session.

    The worker may put another history in place of a run's at any time (a run that is worked out again): all that is
    drawn in one go comes from the one that ``look`` found.
    """

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent or session)
        self.session = session
        self.history = session.current.history
        self._start: tuple[Simulation, Float64] | None = None
        self._start_loss: tuple[Objective, float] | None = None

    def look(self) -> None:
        """Take over the history of the run shown as it is now."""
        self.history = self.session.current.history

    @property
    def objective(self) -> Objective:
        """The problem of the current run."""
        return self.session.current.simulation.objective

    @property
    def step(self) -> int:
        """The step shown; -1 before the first one."""
        return min(self.session.cursor, self.history.count - 1)

    def weights(self) -> Float64:
        """The weights before the step shown, (size,)."""
        if self.step < 0:
            return self.start_weights()
        return self.history.weights(self.step)

    def tips(self) -> Float64:
        """Foot, computed and applied tip of the step shown, as vectors (3, size) from its weights."""
        history = self.history
        return np.stack([np.zeros(history.size), history.expected(self.step), history.applied(self.step)])

    def start_weights(self) -> Float64:
        """The weights the run began with, (size,)."""
        simulation = self.session.current.simulation
        if self._start is None or self._start[0] is not simulation:
            # asked for once: of a long run of a large model the first step is no longer in memory
            self.look()
            found = self.history.weights(0) if self.history.count else simulation.weights
            self._start = simulation, np.array(found, dtype=np.float64)
        return self._start[1]

    def start_loss(self) -> float:
        """The loss of the first step; before it is taken that of its weights on all data."""
        history = self.history
        if history.count:
            return float(history.scalar("loss")[0])
        if self._start_loss is None or self._start_loss[0] is not self.objective:
            with np.errstate(all="ignore"):
                self._start_loss = self.objective, float(self.objective.value(self.start_weights()))
        return self._start_loss[1]
