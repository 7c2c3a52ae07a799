"""How far apart the two arithmetics are over the steps, on a logarithmic scale beside the length of the step."""

from __future__ import annotations

import math

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent
from PySide6.QtWidgets import QWidget

from core.simulation.other_arithmetic import OtherArithmetic
from gui.theme import APPLIED, Theme
from gui.widgets.readable import text_color

Float64 = NDArray[np.float64]
DIFFERENCE = "#d1495b"
HEIGHT = 150
LABEL_PIXELS = 22.0
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class DecadeAxis(pg.AxisItem):
    """A logarithmic axis with whole powers of ten only, as many as there is room for."""

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        first, last = math.ceil(min(minVal, maxVal)), math.floor(max(minVal, maxVal))
        stride = max(math.ceil((last - first + 1) * LABEL_PIXELS / max(size, 1.0)), 1)
        return [(1.0, [float(k) for k in range(first, last + 1) if k % stride == 0])]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        return ["1" if value == 0.0 else f"10{str(round(value)).translate(_SUPERSCRIPTS)}" for value in values]


class DifferencePlot(pg.PlotWidget):
    """Both curves by step; a click shows the step under it. Where they agree to the last bit there is no difference to
    draw on this scale: the curve is broken there.
    """

    step_chosen = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent, axisItems={"left": DecadeAxis("left")})
        self.setFixedHeight(HEIGHT)
        self.setMouseTracking(True)
        self.setAccessibleName(self.tr("Difference over the steps"))
        self.setToolTip(
            self.tr(
                "How far apart what the two apply is, step by step, and how long this run's step is. Click: that step"
            )
        )
        plot = self.getPlotItem()
        plot.setMenuEnabled(False)
        plot.hideButtons()
        plot.setMouseEnabled(False, False)
        plot.setLogMode(False, True)
        for side in ("left", "bottom"):
            plot.getAxis(side).enableAutoSIPrefix(False)
        self.step_line, self.first_line = pg.InfiniteLine(angle=90), pg.InfiniteLine(angle=90)
        self.lengths, self.distances = pg.PlotDataItem(connect="finite"), pg.PlotDataItem(connect="finite")
        for item in (self.step_line, self.first_line):
            plot.addItem(item, ignoreBounds=True)
        for item in (self.lengths, self.distances):
            item.setDownsampling(auto=True, method="peak")
            item.setClipToView(True)
            plot.addItem(item)
        self.restyle(theme)

    def restyle(self, theme: Theme) -> None:
        """Take over a theme."""
        self.setBackground(theme.card)
        plot = self.getPlotItem()
        for side in ("left", "bottom"):
            axis = plot.getAxis(side)
            axis.setPen(theme.axis)
            axis.setTextPen(theme.quiet)
        plot.setLabel("bottom", self.tr("step"), color=theme.quiet)
        plot.setLabel("left", self.tr("length"), color=theme.quiet)
        self.lengths.setPen(pg.mkPen(APPLIED))
        self.distances.setPen(pg.mkPen(DIFFERENCE))
        self.distances.setSymbolPen(None)
        self.distances.setSymbolBrush(QColor(DIFFERENCE))
        self.step_line.setPen(pg.mkPen(theme.quiet))
        self.first_line.setPen(pg.mkPen(DIFFERENCE, style=Qt.PenStyle.DashLine))
        plot.setTitle(
            self.tr("<span style='color:{0}'>difference</span> and <span style='color:{1}'>applied Δw</span>").format(
                text_color(theme, "guard"), text_color(theme, "applied")
            ),
            size="9pt",
        )

    def show_lengths(self, other: OtherArithmetic, reached: int, cursor: int) -> None:
        """The steps compared so far; ``cursor`` is the step shown."""
        count = reached - other.start
        steps = np.arange(other.start, reached, dtype=np.float64)
        self._draw(self.lengths, steps, other.lengths[:count])
        # a difference between two steps that agree to the last bit is a point without neighbours
        self._draw(self.distances, steps, other.distances[:count], symbol="o" if count <= 200 else None, symbolSize=4)
        self.step_line.setValue(cursor)
        first = other.first_difference
        self.first_line.setVisible(first is not None)
        if first is not None:
            self.first_line.setValue(first)
        self.getPlotItem().setXRange(other.start, max(reached - 1, other.start + 1), padding=0.02)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Left: the step under the mouse."""
        if event.button() == Qt.MouseButton.LeftButton:
            place = self.getPlotItem().getViewBox().mapSceneToView(self.mapToScene(event.position().toPoint()))
            self.step_chosen.emit(max(round(place.x()), 0))
        event.accept()

    @staticmethod
    def _draw(item: pg.PlotDataItem, steps: Float64, values: Float64, **symbols: object) -> None:
        """Without what a logarithm has no place for."""
        drawable = np.isfinite(values) & (values > 0.0)
        if drawable.any():
            item.setData(steps, np.where(drawable, values, np.nan), **symbols)
        else:
            item.setData([], [])
