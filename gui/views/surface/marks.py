"""Start and point of the step shown, to be dragged on the picture, with a preview of the run that would follow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QCoreApplication, QObject, Signal, Slot

from core.problems.lines import Line
from core.simulation import Simulation
from gui.theme import Theme
from gui.views.surface.drag_mark import DragMark
from gui.views.surface.jobs import PreviewJob
from gui.views.surface.layers import MarkLayer
from gui.views.surface.model import SurfaceModel
from gui.views.surface.moving import events_with, from_start, from_step, moved, numbers

Float64 = NDArray[np.float64]
SLOT = "surface preview"
MARKS_APART = 9.0
"""Pixels: a point that is nearer to the start leaves the mouse to it."""


class Marks(QObject):
    """The diamond begins the run elsewhere; the circle puts the weights of the step shown elsewhere, an event of the
    run, which is worked out again from there.
    """

    put = Signal()
    """One of them was let go of: something else has to be drawn."""

    def __init__(self, model: SurfaceModel, box: pg.ViewBox, layer: MarkLayer, parent: QObject) -> None:
        super().__init__(parent)
        self.model = model
        self.preview: PreviewJob | None = None
        self._layer = layer
        self._engine = model.session.engine
        self.start = DragMark(box, _tr("Start: drag it to begin the run elsewhere"), self)
        tip = _tr("The step shown: drag it to go on from elsewhere; the run is worked out again from this step")
        self.point = DragMark(box, tip, self, "o", 12, 12.0)
        for mark in (self.start, self.point):
            mark.snap = self._on_curve
        self.start.moving.connect(self._on_start_moving)
        self.start.dropped.connect(self.begin_at)
        self.point.moving.connect(self._on_point_moving)
        self.point.dropped.connect(self.go_on_from)
        self._engine.worked.connect(self._on_worked)

    def place(self, point: Float64, pixel: tuple[float, float]) -> None:
        """Show both where they belong, unless the user holds them."""
        start = self.model.start_place()
        with np.errstate(all="ignore"):
            apart = bool(np.hypot(*((point - start) / pixel)) > MARKS_APART)
        # over the start it would hide the diamond
        for mark, where, there in ((self.start, start, True), (self.point, point, apart)):
            if mark.held:
                continue
            finite = bool(np.isfinite(where).all())
            mark.item.setVisible(finite and there)
            if finite:
                mark.put(float(where[0]), float(where[1]))

    def hide(self) -> None:
        """Show neither."""
        for mark in (self.start, self.point):
            mark.item.setVisible(False)

    def restyle(self, theme: Theme) -> None:
        """Take over the theme's colours."""
        self.start.restyle(theme)
        self.point.restyle(theme)

    def _on_curve(self, a: float, b: float) -> tuple[float, float]:
        """Where a mark that is dragged to (a, b) may stand: on a curve, else anywhere."""
        curve = self.model.curve
        if self.model.line is None or curve is None:
            return a, b
        height = curve.height_at(self.model.curve_kind, a)
        return a, height if np.isfinite(height) else b

    def _moved(self, weights: Float64, a: float, b: float) -> Float64:
        assert self.model.cut is not None
        return moved(self.model.choice, self.model.cut, weights, a, b)

    @Slot(float, float)
    def begin_at(self, a: float, b: float) -> None:
        """Begin the run afresh from its starting weights moved to (a, b)."""
        self.end_preview()
        if self.model.cut is not None:
            self.model.session.rebuild(start=numbers(self._moved(self.model.start_weights(), a, b)))
            self.put.emit()

    @Slot(float, float)
    def go_on_from(self, a: float, b: float) -> None:
        """Let the step shown begin at (a, b)."""
        model = self.model
        self.end_preview()
        if model.cut is not None and model.step >= 0:
            run = model.session.current
            weights = self._moved(model.weights(), a, b)
            model.session.edit_events(run, events_with(run.events, model.step, weights))
            self.put.emit()

    @Slot(float, float)
    def nudge_point(self, da: float, db: float) -> None:
        """Move the point by keys."""
        if self.model.step > 0:
            self.point.nudge(da, db)

    @Slot(float, float)
    def _on_start_moving(self, a: float, b: float) -> None:
        if self.model.cut is not None:
            start = self._moved(self.model.start_weights(), a, b)
            self._submit(partial(from_start, self.model.session.current.simulation, start), 0, start)

    @Slot(float, float)
    def _on_point_moving(self, a: float, b: float) -> None:
        model = self.model
        if model.cut is not None and model.step >= 0:
            weights = self._moved(model.weights(), a, b)
            self._submit(partial(from_step, model.session.current.simulation, model.step, weights), model.step, weights)

    def _submit(self, make: Callable[[], Simulation], step: int, first: Float64) -> None:
        self._engine.submit(SLOT, PreviewJob(make, step, first))

    def end_preview(self) -> None:
        """Forget the preview."""
        self._engine.cancel(SLOT)
        self.preview = None
        self._layer.show_preview(np.empty(0), np.empty(0))

    @Slot(str, object, bool)
    def _on_worked(self, slot: str, job: object, done: bool) -> None:
        cut = self.model.cut
        if slot != SLOT or not isinstance(job, PreviewJob) or cut is None or not (self.start.held or self.point.held):
            return
        self.preview = job
        with np.errstate(all="ignore"):
            if isinstance(cut, Line):
                a, b = cut.project(job.path), self.model.heights(job.losses)
            else:
                a, b = cut.project(job.path)
        self._layer.show_preview(a, b)


def _tr(text: str) -> str:
    return QCoreApplication.translate("SurfaceView", text)
