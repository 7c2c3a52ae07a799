"""The GL scene of the landscape: mesh, contour lines, paths, arrows, marks, and a frame with numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph.opengl as gl
from numpy.typing import NDArray
from OpenGL.GL import GL_BLEND, GL_CULL_FACE, GL_DEPTH_TEST, GL_ONE_MINUS_SRC_ALPHA, GL_SRC_ALPHA
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QKeyEvent, QSurfaceFormat, QVector3D

from gui.theme import Theme
from gui.views.surface.layers import MINIMUM_COLOR
from gui.views.surface.palette import contour_color, lookup_table, path_color
from gui.views.surface.terrain import HEIGHT, Terrain, segments
from gui.widgets.numbers import shown_number

Float64 = NDArray[np.float64]
HOME = {"distance": 4.1, "elevation": 42.0, "azimuth": -62.0}
CENTER = (0.0, 0.0, 0.16)
NOWHERE = np.zeros((2, 3))
ON_TOP = {
    GL_DEPTH_TEST: False,
    GL_BLEND: True,
    GL_CULL_FACE: False,
    "glBlendFunc": (GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA),
}
"""For marks and arrows, which must be seen through the hills that stand before them."""


def rgba(color: str | QColor, opacity: float = 1.0) -> tuple[float, float, float, float]:
    """A colour as GL takes it."""
    found = QColor(color)
    return found.redF(), found.greenF(), found.blueF(), found.alphaF() * opacity


class Scene3D(gl.GLViewWidget):
    """Draws a Terrain and what lies on it; knows nothing of runs. Mouse and arrow keys orbit, the wheel zooms."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        smooth = QSurfaceFormat(self.format())
        smooth.setSamples(4)
        self.setFormat(smooth)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._theme = theme
        self.terrain: Terrain | None = None
        self._surface: Any = None
        self._contours = self._lines("translucent")
        self._path = self._lines("translucent")
        self._frame = self._lines("translucent")
        self._arrows: list[Any] = []
        self._others: list[Any] = []
        self._marks = gl.GLScatterPlotItem(pos=NOWHERE[:1], size=0.0, pxMode=True, glOptions=ON_TOP)
        self._marks.setDepthValue(20)
        self.addItem(self._marks)
        self._texts: list[Any] = []
        self.go_home()
        self.restyle(theme)

    def _lines(self, options: str | dict[Any, Any], width: float = 1.0) -> Any:
        item = gl.GLLinePlotItem(pos=NOWHERE, mode="lines", width=width, antialias=True, glOptions=options)
        item.setDepthValue(10)
        self.addItem(item)
        return item

    def go_home(self) -> None:
        """Look from the first viewpoint again."""
        self.setCameraPosition(pos=QVector3D(*CENTER), **HOME)

    def restyle(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme
        self.setBackgroundColor(QColor(theme.card))
        if self.terrain is not None:
            self.show_terrain(self.terrain, [])

    def show_terrain(
        self, terrain: Terrain, ticks: list[tuple[float, str]], labels: tuple[str, str] = ("", "")
    ) -> None:
        """Another landscape: mesh, contour lines, frame and numbers (``ticks`` are those of the colour scale)."""
        self.terrain = terrain
        x, y, z = terrain.mesh()
        colors = terrain.colors(lookup_table(self._theme))
        if self._surface is not None:
            self.removeItem(self._surface)
        options = "opaque" if terrain.picture.whole else "translucent"
        self._surface = gl.GLSurfacePlotItem(
            x=x, y=y, z=z, colors=colors, computeNormals=False, smooth=True, glOptions=options
        )
        self.addItem(self._surface)
        contours = terrain.picture.contours
        if len(contours):
            points = terrain.on_ground(contours[:, 0], contours[:, 1])
            self._contours.setData(pos=_some(segments(points)), color=rgba(contour_color(self._theme)))
        else:
            self._contours.setData(pos=NOWHERE)
        self._show_frame(terrain, ticks, labels)

    def _show_frame(self, terrain: Terrain, ticks: list[tuple[float, str]], labels: tuple[str, str]) -> None:
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]], dtype=np.float64)
        floor = segments(np.column_stack([corners, np.zeros(5)]))
        post = np.array([[-1, -1, 0], [-1, -1, HEIGHT]], dtype=np.float64)
        marks = [[[-1, -1, HEIGHT * t], [-1.03, -1.03, HEIGHT * t]] for t, _ in ticks]
        parts = [floor, post, *(np.array(mark, dtype=np.float64) for mark in marks)]
        self._frame.setData(pos=np.concatenate(parts), color=rgba(self._theme.quiet, 0.8))
        for item in self._texts:
            self.removeItem(item)
        self._texts = []
        region = terrain.region
        center, right, left = (
            Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop,
            Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
            Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter,
        )
        for t, text in ticks:
            self._text((-1.05, -1.05, HEIGHT * t), text, right)
        self._text((-1.0, -1.08, 0), shown_number(region.left), center)
        self._text((0.0, -1.12, 0), labels[0], center, strong=True)
        self._text((1.0, -1.08, 0), shown_number(region.right), center)
        self._text((1.08, -0.94, 0), shown_number(region.bottom), left)
        self._text((1.1, 0.0, 0), labels[1], left, strong=True)
        self._text((1.08, 1.0, 0), shown_number(region.top), left)

    def _text(self, place: tuple[float, float, float], text: str, alignment: Any, strong: bool = False) -> None:
        font = QFont()
        font.setPixelSize(12 if strong else 11)
        color = QColor(self._theme.text if strong else self._theme.axis)
        item = gl.GLTextItem(
            pos=np.array(place), text=text, color=color, font=font, alignment=alignment, glOptions="translucent"
        )
        item.setDepthValue(30)
        self._texts.append(item)
        self.addItem(item)

    def show_path(self, points: Float64, ages: Float64, color: str) -> None:
        """The path (n, 3) with opacities ``ages`` (n,)."""
        if len(points) < 2:
            self._path.setData(pos=NOWHERE, color=rgba(color, 0.0))
            return
        tinted = np.tile(np.array(rgba(color)), (len(points), 1))
        tinted[:, 3] *= ages
        both = segments(np.column_stack([points, tinted]))
        self._path.setData(pos=_some(both[:, :3]), color=_some_colors(both[:, 3:]), width=2.0)

    def show_other_paths(self, paths: list[tuple[Float64, str]]) -> None:
        """The paths of other runs, each (n, 3), in their colours."""
        while len(self._others) < len(paths):
            self._others.append(self._lines("translucent", 2.0))
        for k, item in enumerate(self._others):
            if k < len(paths):
                item.setData(pos=_some(segments(paths[k][0])), color=rgba(paths[k][1], 0.8))
            item.setVisible(k < len(paths))

    def show_arrows(self, arrows: list[tuple[Float64, str, float]]) -> None:
        """Arrows as (segments, colour, width)."""
        while len(self._arrows) < len(arrows):
            self._arrows.append(self._lines(ON_TOP))
        for k, item in enumerate(self._arrows):
            if k < len(arrows) and len(arrows[k][0]):
                points, color, width = arrows[k]
                item.setData(pos=points, color=rgba(color), width=width)
                item.setVisible(True)
            else:
                item.setVisible(False)

    def show_marks(self, point: Float64, start: Float64, minima: Float64) -> None:
        """The current point, the start and known minima, each (n, 3)."""
        groups = (
            (minima, MINIMUM_COLOR, 9.0),
            (start, self._theme.quiet, 8.0),
            (point, path_color(self._theme), 10.0),
        )
        places, colors, sizes = [], [], []
        for points, color, size in groups:
            kept = points[np.isfinite(points).all(axis=1)]
            places.append(kept)
            colors.append(np.tile(np.array(rgba(color)), (len(kept), 1)))
            sizes.append(np.full(len(kept), size))
        if sum(len(kept) for kept in places):
            self._marks.setData(pos=np.concatenate(places), color=np.concatenate(colors), size=np.concatenate(sizes))
        self._marks.setVisible(any(len(kept) for kept in places))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Home looks from the first viewpoint, + and - go nearer and farther; arrows orbit (pyqtgraph)."""
        if event.key() == Qt.Key.Key_Home:
            self.go_home()
        elif event.key() in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus):
            self.opts["distance"] *= 1.15 if event.key() == Qt.Key.Key_Minus else 1 / 1.15
            self.update()
        else:
            super().keyPressEvent(event)
            return
        event.accept()


def _some(points: Float64) -> Float64:
    return points if len(points) else NOWHERE


def _some_colors(colors: Float64) -> Float64:
    return colors if len(colors) else np.zeros((2, 4))
