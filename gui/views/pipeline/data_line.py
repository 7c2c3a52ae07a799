"""The line that names the data of a model: a set that comes with the program, or a file."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QToolButton, QWidget

from core.problems.datasets import dataset_names
from core.problems.objective import Objective
from gui.views.pipeline.fields import combo, quiet_label
from gui.widgets.keys import PRESSING, KeepKeys
from gui.widgets.parameter_slider import LABEL_WIDTH


class DataLine(QWidget):
    """Hidden for problems without data."""

    named = Signal(str)
    """The user has chosen or typed a name or a path."""
    file_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(4)
        label = quiet_label(self.tr("data"))
        label.setFixedWidth(LABEL_WIDTH)
        self.box = combo(
            self.tr("Data"), self.tr("A data set that comes with the program, or the path of a table (CSV, npz, npy)")
        )
        self.box.setEditable(True)
        self.box.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.box.addItems(dataset_names())
        self.box.activated.connect(self._on_named)
        edit = self.box.lineEdit()
        assert edit is not None
        edit.returnPressed.connect(self._on_named)
        self.file_button = QToolButton()
        self.file_button.setText("…")
        self.file_button.setToolTip(self.tr("Choose a file with your own data"))
        self.file_button.setAccessibleName(self.tr("Choose a data file"))
        self.file_button.clicked.connect(self.file_wanted)
        KeepKeys(self.file_button, PRESSING)
        for widget in (label, self.box, self.file_button):
            line.addWidget(widget, 1 if widget is self.box else 0)

    def show_data(self, objective: Objective) -> None:
        """Show which data the problem has; what is being typed stays."""
        data = getattr(objective, "options", {}).get("data")
        self.setVisible(data is not None)
        edit = self.box.lineEdit()
        if data is not None and edit is not None and not edit.hasFocus():
            text = data if isinstance(data, str) else getattr(data, "name", str(data))
            if self.box.currentText() != text:
                self.box.setEditText(text)
                edit.setCursorPosition(0)

    @Slot()
    def _on_named(self) -> None:
        self.named.emit(self.box.currentText().strip())
