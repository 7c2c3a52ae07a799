"""What pyqtgraph has no item for: stacked areas, marks of live changes, a legend with the values of the step shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen, QPolygonF

Float64 = NDArray[np.float64]


class StackedArea(pg.GraphicsObject):
    """Shares on top of one another, each in its colour, the first at the bottom; gaps where a share is nan."""

    def __init__(self) -> None:
        super().__init__()
        self._polygons: list[tuple[QColor, QPolygonF]] = []
        self._bounds = QRectF()
        self.x: Float64 = np.empty(0)
        self.edges: Float64 = np.empty((1, 0))

    def set_data(self, x: Float64, shares: Float64, colors: Sequence[str]) -> None:
        """Steps (n,), shares (causes, n) in the units of the axis, a colour a cause."""
        self.prepareGeometryChange()
        self.x = x
        self.edges = np.zeros((len(shares) + 1, len(x)))
        np.cumsum(np.nan_to_num(shares), axis=0, out=self.edges[1:])
        self._polygons = []
        if len(x):
            place = x if len(x) > 1 else np.array([x[0] - 0.5, x[0] + 0.5])
            edges = self.edges if len(x) > 1 else np.repeat(self.edges, 2, axis=1)
            both = np.concatenate([place, place[::-1]])
            for k, color in enumerate(colors):
                if np.array_equal(edges[k], edges[k + 1]):
                    continue
                outline = np.concatenate([edges[k], edges[k + 1][::-1]])
                self._polygons.append((QColor(color), pg.functions.arrayToQPolygonF(both, outline)))
            self._bounds = QRectF(place[0], 0.0, max(place[-1] - place[0], 1e-9), max(float(self.edges.max()), 1e-9))
        self.update()

    def boundingRect(self) -> QRectF:
        return self._bounds

    def paint(self, painter: QPainter, *args: Any) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for color, polygon in self._polygons:
            painter.setBrush(color)
            painter.drawPolygon(polygon)


@dataclass(frozen=True, eq=False)
class Line:
    """One curve to draw: its points (nan: a gap), the means of reduced ones (or nothing), and its colour."""

    x: Float64
    y: Float64
    color: str
    mean_x: Float64 | None = None
    mean_y: Float64 | None = None


class Curves(pg.GraphicsObject):
    """All curves of a plot in one item. Where many steps fall on a pixel, their extremes stand back in a lighter
    colour and their mean is drawn over them; a value between two gaps is a dot.
    """

    BACK = 110
    DOT = 3.0

    def __init__(self) -> None:
        super().__init__()
        self.lines: tuple[Line, ...] = ()
        self._paths: list[tuple[QPen, QPainterPath]] = []
        self._dots: list[tuple[QColor, QPointF]] = []
        self._bounds = QRectF()
        self.setZValue(10)

    def set_lines(self, lines: Sequence[Line]) -> None:
        """The curves, the last one on top."""
        self.prepareGeometryChange()
        self.lines = tuple(lines)
        self._paths, self._dots = [], []
        self._bounds = QRectF()
        for line in self.lines:
            color = QColor(line.color)
            if line.mean_x is not None and line.mean_y is not None:
                color.setAlpha(self.BACK)
            path = pg.arrayToQPath(line.x, line.y, connect="finite")
            self._paths.append((_pen(color), path))
            if len(line.x):
                low, high = np.fmin.reduce(line.y), np.fmax.reduce(line.y)
                if low <= high:
                    width = max(line.x[-1] - line.x[0], 1e-9)
                    self._bounds = self._bounds.united(QRectF(line.x[0], low, width, max(high - low, 1e-300)))
            for k in _alone(line.y):
                self._dots.append((QColor(line.color), QPointF(line.x[k], line.y[k])))
            if line.mean_x is not None and line.mean_y is not None:
                mean = pg.arrayToQPath(line.mean_x, line.mean_y, connect="finite")
                self._paths.append((_pen(QColor(line.color)), mean))
        self.update()

    def boundingRect(self) -> QRectF:
        return self._bounds

    def dataBounds(self, *args: Any, **kwargs: Any) -> None:
        """Ranges are set by the plot itself."""

    def paint(self, painter: QPainter, *args: Any) -> None:
        # cosmetic pens count device pixels: on dense screens and exports a line keeps its weight
        density = max(painter.device().devicePixelRatioF(), 1.0)
        for pen, path in self._paths:
            pen.setWidthF(density)
            painter.setPen(pen)
            painter.drawPath(path)
        for color, point in self._dots:
            pen = QPen(color, self.DOT * density)
            pen.setCosmetic(True)
            pen.setCapStyle(Qt.PenCapStyle.RoundCap)
            painter.setPen(pen)
            painter.drawPoint(point)


def _pen(color: QColor) -> QPen:
    """One pixel wide at any magnification (and any density of an export)."""
    pen = QPen(color, 1.0)
    pen.setCosmetic(True)
    return pen


def _alone(y: Float64) -> NDArray[np.int64]:
    """Places of the finite values that have no finite neighbour (at most 200 of them)."""
    finite = np.isfinite(y)
    if finite.all() and len(y) > 1:
        return np.empty(0, dtype=np.int64)
    padded = np.concatenate([[False], finite, [False]])
    return np.flatnonzero(finite & ~padded[:-2] & ~padded[2:])[:200]


class Overlay(pg.GraphicsObject):
    """What lies over the curves, in one item, because each item costs more than what it draws: dotted lines where
    settings were changed (a band where a change went on for some steps), the line of the step shown, and a dot on
    each curve there. With ``flags`` a small triangle stands at the top of each change.
    """

    SIZE = 4.0
    DOT = 3.0

    def __init__(self) -> None:
        super().__init__()
        self.flags = False
        self.chosen = -1
        self.moving: float | None = None
        self.step = 0.0
        self.dots: list[tuple[float, QColor]] = []
        self._marks: list[tuple[float, float, QColor]] = []
        self._line = QPen()
        self._ring = QPen()
        self.setZValue(20)

    def set_colors(self, line: str, ground: str) -> None:
        """Colours of the line of the step shown and of the rings around the dots."""
        self._line, self._ring = QPen(QColor(line), 1.0), QPen(QColor(ground), 1.0)
        self.update()

    def set_marks(self, marks: Sequence[tuple[float, float, str]]) -> None:
        """(first step, last step, colour) of each change."""
        self._marks = [(first, last, QColor(color)) for first, last, color in marks]
        self.update()

    def set_chosen(self, chosen: int, moving: float | None = None) -> None:
        """Which of the changes is chosen (-1: none), and the step it is being moved to."""
        if (chosen, moving) != (self.chosen, self.moving):
            self.chosen, self.moving = chosen, moving
            self.update()

    def set_cursor(self, step: float, dots: Sequence[tuple[float, str]]) -> None:
        """The step shown, and (height in the view's units, colour) of the dots on its line."""
        colored = [(y, QColor(color)) for y, color in dots]
        if step == self.step and colored == self.dots:
            return
        self._update_around(self.step)
        self.step, self.dots = step, colored
        self._update_around(step)

    def _update_around(self, step: float) -> None:
        """Only the strip around the line: the curves elsewhere need not be painted again."""
        view = self.viewRect()
        pixel = self.pixelWidth()
        if view is None or not pixel:
            self.update()
            return
        reach = (self.DOT + 2.0) * pixel
        self.update(QRectF(step - reach, view.top(), 2.0 * reach, view.height()))

    def viewRangeChanged(self) -> None:
        self.prepareGeometryChange()

    def boundingRect(self) -> QRectF:
        view = self.viewRect()
        return QRectF() if view is None else QRectF(view)

    def dataBounds(self, *args: Any, **kwargs: Any) -> None:
        """Takes no part in automatic ranges."""

    def paint(self, painter: QPainter, *args: Any) -> None:
        view = self.viewRect()
        transform = painter.transform()
        painter.save()
        painter.resetTransform()
        # a view's y axis points upwards: its 'bottom' is the upper edge of the picture
        for index, (first, last, color) in enumerate(self._marks):
            if last < view.left() or first > view.right():
                continue
            top = transform.map(QPointF(first, view.bottom()))
            base = transform.map(QPointF(first, view.top()))
            if last > first:
                end = transform.map(QPointF(min(last, view.right()), view.top()))
                band = QColor(color)
                band.setAlpha(50)
                painter.fillRect(QRectF(top, end), band)
            chosen = index == self.chosen
            painter.setPen(
                QPen(color, 2.0 if chosen else 1.0, Qt.PenStyle.SolidLine if chosen else Qt.PenStyle.DotLine)
            )
            painter.drawLine(top, base)
            if self.flags:
                self._paint_flag(painter, top, color, chosen)
        if self.moving is not None and 0 <= self.chosen < len(self._marks):
            top = transform.map(QPointF(self.moving, view.bottom()))
            color = self._marks[self.chosen][2]
            painter.setPen(QPen(color, 2.0, Qt.PenStyle.DashLine))
            painter.drawLine(top, transform.map(QPointF(self.moving, view.top())))
            if self.flags:
                self._paint_flag(painter, top, color, True)
        if view.left() <= self.step <= view.right():
            painter.setPen(self._line)
            painter.drawLine(
                transform.map(QPointF(self.step, view.bottom())), transform.map(QPointF(self.step, view.top()))
            )
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            painter.setPen(self._ring)
            for y, color in self.dots:
                painter.setBrush(color)
                painter.drawEllipse(transform.map(QPointF(self.step, y)), self.DOT, self.DOT)
        painter.restore()

    def _paint_flag(self, painter: QPainter, top: QPointF, color: QColor, chosen: bool) -> None:
        size = 1.5 * self.SIZE if chosen else self.SIZE
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setPen(self._line if chosen else Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawPolygon(
            QPolygonF([top - QPointF(size, 0.0), top + QPointF(0.0, 1.6 * size), top + QPointF(size, 0.0)])
        )
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


class Legend(pg.GraphicsWidget):
    """Name and value of each curve at the step shown, in the curve's colour; what does not fit is counted."""

    WIDTH = 152
    """Pixels for the longest cause and its share."""

    def __init__(self, font: QFont, text: str, quiet: str) -> None:
        super().__init__()
        self._entries: list[tuple[str, str, str]] = []
        self._font = font
        self.below = 0.0
        """Height of the axis beside the lower end, which is kept free."""
        self.set_colors(text, quiet)
        self.setFixedWidth(self.WIDTH)
        self.setMinimumHeight(10)

    def set_colors(self, text: str, quiet: str) -> None:
        """Colours of values and of names."""
        self._text, self._quiet = QColor(text), QColor(quiet)
        self.update()

    @property
    def entries(self) -> list[tuple[str, str, str]]:
        """(name, value, colour) from top to bottom."""
        return self._entries

    def set_entries(self, entries: Sequence[tuple[str, str, str]]) -> None:
        """(name, value, colour) of each curve."""
        entries = list(entries)
        if entries != self._entries:
            self._entries = entries
            self.update()

    def paint(self, painter: QPainter, *args: Any) -> None:
        painter.setFont(self._font)
        metrics = QFontMetricsF(self._font)
        line = math.ceil(metrics.height())
        room = self.rect().adjusted(0.0, 0.0, 0.0, -self.below)
        fits = max(int(room.height() // line), 1)
        shown = self._entries if len(self._entries) <= fits else self._entries[: max(fits - 1, 1)]
        y = room.top()
        for name, value, color in shown:
            painter.fillRect(QRectF(room.left() + 4, y + line / 2 - 3.5, 7, 7), QColor(color))
            width = metrics.horizontalAdvance(value)
            painter.setPen(self._text)
            painter.drawText(QRectF(room.right() - width - 4, y, width + 2, line), Qt.AlignmentFlag.AlignVCenter, value)
            painter.setPen(self._quiet)
            space = room.width() - width - 26
            # names of runs that begin alike differ at their ends
            label = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, space)
            painter.drawText(QRectF(room.left() + 15, y, space, line), Qt.AlignmentFlag.AlignVCenter, label)
            y += line
        hidden = len(self._entries) - len(shown)
        if hidden and fits > 1:
            painter.setPen(self._quiet)
            painter.drawText(QRectF(room.left() + 15, y, room.width() - 19, line), 0, f"+ {hidden}")
