"""Says when the chain is no longer what the framework of its lines does, and offers the order of the lines again."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Signal, Slot
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from core.declare import SettingError
from core.optim import emit_optimizer
from core.optim.optimizer import Optimizer
from gui.widgets.keys import PRESSING, KeepKeys

FRAMEWORKS = {"torch": "PyTorch", "keras": "Keras", "tf1": "TensorFlow 1", "optax": "optax"}


def own_chain_reason(optimizer: Optimizer, lines: Optimizer | None) -> str:
    """Why the chain is its own by now: '' while it is the one of its ``lines``, or one their framework has as well.

    Rows put in another order or switched off are looked at; other values of settings are the framework's own business.
    """
    if lines is None or _shape(optimizer) == _shape(lines):
        return ""
    try:
        emit_optimizer(optimizer, optimizer.dialect)
    except SettingError as error:
        return _words(optimizer, str(error))
    return ""


def _shape(optimizer: Optimizer) -> list[tuple[str, bool]]:
    chain = optimizer.chain
    return [(row, transform.enabled) for row, transform in zip(chain.row_names, chain.transforms, strict=True)]


def _words(optimizer: Optimizer, reason: str) -> str:
    framework = FRAMEWORKS.get(optimizer.dialect, optimizer.dialect)
    name = next((transform.group for transform in optimizer.chain.transforms if transform.group), "")
    return QCoreApplication.translate("OwnChainNote", "Own chain, no longer what {0} does: {1}.").format(
        f"{framework} {name}".strip(), reason.rstrip(".")
    )


class OwnChainNote(QWidget):
    """The sentence and the button; not there while the chain is that of its lines."""

    restored = Signal()
    """The order of the lines is wanted again."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(3)
        self.label = QLabel()
        self.label.setObjectName("warning")
        self.label.setWordWrap(True)
        self.button = QPushButton(self.tr("Order of the lines"))
        self.button.setToolTip(self.tr("Put the rows back in the order in which the lines above have them"))
        self.button.setAccessibleName(self.button.text())
        self.button.clicked.connect(self._on_clicked)
        KeepKeys(self.button, PRESSING)
        layout.addWidget(self.label)
        layout.addWidget(self.button)
        self.setVisible(False)

    @property
    def reason(self) -> str:
        """What is said; '' while the chain is that of its lines."""
        return self.label.text()

    def say(self, reason: str, reordered: bool) -> None:
        """Show ``reason`` ('' hides all); the button is of use when rows were ``reordered``."""
        if self.label.text() != reason:
            self.label.setText(reason)
        self.button.setVisible(reordered)
        self.setVisible(bool(reason))

    @Slot()
    def _on_clicked(self) -> None:
        self.restored.emit()
