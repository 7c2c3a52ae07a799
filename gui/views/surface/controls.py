"""The controls above the picture: plane, colours, size of the arrows, what is shown, where the run starts."""

from __future__ import annotations

from collections.abc import Sequence

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

from gui.views.surface.cut import CutChoice
from gui.views.surface.magnify import factor_text
from gui.views.surface.scale import KINDS as SCALE_KINDS

FACTORS = (0.01, 0.1, 0.5, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0, 10000.0)
LAYERS = ("contours", "rows", "later", "runs", "minima", "field", "curvature", "equal", "swap", "batch")


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
        self.plane = self._combo(self.tr("Plane"), self.tr("Which plane through the weights is drawn"), 9)
        for text, kind in (
            (self.tr("two weights"), "weights"),
            (self.tr("this step"), "step"),
            (self.tr("path (PCA)"), "principal"),
            (self.tr("random"), "random"),
        ):
            self.plane.addItem(text, kind)
        for row, tip in enumerate(
            (
                self.tr("Two weights vary, the others stay as they are in the step shown"),
                self.tr("The plane spanned by this step's gradient and its applied change: both arrows lie in it"),
                self.tr("The plane in which the path varies most (principal components), through its newest point"),
                self.tr("Two random directions, filter-normalised (Li et al. 2018); 'Again' draws others"),
            )
        ):
            self.plane.setItemData(row, tip, Qt.ItemDataRole.ToolTipRole)
        self.first = self._combo(self.tr("Weight across"), self.tr("The weight along the horizontal axis"), 10)
        self.second = self._combo(self.tr("Weight upwards"), self.tr("The weight along the vertical axis"), 10)
        self.again = QPushButton(self.tr("Again"))
        self.again.setToolTip(self.tr("Lay this plane anew through the step shown (random: along other directions)"))
        self.again.setAccessibleName(self.tr("Lay the plane again"))
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
        for widget in (self.plane, self.first, self.second, self.again):
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
        self.plane_row.setVisible(len(self._names) > 2)
        self.plane.setCurrentIndex(self.plane.findData(choice.kind))
        weights = choice.kind == "weights"
        for combo, index in ((self.first, choice.first), (self.second, choice.second)):
            combo.setVisible(weights)
            combo.setCurrentIndex(index)
        self.again.setVisible(choice.kind in ("principal", "random"))
        swap = self.actions_by_layer["swap"]
        swap.setVisible(len(self._names) == 2)
        blocked = swap.blockSignals(True)
        swap.setChecked(choice.first > choice.second)
        swap.blockSignals(blocked)

    def set_kind(self, kind: str) -> None:
        """Show which colour scale is used."""
        self.kind.setCurrentIndex(self.kind.findData(kind))

    def set_start(self, labels: tuple[str, str], a: float, b: float) -> None:
        """Show where the run starts, in the plane's coordinates."""
        for edit, label, value in ((self.start_a, labels[0], a), (self.start_b, labels[1], b)):
            if not edit.hasFocus():
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
        chosen = CutChoice(str(self.plane.currentData()), self._choice.first, self._choice.second, self._choice.seed)
        self.choice_changed.emit(chosen)

    @Slot()
    def _on_weights(self) -> None:
        first, second = self.first.currentIndex(), self.second.currentIndex()
        if first == second:
            # the same weight twice: the two change places
            if first != self._choice.first:
                second = self._choice.first
            else:
                first = self._choice.second
        self.choice_changed.emit(CutChoice("weights", first, second, self._choice.seed))

    @Slot()
    def _on_again(self) -> None:
        if self._choice.kind == "random":
            old = self._choice
            self.choice_changed.emit(CutChoice(old.kind, old.first, old.second, old.seed + 1))
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
        self.layer_changed.emit(str(action.data()), on)

    @Slot()
    def _on_start(self) -> None:
        locale = self.locale()
        first, fine = locale.toDouble(self.start_a.text())
        second, also = locale.toDouble(self.start_b.text())
        if fine and also:
            self.start_button.menu().close()
            self.start_entered.emit(first, second)
