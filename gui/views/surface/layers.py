"""The layers of the picture, from the back to the front: colours and contours, paths, marks, arrows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter

from gui.theme import APPLIED, COMPUTED, Theme, cause_color
from gui.views.surface.magnify import Magnification
from gui.views.surface.palette import contour_color, lookup_table, path_color
from gui.views.surface.picture import Picture
from gui.views.surface.step_arrows import StepArrows
from gui.widgets.arrows import ArrowItem
from gui.widgets.curves import SceneCurve
from gui.widgets.marks import SceneMarks

Float64 = NDArray[np.float64]
AGES = (0.0, 0.4, 0.7, 0.88, 0.96, 1.0)
"""Parts of the path, oldest first, each drawn in one strength of colour."""
OPACITIES = (90, 125, 165, 210, 255)
LATER_OPACITY = 95
MINIMUM_COLOR = "#f2c14e"
LEAST_PIXELS = 0.75


class LossImage(pg.ImageItem):
    """The image of the losses; values between the points are blended, so that a coarse grid looks soft."""

    def paint(self, painter: QPainter, *args: object) -> None:
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        super().paint(painter, *args)


class PictureLayer:
    """Colours and contour lines of the loss."""

    def __init__(self, box: pg.ViewBox) -> None:
        self.image = LossImage(axisOrder="row-major")
        self.contours = SceneCurve(antialias=True)
        self.image.setZValue(0)
        self.contours.setZValue(1)
        for item in (self.image, self.contours):
            box.addItem(item, ignoreBounds=True)

    def show(self, picture: Picture | None) -> None:
        """Show a picture: its cells are centred on its points."""
        if picture is None:
            self.image.clear()
            self.contours.setData([], [])
            return
        self.image.setImage(picture.indices, autoLevels=False, levels=(0, 255))
        self.image.setRect(QRectF(*picture.rectangle))
        self.contours.setData(picture.contours[:, 0], picture.contours[:, 1])

    def restyle(self, theme: Theme) -> None:
        """Take over the theme's colours."""
        self.image.setLookupTable(lookup_table(theme))
        self.contours.setPen(pg.mkPen(contour_color(theme), width=1))


class PathLayer:
    """One run's path: bright where it was last, fading with age, faint beyond the step shown."""

    def __init__(self, box: pg.ViewBox) -> None:
        self.later = SceneCurve()
        self.ages = [SceneCurve() for _ in OPACITIES]
        self._color = ""
        self._smooth = False
        for z, item in enumerate((self.later, *self.ages)):
            item.setZValue(4 + 0.1 * z)
            box.addItem(item, ignoreBounds=True)

    def show(self, a: Float64, b: Float64, shown: int, tip: Float64 | None) -> None:
        """The first ``shown`` points are past and end in ``tip`` (the weights of the step shown), the rest is later."""
        past_a, past_b = a[:shown], b[:shown]
        if tip is not None:
            past_a, past_b = np.append(past_a, tip[0]), np.append(past_b, tip[1])
        cuts = [round(part * max(len(past_a) - 1, 0)) for part in AGES]
        for item, first, last in zip(self.ages, cuts[:-1], cuts[1:], strict=True):
            item.setData(past_a[first : last + 1], past_b[first : last + 1])
        self.later.setData(a[max(shown - 1, 0) :], b[max(shown - 1, 0) :])

    def show_later(self, on: bool) -> None:
        """Whether the steps after the one shown are drawn."""
        self.later.setVisible(on)

    def set_smooth(self, smooth: bool) -> None:
        """Antialiasing and full width: at rest, not while a run goes on."""
        for item in (*self.ages, self.later):
            item.antialias = smooth
        if smooth != self._smooth:
            self._smooth = smooth
            self._set_pens()

    def restyle(self, color: str) -> None:
        """Another colour."""
        if color != self._color:
            self._color = color
            self._set_pens()

    def _set_pens(self) -> None:
        color = self._color
        # Qt draws a line one pixel wide five times as fast, and these are the long parts
        wide = 1.4 if self._smooth else 1.0
        for item, opacity in zip(self.ages, OPACITIES, strict=True):
            faded = QColor(color)
            faded.setAlpha(opacity)
            item.setPen(pg.mkPen(faded, width=2 if opacity > 200 else wide))
        faded = QColor(color)
        faded.setAlpha(LATER_OPACITY)
        self.later.setPen(pg.mkPen(faded, width=1))

    def remove(self, box: pg.ViewBox) -> None:
        """Take the items out of the picture."""
        for item in (*self.ages, self.later):
            box.removeItem(item)


def _words_of(x: float, y: float, data: object) -> str:
    return str(data)


