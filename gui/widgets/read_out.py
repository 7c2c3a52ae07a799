"""Text that changes with every step, without the rest of the window being laid out anew for it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtGui import Qt as GuiQt
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget


class ReadOut(QWidget):
    """A label whose words may change without its size being asked for again.

    A QLabel tells its layout of every new text, and the whole window is then laid out and painted anew; here the
    label lives in a widget without a layout, whose size hint is that of ``lines`` lines of text. What does not fit
    into one line is shortened at its end and told by the tool tip; with ``grows`` the room grows instead, and never
    shrinks again.
    """

    def __init__(self, lines: int = 1, grows: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.label = QLabel(self)
        self.lines = lines
        self.grows = grows
        self._text = ""
        self._short = ""
        self._tip: str | None = None
        self.label.setWordWrap(lines > 1)
        wide = QSizePolicy.Policy.Minimum if grows else QSizePolicy.Policy.Expanding
        self.setSizePolicy(wide, QSizePolicy.Policy.Fixed)

    def text(self) -> str:
        """The whole text."""
        return self._text

    def setText(self, text: str, short: str = "") -> None:
        """Show ``text``, plain or rich, as a QLabel takes it; ``short`` where there is no room for it."""
        if (text, short) == (self._text, self._short):
            return
        self._text, self._short = text, short
        self._show()

    def setToolTip(self, tip: str) -> None:
        """Another tool tip than the text that has been shortened."""
        self._tip = tip
        super().setToolTip(tip)

    def set_role(self, role: str) -> None:
        """Colour it as the style sheet says for labels of this name: 'quiet', 'warning' or ''."""
        if role != self.label.objectName():
            self.label.setObjectName(role)
            self.label.style().unpolish(self.label)
            self.label.style().polish(self.label)

    def set_alignment(self, alignment: Qt.AlignmentFlag) -> None:
        """Where the text stands in its room."""
        self.label.setAlignment(alignment)

    def setAccessibleName(self, name: str) -> None:
        """What a screen reader calls it; it reads the text itself from the label."""
        super().setAccessibleName(name)
        self.label.setAccessibleName(name)

    def sizeHint(self) -> QSize:
        return self.minimumSizeHint()

    def minimumSizeHint(self) -> QSize:
        spacing = self.label.fontMetrics().lineSpacing()
        return QSize(0, self.lines * spacing + 4)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.label.setGeometry(self.rect())
        self._show()

    def _show(self) -> None:
        shown = self._text
        if self.lines == 1 and not GuiQt.mightBeRichText(shown):
            # the style sheet may pad the label: what it asks for beyond the bare words
            self.label.setText(shown)
            metrics = self.label.fontMetrics()
            padding = max(self.label.sizeHint().width() - metrics.horizontalAdvance(shown), 0)
            # advances are rounded to whole pixels, words are shortened by what they really need
            needed = metrics.horizontalAdvance(shown) + padding + 2
            if self.grows and needed > self.minimumWidth():
                self.setMinimumWidth(needed)
            room = max(self.width(), self.minimumWidth()) - padding
            if self._short and needed > max(self.width(), self.minimumWidth()):
                shown = self._short
            shown = metrics.elidedText(shown, Qt.TextElideMode.ElideRight, max(room, 0))
        self.label.setText(shown)
        if self._tip is None or not self._tip:
            super().setToolTip(self._text if shown != self._text else "")
