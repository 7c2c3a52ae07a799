"""The line below the picture that names its arrows, says how much they are magnified, and goes along into exports."""

from __future__ import annotations

from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QSizePolicy

from gui.theme import Theme

LINE_HEIGHT = 17.0
SWATCH = 16.0
GAP = 14.0
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


class Legend(pg.GraphicsWidget):
    """Entries in a row, broken over ``lines`` lines at most; the height never changes, so nothing jumps."""

    def __init__(self, theme: Theme, lines: int = 2) -> None:
        super().__init__()
        self._theme = theme
        self._lines = lines
        self._entries: tuple[LegendEntry, ...] = ()
        self.font = QFont()
        self.font.setPixelSize(FONT_PIXELS)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        height = lines * LINE_HEIGHT + 2
        self.setMinimumHeight(height)
        self.setMaximumHeight(height)
        self.setPreferredHeight(height)

    @property
    def entries(self) -> tuple[LegendEntry, ...]:
        """What is shown."""
        return self._entries

    def set_entries(self, entries: list[LegendEntry]) -> None:
        """Show these entries."""
        if tuple(entries) != self._entries:
            self._entries = tuple(entries)
            self.update()

    def set_theme(self, theme: Theme) -> None:
        """Take over another theme's colours."""
        self._theme = theme
        self.update()

    def sizeHint(self, which: Qt.SizeHint, constraint: QSizeF | None = None) -> QSizeF:
        height = self._lines * LINE_HEIGHT + 2
        return QSizeF(WIDEST if which == Qt.SizeHint.MaximumSize else 100.0, height)

    def paint(self, painter: QPainter, *args: object) -> None:
        metrics = QFontMetricsF(self.font)
        painter.setFont(self.font)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        width = self.rect().width()
        x, line = 4.0, 0
        for entry in self._entries:
            mark = SWATCH + 4 if entry.mark else 0.0
            needed = mark + metrics.horizontalAdvance(entry.text)
            if x > 4.0 and x + needed > width:
                x, line = 4.0, line + 1
                if line >= self._lines:
                    return
            y = line * LINE_HEIGHT
            self._paint_mark(painter, entry, x, y)
            painter.setPen(QColor(self._theme.quiet if entry.dim else self._theme.text))
            painter.setOpacity(0.6 if entry.dim else 1.0)
            text = metrics.elidedText(entry.text, Qt.TextElideMode.ElideRight, max(width - x - mark, 20.0))
            painter.drawText(QPointF(x + mark, y + metrics.ascent() + 2), text)
            painter.setOpacity(1.0)
            x += needed + GAP

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
