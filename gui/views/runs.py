"""The runs: shown, hidden, forked, raced, closed."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPoint, Qt, QTimer, Slot
from PySide6.QtGui import QAction, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHBoxLayout, QHeaderView, QInputDialog, QMenu, QPushButton, QWidget

from gui.run import Run
from gui.session import Session
from gui.theme import Theme
from gui.views.base import View
from gui.views.runs_model import DIGEST, LINEAGE, NAME, OPTIMIZER, STATE, RunsModel
from gui.widgets.copy_table import CopyTable
from gui.widgets.keys import PRESSING, KeepKeys

LEAST_NAME, LONGEST = 110, 180
NARROW = 520
"""Pixels of the name and of the longest other column, at least in a card below NARROW, at most in a wider one."""
DISPENSABLE = (DIGEST, LINEAGE, STATE)
"""Columns that a narrow card leaves out, the first one first."""
RACE_EXAMPLE = "torch.optim.SGD(params, lr=0.001, momentum=0.9)\ntorch.optim.Adam(params, lr=0.05)"


class RunsView(View):
    """A table of runs and what can be done with them."""

    name = "runs"
    title = "Runs"

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.model = RunsModel(session, theme)
        self.table = self._make_table()
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

    def _make_table(self) -> CopyTable:
        table = CopyTable()
        table.setModel(self.model)
        table.setAccessibleName(self.tr("Runs"))
        table.setAccessibleDescription(
            self.tr("Enter shows a run, F2 renames it, space in the first column hides it, Ctrl+C copies the table")
        )
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        # names that begin alike differ at their ends
        table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        # the lines are there to be copied; they stand in the name's tool tip
        table.setColumnHidden(OPTIMIZER, True)
        header = table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setMinimumSectionSize(24)
        table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        table.customContextMenuRequested.connect(self._on_menu)
        table.activated.connect(self._on_chosen)
        KeepKeys(table, PRESSING)
        self.close_action = QAction(self.tr("Close the chosen run"), self)
        self.close_action.setShortcut(QKeySequence(QKeySequence.StandardKey.Delete))
        self.close_action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self.close_action.triggered.connect(self._on_close)
        table.addAction(self.close_action)
        return table

    def refresh(self) -> None:
        self.model.reload()
        count = len(self.session.runs)
        self.note.setText(self.tr("1 run") if count == 1 else self.tr("{0} runs").format(count))
        self._share_width()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # the table has its new size only afterwards
        QTimer.singleShot(0, self, self._share_width)

    @Slot()
    def _share_width(self) -> None:
        """What the other columns leave, and never too little, goes to the names."""
        header = self.table.horizontalHeader()
        narrow = self.table.viewport().width() < NARROW
        names = max(self.table.sizeHintForColumn(NAME), LEAST_NAME)
        room_left = self.table.viewport().width() - min(names, LONGEST)
        others = 0
        wanted = {}
        for column in range(self.model.columnCount()):
            if column not in (NAME, OPTIMIZER):
                needed = max(self.table.sizeHintForColumn(column), header.sectionSizeHint(column)) + 2
                wanted[column] = min(needed, LEAST_NAME if narrow else LONGEST)
        # in a card too narrow for all, what tells least goes first: it stands in the name's tool tip too
        for column in DISPENSABLE:
            crowded = sum(wanted.values()) > room_left
            if column == STATE and any(run.trouble for run in self.session.runs):
                crowded = False
            header.setSectionHidden(column, crowded)
            if crowded:
                del wanted[column]
        for column, width in wanted.items():
            header.resizeSection(column, width)
            others += width
        needed = max(self.table.sizeHintForColumn(NAME), LEAST_NAME)
        room = self.table.viewport().width() - others
        header.resizeSection(NAME, max(room, min(needed, LEAST_NAME if narrow else LONGEST)))

    def restyle(self) -> None:
        self.model.theme = self.theme

    def chosen(self) -> Run:
        """The run of the selected line, or the one shown."""
        index = self.table.currentIndex()
        return self.model.rows[index.row()] if index.isValid() else self.session.current

    @Slot(QModelIndex)
    def _on_chosen(self, index: QModelIndex) -> None:
        self.session.make_current(self.model.rows[index.row()])
        self.session.runs_changed.emit()

    @Slot(QPoint)
    def _on_menu(self, place: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        self.table.add_copy_to(menu)
        menu.addAction(self.close_action)
        menu.popup(self.table.menu_place(place))

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
