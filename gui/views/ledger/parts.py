"""What the expected step is made of, above the ledger: with batch normalisation, the part through its statistics."""

from __future__ import annotations

import html

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QLabel, QWidget

from core.problems.objective import Objective
from core.simulation import Simulation
from core.simulation.gradient_parts import expected_parts
from gui.session import Session
from gui.theme import COMPUTED

Float64 = NDArray[np.float64]
SLOT = "gradient parts"


class PartsJob:
    """The parts of one step: ``parts`` when done (the worker alone may use the objective)."""

    def __init__(self, simulation: Simulation, step: int) -> None:
        self.step = step
        self.simulation = simulation
        self.parts: dict[str, Float64] | None = None

    def advance(self, seconds: float) -> bool:
        """See gui.worker.Job."""
        self.parts = expected_parts(self.simulation, self.step)
        return True


def has_parts(objective: Objective) -> bool:
    """Whether the gradient of this problem is made of parts."""
    return dict(getattr(objective, "options", {})).get("norm") == "batch"


def parts_html(parts: dict[str, Float64], part: slice) -> str:
    """One line a part: its length, and how much of it lies along their sum."""
    total = np.sum([vector[part] for vector in parts.values()], axis=0)
    length = float(np.linalg.norm(total))
    lines = []
    for name, vector in parts.items():
        size = float(np.linalg.norm(vector[part]))
        along = float(vector[part] @ total) / length if length > 0 else 0.0
        lines.append(
            f"<tr><td>{html.escape(name)}&nbsp;&nbsp;</td><td align='right'>‖ {size:.4g} ‖&nbsp;&nbsp;</td>"
            f"<td align='right'>{along:+.4g}</td></tr>"
        )
    lines.append(
        f"<tr><td style='color:{COMPUTED}'>= −lr·g&nbsp;&nbsp;</td><td align='right'>‖ {length:.4g} ‖&nbsp;&nbsp;</td>"
        f"<td align='right'>{length:+.4g}</td></tr>"
    )
    return "<table>" + "".join(lines) + "</table>"


class PartsLine(QLabel):
    """Hidden for problems whose gradient has no parts; otherwise filled by the worker for the step shown."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._job: PartsJob | None = None
        self._known: PartsJob | None = None
        """The last one that is done."""
        self._wanted = 0
        self._part = slice(None)
        self.setObjectName("quiet")
        self.setContentsMargins(8, 0, 8, 0)
        self.setAccessibleName(self.tr("What the expected step is made of"))
        self.setToolTip(
            self.tr(
                "Batch normalisation: the gradient with mean and variance of the batch held constant, and what flows "
                "through them. Length of −lr times each part, and its amount along −lr·g; they add up to −lr·g."
            )
        )
        self.setVisible(False)
        session.engine.worked.connect(self._on_worked)

    def parts(self) -> dict[str, Float64]:
        """The parts shown."""
        return {} if self._known is None or self._known.parts is None else self._known.parts

    def show_step(self, step: int, part: slice) -> None:
        """Have the parts of another step shown, restricted to ``part`` of the weights."""
        simulation = self._session.current.simulation
        if not has_parts(simulation.objective) or step >= simulation.history.count:
            self._job = self._known = None
            self.setVisible(False)
            return
        self._wanted = step
        job, engine = self._job, self._session.engine
        same = job is not None and job.simulation is simulation and job.step == step
        if part != self._part:
            self._part = part
            self._write()
        if not same and not engine.works_on(SLOT):
            self._job = PartsJob(simulation, step)
            engine.submit(SLOT, self._job)

    @Slot(str, object, bool)
    def _on_worked(self, slot: str, job: QObject, done: bool) -> None:
        if slot != SLOT or job is not self._job or self._job is None:
            return
        self._known = self._job
        self._write()
        if self._job.step != self._wanted:
            # another step was chosen meanwhile
            self.show_step(self._wanted, self._part)

    def _write(self) -> None:
        parts = self.parts()
        if parts and self._known is not None:
            heading = self.tr("Gradient of step {0}, times −lr").format(self._known.step)
            self.setText(f"{html.escape(heading)}<br>{parts_html(parts, self._part)}")
        self.setVisible(bool(parts))
