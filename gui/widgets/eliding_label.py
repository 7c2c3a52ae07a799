"""A label of one line whose text is shortened where there is no room for it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QStyleOption


class ElidingLabel(QLabel):
    """``text()`` is the whole text; what is drawn ends in '…' when it is too long. Asks for the room of its text, and
    is content with none.
    """

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        room = self.contentsRect().adjusted(self.margin(), 0, -self.margin(), 0)
        text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room.width())
        option = QStyleOption()
        option.initFrom(self)
        alignment = self.alignment().value
        painter = QPainter(self)
        self.style().drawItemText(
            painter, room, alignment, option.palette, self.isEnabled(), text, self.foregroundRole()
        )
