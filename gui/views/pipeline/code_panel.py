"""The lines of the optimizer: paste, apply live or restart with them; what cannot be read is said at its place."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from core.declare import SettingError
from core.optim import ParseError, parse_optimizer
from core.optim.groups import assign_groups
from core.optim.layout import Layout
from gui.theme import Theme
from gui.widgets.code_box import CodeBox
from gui.widgets.keys import PRESSING, KeepKeys

DIALECT_NAMES = {"torch": "PyTorch", "keras": "Keras", "tf1": "TensorFlow 1", "optax": "optax"}
EXAMPLE = "torch.optim.Adam(params, lr=0.05)"


class CodePanel(QWidget):
    """The paste box with its two buttons."""

    applied = Signal(str)
    """Go on with these lines from the next step."""
    restarted = Signal(str)
    """Start again with these lines."""
    dialect_found = Signal(str)
    """The framework of the lines, in words; '' while they cannot be read."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        self.box = CodeBox(
            theme,
            self.tr("Paste your optimizer lines, for example\n{0}").format(EXAMPLE),
            self.tr("Optimizer lines"),
        )
        self.box.edit.setToolTip(
            self.tr(
                "PyTorch, Keras, TensorFlow 1 or optax: optimizer, schedule, clipping and loss scaling lines.\n"
                "They are read, never executed. Ctrl+Enter applies them from the next step on."
            )
        )
        self.box.submitted.connect(self._on_apply)
        self.box.settled.connect(self._on_settled)
        layout.addWidget(self.box)
        line = QHBoxLayout()
        line.setSpacing(4)
        self.apply_button = QPushButton(self.tr("Apply"))
        self.apply_button.setToolTip(self.tr("Go on with these lines from the next step (Ctrl+Enter)"))
        self.apply_button.clicked.connect(self._on_apply)
        self.restart_button = QPushButton(self.tr("Restart with these"))
        self.restart_button.setToolTip(self.tr("Start the run again from its first step with these lines"))
        self.restart_button.clicked.connect(self._on_restart)
        for button in (self.apply_button, self.restart_button):
            button.setAccessibleName(button.text())
            KeepKeys(button, PRESSING)
            line.addWidget(button)
        line.addStretch(1)
        layout.addLayout(line)
        self._source = ""
        self.layout_of_run: Layout | None = None
        """The variables that lines have to fit."""
        self._accent = theme.accent
        self.box.edit.textChanged.connect(self._show_edited)

    def restyle(self, theme: Theme) -> None:
        """Take over the colours."""
        self._accent = theme.accent
        self.box.restyle(theme)
        self._show_edited()

    def show_source(self, source: str) -> None:
        """The lines the run's optimizer was made of; text that is being written is not overwritten."""
        if source == self._source:
            return
        untouched = self.box.text().strip() in ("", self._source.strip())
        self._source = source
        if untouched or self.box.text().strip() == source.strip():
            self.box.set_text(source)
        self._on_settled(self.box.text())

    def read(self, text: str) -> str:
        """The framework the lines belong to, with notes on them; '' after saying under them what is wrong."""
        if not text.strip():
            return self._refuse(self.tr("There are no lines yet; paste some, for example {0}").format(EXAMPLE))
        try:
            optimizer = parse_optimizer(text)
            if self.layout_of_run is not None:
                names, shapes = self.layout_of_run.names, self.layout_of_run.shapes
                optimizer.check_variables(names, shapes)
                assign_groups(optimizer.groups, names, shapes)
        except ParseError as error:
            return self._refuse(_message(error), error.line, error.column)
        except SettingError as error:
            return self._refuse(str(error))
        self.box.show_trouble("")
        self.box.show_notes(optimizer.remarks)
        return DIALECT_NAMES.get(optimizer.dialect, optimizer.dialect)

    def _refuse(self, message: str, line: int = 0, column: int = 0) -> str:
        self.box.show_trouble(message, line, column)
        self.box.show_notes(())
        return ""

    @property
    def edited(self) -> bool:
        """True while the text is not what the run's optimizer was made of."""
        return self.box.text().strip() != self._source.strip()

    def _look(self, text: str) -> str:
        """Say what framework the lines are of, or what is wrong with them; '' when they cannot be used."""
        self._show_edited()
        name = self.read(text)
        self.dialect_found.emit(name)
        return name

    @Slot()
    def _show_edited(self) -> None:
        """Lines that are not at work yet have their button stand out."""
        self.apply_button.setProperty("waiting", self.edited)
        color = f"border-color: {self._accent}; color: {self._accent};" if self.edited else ""
        self.apply_button.setStyleSheet(f"QPushButton {{ {color} }}" if color else "")

    @Slot(str)
    def _on_settled(self, text: str) -> None:
        if text.strip():
            self._look(text)
        else:
            self.box.show_trouble("")
            self.box.show_notes(())

    @Slot()
    def _on_apply(self) -> None:
        if self._look(self.box.text()):
            self.applied.emit(self.box.text())

    @Slot()
    def _on_restart(self) -> None:
        if self._look(self.box.text()):
            self.restarted.emit(self.box.text())


def _message(error: ParseError) -> str:
    """Without the quoted line: it stands right above."""
    return str(error).partition("\n    ")[0]
