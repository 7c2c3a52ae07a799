"""Text that wraps anywhere and is as high as it needs: what is pasted, and what is said about it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QTimer, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy, QWidget


class GrowingText(QPlainTextEdit):
    """Plain text, wrapped, as high as it is between ``least`` and ``most`` lines; Tab goes on to the next control."""

    def __init__(self, least: int = 2, most: int = 9, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._least, self._most = least, most
        self._fitting = False
        self.setTabChangesFocus(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(2)
        self.document().documentLayout().documentSizeChanged.connect(self._on_size)

    def _lines(self) -> int:
        block, lines = self.document().firstBlock(), 0
        while block.isValid():
            lines += max(block.layout().lineCount(), 1)
            block = block.next()
        return lines

    def fit(self) -> None:
        """Take the height of the text."""
        # the style sheet's font counts only once it has been applied
        self.ensurePolished()
        spacing = self.fontMetrics().lineSpacing()
        lines = min(max(self._lines(), self._least), self._most)
        height = lines * spacing + 2 * self.frameWidth() + 2 * int(self.document().documentMargin()) + 8
        if self._fitting or (height == self.minimumHeight() == self.maximumHeight()):
            return
        # setting the height resizes, which would come back here half-way
        self._fitting = True
        self.setFixedHeight(height)
        self._fitting = False

    @Slot()
    def _on_size(self) -> None:
        self.fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # wrapped lines may be more or fewer now
        QTimer.singleShot(0, self, self._on_size)

    def sizeHint(self) -> QSize:
        return QSize(200, self.minimumHeight())

    def minimumSizeHint(self) -> QSize:
        return QSize(80, self.minimumHeight())
