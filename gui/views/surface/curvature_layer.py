"""Curvature at the step shown, on demand: eigenvectors of the Hessian and the step of the quadratic model."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QColor

from core.problems.curvature import Spectrum, newton_step, spectrum_in_parts
from core.problems.planes import Plane
from core.simulation import Simulation
from gui.session import Session
from gui.theme import Theme
from gui.widgets.arrows import ArrowItem
from gui.widgets.numbers import shown_number

Float64 = NDArray[np.float64]
SLOT = "surface curvature"
REACH = 0.2
"""Length of an eigenvector that lies in the plane, as part of the smaller side of the picture."""
NEWTON_COLOR = "#f2c14e"
SHOWN = 2


@dataclass(frozen=True, eq=False)
class Curvature:
    """Extreme eigenvalues and unit eigenvectors at a point; ``newton`` (size,) is None where there is none."""

    values: Float64
    vectors: Float64
    newton: Float64 | None


class CurvatureJob:
    """Curvature of the whole-data loss before one step: ``found`` when done; None where it is not finite."""

    def __init__(self, simulation: Simulation, step: int) -> None:
        self.simulation = simulation
        self.step = step
        self.found: Curvature | None = None
        self._parts: Generator[None, None, Spectrum] | None = None

    def advance(self, seconds: float) -> bool:
        """See gui.worker.Job."""
        end = time.perf_counter() + seconds
        simulation = self.simulation
        weights = np.asarray(simulation.history.weights(self.step), dtype=np.float64)
        changed = any(event.target == "problem" for event in simulation.experiment.events)
        objective = simulation.objective_at(self.step) if changed else simulation.objective
        if self._parts is None:
            self._parts = spectrum_in_parts(objective, weights, count=1)
        try:
            while True:
                next(self._parts)
                if time.perf_counter() >= end:
                    return False
        except StopIteration as finished:
            spectrum: Spectrum = finished.value
        except (FloatingPointError, np.linalg.LinAlgError):
            return True
        try:
            newton = newton_step(spectrum, np.asarray(objective.gradient(weights), dtype=np.float64))
        except np.linalg.LinAlgError:
            # many weights, or a direction without curvature: the quadratic model has no stationary point to go to
            newton = None
        ends = [0, -1] if len(spectrum.values) > 1 else [0]
        self.found = Curvature(spectrum.values[ends], spectrum.vectors[ends], newton)
        return True


class CurvatureLayer(QObject):
    """Draws into the picture's box; asks the worker only while it is switched on."""

    changed = Signal()

    def __init__(self, session: Session, box: pg.ViewBox, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._box = box
        self.job: CurvatureJob | None = None
        self.known: CurvatureJob | None = None
        """The last one that is done."""
        self.axes = ArrowItem(width=1.5, head=8.0)
        self.newton = ArrowItem(width=2.0, head=10.0, dashed=True)
        self.texts = [pg.TextItem("", anchor=(0.5, 1.1)) for _ in range(SHOWN + 1)]
        for z, item in ((8.0, self.axes), (8.5, self.newton), *((12.0, text) for text in self.texts)):
            item.setZValue(z)
            box.addItem(item, ignoreBounds=True)
        session.engine.worked.connect(self._on_worked)
        self.restyle(theme)
        self.clear()

    def restyle(self, theme: Theme) -> None:
        """Take over the theme's colours."""
        self._color = "#ffffff" if theme.dark else "#101418"
        self.axes.set_halo(theme.card)
        self.newton.set_halo(theme.card)
        for text in self.texts:
            text.setColor(self._color)

    def clear(self) -> None:
        """Draw nothing and ask for nothing."""
        if self.job is not None:
            self._session.engine.cancel(SLOT)
            self.job = self.known = None
        self._hide()

    def _hide(self) -> None:
        self.axes.clear()
        self.newton.clear()
        for text in self.texts:
            text.setVisible(False)

    def show(self, plane: Plane, step: int, reach: tuple[float, float]) -> None:
        """Show the curvature of ``step``; ``reach`` is the size of the picture in plane coordinates."""
        simulation, engine = self._session.current.simulation, self._session.engine
        job = self.job
        # while a run goes on, the newest that is known is drawn where it belongs
        if job is None or job.simulation is not simulation or (job.step != step and not engine.works_on(SLOT)):
            self.job = CurvatureJob(simulation, step)
            engine.submit(SLOT, self.job)
        known = self.known
        there = known is not None and known.simulation is simulation and known.step < simulation.history.count
        if known is not None and there and known.found is not None:
            weights = np.asarray(simulation.history.weights(known.step), dtype=np.float64)
            self._draw(known.found, plane, weights, REACH * min(reach))
        else:
            self._hide()

    def _draw(self, found: Curvature, plane: Plane, weights: Float64, reach: float) -> None:
        place = np.array(plane.project(weights))
        inside = np.stack(plane.project_vector(found.vectors), axis=1) * reach
        tails = np.concatenate([place + 0 * inside, place + 0 * inside])
        self.axes.set_arrows(tails, np.concatenate([place + inside, place - inside]), QColor(self._color))
        for text, value, vector in zip(self.texts, found.values, inside, strict=False):
            text.setText(f"λ = {shown_number(value)}")
            self._put(text, place + vector)
        for k, text in enumerate(self.texts[:SHOWN]):
            text.setVisible(k < len(found.values) and bool(np.isfinite(place).all()))
        last = self.texts[SHOWN]
        last.setVisible(found.newton is not None)
        if found.newton is None:
            self.newton.clear()
            return
        tip = place + np.array(plane.project_vector(found.newton))
        self.newton.set_arrows(place, tip, NEWTON_COLOR)
        last.setText(self.tr("quadratic model"))
        self._put(last, tip)

    def _put(self, text: pg.TextItem, place: Float64) -> None:
        """Above ``place``, moved so far that nothing is cut at the picture's edge."""
        if not np.isfinite(place).all():
            text.setVisible(False)
            return
        (left, right), (bottom, top) = self._box.viewRange()
        room, size = self._box.rect(), text.boundingRect()
        width = size.width() * (right - left) / max(room.width(), 1.0)
        height = size.height() * (top - bottom) / max(room.height(), 1.0)
        x = min(max(float(place[0]), left + 0.52 * width), right - 0.52 * width)
        y = min(max(float(place[1]), bottom), top - 1.15 * height)
        text.setPos(x, y)

    @Slot(str, object, bool)
    def _on_worked(self, slot: str, job: object, done: bool) -> None:
        if slot == SLOT and job is self.job and done:
            self.known = self.job
            self.changed.emit()
