"""The form in which the three points of a plane are chosen: each a step of a run, or two natural choices at once."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal, Slot
from PySide6.QtWidgets import QComboBox, QGridLayout, QLabel, QPushButton, QSpinBox, QVBoxLayout, QWidget

from gui.session import Session
from gui.views.surface.cut import RunPoint
from gui.views.surface.points import comparable_runs, ends_of_runs, of_one_run

NEWEST = -1


class ThreePoints(QWidget):
    """Says which points the user wants."""

    chosen = Signal(object)
    """Three RunPoints."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session: Session | None = None
        self.runs = [QComboBox() for _ in range(3)]
        self.steps = [QSpinBox() for _ in range(3)]
        grid = QGridLayout()
        grid.setHorizontalSpacing(6)
        for row, (run, step) in enumerate(zip(self.runs, self.steps, strict=True)):
            letter = "ABC"[row]
            run.setAccessibleName(self.tr("Run of point {0}").format(letter))
            run.setToolTip(self.tr("The run that point {0} belongs to").format(letter))
            run.setMinimumContentsLength(14)
            run.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            run.activated.connect(self._on_changed)
            step.setAccessibleName(self.tr("Step of point {0}").format(letter))
            step.setToolTip(self.tr("The step whose weights are point {0}; below 0: the newest").format(letter))
            step.setSpecialValueText(self.tr("newest"))
            step.setRange(NEWEST, 0)
            step.setKeyboardTracking(False)
            step.valueChanged.connect(self._on_changed)
            for column, widget in enumerate((QLabel(letter), run, step)):
                grid.addWidget(widget, row, column)
        self.of_run = QPushButton(self.tr("Start, middle, newest"))
        self.of_run.setToolTip(self.tr("Three steps of the run shown"))
        self.of_run.clicked.connect(self._on_of_run)
        self.ends = QPushButton(self.tr("The ends of three runs"))
        self.ends.setToolTip(self.tr("The newest steps of three runs that have the same weights"))
        self.ends.clicked.connect(self._on_ends)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 8, 10, 8)
        layout.addLayout(grid)
        layout.addWidget(self.of_run)
        layout.addWidget(self.ends)

    def show_points(self, session: Session, points: tuple[RunPoint, ...]) -> None:
        """Show these points (none: the natural ones of the run shown) and what else there is."""
        self._session = session
        runs = comparable_runs(session)
        self.ends.setEnabled(bool(ends_of_runs(session)))
        for point, run, step in zip(points or of_one_run(session), self.runs, self.steps, strict=True):
            with QSignalBlocker(run), QSignalBlocker(step):
                run.clear()
                for one in runs:
                    run.addItem(one.name, one.id)
                run.setCurrentIndex(run.findData(point.run))
                count = next((one.history.count for one in runs if one.id == point.run), 1)
                step.setRange(NEWEST, max(count - 1, point.step, 0))
                step.setValue(point.step)

    @Slot()
    def _on_changed(self) -> None:
        found = []
        for run, step in zip(self.runs, self.steps, strict=True):
            if run.currentIndex() < 0:
                return
            found.append(RunPoint(int(run.currentData()), step.value()))
        self.chosen.emit(tuple(found))

    @Slot()
    def _on_of_run(self) -> None:
        if self._session is not None:
            self.chosen.emit(of_one_run(self._session))

    @Slot()
    def _on_ends(self) -> None:
        if self._session is not None:
            self.chosen.emit(ends_of_runs(self._session))
