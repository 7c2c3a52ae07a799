"""The log: every message, with its time and details, readable as long as the window is open."""

from __future__ import annotations

from PySide6.QtCore import QDateTime, Slot
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton, QWidget

from gui.session import Session
from gui.theme import Theme
from gui.views.base import View

MAX_LINES = 2000


class LogView(View):
    """Messages of the session, newest last; details indented below."""

    name = "log"
    title = "Log"

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setMaximumBlockCount(MAX_LINES)
        self.text.setAccessibleName(self.tr("Messages"))
        self.text.setToolTip(self.tr("Everything the program has said, newest last"))
        self.text.setPlaceholderText(self.tr("Nothing has happened yet that needs words."))
        self.body.addWidget(self.text, 1)
        copy = QPushButton(self.tr("Copy all"))
        copy.setToolTip(self.tr("The whole log to the clipboard, for a report"))
        copy.setAccessibleName(self.tr("Copy the log"))
        copy.clicked.connect(self._on_copy)
        self.header.insertWidget(1, copy)
        self.count = 0
        session.message.connect(self._on_message)

    @Slot(str, str)
    def _on_message(self, sentence: str, details: str) -> None:
        self.count += 1
        step = self.session.cursor
        when = QDateTime.currentDateTime().toString("HH:mm:ss")
        self._append(f"{when}  step {step}  {sentence}", self.theme.text)
        for line in details.rstrip().splitlines():
            self._append(f"    {line}", self.theme.quiet)
        self.note.setText(self.tr("1 message") if self.count == 1 else self.tr("{0} messages").format(self.count))

    def _append(self, line: str, color: str) -> None:
        shape = QTextCharFormat()
        shape.setForeground(QColor(color))
        cursor = QTextCursor(self.text.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        if not self.text.document().isEmpty():
            cursor.insertBlock()
        cursor.insertText(line, shape)
        self.text.verticalScrollBar().setValue(self.text.verticalScrollBar().maximum())

    @Slot()
    def _on_copy(self) -> None:
        QApplication.clipboard().setText(self.text.toPlainText())
