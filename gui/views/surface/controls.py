"""The controls above the picture: plane, colours, size of the arrows, what is shown, where the run starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QDoubleValidator
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
    QWidgetAction,
)

from gui.views.surface.curve import KINDS as CURVE_KINDS
from gui.views.surface.cut import CutChoice, RunPoint
from gui.views.surface.magnify import factor_text
from gui.views.surface.scale import KINDS as SCALE_KINDS
from gui.views.surface.three_points import ThreePoints

FACTORS = (0.01, 0.1, 0.5, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0, 10000.0)
LAYERS = ("contours", "rows", "later", "runs", "minima", "field", "curvature", "equal", "swap", "batch", "slice")


class SurfaceControls(QWidget):
    """Says what the user wants; decides nothing."""

    choice_changed = Signal(object)
    """A CutChoice."""
    cut_here = Signal()
    kind_changed = Signal(str)
    arrows_changed = Signal(str, float)
    """(mode, factor), see magnify.choose."""
    layer_changed = Signal(str, bool)
    """(one of LAYERS, on)."""
    fit = Signal()
    start_entered = Signal(float, float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._choice = CutChoice()
        self._names: tuple[str, ...] = ()
        self.plane = self._combo(self.tr("Plane"), self.tr("Which plane or line through the weights is drawn"), 11)
        for kind, text, tip in self._cuts():
            self.plane.addItem(text, kind)
            self.plane.setItemData(self.plane.count() - 1, tip, Qt.ItemDataRole.ToolTipRole)
        self.first = self._combo(self.tr("Weight across"), self.tr("The weight along the horizontal axis"), 10)
        self.second = self._combo(self.tr("Weight upwards"), self.tr("The weight along the vertical axis"), 10)
        self.again = QPushButton(self.tr("Again"))
        self.again.setToolTip(self.tr("Lay this plane anew through the step shown (random: along other directions)"))
        self.again.setAccessibleName(self.tr("Lay the plane again"))
        self.points_button = self._menu_button(self.tr("Points"), self.tr("The three points the plane goes through"))
        self.points = ThreePoints()
        holder = QWidgetAction(self)
        holder.setDefaultWidget(self.points)
        self.points_button.menu().addAction(holder)
        self.points.chosen.connect(self._on_points)
        self.kind = self._combo(self.tr("Colours"), self.tr("How losses become colours"))
        names = {"log10": self.tr("log₁₀"), "linear": self.tr("linear"), "rank": self.tr("rank")}
        for kind in SCALE_KINDS:
            self.kind.addItem(names[kind], kind)
        self.arrows = self._combo(
            self.tr("Size of the arrows"),
            self.tr("True length, or magnified by a factor that is written down below the picture"),
            11,
        )
        self.arrows.addItem(self.tr("arrows: auto"), ("auto", 1.0))
        self.arrows.addItem(self.tr("true length"), ("true", 1.0))
        self.arrows.addItem(self.tr("each readable"), ("separate", 1.0))
        for factor in FACTORS:
            self.arrows.addItem(factor_text(factor), ("fixed", factor))
        self.arrows.setItemData(
            2,
            self.tr("Computed and applied each by a factor of its own; the ledger's arrows are then left out"),
            Qt.ItemDataRole.ToolTipRole,
        )
        self.show_button = self._menu_button(self.tr("Show"), self.tr("What is drawn"))
        self.actions_by_layer = self._layer_actions()
        self.start_button = self._menu_button(self.tr("Start"), self.tr("Type the point the run starts at"))
        self.fit_button = QToolButton()
        self.fit_button.setText(self.tr("Fit"))
        self.fit_button.setToolTip(self.tr("Show the whole domain and path again (Home)"))
        self.fit_button.setAccessibleName(self.tr("Fit the picture"))
        self._start_form()
        self.plane_row = QWidget()
        first_row = QHBoxLayout(self.plane_row)
        for widget in (self.plane, self.first, self.second, self.points_button, self.again):
            first_row.addWidget(widget)
        first_row.addStretch(1)
        second_row = QHBoxLayout()
        for widget in (self.kind, self.arrows, self.show_button, self.start_button, self.fit_button):
            second_row.addWidget(widget)
        second_row.addStretch(1)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(4, 0, 4, 2)
        rows.setSpacing(4)
        for row in (first_row, second_row):
            row.setContentsMargins(0, 0, 0, 0)
            row.setSpacing(4)
        rows.addWidget(self.plane_row)
        rows.addLayout(second_row)
        self.plane.activated.connect(self._on_plane)
        self.first.activated.connect(self._on_weights)
        self.second.activated.connect(self._on_weights)
        self.again.clicked.connect(self._on_again)
        self.kind.activated.connect(self._on_kind)
        self.arrows.activated.connect(self._on_arrows)
        self.fit_button.clicked.connect(self.fit)

    # what it shows ------------------------------------------------------------------------------------------------

    def set_problem(self, names: Sequence[str], has_batches: bool) -> None:
        """Other weights to choose from."""
        if tuple(names) != self._names:
            self._names = tuple(names)
            for combo in (self.first, self.second):
                combo.clear()
                combo.addItems(list(names))
        self.actions_by_layer["batch"].setVisible(has_batches)

    def set_choice(self, choice: CutChoice) -> None:
        """Show which plane is drawn."""
        self._choice = choice
        several, slicing = len(self._names) > 1, choice.is_line
        # two weights have one plane only
        self.plane_row.setVisible(len(self._names) > 2 or (several and slicing))
        self.plane.setCurrentIndex(self.plane.findData(choice.kind))
        for combo, index, kinds in (
            (self.first, choice.first, ("weights", "slice weight")),
            (self.second, choice.second, ("weights",)),
        ):
            combo.setVisible(choice.kind in kinds)
            combo.setCurrentIndex(index)
        self.points_button.setVisible(choice.kind == "three")
        self.again.setVisible(choice.kind in ("principal", "three", "random", "slice random"))
        self._check("slice", slicing, several)
        self._on_a_line(slicing or not several)
        self._check("swap", choice.first > choice.second, len(self._names) == 2 and not slicing)

    def _check(self, layer: str, on: bool, visible: bool) -> None:
        """Show how a layer's switch stands without saying that the user moved it."""
        action = self.actions_by_layer[layer]
        action.setVisible(visible)
        blocked = action.blockSignals(True)
        action.setChecked(on)
        action.blockSignals(blocked)

    def _on_a_line(self, on: bool) -> None:
        """What makes no sense beside a curve is left out."""
        for layer in ("contours", "field", "curvature", "equal"):
            self.actions_by_layer[layer].setVisible(not on)
        self.kind.setAccessibleName(self.tr("Scale of the losses") if on else self.tr("Colours"))
        self.kind.setToolTip(self.tr("How losses become heights") if on else self.tr("How losses become colours"))
        model = self.kind.model()
        for row, kind in enumerate(SCALE_KINDS):
            model.item(row).setEnabled(not on or kind in CURVE_KINDS)  # type: ignore[attr-defined]
        for part in (self.start_b, self._form.labelForField(self.start_b)):
            if part is not None:
                part.setVisible(not on)

    def set_kind(self, kind: str) -> None:
        """Show which colour scale is used."""
        self.kind.setCurrentIndex(self.kind.findData(kind))

    def set_start(self, labels: tuple[str, str], a: float, b: float) -> None:
        """Show where the run starts, in the plane's coordinates."""
        for edit, label, value in ((self.start_a, labels[0], a), (self.start_b, labels[1], b)):
            if not edit.hasFocus() and math.isfinite(value):
                edit.setText(f"{value:.10g}")
            edit.setAccessibleName(self.tr("Start: {}").format(label))
        for edit, label in ((self.start_a, labels[0]), (self.start_b, labels[1])):
            caption = self._form.labelForField(edit)
            if caption is not None:
                caption.setText(label)  # type: ignore[attr-defined]

    def layer(self, name: str) -> bool:
        """Whether a layer is switched on."""
        return self.actions_by_layer[name].isChecked()

    # building -----------------------------------------------------------------------------------------------------

    def _cuts(self) -> tuple[tuple[str, str, str], ...]:
        """(kind, name, tip) of every plane and line that can be chosen."""
        return (
            (
                "weights",
                self.tr("two weights"),
                self.tr("Two weights vary, the others stay as they are in the step shown"),
            ),
            (
                "step",
                self.tr("this step"),
                self.tr("The plane spanned by this step's gradient and its applied change: both arrows lie in it"),
            ),
            (
                "principal",
                self.tr("path (PCA)"),
                self.tr("The plane in which the path varies most (principal components), through its newest point"),
            ),
            (
                "three",
                self.tr("three points"),
                self.tr("The plane through three steps, of this run or of others; 'Again' when they have moved on"),
            ),
            (
                "random",
                self.tr("random"),
                self.tr("Two random directions, filter-normalised (Li et al. 2018); 'Again' draws others"),
            ),
            (
                "slice weight",
                self.tr("slice: weight"),
                self.tr("A curve: one weight varies, the others stay as they are in the step shown"),
            ),
            (
                "slice gradient",
                self.tr("slice: gradient"),
                self.tr("A curve through the step shown, straight down along its gradient"),
            ),
            (
                "slice applied",
                self.tr("slice: applied"),
                self.tr("A curve through the step shown, along the change that was applied"),
            ),
            (
                "slice random",
                self.tr("slice: random"),
                self.tr("A curve along a random direction, filter-normalised; 'Again' draws another"),
            ),
        )

    def _combo(self, name: str, tip: str, letters: int = 6) -> QComboBox:
        combo = QComboBox()
        combo.setAccessibleName(name)
        combo.setToolTip(tip)
        combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        combo.setMinimumContentsLength(letters)
        combo.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        return combo

    def _menu_button(self, text: str, tip: str) -> QToolButton:
        button = QToolButton()
        button.setText(text)
        button.setToolTip(tip)
        button.setAccessibleName(text)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        button.setMenu(QMenu(button))
        return button

    def _layer_actions(self) -> dict[str, QAction]:
        texts = {
            "contours": (self.tr("Contour lines"), True, self.tr("Lines of equal loss")),
            "rows": (self.tr("Ledger between the arrows"), True, self.tr("One dashed arrow a cause, head to tail")),
            "later": (self.tr("Steps after the one shown"), True, self.tr("Faint")),
            "runs": (self.tr("Other runs"), True, self.tr("The paths of the runs that are visible in the list")),
            "minima": (self.tr("Known minima"), True, self.tr("Point at one to read its loss")),
            "field": (self.tr("Gradient field"), False, self.tr("The direction of steepest descent, length apart")),
            "curvature": (
                self.tr("Curvature"),
                False,
                self.tr("Eigenvectors of the Hessian with their eigenvalues, and the step of the quadratic model"),
            ),
            "equal": (self.tr("Equal scales on both axes"), False, self.tr("A circle looks round, right angles right")),
            "swap": (self.tr("Swap the axes"), False, self.tr("The second weight across, the first one upwards")),
            "slice": (self.tr("Cut along a line"), False, self.tr("The loss as a curve along one weight or direction")),
            "batch": (self.tr("Loss of this step's batch"), False, self.tr("Instead of the loss of all data")),
        }
        actions = {}
        menu = self.show_button.menu()
        menu.setToolTipsVisible(True)
        for name in LAYERS:
            text, on, tip = texts[name]
            action = QAction(text, self)
            action.setCheckable(True)
            action.setChecked(on)
            action.setToolTip(tip)
            action.setData(name)
            action.toggled.connect(self._on_layer)
            menu.addAction(action)
            actions[name] = action
        return actions

    def _start_form(self) -> None:
        panel = QWidget()
        self._form = QFormLayout(panel)
        self._form.setContentsMargins(10, 8, 10, 8)
        self.start_a, self.start_b = QLineEdit(), QLineEdit()
        for edit in (self.start_a, self.start_b):
            edit.setValidator(QDoubleValidator(edit))
            edit.setToolTip(self.tr("Return starts the run here"))
            edit.setMinimumWidth(130)
            edit.returnPressed.connect(self._on_start)
        self._form.addRow("a", self.start_a)
        self._form.addRow("b", self.start_b)
        self.start_go = QPushButton(self.tr("Start here"))
        self.start_go.setToolTip(self.tr("Begin the run afresh from this point"))
        self.start_go.clicked.connect(self._on_start)
        self._form.addRow(self.start_go)
        action = QWidgetAction(self)
        action.setDefaultWidget(panel)
        self.start_button.menu().addAction(action)

    def minimumSizeHint(self) -> QSize:
        # narrow docks: the combo boxes give way before the picture does
        return QSize(240, super().minimumSizeHint().height())

    # what the user does -------------------------------------------------------------------------------------------

    @Slot()
    def _on_plane(self) -> None:
        self.choice_changed.emit(self._two_apart(replace(self._choice, kind=str(self.plane.currentData()))))

    @Slot()
    def _on_weights(self) -> None:
        first, second = self.first.currentIndex(), self.second.currentIndex()
        if self._choice.is_line:
            self.choice_changed.emit(replace(self._choice, first=first))
            return
        if first == second:
            # the same weight twice: the two change places
            if first != self._choice.first:
                second = self._choice.first
            else:
                first = self._choice.second
        self.choice_changed.emit(replace(self._choice, kind="weights", first=first, second=second))

    @Slot(object)
    def _on_points(self, points: tuple[RunPoint, ...]) -> None:
        self.choice_changed.emit(replace(self._choice, kind="three", points=points))

    @Slot()
    def _on_again(self) -> None:
        if self._choice.kind in ("random", "slice random"):
            self.choice_changed.emit(replace(self._choice, seed=self._choice.seed + 1))
        else:
            self.cut_here.emit()

    @Slot()
    def _on_kind(self) -> None:
        self.kind_changed.emit(str(self.kind.currentData()))

    @Slot()
    def _on_arrows(self) -> None:
        mode, factor = self.arrows.currentData()
        self.arrows_changed.emit(mode, factor)

    @Slot(bool)
    def _on_layer(self, on: bool) -> None:
        action = self.sender()
        assert isinstance(action, QAction)
        if action is self.actions_by_layer["swap"]:
            self.choice_changed.emit(CutChoice("weights", int(on), int(not on)))
        elif action is self.actions_by_layer["slice"]:
            self.choice_changed.emit(self._two_apart(replace(self._choice, kind="slice weight" if on else "weights")))
        self.layer_changed.emit(str(action.data()), on)

    @Slot()
    def _on_start(self) -> None:
        locale = self.locale()
        first, fine = locale.toDouble(self.start_a.text())
        second, also = locale.toDouble(self.start_b.text())
        if fine and also:
            self.start_button.menu().close()
            self.start_entered.emit(first, second)

    def _two_apart(self, choice: CutChoice) -> CutChoice:
        """A slice may run along any weight: the plane that follows it has two different ones."""
        if choice.kind == "weights" and len(self._names) == 2:
            return CutChoice()
        return replace(choice, second=int(choice.first == 0)) if choice.first == choice.second else choice
