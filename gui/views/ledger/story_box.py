"""Where the sentences stand: text that may be longer or shorter at every step without moving what is above it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QWidget

FEWEST_LINES = 3
MOST_SHARE = 0.4


class StoryBox(QScrollArea):
    """Rich text whose room grows when it has to and does not shrink until ``reset``; beyond 40 % of the card it
    scrolls.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.label = QLabel()
        self.label.setWordWrap(True)
        self.label.setTextFormat(Qt.TextFormat.RichText)
        self.label.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.label.setMinimumWidth(1)
        self.setWidget(self.label)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        self._lines = float(FEWEST_LINES)
        self.setFixedHeight(self._height_of_lines())

    def set_html(self, text: str) -> None:
        """Show another text."""
        if text != self.label.text():
            self.label.setText(text)
            self._fit()

    def text(self) -> str:
        """What is shown."""
        return self.label.text()

    def reset(self) -> None:
        """Forget how much room was needed."""
        self.setFixedHeight(self._height_of_lines())
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self._fit()

    def _height_of_lines(self) -> int:
        return int(self._lines * self.label.fontMetrics().lineSpacing()) + 6

    def _fit(self) -> None:
        needed = self.label.heightForWidth(max(self.viewport().width(), 1)) + 4
        card = self.parentWidget()
        most = max(int(MOST_SHARE * card.height()), self._height_of_lines()) if card is not None else needed
        if min(needed, most) > self.height():
            self.setFixedHeight(min(needed, most))
