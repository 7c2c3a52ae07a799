"""Models of the inspector: numbers of the step one below the other, and one row a component, read when asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QPixmap

from core.simulation.contrast import contrast, norm
from core.simulation.history import SCALARS, History
from gui.theme import APPLIED, COMPUTED, Theme, cause_color
from gui.widgets.copy_table import EXACT_ROLE
from gui.widgets.numbers import shown_number

Index = QModelIndex | QPersistentModelIndex
Float64 = NDArray[np.float64]
Parts = Mapping[str, Float64]
"""Name -> part of the gradient, (size,); empty while it is being worked out."""
LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


Line = tuple[str, float | None, str]
"""Name, value (None: not known yet), what it is."""
WAITING = "…"


class NumbersModel(QAbstractTableModel):
    """Step, loss, learning rates, lengths, and the figures that transforms noted: (name, value) lines."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._lines: list[Line] = []

    def clear(self) -> None:
        """Show nothing."""
        self._set([])

    def show_step(self, history: History, step: int, parts: Parts | None = None) -> None:
        """Read the numbers of a step; ``parts`` are what its gradient is made of, if it is."""
        with np.errstate(all="ignore"):
            found = contrast(history.expected(step), history.applied(step))
        lines: list[Line] = [("step", float(step), "")]
        lines += [(name, float(history.scalar(name)[step]), "") for name in SCALARS]
        lines += [
            ("‖w‖", norm(history.weights(step)), self.tr("length of the weights before the step")),
            ("‖g‖", norm(history.gradient(step)), self.tr("length of the computed gradient")),
            *(
                (
                    f"‖g {name}‖",
                    norm(part) if part.size else None,
                    self.tr("length of this part of the gradient; the parts add up to g"),
                )
                for name, part in (parts or {}).items()
            ),
            ("‖lr·g‖", found.expected_norm, self.tr("length of the expected step")),
            ("‖Δw‖", found.applied_norm, self.tr("length of the applied step")),
            ("‖Δw‖ / ‖lr·g‖", found.ratio, ""),
            (self.tr("angle in degrees"), found.angle, self.tr("between the expected and the applied step")),
            (self.tr("cosine"), found.cosine, self.tr("of that angle")),
            (self.tr("moved against −lr·g"), float(found.flipped), self.tr("number of weights")),
            (self.tr("stayed"), float(found.unmoved), self.tr("weights that stayed although −lr·g is not zero")),
        ]
        lines += [(name, value, self.tr("noted by a transform")) for name, value in history.figures(step).items()]
        schema, rows = history.schema(step), history.rows(step)
        lines += [
            (f"‖{label}‖", norm(row), self.tr("length of the contribution of {0}").format(name))
            for name, label, row in zip(schema.names, schema.labels, rows, strict=True)
        ]
        self._set(lines)

    def _set(self, lines: list[Line]) -> None:
        same = [line[0] for line in lines] == [line[0] for line in self._lines]
        if not same:
            self.beginResetModel()
        self._lines = lines
        if not same:
            self.endResetModel()
        elif lines:
            self.dataChanged.emit(self.index(0, 1), self.index(len(lines) - 1, 1))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._lines)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else 2

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return (self.tr("number"), self.tr("value"))[section]
        return (LEFT, RIGHT)[section] if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        name, value, about = self._lines[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return name if index.column() == 0 else WAITING if value is None else shown(value)
        if role == EXACT_ROLE:
            return name if index.column() == 0 else "" if value is None else exact(value)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return (LEFT, RIGHT)[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{name}: {about}" if about else name
        if role == Qt.ItemDataRole.ForegroundRole and index.column() == 0:
            return QColor(self.theme.quiet)
        return None


class ComponentsModel(QAbstractTableModel):
    """One row a component: w, g, expected, one column a ledger row, applied, residual.

    Nothing is worked out before it is looked at, so thousands of components cost no more than those in sight.
    """

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._names: tuple[str, ...] = ()
        self._filter = ""
        self._sorted: tuple[int, Qt.SortOrder] = (-1, Qt.SortOrder.AscendingOrder)
        self._order: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self._rows: dict[int, int] | None = None
        self._titles: tuple[str, ...] = ()
        self._meanings: tuple[str, ...] = ()
        self._columns: list[Callable[[NDArray[np.intp]], Float64]] = []
        self._squares: dict[str, QPixmap] = {}

    def set_names(self, names: tuple[str, ...]) -> None:
        """Another run: other components."""
        self.beginResetModel()
        self._names, self._columns, self._titles = names, [], ()
        self._sorted = (-1, Qt.SortOrder.AscendingOrder)
        self._choose_order()
        self.endResetModel()

    def clear(self) -> None:
        """Show nothing."""
        if self._columns:
            self.beginResetModel()
            self._columns, self._titles = [], ()
            self.endResetModel()

    def show_step(self, history: History, step: int, parts: Parts | None = None) -> bool:
        """Read a step; True when the columns are others than before. ``parts`` of the gradient stand before it."""
        schema = history.schema(step)
        weights, gradient, applied, rows = (
            history.weights(step), history.gradient(step), history.applied(step), history.rows(step),
        )  # fmt: skip
        rate = float(history.scalar("base_learning_rate")[step])

        def expected(picked: NDArray[np.intp]) -> Float64:
            result: Float64 = gradient[picked] * -rate
            return result

        def residual(picked: NDArray[np.intp]) -> Float64:
            total = expected(picked)
            for row in rows:
                total = total + row[picked]
            left: Float64 = applied[picked] - total
            return np.where(~np.isfinite(total) & np.isfinite(applied[picked]), 0.0, left)

        made_of = parts or {}
        columns = [weights.__getitem__, *(part.__getitem__ if part.size else _waiting for part in made_of.values())]
        columns += [gradient.__getitem__, expected]
        columns += [row.__getitem__ for row in rows]
        columns += [applied.__getitem__, residual]
        titles = ("w", *(f"g {name}" for name in made_of), "g", "−lr·g", *schema.labels, "Δw", self.tr("residual"))
        other = titles != self._titles
        if other:
            self.beginResetModel()
        self._columns, self._titles = columns, titles
        self._meanings = ("", *[""] * len(made_of), "", "computed", *schema.causes, "applied", "")
        if self._sorted[0] > 0:
            self._choose_order()
        if other:
            self.endResetModel()
        elif len(self._order):
            self.dataChanged.emit(self.index(0, 1), self.index(len(self._order) - 1, len(columns)))
        return other

    def set_filter(self, text: str) -> None:
        """Show only components whose names contain ``text`` (capitals aside)."""
        self.beginResetModel()
        self._filter = text.strip().lower()
        self._choose_order()
        self.endResetModel()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column (-1: as in the vector); it stays sorted as steps go by."""
        self.layoutAboutToBeChanged.emit()
        self._sorted = (column, order)
        self._choose_order()
        self.layoutChanged.emit()

    def _choose_order(self) -> None:
        self._rows = None
        if self._filter:
            picked = np.array([i for i, name in enumerate(self._names) if self._filter in name.lower()], dtype=np.intp)
        else:
            picked = np.arange(len(self._names), dtype=np.intp)
        column, order = self._sorted
        if column == 0:
            picked = np.array(sorted(picked, key=lambda i: self._names[i]), dtype=np.intp)
        elif 0 < column <= len(self._columns) and len(picked):
            with np.errstate(all="ignore"):
                picked = picked[np.argsort(self._columns[column - 1](picked), kind="stable")]
        if column >= 0 and order == Qt.SortOrder.DescendingOrder:
            picked = picked[::-1]
        self._order = picked

    def component_of(self, row: int) -> int:
        """The component on a row, as an index of the flat vector."""
        return int(self._order[row])

    def row_of(self, component: int | None) -> int | None:
        """The row of a component; None when it is not shown."""
        if component is None:
            return None
        if self._rows is None:
            self._rows = {int(c): row for row, c in enumerate(self._order)}
        return self._rows.get(component)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() or not self._columns else len(self._order)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() or not self._columns else 1 + len(self._columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal or section > len(self._titles):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.tr("component") if section == 0 else self._titles[section - 1]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if section else LEFT
        if role == Qt.ItemDataRole.DecorationRole and section and self._meanings[section - 1]:
            return self._square(self._meanings[section - 1])
        return None

    def _square(self, meaning: str) -> QPixmap:
        """A small square in the colour of a cause."""
        found = self._squares.get(meaning)
        if found is None:
            found = self._squares[meaning] = QPixmap(8, 8)
            found.fill(QColor({"computed": COMPUTED, "applied": APPLIED}.get(meaning) or cause_color(meaning)))
        return found

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if index.column() else LEFT
        if role not in (Qt.ItemDataRole.DisplayRole, EXACT_ROLE) or not index.isValid():
            return None
        row, column = index.row(), index.column()
        if row >= len(self._order) or column > len(self._columns):
            return None
        if column == 0:
            return self._names[self._order[row]]
        if self._columns[column - 1] is _waiting:
            return WAITING if role == Qt.ItemDataRole.DisplayRole else ""
        with np.errstate(all="ignore"):
            value = float(self._columns[column - 1](self._order[row : row + 1])[0])
        return exact(value) if role == EXACT_ROLE else shown(value)


def _waiting(picked: NDArray[np.intp]) -> Float64:
    """A column that the worker has not filled yet."""
    return np.full(len(picked), np.nan)


def shown(value: float) -> str:
    """A number in a cell: seven digits."""
    if value == 0.0:
        return "0"
    return shown_number(value, 7)


def exact(value: float) -> str:
    """A number for the clipboard: every digit, whole numbers without a point."""
    if np.isfinite(value) and abs(value) < 1e15 and value == int(value):
        return str(int(value))
    return repr(float(value))
