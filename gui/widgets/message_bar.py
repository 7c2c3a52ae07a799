"""A status bar whose messages end in '…' where there is no room for them; the tool tip has the whole sentence."""

from __future__ import annotations

import html

from PySide6.QtCore import QEvent, QRect, Qt, Slot
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QStatusBar, QStyle, QStyleOption, QToolTip, QWidget

MARGIN = 6


class MessageBar(QStatusBar):
    """Qt's own one cuts a long message in the middle of a letter, and with it the advice at its end."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeGripEnabled(False)
        self._permanent: list[QWidget] = []
        self.messageChanged.connect(self._on_message)

    def add_permanent(self, widget: QWidget) -> None:
        """Put ``widget`` at the right end; messages leave it its room."""
        self._permanent.append(widget)
        self.addPermanentWidget(widget)

    def room(self) -> QRect:
        """Where a message stands."""
        right = min((widget.x() for widget in self._permanent if widget.isVisible()), default=self.width())
        return QRect(MARGIN, 0, max(right - 2 * MARGIN, 0), self.height())

    def shown(self) -> str:
        """The message as it is drawn."""
        return self.fontMetrics().elidedText(self.currentMessage(), Qt.TextElideMode.ElideRight, self.room().width())

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.currentMessage():
            super().paintEvent(event)
            return
        painter, option = QPainter(self), QStyleOption()
        option.initFrom(self)
        self.style().drawPrimitive(QStyle.PrimitiveElement.PE_PanelStatusBar, option, painter, self)
        painter.setPen(option.palette.windowText().color())
        painter.drawText(self.room(), Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, self.shown())

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent) and self._is_cut():
            # as rich text it is broken into lines
            QToolTip.showText(event.globalPos(), f"<p>{html.escape(self.currentMessage())}</p>", self)
            return True
        return super().event(event)

    def _is_cut(self) -> bool:
        return self.shown() != self.currentMessage()

    @Slot(str)
    def _on_message(self, message: str) -> None:
        self.setAccessibleDescription(message)
