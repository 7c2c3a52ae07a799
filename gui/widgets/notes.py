"""Notes below a control: sentences to read and to copy, there only while there is something to say."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QPlainTextEdit, QWidget

from gui.theme import Theme
from gui.widgets.growing_text import GrowingText


class Notes(GrowingText):
    """One paragraph a note, read only: the keyboard reaches it, Ctrl+A and Ctrl+C copy it."""

    def __init__(self, theme: Theme, name: str, tip: str, parent: QWidget | None = None) -> None:
        super().__init__(1, 12, parent)
        self.setReadOnly(True)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setAccessibleName(name)
        self.setToolTip(tip)
        self.setVisible(False)
        self._notes: tuple[str, ...] = ()
        self.restyle(theme)

    def restyle(self, theme: Theme) -> None:
        """Take over the colours."""
        self.setStyleSheet(
            f"QPlainTextEdit {{ background: transparent; border: 0; border-left: 2px solid {theme.accent};"
            f" border-radius: 0; padding: 0 2px; min-height: 0; font-size: 12px; color: {theme.text}; }}"
            f"QPlainTextEdit:focus {{ border: 0; border-left: 4px solid {theme.accent}; }}"
        )
        self.fit()

    def notes(self) -> tuple[str, ...]:
        """What is said now."""
        return self._notes

    def show_notes(self, notes: Sequence[str]) -> None:
        """Say these; none: the place goes."""
        if tuple(notes) == self._notes:
            return
        self._notes = tuple(notes)
        self.setPlainText("\n".join(f"• {note}" for note in self._notes))
        self.setVisible(bool(self._notes))
