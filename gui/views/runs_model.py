"""The session's runs as a table: colour, name, state, how far, loss, lineage, digest; every cell copies in full."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase

from gui.run import Run
from gui.session import Session
from gui.theme import Theme
from gui.widgets.copy_table import EXACT_ROLE
from gui.widgets.numbers import shown_number

Index = QModelIndex | QPersistentModelIndex
VISIBLE, NAME, STATE, STEPS, LOSS, LINEAGE, DIGEST, OPTIMIZER = range(8)
LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


class RunsModel(QAbstractTableModel):
    """The first column shows and hides, the name can be edited; the last, the optimizer's lines, is there to be
    copied.
    """

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self.session = session
        self.theme = theme
        self.rows: list[Run] = list(session.runs)
        self._titles = (
            "",
            self.tr("Run"),
            self.tr("State"),
            self.tr("Steps"),
            self.tr("Loss"),
            self.tr("From"),
            self.tr("Digest"),
            self.tr("Optimizer"),
        )

    def reload(self) -> None:
        """Other runs, or only other numbers."""
        if self.rows != self.session.runs:
            self.beginResetModel()
            self.rows = list(self.session.runs)
            self.endResetModel()
        elif self.rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, len(self._titles) - 1))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self._titles)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._titles[section]
        if role == EXACT_ROLE:
            return self.tr("Shown in the views") if section == VISIBLE else self._titles[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if section in (STEPS, LOSS) else LEFT
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        if index.column() == VISIBLE:
            return flags | Qt.ItemFlag.ItemIsUserCheckable
        return flags | Qt.ItemFlag.ItemIsEditable if index.column() == NAME else flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self.rows):
            return None
        run, column = self.rows[index.row()], index.column()
        if role == Qt.ItemDataRole.CheckStateRole and column == VISIBLE:
            return Qt.CheckState.Checked if run.visible else Qt.CheckState.Unchecked
        if role == Qt.ItemDataRole.DecorationRole and column == NAME:
            return QColor(self.theme.run_color(run.color_index))
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return self._text(run, column)
        if role == EXACT_ROLE:
            return self._exact(run, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(run, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if column in (STEPS, LOSS) else LEFT
        if role == Qt.ItemDataRole.AccessibleTextRole and column == VISIBLE:
            return self.tr("{0} is shown in the views").format(run.name)
        if role == Qt.ItemDataRole.FontRole:
            return self._font(run, column)
        return None

    def _font(self, run: Run, column: int) -> QFont | None:
        if column == NAME and run is self.session.current:
            font = QFont()
            font.setBold(True)
            return font
        return QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont) if column == DIGEST else None

    def _text(self, run: Run, column: int) -> str:
        history = run.history
        if column == NAME:
            return run.name
        if column == STATE:
            return self.tr("diverged") if run.trouble else self.tr("shown") if run is self.session.current else ""
        if column == STEPS:
            return f"{history.count:,}"
        if column == LOSS:
            return shown_number(history.scalar("loss")[-1], 5) if history.count else ""
        if column == LINEAGE and run.parent is not None:
            return self.tr("{0} at {1}").format(self._parent_name(run), run.forked_at)
        if column == OPTIMIZER:
            return " ; ".join(run.simulation.experiment.optimizer.strip().splitlines())
        return run.simulation.digest[:8] if column == DIGEST else ""

    def _exact(self, run: Run, column: int) -> str:
        """For a spreadsheet: numbers in full, the whole digest, the whole line of ancestors."""
        if column == VISIBLE:
            return self.tr("yes") if run.visible else self.tr("no")
        if column == STEPS:
            return str(run.history.count)
        if column == LOSS:
            return repr(float(run.history.scalar("loss")[-1])) if run.history.count else ""
        if column == DIGEST:
            return run.simulation.digest
        if column == LINEAGE:
            return " ← ".join(self._ancestors(run))
        return self._text(run, column)

    def _tip(self, run: Run, column: int) -> str | None:
        if column == DIGEST:
            return self.tr("SHA-256 of all weights so far: {0}\nRuns with the same digest took the same path.").format(
                run.simulation.digest
            )
        if column == NAME:
            known = (run.name, run.simulation.experiment.optimizer, *self._ancestors(run)[:1])
            return "\n".join((*known, self.tr("digest {0}").format(run.simulation.digest[:8])))
        if column == STATE:
            return run.trouble or None
        if column == VISIBLE:
            return self.tr("Shown in the views, or hidden")
        if column == LINEAGE:
            return " ← ".join(self._ancestors(run)) or None
        return self._exact(run, column) or None

    def _parent_name(self, run: Run) -> str:
        return next((other.name for other in self.rows if other.id == run.parent), self.tr("a closed run"))

    def _ancestors(self, run: Run) -> list[str]:
        """'parent at 12', 'its parent at 3', ...: where the past comes from, nearest first."""
        found, here, seen = [], run, {run.id}
        while here.parent is not None:
            found.append(self.tr("{0} at {1}").format(self._parent_name(here), here.forked_at))
            above = next((other for other in self.rows if other.id == here.parent), None)
            if above is None or above.id in seen:
                break
            seen.add(above.id)
            here = above
        return found

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
