"""The problem: which one, its parameters, an own formula, data, start, seed and number types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.optim.dtypes import resolve_dtype
from core.problems.catalogue import ENTRIES
from core.problems.datasets import dataset_names
from core.problems.objective import Objective
from core.simulation.experiment import Experiment, ProblemSettings
from gui.data_dialog import DataDialog
from gui.theme import Theme
from gui.widgets.expression_box import ExpressionBox
from gui.widgets.keys import MOVING, PRESSING, KeepKeys
from gui.widgets.parameter_slider import LABEL_WIDTH, Field, ParameterSlider

OWN = "expression"
TYPES = ("float64", "float32", "float16", "bfloat16")
MOST_COMPONENTS = 8
EXAMPLE = "(a - x)**2 + b*(y - x**2)**2"


@dataclass(frozen=True)
class Choice:
    """A combo box in a line of its own."""

    label: QLabel
    box: QComboBox


class ProblemPanel(QWidget):
    """Everything the run is a function of, besides the optimizer."""

    changed = Signal(str, object)
    """A parameter of the problem, live: (key, value)."""
    rebuilt = Signal(object)
    """Start again with these experiment fields (a dictionary)."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.sliders: dict[str, ParameterSlider] = {}
        self.dialog: DataDialog | None = None
        """The dialog for own data, while it is open."""
        self._shown: tuple[Any, ...] = ()
        self._experiment = Experiment()
        self._objective: Objective | None = None
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        self.choice = _combo(self.tr("Problem"), self.tr("The function or model that is optimized; the run restarts"))
        for name, entry in ENTRIES.items():
            self.choice.addItem(entry.title, name)
            self.choice.setItemData(self.choice.count() - 1, entry.description, Qt.ItemDataRole.ToolTipRole)
        self.choice.addItem(self.tr("Own formula …"), OWN)
        self.choice.activated.connect(self._on_problem)
        layout.addWidget(self.choice)
        self.formula_label = QLabel()
        self.formula_label.setObjectName("quiet")
        self.formula_label.setWordWrap(True)
        self.formula_label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout.addWidget(self.formula_label)
        self.expression = ExpressionBox(theme, EXAMPLE)
        self.formula = self.expression.edit
        self.expression.submitted.connect(self._on_formula)
        self.expression.drafted.connect(self._on_drafted)
        self.expression.setVisible(False)
        layout.addWidget(self.expression)
        self.trouble = QLabel()
        self.trouble.setObjectName("warning")
        self.trouble.setWordWrap(True)
        self.trouble.setVisible(False)
        layout.addWidget(self.trouble)
        self._data_line(layout)
        self.caution = QLabel()
        self.caution.setObjectName("warning")
        self.caution.setWordWrap(True)
        self.caution.setVisible(False)
        layout.addWidget(self.caution)
        self._parameters = QVBoxLayout()
        self._parameters.setSpacing(2)
        layout.addLayout(self._parameters)
        form = QFormLayout()
        form.setContentsMargins(0, 2, 0, 0)
        form.setHorizontalSpacing(6)
        form.setVerticalSpacing(3)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self._start_line(form)
        self._seed_line(form)
        self._type_lines(form)
        layout.addLayout(form)

    # building ---------------------------------------------------------------------------------------------------

    def _data_line(self, layout: QVBoxLayout) -> None:
        self.data_row = QWidget()
        line = QHBoxLayout(self.data_row)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(4)
        label = _label(self.tr("data"))
        label.setFixedWidth(LABEL_WIDTH)
        self.data = _combo(
            self.tr("Data"), self.tr("A data set that comes with the program, or the path of a table (CSV, npz, npy)")
        )
        self.data.setEditable(True)
        self.data.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.data.addItems(dataset_names())
        self.data.activated.connect(self._on_data)
        edit = self.data.lineEdit()
        assert edit is not None
        edit.returnPressed.connect(self._on_data)
        self.file_button = QToolButton()
        self.file_button.setText("…")
        self.file_button.setToolTip(self.tr("Choose a file with your own data"))
        self.file_button.setAccessibleName(self.tr("Choose a data file"))
        self.file_button.clicked.connect(self._on_file)
        KeepKeys(self.file_button, PRESSING)
        for widget in (label, self.data, self.file_button):
            line.addWidget(widget, 1 if widget is self.data else 0)
        layout.addWidget(self.data_row)

    def _start_line(self, form: QFormLayout) -> None:
        self.start = Field()
        self.start.setAlignment(Qt.AlignmentFlag.AlignLeft)
        self.start.setAccessibleName(self.tr("Starting weights"))
        self.start.setToolTip(
            self.tr("Starting weights, separated by commas; empty: the problem's own. Restarts the run.")
        )
        self.start.entered.connect(self._on_start)
        form.addRow(_label(self.tr("start")), self.start)

    def _seed_line(self, form: QFormLayout) -> None:
        self.seed = QSpinBox()
        self.seed.setRange(0, 2**31 - 1)
        self.seed.setKeyboardTracking(False)
        self.seed.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.seed.setAccessibleName(self.tr("Seed"))
        self.seed.setToolTip(self.tr("Seed of starting weights, batches and noise. Restarts the run."))
        self.seed.valueChanged.connect(self._on_seed)
        form.addRow(_label(self.tr("seed")), self.seed)

    def _type_lines(self, form: QFormLayout) -> None:
        self.storage = _combo(
            self.tr("Storage type"), self.tr("Type in which the weights are stored. Restarts the run.")
        )
        self.arithmetic = _combo(
            self.tr("Arithmetic type"),
            self.tr("Type in which loss, gradient and update are computed. Restarts the run."),
        )
        for box in (self.storage, self.arithmetic):
            box.addItems(list(TYPES))
            for k, name in enumerate(TYPES):
                digits = _digits(name)
                box.setItemData(k, self.tr("about {0} decimal digits").format(digits), Qt.ItemDataRole.ToolTipRole)
        self.storage.activated.connect(self._on_storage)
        self.arithmetic.activated.connect(self._on_arithmetic)
        form.addRow(_label(self.tr("stored in")), self.storage)
        form.addRow(_label(self.tr("computed in")), self.arithmetic)

    # showing ----------------------------------------------------------------------------------------------------

    def show_run(self, experiment: Experiment, objective: Objective) -> None:
        """Show the settings of a run."""
        self._experiment = experiment
        structure = (objective.name, tuple(objective.parameters), self._options(objective))
        if structure != self._shown:
            self._shown = structure
            self._rebuild(objective)
        self._objective = objective
        for key, slider in self.sliders.items():
            slider.set_value(self._value(objective, key))
        own = bool(experiment.problem.expression)
        name = OWN if own else experiment.problem.name
        index = self.choice.findData(name)
        if index != self.choice.currentIndex():
            self.choice.setCurrentIndex(index)
            self.trouble.setVisible(False)
        self.expression.setVisible(own or (self.expression.isVisible() and self.formula.isModified()))
        if own:
            self.expression.show_run(experiment.problem.expression, objective.values)
        cautions = "\n".join(objective.cautions)
        self.caution.setText(cautions[:1].upper() + cautions[1:])
        self.caution.setVisible(bool(cautions))
        if self.formula_label.text() != objective.formula:
            self.formula_label.setText(objective.formula)
            self.formula_label.setToolTip(objective.description)
        drafting = self.expression.isVisibleTo(self) and not own
        self.formula_label.setVisible(bool(objective.formula) and not own and not drafting)
        self._show_data(objective)
        if drafting:
            self.data_row.hide()
        self._show_start(experiment, objective)
        with QSignalBlocker(self.seed):
            self.seed.setValue(experiment.seed)
        self.storage.setCurrentText(experiment.storage)
        self.arithmetic.setCurrentText(experiment.arithmetic)

    def _show_data(self, objective: Objective) -> None:
        data = getattr(objective, "options", {}).get("data")
        self.data_row.setVisible(data is not None)
        edit = self.data.lineEdit()
        if data is not None and edit is not None and not edit.hasFocus():
            text = data if isinstance(data, str) else getattr(data, "name", str(data))
            if self.data.currentText() != text:
                self.data.setEditText(text)
                edit.setCursorPosition(0)

    def _show_start(self, experiment: Experiment, objective: Objective) -> None:
        few = objective.size <= MOST_COMPONENTS
        self.start.setEnabled(few)
        if not few:
            self.start.setPlaceholderText(self.tr("{0} weights, from the seed").format(objective.size))
            self.start.show_value(None)
            return
        given = experiment.start
        self.start.show_value(
            [float(x) for x in (given if given is not None else objective.initial_weights(experiment.seed))]
        )

    def _rebuild(self, objective: Objective) -> None:
        for slider in self.sliders.values():
            self._parameters.removeWidget(slider)
            slider.hide()
            slider.deleteLater()
        self.sliders = {}
        live = {parameter.key for parameter in objective.parameters}
        for parameter in (*objective.parameters, *self._options(objective)):
            value = self._value(objective, parameter.key)
            about = "" if parameter.key in live else self.tr("Restarts the run.")
            slider = ParameterSlider(parameter, value, owner=objective.title, about=about)
            slider.setProperty("live", parameter.key in live)
            slider.changed.connect(self._on_parameter)
            self.sliders[parameter.key] = slider
            self._parameters.addWidget(slider)

    @staticmethod
    def _options(objective: Objective) -> tuple[Any, ...]:
        """Settings that make another model: those of plain functions are none."""
        return tuple(getattr(objective, "option_parameters", ()))

    @staticmethod
    def _value(objective: Objective, key: str) -> Any:
        if key in objective.values:
            return objective.values[key]
        return getattr(objective, "options", {}).get(key)

    # what the user does -----------------------------------------------------------------------------------------

    @Slot(object)
    def _on_parameter(self, value: Any) -> None:
        slider = self.sender()
        if not isinstance(slider, ParameterSlider):
            return
        key = slider.parameter.key
        if slider.property("live"):
            self.changed.emit(key, value)
        else:
            old = self._experiment.problem
            values = {other: kept for other, kept in old.values.items() if other != key}
            fields: dict[str, Any] = {"problem": old.replace(values=values, options={**old.options, key: value})}
            if self._experiment.start is not None:
                # other layers, other weights
                fields["start"] = None
            self.rebuilt.emit(fields)

    @Slot(int)
    def _on_problem(self, index: int) -> None:
        name = str(self.choice.itemData(index))
        self.trouble.setVisible(False)
        if name != OWN:
            self.expression.setVisible(False)
            self.formula.setModified(False)
            self.expression.check()
            self.rebuilt.emit({"problem": ProblemSettings(name), "start": None})
            return
        self.expression.setVisible(True)
        # what is written down there belongs to the problem that goes on until Enter
        self.formula_label.hide()
        self.data_row.hide()
        text = self.formula.text() or EXAMPLE
        self.formula.setText(text)
        self.formula.setModified(True)
        self.expression.check()
        self.formula.setFocus()
        self.formula.selectAll()

    @Slot(bool)
    def _on_drafted(self, fresh: bool) -> None:
        # two sliders of the same name would be one too many
        for slider in self.sliders.values():
            slider.setVisible(not (fresh and self.expression.isVisibleTo(self)))

    @Slot(str, object)
    def _on_formula(self, text: str, values: dict[str, float]) -> None:
        objective = self.expression.objective
        self.trouble.setVisible(False)
        fields: dict[str, Any] = {"problem": ProblemSettings(OWN, dict(values), text)}
        start = self._experiment.start
        if start is not None and objective is not None and len(start) != objective.size:
            fields["start"] = None
        self.rebuilt.emit(fields)

    @Slot()
    def _on_data(self) -> None:
        text = self.data.currentText().strip()
        options = getattr(self._objective, "options", {})
        if text and text != options.get("data"):
            old = self._experiment.problem
            chosen = ("data", "target", "features", "missing", "delimiter")
            problem = old.replace(
                values={key: value for key, value in old.values.items() if key not in chosen},
                options={key: value for key, value in old.options.items() if key not in chosen},
                data=text, target="", features=[], missing="drop",
            )  # fmt: skip
            self.rebuilt.emit({"problem": problem, "start": None})

    @Slot()
    def _on_file(self) -> None:
        self.open_data("")

    def open_data(self, path: str) -> DataDialog:
        """The dialog for own data, on the file at ``path`` ('': none yet)."""
        if self.dialog is not None:
            self.dialog.close()
        self.dialog = dialog = DataDialog(self._experiment.problem, path, self.window())
        dialog.chosen.connect(self._on_chosen)
        dialog.finished.connect(self._on_dialog_gone)
        dialog.open()
        return dialog

    @Slot(object)
    def _on_chosen(self, problem: ProblemSettings) -> None:
        self.rebuilt.emit({"problem": problem, "start": None})

    @Slot()
    def _on_dialog_gone(self) -> None:
        self.dialog = None

    @Slot(str)
    def _on_start(self, text: str) -> None:
        if not text.strip():
            self.rebuilt.emit({"start": None})
            return
        try:
            numbers = [float(piece) for piece in text.replace(";", ",").split(",") if piece.strip()]
        except ValueError:
            self._refuse_start(self.tr("Give numbers separated by commas, for example −1.2, 1"))
            return
        size = self._objective.size if self._objective is not None else len(numbers)
        if len(numbers) != size:
            self._refuse_start(
                self.tr("This problem has {0} weights; {1} numbers were given").format(size, len(numbers))
            )
            return
        self.start.setModified(False)
        self.trouble.setVisible(False)
        self.rebuilt.emit({"start": numbers})

    def _refuse_start(self, reason: str) -> None:
        self.start.set_refused(reason)
        self.trouble.setText(reason)
        self.trouble.setVisible(True)

    @Slot(int)
    def _on_seed(self, seed: int) -> None:
        self.rebuilt.emit({"seed": seed})

    @Slot()
    def _on_storage(self) -> None:
        self._choose_type("storage", self.storage.currentText())

    @Slot()
    def _on_arithmetic(self) -> None:
        self._choose_type("arithmetic", self.arithmetic.currentText())

    def _choose_type(self, field: str, name: str) -> None:
        if getattr(self._experiment, field) != name:
            self.rebuilt.emit({field: name})


def _label(text: str) -> QLabel:
    label = QLabel(text)
    label.setObjectName("quiet")
    return label


def _combo(name: str, tip: str) -> QComboBox:
    box = QComboBox()
    box.setAccessibleName(name)
    box.setToolTip(tip)
    box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(6)
    KeepKeys(box, (*MOVING, *PRESSING))
    return box


def _digits(name: str) -> int:
    import ml_dtypes

    return int(ml_dtypes.finfo(resolve_dtype(name)).precision)
