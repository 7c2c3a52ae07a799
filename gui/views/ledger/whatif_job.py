"""Asks the worker for the numbers behind the selected row, and for the step without it; keeps the answers."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot

from core.optim.worked import Worked, worked
from core.simulation import Simulation
from core.simulation.whatif import WhatIf, without
from gui.session import Session

MOST_KEPT = 64
Key = tuple[int, int, str, int, int]


class WhatIfJob:
    """Takes one step once more, with and without one row; the worker calls ``advance``.

    ``numbers`` are those of one weight, ``found`` the step without the row, where that is asked for.
    """

    def __init__(self, key: Key, simulation: Simulation, leave_out: bool) -> None:
        self.key = key
        self._simulation = simulation
        self._leave_out = leave_out
        self.numbers: Worked | None = None
        self.found: WhatIf | None = None
        self.trouble = ""

    def advance(self, seconds: float) -> bool:
        """All of it at once: the step and what lies between it and the checkpoint before it."""
        _, step, row, component, _ = self.key
        try:
            ledger = self._simulation.retake(step)
            self.numbers = worked(ledger, row, component)
            if self._leave_out:
                self.found = without(self._simulation, step, row, ledger)
        except (ArithmeticError, LookupError, RuntimeError, ValueError) as error:
            # said in the view, where it was asked for
            self.trouble = str(error) or type(error).__name__
        return True


class Counterfactuals(QObject):
    """``ask`` answers at once when it knows, else None and ``answered`` later."""

    answered = Signal()

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._slot = f"ledger {id(self)}"
        self._known: dict[Key, WhatIfJob] = {}
        self._asked: Key | None = None
        session.engine.worked.connect(self._on_worked)

    def ask(self, step: int, row: str, component: int, leave_out: bool) -> WhatIfJob | None:
        """The finished job for a row and a weight of a step of the current run, or None while it is worked out."""
        simulation = self._session.current.simulation
        key = (id(simulation), step, row, component, len(simulation.experiment.events))
        found = self._known.get(key)
        if found is None and key != self._asked:
            self._asked = key
            self._session.engine.submit(self._slot, WhatIfJob(key, simulation, leave_out))
        return found

    def forget(self) -> None:
        """Another run is current, or its past has changed."""
        self._known.clear()
        self._asked = None
        self._session.engine.cancel(self._slot)

    @Slot(str, object, bool)
    def _on_worked(self, slot: str, job: object, done: bool) -> None:
        if slot != self._slot or not isinstance(job, WhatIfJob) or not done:
            return
        while len(self._known) >= MOST_KEPT:
            self._known.pop(next(iter(self._known)))
        self._known[job.key] = job
        self._asked = None
        self.answered.emit()
