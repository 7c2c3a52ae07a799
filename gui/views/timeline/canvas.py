"""The stack of plots as one picture, and what mouse and keys do with it: scrub, magnify, choose a range."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QLabel, QRubberBand, QWidget

from gui.theme import Theme
from gui.views.timeline.items import Legend
from gui.views.timeline.panel import Panel, least_height

FLAG_HEIGHT, FLAG_REACH, LINE_REACH = 14.0, 8.0, 5.0
"""How far from the top, and to either side in pixels, a flag is met; and a line to either side."""
MARK_KEYS = (
    Qt.Key.Key_Return,
    Qt.Key.Key_Enter,
    Qt.Key.Key_F2,
    Qt.Key.Key_M,
    Qt.Key.Key_Delete,
    Qt.Key.Key_Backspace,
)
"""Keys that mean the live change at the step shown (or the one chosen)."""
NARROW = 360
"""Below this width the legends give their room to the curves."""


class Canvas(pg.GraphicsLayoutWidget):
    """Plots below one another with one horizontal axis.

    Left button: scrub. Shift and left button: choose a range to magnify. Middle button: move along. Wheel: magnify
    around the pointer (over the numbers at the left: that plot's vertical axis). Double click: all steps.
    The flags of live changes at the top: click chooses one, dragging moves it, double click opens it; the menu of a
    change is there along its whole line.
    """

    scrubbed = Signal(float)
    """The pointer chose this place on the step axis."""
    range_chosen = Signal(float, float)
    magnified = Signal(float, float)
    """(factor, step that stays where it is)."""
    moved = Signal(float)
    """Along by so many steps."""
    all_wanted = Signal()
    pointed = Signal(float, QPoint)
    """The pointer rests at this step (global position)."""
    key_pressed = Signal(QKeyEvent)
    values_magnified = Signal(object, float, float)
    mark_chosen = Signal(int)
    mark_opened = Signal(int)
    mark_dragged = Signal(int)
    """The chosen mark is being moved by so many steps."""
    mark_dropped = Signal(int)
    """The chosen mark was let go so many steps later (0: where it was)."""
    menu_wanted = Signal(int, QPoint)
    """(mark or -1, place on the screen)."""
    resized = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.panels: list[Panel] = []
        self.marks: list[tuple[float, float]] = []
        """First and last step of each live change."""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setFrameShape(self.Shape.NoFrame)
        self.ci.setContentsMargins(0, 2, 0, 0)
        self.ci.setSpacing(0)
        self.empty = QLabel(self)
        self.empty.setObjectName("quiet")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.empty.setWordWrap(True)
        self.band = QRubberBand(QRubberBand.Shape.Rectangle, self)
        self._mode = ""
        self._from = 0.0
        self._last = QPointF()
        self._moved = False

    def set_panels(self, panels: Sequence[Panel], step_label: str) -> None:
        """Stack these plots."""
        # straight in Qt's layout: pyqtgraph's own raises when an item is to go that is not there, and adds borders
        layout, scene = self.ci.layout, self.scene()
        for panel in self.panels:
            for item in (panel.plot, panel.legend):
                layout.removeItem(item)
                scene.removeItem(item)
        self.panels = list(panels)
        for row, panel in enumerate(self.panels):
            layout.addItem(panel.plot, row, 0)
            layout.addItem(panel.legend, row, 1)
            panel.show_steps(row == len(self.panels) - 1, step_label)
            panel.overlay.flags = row == 0
        layout.setColumnStretchFactor(0, 1)
        for row in range(layout.rowCount()):
            layout.setRowStretchFactor(row, 1 if row < len(self.panels) else 0)
            layout.setRowMinimumHeight(row, 0)
        self._arrange()
        layout.activate()

    def restyle(self, theme: Theme) -> None:
        """Take over the colours."""
        self.setBackground(theme.card)
        self.empty.setStyleSheet(f"background: {theme.card}; color: {theme.quiet};")
        for panel in self.panels:
            panel.restyle(theme)

    def _arrange(self) -> None:
        width = 0 if self.width() < NARROW else min(max(self.width() // 5, Legend.WIDTH), 190)
        for panel in self.panels:
            panel.legend.setVisible(bool(width))
            panel.legend.setFixedWidth(width)
            panel.legend.setMaximumWidth(width)
        least = least_height(self.font()) * max(len(self.panels), 1) + 34
        self.setMinimumHeight(least)

    # geometry ---------------------------------------------------------------------------------------------------

    def plot_rect(self, panel: Panel) -> QRectF:
        """The inner rectangle of a plot, in pixels of this widget."""
        return QRectF(panel.box.mapRectToScene(panel.box.rect()))

    @property
    def pixels(self) -> int:
        """Width of the plots in pixels."""
        return max(int(self.plot_rect(self.panels[0]).width()), 1) if self.panels else 1

    def step_at(self, position: QPointF) -> float:
        """The place on the step axis below a pixel."""
        box = self.panels[0].box
        return float(box.mapSceneToView(position).x())

    def position_of(self, step: float, panel: int = 0) -> QPointF:
        """The pixel of a step, at half height of a plot."""
        box = self.panels[panel].box
        low, high = box.viewRange()[1]
        return QPointF(box.mapViewToScene(QPointF(step, 0.5 * (low + high))))

    def panel_at(self, position: QPointF, axis: bool = False) -> Panel | None:
        """The plot (with ``axis``: the numbers left of it) below a pixel."""
        for panel in self.panels:
            item = panel.axis if axis else panel.box
            if item.mapRectToScene(item.boundingRect()).contains(position):
                return panel
        return None

    def mark_at(self, position: QPointF, flag: bool = False) -> int:
        """The live change whose line (with ``flag``: whose flag at the top) is below a pixel, the nearest; -1: none."""
        panel = self.panel_at(position)
        if panel is None:
            return -1
        if flag and (panel is not self.panels[0] or position.y() > self.plot_rect(panel).top() + FLAG_HEIGHT):
            return -1
        near, found = (FLAG_REACH if flag else LINE_REACH), -1
        for index, (first, last) in enumerate(self.marks):
            left = self.position_of(first).x()
            # a flag stands at the first step, a band reaches to the last
            right = left if flag else self.position_of(last).x()
            distance = max(left - position.x(), position.x() - right, 0.0)
            if distance <= near:
                near, found = distance, index
        return found

    # mouse ------------------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        position = event.position()
        self._mode = ""
        if self.panel_at(position) is not None:
            if event.button() == Qt.MouseButton.LeftButton:
                chosen = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
                mark = -1 if chosen else self.mark_at(position, flag=True)
                self._mode = "range" if chosen else "mark" if mark >= 0 else "scrub"
                if not chosen:
                    self.mark_chosen.emit(mark)
            elif event.button() == Qt.MouseButton.MiddleButton:
                self._mode = "move"
        if not self._mode:
            event.ignore()
            return
        self._from, self._last, self._moved = self.step_at(position), position, False
        if self._mode == "scrub":
            self.scrubbed.emit(self._from)
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        position = event.position()
        if not self._mode:
            inside = self.panel_at(position) is not None
            self.viewport().setCursor(self._cursor_at(position, inside))
            if inside:
                self.pointed.emit(self.step_at(position), event.globalPosition().toPoint())
            return
        if self._mode == "scrub":
            self.scrubbed.emit(self.step_at(position))
        elif self._mode == "mark":
            self._moved = self._moved or abs(position.x() - self._last.x()) >= QApplication.startDragDistance() / 2
            if self._moved:
                self.mark_dragged.emit(self._steps_dragged(position))
        elif self._mode == "range":
            self._show_band(position)
        else:
            self.moved.emit(self.step_at(self._last) - self.step_at(position))
            self._last = position
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        mode, self._mode = self._mode, ""
        if mode == "mark" and self._moved:
            self.mark_dropped.emit(self._steps_dragged(event.position()))
        if mode == "range":
            self.band.hide()
            self.range_chosen.emit(self._from, self.step_at(event.position()))
        if mode:
            event.accept()
        else:
            event.ignore()

    def _steps_dragged(self, position: QPointF) -> int:
        return round(self.step_at(position) - self._from)

    def _cursor_at(self, position: QPointF, inside: bool) -> Qt.CursorShape:
        if not inside:
            return Qt.CursorShape.ArrowCursor
        on_flag = self.mark_at(position, flag=True) >= 0
        return Qt.CursorShape.SizeHorCursor if on_flag else Qt.CursorShape.CrossCursor

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            self.menu_wanted.emit(-1, self.mapToGlobal(self.position_of_menu()))
        else:
            mark = self.mark_at(QPointF(event.pos()))
            if mark < 0:
                event.ignore()
                return
            self.menu_wanted.emit(mark, event.globalPos())
        event.accept()

    def position_of_menu(self) -> QPoint:
        """Where a menu asked for by key appears: at the top of the line of the step shown."""
        if not self.panels:
            return QPoint()
        return QPoint(
            int(self.position_of(self.panels[0].overlay.step).x()), int(self.plot_rect(self.panels[0]).top()) + 8
        )

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        position = event.position()
        mark = self.mark_at(position, flag=True) if event.button() == Qt.MouseButton.LeftButton else -1
        if mark >= 0:
            self.mark_opened.emit(mark)
            event.accept()
        elif event.button() == Qt.MouseButton.LeftButton and (self.panel_at(position) or self.panel_at(position, True)):
            self.all_wanted.emit()
            event.accept()
        else:
            event.ignore()

    def wheelEvent(self, event: QWheelEvent) -> None:
        turns = event.angleDelta().y() / 120.0
        position = event.position()
        factor = 1.25**turns
        beside = self.panel_at(position, axis=True)
        if beside is not None and turns:
            self.values_magnified.emit(beside, factor, float(beside.box.mapSceneToView(position).y()))
            event.accept()
        elif self.panel_at(position) is not None and turns:
            self.magnified.emit(factor, self.step_at(position))
            event.accept()
        else:
            event.ignore()

    def _show_band(self, position: QPointF) -> None:
        first, last = self.plot_rect(self.panels[0]), self.plot_rect(self.panels[-1])
        edges = sorted((self.position_of(self._from).x(), position.x()))
        left = max(edges[0], first.left())
        right = min(edges[1], first.right())
        self.band.setGeometry(
            QRect(QPoint(math.floor(left), int(first.top())), QPoint(math.ceil(right), int(last.bottom())))
        )
        self.band.show()

    # keys and size ----------------------------------------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._keeps(event):
            event.accept()
            return True
        return bool(super().event(event))

    @staticmethod
    def _keeps(event: QKeyEvent) -> bool:
        """Keys that mean something here and nothing in the transport bar."""
        return event.key() in (
            Qt.Key.Key_Plus,
            Qt.Key.Key_Minus,
            Qt.Key.Key_0,
            Qt.Key.Key_L,
            Qt.Key.Key_PageUp,
            Qt.Key.Key_PageDown,
            *MARK_KEYS,
        )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self._mode == "mark":
            # the mark stays where it was
            self._mode = ""
            self.mark_dropped.emit(0)
            event.accept()
            return
        event.ignore()
        self.key_pressed.emit(event)

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        # pyqtgraph resizes its view once from its own constructor
        if hasattr(self, "empty"):
            self.empty.setGeometry(self.rect())
            self._arrange()
            self.resized.emit()
