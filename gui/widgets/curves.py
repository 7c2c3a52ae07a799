"""Curves laid out in scene pixels: of the same width at every zoom, also in vector exports, and exact far from 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import ArrayLike, NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPainterPath, QPen, QTransform

Float64 = NDArray[np.float64]
NOTHING: Float64 = np.empty(0)


class SceneCurve(pg.GraphicsObject):
    """A line through points in the coordinates of the view it is added to, broken where one is not finite.

    It draws in scene coordinates instead of stretching the painter: a stretched painter needs pens of constant
    width, which SVG readers may not know, and Qt's SVG writer keeps six digits of the stretch, too few for curves
    far from the origin. A pyqtgraph curve would also work out its bounds anew for every frame, which costs more
    than drawing it.
    """

    def __init__(
        self, x: ArrayLike = NOTHING, y: ArrayLike = NOTHING, pen: QPen | None = None, antialias: bool = False
    ) -> None:
        super().__init__()
        self.antialias = antialias
        self.pen = QPen()
        self._x = self._y = NOTHING
        self._path: QPainterPath | None = None
        self._laid_out_for: QTransform | None = None
        self.setData(x, y)
        if pen is not None:
            self.setPen(pen)

    def setData(self, x: ArrayLike, y: ArrayLike) -> None:
        """Show the line through these points, each (n,)."""
        self._x, self._y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        self._path = None
        self.update()

    def getData(self) -> tuple[Float64, Float64]:
        """The points shown."""
        return self._x, self._y

    def setPen(self, pen: QPen) -> None:
        """Another colour, width (pixels) or pattern."""
        self.pen = QPen(pen)
        self.pen.setCosmetic(False)
        self.update()

    def boundingRect(self) -> QRectF:
        # all that can be seen: what is outside of it is not drawn anyway
        seen = self.viewRect()
        return QRectF(seen) if seen is not None else QRectF()

    def dataBounds(self, axis: int, frac: float = 1.0, orthoRange: Any = None) -> tuple[float | None, float | None]:
        """Extent along one axis, for views that fit their range to the contents."""
        values = (self._x, self._y)[axis]
        finite = values[np.isfinite(values)]
        return (float(finite.min()), float(finite.max())) if len(finite) else (None, None)

    def viewTransformChanged(self) -> None:
        super().viewTransformChanged()
        self.prepareGeometryChange()
        self.update()

    def paint(self, painter: QPainter, *args: Any) -> None:
        if len(self._x) < 2:
            return
        to_scene = self.sceneTransform()
        from_scene, possible = to_scene.inverted()
        if not possible:
            return
        painter.save()
        painter.setTransform(from_scene * painter.worldTransform())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, self.antialias)
        painter.setPen(self.pen)
        painter.drawPath(self._lay_out(to_scene))
        painter.restore()

    def _lay_out(self, to_scene: QTransform) -> QPainterPath:
        if self._path is None or self._laid_out_for != to_scene:
            # where a run has flown beyond all numbers the line breaks off
            with np.errstate(all="ignore"):
                x = to_scene.m11() * self._x + to_scene.m21() * self._y + to_scene.dx()
                y = to_scene.m12() * self._x + to_scene.m22() * self._y + to_scene.dy()
            self._path, self._laid_out_for = pg.arrayToQPath(x, y, connect="finite"), QTransform(to_scene)
        return self._path