class MarkLayer:
    """Known minima, the current point, and the preview of a run from another start."""

    def __init__(self, box: pg.ViewBox) -> None:
        self.minima = SceneMarks(symbol="star", size=15, hoverable=True, tip=_words_of)
        self.point = SceneMarks(symbol="o", size=9)
        self.preview = SceneCurve(antialias=True)
        for z, item in ((6.0, self.minima), (11.0, self.point), (7.0, self.preview)):
            item.setZValue(z)
            box.addItem(item, ignoreBounds=True)

    def show_minima(self, a: Float64, b: Float64, words: Sequence[str]) -> None:
        """Known minima at these coordinates, with the words that appear when the mouse is on one."""
        self.minima.setData(a, b, data=list(words))

    def show_point(self, place: Float64 | None) -> None:
        """The weights of the step shown."""
        if place is None or not np.isfinite(place).all():
            self.point.setData([], [])
        else:
            self.point.setData([place[0]], [place[1]])

    def show_preview(self, a: Float64, b: Float64) -> None:
        """The path from a start that is being dragged."""
        self.preview.setData(a, b)

    def restyle(self, theme: Theme) -> None:
        """Take over the theme's colours."""
        line = path_color(theme)
        self.minima.setPen(pg.mkPen("#5b4300" if not theme.dark else "#1b1503", width=1))
        self.minima.setBrush(pg.mkBrush(MINIMUM_COLOR))
        self.point.setPen(pg.mkPen(line, width=2))
        self.point.setBrush(pg.mkBrush(theme.card))
        self.preview.setPen(pg.mkPen(line, width=1, style=Qt.PenStyle.DashLine))


class ArrowLayer:
    """Computed and applied arrow of the step shown, the ledger's rows between their tips, the gradient field."""

    def __init__(self, box: pg.ViewBox) -> None:
        self.field = ArrowItem(width=1.0, head=5.0)
        self.rows = ArrowItem(width=2.0, head=9.0, dashed=True)
        self.main = ArrowItem(width=3.0, head=13.0)
        for z, item in ((3.0, self.field), (9.0, self.rows), (10.0, self.main)):
            item.setZValue(z)
            box.addItem(item, ignoreBounds=True)

    def show(self, arrows: StepArrows | None, magnification: Magnification, pixel: tuple[float, float]) -> list[bool]:
        """Draw the arrows of a step; tells for each ledger row whether it is long enough to be drawn.

        ``pixel`` is the size of a screen pixel in plane coordinates.
        """
        if arrows is None:
            self.main.clear()
            self.rows.clear()
            return []
        tips = arrows.tips(magnification)
        # the longer one first, so that the shorter one is not hidden beneath it
        with np.errstate(all="ignore"):
            lengths = [float(np.hypot(*((tip - tail) / pixel))) for tail, tip in zip(arrows.tails, tips, strict=True)]
        order = (0, 1) if not lengths[1] > lengths[0] else (1, 0)
        colors = (COMPUTED, APPLIED)
        tails = arrows.tails
        self.main.set_arrows([tails[k] for k in order], [tips[k] for k in order], [colors[k] for k in order])
        factor = magnification.computed
        with np.errstate(all="ignore"):
            drawn = [bool(np.hypot(*(factor * row / pixel)) >= LEAST_PIXELS) for row in arrows.rows]
        if not magnification.common:
            drawn = [False] * len(drawn)
        feet, heads = arrows.chain(factor)
        chosen = np.array(drawn, dtype=bool)
        causes = [cause for cause, keep in zip(arrows.causes, drawn, strict=True) if keep]
        self.rows.set_arrows(feet[chosen], heads[chosen], [cause_color(cause) for cause in causes])
        return drawn

    def show_field(self, points: Float64, directions: Float64, spacing: tuple[float, float]) -> None:
        """The field's arrows: they show directions only, all of one length on the screen's two scales."""
        with np.errstate(all="ignore"):
            scaled = directions / np.array(spacing)
            lengths = np.hypot(scaled[:, 0], scaled[:, 1])[:, None]
            steps = np.where(lengths > 0, 0.36 * scaled / lengths, 0.0) * np.array(spacing)
        self.field.set_arrows(points - steps, points + steps, self._field_color)

    def clear_field(self) -> None:
        """No gradient field."""
        self.field.clear()

    def restyle(self, theme: Theme) -> None:
        """Take over the theme's colours."""
        self._field_color = QColor("#ffffff" if theme.dark else "#101418")
        self._field_color.setAlpha(140)
        self.field.set_arrows(self.field.tails, self.field.tips, self._field_color)
        self.main.set_halo(theme.card)
        self.rows.set_halo(theme.card)
