"""What is predicted from what, by which model, and which rows are kept for the test: the lower half of 'Own data'."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from core.problems.catalogue import MODELS
from core.problems.from_table import MISSING_RULES
from core.problems.tables import Table
from core.simulation.experiment import ProblemSettings


class DataChoices(QWidget):
    """Says what the user wants; knows nothing of files."""

    target_chosen = Signal()
    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(14)
        form = QFormLayout()
        self.target = QComboBox()
        self.target.activated.connect(self.target_chosen)
        self.model = QComboBox()
        for model in MODELS:
            if model.name != "rnn":
                self.model.addItem(model.title, model.name)
        self.model.activated.connect(self.changed)
        self.missing = QComboBox()
        words = {
            "drop": self.tr("leave such rows out"),
            "mean": self.tr("put the column's mean there"),
            "refuse": self.tr("refuse the file"),
        }
        for rule in MISSING_RULES:
            self.missing.addItem(words[rule], rule)
        self.missing.activated.connect(self.changed)
        self.test = QSpinBox()
        self.test.setRange(0, 90)
        self.test.setValue(20)
        self.test.setSuffix(" %")
        self.split_seed = QSpinBox()
        self.split_seed.setRange(0, 2**31 - 1)
        self.standardise = QCheckBox(self.tr("standardise the features"))
        self.standardise.setChecked(True)
        for label, control, tip in (
            (self.tr("predict"), self.target, self.tr("The column the model is to predict: text or numbers")),
            (self.tr("with"), self.model, self.tr("The model that is trained")),
            (self.tr("missing values"), self.missing, self.tr("What to do where a cell is empty")),
            (self.tr("test rows"), self.test, self.tr("Part of the rows set aside for the test metrics")),
            (
                self.tr("split seed"),
                self.split_seed,
                self.tr("Which rows these are: another number shuffles them otherwise"),
            ),
            ("", self.standardise, self.tr("Give every feature mean 0 and deviation 1 over the training rows")),
        ):
            control.setAccessibleName(label or self.standardise.text())
            control.setToolTip(tip)
            form.addRow(label, control)
        line.addLayout(form, 1)
        side = QVBoxLayout()
        self.features = QListWidget()
        self.features.setAccessibleName(self.tr("Features"))
        self.features.setToolTip(self.tr("The columns the model predicts from; space or click switches one"))
        self.features.itemChanged.connect(self.changed)
        heading = QLabel(self.tr("from these columns"))
        heading.setObjectName("quiet")
        side.addWidget(heading)
        side.addWidget(self.features)
        line.addLayout(side, 1)
        self.setMaximumHeight(230)

    def take_over(self, problem: ProblemSettings) -> None:
        """Begin with the choices of the run at work."""
        given = {**problem.values, **problem.options}
        self.test.setValue(round(100 * float(given.get("test_fraction", 0.2))))
        self.split_seed.setValue(int(given.get("split_seed", 0)))
        self.standardise.setChecked(bool(given.get("standardise", True)))
        self.missing.setCurrentIndex(max(0, self.missing.findData(problem.missing)))

    def options(self) -> dict[str, Any]:
        """Options of the model: how rows are split and features scaled."""
        found: dict[str, Any] = {
            "test_fraction": self.test.value() / 100,
            "standardise": self.standardise.isChecked(),
        }
        if self.split_seed.value():
            found["split_seed"] = self.split_seed.value()
        return found

    def list_features(self, table: Table, wanted: set[str]) -> None:
        """The columns besides the target, the ``wanted`` ones switched on (none: all that hold anything)."""
        target = self.target.currentText()
        with QSignalBlocker(self.features):
            self.features.clear()
            for column in table.columns:
                if column.name == target:
                    continue
                item = QListWidgetItem(column.name)
                kind = self.tr("text, {0} different").format(len(column.categories)) if column.is_category else ""
                item.setToolTip(kind or self.tr("numbers"))
                item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
                on = column.name in wanted if wanted else not bool(column.missing.all())
                item.setCheckState(Qt.CheckState.Checked if on else Qt.CheckState.Unchecked)
                self.features.addItem(item)

    def chosen_features(self) -> list[str]:
        """The columns that are switched on."""
        items = [self.features.item(k) for k in range(self.features.count())]
        return [item.text() for item in items if item.checkState() == Qt.CheckState.Checked]
