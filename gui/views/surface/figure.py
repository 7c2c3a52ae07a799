"""The figure: axes with the picture, the colour bar beside it and the legend below; what an export draws."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QColor, QKeyEvent

from gui.theme import Theme
from gui.views.surface.cut import Region
from gui.views.surface.legend import Legend
from gui.views.surface.palette import lookup_table
from gui.views.surface.scale import COLORS, LossScale
from gui.widgets.numbers import real_minus

BAR_WIDTH = 14
BOTTOM_HEIGHT = 36
BAR_AXIS_WIDTH = 58
ZOOM_STEP = 0.8
PAN_STEP = 0.1
NUDGE_STEP = 0.02


class PlainAxis(pg.AxisItem):
    """Ticks say the values themselves, whatever their size.

    pyqtgraph's axes scale their numbers by powers of a thousand; switching that off with a visible label keeps the
    scale last chosen and no longer writes it down.
    """

    def updateAutoSIPrefix(self) -> None:
        self.autoSIPrefixScale = 1.0
        self.labelUnitPrefix = ""
        self._updateLabel()

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        return [real_minus(text) for text in super().tickStrings(values, scale, spacing)]


class SurfaceFigure(pg.GraphicsLayoutWidget):
    """Draws; knows nothing of runs. Coordinates are those of the plane."""

    pointed = Signal(float, float)
    """The mouse is at this point of the plane."""
    left = Signal()
    """The mouse has left the picture."""
    fit_wanted = Signal()
    nudged = Signal(float, float)
    """Alt and an arrow key: the start point is to move by so much."""
    point_nudged = Signal(float, float)
    """The same with Shift: the point of the step shown."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.ci.layout.setContentsMargins(2, 8, 2, 2)
        self.ci.layout.setSpacing(4)
        self.box = pg.ViewBox(enableMenu=False)
        self.box.disableAutoRange()
        self.axes = {side: PlainAxis(side) for side in ("left", "bottom")}
        self.axes["bottom"].setHeight(BOTTOM_HEIGHT)
        self.plot = pg.PlotItem(viewBox=self.box, axisItems=self.axes, enableMenu=False)
        self.plot.hideButtons()
        self.ci.addItem(self.plot, 0, 0)
        self.bar_box = pg.ViewBox(enableMenu=False, enableMouse=False)
        self.bar_box.setMinimumWidth(BAR_WIDTH)
        self.bar_box.setMaximumWidth(BAR_WIDTH)
        self.bar_box.disableAutoRange()
        self.bar_box.setRange(QRectF(0, 0, 1, 1), padding=0)
        self.bar_image = pg.ImageItem(axisOrder="row-major")
        self.bar_image.setImage(np.arange(COLORS, dtype=np.uint8)[:, None], autoLevels=False, levels=(0, 255))
        self.bar_image.setRect(QRectF(0, 0, 1, 1))
        self.bar_box.addItem(self.bar_image, ignoreBounds=True)
        self.bar_axis = PlainAxis("right")
        self.bar_axis.linkToView(self.bar_box)
        self.bar_axis.setWidth(BAR_AXIS_WIDTH)
        # in the plot's own grid, so that the bar is as high as the axes are
        grid = self.plot.layout
        grid.addItem(self.bar_box, 2, 3)
        grid.addItem(self.bar_axis, 2, 4)
        grid.setColumnSpacing(2, 8)
        self.legend = Legend(theme)
        self.ci.addItem(self.legend, 1, 0)
        self.words = pg.TextItem(anchor=(0.5, 0.0))
        self.words.setParentItem(self.box)
        self.words.setZValue(50)
        self.scene().sigMouseMoved.connect(self._on_mouse_moved)
        self.restyle(theme)

    # what it shows ------------------------------------------------------------------------------------------------

    def set_labels(self, across: str, up: str) -> None:
        """Names of the two axes."""
        style = {"color": self._theme.axis, "font-size": "11px"}
        self.axes["bottom"].setLabel(across, **style)
        self.axes["left"].setLabel(up, **style)

    def set_scale(self, scale: LossScale | None, title: str) -> None:
        """Ticks and title of the colour bar."""
        self.bar_axis.setTicks([scale.ticks() if scale is not None else []])
        self.bar_axis.setLabel(title, color=self._theme.axis, **{"font-size": "11px"})
        self.bar_image.setVisible(scale is not None)

    def show_as_curve(self, on: bool, logarithmic: bool) -> None:
        """A curve has no colours, hence no bar, and its losses upwards, on a logarithmic axis if wanted."""
        self.bar_box.setVisible(not on)
        self.bar_box.setMinimumWidth(0 if on else BAR_WIDTH)
        self.bar_box.setMaximumWidth(0 if on else BAR_WIDTH)
        self.bar_axis.setVisible(not on)
        self.bar_axis.setWidth(0 if on else BAR_AXIS_WIDTH)
        self.axes["left"].setLogMode(x=False, y=logarithmic)

    def set_region(self, region: Region) -> None:
        """Look at ``region``."""
        self.box.setRange(
            QRectF(region.left, region.bottom, region.width, region.height), padding=0, disableAutoRange=True
        )

    def region(self) -> Region:
        """What is looked at (with equal scales, more than was asked for)."""
        (left, right), (bottom, top) = self.box.viewRange()
        return Region(float(left), float(right), float(bottom), float(top))

    def pixel(self) -> tuple[float, float]:
        """The size of a screen pixel in plane coordinates."""
        region, room = self.region(), self.box.rect()
        return region.width / max(room.width(), 1.0), region.height / max(room.height(), 1.0)

    def show_words(self, text: str) -> None:
        """A sentence on the picture ('' for none)."""
        self.words.setVisible(bool(text))
        if text:
            self.words.setText(text, color=self._theme.text)
            room = self.box.rect()
            self.words.setTextWidth(min(room.width() - 20, 420))
            self.words.setPos(room.width() / 2, 8)

    def set_theme(self, theme: Theme) -> None:
        """Take over another theme."""
        self.restyle(theme)

    def restyle(self, theme: Theme) -> None:
        """Colours of axes, bar and words."""
        self._theme = theme
        self.setBackground(theme.card)
        self.bar_image.setLookupTable(lookup_table(theme))
        for axis in (*self.axes.values(), self.bar_axis):
            axis.setPen(pg.mkPen(theme.border))
            axis.setTextPen(pg.mkPen(theme.axis))
            axis.setStyle(tickLength=-4, tickTextOffset=4)
            axis.setTickFont(self.legend.font)
        self.box.setBorder(pg.mkPen(theme.border))
        self.legend.set_theme(theme)
        fill = QColor(theme.card)
        fill.setAlpha(225)
        self.words.fill = pg.mkBrush(fill)
        self.words.border = pg.mkPen(theme.border)
        self.words.update()

    # mouse and keys -----------------------------------------------------------------------------------------------

    @Slot(object)
    def _on_mouse_moved(self, position: QPointF) -> None:
        if not self.box.sceneBoundingRect().contains(position):
            self.left.emit()
            return
        point = self.box.mapSceneToView(position)
        self.pointed.emit(point.x(), point.y())

    def leaveEvent(self, event: object) -> None:
        super().leaveEvent(event)
        self.left.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Home fits, + and - zoom; arrows: Shift moves the picture, Alt the start, Alt and Shift the point shown."""
        key, modifiers = event.key(), event.modifiers()
        directions = {
            Qt.Key.Key_Left: (-1, 0),
            Qt.Key.Key_Right: (1, 0),
            Qt.Key.Key_Up: (0, 1),
            Qt.Key.Key_Down: (0, -1),
        }
        region = self.region()
        if key == Qt.Key.Key_Home:
            self.fit_wanted.emit()
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self._zoom(ZOOM_STEP)
        elif key == Qt.Key.Key_Minus:
            self._zoom(1 / ZOOM_STEP)
        elif key in directions and modifiers & Qt.KeyboardModifier.AltModifier:
            dx, dy = directions[Qt.Key(key)]
            of_point = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
            nudged = self.point_nudged if of_point else self.nudged
            nudged.emit(NUDGE_STEP * dx * region.width, NUDGE_STEP * dy * region.height)
        elif key in directions and modifiers & Qt.KeyboardModifier.ShiftModifier:
            dx, dy = directions[Qt.Key(key)]
            self.box.translateBy(x=PAN_STEP * dx * region.width, y=PAN_STEP * dy * region.height)
            self.box.sigRangeChangedManually.emit(self.box.state["mouseEnabled"])
        else:
            event.ignore()
            return
        event.accept()

    def _zoom(self, factor: float) -> None:
        self.box.scaleBy((factor, factor))
        self.box.sigRangeChangedManually.emit(self.box.state["mouseEnabled"])
