"""The transport bar: restart, back, run or pause, step, end; the scrub slider and the speed."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QComboBox, QSizePolicy, QSlider, QToolBar, QWidget

from gui.rewinding import rewind
from gui.session import Session
from gui.widgets.keys import MOVING, PRESSING, KeepKeys
from gui.widgets.read_out import ReadOut
from gui.widgets.throttle import Throttle
from gui.worker import FLAT_OUT

SPEEDS: tuple[tuple[str, float], ...] = (
    ("1 step/s", 1 / 60),
    ("5 steps/s", 5 / 60),
    ("15 steps/s", 15 / 60),
    ("1 step/frame", 1),
    ("5 steps/frame", 5),
    ("25 steps/frame", 25),
    ("flat out", FLAT_OUT),
)
DEFAULT_SPEED = 3
TEXT_MILLISECONDS = 80


class TransportBar(QToolBar):
    """Buttons with keys, the slider that scrubs all views, and how fast runs go."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.setObjectName("transport")
        self.setWindowTitle(self.tr("Transport"))
        self.setMovable(False)
        self.setContentsMargins(0, 0, 6, 0)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.restart_action = self._action(
            "❙◀", self.tr("Res&tart"), "Home", self.tr("Take the run back to its first step; it can be undone")
        )
        self.back_action = self._action("◀", self.tr("Step &back"), "Left", self.tr("Show the step before"))
        self.run_action = self._action(self.tr("▶ Run"), self.tr("&Run"), "Space", self.tr("Run or pause"))
        self.step_action = self._action("▶❙", self.tr("&Step"), "Right", self.tr("Show or take the next step"))
        self.end_action = self._action("▶▶❙", self.tr("&Newest step"), "End", self.tr("Show the newest step"))
        self.restart_action.triggered.connect(self._on_restart)
        self.back_action.triggered.connect(self._on_back)
        self.run_action.triggered.connect(self._on_run)
        self.step_action.triggered.connect(self._on_step)
        self.end_action.triggered.connect(self._on_end)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName(self.tr("Step shown"))
        self.slider.setToolTip(self.tr("Drag to look at any step; the run itself stays where it is"))
        self.slider.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.slider.setMinimumWidth(120)
        self.slider.valueChanged.connect(self._on_slider)
        # on the slider 'Home' looks at the first step, on the list of speeds it chooses one: no restart by mistake
        KeepKeys(self.slider, MOVING)
        self.addWidget(self.slider)
        self.place = ReadOut(grows=True)
        self.place.setMinimumWidth(self.fontMetrics().horizontalAdvance("step 100,000 / 100,000") + 12)
        self.place.set_alignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.addWidget(self.place)
        self.speed = QComboBox()
        self.speed.setAccessibleName(self.tr("Speed"))
        self.speed.setToolTip(self.tr("How fast runs go; a frame is about 1/60 s"))
        for text, _ in SPEEDS:
            self.speed.addItem(self.tr(text))
        KeepKeys(self.speed, (*MOVING, *PRESSING))
        self.speed.currentIndexChanged.connect(self._on_speed)
        self.speed.setCurrentIndex(DEFAULT_SPEED)
        self.addWidget(self.speed)
        self._texts = Throttle(self, TEXT_MILLISECONDS)
        self._texts.ready.connect(self._draw_place)
        session.cursor_changed.connect(self._on_moved)
        session.history_changed.connect(self._show_place)
        session.run_changed.connect(self._show_place)
        session.state_changed.connect(self._on_state)
        self._show_place()

    def _action(self, sign: str, name: str, key: str, tip: str) -> QAction:
        """An action that is ``name`` in a menu and ``sign`` on its button."""
        action = QAction(name, self)
        action.setIconText(sign)
        action.setShortcut(QKeySequence(key))
        action.setToolTip(f"{tip} ({action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)})")
        action.setStatusTip(tip)
        self.addAction(action)
        button = self.widgetForAction(action)
        if button is not None:
            button.setAccessibleName(name.replace("&", ""))
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return action

    @Slot()
    def _on_restart(self) -> None:
        rewind(self.session, 0, self.tr("restart"))

    @Slot()
    def _on_back(self) -> None:
        self.session.step_back()

    @Slot()
    def _on_run(self) -> None:
        if self.session.state == "running":
            self.session.pause()
        else:
            self.session.run()

    @Slot()
    def _on_step(self) -> None:
        self.session.step_forward()

    @Slot()
    def _on_end(self) -> None:
        self.session.show_step(self.session.current.history.count - 1)

    @Slot(int)
    def _on_slider(self, value: int) -> None:
        self.session.show_step(value)

    @Slot(int)
    def _on_speed(self, index: int) -> None:
        self.session.engine.steps_per_frame = SPEEDS[index][1]

    @Slot(str)
    def _on_state(self, state: str) -> None:
        running = state == "running"
        # the words first: they would take the place of the sign
        self.run_action.setText(self.tr("&Pause") if running else self.tr("&Run"))
        self.run_action.setIconText(self.tr("❙❙ Pause") if running else self.tr("▶ Run"))
        self._show_place()

    @Slot(int)
    def _on_moved(self, step: int) -> None:
        self._show_place()

    @Slot()
    def _show_place(self) -> None:
        # a label that changes makes the whole bar lay itself out anew: not in every frame of a run
        if self.session.state == "running":
            self._texts.send(None)
        else:
            self._draw_place(None)

    @Slot(object)
    def _draw_place(self, nothing: object) -> None:
        last = max(self.session.current.history.count - 1, 0)
        cursor = min(self.session.cursor, last)
        self.slider.blockSignals(True)
        self.slider.setRange(0, last)
        self.slider.setPageStep(max(last // 20, 1))
        self.slider.setValue(cursor)
        self.slider.blockSignals(False)
        self.place.setText(self.tr("step {0} / {1}").format(f"{cursor:,}", f"{last:,}"))
