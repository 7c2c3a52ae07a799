"""Curves laid out in scene pixels: of the same width at every zoom, also in vector exports, and exact far from 0."""

from __future__ import annotations

from typing import Any

import pyqtgraph as pg
from PySide6.QtGui import QPainter, QPen


class SceneCurve(pg.PlotCurveItem):
    """A PlotCurveItem that draws in scene coordinates instead of stretching the painter.

    A stretched painter needs pens of constant width, which SVG readers may not know, and Qt's SVG writer keeps six
    digits of the stretch, too few for curves far from the origin.
    """

    def paint(self, painter: QPainter, *args: Any) -> None:
        if self.xData is None or len(self.xData) < 2:
            return
        to_scene = self.sceneTransform()
        from_scene, possible = to_scene.inverted()
        if not possible:
            return
        pen = QPen(self.opts["pen"])
        pen.setCosmetic(False)
        painter.save()
        painter.setTransform(from_scene * painter.worldTransform())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, bool(self.opts["antialias"]))
        painter.setPen(pen)
        painter.drawPath(to_scene.map(self.getPath()))
        painter.restore()
