"""The tape: this step's computation played operation by operation, and the four ways to ask for gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSlider,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from core.autodiff.picture import Picture, picture_of
from core.problems.four_ways import four_ways
from core.problems.functions import FunctionObjective
from core.problems.models import ModelObjective
from gui.session import Session
from gui.theme import Theme
from gui.views.base import View
from gui.views.tape.graph import GraphCanvas, shown

PLAY_MILLISECONDS = 450
MAX_SIZE = 4000


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
            self.tr("Values in the boxes, derivatives of the loss (∂) below; wheel zooms, drag moves")
        )
        self.words = QLabel()
        self.words.setWordWrap(True)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.words.setMinimumHeight(self.fontMetrics().height() * 2 + 4)
        self.tabs.addTab(self._play_page(), self.tr("Operation by operation"))
        self.ways = QVBoxLayout()
        self.frozen: dict[str, QCheckBox] = {}
        self.switches = QHBoxLayout()
        self.tabs.addTab(self._ways_page(), self.tr("Four ways to ask"))
        self.picture: Picture | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(PLAY_MILLISECONDS)
        self._timer.timeout.connect(self._on_tick)
        self.canvas.node_clicked.connect(self._on_node)

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
        row.addWidget(self.play)
        row.addWidget(self.slider, 1)
        layout.addLayout(row)
        layout.addWidget(self.canvas, 1)
        layout.addWidget(self.words)
        return page

    def _ways_page(self) -> QWidget:
        page = QWidget()
        outer = QVBoxLayout(page)
        outer.setContentsMargins(0, 4, 0, 0)
        outer.addLayout(self.switches)
        inner = QWidget()
        inner.setLayout(self.ways)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setWidget(inner)
        scroll.setAccessibleName(self.tr("Four ways to ask for gradients"))
        outer.addWidget(scroll, 1)
        return page

    # what is shown --------------------------------------------------------------------------------------------

    def rebuild(self) -> None:
        while self.switches.count():
            item = self.switches.takeAt(0)
            if item.widget() is not None:
                item.widget().deleteLater()
        self.frozen = {}
        objective = self.session.current.simulation.objective
        if isinstance(objective, FunctionObjective):
            self.switches.addWidget(QLabel(self.tr("trainable:")))
            for name in objective.component_names:
                box = QCheckBox(name)
                box.setChecked(True)
                box.setToolTip(self.tr("Whether the variable {0} is trainable").format(name))
                box.setAccessibleName(self.tr("{0} is trainable").format(name))
                box.toggled.connect(self._on_frozen)
                self.switches.addWidget(box)
                self.frozen[name] = box
            self.switches.addStretch(1)

    def refresh(self) -> None:
        weights = self._weights()
        self.picture = self._picture(weights)
        self.canvas.set_picture(self.picture)
        count = 0 if self.picture is None else len(self.picture.operations)
        self.slider.blockSignals(True)
        at_end = self.slider.value() >= self.slider.maximum()
        self.slider.setRange(0, 2 * count)
        if at_end:
            self.slider.setValue(2 * count)
        self.slider.blockSignals(False)
        self.note.setText("" if self.picture is None else self.tr("{0} operations").format(count))
        self._on_moved(self.slider.value())
        self._show_ways(weights)

    def restyle(self) -> None:
        self.canvas.theme = self.theme
        self.canvas.viewport().update()

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

    def _show_ways(self, weights: Any) -> None:
        objective = self.session.current.simulation.objective
        while self.ways.count():
            item = self.ways.takeAt(0)
            if item.widget() is not None:
                item.widget().deleteLater()
        if not isinstance(objective, FunctionObjective):
            self.ways.addWidget(
                QLabel(self.tr("Choose a function or type an expression to compare the four ways on it."))
            )
            self.ways.addStretch(1)
            return
        frozen = frozenset(name for name, box in self.frozen.items() if not box.isChecked())
        for way in four_ways(objective, list(weights), frozen):
            label = QLabel(
                f"<b>{way.name}</b><br><span style='color:{self.theme.quiet}'>{way.use}</span>"
                f"<pre style='margin:4px 0'>{_escape(way.code)}</pre>"
                f"<pre style='margin:0;color:{self.theme.accent}'>→ {_escape(way.result)}</pre>"
            )
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self.ways.addWidget(label)
        self.ways.addStretch(1)

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
        if backward:
            node = operations[count - backward]
            self.words.setText(
                self.tr("Backward {0} of {1}: the loss changes by {2} per unit of {3}").format(
                    backward, count, shown(node.adjoint), node.text.split(" = ")[0]
                )
            )
        elif forward:
            node = operations[forward - 1]
            self.words.setText(
                self.tr("Forward {0} of {1}: {2} = {3}").format(forward, count, node.text, shown(node.value))
            )
        else:
            node = None
            self.words.setText(self.tr("Before the first operation: only inputs and constants have values."))
        self.canvas.show_state(forward, backward, None if node is None else node.number)

    @Slot(int)
    def _on_node(self, number: int) -> None:
        assert self.picture is not None
        node = self.picture.nodes[number]
        if node.kind == "operation":
            self.slider.setValue(1 + self.picture.operations.index(node))

    @Slot()
    def _on_frozen(self) -> None:
        self._show_ways(self._weights())


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
