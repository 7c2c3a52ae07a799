"""A few lines of code to paste into: coloured, growing with its text, with what is wrong written under them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QFontDatabase,
    QKeyEvent,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QLabel, QTextEdit, QVBoxLayout, QWidget

from gui.theme import APPLIED, COMPUTED, Theme, cause_color
from gui.widgets.growing_text import GrowingText
from gui.widgets.notes import Notes

PAUSE_MILLISECONDS = 350
"""How long typing has to rest before ``settled`` says that the text can be looked at."""


class CodeColors(QSyntaxHighlighter):
    """Numbers, text, names of arguments and comments, in quiet colours."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document)
        self._rules: list[tuple[re.Pattern[str], QTextCharFormat]] = []
        self.restyle(theme)

    def restyle(self, theme: Theme) -> None:
        """Take over the colours."""
        self._rules = [
            (re.compile(pattern), _format(color))
            for pattern, color in (
                (r"\b\w+(?=\s*=[^=])", theme.quiet),
                (r"(?<![\w.])[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", COMPUTED),
                (r"\b(?:True|False|None)\b", COMPUTED),
                (r"'[^']*'|\"[^\"]*\"", cause_color("clipping")),
                (r"#.*$", theme.quiet),
            )
        ]
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        for pattern, style in self._rules:
            for found in pattern.finditer(text):
                self.setFormat(found.start(), found.end() - found.start(), style)


def _format(color: str) -> QTextCharFormat:
    style = QTextCharFormat()
    style.setForeground(QColor(color))
    return style


class CodeEdit(GrowingText):
    """Code in a fixed-width font, as high as its text. Ctrl+Enter submits."""

    submitted = Signal()

    def __init__(self, theme: Theme, least: int = 2, most: int = 9, parent: QWidget | None = None) -> None:
        super().__init__(least, most, parent)
        self.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.colors = CodeColors(self.document(), theme)
        self.restyle(theme)

    def restyle(self, theme: Theme) -> None:
        """Take over the colours."""
        self.colors.restyle(theme)
        self.setStyleSheet("QPlainTextEdit { padding: 2px; min-height: 0; font-family: monospace; font-size: 11px; }")
        self.fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and (
            event.modifiers() & Qt.KeyboardModifier.ControlModifier
        ):
            self.submitted.emit()
            return
        super().keyPressEvent(event)

    def underline(self, line: int, column: int) -> None:
        """Wave-underline the word at ``line`` and ``column`` (from 1); 0, 0 takes the line away."""
        marks: list[QTextEdit.ExtraSelection] = []
        block = self.document().findBlockByNumber(line - 1)
        if line > 0 and block.isValid():
            text = block.text()
            begin = min(max(column - 1, 0), max(len(text) - 1, 0))
            word = re.compile(r"[\w.]+|\S").match(text, begin)
            end = word.end() if word else len(text)
            cursor = QTextCursor(block)
            cursor.setPosition(block.position() + begin)
            cursor.setPosition(block.position() + max(end, begin + 1 if text else 0), QTextCursor.MoveMode.KeepAnchor)
            style = QTextCharFormat()
            style.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            style.setUnderlineColor(QColor(APPLIED))
            style.setBackground(QColor(232, 113, 10, 50))
            mark = QTextEdit.ExtraSelection()
            mark.cursor, mark.format = cursor, style
            marks.append(mark)
        self.setExtraSelections(marks)


class CodeBox(QWidget):
    """The edit and, under it, what is wrong with its text, or what one should know about it."""

    submitted = Signal(str)
    """Ctrl+Enter."""
    settled = Signal(str)
    """Typing has rested for a moment."""

    def __init__(self, theme: Theme, placeholder: str, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        self.edit = CodeEdit(theme)
        self.edit.setPlaceholderText(placeholder)
        self.edit.setAccessibleName(name)
        self.edit.submitted.connect(self._on_submitted)
        self.edit.textChanged.connect(self._on_text)
        layout.addWidget(self.edit)
        self.trouble = QLabel()
        self.trouble.setObjectName("warning")
        self.trouble.setWordWrap(True)
        self.trouble.setTextFormat(Qt.TextFormat.PlainText)
        self.trouble.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.trouble.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.trouble.setVisible(False)
        layout.addWidget(self.trouble)
        self.notes = Notes(
            theme,
            self.tr("Notes on: {0}").format(name),
            self.tr("What these lines mean for the steps. Select to copy."),
        )
        layout.addWidget(self.notes)
        self._noted = ""
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(PAUSE_MILLISECONDS)
        self._rest.timeout.connect(self._on_rest)

    def restyle(self, theme: Theme) -> None:
        """Take over the colours."""
        self.edit.restyle(theme)
        self.notes.restyle(theme)

    def text(self) -> str:
        """What stands there."""
        return self.edit.toPlainText()

    def set_text(self, text: str) -> None:
        """Another text; what was said about the old one goes."""
        self.edit.setPlainText(text)
        self._rest.stop()
        self.show_trouble("")
        self.show_notes(())

    def show_trouble(self, message: str, line: int = 0, column: int = 0) -> None:
        """Say what is wrong under the code, and mark the place (counted from 1); '' : nothing is. The text stays."""
        self.trouble.setText(message)
        self.trouble.setVisible(bool(message))
        self.edit.underline(line if message else 0, column)

    def show_notes(self, notes: Sequence[str]) -> None:
        """Say what a reader of the text should know; it goes as soon as the text is another."""
        self._noted = self.text()
        self.notes.show_notes(notes)

    @Slot()
    def _on_submitted(self) -> None:
        self._rest.stop()
        self.submitted.emit(self.text())

    @Slot()
    def _on_text(self) -> None:
        if self.text() != self._noted:  # colouring the text anew reports a change, too
            self.show_notes(())
        self._rest.start()

    @Slot()
    def _on_rest(self) -> None:
        self.settled.emit(self.text())
