"""Bars: one line a component, the same line in every panel, names at the left."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QFontMetricsF
from PySide6.QtWidgets import QWidget

from gui.theme import Theme
from gui.views.vectors.axis import PanelAxis
from gui.views.vectors.chart import MOST_PANELS, Chart, small_font
from gui.views.vectors.panels import Panel, PanelScale
from gui.widgets.plot_text import TextsItem
from gui.widgets.signed_scale import tick_text

FEWEST_LINES = 4
"""Bars are no thicker than this many would be."""
VALUES_UP_TO = 10
"""With no more components than this, each bar has its value written beside it."""
VALUE_PIXELS = 48.0
EDGE_PIXELS = 4.0
TEXT_GAP = 6.0
LEAST_SHARE = 0.45
"""Bars give way to the values beside them while this share of the panel's width is left to them."""
LONGEST_NAME = 150.0
LINE_PIXELS = 13.0


class BarsChart(Chart):
    """Horizontal bars from zero; sorted and chosen by the view (``set_lines``)."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.lines: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        """Component of each line, from the top."""
        self._names: Sequence[str] = ()
        self._texts: list[str] = []
        self._room = 40.0
        self._given: tuple[list[Panel], PanelScale] | None = None
        self.names_axis = pg.AxisItem("left")
        self.axes: list[PanelAxis] = []
        self.bars: list[pg.BarGraphItem] = []
        self.values: list[TextsItem] = []
        self._zeros: list[pg.InfiniteLine] = []
        self._bands: list[tuple[pg.LinearRegionItem, pg.LinearRegionItem]] = []
        for column in range(MOST_PANELS):
            self._build(column)
        self.restyle(theme)
        self.plots[0].getViewBox().sigResized.connect(self._on_box)

    def _build(self, column: int) -> None:
        axis = PanelAxis("bottom")
        left = self.names_axis if column == 0 else pg.AxisItem("left")
        plot = self.add_plot(0, column, {"bottom": axis, "left": left})
        self.add_title(plot)
        plot.getViewBox().invertY(True)
        if column:
            plot.hideAxis("left")
            plot.setYLink(self.plots[0])
        left.setStyle(tickLength=0, tickAlpha=0)
        axis.setStyle(tickLength=-4)
        bands = (_band(), _band())
        zero = pg.InfiniteLine(0.0, angle=90)
        bar = pg.BarGraphItem(x0=[], x1=[], y=[], height=0.72, pen=None)
        texts = TextsItem()
        texts.font = small_font()
        for item in (*bands, zero, bar, texts):
            plot.addItem(item, ignoreBounds=True)
        self.axes.append(axis)
        self.bars.append(bar)
        self.values.append(texts)
        self._zeros.append(zero)
        self._bands.append(bands)

    def set_names(self, names: Sequence[str]) -> None:
        """Names of all components; the room at the left is made for the longest and stays."""
        self._names = names
        metrics = QFontMetricsF(small_font())
        # of thousands of names the longest in characters stands for the widest
        longest = sorted(names, key=len)[-8:]
        width = max((metrics.horizontalAdvance(name) for name in longest), default=0.0)
        self._room = min(width, LONGEST_NAME) + 10.0
        self.names_axis.setWidth(int(self._room))
        self._texts = []
        self.spread()

    def left_room(self, panel: int) -> float:
        return self._room if panel == 0 else 0.0

    def set_lines(self, lines: NDArray[np.intp]) -> None:
        """Which components to show, from the top down."""
        if np.array_equal(lines, self.lines) and self._texts:
            return
        self.lines = lines
        metrics = QFontMetricsF(small_font())
        self._texts = [metrics.elidedText(self._names[i], Qt.TextElideMode.ElideMiddle, LONGEST_NAME) for i in lines]
        height = max(len(lines), FEWEST_LINES)
        middle = (len(lines) - 1) / 2
        self.plots[0].getViewBox().setYRange(middle - height / 2, middle + height / 2, padding=0.0)
        self._place_names()

    def show_panels(self, panels: list[Panel], scale: PanelScale) -> None:
        self._given = (panels, scale)
        lines = self.lines
        places = np.arange(len(lines), dtype=np.float64)
        low, high = (float(x) for x in scale.signed.places([scale.low, scale.high]))
        before, behind = self._rooms(low, high)
        for index, plot in enumerate(self.plots):
            shown = index < len(panels)
            plot.setVisible(shown)
            if not shown:
                continue
            panel = panels[index]
            values = panel.values[lines]
            drawn = scale.drawn(index, values)
            # what is infinite reaches the edge of the panel, beyond everything that is finite
            drawn = np.clip(np.where(np.isnan(drawn), 0.0, drawn), low - before, high + behind)
            self.bars[index].setOpts(
                x0=np.zeros(len(lines)), x1=drawn, y=places, height=0.72, brush=QColor(panel.color), pen=None
            )
            self.axes[index].set_signed_scale(scale.signed, scale.factors[index])
            self.axes[index].set_reach(low, high)
            plot.getViewBox().setXRange(low - before, high + behind, padding=0.0)
            self._write(index, values, drawn, places)
        self.set_titles(panels, scale)

    def _rooms(self, low: float, high: float) -> tuple[float, float]:
        """Room before and behind the bars, in places: for the values written beside them if that leaves enough."""
        width = self.plots[0].getViewBox().width()
        before, behind = (VALUE_PIXELS if low < 0.0 else EDGE_PIXELS), VALUE_PIXELS
        if len(self.lines) > VALUES_UP_TO or width - before - behind < LEAST_SHARE * width:
            before = behind = EDGE_PIXELS
        place = (high - low) / max(width - before - behind, 1.0)
        return before * place, behind * place

    def _write(
        self, index: int, values: NDArray[np.float64], drawn: NDArray[np.float64], places: NDArray[np.float64]
    ) -> None:
        """Values beside the tips of the bars; where there is no room, on the other side of the zero."""
        if len(values) > VALUES_UP_TO:
            broken = ~np.isfinite(values)
            values, drawn, places = values[broken], drawn[broken], places[broken]
        box = self.plots[index].getViewBox()
        (left, right), _ = box.viewRange()
        pixel = (right - left) / max(box.width(), 1.0)
        metrics = QFontMetricsF(small_font())
        points, texts, sides = [], [], []
        for value, tip, place in zip(values.tolist(), drawn.tolist(), places.tolist(), strict=True):
            text = value_text(value)
            needed = (metrics.horizontalAdvance(text) + TEXT_GAP) * pixel
            side = -1 if tip < 0 else 1
            for at, towards in ((tip, side), (0.0, -side)):
                if left <= at + towards * needed <= right:
                    points.append((at, place))
                    texts.append(text)
                    sides.append(towards)
                    break
        self.values[index].set_texts(np.array(points).reshape(-1, 2), texts, sides, QColor(self.theme.text))

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.names_axis.setTextPen(pg.mkPen(theme.text))
        self.names_axis.setPen(pg.mkPen(None))
        for zero in self._zeros:
            zero.setPen(pg.mkPen(theme.quiet))
        for hover, selected in self._bands:
            for band, alpha in ((hover, 30), (selected, 60)):
                color = QColor(theme.accent)
                color.setAlpha(alpha)
                band.setBrush(color)

    def mark(self, hovered: int | None, selected: int | None) -> None:
        for bands in self._bands:
            for band, component in zip(bands, (hovered, selected), strict=True):
                found = np.flatnonzero(self.lines == component) if component is not None else ()
                band.setVisible(len(found) > 0)
                if len(found):
                    band.setRegion((float(found[0]) - 0.5, float(found[0]) + 0.5))

    def component_at(self, plot: int, place: QPointF) -> int | None:
        line = round(place.y())
        return int(self.lines[line]) if 0 <= line < len(self.lines) else None

    _selected: int | None = None

    def moved(self, key: int) -> int | None:
        if key not in (Qt.Key.Key_Up, Qt.Key.Key_Down) or not len(self.lines):
            return None
        found = np.flatnonzero(self.lines == self._selected) if self._selected is not None else ()
        if not len(found):
            return int(self.lines[0 if key == Qt.Key.Key_Down else -1])
        line = int(found[0]) + (1 if key == Qt.Key.Key_Down else -1)
        return int(self.lines[min(max(line, 0), len(self.lines) - 1)])

    def _on_box(self, *ignored: object) -> None:
        """The panels have another size: the room for names and for values is a number of pixels."""
        self._place_names()
        given = self._given
        if given is not None and given[0] and len(given[0][0].values) > self.lines.max(initial=-1):
            self.show_panels(*given)

    def _place_names(self) -> None:
        """As many names as have room, evenly spaced."""
        height = self.plots[0].getViewBox().height() if self.plots else 0.0
        lines = max(len(self._texts), FEWEST_LINES)
        every = max(1, int(np.ceil(LINE_PIXELS * lines / max(height, 1.0)))) if height > 0 else 1
        ticks = [(float(line), text) for line, text in enumerate(self._texts) if line % every == 0]
        self.names_axis.setTicks([ticks])


def value_text(value: float) -> str:
    """A value beside its bar: four digits."""
    if not np.isfinite(value):
        return "nan" if value != value else ("∞" if value > 0 else "\u2212∞")
    return tick_text(float(f"{value:.4g}"))


def _band() -> pg.LinearRegionItem:
    band = pg.LinearRegionItem(orientation="horizontal", movable=False, pen=pg.mkPen(None))
    band.setZValue(-10)
    band.setVisible(False)
    for line in band.lines:
        line.setPen(pg.mkPen(None))
    return band
