"""Arrows whose ends stand exactly at their data coordinates, with heads of constant size on the screen.

One item draws many arrows. Shafts and heads are laid out in scene pixels at paint time, so neither zooming, nor
inverted or logarithmic axes, nor an export at another scale moves an end or distorts a head.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import ArrayLike, NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPolygonF, QTransform

Float64 = NDArray[np.float64]
HEAD_LENGTH = 11.0
HEAD_HALF_WIDTH = 0.36
CLIP_MARGIN = 64.0
DASHES = (4.0, 2.5)


class ArrowItem(pg.GraphicsObject):
    """A set of arrows in the coordinates of the view it is added to.

    ``width`` and ``head`` are in screen pixels; ``dashed`` draws the shafts in dashes; ``halo`` is the colour of a
    thin rim that keeps arrows readable on a picture (None: no rim). Arrows shorter than their head get a smaller
    one, so that their ends stay where they belong; arrows of no length are dots; arrows with an end that is not
    finite are left out.
    """

    def __init__(
        self, width: float = 2.0, head: float = HEAD_LENGTH, dashed: bool = False, halo: str | None = None
    ) -> None:
        super().__init__()
        self.width = width
        self.head = head
        self.dashed = dashed
        self.halo = halo
        self.antialias = True
        self._tails: Float64 = np.empty((0, 2))
        self._tips: Float64 = np.empty((0, 2))
        self._colors: list[QColor] = []

    def set_arrows(self, tails: ArrayLike, tips: ArrayLike, colors: Sequence[str | QColor] | str | QColor) -> None:
        """Show arrows from ``tails`` to ``tips``, both (n, 2) or broadcast to it, in n colours or one for all."""
        first, second = np.broadcast_arrays(
            np.asarray(tails, dtype=np.float64).reshape(-1, 2), np.asarray(tips, dtype=np.float64).reshape(-1, 2)
        )
        given = [colors] * len(first) if isinstance(colors, str | QColor) else list(colors)
        if len(given) != len(first):
            raise ValueError(f"{len(first)} arrows need as many colours, {len(given)} were given")
        whole = np.isfinite(first).all(axis=1) & np.isfinite(second).all(axis=1)
        self._tails, self._tips = first[whole].copy(), second[whole].copy()
        self._colors = [QColor(color) for color, keep in zip(given, whole, strict=True) if keep]
        self.prepareGeometryChange()
        self.update()

    def set_halo(self, color: str | None) -> None:
        """Another colour of the rim."""
        self.halo = color
        self.update()

    def clear(self) -> None:
        """Show no arrows."""
        if len(self._tails):
            self.set_arrows(np.empty((0, 2)), np.empty((0, 2)), [])

    @property
    def tails(self) -> Float64:
        """Where the arrows shown begin, (n, 2), data coordinates."""
        return self._tails

    @property
    def tips(self) -> Float64:
        """Where the arrows shown end, (n, 2), data coordinates."""
        return self._tips

    @property
    def colors(self) -> list[QColor]:
        """One colour an arrow."""
        return self._colors

    def scene_ends(self) -> tuple[Float64, Float64]:
        """Tails and tips in scene pixels, each (n, 2): what ``paint`` draws."""
        transform = self.sceneTransform()
        return _mapped(transform, self._tails), _mapped(transform, self._tips)

    # Qt and pyqtgraph -------------------------------------------------------------------------------------------

    def boundingRect(self) -> QRectF:
        # all that can be seen: heads reach beyond the ends by a number of pixels, whatever the zoom
        seen = self.viewRect()
        return QRectF(seen) if seen is not None else self._data_rect()

    def dataBounds(self, axis: int, frac: float = 1.0, orthoRange: Any = None) -> tuple[float | None, float | None]:
        """Extent along one axis, for views that fit their range to the contents."""
        if not len(self._tails):
            return None, None
        ends = np.concatenate([self._tails[:, axis], self._tips[:, axis]])
        return float(ends.min()), float(ends.max())

    def pixelPadding(self) -> float:
        """Room that heads need around ``dataBounds``."""
        return self.head

    def viewTransformChanged(self) -> None:
        super().viewTransformChanged()
        self.prepareGeometryChange()
        self.update()

    def paint(self, painter: QPainter, *args: Any) -> None:
        if not len(self._tails):
            return
        to_scene = self.sceneTransform()
        from_scene, possible = to_scene.inverted()
        if not possible:
            return
        frame = self._clip_frame(to_scene)
        tails, tips = self.scene_ends()
        painter.save()
        painter.setTransform(from_scene * painter.worldTransform())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, self.antialias)
        for color, chosen in self._by_color():
            shafts, heads = QPainterPath(), QPainterPath()
            for index in chosen:
                self._lay_out(tails[index], tips[index], frame, shafts, heads)
            if shafts.isEmpty() and heads.isEmpty():
                continue
            if self.halo is not None:
                rim = QPen(QColor(self.halo), self.width + 2.2)
                rim.setCapStyle(Qt.PenCapStyle.FlatCap)
                painter.strokePath(shafts, rim)
                if not heads.isEmpty():
                    painter.strokePath(heads, QPen(QColor(self.halo), 2.2))
            pen = QPen(color, self.width)
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
            if self.dashed:
                pen.setDashPattern(list(DASHES))
            painter.strokePath(shafts, pen)
            if not heads.isEmpty():
                painter.fillPath(heads, color)
        painter.restore()

    # layout in pixels -------------------------------------------------------------------------------------------

    def _by_color(self) -> list[tuple[QColor, list[int]]]:
        groups: list[tuple[QColor, list[int]]] = []
        for index, color in enumerate(self._colors):
            # only neighbours share a group: the order of drawing stays the order given
            if groups and groups[-1][0] == color:
                groups[-1][1].append(index)
            else:
                groups.append((color, [index]))
        return groups

    def _lay_out(self, tail: Float64, tip: Float64, frame: QRectF, shafts: QPainterPath, heads: QPainterPath) -> None:
        dx, dy = float(tip[0] - tail[0]), float(tip[1] - tail[1])
        length = float(np.hypot(dx, dy))
        if length < 0.5:
            heads.addEllipse(QPointF(*tip), self.width, self.width)
            return
        head = min(self.head, 0.62 * length)
        along = (dx / length, dy / length)
        neck = QPointF(tip[0] - 0.9 * head * along[0], tip[1] - 0.9 * head * along[1])
        shaft = clipped(QLineF(QPointF(*tail), neck), frame)
        if shaft is not None:
            shafts.moveTo(shaft.p1())
            shafts.lineTo(shaft.p2())
        if frame.contains(QPointF(*tip)):
            half = HEAD_HALF_WIDTH * head
            base = QPointF(tip[0] - head * along[0], tip[1] - head * along[1])
            side = QPointF(-half * along[1], half * along[0])
            heads.addPolygon(QPolygonF([QPointF(*tip), base + side, base - side, QPointF(*tip)]))

    def _clip_frame(self, to_scene: QTransform) -> QRectF:
        """What is worth drawing, in scene pixels: dashes along a line of a billion pixels would take for ever."""
        seen = to_scene.mapRect(self.boundingRect()).normalized()
        return seen.adjusted(-CLIP_MARGIN, -CLIP_MARGIN, CLIP_MARGIN, CLIP_MARGIN)

    def _data_rect(self) -> QRectF:
        if not len(self._tails):
            return QRectF()
        ends = np.concatenate([self._tails, self._tips])
        low, high = ends.min(axis=0), ends.max(axis=0)
        return QRectF(QPointF(*low), QPointF(*high))


def clipped(line: QLineF, frame: QRectF) -> QLineF | None:
    """The part of ``line`` inside ``frame``, None when there is none (Liang and Barsky 1984)."""
    dx, dy = line.dx(), line.dy()
    first, last = 0.0, 1.0
    for step, room in (
        (-dx, line.x1() - frame.left()),
        (dx, frame.right() - line.x1()),
        (-dy, line.y1() - frame.top()),
        (dy, frame.bottom() - line.y1()),
    ):
        if step == 0.0:
            if room < 0.0:
                return None
        elif step < 0.0:
            first = max(first, room / step)
        else:
            last = min(last, room / step)
    if first > last:
        return None
    start = line.p1()
    return QLineF(
        QPointF(start.x() + first * dx, start.y() + first * dy), QPointF(start.x() + last * dx, start.y() + last * dy)
    )


def _mapped(transform: QTransform, points: Float64) -> Float64:
    """``points`` (n, 2) through an affine transform, in double precision."""
    x, y = points[:, 0], points[:, 1]
    return np.stack(
        [
            transform.m11() * x + transform.m21() * y + transform.dx(),
            transform.m12() * x + transform.m22() * y + transform.dy(),
        ],
        axis=1,
    )
