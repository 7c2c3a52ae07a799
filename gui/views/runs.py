"""The runs: colour, name, state, how far, loss, lineage and digest; shown, hidden, forked, raced, closed."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Slot
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QInputDialog,
    QPushButton,
    QTableView,
    QWidget,
)

from gui.session import Run, Session
from gui.theme import Theme
from gui.views.base import View

Index = QModelIndex | QPersistentModelIndex
COLUMNS = ("", "Run", "State", "Steps", "Loss", "From", "Digest")
LONGEST = 180
"""Pixels of the widest column."""
RACE_EXAMPLE = "torch.optim.SGD(params, lr=0.001, momentum=0.9)\ntorch.optim.Adam(params, lr=0.05)"


class RunsModel(QAbstractTableModel):
    """The session's runs as a table; the first column shows and hides, the name can be edited."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self.session = session
        self.theme = theme
        self.rows: list[Run] = list(session.runs)

    def reload(self) -> None:
        """Other runs, or only other numbers."""
        if self.rows != self.session.runs:
            self.beginResetModel()
            self.rows = list(self.session.runs)
            self.endResetModel()
        elif self.rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, len(COLUMNS) - 1))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return self.tr(COLUMNS[section])
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        if index.column() == 0:
            return flags | Qt.ItemFlag.ItemIsUserCheckable
        return flags | Qt.ItemFlag.ItemIsEditable if index.column() == 1 else flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        run = self.rows[index.row()]
        column = index.column()
        if role == Qt.ItemDataRole.CheckStateRole and column == 0:
            return Qt.CheckState.Checked if run.visible else Qt.CheckState.Unchecked
        if role == Qt.ItemDataRole.DecorationRole and column == 1:
            return QColor(self.theme.run_color(run.color_index))
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return self._text(run, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            if column == 6:
                return run.simulation.digest
            if column == 1:
                return f"{run.name}\n{run.simulation.experiment.optimizer}"
            return self._text(run, column) if column == 5 else None
        if role == Qt.ItemDataRole.FontRole and column == 1 and run is self.session.current:
            from PySide6.QtGui import QFont

            font = QFont()
            font.setBold(True)
            return font
        return None

    def _text(self, run: Run, column: int) -> str:
        history = run.history
        if column == 1:
            return run.name
        if column == 2:
            return self.tr("diverged") if run.trouble else self.tr("shown") if run is self.session.current else ""
        if column == 3:
            return f"{history.count:,}"
        if column == 4:
            return f"{history.scalar('loss')[-1]:.5g}" if history.count else ""
        if column == 5 and run.parent is not None:
            parent = next((other.name for other in self.rows if other.id == run.parent), self.tr("a closed run"))
            return self.tr("{0} at {1}").format(parent, run.forked_at)
        return run.simulation.digest[:8] if column == 6 else ""

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        run = self.rows[index.row()]
        if role == Qt.ItemDataRole.CheckStateRole:
            self.session.set_visible(run, Qt.CheckState(value) == Qt.CheckState.Checked)
            return True
        if role == Qt.ItemDataRole.EditRole and str(value).strip():
            run.name = str(value).strip()
            self.session.runs_changed.emit()
            return True
        return False


class RunsView(View):
    """A table of runs and what can be done with them."""

    name = "runs"
    title = "Runs"

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.model = RunsModel(session, theme)
        self.table = QTableView()
        self.table.setModel(self.model)
        self.table.setAccessibleName(self.tr("Runs"))
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.verticalHeader().hide()
        self.table.setShowGrid(False)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(True)
        # names may be long: they are elided beyond this, and told in full by the tool tip
        header.setMaximumSectionSize(LONGEST)
        self.table.setWordWrap(False)
        self.table.doubleClicked.connect(self._on_chosen)
        self.body.addWidget(self.table, 1)
        buttons = QHBoxLayout()
        self.buttons: dict[str, QPushButton] = {}
        for key, text, tip in (
            ("show", self.tr("Show"), self.tr("Show the chosen run in all views")),
            ("fork", self.tr("Fork here"), self.tr("A new run with the shown run's past up to the shown step")),
            ("race", self.tr("Race…"), self.tr("Other optimizers from the same start, on the same batches, in step")),
            ("close", self.tr("Close"), self.tr("Close the chosen run")),
        ):
            button = QPushButton(text)
            button.setToolTip(tip)
            button.setAccessibleName(text)
            buttons.addWidget(button)
            self.buttons[key] = button
        buttons.addStretch(1)
        self.body.addLayout(buttons)
        self.buttons["show"].clicked.connect(self._on_show)
        self.buttons["fork"].clicked.connect(self._on_fork)
        self.buttons["race"].clicked.connect(self._on_race)
        self.buttons["close"].clicked.connect(self._on_close)
        session.runs_changed.connect(self._on_refresh)

    def refresh(self) -> None:
        self.model.reload()
        count = len(self.session.runs)
        self.note.setText(self.tr("1 run") if count == 1 else self.tr("{0} runs").format(count))

    def restyle(self) -> None:
        self.model.theme = self.theme

    def chosen(self) -> Run:
        """The run of the selected line, or the one shown."""
        index = self.table.currentIndex()
        return self.model.rows[index.row()] if index.isValid() else self.session.current

    @Slot(QModelIndex)
    def _on_chosen(self, index: QModelIndex) -> None:
        if index.column() != 1:
            self.session.make_current(self.model.rows[index.row()])
            self.session.runs_changed.emit()

    @Slot()
    def _on_show(self) -> None:
        self.session.make_current(self.chosen())
        self.session.runs_changed.emit()

    @Slot()
    def _on_fork(self) -> None:
        self.session.fork()

    @Slot()
    def _on_race(self) -> None:
        lines = self.ask_lines()
        if lines:
            self.session.race([part for part in lines.splitlines() if part.strip()])

    def ask_lines(self) -> str:
        """Ask for optimizer lines, one runner a line."""
        text, accepted = QInputDialog.getMultiLineText(
            self, self.tr("Race"), self.tr("One optimizer a line:"), RACE_EXAMPLE
        )
        return text if accepted else ""

    @Slot()
    def _on_close(self) -> None:
        self.session.remove_run(self.chosen())
