"""The log: every message, with its time and details, readable as long as the window is open."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

from PySide6.QtCore import QDateTime, Slot
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton, QWidget

from gui.session import Session
from gui.theme import Theme
from gui.views.base import View

MAX_LINES = 2000
STEP = re.compile(r"\bstep \d", re.IGNORECASE)


@dataclass
class Entry:
    """A message; ``times`` counts how often it came in a row."""

    when: str
    step: int
    sentence: str
    details: str
    times: int = 1

    @property
    def head(self) -> str:
        """Its first line."""
        again = f"   (×{self.times})" if self.times > 1 else ""
        # the step shown; a sentence that tells of another one has its own
        shown = "" if STEP.search(self.sentence) else f"step {self.step}  "
        return f"{self.when}  {shown}{self.sentence}{again}"


class LogView(View):
    """Messages of the session, newest last; details indented below. Whoever has scrolled up stays there."""

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
        self.entries: deque[Entry] = deque(maxlen=MAX_LINES)
        self.count = 0
        session.message.connect(self._on_message)

    def restyle(self) -> None:
        """What was said before is written anew: its colours belong to the former theme."""
        place = self.text.verticalScrollBar().value()
        at_end = self._at_end()
        self.text.clear()
        for entry in self.entries:
            self._write(entry)
        self.text.verticalScrollBar().setValue(self.text.verticalScrollBar().maximum() if at_end else place)

    @Slot(str, str)
    def _on_message(self, sentence: str, details: str) -> None:
        self.count += 1
        step = self.session.cursor
        when = QDateTime.currentDateTime().toString("HH:mm:ss")
        at_end = self._at_end()
        last = self.entries[-1] if self.entries else None
        if last is not None and (last.sentence, last.details, last.step) == (sentence, details, step):
            last.times, last.when = last.times + 1, when
            self._take_back(last)
        else:
            last = Entry(when, step, sentence, details)
            self.entries.append(last)
        self._write(last)
        if at_end:
            self.text.verticalScrollBar().setValue(self.text.verticalScrollBar().maximum())
        self.note.setText(self.tr("1 message") if self.count == 1 else self.tr("{0} messages").format(self.count))

    def _at_end(self) -> bool:
        bar = self.text.verticalScrollBar()
        return bar.value() >= bar.maximum() - 1

    def _write(self, entry: Entry) -> None:
        self._append(entry.head, self.theme.text)
        for line in _details(entry):
            self._append(f"    {line}", self.theme.quiet)

    def _take_back(self, entry: Entry) -> None:
        """Remove the newest entry's lines, to be written anew with its count."""
        document = self.text.document()
        cursor = QTextCursor(document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        first = document.findBlockByNumber(max(document.blockCount() - 1 - len(_details(entry)), 0))
        # with the break before it, unless it is the first line of all
        start = max(first.position() - 1, 0)
        cursor.setPosition(start, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()

    def _append(self, line: str, color: str) -> None:
        shape = QTextCharFormat()
        shape.setForeground(QColor(color))
        cursor = QTextCursor(self.text.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        if not self.text.document().isEmpty():
            cursor.insertBlock()
        cursor.insertText(line, shape)

    @Slot()
    def _on_copy(self) -> None:
        QApplication.clipboard().setText(self.text.toPlainText())


def _details(entry: Entry) -> list[str]:
    return entry.details.rstrip().splitlines()
