"""The ledger as a table: one line a row, lengths and parts in numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont

from gui.theme import APPLIED, COMPUTED, Theme, cause_color
from gui.views.ledger.plot import amount_text
from gui.views.ledger.step import LedgerStep, RowNumbers
from gui.widgets.copy_table import EXACT_ROLE

Index = QModelIndex | QPersistentModelIndex


class LedgerTable(QAbstractTableModel):
    """Columns: cause, length, along, across, share, length of the step after it; two more lines for the ends."""

    def __init__(self, theme: Theme, tip: Callable[[int], str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.step: LedgerStep | None = None
        self._titles: Sequence[str] = ()
        self._tip = tip
        self._columns: tuple[tuple[str, str, Callable[[RowNumbers], float]], ...] = (
            (self.tr("length"), self.tr("Length of the contribution"), lambda n: n.size),
            (self.tr("along"), self.tr("Its part along −lr·g"), lambda n: n.along),
            (
                self.tr("across"),
                self.tr("Its part at right angles to −lr·g, towards the applied step"),
                lambda n: n.across,
            ),
            (self.tr("share"), self.tr("Its length as a share of all contributions' lengths"), lambda n: n.share),
            (self.tr("step after"), self.tr("Length of the step after this row"), lambda n: n.length_after),
        )

    def show_step(self, step: LedgerStep, titles: Sequence[str]) -> None:
        """Show another ledger."""
        same = self.step is not None and self.step.lines == step.lines
        if not same:
            self.beginResetModel()
        self.step, self._titles = step, titles
        if same:
            self.dataChanged.emit(self.index(0, 0), self.index(step.lines - 1, self.columnCount() - 1))
        else:
            self.endResetModel()

    def clear(self) -> None:
        """Show nothing."""
        self.beginResetModel()
        self.step = None
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() or self.step is None else self.step.lines

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else 1 + len(self._columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.tr("cause") if section == 0 else self._columns[section - 1][0]
        if role == Qt.ItemDataRole.ToolTipRole and section:
            return self._columns[section - 1][1]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT if section == 0 else _RIGHT
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        step = self.step
        if step is None or not index.isValid():
            return None
        line, column = index.row(), index.column()
        if role in (Qt.ItemDataRole.DisplayRole, EXACT_ROLE):
            if column == 0:
                return self._titles[line]
            value = self._columns[column - 1][2](step.numbers[line])
            if role == EXACT_ROLE:
                return "" if value != value and column == 4 else repr(float(value))
            return self._text(value, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT if column == 0 else _RIGHT
        if role == Qt.ItemDataRole.DecorationRole and column == 0:
            ends = {0: COMPUTED, step.lines - 1: APPLIED}
            return QColor(ends[line] if line in ends else cause_color(step.causes[line - 1]))
        if role == Qt.ItemDataRole.ForegroundRole and not step.acted(line):
            return QColor(self.theme.quiet)
        if role == Qt.ItemDataRole.FontRole and line in (0, step.lines - 1):
            font = QFont()
            font.setBold(True)
            return font
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(line)
        return None

    def _text(self, value: float, column: int) -> str:
        if column == 4:
            return "" if value != value else f"{100.0 * value:.1f} %"
        return amount_text(value, False)


_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
