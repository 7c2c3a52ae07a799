"""Watches the losses of all runs and says once, in words, when one is no number although the run goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Slot

if TYPE_CHECKING:
    from core.simulation import Simulation
    from gui.run import Run
    from gui.session import Session


class FiniteWatch(QObject):
    """Looks at new rows only; a run that is taken back and goes wrong again is told of again."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._seen: dict[int, tuple[Simulation, int, bool]] = {}
        """Run -> its simulation, how many rows were looked at, and whether the last one was bad."""
        session.history_changed.connect(self._look)

    @Slot()
    def _look(self) -> None:
        self._seen = {run.id: self._seen[run.id] for run in self._session.runs if run.id in self._seen}
        for run in self._session.runs:
            self._look_at(run)

    def _look_at(self, run: Run) -> None:
        simulation, seen, bad = self._seen.get(run.id, (run.simulation, 0, False))
        count = run.history.count
        if simulation is not run.simulation or count < seen:
            seen, bad = 0, False
        losses = np.isfinite(run.history.scalar("loss")[seen:count])
        if len(losses):
            first = seen + int(np.argmin(losses))
            if not losses.all() and not bad and not run.simulation.trouble:
                self._tell(run, first)
            bad = not bool(losses[-1])
        self._seen[run.id] = (run.simulation, count, bad)

    def _tell(self, run: Run, step: int) -> None:
        # imported when there is something to trace: it brings the tape along
        from core.problems.non_finite import explain

        history, simulation = run.history, run.simulation
        gradient = history.gradient(step)
        loss = float(history.scalar("loss")[step])
        said = explain(simulation.objective_at(step), history.weights(step), loss, gradient)
        goes_on = self.tr("The steps follow the gradient all the same.") if np.isfinite(gradient).all() else ""
        name = f"{run.name}: " if len(self._session.runs) > 1 else ""
        self._session.message.emit(self.tr("{0}step {1}: {2} {3}").format(name, step, said, goes_on).strip(), "")
