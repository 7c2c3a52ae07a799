"""Heat maps: a weight matrix as cells, one colour scale for all panels or one written under each."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from gui.theme import Theme
from gui.views.vectors.axis import PanelAxis
from gui.views.vectors.chart import MOST_PANELS, Chart
from gui.views.vectors.panels import Panel, PanelScale

COLORS = 255
"""An odd number: zero has a colour of its own. Index COLORS is that of values which are not finite."""
BAR_PIXELS = 10
BAR_REACH = 1.2
# negative, zero (the card's own colour), positive: told apart by colour-blind people, and neither of the two colours
# that mean computed and applied
NEGATIVE_DARK, POSITIVE_DARK = ("#1fd3b0", "#0d5f58"), ("#f07ad0", "#6b2a66")
NEGATIVE_LIGHT, POSITIVE_LIGHT = ("#00594d", "#7cc4b8"), ("#7a0f6a", "#e0a0d4")


class HeatChart(Chart):
    """Cells in the order of the matrix: row 0 at the top, column 0 at the left."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.shape = (1, 1)
        self.images: list[pg.ImageItem] = []
        self.bar_axes: list[PanelAxis] = []
        self._bar_plots: list[pg.PlotItem] = []
        self._bars: list[pg.ImageItem] = []
        self._frames: list[tuple[pg.PlotCurveItem, pg.PlotCurveItem]] = []
        self._selected: int | None = None
        for column in range(MOST_PANELS):
            self._build(column)
        for column in range(MOST_PANELS):
            self._build_bar(column)
        self.ci.layout.setRowStretchFactor(0, 1)
        self.ci.layout.setVerticalSpacing(2)
        self.restyle(theme)

    def _build(self, column: int) -> None:
        plot = self.add_plot(0, column, {})
        self.add_title(plot)
        plot.getViewBox().invertY(True)
        plot.hideAxis("left")
        plot.hideAxis("bottom")
        image = pg.ImageItem(axisOrder="row-major")
        frames = (pg.PlotCurveItem(), pg.PlotCurveItem())
        for item in (image, *frames):
            plot.addItem(item, ignoreBounds=True)
        self.images.append(image)
        self._frames.append(frames)

    def _build_bar(self, column: int) -> None:
        axis = PanelAxis("bottom")
        axis.setStyle(tickLength=-3)
        bar_plot = self.add_plot(1, column, {"bottom": axis})
        bar_plot.hideAxis("left")
        bar_plot.setMaximumHeight(BAR_PIXELS + 20)
        bar_plot.setMinimumHeight(BAR_PIXELS + 20)
        ramp = pg.ImageItem(np.arange(COLORS, dtype=np.uint8)[np.newaxis], axisOrder="row-major")
        bar_plot.addItem(ramp, ignoreBounds=True)
        bar_plot.getViewBox().setYRange(0.0, 1.0, padding=0.0)
        self.bar_axes.append(axis)
        self._bar_plots.append(bar_plot)
        self._bars.append(ramp)

    def set_shape(self, shape: tuple[int, ...]) -> None:
        """The shape of the variable; more than two axes are laid out as (first, all others)."""
        rows = shape[0] if shape else 1
        self.shape = (rows, int(np.prod(shape[1:], dtype=int)))
        height, width = self.shape
        for image in self.images:
            image.setRect(-0.5, -0.5, width, height)
        for plot in self.plots[:MOST_PANELS]:
            plot.getViewBox().setRange(xRange=(-0.5, width - 0.5), yRange=(-0.5, height - 0.5), padding=0.0)

    def show_panels(self, panels: list[Panel], scale: PanelScale) -> None:
        reach = max(-scale.low, scale.high)
        end = scale.signed.place(reach)
        for index in range(MOST_PANELS):
            shown = index < len(panels)
            self.plots[index].setVisible(shown)
            self._bar_plots[index].setVisible(shown)
            if not shown:
                continue
            panel = panels[index]
            cells = color_indices(scale.drawn(index, panel.values), end).reshape(self.shape)
            self.images[index].setImage(cells, autoLevels=False, levels=(0, 255))
            self.images[index].setRect(-0.5, -0.5, self.shape[1], self.shape[0])
            self._bars[index].setRect(-end, 0.0, 2.0 * end, 1.0)
            self._bar_plots[index].getViewBox().setXRange(-BAR_REACH * end, BAR_REACH * end, padding=0.0)
            self.bar_axes[index].set_signed_scale(scale.signed, scale.factors[index])
        self.set_titles(panels, scale)

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        table = lookup_table(theme)
        for image in (*self.images, *self._bars):
            image.setLookupTable(table)
        for image in self._bars:
            image.setLevels((0, 255))
        for plot in self.plots[:MOST_PANELS]:
            plot.getViewBox().setBorder(pg.mkPen(theme.border))
        for hover, selected in self._frames:
            hover.setPen(pg.mkPen(theme.text))
            selected.setPen(pg.mkPen(theme.accent, width=2))

    def mark(self, hovered: int | None, selected: int | None) -> None:
        self._selected = selected
        for frames in self._frames:
            for frame, component in zip(frames, (hovered, selected), strict=True):
                if component is None:
                    frame.setData([], [])
                    continue
                y, x = divmod(component, self.shape[1])
                frame.setData(
                    np.array([x - 0.5, x + 0.5, x + 0.5, x - 0.5, x - 0.5]),
                    np.array([y - 0.5, y - 0.5, y + 0.5, y + 0.5, y - 0.5]),
                )

    def component_at(self, plot: int, place: QPointF) -> int | None:
        row, column = round(place.y()), round(place.x())
        height, width = self.shape
        return row * width + column if 0 <= row < height and 0 <= column < width else None

    def moved(self, key: int) -> int | None:
        steps = {Qt.Key.Key_Up: (-1, 0), Qt.Key.Key_Down: (1, 0), Qt.Key.Key_Left: (0, -1), Qt.Key.Key_Right: (0, 1)}
        step = steps.get(Qt.Key(key))
        if step is None or (self._selected is None and step[0] == 0):
            return None
        height, width = self.shape
        row, column = divmod(self._selected, width) if self._selected is not None else (0, 0)
        if self._selected is not None:
            row, column = row + step[0], column + step[1]
        return min(max(row, 0), height - 1) * width + min(max(column, 0), width - 1)


def color_indices(places: NDArray[np.float64], end: float) -> NDArray[np.uint8]:
    """Places between -end and end as colour indices, 0 in the middle; COLORS for what is not finite."""
    half = (COLORS - 1) // 2
    with np.errstate(all="ignore"):
        scaled = np.rint(np.clip(places / end, -1.0, 1.0) * half) + half
    return np.where(np.isfinite(places), scaled, COLORS).astype(np.uint8)


def lookup_table(theme: Theme) -> NDArray[np.uint8]:
    """(256, 4) RGBA: from the most negative over the card's colour (zero) to the most positive; warning for nan."""
    negative, positive = (NEGATIVE_DARK, POSITIVE_DARK) if theme.dark else (NEGATIVE_LIGHT, POSITIVE_LIGHT)
    stops = [negative[0], negative[1], theme.card, positive[1], positive[0]]
    values = np.array([QColor(stop).getRgb() for stop in stops], dtype=np.float64)
    table = np.empty((256, 4), dtype=np.uint8)
    places = np.linspace(0.0, 4.0, COLORS)
    for channel in range(4):
        table[:COLORS, channel] = np.rint(np.interp(places, np.arange(5), values[:, channel]))
    table[COLORS:] = QColor(theme.warning).getRgb()
    return table
