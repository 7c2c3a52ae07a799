"""The loss along a line as a curve: where it has no value, hatched stretches; thin lines from the arrows down to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter

from gui.theme import Theme
from gui.views.surface.curve import Curve, heights
from gui.views.surface.palette import stripe_colors
from gui.views.surface.step_arrows import StepArrows
from gui.widgets.curves import SceneCurve

Float64 = NDArray[np.float64]
LANE_PIXELS = 9.0


class GapItem(pg.GraphicsObject):
    """Hatched stretches of the horizontal axis, as high as the picture."""

    def __init__(self) -> None:
        super().__init__()
        self.gaps: Float64 = np.empty((0, 2))
        self.color = QColor("#808080")

    def set_gaps(self, gaps: Float64) -> None:
        """Hatch these stretches (k, 2)."""
        self.gaps = gaps
        self.prepareGeometryChange()
        self.update()

    def boundingRect(self) -> QRectF:
        seen = self.viewRect()
        return QRectF(seen) if seen is not None else QRectF()

    def viewTransformChanged(self) -> None:
        super().viewTransformChanged()
        self.prepareGeometryChange()
        self.update()

    def paint(self, painter: QPainter, *args: Any) -> None:
        seen, to_scene = self.boundingRect(), self.sceneTransform()
        from_scene, possible = to_scene.inverted()
        if not possible or not len(self.gaps):
            return
        painter.save()
        painter.setTransform(from_scene * painter.worldTransform())
        for left, right in self.gaps:
            stretch = QRectF(float(left), seen.top(), float(right - left), seen.height()).intersected(seen)
            painter.fillRect(to_scene.mapRect(stretch), QBrush(self.color, Qt.BrushStyle.BDiagPattern))
        painter.restore()


class CurveLayer:
    """The curve, its gaps, and guides that tie the arrows' ends to it."""

    def __init__(self, box: pg.ViewBox) -> None:
        self.curve = SceneCurve(antialias=True)
        self.guides = SceneCurve()
        self.gaps = GapItem()
        for z, item in ((0.5, self.gaps), (2.0, self.curve), (2.5, self.guides)):
            item.setZValue(z)
            box.addItem(item, ignoreBounds=True)

    def show(self, curve: Curve | None, kind: str) -> None:
        """Show a curve, or none."""
        if curve is None:
            self.curve.setData([], [])
            self.gaps.set_gaps(np.empty((0, 2)))
            self.guides.setData([], [])
            return
        self.curve.setData(curve.t, heights(kind, curve.losses))
        self.gaps.set_gaps(curve.gaps(kind))

    def show_guides(self, arrows: StepArrows | None, tips: tuple[Float64, Float64] | None, down_to: float) -> None:
        """From the point through the arrows' feet, and from the applied arrow's tip to the height ``down_to``."""
        if arrows is None or tips is None or not np.isfinite([*arrows.tails[1], *tips[1], down_to]).all():
            self.guides.setData([], [])
            return
        foot, tip = arrows.tails[1], tips[1]
        gap = np.nan
        self.guides.setData([foot[0], foot[0], gap, tip[0], tip[0]], [arrows.origin[1], foot[1], gap, tip[1], down_to])

    def restyle(self, theme: Theme) -> None:
        """Take over the theme's colours."""
        self.curve.setPen(pg.mkPen(theme.quiet, width=1.5))
        self.guides.setPen(pg.mkPen(theme.quiet, width=1, style=Qt.PenStyle.DotLine))
        self.gaps.color = QColor(stripe_colors(theme)[1])
        self.gaps.update()
