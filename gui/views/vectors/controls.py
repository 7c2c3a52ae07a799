"""The controls of the vectors view: which variable, and a menu with how it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QComboBox, QMenu, QToolButton, QWidget

DEFAULTS: dict[str, Any] = {"kind": "auto", "scale": "auto", "third": "auto", "order": "index", "most": 48}
LIMITS = (12, 24, 48, 100, 400)


class VectorControls(QObject):
    """``values`` holds the choices (keys as in DEFAULTS); ``changed`` tells that one is another."""

    changed = Signal()
    variable_chosen = Signal(object)
    """The name of a variable, or None for all of them."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.values = dict(DEFAULTS)
        self.variable = QComboBox(parent)
        self.variable.setAccessibleName(self.tr("Variable"))
        self.variable.setToolTip(self.tr("Show one variable, or all weights together"))
        self.variable.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.variable.activated.connect(self._on_variable)
        self.button = QToolButton(parent)
        self.button.setText(self.tr("Show"))
        self.button.setToolTip(self.tr("Arrows, bars or heat map; scale; order; third panel"))
        self.button.setAccessibleName(self.tr("How the vectors are shown"))
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.menu = QMenu(self.button)
        self.menu.setToolTipsVisible(True)
        self.button.setMenu(self.menu)
        self._actions: dict[tuple[str, Any], QAction] = {}
        self._build()

    def _build(self) -> None:
        self._section(
            self.tr("Draw as"),
            "kind",
            (
                ("auto", self.tr("Automatic"), self.tr("Arrows for two weights, heat maps for matrices, else bars")),
                ("arrows", self.tr("Arrows"), self.tr("For two weights")),
                ("bars", self.tr("Bars"), self.tr("One bar a component")),
                ("heat", self.tr("Heat map"), self.tr("For a variable with two or more axes")),
            ),
        )
        self._section(
            self.tr("Scale"),
            "scale",
            (
                ("auto", self.tr("Automatic"), self.tr("Linear; another one, and said so, when sizes are far apart")),
                ("linear", self.tr("One linear scale"), self.tr("Lengths can be compared by eye")),
                ("symlog", self.tr("Symmetric logarithmic"), self.tr("A decade takes the same room everywhere")),
                ("separate", self.tr("Magnified one by one"), self.tr("Each panel by a factor written in its title")),
            ),
        )
        self._section(
            self.tr("Third panel"),
            "third",
            (
                ("auto", self.tr("Selected cause, else difference"), self.tr("Select a cause in the ledger")),
                ("difference", self.tr("Difference"), self.tr("applied − computed: the sum of all causes")),
                ("none", self.tr("None"), self.tr("Computed and applied only")),
            ),
        )
        self._section(
            self.tr("Order of bars"),
            "order",
            (
                ("index", self.tr("By index"), self.tr("As in the variable")),
                ("size", self.tr("By size"), self.tr("Largest computed or applied component first")),
                ("difference", self.tr("By difference"), self.tr("Largest |applied − computed| first")),
            ),
        )
        self._section(
            self.tr("At most"),
            "most",
            tuple((most, self.tr("{0} bars").format(most), self.tr("The largest of many")) for most in LIMITS),
        )

    def _section(self, title: str, key: str, entries: Sequence[tuple[Any, str, str]]) -> None:
        self.menu.addSection(title)
        group = QActionGroup(self)
        for value, text, tip in entries:
            action = QAction(text, self)
            action.setCheckable(True)
            action.setToolTip(tip)
            action.setData((key, value))
            action.setChecked(self.values[key] == value)
            group.addAction(action)
            self.menu.addAction(action)
            self._actions[key, value] = action
        group.triggered.connect(self._on_choice)

    def set_variables(self, names: Sequence[str], texts: Sequence[str]) -> None:
        """Offer these variables; a single one needs no choice."""
        self.variable.clear()
        self.variable.addItem(self.tr("all weights"), None)
        for name, text in zip(names, texts, strict=True):
            self.variable.addItem(text, name)
        self.variable.setVisible(len(names) > 1)

    def show_variable(self, name: str | None) -> None:
        """Show which variable is selected."""
        index = self.variable.findData(name) if name is not None else 0
        self.variable.setCurrentIndex(max(index, 0))

    def set_values(self, values: dict[str, Any]) -> None:
        """Take over choices; unknown ones are left alone."""
        for key, value in values.items():
            action = self._actions.get((key, value))
            if action is not None:
                self.values[key] = value
                action.setChecked(True)
        self.changed.emit()

    def offer(self, arrows: bool, heat: bool, bars: bool) -> None:
        """Enable what can be drawn for the vectors shown."""
        self._actions["kind", "arrows"].setEnabled(arrows)
        self._actions["kind", "heat"].setEnabled(heat)
        for key, action in self._actions.items():
            if key[0] in ("order", "most"):
                action.setEnabled(bars)

    @Slot(QAction)
    def _on_choice(self, action: QAction) -> None:
        key, value = action.data()
        self.values[key] = value
        self.changed.emit()

    @Slot(int)
    def _on_variable(self, index: int) -> None:
        self.variable_chosen.emit(self.variable.itemData(index))
