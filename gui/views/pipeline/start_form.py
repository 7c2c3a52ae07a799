"""What a run begins with and computes in: starting weights, seed and number types."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import QFormLayout, QSpinBox, QWidget

from core.optim.dtypes import resolve_dtype
from core.problems.objective import Objective
from core.simulation.experiment import Experiment
from gui.views.pipeline.fields import combo, quiet_label
from gui.widgets.keys import LeaveKeys
from gui.widgets.parameter_slider import Field

TYPES = ("float64", "float32", "float16", "bfloat16")
MOST_COMPONENTS = 8
"""Starting weights are written out up to so many."""


class StartForm(QWidget):
    """Four labelled lines; each restarts the run."""

    rebuilt = Signal(object)
    """Start again with these experiment fields (a dictionary)."""
    refused = Signal(str)
    """Why the starting weights cannot be taken; '': they are."""

    def __init__(self) -> None:
        super().__init__()
        self._experiment = Experiment()
        self._objective: Objective | None = None
        form = QFormLayout(self)
        form.setContentsMargins(0, 2, 0, 0)
        form.setHorizontalSpacing(6)
        form.setVerticalSpacing(3)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self._start_line(form)
        self._seed_line(form)
        self._type_lines(form)

    def _start_line(self, form: QFormLayout) -> None:
        self.start = Field()
        self.start.setAlignment(Qt.AlignmentFlag.AlignLeft)
        self.start.setAccessibleName(self.tr("Starting weights"))
        self.start.setToolTip(
            self.tr("Starting weights, separated by commas; empty: the problem's own. Restarts the run.")
        )
        self.start.entered.connect(self._on_start)
        form.addRow(quiet_label(self.tr("start")), self.start)

    def _seed_line(self, form: QFormLayout) -> None:
        self.seed = QSpinBox()
        self.seed.setRange(0, 2**31 - 1)
        self.seed.setKeyboardTracking(False)
        self.seed.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.seed.setAccessibleName(self.tr("Seed"))
        self.seed.setToolTip(self.tr("Seed of starting weights, batches and noise. Restarts the run."))
        self.seed.valueChanged.connect(self._on_seed)
        LeaveKeys(self.seed, lambda: self.seed.text() != self.seed.textFromValue(self.seed.value()))
        form.addRow(quiet_label(self.tr("seed")), self.seed)

    def _type_lines(self, form: QFormLayout) -> None:
        self.storage = combo(
            self.tr("Storage type"), self.tr("Type in which the weights are stored. Restarts the run.")
        )
        self.arithmetic = combo(
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
        form.addRow(quiet_label(self.tr("stored in")), self.storage)
        form.addRow(quiet_label(self.tr("computed in")), self.arithmetic)

    def show_run(self, experiment: Experiment, objective: Objective) -> None:
        """Show the settings of a run."""
        self._experiment, self._objective = experiment, objective
        self._show_start(experiment, objective)
        with QSignalBlocker(self.seed):
            self.seed.setValue(experiment.seed)
        self.storage.setCurrentText(experiment.storage)
        self.arithmetic.setCurrentText(experiment.arithmetic)

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
        self.refused.emit("")
        self.rebuilt.emit({"start": numbers})

    def _refuse_start(self, reason: str) -> None:
        self.start.set_refused(reason)
        self.refused.emit(reason)

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


def _digits(name: str) -> int:
    import ml_dtypes

    return int(ml_dtypes.finfo(resolve_dtype(name)).precision)
