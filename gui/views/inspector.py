"""Every number of the step shown, in tables that copy to a spreadsheet."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QCoreApplication, QModelIndex, QPoint, Qt, QTimer, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QLabel, QLineEdit, QMenu, QSplitter, QWidget

from gui.parts_source import PartsSource
from gui.session import Session
from gui.theme import Theme
from gui.views.base import View
from gui.views.inspector_models import ComponentsModel, NumbersModel
from gui.widgets.copy_table import CopyTable, table_text
from gui.widgets.steady import Pace

Float64 = NDArray[np.float64]
REFRESH_SECONDS = 0.15
WIDEST = "−8.888888e−188"
"""No number in a cell is written longer."""
LONGEST_NAME = 170
"""Pixels of the column of names at most."""
NARROW = 640
"""Below this width the tables stand one above the other."""


class InspectorView(View):
    """Reads everything the history holds of the step shown: columns, figures, w, g, expected, rows, applied."""

    name = "inspector"
    title = QCoreApplication.translate("InspectorView", "Inspector")

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.numbers = NumbersModel(theme, self)
        self.components = ComponentsModel(theme, self)
        self.numbers_table = self._table(self.numbers, self.tr("Numbers of the step"))
        self.components_table = self._table(self.components, self.tr("Components of the step"))
        self.components_table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectItems)
        self.components_table.setSortingEnabled(True)
        self.components_table.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.components_table.horizontalHeader().setSortIndicatorClearable(True)
        self.components_table.selectionModel().currentRowChanged.connect(self._on_row)
        header = self.numbers_table.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.resizeSection(1, self._number_width())
        self.numbers_table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.filter = QLineEdit()
        self.filter.setPlaceholderText(self.tr("find components"))
        self.filter.setAccessibleName(self.tr("Find components by name"))
        self.filter.setToolTip(self.tr("Show only components whose names contain this"))
        self.filter.setClearButtonEnabled(True)
        self.filter.setMaximumWidth(150)
        self.filter.textChanged.connect(self._on_filter)
        self.header.insertWidget(1, self.filter)
        self.empty = QLabel(self.tr("No step has been taken yet."))
        self.empty.setObjectName("quiet")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.splitter = QSplitter(Qt.Orientation.Horizontal)
        self.splitter.addWidget(self.numbers_table)
        self.splitter.addWidget(self.components_table)
        self.splitter.setStretchFactor(0, 0)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setSizes([260, 540])
        self.splitter.setChildrenCollapsible(False)
        self._moved = False
        self.splitter.splitterMoved.connect(self._on_moved)
        self.body.addWidget(self.empty, 1)
        self.body.addWidget(self.splitter, 1)
        self.copy_all = QAction(self.tr("Copy everything of this step"), self)
        self.copy_all.setShortcut(QKeySequence("Ctrl+Shift+C"))
        self.copy_all.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self.copy_all.setToolTip(self.tr("Both tables, tab-separated, every number in full precision"))
        self.copy_all.triggered.connect(self._on_copy_all)
        self.addAction(self.copy_all)
        self._source = PartsSource(session, self)
        self._source.found.connect(self._on_refresh)
        self._pace = Pace(REFRESH_SECONDS)
        self._selecting = False
        session.state_changed.connect(self._on_state)

    def _table(self, model: Any, name: str) -> CopyTable:
        table = CopyTable()
        table.setModel(model)
        table.setAccessibleName(name)
        table.setAccessibleDescription(self.tr("Ctrl+C copies the selected cells, or all of them"))
        table.setToolTip("")
        table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        table.customContextMenuRequested.connect(self._on_menu)
        return table

    # the protocol of views ----------------------------------------------------------------------------------------

    def rebuild(self) -> None:
        simulation = self.session.current.simulation
        layout = simulation.history.layout
        names = tuple(simulation.objective.component_names)
        self.components.set_names(names if len(names) == layout.size else tuple(layout.component_names()))
        self.components_table.sortByColumn(-1, Qt.SortOrder.AscendingOrder)

    def refresh(self) -> None:
        session = self.session
        history = session.current.history
        some = history.count > 0
        self.empty.setVisible(not some)
        self.splitter.setVisible(some)
        if not some:
            self.note.setText("")
            self.numbers.clear()
            self.components.clear()
            return
        if not self._pace.due(session.state == "running"):
            QTimer.singleShot(self._pace.wait(), self, self._on_refresh)
            return
        step = min(session.cursor, history.count - 1)
        parts = self._parts(step)
        self.numbers.show_step(history, step, parts)
        if self.components.show_step(history, step, parts):
            self._size_columns()
            QTimer.singleShot(0, self, self._share_room)
        self.note.setText(self.tr("step {0}   {1} components").format(step, self.components.rowCount()))
        self._show_selection()

    def _parts(self, step: int) -> dict[str, Float64]:
        """What the gradient is made of, where it is; empty parts until the worker has found them."""
        if not self._source.ask(step):
            return {}
        return self._source.of(step) or {name: np.empty(0) for name in self._source.parts}

    def restyle(self) -> None:
        self.numbers.theme = self.components.theme = self.theme

    def figure(self) -> QWidget:
        return self.splitter

    # details ----------------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """Everything of the step: both tables one below the other."""
        return table_text(self.numbers) + "\n" + table_text(self.components)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wanted = Qt.Orientation.Vertical if event.size().width() < NARROW else Qt.Orientation.Horizontal
        if self.splitter.orientation() != wanted:
            self.splitter.setOrientation(wanted)
            self._moved = False
        # the splitter has its new size only afterwards
        QTimer.singleShot(0, self, self._share_room)

    @Slot()
    def _on_moved(self) -> None:
        self._moved = True

    @Slot()
    def _share_room(self) -> None:
        """Side by side the numbers need a third; one above the other, few components leave the room to the numbers.
        What the user has moved stays.
        """
        if self._moved:
            return
        if self.splitter.orientation() == Qt.Orientation.Horizontal:
            self.splitter.setSizes([260, 540])
            return
        table, height = self.components_table, max(self.splitter.height(), 1)
        rows = self.components.rowCount() * table.verticalHeader().defaultSectionSize()
        needed = rows + table.horizontalHeader().height() + table.horizontalScrollBar().sizeHint().height() + 6
        lower = min(needed, 2 * height // 3)
        self.splitter.setSizes([height - lower, lower])

    def _number_width(self) -> int:
        return self.components_table.fontMetrics().horizontalAdvance(WIDEST) + 14

    def _size_columns(self) -> None:
        header = self.components_table.horizontalHeader()
        least = self._number_width()
        for column in range(self.components.columnCount()):
            title = str(self.components.headerData(column, Qt.Orientation.Horizontal))
            needed = header.fontMetrics().horizontalAdvance(title) + 26
            names = min(max(self.components_table.sizeHintForColumn(0) + 6, 110), LONGEST_NAME)
            header.resizeSection(column, max(needed, least if column else names))

    def _show_selection(self) -> None:
        row = self.components.row_of(self.session.selected_component)
        current = self.components_table.currentIndex().row()
        if row is None or row == current:
            return
        self._selecting = True
        try:
            self.components_table.setCurrentIndex(self.components.index(row, 0))
        finally:
            self._selecting = False

    @Slot(QModelIndex, QModelIndex)
    def _on_row(self, current: QModelIndex, previous: QModelIndex) -> None:
        if self._selecting or not current.isValid() or not self.components_table.hasFocus():
            return
        session = self.session
        component = self.components.component_of(current.row())
        session.select(row=session.selected_row, variable=session.selected_variable, component=component)

    @Slot(str)
    def _on_filter(self, text: str) -> None:
        self.components.set_filter(text)
        self.mark_stale()

    @Slot(QPoint)
    def _on_menu(self, place: QPoint) -> None:
        table = self.sender()
        if not isinstance(table, CopyTable):
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        table.add_copy_to(menu)
        menu.addAction(self.copy_all)
        menu.popup(table.menu_place(place))

    @Slot()
    def _on_copy_all(self) -> None:
        QGuiApplication.clipboard().setText(self.text())

    @Slot(str)
    def _on_state(self, state: str) -> None:
        self.mark_stale()
