"""Has the worker work out what the gradient of a step is made of, for views that show it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal, Slot

from core.problems.objective import Objective
from core.simulation import Simulation
from core.simulation.gradient_parts import gradient_parts
from gui.session import Session

Float64 = NDArray[np.float64]


class PartsJob:
    """The parts of one step: ``parts`` when done (the worker alone may use the objective)."""

    def __init__(self, simulation: Simulation, step: int) -> None:
        self.step = step
        self.simulation = simulation
        self.parts: dict[str, Float64] | None = None

    def advance(self, seconds: float) -> bool:
        """See gui.worker.Job."""
        self.parts = gradient_parts(self.simulation, self.step)
        return True


def has_parts(objective: Objective) -> bool:
    """Whether the gradient of this problem is made of parts."""
    return dict(getattr(objective, "options", {})).get("norm") == "batch"


class PartsSource(QObject):
    """``ask`` for a step; ``found`` tells when the newest answer has changed."""

    found = Signal()

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._slot = f"gradient parts {id(self)}"
        self._job: PartsJob | None = None
        self._known: PartsJob | None = None
        """The last one that is done."""
        self._wanted = 0
        session.engine.worked.connect(self._on_worked)

    @property
    def step(self) -> int:
        """The step of the newest answer, -1 while there is none."""
        return -1 if self._known is None else self._known.step

    @property
    def parts(self) -> dict[str, Float64]:
        """Parts of the gradient of ``step``."""
        return {} if self._known is None or self._known.parts is None else self._known.parts

    def of(self, step: int) -> dict[str, Float64]:
        """The parts of ``step`` of the current run if they are known, else nothing."""
        known = self._known
        simulation = self._session.current.simulation
        return self.parts if known is not None and known.simulation is simulation and known.step == step else {}

    def ask(self, step: int) -> bool:
        """Have the parts of a step worked out; False when there are none to be had."""
        simulation = self._session.current.simulation
        if not has_parts(simulation.objective) or step >= simulation.history.count:
            self._job = self._known = None
            self._session.engine.cancel(self._slot)
            return False
        self._wanted = step
        job, engine = self._job, self._session.engine
        same = job is not None and job.simulation is simulation and job.step == step
        if not same and not engine.works_on(self._slot):
            self._job = PartsJob(simulation, step)
            engine.submit(self._slot, self._job)
        return True

    @Slot(str, object, bool)
    def _on_worked(self, slot: str, job: object, done: bool) -> None:
        if slot != self._slot or job is not self._job or self._job is None:
            return
        self._known = self._job
        self.found.emit()
        if self._job is not None and self._job.step != self._wanted:
            # another step was chosen meanwhile
            self.ask(self._wanted)
