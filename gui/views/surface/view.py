"""The loss surface from above: colours, contours, path, the arrows of the step shown and the ledger between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QCoreApplication, QTimer, SignalInstance, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from gui.session import Session
from gui.theme import Theme
from gui.views.base import View
from gui.views.surface import words
from gui.views.surface.controls import LAYERS, SurfaceControls
from gui.views.surface.curvature_layer import CurvatureLayer
from gui.views.surface.cut import CutChoice, Region
from gui.views.surface.figure import SurfaceFigure
from gui.views.surface.layers import ArrowLayer, MarkLayer, PathLayer, PictureLayer
from gui.views.surface.legend import LegendEntry
from gui.views.surface.magnify import Magnification, choose
from gui.views.surface.model import SurfaceModel
from gui.views.surface.start_mark import StartMark
from gui.views.surface.step_arrows import StepArrows, arrows_of_step
from gui.views.surface.track import PathTrack
from gui.widgets.read_out import ReadOut

Float64 = NDArray[np.float64]
SETTLE_MILLISECONDS = 70


class SurfaceView(View):
    """Reads weights, expected and applied changes and ledger rows of the step shown, and the paths of all runs."""

    name = "surface"
    every_frame = True
    title = QCoreApplication.translate("SurfaceView", "Loss surface")

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.model = SurfaceModel.of(session)
        self.controls = SurfaceControls()
        self.canvas = SurfaceFigure(theme)
        self.canvas.setAccessibleName(self.tr("Loss surface"))
        self.canvas.setAccessibleDescription(
            self.tr("Wheel or + and - zoom, drag or Shift+arrows move, Alt+arrows move the start point, Home fits")
        )
        box = self.canvas.box
        self.picture_layer = PictureLayer(box)
        self.path_layer = PathLayer(box)
        self.mark_layer = MarkLayer(box)
        self.arrow_layer = ArrowLayer(box)
        self.curvature_layer = CurvatureLayer(session, box, theme, self)
        self.curvature_layer.changed.connect(self._on_refresh)
        self.start_mark = StartMark(box, self.tr("Start: drag it to begin the run elsewhere"), self)
        self._others: dict[int, tuple[PathTrack, PathLayer]] = {}
        self._mode, self._fixed = "auto", 1.0
        self._magnification: Magnification | None = None
        self._adopting = False
        self._reading_text = ""
        self._pointing = False
        self._plane_text = ""
        self.body.addWidget(self.controls)
        self.body.addWidget(self.canvas, 1)
        self._build_footer()
        self._settle = QTimer(self, singleShot=True, interval=SETTLE_MILLISECONDS)
        self._settle.timeout.connect(self._on_settled)
        self._connect()
        self.restyle()
        self._on_state(session.state)

    def _build_footer(self) -> None:
        """One line: what is under the mouse; without a mouse there, how far things are from the plane, or a hint."""
        self.footer = ReadOut()
        self.footer.set_role("quiet")
        self.footer.label.setContentsMargins(6, 0, 6, 0)
        self.footer.setAccessibleName(self.tr("Loss and gradient under the mouse, or distances from the plane"))
        self.body.addWidget(self.footer)

    def _show_footer(self) -> None:
        hint = words.hint() if self.model.plane is not None else ""
        self.footer.setText(self._reading_text or self._plane_text or hint)

    def _connect(self) -> None:
        controls, canvas = self.controls, self.canvas
        self._use_model(self.model)
        controls.arrows_changed.connect(self._on_arrow_size)
        controls.layer_changed.connect(self._on_layer)
        controls.start_entered.connect(self._start_from)
        canvas.pointed.connect(self._on_pointed)
        canvas.left.connect(self._on_left)
        canvas.nudged.connect(self.start_mark.nudge)
        canvas.box.sigRangeChanged.connect(self._on_range)
        canvas.box.sigRangeChangedManually.connect(self._on_range_by_hand)
        canvas.box.sigResized.connect(self._on_range)
        self.start_mark.moving.connect(self._on_start_moved)
        self.start_mark.dropped.connect(self._start_from)
        self.session.runs_changed.connect(self._on_refresh)
        self.session.state_changed.connect(self._on_state)

    def _links(self, model: SurfaceModel) -> list[tuple[SignalInstance, Callable[..., None]]]:
        controls = self.controls
        return [
            (model.cut_changed, self._on_cut),
            (model.home_changed, self._on_home),
            (model.picture_changed, self._on_picture),
            (model.field_changed, self._on_field),
            (model.probe_changed, self._on_reading),
            (model.preview_changed, self._on_preview),
            (controls.choice_changed, model.choose),
            (controls.cut_here, model.cut_here),
            (controls.kind_changed, model.set_kind),
            (controls.fit, model.go_home),
            (self.canvas.fit_wanted, model.go_home),
        ]

    def _use_model(self, model: SurfaceModel) -> None:
        if model is not self.model:
            for signal, receiver in self._links(self.model):
                signal.disconnect(receiver)
        self.model = model
        for signal, receiver in self._links(model):
            signal.connect(receiver)

    # the View contract --------------------------------------------------------------------------------------------

    def rebuild(self) -> None:
        objective = self.model.objective
        self.controls.set_problem(objective.component_names, "batch_size" in objective.values)
        self._magnification = None
        self.model.sync()
        self._on_cut()
        self._on_home()
        self._on_picture()

    def refresh(self) -> None:
        self.model.sync()
        self._draw()

    def restyle(self) -> None:
        theme = self.theme
        self.canvas.restyle(theme)
        self.picture_layer.restyle(theme)
        self.mark_layer.restyle(theme)
        self.arrow_layer.restyle(theme)
        self.curvature_layer.restyle(theme)
        self.start_mark.restyle(theme)
        self._on_cut()
        self._on_picture()

    def figure(self) -> QWidget:
        return self.canvas

    def options(self) -> dict[str, Any]:
        choice = self.model.choice
        return {
            "plane": [choice.kind, choice.first, choice.second, choice.seed],
            "region": list(self.model.region) if self.model.user_region else None,
            "scale": self.model.kind,
            "arrows": [self._mode, self._fixed],
            "layers": {name: self.controls.layer(name) for name in LAYERS},
        }

    def set_options(self, options: dict[str, Any]) -> None:
        if "scale" in options:
            self.model.set_kind(options["scale"])
        if "plane" in options:
            self.model.choose(CutChoice(*options["plane"]))
        if "arrows" in options:
            self._on_arrow_size(*options["arrows"])
        for name, on in options.get("layers", {}).items():
            if name != "swap":
                self.controls.actions_by_layer[name].setChecked(on)
        if options.get("region") is not None:
            self.canvas.set_region(Region(*options["region"]))
            self.model.user_region = True

    def prepare_export(self) -> None:
        # the user's own picture must not move because a figure has another shape
        self._use_model(SurfaceModel(self.session, self))

    def finish(self) -> None:
        self._on_settled()
        self.model.finish()

    # drawing ------------------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        """Everything that follows the step; the picture follows its own job."""
        model = self.model
        run = self.session.current
        self.path_layer.restyle(self.theme.run_color(run.color_index))
        if model.plane is None:
            self._draw_nothing()
            return
        step = model.step
        place = np.array(model.plane.project(model.weights()))
        track = model.track
        shown = track.before(step) if step >= 0 else 0
        self.path_layer.show(track.a, track.b, shown, place if step >= 0 else None)
        self.mark_layer.show_point(place)
        if not self.start_mark.held:
            self._place_start_mark()
        self._draw_others()
        arrows = arrows_of_step(model.plane, run.history, step) if step >= 0 else None
        self._draw_arrows(arrows)
        if step >= 0 and self.controls.layer("curvature"):
            left, right, bottom, top = (float(x) for side in self.canvas.box.viewRange() for x in side)
            self.curvature_layer.show(model.plane, step, (right - left, top - bottom))
        else:
            self.curvature_layer.clear()
        self._tell(place, arrows)

    def _draw_nothing(self) -> None:
        self.canvas.show_words(self.model.trouble)
        self.path_layer.show(np.empty(0), np.empty(0), 0, None)
        self.mark_layer.show_point(None)
        self.start_mark.item.setVisible(False)
        self._draw_arrows(None)
        self.curvature_layer.clear()
        self.note.setText("")
        self._plane_text = self._reading_text = ""
        self._show_footer()

    def _place_start_mark(self) -> None:
        assert self.model.plane is not None
        a, b = (float(x) for x in self.model.plane.project(self.model.start_weights()))
        finite = bool(np.isfinite(a) and np.isfinite(b))
        self.start_mark.item.setVisible(finite)
        if finite:
            self.start_mark.put(a, b)
            self.controls.set_start(self.model.plane.labels, a, b)

    def _draw_others(self) -> None:
        """The paths of other visible runs on the same weights, in their colours."""
        assert self.model.plane is not None
        current, size = self.session.current, self.model.plane.size
        wanted = {
            run.id: run
            for run in self.session.runs
            if run is not current and run.visible and run.history.size == size and self.controls.layer("runs")
        }
        for run_id in [known for known in self._others if known not in wanted]:
            self._others.pop(run_id)[1].remove(self.canvas.box)
        for run_id, run in wanted.items():
            if run_id not in self._others:
                self._others[run_id] = (PathTrack(), PathLayer(self.canvas.box))
            track, layer = self._others[run_id]
            track.update(run.history, self.model.plane)
            layer.restyle(self.theme.run_color(run.color_index))
            layer.show(track.a, track.b, len(track.a), None)

    def _draw_arrows(self, arrows: StepArrows | None) -> None:
        if arrows is None:
            self.arrow_layer.show(None, Magnification(), (1.0, 1.0))
            self.canvas.legend.set_entries(self._legend(None, Magnification(), []))
            return
        pixel = self.canvas.pixel()
        room = self.canvas.box.rect()
        with np.errstate(all="ignore"):
            computed, applied = (float(np.hypot(*(v / pixel))) for v in (arrows.computed, arrows.applied))
        size = choose(self._mode, computed, applied, min(room.width(), room.height()), self._magnification, self._fixed)
        self._magnification = size
        drawn = self.arrow_layer.show(arrows, size, pixel)
        self.arrow_layer.rows.setVisible(self.controls.layer("rows"))
        lengths = (size.computed * computed, size.applied * applied)
        self.canvas.legend.set_entries(self._legend(arrows, size, drawn, lengths))

    def _legend(
        self,
        arrows: StepArrows | None,
        size: Magnification,
        drawn: list[bool],
        pixels: tuple[float, float] = (0.0, 0.0),
    ) -> list[LegendEntry]:
        entries = words.picture_entries(self.model.picture, self.theme)
        entries += words.arrow_entries(arrows, size, pixels)
        if size.common and self.controls.layer("rows"):
            entries += words.row_entries(self.model, arrows, drawn)
        return entries + (words.field_entries() if self.model.field is not None else [])

    def _tell(self, place: Float64, arrows: StepArrows | None) -> None:
        self.canvas.show_words(words.sentence(self.model, place, self.canvas.region()))
        self.note.setText(words.note(self.model, self._magnification))
        self._plane_text = words.distances(self.model, arrows)
        self._show_footer()

    # what the model reports ---------------------------------------------------------------------------------------

    @Slot()
    def _on_cut(self) -> None:
        model = self.model
        self.controls.set_choice(model.choice)
        self.controls.set_kind(model.kind)
        self.canvas.set_labels(*(model.plane.labels if model.plane is not None else ("", "")))
        self._show_minima()
        self.mark_stale()

    def _show_minima(self) -> None:
        model = self.model
        minima = [minimum for minimum in model.objective.minima if len(minimum.x) == self.model.objective.size]
        if not minima or model.plane is None or not self.controls.layer("minima"):
            self.mark_layer.show_minima(np.empty(0), np.empty(0), [])
            return
        places = np.stack([minimum.x for minimum in minima])
        self.mark_layer.show_minima(*model.plane.project(places), [words.minimum_text(one) for one in minima])

    @Slot()
    def _on_home(self) -> None:
        self._adopting = True
        self.canvas.set_region(self.model.region)
        self._adopting = False
        self._settle.start()
        self.mark_stale()

    @Slot()
    def _on_picture(self) -> None:
        picture = self.model.picture
        self.picture_layer.show(picture)
        scale = None if picture is None else picture.scale
        self.canvas.set_scale(scale, words.scale_title(picture, self.model.batch_loss))
        self.mark_stale()

    @Slot()
    def _on_field(self) -> None:
        field = self.model.field
        if field is None:
            self.arrow_layer.clear_field()
        else:
            self.arrow_layer.show_field(field.points, field.directions, field.spacing)
        self.mark_stale()

    @Slot()
    def _on_reading(self) -> None:
        reading, plane = self.model.reading, self.model.plane
        if reading is None or plane is None or not self._pointing:
            return
        self._reading_text = words.reading_text(reading, plane)
        self._show_footer()

    @Slot()
    def _on_preview(self) -> None:
        preview, plane = self.model.preview, self.model.plane
        if preview is None or plane is None:
            self.mark_layer.show_preview(np.empty(0), np.empty(0))
            return
        with np.errstate(all="ignore"):
            a, b = plane.project(preview)
        self.mark_layer.show_preview(a, b)

    # what the user does -------------------------------------------------------------------------------------------

    @Slot(str, float)
    def _on_arrow_size(self, mode: str, factor: float) -> None:
        self._mode, self._fixed = mode, factor
        self._magnification = None
        self.mark_stale()

    @Slot(str, bool)
    def _on_layer(self, layer: str, on: bool) -> None:
        if layer == "contours":
            self.picture_layer.contours.setVisible(on)
        elif layer == "later":
            self.path_layer.show_later(on)
        elif layer == "field":
            self.model.want_field(on)
        elif layer == "equal":
            self.canvas.box.setAspectLocked(on, ratio=1.0)
            if not on:
                self._on_home()
        elif layer == "batch":
            self.model.set_batch_loss(on)
        elif layer == "minima":
            self._on_cut()
        self.mark_stale()

    @Slot()
    def _on_range(self) -> None:
        self._settle.start()
        self.mark_stale()

    @Slot()
    def _on_range_by_hand(self) -> None:
        if not self._adopting:
            self.model.user_region = True

    @Slot()
    def _on_settled(self) -> None:
        room = self.canvas.box.rect()
        self.model.look_at(self.canvas.region(), room.width(), room.height())

    @Slot(float, float)
    def _on_pointed(self, a: float, b: float) -> None:
        self._pointing = True
        self.model.probe(a, b)

    @Slot()
    def _on_left(self) -> None:
        self._pointing = False
        self._reading_text = ""
        self._show_footer()

    @Slot(float, float)
    def _on_start_moved(self, a: float, b: float) -> None:
        if self.model.plane is not None:
            self.model.preview_start(a, b)

    @Slot(float, float)
    def _start_from(self, a: float, b: float) -> None:
        if self.model.plane is None:
            return
        start = self.model.start_at(a, b)
        self.model.end_preview()
        self.session.rebuild(start=[float(x) for x in start])
        self.mark_stale()

    @Slot(str)
    def _on_state(self, state: str) -> None:
        smooth = state != "running"
        self.path_layer.set_smooth(smooth)
        self.picture_layer.contours.opts["antialias"] = smooth
        self.mark_stale()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._settle.start()
