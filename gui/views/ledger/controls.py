"""The controls of the ledger: over which weights, in which measure, as waterfall or table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QListView, QToolButton, QWidget

from gui.widgets.keys import PRESSING, KeepKeys

MOST_COMPONENTS = 2000


class LedgerControls(QWidget):
    """``measure``, ``scale`` and ``table`` hold the choices; ``changed`` tells of another one."""

    changed = Signal()
    scope_chosen = Signal(object, object)
    """(variable or None, component or None)"""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.scope = QComboBox()
        self.scope.setAccessibleName(self.tr("Weights"))
        self.scope.setToolTip(self.tr("All weights together, one variable, or a single component"))
        self.scope.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.scope.setMinimumContentsLength(11)
        popup = QListView(self.scope)
        # thousands of components: measuring one is enough
        popup.setUniformItemSizes(True)
        self.scope.setView(popup)
        self.measure_box = QComboBox()
        self.measure_box.setAccessibleName(self.tr("Measure"))
        for key, text, tip in (
            ("along", self.tr("along −lr·g"), self.tr("What each cause adds in the direction of −lr·g")),
            (
                "across",
                self.tr("across −lr·g"),
                self.tr("What each cause adds at right angles to −lr·g, towards the applied step"),
            ),
            ("length", self.tr("length of the step"), self.tr("How long the step is after each cause")),
            (
                "size",
                self.tr("size of each cause"),
                self.tr("The length of each contribution on its own; these do not add up"),
            ),
        ):
            self.measure_box.addItem(text, key)
            self.measure_box.setItemData(self.measure_box.count() - 1, tip, Qt.ItemDataRole.ToolTipRole)
        self.measure_box.setToolTip(self.tr("What the bars measure"))
        self.scale_box = QComboBox()
        self.scale_box.setAccessibleName(self.tr("Scale"))
        self.scale_box.setToolTip(self.tr("Automatic: linear; logarithmic when an end would be too small to be seen"))
        for key, text in (
            ("auto", self.tr("auto")),
            ("linear", self.tr("linear")),
            ("symlog", self.tr("log")),
        ):
            self.scale_box.addItem(text, key)
        self.table_button = QToolButton()
        self.table_button.setText(self.tr("Table"))
        self.table_button.setCheckable(True)
        self.table_button.setToolTip(self.tr("All numbers of each row instead of bars"))
        self.table_button.setAccessibleName(self.tr("Ledger as a table"))
        KeepKeys(self.table_button, PRESSING)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(4, 0, 4, 0)
        layout.setSpacing(6)
        layout.addWidget(self.scope, 2)
        layout.addWidget(self.measure_box, 2)
        layout.addWidget(self.scale_box, 1)
        layout.addWidget(self.table_button)
        for box in (self.scope, self.measure_box, self.scale_box):
            box.setMinimumWidth(60)
        self.scope.activated.connect(self._on_scope)
        self.measure_box.activated.connect(self._on_choice)
        self.scale_box.activated.connect(self._on_choice)
        self.table_button.toggled.connect(self._on_choice)

    @property
    def measure(self) -> str:
        """One of core.simulation.waterfall.MEASURES."""
        return str(self.measure_box.currentData())

    @property
    def scale(self) -> str:
        """'auto', 'linear' or 'symlog'."""
        return str(self.scale_box.currentData())

    @property
    def table(self) -> bool:
        """True for the table."""
        return self.table_button.isChecked()

    def options(self) -> dict[str, Any]:
        """The choices as plain data."""
        return {"measure": self.measure, "scale": self.scale, "table": self.table}

    def set_options(self, options: dict[str, Any]) -> None:
        """Take over choices; unknown ones are left alone."""
        for box, key in ((self.measure_box, "measure"), (self.scale_box, "scale")):
            index = box.findData(options.get(key, box.currentData()))
            if index >= 0:
                box.setCurrentIndex(index)
        with QSignalBlocker(self.table_button):
            self.table_button.setChecked(bool(options.get("table", self.table)))
        self.changed.emit()

    def set_scopes(self, variables: Sequence[str], components: Sequence[str]) -> None:
        """Offer these variables (when there are several) and the first of these components."""
        with QSignalBlocker(self.scope):
            self.scope.clear()
            self.scope.addItem(self.tr("all weights"), (None, None))
            if len(variables) > 1:
                self.scope.insertSeparator(self.scope.count())
                for name in variables:
                    self.scope.addItem(name, (name, None))
            if len(components) > 1:
                self.scope.insertSeparator(self.scope.count())
                for index, name in enumerate(components[:MOST_COMPONENTS]):
                    self.scope.addItem(name, (None, index))

    def show_scope(self, variable: str | None, component: int | None, name: str) -> None:
        """Show what is selected; a component beyond those offered is added under ``name``."""
        wanted = (None, component) if component is not None else (variable, None)
        if self.scope.currentData() == wanted:
            return
        index = next((i for i in range(self.scope.count()) if self.scope.itemData(i) == wanted), -1)
        if index < 0 and component is not None:
            self.scope.addItem(name, wanted)
            index = self.scope.count() - 1
        self.scope.setCurrentIndex(max(index, 0))

    @Slot(int)
    def _on_scope(self, index: int) -> None:
        data = self.scope.itemData(index)
        if data is not None:
            self.scope_chosen.emit(*data)

    @Slot()
    def _on_choice(self) -> None:
        self.changed.emit()
