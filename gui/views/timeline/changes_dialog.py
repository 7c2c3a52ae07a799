"""'Live changes...': every change of the current run in a table, edited and removed by keys alone."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence, QMouseEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from core.simulation.experiment import Event
from gui.session import Session
from gui.views.timeline.editing import ChangeEditor
from gui.views.timeline.events import event_text, setting_texts, value_text


class ChangesTable(QTableWidget):
    """Keeps Enter for itself: handed on to the dialog it would press OK in the dialog that it has just opened."""

    wanted = Signal()
    """Enter or a double click on a row."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            event.accept()
            self.wanted.emit()
        else:
            super().keyPressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        super().mouseDoubleClickEvent(event)
        if event.button() == Qt.MouseButton.LeftButton and self.itemAt(event.position().toPoint()) is not None:
            self.wanted.emit()


class ChangesDialog(QDialog):
    """Not modal: it follows the current run. Enter edits the chosen change, Delete removes it."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Live changes"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(620, 360)
        self.session = session
        self.editor = ChangeEditor(session, self)
        self.events: list[Event] = []
        self._shown: object = None
        self.about = QLabel()
        self.about.setWordWrap(True)
        self.about.setAccessibleName(self.tr("How many live changes there are"))
        self.table = self._table()
        self.reason = QLabel()
        self.reason.setObjectName("warning")
        self.reason.setWordWrap(True)
        self.reason.setAccessibleName(self.tr("Why it cannot be"))
        self.reason.hide()
        layout = QVBoxLayout(self)
        layout.addWidget(self.about)
        layout.addWidget(self.table, 1)
        layout.addWidget(self.reason)
        layout.addLayout(self._buttons())
        for action, keys in (
            (session.undo_stack.createUndoAction(self), QKeySequence.StandardKey.Undo),
            (session.undo_stack.createRedoAction(self), QKeySequence.StandardKey.Redo),
        ):
            action.setShortcuts(keys)
            self.addAction(action)
        for key, slot in ((Qt.Key.Key_Delete, self.remove), (Qt.Key.Key_F2, self.edit_value)):
            shortcut = QAction(self)
            shortcut.setShortcut(QKeySequence(key))
            shortcut.triggered.connect(slot)
            self.table.addAction(shortcut)
        session.settings_changed.connect(self.refresh)
        session.run_changed.connect(self.refresh)
        session.history_changed.connect(self.refresh)
        self.refresh()

    def _table(self) -> ChangesTable:
        table = ChangesTable(0, 4)
        table.setHorizontalHeaderLabels([self.tr("Step"), self.tr("What"), self.tr("Old"), self.tr("New")])
        table.setAccessibleName(self.tr("Live changes"))
        table.setToolTip(self.tr("Enter or double click: another value or step. Delete: remove"))
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setTabKeyNavigation(False)
        table.verticalHeader().hide()
        what = table.horizontalHeaderItem(1)
        what.setTextAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header = table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        table.itemSelectionChanged.connect(self._on_selected)
        table.wanted.connect(self.edit_value)
        return table

    def _buttons(self) -> QHBoxLayout:
        line = QHBoxLayout()
        self.buttons: dict[str, QPushButton] = {}
        for name, text, tip, slot in (
            ("value", self.tr("Edit &value…"), self.tr("Another value from the same step on"), self.edit_value),
            ("step", self.tr("&Move to step…"), self.tr("The same change, sooner or later"), self.edit_step),
            ("remove", self.tr("&Remove"), self.tr("Work the run out without it"), self.remove),
            ("all", self.tr("Remove &all"), self.tr("Work the run out without any live change"), self.remove_all),
            ("close", self.tr("&Close"), self.tr("Close this list"), self.close),
        ):
            button = QPushButton(text)
            button.setToolTip(tip)
            button.setAccessibleName(text.replace("&", ""))
            button.setAutoDefault(False)
            button.clicked.connect(slot)
            self.buttons[name] = button
            if name == "close":
                line.addStretch(1)
            line.addWidget(button)
        return line

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.table.setFocus()

    @Slot()
    def refresh(self) -> None:
        """Show the changes of the current run."""
        run = self.session.current
        shown = (run.id, [(event.acts, event.old) for event in run.events])
        if shown == self._shown:
            return
        self._shown = shown
        row = max(self.table.currentRow(), 0)
        self.events = list(run.events)
        self.table.setRowCount(len(self.events))
        names = setting_texts(run.simulation, self.events)
        for k, (event, what) in enumerate(zip(self.events, names, strict=True)):
            texts = (f"{event.step:,}", what, value_text(event.old), value_text(event.value))
            for column, text in enumerate(texts):
                item = QTableWidgetItem(text.splitlines()[-1] if text.splitlines() else "")
                if column in (0, 2, 3):
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                whole = (str(event.step), event.target, event_text(event.old), event_text(event.value))[column]
                item.setToolTip(whole)
                self.table.setItem(k, column, item)
        self.about.setText(
            self.tr("{0}: {1} live changes. An edit works the run out again from there and can be undone.").format(
                run.name, len(self.events)
            )
            if self.events
            else self.tr("{0} has no live changes: moving a slider while it runs makes one.").format(run.name)
        )
        if self.events:
            self.table.selectRow(min(row, len(self.events) - 1))
        self._on_selected()

    @property
    def chosen(self) -> list[Event]:
        """The changes in the chosen rows."""
        rows = sorted({index.row() for index in self.table.selectedIndexes()})
        return [self.events[row] for row in rows if row < len(self.events)]

    @Slot()
    def _on_selected(self) -> None:
        count = len(self.chosen)
        self.buttons["value"].setEnabled(count == 1)
        self.buttons["step"].setEnabled(count == 1)
        self.buttons["remove"].setEnabled(count > 0)
        self.buttons["all"].setEnabled(bool(self.events))

    @Slot()
    def edit_value(self) -> None:
        """Ask for another value of the chosen change."""
        if len(self.chosen) == 1:
            self._tell("")
            self.editor.open(self.chosen, "value")

    @Slot()
    def edit_step(self) -> None:
        """Ask for another step of the chosen change."""
        if len(self.chosen) == 1:
            self._tell("")
            self.editor.open(self.chosen, "step")

    @Slot()
    def remove(self) -> None:
        """Take the chosen changes out."""
        if self.chosen:
            self._tell(self.editor.remove(self.session.current, self.chosen))

    @Slot()
    def remove_all(self) -> None:
        """Take all of them out."""
        self._tell(self.editor.remove_all(self.session.current))

    def _tell(self, reason: str) -> None:
        self.reason.setText(reason)
        self.reason.setVisible(bool(reason))
