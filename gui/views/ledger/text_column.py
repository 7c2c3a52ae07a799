"""A column of texts that stand at the lines of a plot beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter


class TextColumn(pg.GraphicsWidget):
    """Texts at the heights 0, 1, 2 ... of a view box beside it, one colour each; the selected one is bold."""

    def __init__(self, alignment: Qt.AlignmentFlag) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.colors: list[QColor] = []
        self._alignment = alignment
        self._selected: int | None = None
        self._short: dict[tuple[str, float, bool], str] = {}
        self._box: pg.ViewBox | None = None

    def follow(self, box: pg.ViewBox) -> None:
        """Take the heights from this view box."""
        self._box = box
        box.sigResized.connect(self._moved)
        box.sigYRangeChanged.connect(self._moved)

    def _moved(self, *args: object) -> None:
        self.update()

    def set_texts(self, texts: Sequence[str], colors: Sequence[QColor], selected: int | None) -> None:
        """Show other texts."""
        self.texts, self.colors, self._selected = list(texts), list(colors), selected
        self.update()

    def set_selected(self, selected: int | None) -> None:
        """Another text is the bold one."""
        self._selected = selected
        self.update()

    def _elided(self, text: str, width: float, font: QFont) -> str:
        key = (text, width, font.bold())
        found = self._short.get(key)
        if found is None:
            if len(self._short) > 500:
                self._short.clear()
            metrics = QFontMetricsF(font)
            found = self._short[key] = metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
        return found

    def needed_width(self) -> float:
        """Width for the longest text."""
        metrics = QFontMetricsF(_bold(column_font()))
        return max((metrics.horizontalAdvance(text) for text in self.texts), default=0.0) + 10.0

    def setFixedWidth(self, width: float) -> None:
        """Room for the texts."""
        self.setMinimumWidth(width)
        self.setMaximumWidth(width)

    def paint(self, painter: QPainter, *args: Any) -> None:
        if self._box is None:
            return
        font = column_font()
        width = self.size().width() - 6.0
        top = self.mapFromScene(self._box.mapViewToScene(QPointF(0.0, 0.0))).y()
        pitch = self.mapFromScene(self._box.mapViewToScene(QPointF(0.0, 1.0))).y() - top
        for line, (text, color) in enumerate(zip(self.texts, self.colors, strict=True)):
            used = _bold(font) if line == self._selected else font
            painter.setFont(used)
            painter.setPen(color)
            y = top + line * pitch
            shown = self._elided(text, width, used)
            painter.drawText(QRectF(0.0, y - 10.0, width, 20.0), self._alignment | Qt.AlignmentFlag.AlignVCenter, shown)


def column_font() -> QFont:
    """The font of titles, amounts and ticks."""
    font = QFont()
    font.setPixelSize(11)
    return font


def _bold(font: QFont) -> QFont:
    bold = QFont(font)
    bold.setBold(True)
    return bold
