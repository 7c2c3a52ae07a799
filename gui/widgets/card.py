"""A card of the pipeline: one cause's colour, switch, title, number and controls; and the grip to move it by."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QCheckBox, QFrame, QHBoxLayout, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from gui.theme import Theme
from gui.widgets.eliding_label import ElidingLabel
from gui.widgets.keys import PRESSING, KeepKeys
from gui.widgets.read_out import ReadOut

TINY = 3


class Swatch(QWidget):
    """A small square of a cause's colour."""

    def __init__(self, color: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.color = color
        self.setFixedSize(10, 10)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self.color) if self.isEnabled() else QColor("#80808080"))


class Grip(QToolButton):
    """What a card, or one row of it, is dragged by; with the focus, the up and down keys move it as well."""

    dragged = Signal(QPoint)
    """Global position of the pointer while dragging."""
    dropped = Signal(QPoint)
    cancelled = Signal()
    stepped = Signal(int)
    """-1: one place up, 1: one place down."""

    def __init__(self, name: str, tip: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("plain")
        self.setFixedSize(14, 18)
        self.setCursor(Qt.CursorShape.SizeVerCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.tr("Move {0}").format(name))
        self.setToolTip(tip)
        KeepKeys(self, (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Space))
        self._from: QPoint | None = None
        self._dragging = False

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        color = self.palette().buttonText().color()
        color.setAlpha(255 if self.hasFocus() or self.underMouse() else 150)
        for x in (-2.5, 2.5):
            for y in (-4.0, 0.0, 4.0):
                painter.fillRect(QRectF(self.width() / 2 + x - 1.0, self.height() / 2 + y - 1.0, 2.0, 2.0), color)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._from = event.globalPosition().toPoint()
            self.setFocus()
            event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        place = event.globalPosition().toPoint()
        if self._from is not None and (self._dragging or abs(place.y() - self._from.y()) > TINY):
            self._dragging = True
            self.dragged.emit(place)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._from = None
        if self._dragging:
            self._dragging = False
            self.dropped.emit(event.globalPosition().toPoint())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self._dragging:
            self._from, self._dragging = None, False
            self.cancelled.emit()
        elif event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.stepped.emit(-1 if event.key() == Qt.Key.Key_Up else 1)
        else:
            super().keyPressEvent(event)


class CauseHeader(QWidget):
    """One line: colour, switch, title, and the number that matters at the right."""

    toggled = Signal(bool)
    clicked = Signal()

    def __init__(self, title: str, color: str, *, switchable: bool = True, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.layout_ = QHBoxLayout(self)
        self.layout_.setContentsMargins(0, 0, 0, 0)
        self.layout_.setSpacing(4)
        self.swatch = Swatch(color)
        self.switch = QCheckBox()
        # no gap before words it does not have
        self.switch.setStyleSheet("QCheckBox { spacing: 0; }")
        self.switch.setAccessibleName(self.tr("{0} acts").format(title))
        self.switch.setToolTip(self.tr("Let {0} act, or switch it off from the next step on").format(title))
        # never setVisible(True) on what has no parent yet: that opens a window of its own for a moment
        if not switchable:
            self.switch.hide()
        self.switch.toggled.connect(self.toggled)
        KeepKeys(self.switch, PRESSING)
        self.title = ElidingLabel(title)
        self.title.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.title.setMinimumWidth(30)
        self.figure = ReadOut(grows=True)
        self.figure.set_role("quiet")
        self.figure.set_alignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for widget in (self.swatch, self.switch):
            self.layout_.addWidget(widget)
        self.layout_.addWidget(self.title, 1)
        self.layout_.addWidget(self.figure)

    def set_on(self, on: bool) -> None:
        """Show whether the cause acts."""
        with QSignalBlocker(self.switch):
            self.switch.setChecked(on)
        self.swatch.setEnabled(on)
        self.title.setEnabled(on)

    def add(self, widget: QWidget) -> None:
        """Put a control at the right end."""
        self.layout_.addWidget(widget)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.clicked.emit()
        super().mouseReleaseEvent(event)


class Card(QFrame):
    """A frame that holds one or several causes (see ``body``); it can be marked as selected and as being dragged."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chainCard")
        self._theme = theme
        self._selected = self._lifted = False
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(7, 4, 4, 5)
        self.body.setSpacing(3)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._style()

    def restyle(self, theme: Theme) -> None:
        """Take over the colours."""
        self._theme = theme
        self._style()

    def set_selected(self, selected: bool) -> None:
        """Mark the card of the ledger row that is selected."""
        if selected != self._selected:
            self._selected = selected
            self._style()

    @Slot(bool)
    def set_lifted(self, lifted: bool) -> None:
        """Mark the card that is being dragged."""
        if lifted != self._lifted:
            self._lifted = lifted
            self._style()

    def _style(self) -> None:
        theme = self._theme
        ground = theme.field if self._lifted else theme.card
        border = theme.accent if self._selected or self._lifted else theme.border
        self.setStyleSheet(
            f"QFrame#chainCard {{ background: {ground}; border: 1px solid {border}; border-radius: 5px; }}"
        )
