"""What bars, arrows and heat maps have in common: a row of plots with coloured titles, hover and click by component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QResizeEvent,
)
from PySide6.QtWidgets import QGraphicsView, QWidget

from gui.theme import Theme
from gui.views.vectors.panels import Panel, PanelScale
from gui.widgets.readable import readable

MOST_PANELS = 3
LEFT_MARGIN, RIGHT_MARGIN = 2.0, 14.0
"""At the right a tick label may reach beyond its panel."""


class Chart(pg.GraphicsLayoutWidget):
    """Up to three plots side by side. Subclasses fill them in ``show_panels`` and say which component is where."""

    hovered = Signal(object)
    """The component under the mouse (its index in the vectors shown), or None."""
    chosen = Signal(object)
    """The component clicked or moved to by key, or None."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        # a cached background would be a picture in exported vector files
        self.setCacheMode(QGraphicsView.CacheModeFlag.CacheNone)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.ci.setContentsMargins(LEFT_MARGIN, 0, RIGHT_MARGIN, 0)
        self.ci.setSpacing(8)
        self.plots: list[pg.PlotItem] = []
        self.titles: list[Title] = []
        self._shown = 0
        self._hover: object = None

    # for subclasses -------------------------------------------------------------------------------------------

    def show_panels(self, panels: list[Panel], scale: PanelScale) -> None:
        """Draw these panels."""

    def restyle(self, theme: Theme) -> None:
        """Take over a theme."""
        self.theme = theme
        self.setBackground(theme.card)
        for plot in self.plots:
            style_axes(plot, theme)

    def mark(self, hovered: int | None, selected: int | None) -> None:
        """Highlight a component in every panel."""

    def component_at(self, plot: int, place: QPointF) -> int | None:
        """The component at a place in view coordinates of plot ``plot``."""
        return None

    def moved(self, key: int) -> int | None:
        """The component an arrow key leads to from the selected one."""
        return None

    # plots ----------------------------------------------------------------------------------------------------

    def add_plot(self, row: int, column: int, axes: dict[str, pg.AxisItem]) -> pg.PlotItem:
        """A plot that neither pans nor zooms: what is shown is chosen by the view."""
        plot: pg.PlotItem = self.addPlot(row=row, col=column, axisItems=axes)
        plot.setMenuEnabled(False)
        plot.hideButtons()
        plot.setMouseEnabled(False, False)
        plot.getViewBox().setDefaultPadding(0.0)
        plot.getViewBox().disableAutoRange()
        plot.layout.removeItem(plot.titleLabel)
        plot.titleLabel.hide()
        self.plots.append(plot)
        return plot

    def add_title(self, plot: pg.PlotItem, over_axis: bool = False) -> None:
        """A title above ``plot``, in narrow panels above its left axis too."""
        title = Title()
        if over_axis:
            plot.layout.addItem(title, 0, 0, 1, 2)
        else:
            plot.layout.addItem(title, 0, 1)
        self.titles.append(title)

    def left_room(self, panel: int) -> float:
        """Pixels that the left axis of a panel takes."""
        return 0.0

    def spread(self) -> None:
        """Give every panel shown a picture of the same width."""
        shown = [i for i in range(min(MOST_PANELS, len(self.plots))) if self.plots[i].isVisible()]
        if not shown:
            return
        spacing = self.ci.layout.horizontalSpacing() * (MOST_PANELS - 1)
        room = self.viewport().width() - LEFT_MARGIN - RIGHT_MARGIN - spacing - sum(self.left_room(i) for i in shown)
        for i in range(MOST_PANELS):
            width = max(room / len(shown), 10.0) + self.left_room(i) if i in shown else 0.0
            self.ci.layout.setColumnFixedWidth(i, width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if hasattr(self, "titles"):
            self.spread()

    def set_titles(self, panels: Sequence[Panel], scale: PanelScale) -> None:
        """Titles in the colours of what they show; a magnification is written behind."""
        for index, panel in enumerate(panels):
            factor = scale.factors[index]
            text = panel.title if factor == 1.0 else f"{panel.title}  {factor_text(factor)}"
            # computed and applied are known by their signs and colours; a cause only by its whole name
            short = text.split(" ", 1)[-1] if panel.name in ("computed", "applied") else text
            self.titles[index].set_text(text, readable(panel.color, self.theme.card), short)
        if len(panels) != self._shown:
            self._shown = len(panels)
            self.spread()

    # mouse and keys -------------------------------------------------------------------------------------------

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        self._set_hover(self._component_under(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._set_hover(None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(self._component_under(event.position()))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        event.ignore()

    def event(self, event: QEvent) -> bool:
        # arrow keys belong to the chart while it has the focus and a component is selected, not to the transport
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and (event.key() == Qt.Key.Key_Escape or self.moved(event.key()) is not None)
        ):
            event.accept()
            return True
        return bool(super().event(event))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        target = self.moved(event.key())
        if target is not None:
            self.chosen.emit(target)
        elif event.key() == Qt.Key.Key_Escape:
            self.chosen.emit(None)
        else:
            super().keyPressEvent(event)

    def _component_under(self, position: QPointF) -> int | None:
        scene = self.mapToScene(position.toPoint())
        for index, plot in enumerate(self.plots[:MOST_PANELS]):
            box = plot.getViewBox()
            if plot.isVisible() and box.sceneBoundingRect().contains(scene):
                return self.component_at(index, box.mapSceneToView(scene))
        return None

    def _set_hover(self, component: int | None) -> None:
        if component != self._hover:
            self._hover = component
            self.hovered.emit(component)


class Title(pg.GraphicsWidget):
    """A line of text in the middle, shortened where room is short; it asks for no width of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.short, self._color = "", "", QColor()
        self._font = QFont()
        self._font.setPixelSize(12)
        self.setMinimumHeight(20)
        self.setMaximumHeight(20)

    def set_text(self, text: str, color: str, short: str = "") -> None:
        """Show another text; ``short`` where there is no room for it."""
        if (text, short, QColor(color)) != (self.text, self.short, self._color):
            self.text, self.short, self._color = text, short, QColor(color)
            self.update()

    def paint(self, painter: QPainter, *args: Any) -> None:
        painter.setFont(self._font)
        painter.setPen(self._color)
        metrics, room = QFontMetricsF(self._font), self.size().width()
        text = self.text if metrics.horizontalAdvance(self.text) <= room else self.short or self.text
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, shown)


def style_axes(plot: pg.PlotItem, theme: Theme) -> None:
    """Quiet axes in the theme's colours and the application's font, a little smaller."""
    font = small_font()
    for name in ("left", "bottom"):
        axis = plot.getAxis(name)
        axis.setPen(pg.mkPen(theme.border))
        axis.setTickPen(pg.mkPen(theme.border))
        axis.setTextPen(pg.mkPen(theme.quiet))
        axis.setTickFont(font)


def small_font() -> QFont:
    """The font of ticks and values."""
    font = QFont()
    font.setPixelSize(11)
    return font


def factor_text(factor: float) -> str:
    """'×250', '×1e+06' without its sign: '×1e6'."""
    if factor < 1e5:
        return f"×{factor:,.0f}"
    mantissa, exponent = f"{factor:.0e}".split("e")
    return f"×{mantissa}e{int(exponent)}"
