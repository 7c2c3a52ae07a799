"""Short texts at data coordinates, painted by one item: values beside bars, many at little cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import ArrayLike, NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

GAP = 5.0


class TextsItem(pg.GraphicsObject):
    """Texts at (x, y); ``sides`` +1 puts one right of its point, -1 left of it. A text that would leave the view
    changes sides when there is room on the other one.
    """

    def __init__(self) -> None:
        super().__init__()
        self._points: NDArray[np.float64] = np.empty((0, 2))
        self._texts: list[str] = []
        self._sides: list[int] = []
        self._colors: list[QColor] = []
        self.font = QFont()

    def set_texts(
        self, points: ArrayLike, texts: Sequence[str], sides: Sequence[int], colors: Sequence[QColor] | QColor
    ) -> None:
        """Show these texts at ``points`` (n, 2)."""
        self._points = np.asarray(points, dtype=np.float64).reshape(-1, 2)
        self._texts, self._sides = list(texts), list(sides)
        self._colors = [colors] * len(self._texts) if isinstance(colors, QColor) else list(colors)
        self.update()

    @property
    def texts(self) -> list[str]:
        """What is shown."""
        return self._texts

    def boundingRect(self) -> QRectF:
        seen = self.viewRect()
        return QRectF(seen) if seen is not None else QRectF()

    def viewTransformChanged(self) -> None:
        super().viewTransformChanged()
        self.prepareGeometryChange()
        self.update()

    def paint(self, painter: QPainter, *args: Any) -> None:
        if not self._texts:
            return
        to_scene = self.sceneTransform()
        from_scene, possible = to_scene.inverted()
        if not possible:
            return
        frame = to_scene.mapRect(self.boundingRect()).normalized()
        metrics = QFontMetricsF(self.font)
        painter.save()
        painter.setTransform(from_scene * painter.worldTransform())
        painter.setFont(self.font)
        for (x, y), text, side, color in zip(self._points, self._texts, self._sides, self._colors, strict=True):
            if not (np.isfinite(x) and np.isfinite(y)):
                continue
            place = to_scene.map(QPointF(float(x), float(y)))
            box = _box(place, metrics.horizontalAdvance(text), metrics.height(), side, frame)
            painter.setPen(color)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
        painter.restore()


def _box(place: QPointF, width: float, height: float, side: int, frame: QRectF) -> QRectF:
    """Where a text goes: beside its point, inside the frame."""

    def left_edge(which: int) -> float:
        return place.x() + GAP if which > 0 else place.x() - GAP - width

    left = left_edge(side)
    if not frame.left() <= left <= frame.right() - width:
        other = left_edge(-side)
        left = other if frame.left() <= other <= frame.right() - width else left
    left = min(max(left, frame.left()), max(frame.right() - width, frame.left()))
    return QRectF(left - 1.0, place.y() - height / 2, width + 2.0, height)
