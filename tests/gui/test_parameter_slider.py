"""Declared parameters as controls: positions and values, exact entry, refusals, throttling, keys and wheel."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget

from core.declare import Parameter
from core.optim.schedules import SCHEDULES
from core.optim.transforms import TRANSFORMS
from gui.widgets.parameter_slider import SETTLE_MILLISECONDS, ParameterSlider
from gui.widgets.slider_scale import from_position, positions_of, read_value, to_position, value_text
from gui.widgets.throttle import Throttle

RATE = Parameter("learning_rate", "lr", 0.01, 1e-5, 1.0, "log", minimum=0.0, tooltip="base learning rate")
BETA = Parameter("beta1", "β₁", 0.9, 0.0, 0.9999, minimum=0.0, maximum=1.0)
STEPS = Parameter("steps", "n", 30, 1, 50, "integer", minimum=1)
WIDE = Parameter("T", "T", 100, 1, 10_000, "integer", minimum=1)
RULE = Parameter("rule", "rule", "torch", scale="choice", choices=("torch", "optax"))
HALF = Parameter("half", "½", True, scale="switch")
PLACES = Parameter("milestones", "m", [30, 80], 0, 1000, "list")
DOWN = Parameter("down", "down", None, 1, 500, "integer", minimum=1, optional=True)

EVERY = {
    (kind.name, parameter.key): parameter
    for kind in (*TRANSFORMS.values(), *SCHEDULES.values())
    for parameter in kind.parameters
    if parameter.scale in ("linear", "log", "integer")
}


@pytest.fixture
def shown(qtbot):
    """Makes a control inside a window; all are closed at the end."""
    hosts = []

    def make(parameter, value=None, **settings):
        host = QWidget()
        control = ParameterSlider(parameter, parameter.default if value is None else value, parent=host, **settings)
        # without a layout: the offscreen platform warns about size hints of windows
        control.setGeometry(10, 10, 240, 30)
        host.resize(260, 60)
        host.show()
        hosts.append(host)
        seen = []
        control.changed.connect(seen.append)
        return control, seen

    yield make
    for host in hosts:
        host.close()
        host.deleteLater()


def test_every_declared_number_survives_its_slider():
    for parameter in EVERY.values():
        steps = positions_of(parameter)
        values = [from_position(parameter, position) for position in range(steps + 1)]
        assert values == sorted(values)
        assert values[0] == pytest.approx(parameter.low, rel=1e-12, abs=1e-12) or parameter.scale == "log"
        assert values[-1] == pytest.approx(parameter.high, rel=1e-12)
        for position in (0, steps // 3, steps // 2, steps):
            value = values[position]
            assert from_position(parameter, to_position(parameter, value)) == pytest.approx(value, rel=0.02, abs=1e-9)
            if parameter.minimum < value < parameter.maximum:
                parameter.check(value, "test")


def test_a_logarithmic_slider_spends_as_much_room_on_each_decade():
    places = [to_position(RATE, value) for value in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)]
    assert places == [0, 200, 400, 600, 800, 1000]
    assert from_position(RATE, 600) == 0.01


def test_values_beyond_the_slider_stand_at_its_ends():
    assert to_position(RATE, 0.0) == 0 and to_position(RATE, 5.0) == 1000
    assert to_position(RATE, math.nan) == 0 and to_position(DOWN, None) == 0
    assert to_position(RATE, math.inf) == 1000


@given(st.floats(0.0, 0.9999))
def test_linear_positions_are_within_half_a_step(value):
    position = to_position(BETA, value)
    assert abs(position / 1000 * 0.9999 - value) <= 0.5 * 0.9999 / 1000 + 1e-12


def test_numbers_as_people_type_them():
    typed = {"1e-3": 1e-3, "2/3": 2 / 3, "inf": math.inf, "∞": math.inf, "−2": -2, " 7 ": 7, "none": None, "": None}
    assert {text: read_value(RATE, text) for text in typed} == typed


def test_lists_and_what_is_no_number():
    assert read_value(PLACES, "[10, 20.5, 30]") == [10, 20.5, 30]
    assert read_value(RATE, "fast") == "fast" and read_value(RATE, "1/0") == "1/0"
    assert value_text([0.1, 2]) == "0.1, 2" and value_text(None) == "" and value_text(1 / 3, 17) == repr(1 / 3)


def test_exact_entry_is_exact(shown, qtbot):
    control, seen = shown(RATE, 0.01)
    control.field.setFocus()
    control.field.selectAll()
    qtbot.keyClicks(control.field, "0.0123456789012345")
    qtbot.keyClick(control.field, Qt.Key.Key_Return)
    assert seen == [0.0123456789012345] and control.value() == 0.0123456789012345
    assert control.slider.value() == to_position(RATE, 0.0123456789012345)


def test_what_cannot_be_used_is_said_and_not_sent(shown, qtbot):
    control, seen = shown(RATE, 0.01, owner="learning rate")
    reasons = []
    control.refused.connect(reasons.append)
    control.field.setFocus()
    for text in ("-1", "fast"):
        control.field.selectAll()
        qtbot.keyClicks(control.field, text)
        qtbot.keyClick(control.field, Qt.Key.Key_Return)
        assert control.field.text() == text
    assert seen == [] and control.value() == 0.01
    assert "must be at least 0" in reasons[0] and "must be a number" in reasons[1]
    assert control.field.toolTip() == reasons[1]
    qtbot.keyClick(control.field, Qt.Key.Key_Escape)
    assert control.field.text() == "0.01" and not control.field.property("refused")


def test_dragging_sends_once_a_frame_and_the_last_value_always(shown, qtbot):
    control, seen = shown(RATE, 0.01)
    slider = control.slider
    qtbot.mousePress(slider, Qt.MouseButton.LeftButton, pos=QPoint(10, slider.height() // 2))
    for x in range(11, 60):
        qtbot.mouseMove(slider, QPoint(x, slider.height() // 2))
    qtbot.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=QPoint(59, slider.height() // 2))
    last = from_position(RATE, slider.value())
    assert seen[-1] == last == control.value()
    assert len(seen) < 49


def test_a_click_beside_the_handle_jumps_there(shown, qtbot):
    control, seen = shown(BETA, 0.0)
    slider = control.slider
    qtbot.mouseClick(slider, Qt.MouseButton.LeftButton, pos=QPoint(slider.width() // 2, slider.height() // 2))
    assert slider.value() == pytest.approx(500, abs=15)
    assert seen[-1] == from_position(BETA, slider.value())


def test_keys_move_and_shift_moves_finely(shown, qtbot):
    control, seen = shown(RATE, 0.01)
    control.slider.setFocus()
    qtbot.keyClick(control.slider, Qt.Key.Key_Right)
    assert control.slider.value() == 610
    qtbot.keyClick(control.slider, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    assert control.slider.value() == 609
    qtbot.keyClick(control.slider, Qt.Key.Key_PageDown)
    assert control.slider.value() == 509
    qtbot.keyClick(control.slider, Qt.Key.Key_Home)
    qtbot.waitUntil(lambda: seen[-1] == 1e-5)


def wheel(widget, turns):
    event = QWheelEvent(
        QPointF(5, 5),
        QPointF(widget.mapToGlobal(QPoint(5, 5))),
        QPoint(),
        QPoint(0, 120 * turns),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(widget, event)
    return event.isAccepted()


def test_the_wheel_acts_with_the_focus_only(shown, qtbot):
    control, seen = shown(STEPS, 10)
    control.field.setFocus()
    assert not wheel(control.slider, 1) and seen == []
    control.slider.setFocus()
    qtbot.waitUntil(control.slider.hasFocus)
    assert wheel(control.slider, 2)
    assert seen == [12]
    choice, chosen = shown(RULE)
    wheel(choice.choice, -1)
    assert chosen == []


def test_reset_goes_home(shown):
    control, seen = shown(RATE, 0.5, home=0.06)
    assert control.reset_button.isEnabled() and control.reset_button.toolTip() == "Back to 0.06"
    control.reset_button.click()
    assert seen == [0.06] and control.value() == 0.06 and not control.reset_button.isEnabled()


def test_switch_choice_and_list(shown, qtbot):
    control, seen = shown(HALF)
    control.switch.click()
    assert seen == [False]
    control, seen = shown(RULE)
    control.choice.setCurrentIndex(1)
    control.choice.activated.emit(1)
    assert seen == ["optax"]
    control, seen = shown(PLACES)
    control.field.setText("5, 10, 20")
    control.field.entered.emit("5, 10, 20")
    assert seen == [[5.0, 10.0, 20.0]]


def test_an_optional_number_can_be_none(shown):
    control, seen = shown(DOWN, 20)
    control.field.entered.emit("")
    assert seen == [None] and control.field.text() == ""
    control.slider.setValue(99)
    assert control.value() == 100


def test_values_from_elsewhere_are_shown_and_not_sent(shown):
    control, seen = shown(RATE, 0.01)
    control.set_value(0.1)
    assert control.slider.value() == 800 and control.field.text() == "0.1" and seen == []


def test_older_values_on_their_way_do_not_take_a_drag_back(shown, qtbot):
    control, seen = shown(RATE, 0.01)
    control.slider.setValue(800)
    control.set_value(0.01)
    assert control.value() == 0.1 and control.slider.value() == 800
    # nothing newer came: the core has refused the change
    qtbot.waitUntil(lambda: control.value() == 0.01, timeout=5 * SETTLE_MILLISECONDS)
    assert control.slider.value() == 600 and seen[0] == 0.1


def test_only_a_drag_waits_for_the_frame(shown):
    """Typed values, resets and switches arrive at once and in order, however fast they follow one another."""
    control, seen = shown(RATE, 0.01)
    control.slider.setValue(800)
    control.slider.setValue(400)
    assert seen == [0.1]
    control.field.entered.emit("0.5")
    control.reset_button.click()
    assert seen == [0.1, 0.5, control.home]


def test_the_tool_tip_says_what_a_person_needs(shown):
    control, _ = shown(RATE, 0.01, owner="learning rate", about="u ← −lr_t · u")
    tip = control.slider.toolTip()
    assert "base learning rate" in tip and "1e-05 to 1" in tip and "u ← −lr_t · u" in tip
    assert control.slider.accessibleName() == "learning rate lr"
    assert control.field.accessibleName() == "learning rate lr, exact"


def test_a_throttle_passes_the_first_at_once_and_the_last_later(qtbot):
    throttle, seen = Throttle(milliseconds=30), []
    throttle.ready.connect(seen.append)
    for value in range(50):
        throttle.send(value)
    assert seen == [0] and throttle.busy
    qtbot.waitUntil(lambda: seen == [0, 49])
    throttle.send(50)
    throttle.flush()
    assert seen == [0, 49, 50]
    qtbot.waitUntil(lambda: not throttle.busy)
    assert seen == [0, 49, 50]


def test_the_name_of_a_switch_is_told_in_full(shown):
    parameter = Parameter("standardise_target", "standardise target", True, scale="switch")
    control, _ = shown(parameter)
    control.resize(90, 30)
    QApplication.processEvents()
    control.resize(240, 30)
    QApplication.processEvents()
    assert control.label.width() >= control.label.fontMetrics().horizontalAdvance("standardise target")
