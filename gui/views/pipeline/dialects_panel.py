"""The same chain as code in four dialects, copied with one click; where one cannot say it, the reason."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from core.declare import SettingError
from core.optim import emit_optimizer
from core.optim.dialects import DIALECTS
from core.optim.optimizer import Optimizer
from gui.theme import Theme
from gui.widgets.code_box import CodeEdit
from gui.widgets.keys import MOVING, PRESSING, KeepKeys

SHORT_NAMES = {"torch": "PyTorch", "keras": "Keras", "tf1": "TF1", "optax": "optax"}
COPIED_MILLISECONDS = 1200


class DialectsPanel(QWidget):
    """One button a dialect and the code; ``copy_button`` is for the heading above, and of use while this is folded."""

    wanted = Signal()
    """The code is about to be copied: it has to be that of now."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._optimizer: Optimizer | None = None
        self.copy_button = QToolButton()
        self.copy_button.setObjectName("plain")
        self.copy_button.setText(self.tr("Copy"))
        self.copy_button.setToolTip(self.tr("Copy this chain as code, in the dialect chosen below"))
        self.copy_button.setAccessibleName(self.tr("Copy the code"))
        self.copy_button.clicked.connect(self._on_copy)
        KeepKeys(self.copy_button, PRESSING)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        line = QHBoxLayout()
        line.setSpacing(2)
        self.buttons = QButtonGroup(self)
        for k, name in enumerate(DIALECTS):
            button = QToolButton()
            button.setText(SHORT_NAMES.get(name, name))
            button.setCheckable(True)
            button.setChecked(k == 0)
            button.setToolTip(self.tr("This chain as {0} code").format(SHORT_NAMES.get(name, name)))
            button.setAccessibleName(button.toolTip())
            button.setProperty("dialect", name)
            button.setStyleSheet("padding: 1px 3px;")
            KeepKeys(button, (*MOVING, *PRESSING))
            self.buttons.addButton(button, k)
            line.addWidget(button)
        line.addStretch(1)
        layout.addLayout(line)
        self.code = CodeEdit(theme, least=1, most=12)
        self.code.setReadOnly(True)
        self.code.setAccessibleName(self.tr("This chain as code"))
        self.code.setToolTip(self.tr("Lines that set this chain up, with the values of now"))
        layout.addWidget(self.code)
        self.reason = QLabel()
        self.reason.setObjectName("quiet")
        self.reason.setWordWrap(True)
        self.reason.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.reason.setVisible(False)
        layout.addWidget(self.reason)
        self.buttons.idToggled.connect(self._on_toggled)
        self._copied = QTimer(self)
        self._copied.setSingleShot(True)
        self._copied.setInterval(COPIED_MILLISECONDS)
        self._copied.timeout.connect(self._on_copied_over)

    @property
    def dialect(self) -> str:
        """The dialect chosen."""
        button = self.buttons.checkedButton()
        return str(button.property("dialect"))

    def set_dialect(self, name: str) -> None:
        """Choose a dialect."""
        for button in self.buttons.buttons():
            if button.property("dialect") == name:
                button.setChecked(True)

    def restyle(self, theme: Theme) -> None:
        """Take over the colours."""
        self.code.restyle(theme)

    def show_optimizer(self, optimizer: Optimizer) -> None:
        """Write the chain of ``optimizer`` out."""
        self._optimizer = optimizer
        try:
            text, reason = emit_optimizer(optimizer, self.dialect), ""
        except SettingError as error:
            text, reason = "", str(error)
        if text != self.code.toPlainText():
            self.code.setPlainText(text)
        self.code.setVisible(bool(text))
        self.copy_button.setEnabled(bool(text))
        self.reason.setText(self.tr("Not in this dialect: {0}.").format(reason.rstrip(".")) if reason else "")
        self.reason.setVisible(bool(reason))

    @Slot(int, bool)
    def _on_toggled(self, index: int, checked: bool) -> None:
        if checked and self._optimizer is not None:
            self.show_optimizer(self._optimizer)

    @Slot()
    def _on_copy(self) -> None:
        self.wanted.emit()
        if not self.code.toPlainText():
            return
        QGuiApplication.clipboard().setText(self.code.toPlainText())
        self.copy_button.setText(self.tr("Copied"))
        self._copied.start()

    @Slot()
    def _on_copied_over(self) -> None:
        self.copy_button.setText(self.tr("Copy"))
