"""'Own data…': choose a file, look at it, say what is predicted from what, and train a model on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from core.problems.catalogue import ENTRIES, MODELS
from core.problems.cells import DELIMITERS
from core.problems.dataset import Dataset
from core.problems.from_table import dataset_from_table
from core.problems.objective import ProblemError
from core.problems.tables import Table
from core.simulation.experiment import ProblemSettings
from gui.data_choices import DataChoices
from gui.data_reader import DataReader

SUFFIXES = (".csv", ".tsv", ".txt", ".npz", ".npy", ".csv.gz", ".tsv.gz", ".txt.gz")
PREVIEW_ROWS, PREVIEW_COLUMNS = 20, 60
TRIED_CELLS = 4_000_000
"""Tables up to this size are tried out at every choice, larger ones when the choice is made."""
PAUSE_MILLISECONDS = 150


def is_data_file(name: str) -> bool:
    """Whether a file (dropped on the window) is one this dialog reads, by its ending."""
    return name.lower().endswith(SUFFIXES)


class DataDialog(QDialog):
    """``chosen`` carries the settings of the problem on the chosen data; the dialog changes nothing itself."""

    chosen = Signal(object)

    def __init__(self, problem: ProblemSettings, path: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Own data"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(760, 640)
        self.problem = problem
        self._asked = ("", "")
        self.found: Table | Dataset | None = None
        """What the file holds, once it is read."""
        self.reader = DataReader(self)
        self.reader.progressed.connect(self._on_progressed)
        self.reader.finished.connect(self._on_read)
        self._tried = QTimer(self)
        self._tried.setSingleShot(True)
        self._tried.setInterval(PAUSE_MILLISECONDS)
        self._tried.timeout.connect(self.try_out)
        layout = QVBoxLayout(self)
        self._file_line(layout)
        self._reading_line(layout)
        self.trouble = QLabel()
        self.trouble.setObjectName("warning")
        self.trouble.setWordWrap(True)
        self.trouble.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.trouble.setVisible(False)
        layout.addWidget(self.trouble)
        self.summary = QLabel(self.tr("Choose a table: CSV or TSV (also gzipped), or an .npz or .npy file."))
        self.summary.setObjectName("quiet")
        self.summary.setWordWrap(True)
        layout.addWidget(self.summary)
        self.preview = QTableWidget()
        self.preview.setAccessibleName(self.tr("First rows of the file"))
        self.preview.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.preview.setAlternatingRowColors(True)
        self.preview.verticalHeader().setDefaultSectionSize(20)
        self.preview.horizontalHeader().setStretchLastSection(True)
        self.preview.setCornerButtonEnabled(False)
        layout.addWidget(self.preview, 1)
        self.choices = DataChoices()
        self.choices.take_over(problem)
        self.choices.target_chosen.connect(self._on_target)
        self.choices.changed.connect(self._on_choice)
        self.choices.setEnabled(False)
        self.target, self.model, self.missing = self.choices.target, self.choices.model, self.choices.missing
        layout.addWidget(self.choices)
        kinds = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(kinds.Ok | kinds.Cancel)
        self.ok = self.buttons.button(kinds.Ok)
        self.ok.setText(self.tr("Train on it"))
        self.ok.setToolTip(self.tr("The run starts again with these data"))
        self.ok.setEnabled(False)
        self.buttons.button(kinds.Cancel).setToolTip(self.tr("Leave the problem as it is"))
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        layout.addWidget(self.buttons)
        if not path and is_data_file(problem.data):
            path = problem.data
            given = str(problem.options.get("delimiter", ""))
            self.delimiter.setCurrentIndex(max(0, self.delimiter.findData(given)))
        if path:
            self.read(path)

    # building ---------------------------------------------------------------------------------------------------

    def _file_line(self, layout: QVBoxLayout) -> None:
        line = QHBoxLayout()
        self.path = QLineEdit()
        self.path.setAccessibleName(self.tr("Data file"))
        self.path.setToolTip(self.tr("Path of the file; it is read on Enter, or when you go on to another field"))
        self.path.editingFinished.connect(self._on_path)
        self.browse = QPushButton(self.tr("Choose…"))
        self.browse.setAutoDefault(False)
        self.browse.setToolTip(self.tr("Choose a file"))
        self.browse.clicked.connect(self._on_browse)
        self.delimiter = QComboBox()
        names = {
            ",": self.tr("comma ,"),
            ";": self.tr("semicolon ;"),
            "\t": self.tr("tabulator"),
            "|": self.tr("bar |"),
            " ": self.tr("spaces"),
        }
        self.delimiter.addItem(self.tr("find out"), "")
        for sign in DELIMITERS:
            self.delimiter.addItem(names[sign], sign)
        self.delimiter.setAccessibleName(self.tr("Delimiter"))
        self.delimiter.setToolTip(self.tr("What separates the cells of a row; another choice reads the file again"))
        self.delimiter.activated.connect(self._on_delimiter)
        label = QLabel(self.tr("&separated by"))
        label.setBuddy(self.delimiter)
        line.addWidget(self.path, 1)
        line.addWidget(self.browse)
        line.addSpacing(8)
        line.addWidget(label)
        line.addWidget(self.delimiter)
        layout.addLayout(line)

    def _reading_line(self, layout: QVBoxLayout) -> None:
        self.reading = QWidget()
        line = QHBoxLayout(self.reading)
        line.setContentsMargins(0, 0, 0, 0)
        self.progress = QProgressBar()
        self.progress.setRange(0, 100)
        self.progress.setAccessibleName(self.tr("Part of the file that is read"))
        self.stop_button = QPushButton(self.tr("Stop"))
        self.stop_button.setAutoDefault(False)
        self.stop_button.setToolTip(self.tr("Give up reading this file"))
        self.stop_button.clicked.connect(self._on_stop)
        line.addWidget(self.progress, 1)
        line.addWidget(self.stop_button)
        self.reading.setVisible(False)
        layout.addWidget(self.reading)

    # reading ----------------------------------------------------------------------------------------------------

    def read(self, path: str) -> None:
        """Begin to read ``path``."""
        self.path.setText(path)
        self.found = None
        self.choices.setEnabled(False)
        self.ok.setEnabled(False)
        self._complain("")
        self.preview.setRowCount(0)
        self.preview.setColumnCount(0)
        self.summary.setText(self.tr("Reading {0} …").format(Path(path).name))
        self.progress.setValue(0)
        self.reading.setVisible(True)
        self._asked = (path, str(self.delimiter.currentData()))
        self.reader.read(*self._asked)

    @Slot()
    def _on_path(self) -> None:
        path = self.path.text().strip()
        # leaving the field as it was reads nothing twice
        if path and (path, self.delimiter.currentData()) != self._asked:
            self.read(path)

    @Slot()
    def _on_delimiter(self) -> None:
        self._on_path()

    @Slot()
    def _on_browse(self) -> None:
        kinds = self.tr("Tables (*.csv *.tsv *.txt *.gz *.npz *.npy);;All files (*)")
        folder = str(Path(self.path.text()).parent) if self.path.text() else str(Path.home())
        path, _ = QFileDialog.getOpenFileName(self, self.tr("Data file"), folder, kinds)
        if path:
            self.read(path)

    @Slot()
    def _on_stop(self) -> None:
        self.reader.stop()
        self._asked = ("", "")
        self._on_read(None, "")

    @Slot(int)
    def _on_progressed(self, percent: int) -> None:
        self.progress.setValue(percent)

    @Slot(object, str)
    def _on_read(self, found: object, trouble: str) -> None:
        self.reading.setVisible(False)
        if isinstance(found, Table):
            self._show_table(found)
        elif isinstance(found, Dataset):
            self._show_dataset(found)
        else:
            self._forget()
            self.summary.setText("" if trouble else self.tr("Reading was stopped."))
            self._complain(trouble)

    def _forget(self) -> None:
        """Nothing of the file before stays to be chosen from."""
        with QSignalBlocker(self.target), QSignalBlocker(self.choices.features):
            self.target.clear()
            self.choices.features.clear()

    def _rows(self, count: int) -> str:
        return self.tr("1 row") if count == 1 else self.tr("{0} rows").format(f"{count:,}")

    def _show_table(self, table: Table) -> None:
        self.found = table
        spelling = table.spelling
        words = {"\t": self.tr("tabulator"), " ": self.tr("spaces")}
        separated = words.get(spelling.delimiter, spelling.delimiter)
        text = self.tr("{0}, {1}, separated by “{2}”, decimal sign “{3}”, {4}").format(
            self._rows(len(table)),
            self.tr("1 column") if len(table.columns) == 1 else self.tr("{0} columns").format(len(table.columns)),
            separated,
            spelling.decimal,
            table.encoding,
        )
        self.summary.setText("\n".join((text, *table.notes)))
        self._fill(list(table.names), table.preview(PREVIEW_ROWS))
        with QSignalBlocker(self.target):
            self.target.clear()
            self.target.addItems(list(table.names))
            wanted = table.names.index(self.problem.target) if self.problem.target in table.names else -1
            self.target.setCurrentIndex(wanted if wanted >= 0 else len(table.names) - 1)
        self.target.setEnabled(True)
        self.missing.setEnabled(True)
        self.choices.list_features(table, set(self.problem.features) & set(table.names))
        self._suggest_model()
        self.choices.setEnabled(True)
        self.try_out()

    def _show_dataset(self, dataset: Dataset) -> None:
        self.found = dataset
        self.summary.setText(
            self.tr("{0} rows, {1} features, target {2}").format(
                f"{len(dataset):,}", dataset.features.shape[1], dataset.target_name
            )
        )
        rows = [
            [*(f"{x:.10g}" for x in dataset.features[k, :PREVIEW_COLUMNS]), f"{dataset.targets[k]:.10g}"]
            for k in range(min(PREVIEW_ROWS, len(dataset)))
        ]
        self._fill([*dataset.feature_names[:PREVIEW_COLUMNS], dataset.target_name], rows)
        with QSignalBlocker(self.target), QSignalBlocker(self.choices.features):
            self.target.clear()
            self.target.addItem(dataset.target_name)
            self.choices.features.clear()
        # an array file says itself what is what
        self.target.setEnabled(False)
        self.missing.setEnabled(False)
        self._suggest_model()
        self.choices.setEnabled(True)
        self.try_out()

    def _fill(self, names: list[str], rows: list[list[str]]) -> None:
        shown = names[:PREVIEW_COLUMNS] if len(names) > PREVIEW_COLUMNS + 1 else names
        self.preview.setColumnCount(len(shown))
        self.preview.setRowCount(len(rows))
        self.preview.setHorizontalHeaderLabels(shown)
        for r, row in enumerate(rows):
            for c, text in enumerate(row[: len(shown)]):
                self.preview.setItem(r, c, QTableWidgetItem(text))
        self.preview.resizeColumnsToContents()

    def _suggest_model(self) -> None:
        """The model at work if it takes data, else one that fits the target."""
        name = self.problem.name
        if self.model.findData(name) < 0 and ENTRIES.get(name) is not None and name.endswith("_mlp"):
            name = "mlp"
        if self.model.findData(name) < 0 or self.problem.expression:
            name = "linear_regression"
            if isinstance(self.found, Dataset):
                classes = len(self.found.classes)
            else:
                assert self.found is not None
                classes = len(self.found.column(self.target.currentText()).categories)
            if classes:
                name = "logistic_regression" if classes == 2 else "softmax_regression"
        self.model.setCurrentIndex(self.model.findData(name))

    # choosing ---------------------------------------------------------------------------------------------------

    @Slot()
    def _on_target(self) -> None:
        assert isinstance(self.found, Table)
        wanted = set(self.choices.chosen_features())
        self.choices.list_features(self.found, wanted - {self.target.currentText()})
        self._suggest_model()
        self._tried.start()

    @Slot()
    def _on_choice(self) -> None:
        self._tried.start()

    @Slot()
    def try_out(self) -> bool:
        """Make the data set, as far as that is quick, and say what is wrong with it or what it is."""
        self._tried.stop()
        if self.found is None:
            return False
        if isinstance(self.found, Table) and len(self.found) * len(self.found.columns) > TRIED_CELLS:
            self.ok.setEnabled(True)
            return True
        trouble = self._trouble()
        self._complain(trouble)
        self.ok.setEnabled(not trouble)
        return not trouble

    def _trouble(self) -> str:
        try:
            found = self.found
            if isinstance(found, Table):
                rule = str(self.missing.currentData())
                found = dataset_from_table(found, self.target.currentText(), self.choices.chosen_features(), rule)
            assert found is not None
            kind = next(model.target_kind for model in MODELS if model.name == self.model.currentData())
            if kind == "classes":
                found.as_classes()
            elif kind == "number":
                found.as_numbers()
        except ProblemError as error:
            return str(error)
        return ""

    def settings(self) -> ProblemSettings:
        """The problem as chosen; only what differs from the usual stands in it."""
        options: dict[str, Any] = {}
        name = str(self.model.currentData())
        if name == self.problem.name or (name == "mlp" and self.problem.name.endswith("mlp")):
            # layers and the like stay
            chosen = ("data", "target", "features", "missing", "delimiter")
            kept = {key: value for key, value in self.problem.options.items() if key not in chosen}
            options.update(kept)
        options.pop("split_seed", None)
        options |= self.choices.options()
        if self.delimiter.currentData() and isinstance(self.found, Table):
            options["delimiter"] = self.delimiter.currentData()
        path = str(Path(self.path.text()).expanduser().resolve())
        if isinstance(self.found, Dataset):
            return ProblemSettings(name, data=path, options=options)
        assert self.found is not None
        features = self.choices.chosen_features()
        everything = [column.name for column in self.found.columns if column.name != self.target.currentText()]
        return ProblemSettings(
            name,
            data=path,
            target=self.target.currentText(),
            features=[] if features == everything else features,
            missing=self.missing.currentData(),
            options=options,
        )

    def accept(self) -> None:
        trouble = self._trouble() if self.found is not None else self.tr("Choose a file first.")
        if trouble:
            self._complain(trouble)
            self.ok.setEnabled(False)
            return
        settings = self.settings()
        super().accept()
        self.chosen.emit(settings)

    def done(self, result: int) -> None:
        self.reader.stop()
        super().done(result)

    def _complain(self, reason: str) -> None:
        self.trouble.setText(reason)
        self.trouble.setVisible(bool(reason))
