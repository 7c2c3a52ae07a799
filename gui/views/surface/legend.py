"""The line below the picture that names its arrows, says how much they are magnified, and goes along into exports."""

from __future__ import annotations

from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QGraphicsSceneResizeEvent, QSizePolicy

from gui.theme import Theme

LINE_HEIGHT = 17.0
SWATCH = 16.0
GAP = 14.0
MARGIN = 4.0
FONT_PIXELS = 11
WIDEST = 1e6


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """``mark`` is 'arrow', 'dashes', 'stripes' or '' (text only); ``dim`` entries recede."""

    text: str
    mark: str = ""
    color: str = ""
    dim: bool = False
    tip: str = ""


@dataclass(frozen=True, slots=True)
class _Placed:
    """An entry as it is drawn: where it begins, and its words as far as there is room."""

    entry: LegendEntry
    x: float
    y: float
    text: str


class Legend(pg.GraphicsWidget):
    """Entries in a row, broken over as many lines as they need.

    The height follows the number of entries and the width, not the words that change from step to step, so that the
    picture above does not jump.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._entries: tuple[LegendEntry, ...] = ()
        self._placed: list[_Placed] = []
        self._lines = 0
        self.font = QFont()
        self.font.setPixelSize(FONT_PIXELS)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._set_lines(1)

    @property
    def entries(self) -> tuple[LegendEntry, ...]:
        """What is shown."""
        return self._entries

    @property
    def lines(self) -> int:
        """Over how many lines the entries are broken at most."""
        return self._lines

    def set_entries(self, entries: list[LegendEntry]) -> None:
        """Show these entries."""
        if tuple(entries) == self._entries:
            return
        same_number = len(entries) == len(self._entries)
        self._entries = tuple(entries)
        self._fit(least=self._lines if same_number else 1)
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Take over another theme's colours."""
        self._theme = theme
        self.update()

    def sizeHint(self, which: Qt.SizeHint, constraint: QSizeF | None = None) -> QSizeF:
        height = self._lines * LINE_HEIGHT + 2
        return QSizeF(WIDEST if which == Qt.SizeHint.MaximumSize else 100.0, height)

    def resizeEvent(self, event: QGraphicsSceneResizeEvent) -> None:
        super().resizeEvent(event)
        if event.newSize().width() != event.oldSize().width():
            self._fit(least=1)

    def _fit(self, least: int) -> None:
        self._place()
        last = self._placed[-1].y if self._placed else 0.0
        self._set_lines(max(least, 1 + round(last / LINE_HEIGHT)))

    def _set_lines(self, lines: int) -> None:
        if lines == self._lines:
            return
        self._lines = lines
        height = lines * LINE_HEIGHT + 2
        self.setMinimumHeight(height)
        self.setMaximumHeight(height)
        self.setPreferredHeight(height)
        self.updateGeometry()

    def _place(self) -> None:
        """Lay the entries out, once for many paints."""
        metrics = QFontMetricsF(self.font)
        width = self.rect().width()
        x, line = MARGIN, 0
        self._placed = []
        for entry in self._entries:
            mark = SWATCH + 4 if entry.mark else 0.0
            needed = mark + metrics.horizontalAdvance(entry.text)
            if x > MARGIN and x + needed > width:
                x, line = MARGIN, line + 1
            room = max(width - x - mark, 20.0)
            text = entry.text
            if needed - mark > room:
                text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
            self._placed.append(_Placed(entry, x, line * LINE_HEIGHT, text))
            x += needed + GAP

    def paint(self, painter: QPainter, *args: object) -> None:
        baseline = QFontMetricsF(self.font).ascent() + 2
        painter.setFont(self.font)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        plain, quiet = QColor(self._theme.text), QColor(self._theme.quiet)
        for placed in self._placed:
            entry = placed.entry
            self._paint_mark(painter, entry, placed.x, placed.y)
            painter.setPen(quiet if entry.dim else plain)
            painter.setOpacity(0.6 if entry.dim else 1.0)
            mark = SWATCH + 4 if entry.mark else 0.0
            painter.drawText(QPointF(placed.x + mark, placed.y + baseline), placed.text)
            painter.setOpacity(1.0)

    def _paint_mark(self, painter: QPainter, entry: LegendEntry, x: float, y: float) -> None:
        if not entry.mark:
            return
        middle = y + LINE_HEIGHT / 2
        color = QColor(entry.color)
        painter.setOpacity(0.45 if entry.dim else 1.0)
        if entry.mark == "stripes":
            painter.fillRect(QRectF(x, middle - 5, SWATCH, 10), color)
            painter.setPen(QPen(QColor(self._theme.border), 1))
            for offset in (2.0, 7.0, 12.0):
                painter.drawLine(QPointF(x + offset, middle + 5), QPointF(x + offset + 4, middle - 5))
        else:
            pen = QPen(color, 2.5 if entry.mark == "arrow" else 2.0)
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
            if entry.mark == "dashes":
                pen.setDashPattern([2.5, 1.5])
            painter.setPen(pen)
            painter.drawLine(QPointF(x, middle), QPointF(x + SWATCH, middle))
        painter.setOpacity(1.0)
