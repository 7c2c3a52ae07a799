"""A declared parameter as controls: symbol, slider or switch or choice, exact entry, and back to where it was."""

from __future__ import annotations

import math
from typing import Any

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QLineEdit, QSizePolicy, QSlider, QToolButton, QWidget

from core.declare import Parameter, SettingError
from gui.widgets.eliding_label import ElidingLabel
from gui.widgets.keys import MOVING, PRESSING, KeepKeys, LeaveKeys
from gui.widgets.slider_scale import from_position, positions_of, read_value, to_position, value_text
from gui.widgets.throttle import Throttle

LABEL_WIDTH = 44
FIELD_WIDTH = 62
FIELD_STYLE = "QLineEdit { padding: 1px 4px; min-height: 15px; }"
SETTLE_MILLISECONDS = 400
"""How long a value the user has just set is not overwritten by older ones still on their way."""


class Slider(QSlider):
    """A horizontal slider that jumps to a click, and listens to the wheel only while it has the focus (so that a
    panel can be scrolled over it). Wheel and arrows move it a hundredth, with Shift the smallest step.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumWidth(40)
        KeepKeys(self, MOVING)

    def _move(self, steps: float, fine: bool) -> None:
        size = 1 if fine else max((self.maximum() - self.minimum()) // 100, 1)
        self.setValue(self.value() + round(steps * size))

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not self.hasFocus():
            event.ignore()
            return
        turn = event.angleDelta().y() or event.angleDelta().x()
        self._move(turn / 120.0, bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, fine = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Down):
            self._move(-1, fine)
        elif key in (Qt.Key.Key_Right, Qt.Key.Key_Up):
            self._move(1, fine)
        elif key in (Qt.Key.Key_PageDown, Qt.Key.Key_PageUp):
            self._move(10 if key == Qt.Key.Key_PageUp else -10, False)
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            # the handle under the pointer first: what follows drags it from there
            style, handle = self.style(), 12
            room = max(self.width() - handle, 1)
            place = round(event.position().x() - handle / 2)
            self.setSliderDown(True)
            self.setSliderPosition(style.sliderValueFromPosition(self.minimum(), self.maximum(), place, room))
        super().mousePressEvent(event)


class Field(QLineEdit):
    """Exact entry: all digits while it has the focus, few otherwise; Escape gives up what was typed."""

    entered = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setStyleSheet(FIELD_STYLE)
        self._value: Any = None
        self.returnPressed.connect(self._on_return)
        LeaveKeys(self, self.isModified)

    def show_value(self, value: Any) -> None:
        """Show ``value`` unless something else is being typed."""
        self._value = value
        if not (self.hasFocus() and self.isModified()):
            self._write()

    def _write(self) -> None:
        text = value_text(self._value, 17 if self.hasFocus() else 6)
        if text != self.text():
            self.setText(text)
            self.setCursorPosition(0)
        self.setModified(False)
        self.set_refused("")

    def set_refused(self, reason: str) -> None:
        """Mark what was typed as unusable ('' : it is fine)."""
        if self.property("refused") != bool(reason):
            self.setProperty("refused", bool(reason))
            self.setStyleSheet(FIELD_STYLE + (" QLineEdit { border-color: #d1495b; }" if reason else ""))

    @Slot()
    def _on_return(self) -> None:
        self.entered.emit(self.text())

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._write()
        # after the click that gave it the focus has set the text cursor
        QTimer.singleShot(0, self, self.selectAll)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if self.isModified():
            self.entered.emit(self.text())
        self._write()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self._write()
            self.selectAll()
            return
        super().keyPressEvent(event)


class ParameterSlider(QWidget):
    """Controls of one declared parameter. Made from the declaration alone: scale, bounds, symbol, unit, tool tip.

    ``home`` is the value the reset button goes back to (default: the declared one); ``owner`` names it in messages,
    ``about`` is added to the tool tip (formula and source).
    """

    changed = Signal(object)
    """The user chose a value: at most once a frame while dragging, the last one always."""

    refused = Signal(str)
    """Why what was typed cannot be used."""

    def __init__(
        self,
        parameter: Parameter,
        value: Any,
        *,
        owner: str = "",
        about: str = "",
        home: Any = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.parameter = parameter
        self.owner = owner or parameter.key
        self.home = parameter.default if home is None else home
        self._value: Any = value
        self._known: Any = value
        self._throttle = Throttle(self)
        self._throttle.ready.connect(self.changed)
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(SETTLE_MILLISECONDS)
        self._settle.timeout.connect(self._on_settled)
        self.slider: Slider | None = None
        self.field: Field | None = None
        self.switch: QCheckBox | None = None
        self.choice: QComboBox | None = None
        self.label = ElidingLabel((parameter.symbol or parameter.key).replace("_", " "))
        self.label.setObjectName("quiet")
        if parameter.scale == "switch":
            # a switch leaves room for its whole name; the label's own size hint is the width it has
            self.label.setMinimumWidth(LABEL_WIDTH)
            self.label.setMaximumWidth(
                max(LABEL_WIDTH, self.label.fontMetrics().horizontalAdvance(self.label.text()) + 12)
            )
        else:
            self.label.setFixedWidth(LABEL_WIDTH)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.label, 10 if parameter.scale == "switch" else 0)
        self._build(layout)
        self.reset_button = QToolButton()
        self.reset_button.setObjectName("plain")
        self.reset_button.setText("↺")
        self.reset_button.setFixedWidth(16)
        self.reset_button.setAccessibleName(self.tr("Reset {0}").format(self._spoken()))
        self.reset_button.clicked.connect(self.reset)
        KeepKeys(self.reset_button, PRESSING)
        layout.addWidget(self.reset_button)
        self._describe(about)
        self._show()

    # building ---------------------------------------------------------------------------------------------------

    def _build(self, layout: QHBoxLayout) -> None:
        scale = self.parameter.scale
        if scale == "switch":
            self.switch = QCheckBox()
            self.switch.toggled.connect(self._on_switch)
            KeepKeys(self.switch, PRESSING)
            layout.addWidget(self.switch)
            layout.addStretch(1)
        elif scale == "choice":
            self.choice = QComboBox()
            self.choice.addItems(list(self.parameter.choices))
            self.choice.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            self.choice.setMinimumContentsLength(4)
            self.choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            self.choice.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            self.choice.installEventFilter(self)
            self.choice.activated.connect(self._on_choice)
            KeepKeys(self.choice, (*MOVING, *PRESSING))
            layout.addWidget(self.choice, 1)
        else:
            self.field = Field()
            self.field.entered.connect(self._on_entered)
            if scale == "list":
                self.field.setAlignment(Qt.AlignmentFlag.AlignLeft)
                layout.addWidget(self.field, 1)
                return
            self.slider = Slider()
            self.slider.setRange(0, positions_of(self.parameter))
            self.slider.valueChanged.connect(self._on_slider)
            self.slider.sliderReleased.connect(self._on_released)
            self.field.setFixedWidth(FIELD_WIDTH)
            layout.addWidget(self.slider, 1)
            layout.addWidget(self.field)

    def _spoken(self) -> str:
        return f"{self.owner} {self.parameter.symbol or self.parameter.key}"

    def _describe(self, about: str) -> None:
        parameter = self.parameter
        first = parameter.tooltip or parameter.key.replace("_", " ")
        lines = [f"{parameter.symbol or parameter.key}: {first}"]
        if parameter.unit:
            lines.append(self.tr("in {0}").format(parameter.unit))
        if self.slider is not None:
            low, high = value_text(parameter.low), value_text(parameter.high)
            lines.append(
                self.tr("slider {0} to {1} (any other value can be typed); arrows or wheel, fine with Shift").format(
                    low, high
                )
            )
        if about:
            lines.append(about)
        tip = "\n".join(lines)
        self.label.setToolTip(tip)
        for control in (self.slider, self.field, self.switch, self.choice):
            if control is not None:
                control.setToolTip(tip)
                control.setAccessibleName(self._spoken())
                control.setAccessibleDescription(first)
        if self.field is not None and self.slider is not None:
            self.field.setAccessibleName(self.tr("{0}, exact").format(self._spoken()))

    # value ------------------------------------------------------------------------------------------------------

    def value(self) -> Any:
        """The value shown."""
        return self._value

    def set_value(self, value: Any) -> None:
        """Show ``value`` (from an undo, a replay, other code). While the user moves the slider, and for a moment
        afterwards, values that were still on their way do not take it back.
        """
        self._known = value
        dragging = self.slider is not None and self.slider.isSliderDown()
        if dragging or self._settle.isActive():
            return
        self._take(value)

    @Slot()
    def reset(self) -> None:
        """Back to ``home``."""
        self._choose(self.home)

    def _take(self, value: Any) -> None:
        if not _same(value, self._value):
            self._value = value
        self._show()

    def _choose(self, value: Any, moving: bool = False) -> None:
        """A value from the user: shown and sent on at once; while ``moving`` sent on at most once a frame."""
        self._value = self._known = value
        self._settle.start()
        self._show()
        self._throttle.send(value)
        if not moving:
            self._throttle.flush()

    def _show(self) -> None:
        value = self._value
        if self.switch is not None:
            with QSignalBlocker(self.switch):
                self.switch.setChecked(bool(value))
        if self.choice is not None:
            self.choice.setCurrentIndex(self.choice.findText(str(value)))
        if self.slider is not None and not self.slider.isSliderDown():
            with QSignalBlocker(self.slider):
                self.slider.setValue(to_position(self.parameter, value))
        if self.field is not None:
            self.field.show_value(value)
        self._show_reset()

    def _show_reset(self) -> None:
        away = not _same(self._value, self.home)
        self.reset_button.setEnabled(away)
        # its room stays, so that nothing jumps
        self.reset_button.setText("↺" if away else "")
        text = value_text(self.home) or self.tr("none")
        self.reset_button.setToolTip(self.tr("Back to {0}").format(text) if away else "")

    # what the user does -----------------------------------------------------------------------------------------

    @Slot(int)
    def _on_slider(self, position: int) -> None:
        self._choose(from_position(self.parameter, position), moving=True)

    @Slot()
    def _on_released(self) -> None:
        self._throttle.flush()

    @Slot(str)
    def _on_entered(self, text: str) -> None:
        assert self.field is not None
        if text == value_text(self._value, 17) or text == value_text(self._value, 6):
            self.field.setModified(False)
            self.field.show_value(self._value)
            return
        try:
            value = self.parameter.check(read_value(self.parameter, text), self.owner)
        except SettingError as error:
            self.field.set_refused(str(error))
            self.field.setToolTip(str(error))
            self.refused.emit(str(error))
            return
        self.field.setModified(False)
        self.field.setToolTip(self.label.toolTip())
        self._choose(value)

    @Slot(bool)
    def _on_switch(self, checked: bool) -> None:
        self._choose(checked)

    @Slot(int)
    def _on_choice(self, index: int) -> None:
        assert self.choice is not None
        if self.choice.itemText(index) != self._value:
            self._choose(self.choice.itemText(index))

    @Slot()
    def _on_settled(self) -> None:
        if self._throttle.busy or (self.slider is not None and self.slider.isSliderDown()):
            self._settle.start()
            return
        self._take(self._known)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # a combo box under a moving panel must not change because the panel is scrolled
        if event.type() == QEvent.Type.Wheel and self.choice is not None and not self.choice.hasFocus():
            event.ignore()
            return True
        return False


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, float) and isinstance(second, float) and math.isnan(first) and math.isnan(second):
        return True
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return list(first) == list(second)
    return bool(first == second) and isinstance(first, bool) == isinstance(second, bool)
