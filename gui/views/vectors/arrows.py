"""Arrows: for two weights, each panel a plane with the same scale in both directions."""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from gui.theme import Theme
from gui.views.vectors.axis import PanelAxis
from gui.views.vectors.chart import MOST_PANELS, Chart, small_font
from gui.views.vectors.panels import Panel, PanelScale
from gui.widgets.arrows import ArrowItem

MARGIN = 0.1
LEFT_ROOM = 54
BEYOND_OWN, BEYOND_SHARED = 14, 6
"""How far the labels below a panel may stand out where the next one has numbers at its left, and where not."""
NARROW_ROOM = 8
"""Of a panel that shares the axis of the first one."""


class ArrowsChart(Chart):
    """One arrow from the origin in each panel, and the computed one as a pale line beside the others while they
    share a scale.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.axes: list[tuple[PanelAxis, PanelAxis]] = []
        self.arrows: list[ArrowItem] = []
        self.shadows: list[ArrowItem] = []
        self._lines: list[pg.InfiniteLine] = []
        for column in range(MOST_PANELS):
            self._build(column)
        self.restyle(theme)

    def _build(self, column: int) -> None:
        bottom, left = PanelAxis("bottom"), PanelAxis("left")
        plot = self.add_plot(0, column, {"bottom": bottom, "left": left})
        self.add_title(plot, over_axis=True)
        for axis in (bottom, left):
            axis.setStyle(tickLength=-4)
        left.setWidth(LEFT_ROOM)
        plot.getViewBox().setAspectLocked(True)
        lines = [pg.InfiniteLine(0.0, angle=angle) for angle in (0, 90)]
        shadow, arrow = ArrowItem(width=1.5), ArrowItem(width=2.5)
        for item in (*lines, shadow, arrow):
            plot.addItem(item, ignoreBounds=True)
        self._lines += lines
        self.axes.append((bottom, left))
        self.shadows.append(shadow)
        self.arrows.append(arrow)

    def set_names(self, names: Sequence[str]) -> None:
        """Names of the two components."""
        for bottom, left in self.axes:
            bottom.setLabel(names[0])
            left.setLabel(names[1])
            # a label that is set is shown, also where the axis has been put away
            left.showLabel(left.maximumWidth() > NARROW_ROOM)
            for axis in (bottom, left):
                axis.label.setFont(small_font())

    def show_panels(self, panels: list[Panel], scale: PanelScale) -> None:
        reach = (1.0 + MARGIN) * max(-scale.low, scale.high)
        shared = len(set(scale.factors)) == 1
        for index, plot in enumerate(self.plots):
            plot.setVisible(index < len(panels))
            if index >= len(panels):
                continue
            panel = panels[index]
            self.arrows[index].set_arrows([0.0, 0.0], scale.drawn(index, panel.values), panel.color)
            if index and shared:
                pale = QColor(panels[0].color)
                pale.setAlpha(90)
                self.shadows[index].set_arrows([0.0, 0.0], panels[0].values, pale)
            else:
                self.shadows[index].clear()
            for axis in self.axes[index]:
                axis.set_signed_scale(scale.signed, scale.factors[index])
            self._own_axis(index, index == 0 or not shared)
            self.axes[index][0].set_beyond(BEYOND_SHARED if shared else BEYOND_OWN)
            plot.getViewBox().setRange(xRange=(-reach, reach), yRange=(-reach, reach), padding=0.0)
        self.set_titles(panels, scale)

    def _own_axis(self, index: int, own: bool) -> None:
        """Numbers at the left axis of a panel, or none where they are those of the first one."""
        left = self.axes[index][1]
        if (left.maximumWidth() > NARROW_ROOM) != own:
            left.setStyle(showValues=own)
            left.showLabel(own)
            left.setWidth(LEFT_ROOM if own else NARROW_ROOM)
            self.spread()

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        for line in self._lines:
            line.setPen(pg.mkPen(theme.border))
        for bottom, left in self.axes:
            for axis in (bottom, left):
                axis.setTextPen(pg.mkPen(theme.quiet))
                axis.label.setDefaultTextColor(QColor(theme.quiet))

    def left_room(self, panel: int) -> float:
        return float(self.axes[panel][1].maximumWidth())

    def component_at(self, plot: int, place: QPointF) -> int | None:
        """The axis closer to the mouse: 0 beside the horizontal one, 1 beside the vertical one."""
        return int(abs(place.y()) > abs(place.x()))

    def moved(self, key: int) -> int | None:
        return {Qt.Key.Key_Right: 0, Qt.Key.Key_Left: 0, Qt.Key.Key_Up: 1, Qt.Key.Key_Down: 1}.get(Qt.Key(key))
