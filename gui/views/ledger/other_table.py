"""One step in two arithmetics as a table: each cause here, there, and the difference."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont

from core.simulation.contrast import norm
from core.simulation.other_arithmetic import PairedRow, StepPair
from gui.theme import APPLIED, COMPUTED, Theme, cause_color
from gui.views.ledger.plot import amount_text
from gui.widgets.copy_table import EXACT_ROLE
from gui.widgets.readable import with_hats

Index = QModelIndex | QPersistentModelIndex
LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


class OtherTable(QAbstractTableModel):
    """Lines: the rows of both ledgers matched by cause, then what was applied. Of a single weight the numbers
    themselves are shown, of several their lengths.
    """

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.pair: StepPair | None = None
        self.names = ("", "")

    def show_pair(self, pair: StepPair | None, left: str, right: str) -> None:
        """Show another step; ``left`` and ``right`` are the frameworks' names."""
        self.beginResetModel()
        self.pair, self.names = pair, (left, right)
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() or self.pair is None else len(self.pair.rows) + 1

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else 5

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return (self.tr("cause"), *self.names, self.tr("difference"), self.tr("what sets them apart"))[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return LEFT if section in (0, 4) else RIGHT
        if role == Qt.ItemDataRole.ToolTipRole and section in (1, 2, 3):
            return self.tr("Of several weights: the length of the vector; of a single one: the number itself")
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        pair = self.pair
        if pair is None or not index.isValid():
            return None
        line, column = index.row(), index.column()
        row = pair.rows[line] if line < len(pair.rows) else None
        if role in (Qt.ItemDataRole.DisplayRole, EXACT_ROLE):
            return self._shown(pair, row, column, role == EXACT_ROLE)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return LEFT if column in (0, 4) else RIGHT
        if role == Qt.ItemDataRole.DecorationRole and column == 0:
            if row is None:
                return QColor(APPLIED)
            return QColor(COMPUTED if "expected" in (row.left, row.right) else cause_color(row.cause))
        if role == Qt.ItemDataRole.ToolTipRole:
            return (with_hats(row.words) or None) if row is not None else None
        if role == Qt.ItemDataRole.ForegroundRole and row is not None and not np.any(row.difference != 0.0):
            return QColor(self.theme.quiet)
        if role == Qt.ItemDataRole.FontRole and row is None:
            font = QFont()
            font.setBold(True)
            return font
        return None

    def _shown(self, pair: StepPair, row: PairedRow | None, column: int, whole: bool) -> str:
        if column == 0:
            return self.tr("applied Δw") if row is None else row.label
        if column == 4:
            return with_hats(row.words) if row is not None and pair.counts(row) else ""
        vectors = (
            (pair.left, pair.right, pair.difference)
            if row is None
            else (row.left_contribution, row.right_contribution, row.difference)
        )
        if row is not None and ((column == 1 and row.left is None) or (column == 2 and row.right is None)):
            return ""
        vector = vectors[column - 1]
        value = float(vector[0]) if vector.size == 1 else norm(vector)
        return repr(value) if whole else amount_text(value, vector.size == 1 and column == 3)
