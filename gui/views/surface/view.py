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
from gui.views.surface.curve_layer import LANE_PIXELS, CurveLayer
from gui.views.surface.cut import CutChoice, Region
from gui.views.surface.figure import SurfaceFigure
from gui.views.surface.layers import ArrowLayer, MarkLayer, PathLayer, PictureLayer
from gui.views.surface.magnify import Magnification, choose
from gui.views.surface.marks import Marks
from gui.views.surface.model import SurfaceModel
from gui.views.surface.other_paths import OtherPaths
from gui.views.surface.step_arrows import StepArrows, arrows_of_step, arrows_on_line
from gui.widgets.read_out import ReadOut
from gui.widgets.steady import Pace

Float64 = NDArray[np.float64]
SETTLE_MILLISECONDS = 70
TEXT_SECONDS = 0.1
"""While a run goes on the numbers beside the picture change ten times a second: faster ones cannot be read."""


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
            self.tr(
                "Wheel or + and - zoom, drag or Shift+arrows move, Home fits; Alt+arrows move the start point, "
                "Alt+Shift+arrows the point of the step shown"
            )
        )
        box = self.canvas.box
        self.picture_layer = PictureLayer(box)
        self.path_layer = PathLayer(box)
        self.mark_layer = MarkLayer(box)
        self.arrow_layer = ArrowLayer(box)
        self.curvature_layer = CurvatureLayer(session, box, theme, self)
        self.curvature_layer.changed.connect(self._on_refresh)
        self.curve_layer = CurveLayer(box)
        self.marks = Marks(self.model, box, self.mark_layer, self)
        self.others = OtherPaths(box)
        self._mode, self._fixed = "auto", 1.0
        self._magnification: Magnification | None = None
        self._told: Magnification | None = None
        self._adopting = False
        self._reading_text = ""
        self._pointing = False
        self._plane_text = ""
        self._pace = Pace(TEXT_SECONDS)
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
        self.footer.setText(self._reading_text or self._plane_text or (words.hint() if self.model.cut else ""))

    def _connect(self) -> None:
        controls, canvas = self.controls, self.canvas
        self._use_model(self.model)
        controls.arrows_changed.connect(self._on_arrow_size)
        controls.layer_changed.connect(self._on_layer)
        controls.start_entered.connect(self.marks.begin_at)
        canvas.pointed.connect(self._on_pointed)
        canvas.left.connect(self._on_left)
        canvas.nudged.connect(self.marks.start.nudge)
        canvas.point_nudged.connect(self.marks.nudge_point)
        controls.points_button.menu().aboutToShow.connect(self._on_points)
        canvas.box.sigRangeChanged.connect(self._on_range)
        canvas.box.sigRangeChangedManually.connect(self._on_range_by_hand)
        canvas.box.sigResized.connect(self._on_range)
        self.marks.put.connect(self._on_refresh)
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
            (controls.choice_changed, model.ask_for),
            (controls.cut_here, model.cut_here),
            (controls.kind_changed, model.set_kind),
            (controls.fit, model.go_home),
            (self.canvas.fit_wanted, model.go_home),
        ]

    def _use_model(self, model: SurfaceModel) -> None:
        if model is not self.model:
            for signal, receiver in self._links(self.model):
                signal.disconnect(receiver)
        self.model = self.marks.model = model
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
        self.curve_layer.restyle(theme)
        self.marks.restyle(theme)
        self._on_cut()
        self._on_picture()

    def figure(self) -> QWidget:
        return self.canvas

    def options(self) -> dict[str, Any]:
        return {
            "plane": self.model.choice.plain([run.id for run in self.session.runs]),
            "region": list(self.model.region) if self.model.user_region else None,
            "scale": self.model.kind,
            "heights": self.model.curve_kind,
            "arrows": [self._mode, self._fixed],
            "layers": {name: self.controls.layer(name) for name in LAYERS},
        }

    def set_options(self, options: dict[str, Any]) -> None:
        self.model.kind = options.get("scale", self.model.kind)
        self.model.curve_kind = options.get("heights", self.model.curve_kind)
        if "plane" in options:
            self.model.choose(CutChoice.of(options["plane"], [run.id for run in self.session.runs]))
        self.model.recolor()
        if "arrows" in options:
            self._on_arrow_size(*options["arrows"])
        for name, on in options.get("layers", {}).items():
            if name not in ("swap", "slice"):
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
        if model.cut is None:
            self._draw_nothing()
            return
        step = model.step
        place = model.place()
        track = model.track
        shown = track.before(step) if step >= 0 else 0
        self.path_layer.show(track.a, model.up(track), shown, place if step >= 0 else None)
        self.mark_layer.show_point(place)
        self.marks.place(place, self.canvas.pixel())
        if not self.marks.start.held:
            self.controls.set_start(words.axis_labels(model), *model.start_place())
        self.others.show(model, self.theme, self.controls.layer("runs"))
        arrows = self._arrows(step, place)
        self._draw_arrows(arrows)
        if step >= 0 and model.plane is not None and self.controls.layer("curvature"):
            region = self.canvas.region()
            self.curvature_layer.show(model.plane, step, (region.width, region.height))
        else:
            self.curvature_layer.clear()
        self._tell(place, arrows)

    def _arrows(self, step: int, place: Float64) -> StepArrows | None:
        """The arrows of the step shown; along a line in lanes above one another, on the side that has room."""
        model, history = self.model, self.model.history
        if step < 0:
            return None
        if model.plane is not None:
            return arrows_of_step(model.plane, history, step)
        assert model.line is not None
        arrows = arrows_on_line(model.line, history, step, float(place[1]))
        lane, region = LANE_PIXELS * self.canvas.pixel()[1], self.canvas.region()
        room = (len(arrows.rows) + 3) * lane
        fits = place[1] + room <= region.top or place[1] - room < region.bottom
        return arrows.in_lanes(lane if fits else -lane)

    def _draw_nothing(self) -> None:
        self.canvas.show_words(self.model.trouble)
        self.path_layer.show(np.empty(0), np.empty(0), 0, None)
        self.mark_layer.show_point(None)
        self.marks.hide()
        self._draw_arrows(None)
        self.curvature_layer.clear()
        self.note.setText("")
        self._plane_text = self._reading_text = ""
        self._show_footer()

    def _draw_arrows(self, arrows: StepArrows | None) -> None:
        rows: list[bool] | None = [] if self.controls.layer("rows") else None
        if arrows is None:
            self.arrow_layer.show(None, Magnification(), (1.0, 1.0))
            self.curve_layer.show_guides(None, None, 0.0)
            self.canvas.legend.set_entries(words.legend(self.model, self.theme, None, Magnification(), rows))
            return
        pixel = self.canvas.pixel()
        room = self.canvas.box.rect()
        with np.errstate(all="ignore"):
            computed, applied = (float(np.hypot(*(v / pixel))) for v in (arrows.computed, arrows.applied))
        # along a line arrows have the whole width
        reach = room.width() if self.model.line is not None else min(room.width(), room.height())
        size = choose(self._mode, computed, applied, reach, self._magnification, self._fixed)
        self._magnification = size
        drawn = self.arrow_layer.show(arrows, size, pixel)
        self.arrow_layer.rows.setVisible(self.controls.layer("rows"))
        if self.model.curve is not None:
            tips = arrows.tips(size)
            self.curve_layer.show_guides(arrows, tips, self.model.curve.height_at(self.model.curve_kind, tips[1][0]))
        lengths = (size.computed * computed, size.applied * applied)
        rows = drawn if rows is not None else None
        self.canvas.legend.set_entries(words.legend(self.model, self.theme, arrows, size, rows, lengths))

    def _tell(self, place: Float64, arrows: StepArrows | None) -> None:
        self.canvas.show_words(words.sentence(self.model, place, self.canvas.region()))
        # how much the arrows are magnified is never said late
        if self._told != self._magnification or self._pace.due(self.session.state == "running"):
            self._told = self._magnification
            self.note.setText(words.note(self.model, self._magnification))
            self._plane_text = words.distances(self.model, arrows)
            self._show_footer()

    # what the model reports ---------------------------------------------------------------------------------------

    @Slot()
    def _on_cut(self) -> None:
        model = self.model
        line = model.line is not None
        self.controls.set_choice(model.choice)
        self.controls.set_kind(model.curve_kind if line else model.kind)
        self.canvas.set_labels(*words.axis_labels(model))
        self.canvas.show_as_curve(line, line and model.curve_kind == "log10")
        self.canvas.box.setAspectLocked(not line and self.controls.layer("equal"), ratio=1.0)
        self._show_minima()
        self.mark_stale()

    def _show_minima(self) -> None:
        model = self.model
        minima = [one for one in model.objective.minima if model.cut is not None and one.x.size == model.cut.size]
        # on a line they would rarely lie
        if model.plane is not None and minima and self.controls.layer("minima"):
            a, b = model.plane.project(np.stack([minimum.x for minimum in minima]))
            self.mark_layer.show_minima(a, b, [words.minimum_text(one) for one in minima])
        else:
            self.mark_layer.show_minima(np.empty(0), np.empty(0), [])

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
        self.curve_layer.show(self.model.curve, self.model.curve_kind)
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
        reading, cut = self.model.reading, self.model.cut
        if reading is not None and cut is not None and self._pointing:
            self._reading_text = words.reading_text(reading, cut)
            self._show_footer()

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

    @Slot()
    def _on_points(self) -> None:
        self.controls.points.show_points(self.session, self.model.choice.points)

    @Slot(str)
    def _on_state(self, state: str) -> None:
        smooth = state != "running"
        self.path_layer.set_smooth(smooth)
        self.picture_layer.contours.antialias = smooth
        self.arrow_layer.rows.antialias = smooth
        self.mark_stale()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._settle.start()
