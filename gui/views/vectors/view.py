"""Computed and applied step side by side: arrows for two weights, bars for more, heat maps for matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QCoreApplication, Qt, QTimer, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QStackedWidget, QVBoxLayout, QWidget

from core.simulation.contrast import contrast
from core.simulation.history import History
from gui.session import Session
from gui.theme import APPLIED, COMPUTED, Theme, cause_color
from gui.views.base import View
from gui.views.vectors import words
from gui.views.vectors.arrows import ArrowsChart
from gui.views.vectors.bars import BarsChart
from gui.views.vectors.chart import Chart
from gui.views.vectors.controls import VectorControls
from gui.views.vectors.heat import HeatChart
from gui.views.vectors.order import OrderKeeper
from gui.views.vectors.panels import Panel, PanelScale, ScaleKeeper
from gui.widgets.read_out import ReadOut
from gui.widgets.steady import Pace

Float64 = NDArray[np.float64]
CHARTS: dict[str, type[Chart]] = {"arrows": ArrowsChart, "bars": BarsChart, "heat": HeatChart}
HEAT_FROM = 64
"""Matrices with at least this many weights are drawn as heat maps unless another form is chosen."""
NARROW = 420
"""Pixels of width below which the caption takes three lines."""
FRAME_SECONDS = 0.035
"""While running: arrows and bars are followed by eye well enough at this pace, and other views need the time too."""
TEXT_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of the flat vector that is shown: one variable, or everything (``name`` None)."""

    name: str | None
    part: slice
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of components."""
        return self.part.stop - self.part.start


class VectorsView(View):
    """Reads the expected and applied change and the ledger rows of the step shown."""

    name = "vectors"
    title = QCoreApplication.translate("VectorsView", "Vectors")

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.controls = VectorControls(self)
        self.header.insertWidget(2, self.controls.variable)
        self.header.addWidget(self.controls.button)
        self.stack = QStackedWidget()
        self.empty = QLabel(self.tr("No step has been taken yet.\nRun, or take one step, to see its vectors."))
        self.empty.setObjectName("quiet")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.stack.addWidget(self.empty)
        self.caption = ReadOut(lines=2)
        self.caption.set_alignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.caption.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.caption.setAccessibleName(self.tr("The vectors in words"))
        self.remark = ReadOut()
        self.remark.set_role("quiet")
        self.page = QWidget()
        page = QVBoxLayout(self.page)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(2)
        page.addWidget(self.stack, 1)
        page.addWidget(self.caption)
        page.addWidget(self.remark)
        self.body.addWidget(self.page, 1)
        self.charts: dict[str, Chart] = {}
        self.panels: list[Panel] = []
        self.scale: PanelScale | None = None
        self.kind = ""
        self.scope = Scope(None, slice(0, 0), ())
        self._names: tuple[str, ...] = ()
        self._shown_names: tuple[object, ...] = ()
        self._order = OrderKeeper()
        self._scales: dict[str, ScaleKeeper] = {
            "arrows": ScaleKeeper("separate", 10.0),
            "bars": ScaleKeeper("symlog"),
            # shades that differ by more cannot be told apart on one scale
            "heat": ScaleKeeper("separate", 5.0),
        }
        self._frames = Pace(FRAME_SECONDS)
        self._pace = Pace(TEXT_SECONDS)
        self._hovered: int | None = None
        self._exporting = False
        self.controls.changed.connect(self._on_choice)
        self.controls.variable_chosen.connect(self._on_variable)
        session.state_changed.connect(self._on_state)

    # the protocol of views --------------------------------------------------------------------------------------

    def rebuild(self) -> None:
        simulation = self.session.current.simulation
        layout = simulation.history.layout
        self._names = tuple(simulation.objective.component_names)
        if len(self._names) != layout.size:
            self._names = tuple(layout.component_names())
        texts = [f"{name}  {_shape_text(shape)}" for name, shape in zip(layout.names, layout.shapes, strict=True)]
        self.controls.set_variables(layout.names, texts)
        self._shown_names = ()
        self._hovered = None
        self._forget()

    def refresh(self) -> None:
        history = self.session.current.history
        self.controls.show_variable(self.session.selected_variable)
        if history.count == 0:
            self._show_empty()
            return
        running = self.session.state == "running"
        if not self._frames.due(running):
            QTimer.singleShot(self._frames.wait(), self, self._on_refresh)
            return
        step = min(self.session.cursor, history.count - 1)
        self._choose_scope(history)
        self.panels = self._make_panels(history, step)
        self._draw()
        if self._pace.due(running):
            self._tell()
        else:
            QTimer.singleShot(self._pace.wait(), self, self._on_refresh)
        self._frames.took()

    def restyle(self) -> None:
        for chart in self.charts.values():
            chart.restyle(self.theme)

    def options(self) -> dict[str, Any]:
        return dict(self.controls.values)

    def set_options(self, options: dict[str, Any]) -> None:
        self.controls.set_values(options)

    def prepare_export(self) -> None:
        self._exporting = True
        self.page.layout().setContentsMargins(8, 6, 8, 6)
        self.page.setObjectName("figure")
        self.page.setStyleSheet(f"QWidget#figure {{ background: {self.theme.card}; }}")

    def figure(self) -> QWidget:
        return self.page

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # the same room whatever the caption says, but in a narrow card it takes another line
        lines = 3 if event.size().width() < NARROW else 2
        if lines != self.caption.lines:
            self.caption.lines = lines
            self.caption.updateGeometry()

    # what is shown ------------------------------------------------------------------------------------------------

    def _choose_scope(self, history: History) -> None:
        layout = history.layout
        name = self.session.selected_variable
        if name not in layout.names:
            name = layout.names[0] if layout.single else None
        if name is None:
            scope = Scope(None, slice(0, layout.size), (layout.size,))
        else:
            index = layout.names.index(name)
            scope = Scope(name, layout.slices[index], layout.shapes[index])
        if scope != self.scope:
            self.scope = scope
            self._forget()
        self.kind = self._choose_kind()

    def _choose_kind(self) -> str:
        scope = self.scope
        arrows, heat = scope.size == 2, len(scope.shape) >= 2 and scope.size > 1
        kind = self.controls.values["kind"]
        if kind == "arrows" and not arrows:
            kind = "auto"
        if kind == "heat" and not heat:
            kind = "auto"
        if kind == "auto":
            kind = "arrows" if arrows else "heat" if heat and scope.size >= HEAT_FROM else "bars"
        self.controls.offer(arrows, heat, kind == "bars")
        return kind

    def _make_panels(self, history: History, step: int) -> list[Panel]:
        part = self.scope.part
        with np.errstate(all="ignore"):
            expected = history.expected(step)[part]
            applied = history.applied(step)[part]
            panels = [
                Panel("computed", self.tr("computed −lr·g"), COMPUTED, expected),
                Panel("applied", self.tr("applied Δw"), APPLIED, applied),
            ]
            third = self.controls.values["third"]
            schema = history.schema(step)
            row = self.session.selected_row
            if third == "auto" and row in schema.names:
                k = schema.names.index(row)
                panels.append(Panel(row, schema.labels[k], cause_color(schema.causes[k]), history.rows(step)[k][part]))
            elif third != "none":
                panels.append(Panel("difference", self.tr("difference"), self.theme.quiet, applied - expected))
        return panels

    def _draw(self) -> None:
        running = self.session.state == "running"
        keeper = self._scales[self.kind]
        keeper.kind = self.controls.values["scale"]
        if self.kind == "arrows" and keeper.kind == "symlog":
            # a logarithmic scale would turn the arrows
            keeper.kind = "separate"
        chart = self._chart(self.kind)
        if isinstance(chart, BarsChart):
            self._order.order, self._order.most = self.controls.values["order"], self.controls.values["most"]
            chart.set_lines(self._order.update(self.panels[0].values, self.panels[1].values, running))
        self.scale = keeper.update(self.panels, running)
        chart.show_panels(self.panels, self.scale)
        self._mark()
        if self.stack.currentWidget() is not chart:
            self.stack.setCurrentWidget(chart)

    def _chart(self, kind: str) -> Chart:
        chart = self.charts.get(kind)
        if chart is None:
            chart = self.charts[kind] = CHARTS[kind](self.theme)
            chart.setAccessibleName(self.tr("Computed and applied step"))
            chart.setAccessibleDescription(self.tr("Arrow keys move the selected component, Escape lets it go"))
            chart.hovered.connect(self._on_hover)
            chart.chosen.connect(self._on_chosen)
            self.stack.addWidget(chart)
        key = (kind, self.scope, self._names)
        if key != self._shown_names:
            self._shown_names = key
            names = self._names[self.scope.part]
            if isinstance(chart, HeatChart):
                chart.set_shape(self.scope.shape)
            elif isinstance(chart, BarsChart | ArrowsChart):
                chart.set_names(names)
        return chart

    def _tell(self) -> None:
        scale = self.scale
        if scale is None or not self.panels:
            return
        found = contrast(self.panels[0].values, self.panels[1].values)
        self.note.setText(words.note(found), words.note(found, short=True))
        self.caption.setText(words.comparison(found))
        shown = self._hovered if self._hovered is not None else self._selected()
        if shown is not None and shown < self.scope.size and not self._exporting:
            self._say(words.component_words(self._component_name(shown), self.panels, shown))
            return
        text = words.scale_words(scale, self.panels, self.controls.values["scale"] == "auto")
        chart = self.charts.get(self.kind)
        if isinstance(chart, BarsChart) and len(chart.lines) < self.scope.size:
            text += " " + self.tr("The {0} largest of {1} weights.").format(len(chart.lines), self.scope.size)
        self._say(text)

    def _say(self, remark: str) -> None:
        """One line below the caption."""
        self.remark.setText(remark)

    def _component_name(self, index: int) -> str:
        name = self._names[self.scope.part.start + index]
        if self.kind == "heat" and len(self.scope.shape) >= 2:
            place = ", ".join(str(int(i)) for i in np.unravel_index(index, self.scope.shape))
            return f"{self.scope.name}[{place}]"
        return name

    def _show_empty(self) -> None:
        self.stack.setCurrentWidget(self.empty)
        self.panels, self.scale = [], None
        for label in (self.note, self.caption, self.remark):
            label.setText("")

    def _forget(self) -> None:
        """What was kept for calm belongs to another run or variable."""
        self._order.reset()
        for keeper in self._scales.values():
            keeper.reset()

    # selection ----------------------------------------------------------------------------------------------------

    def _selected(self) -> int | None:
        component = self.session.selected_component
        part = self.scope.part
        return component - part.start if component is not None and part.start <= component < part.stop else None

    def _mark(self) -> None:
        chart = self.charts.get(self.kind)
        if chart is not None:
            chart.mark(self._hovered, self._selected())

    @Slot(object)
    def _on_hover(self, component: int | None) -> None:
        self._hovered = component
        self._mark()
        self._tell()

    @Slot(object)
    def _on_chosen(self, component: int | None) -> None:
        flat = None if component is None or component == self._selected() else component + self.scope.part.start
        self.session.select(row=self.session.selected_row, variable=self.session.selected_variable, component=flat)

    @Slot(object)
    def _on_variable(self, name: str | None) -> None:
        self.session.select(row=self.session.selected_row, variable=name)

    @Slot()
    def _on_choice(self) -> None:
        self._forget()
        self.mark_stale()

    @Slot(str)
    def _on_state(self, state: str) -> None:
        self.mark_stale()


def _shape_text(shape: tuple[int, ...]) -> str:
    return "×".join(str(n) for n in shape) if shape else "1"
