"""The waterfall: bars from the expected to the applied step, each row from where the one above it ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPoint, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QContextMenuEvent, QFontMetricsF, QHelpEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QGraphicsView, QWidget

from core.simulation.contrast import norm
from gui.theme import APPLIED, COMPUTED, Theme, cause_color
from gui.views.ledger.step import LedgerStep
from gui.views.ledger.text_column import TextColumn, column_font
from gui.widgets.readable import text_color
from gui.widgets.signed_scale import SYMLOG, SignedAxis, SignedScale, threshold_for, tick_text
from gui.widgets.steady import SteadyChoice, SteadyRange

BAR, THIN = 0.66, 0.14
APART, TOGETHER = 100.0, 40.0
LEAST_LINE = 15
MOST_LINE = 34
LONGEST_TITLE = 190.0


class WaterfallPlot(pg.GraphicsLayoutWidget):
    """Lines are: expected, the rows in the order of the chain, applied. The lines keep their places whatever they do:
    a row that did nothing is thin and pale.
    """

    hovered = Signal(object)
    """The line under the mouse, or None."""
    chosen = Signal(object)
    """The line clicked or moved to by key, or None."""
    menu_wanted = Signal(int, QPoint)
    """(line, place on the screen)"""
    tip_wanted = Signal(int, QPoint)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        # a cached background would be a picture in exported vector files
        self.setCacheMode(QGraphicsView.CacheModeFlag.CacheNone)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.ci.setContentsMargins(2, 0, 4, 0)
        self.ci.setSpacing(0)
        self.step: LedgerStep | None = None
        self.scale_wanted = "auto"
        self.scale = SignedScale()
        self._choice = SteadyChoice()
        self._range = SteadyRange()
        self._hover: int | None = None
        self._selected: int | None = None
        self._lines = 0
        self._measured: list[str] = []
        self.titles = TextColumn(Qt.AlignmentFlag.AlignRight)
        self.amounts = TextColumn(Qt.AlignmentFlag.AlignRight)
        self.axis = SignedAxis("bottom")
        self.axis.setStyle(tickLength=-4)
        self.plot: pg.PlotItem = self.addPlot(row=0, col=1, axisItems={"bottom": self.axis})
        self._build()
        self.restyle(theme)

    def _build(self) -> None:
        plot = self.plot
        plot.setMenuEnabled(False)
        plot.hideButtons()
        plot.hideAxis("left")
        plot.setMouseEnabled(False, False)
        box = plot.getViewBox()
        box.invertY(True)
        box.setDefaultPadding(0.0)
        box.disableAutoRange()
        self.titles.follow(box)
        self.amounts.follow(box)
        self.ci.addItem(self.titles, 0, 0)
        self.ci.addItem(self.amounts, 0, 2)
        self.amounts.setFixedWidth(int(QFontMetricsF(column_font()).horizontalAdvance("−8.888e−88")) + 14)
        self._hover_band, self._selected_band = _band(), _band()
        self._zero = pg.InfiniteLine(0.0, angle=90)
        self._links = pg.PlotCurveItem(connect="pairs")
        self.bars = pg.BarGraphItem(x0=[], x1=[], y=[], height=BAR)
        for item in (self._hover_band, self._selected_band, self._zero, self._links, self.bars):
            plot.addItem(item, ignoreBounds=True)

    def reset(self) -> None:
        """Another run or measure: ranges are taken as they come."""
        self._choice.reset()
        self._range.reset()

    def set_axis_text(self, text: str) -> None:
        """What the axis measures."""
        if self.axis.labelText != text:
            self.axis.setLabel(text)
            font = column_font()
            self.axis.label.setFont(font)
            self.axis.label.setDefaultTextColor(QColor(self.theme.quiet))

    def show_step(self, step: LedgerStep, titles: Sequence[str], running: bool) -> None:
        """Draw a ledger; ``titles`` stand at the left of its lines."""
        self.step = step
        if step.lines != self._lines:
            self._lines = step.lines
            self.setMinimumHeight(LEAST_LINE * step.lines + 46)
            self.plot.getViewBox().setYRange(-0.6, step.lines - 0.4, padding=0.0)
        spans = step.fall.spans()
        self._scale_to(step, spans, running)
        drawn = self.scale.places(spans)
        broken = ~np.isfinite(drawn)
        drawn = np.where(broken, 0.0, drawn)
        acted = [step.acted(line) for line in range(step.lines)]
        heights = np.where(acted, BAR, THIN)
        colors = [COMPUTED, *(cause_color(cause) for cause in step.causes), APPLIED]
        brushes = [
            QColor(c) if a and not b else self._pale()
            for c, a, b in zip(colors, acted, broken.any(axis=1), strict=True)
        ]
        low, high = np.sort(drawn, axis=1).T
        # what is there stays visible: at least two pixels wide
        least = 2.0 * self.plot.getViewBox().viewPixelSize()[0]
        narrow = high - low < least
        low, high = np.where(narrow, (low + high - least) / 2, low), np.where(narrow, (low + high + least) / 2, high)
        lines = np.arange(step.lines, dtype=np.float64)
        self.bars.setOpts(x0=low, x1=high, y=lines, height=heights, brushes=brushes, pen=pg.mkPen(None))
        self._link(drawn, heights, step)
        self._write(step, titles, acted)
        self.mark(self._selected)

    def _scale_to(self, step: LedgerStep, spans: np.ndarray[Any, Any], running: bool) -> None:
        finite = spans[np.isfinite(spans)]
        low, high = self._range.update(float(finite.min(initial=0.0)), float(finite.max(initial=0.0)), running)
        if low == high:
            low, high = -1.0, 1.0
        kind = self.scale_wanted
        if kind == "auto":
            kind = self._choice.update(self._wanted(step), running)
        if kind == SYMLOG:
            ends = [abs(step.fall.expected), abs(step.fall.applied)]
            smallest = min((end for end in ends if end > 0.0 and math.isfinite(end)), default=high)
            threshold = threshold_for(smallest, max(-low, high))
            # a threshold that comes closer is taken late, like a range that shrinks
            if running and self.scale.kind == SYMLOG and self.scale.threshold < threshold < 1e3 * self.scale.threshold:
                threshold = self.scale.threshold
            self.scale = SignedScale(SYMLOG, threshold)
        else:
            self.scale = SignedScale()
        self.axis.set_signed_scale(self.scale)
        first, last = (float(x) for x in self.scale.places([low, high]))
        room = 0.03 * (last - first)
        self.plot.getViewBox().setXRange(first - room, last + room, padding=0.0)

    def _wanted(self, step: LedgerStep) -> str:
        """Logarithmic when the shorter of the two ends would be lost beside the longest bar."""
        ends = [norm(step.expected), norm(step.applied)]
        top = float(np.abs(step.fall.values).max())
        if not math.isfinite(top) or min(ends) <= 0.0:
            return "linear"
        distance = top / min(ends)
        if distance > APART:
            return SYMLOG
        return "linear" if distance < TOGETHER or self._choice.value is None else self._choice.value

    def _link(self, drawn: np.ndarray[Any, Any], heights: np.ndarray[Any, Any], step: LedgerStep) -> None:
        """Fine lines from the end of each bar to the start of the next."""
        if step.fall.measure == "size":
            self._links.setData([], [])
            return
        ends = drawn[:-1, 1]
        lines = np.arange(step.lines - 1)
        x = np.repeat(ends, 2)
        y = np.stack([lines + heights[:-1] / 2, lines + 1 - heights[1:] / 2], axis=1).ravel()
        self._links.setData(x, y, connect="pairs")

    def _write(self, step: LedgerStep, titles: Sequence[str], acted: list[bool]) -> None:
        text, pale = QColor(self.theme.text), self._pale()
        colors = [text if a else pale for a in acted]
        colors[0] = QColor(text_color(self.theme, "computed"))
        colors[-1] = QColor(text_color(self.theme, "applied"))
        self.titles.set_texts(titles, colors, self._selected)
        signs = step.fall.measure != "size"
        amounts = []
        for line in range(step.lines):
            inner = 0 < line < step.lines - 1
            amounts.append("·" if not acted[line] else amount_text(step.amount(line), inner and signs))
        self.amounts.set_texts(amounts, colors, self._selected)
        if list(titles) == self._measured:
            return
        self._measured = list(titles)
        # the room grows with the longest title there was and stays
        needed = min(self.titles.needed_width(), LONGEST_TITLE)
        if needed > self.titles.size().width():
            self.titles.setFixedWidth(math.ceil(needed))

    def _pale(self) -> QColor:
        color = QColor(self.theme.quiet)
        color.setAlpha(140)
        return color

    def restyle(self, theme: Theme) -> None:
        """Take over a theme."""
        self.theme = theme
        self.setBackground(theme.card)
        self.axis.setPen(pg.mkPen(theme.border))
        self.axis.setTickPen(pg.mkPen(theme.border))
        self.axis.setTextPen(pg.mkPen(theme.quiet))
        self.axis.setTickFont(column_font())
        self.axis.label.setDefaultTextColor(QColor(theme.quiet))
        self._zero.setPen(pg.mkPen(theme.quiet))
        self._links.setPen(pg.mkPen(theme.quiet))
        for band, alpha in ((self._hover_band, 30), (self._selected_band, 60)):
            color = QColor(theme.accent)
            color.setAlpha(alpha)
            band.setBrush(color)

    def mark(self, selected: int | None) -> None:
        """Highlight the selected line."""
        if selected != self._selected:
            self._selected = selected
            self.titles.set_selected(selected)
        for band, line in ((self._hover_band, self._hover), (self._selected_band, selected)):
            band.setVisible(line is not None)
            if line is not None:
                band.setRegion((line - 0.5, line + 0.5))

    # mouse and keys ---------------------------------------------------------------------------------------------

    def line_at(self, place: QPointF) -> int | None:
        """The line at a place of the widget (anywhere across it)."""
        if self.step is None:
            return None
        y = self.plot.getViewBox().mapSceneToView(self.mapToScene(place.toPoint())).y()
        line = round(y)
        return line if 0 <= line < self.step.lines and abs(y - line) <= 0.5 else None

    def line_place(self, line: int) -> QPoint:
        """The middle of a line, in pixels of the widget."""
        scene = self.plot.getViewBox().mapViewToScene(QPointF(0.0, line))
        return QPoint(self.width() // 2, self.mapFromScene(scene).y())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        self._set_hover(self.line_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._set_hover(None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(self.line_at(event.position()))

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            line = self.line_at(QPointF(event.pos()))
            if line is not None:
                self.tip_wanted.emit(line, event.globalPos())
                return True
        return bool(super().viewportEvent(event))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        line = self._selected if by_key else self.line_at(QPointF(event.pos()))
        if line is None:
            event.ignore()
            return
        place = self.mapToGlobal(self.line_place(line)) if by_key else event.globalPos()
        self.menu_wanted.emit(line, place)
        event.accept()

    def event(self, event: QEvent) -> bool:
        # these keys belong to the ledger while it has the focus, not to the transport
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Escape)
        ):
            event.accept()
            return True
        return bool(super().event(event))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if step is not None and self.step is not None:
            rows = self.step.lines - 2
            line = (0 if step > 0 else rows + 1) if self._selected is None else self._selected
            self.chosen.emit(min(max(line + step, 1), rows))
        elif event.key() == Qt.Key.Key_Escape:
            self.chosen.emit(None)
        else:
            super().keyPressEvent(event)

    def _set_hover(self, line: int | None) -> None:
        if line != self._hover:
            self._hover = line
            self.mark(self._selected)
            self.hovered.emit(line)

    def sizeHint(self) -> QSize:
        return QSize(420, MOST_LINE * max(self._lines, 6))


def amount_text(value: float, sign: bool) -> str:
    """A number of the waterfall: four digits, rows with their sign."""
    if not math.isfinite(value):
        return str(value).replace("-", "\u2212")
    text = tick_text(float(f"{value:.4g}"))
    return f"+{text}" if sign and value > 0.0 else text


def _band() -> pg.LinearRegionItem:
    band = pg.LinearRegionItem(orientation="horizontal", movable=False, pen=pg.mkPen(None))
    band.setZValue(-10)
    band.setVisible(False)
    return band
