"""Three hints for the first start, in a card over the window; put away for good, and to be had again from the menu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QSettings, Qt, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout

if TYPE_CHECKING:
    from gui.main_window import MainWindow

SEEN = "hints/seen"
WIDTH = 520
GAP = 14


class HintCard(QFrame):
    """The card itself: stands at the bottom of its window, in the middle."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.setObjectName("hints")
        self.setAccessibleName(self.tr("First hints"))
        self.setAutoFillBackground(True)
        self._window = window
        self.restyle()
        window.session.theme_changed.connect(self.restyle)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 12, 18, 12)
        title = QLabel(self.tr("Three things to try"))
        title.setObjectName("title")
        layout.addWidget(title)
        for number, text in enumerate(self._texts(), start=1):
            label = QLabel(f"{number}.  {text}")
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.RichText)
            layout.addWidget(label)
        line = QHBoxLayout()
        where = QLabel(self.tr("Again from the menu Help; <b>?</b> lists all keys."))
        where.setObjectName("quiet")
        line.addWidget(where, 1)
        self.button = QPushButton(self.tr("Got it"))
        self.button.setToolTip(self.tr("Put the hints away (Esc)"))
        self.button.setAccessibleName(self.tr("Put the hints away"))
        self.button.clicked.connect(self.hide)
        line.addWidget(self.button)
        layout.addLayout(line)
        window.installEventFilter(self)

    def _texts(self) -> tuple[str, str, str]:
        return (
            self.tr(
                "<b>Space</b> runs and pauses. Blue is the step that the gradient says, <b>orange the step that was "
                "taken</b>; the ledger itemises the difference."
            ),
            self.tr(
                "<b>Drag a slider</b> of the pipeline while it runs, or switch a cause off. <b>Ctrl+Z</b> takes it "
                "back."
            ),
            self.tr(
                "<b>Paste the optimizer lines</b> of your own code into the box on top of the pipeline: PyTorch, "
                "Keras, TensorFlow 1 or optax."
            ),
        )

    @Slot()
    def restyle(self) -> None:
        """Take over the window's colours."""
        theme = self._window.theme
        self.setStyleSheet(
            f"QFrame#hints {{ background: {theme.card}; border: 2px solid {theme.accent}; border-radius: 8px; }}"
        )

    def place(self) -> None:
        """Stand at the bottom of the window."""
        window = self.parentWidget()
        width = min(WIDTH, window.width() - 2 * GAP)
        self.setFixedWidth(width)
        self.adjustSize()
        bottom = window.height() - 2 * GAP - self.height()
        self.move(QPoint((window.width() - width) // 2, max(bottom, 0)))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self.place()
        return False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.hide()
        else:
            super().keyPressEvent(event)


class Hints(QObject):
    """Shows the card, at the first start by itself."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.card: HintCard | None = None

    @property
    def first_start(self) -> bool:
        """True until the hints have been shown once."""
        return QSettings().value(SEEN) is None

    @Slot()
    def open(self) -> None:
        """Show the hints now."""
        QSettings().setValue(SEEN, True)
        if self.card is not None:
            self.card.deleteLater()
        self.card = HintCard(self._window)
        self.card.place()
        self.card.show()
        self.card.raise_()
        self.card.button.setFocus()

    @Slot()
    def welcome(self) -> None:
        """At the first start: the example runs, and the hints lie over it."""
        if self.first_start:
            self.open()
            self._window.session.run()
