"""The button that opens the comparison with another framework's arithmetic; one window of it at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QToolButton, QWidget

from gui.session import Session
from gui.theme import Theme
from gui.widgets.keys import PRESSING, KeepKeys

if TYPE_CHECKING:
    from gui.views.ledger.other_dialog import OtherDialog


class OtherButton(QToolButton):
    """``dialog`` is the comparison that is open, or None."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._theme = theme
        self.dialog: OtherDialog | None = None
        self.setText(self.tr("Compare…"))
        self.setToolTip(
            self.tr(
                "Compare with PyTorch, Keras, TensorFlow 1 or optax: the same optimizer in another framework's "
                "arithmetic, on this run's own weights and gradients"
            )
        )
        self.setAccessibleName(self.tr("Compare with another framework"))
        # beside it the residual has to be read, in a narrow card too
        self.setStyleSheet("padding: 2px 5px;")
        KeepKeys(self, PRESSING)
        self.clicked.connect(self.open)

    def restyle(self, theme: Theme) -> None:
        """Take over a theme."""
        self._theme = theme
        if self.dialog is not None:
            self.dialog.restyle(theme)

    @Slot()
    def open(self) -> None:
        """Open it, or bring it to the front."""
        # made when it is first wanted: a start of the program does without
        from gui.views.ledger.other_dialog import OtherDialog

        if self.dialog is None:
            self.dialog = OtherDialog(self._session, self._theme, self.window())
            self.dialog.closed.connect(self._on_closed)
        if self.dialog.isVisible():
            self.dialog.raise_()
            self.dialog.activateWindow()
        self.dialog.show()

    @Slot()
    def _on_closed(self) -> None:
        self.dialog = None
