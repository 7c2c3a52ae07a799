"""The problem: which one, its parameters, an own formula, data, start, seed and number types."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QLabel,
    QVBoxLayout,
    QWidget,
)

from core.problems.catalogue import ENTRIES
from core.problems.objective import Objective
from core.simulation.experiment import Experiment, ProblemSettings
from gui.data_dialog import DataDialog
from gui.theme import Theme
from gui.views.pipeline.data_line import DataLine
from gui.views.pipeline.fields import combo
from gui.views.pipeline.start_form import StartForm
from gui.widgets.expression_box import ExpressionBox
from gui.widgets.parameter_slider import ParameterSlider

OWN = "expression"
EXAMPLE = "(a - x)**2 + b*(y - x**2)**2"


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
        self.choice = combo(self.tr("Problem"), self.tr("The function or model that is optimized; the run restarts"))
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
        self.data_row = DataLine()
        self.data_row.named.connect(self._on_data)
        self.data_row.file_wanted.connect(self._on_file)
        layout.addWidget(self.data_row)
        self.caution = QLabel()
        self.caution.setObjectName("warning")
        self.caution.setWordWrap(True)
        self.caution.setVisible(False)
        layout.addWidget(self.caution)
        self._parameters = QVBoxLayout()
        self._parameters.setSpacing(2)
        layout.addLayout(self._parameters)
        self.form = StartForm()
        self.form.rebuilt.connect(self.rebuilt)
        self.form.refused.connect(self._on_refused)
        layout.addWidget(self.form)

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
        self.data_row.show_data(objective)
        if drafting:
            self.data_row.hide()
        self.form.show_run(experiment, objective)

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

    @Slot(str)
    def _on_data(self, text: str) -> None:
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
    def _on_refused(self, reason: str) -> None:
        self.trouble.setText(reason)
        self.trouble.setVisible(bool(reason))
