"""Symbols at points, laid out in scene pixels like the curves and arrows beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph as pg
from pyqtgraph.graphicsItems.ScatterPlotItem import Symbols
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPen, QTransform


class SceneMarks(pg.ScatterPlotItem):
    """A scatter plot of few points in one symbol, drawn in scene coordinates.

    Its symbols are shapes of the same size at every zoom and in every export. A pyqtgraph scatter works out its
    bounds and which points are seen several times a frame, which takes far longer than drawing a handful.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        # no pictures of the symbols are made, in vector exports they become a strip of all symbols
        super().__init__(*args, useCache=False, **settings)

    def boundingRect(self) -> QRectF:
        seen = self.viewRect()
        return QRectF(seen) if seen is not None else super().boundingRect()

    def paint(self, painter: QPainter, *args: Any) -> None:
        if not len(self.data):
            return
        to_scene = self.sceneTransform()
        from_scene, possible = to_scene.inverted()
        if not possible:
            return
        pen = QPen(self.opts["pen"])
        pen.setCosmetic(False)
        size = float(self.opts["size"])
        symbol = QTransform.fromScale(size, size).map(Symbols[self.opts["symbol"]])
        painter.save()
        painter.setTransform(from_scene * painter.worldTransform())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(pen)
        painter.setBrush(self.opts["brush"])
        for x, y in zip(self.data["x"], self.data["y"], strict=True):
            if np.isfinite(x) and np.isfinite(y):
                place = to_scene.map(float(x), float(y))
                painter.drawPath(symbol.translated(*place))
        painter.restore()
