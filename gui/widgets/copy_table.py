"""A table that copies to spreadsheets: tab-separated, with headings, every number in full precision."""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QEvent, QModelIndex, QPoint, Qt, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QTableView, QWidget

EXACT_ROLE = Qt.ItemDataRole.UserRole + 1
"""A model's answer in this role is what is copied: the number as ``repr`` writes it, or the text."""
_NAVIGATION = {
    Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home, Qt.Key.Key_End,
    Qt.Key.Key_PageUp, Qt.Key.Key_PageDown,
}  # fmt: skip


class CopyTable(QTableView):
    """Rows of fixed height, Ctrl+C for the selection (or everything when nothing is selected)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAlternatingRowColors(True)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        vertical = self.verticalHeader()
        vertical.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        vertical.setDefaultSectionSize(self.fontMetrics().height() + 6)
        vertical.setVisible(False)
        self.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.horizontalHeader().setHighlightSections(False)
        self.copy_action = QAction(self.tr("Copy"), self)
        self.copy_action.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        self.copy_action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self.copy_action.setToolTip(self.tr("Copy the selected cells, or all, for a spreadsheet"))
        self.copy_action.triggered.connect(self.copy)
        self.addAction(self.copy_action)

    def event(self, event: QEvent) -> bool:
        # keys that move within the table are its own while it has the focus, not the transport's
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() in _NAVIGATION
            and not event.modifiers() & Qt.KeyboardModifier.ControlModifier
        ):
            event.accept()
            return True
        return bool(super().event(event))

    @Slot()
    def copy(self) -> None:
        """Put the selection on the clipboard."""
        QGuiApplication.clipboard().setText(self.selected_text())

    def selected_text(self) -> str:
        """The selected cells with the headings of their columns; the whole table when at most one is selected."""
        model = self.model()
        if model is None:
            return ""
        chosen = self.selectionModel().selectedIndexes() if self.selectionModel() is not None else []
        if len(chosen) <= 1:
            return table_text(model)
        rows = sorted({index.row() for index in chosen})
        columns = sorted({index.column() for index in chosen}, key=self.horizontalHeader().visualIndex)
        return table_text(model, rows, columns)

    def add_copy_to(self, menu: QMenu) -> None:
        """Offer copying in a context menu."""
        menu.addAction(self.copy_action)

    def menu_place(self, place: QPoint) -> QPoint:
        """Where a context menu at a place in the viewport opens on the screen."""
        return self.viewport().mapToGlobal(place)


def table_text(model: QAbstractItemModel, rows: list[int] | None = None, columns: list[int] | None = None) -> str:
    """Rows and columns of a model (default: all) as tab-separated lines under their headings."""
    parent = QModelIndex()
    rows = list(range(model.rowCount(parent))) if rows is None else rows
    columns = list(range(model.columnCount(parent))) if columns is None else columns
    horizontal = Qt.Orientation.Horizontal
    lines = ["\t".join(_clean(model.headerData(column, horizontal)) for column in columns)]
    for row in rows:
        lines.append("\t".join(_clean(model.index(row, column).data(EXACT_ROLE)) for column in columns))
    return "\n".join(lines) + "\n"


def _clean(value: object) -> str:
    return "" if value is None else str(value).replace("\t", " ").replace("\n", " ")
