"""The tape: this step's computation played operation by operation, and the four ways to ask for gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSlider, QTabWidget, QVBoxLayout, QWidget

from core.autodiff.picture import Picture, picture_of
from core.problems.functions import FunctionObjective
from core.problems.models import ModelObjective
from gui.session import Session
from gui.theme import Theme
from gui.views.base import View
from gui.views.tape.graph import GraphCanvas
from gui.views.tape.ways import WaysPage
from gui.views.tape.words import backward_words, broken_words, forward_words, input_words
from gui.widgets.keys import MOVING, PRESSING, KeepKeys
from gui.widgets.steady import Pace

PLAY_MILLISECONDS = 450
MAX_SIZE = 4000
REFRESH_SECONDS = 0.15


class TapeView(View):
    """Shows the tape at the weights of the step shown; worked out only while the view can be seen."""

    name = "tape"
    title = "Tape"

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.body.addWidget(self.tabs, 1)
        self.canvas = GraphCanvas(theme)
        self.canvas.setAccessibleName(self.tr("Computation graph"))
        self.canvas.setToolTip(
            self.tr(
                "Values in the boxes, derivatives of the loss (∂) below. Wheel, + and − zoom, F fits, drag moves; "
                "left and right go from operation to operation, a click on a box explains it"
            )
        )
        self.canvas.setAccessibleDescription(self.tr("Left and right go from operation to operation"))
        self.words = QLabel()
        self.words.setWordWrap(True)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.words.setMinimumHeight(self.fontMetrics().height() * 2 + 4)
        self.tabs.addTab(self._play_page(), self.tr("Operation by operation"))
        self.ways = WaysPage(theme)
        self.tabs.addTab(self.ways, self.tr("Four ways to ask"))
        self.picture: Picture | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(PLAY_MILLISECONDS)
        self._timer.timeout.connect(self._on_tick)
        self.canvas.node_clicked.connect(self._on_node)
        self.canvas.stepped.connect(self._on_stepped)
        self.tabs.currentChanged.connect(self._on_tab)
        self._pace = Pace(REFRESH_SECONDS)
        session.state_changed.connect(self._on_state)

    def _play_page(self) -> QWidget:
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(0, 4, 0, 0)
        row = QHBoxLayout()
        self.play = QPushButton(self.tr("▶ Play"))
        self.play.setToolTip(self.tr("Forward to the loss, then backward to the gradient"))
        self.play.setAccessibleName(self.tr("Play the tape"))
        self.play.clicked.connect(self._on_play)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, 0)
        self.slider.setAccessibleName(self.tr("Operation shown"))
        self.slider.setToolTip(self.tr("Left half: values forward; right half: derivatives backward"))
        self.slider.valueChanged.connect(self._on_moved)
        KeepKeys(self.slider, MOVING)
        KeepKeys(self.play, PRESSING)
        row.addWidget(self.play)
        row.addWidget(self.slider, 1)
        layout.addLayout(row)
        layout.addWidget(self.canvas, 1)
        layout.addWidget(self.words)
        return page

    # what is shown --------------------------------------------------------------------------------------------

    def rebuild(self) -> None:
        objective = self.session.current.simulation.objective
        self.ways.set_objective(objective, objective.component_names)

    def refresh(self) -> None:
        if not self._pace.due(self.session.state == "running"):
            QTimer.singleShot(self._pace.wait(), self, self._on_refresh)
            return
        weights = self._weights()
        if self.tabs.currentWidget() is self.ways:
            self.ways.show_point(weights)
            return
        self.picture = self._picture(weights)
        self.canvas.set_picture(self.picture)
        count = 0 if self.picture is None else len(self.picture.operations)
        self.slider.blockSignals(True)
        at_end = self.slider.value() >= self.slider.maximum()
        self.slider.setRange(0, 2 * count)
        if at_end:
            self.slider.setValue(2 * count)
        self.slider.blockSignals(False)
        self.play.setEnabled(count > 0)
        self.note.setText("" if self.picture is None else self._note(count))
        self._on_moved(self.slider.value())

    def _note(self, count: int) -> str:
        if self.picture is not None and self.picture.cut:
            return self.tr("the first {0} operations of more").format(count)
        return self.tr("1 operation") if count == 1 else self.tr("{0} operations").format(count)

    def restyle(self) -> None:
        self.canvas.theme = self.theme
        self.canvas.viewport().update()
        self.ways.restyle(self.theme)

    def _weights(self) -> Any:
        run = self.session.current
        if run.history.count:
            return run.history.weights(min(self.session.cursor, run.history.count - 1))
        return run.simulation.weights.astype(np.float64)

    def _picture(self, weights: Any) -> Picture | None:
        run = self.session.current
        objective = run.simulation.objective
        try:
            if isinstance(objective, FunctionObjective):
                return picture_of(objective.compute, *weights, names=objective.component_names)
            if isinstance(objective, ModelObjective) and objective.size <= MAX_SIZE:
                parts = list(objective.split(weights).values())
                step = min(self.session.cursor, max(run.history.count - 1, 0))
                batch = objective.batch(step, run.simulation.experiment.seed, np.float64)
                names = [variable.name for variable in objective.variables]
                return picture_of(objective.loss, *parts, *batch, names=[*names, "X", "y"], differentiate=len(parts))
        except ValueError as error:
            self.words.setText(str(error))
            return None
        self.words.setText(self.tr("This model is too large to be drawn operation by operation."))
        return None

    # playing --------------------------------------------------------------------------------------------------

    @Slot()
    def _on_play(self) -> None:
        if self._timer.isActive():
            self._stop()
            return
        if self.slider.value() >= self.slider.maximum():
            self.slider.setValue(0)
        self.play.setText(self.tr("❙❙ Pause"))
        self._timer.start()

    def _stop(self) -> None:
        self._timer.stop()
        self.play.setText(self.tr("▶ Play"))

    @Slot()
    def _on_tick(self) -> None:
        if self.slider.value() >= self.slider.maximum() or not self.seen:
            self._stop()
            return
        self.slider.setValue(self.slider.value() + 1)

    @Slot(int)
    def _on_moved(self, value: int) -> None:
        if self.picture is None:
            return
        operations = self.picture.operations
        count = len(operations)
        forward, backward = min(value, count), max(value - count, 0)
        node = None
        if backward:
            node = operations[count - backward]
            told = backward_words(self.picture, backward)
        elif forward:
            node = operations[forward - 1]
            told = forward_words(self.picture, forward - 1)
        else:
            told = self.tr("Before the first operation: only inputs and constants have values.")
        self.words.setText(" ".join(text for text in (broken_words(self.picture), told) if text))
        self.canvas.show_state(forward, backward, None if node is None else node.number)

    @Slot(int)
    def _on_stepped(self, by: int) -> None:
        self._stop()
        self.slider.setValue(self.slider.value() + by)

    @Slot(int)
    def _on_node(self, number: int) -> None:
        assert self.picture is not None
        node = self.picture.nodes[number]
        if node.kind != "operation":
            self.words.setText(input_words(self.picture, node))
            return
        place, count = self.picture.operations.index(node), len(self.picture.operations)
        # whoever looks at derivatives goes on looking at them
        self.slider.setValue(2 * count - place if self.slider.value() > count else 1 + place)

    @Slot(int)
    def _on_tab(self, index: int) -> None:
        self._stop()
        self.mark_stale()

    @Slot(str)
    def _on_state(self, state: str) -> None:
        self.mark_stale()
