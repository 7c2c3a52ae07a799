"""Live changes edited, moved and removed by hand: the run is the one that the changed experiment gives, bit for bit."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QComboBox, QDialogButtonBox, QLineEdit, QPlainTextEdit, QPushButton

from core.simulation import Event, Experiment, Simulation
from gui.session import Session
from gui.theme import DARK
from gui.views.timeline import TimelineView
from gui.views.timeline.changes_dialog import ChangesDialog
from tests.gui.on_screen import settle

LINES = "torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)\ntorch.optim.Adam(params, lr=0.05)"
RATE = ("learning_rate", "learning_rate")
EVENTS = [
    Event(40, *RATE, 0.1, 0.05),
    Event(80, "clip_by_global_norm", "enabled", False, True),
    Event(120, *RATE, 0.02, 0.1),
]
STEPS = 160


def reference(*events, steps=STEPS):
    simulation = Simulation(Experiment(optimizer=LINES, events=list(events)))
    simulation.advance(steps)
    return simulation.history.path()


@pytest.fixture
def opened(screen):
    simulation = Simulation(Experiment(optimizer=LINES, events=EVENTS))
    simulation.advance(STEPS)
    session = Session.on(simulation)
    view = screen.view(TimelineView, session, (760, 420), prepare=lambda view: view.set_plots(["loss", "lengths"]))
    return session, view


@pytest.fixture
def sessions(screen):
    """Makes sessions on simulations or experiments."""
    return lambda found: screen.session(Session.on(found) if isinstance(found, Simulation) else Session(found))


def flag(view, index):
    """The middle of a mark's flag, in pixels of the canvas."""
    place = view.canvas.position_of(view.marks[index].first)
    return QPoint(round(place.x()), int(view.canvas.plot_rect(view.canvas.panels[0]).top()) + 4)


def acts(session):
    return [event.acts for event in session.current.events]


def assert_is(session, *events):
    """The run is that of an experiment with just these changes, and each tells what it really changed from."""
    assert acts(session) == [event.acts for event in events]
    assert session.current.history.count == STEPS
    np.testing.assert_array_equal(session.current.history.path(), reference(*events))


def test_a_flag_is_clicked_and_its_value_edited_in_the_dialog(opened, qtbot):
    session, view = opened
    qtbot.mouseClick(view.canvas.viewport(), Qt.MouseButton.LeftButton, pos=flag(view, 0))
    assert view.control.index == 0 and session.cursor == 40
    qtbot.keyClick(view.canvas, Qt.Key.Key_Return)
    dialog = view.control.editor.dialog
    assert isinstance(dialog.editor.box, QLineEdit) and dialog.editor.box.text() == "0.1"
    dialog.editor.box.setText("0.2")
    dialog.buttons.button(QDialogButtonBox.StandardButton.Ok).click()
    settle(view)
    changed = EVENTS[0].replace(value=0.2)
    assert_is(session, changed, *EVENTS[1:])
    # the later change of the same setting starts from the new value
    assert session.current.events[2].old == 0.2
    assert view.mark_text(view.marks[2]) == "step 120: lr 0.2 → 0.02"
    assert view.control.index == 0
    session.undo_stack.undo()
    settle(view)
    assert_is(session, *EVENTS)
    assert session.current.events[2].old == 0.1
    session.undo_stack.redo()
    settle(view)
    assert_is(session, changed, *EVENTS[1:])


@pytest.mark.parametrize(
    ("text", "reason"),
    [("-1", "at least 0"), ("fast", "must be a number, not 'fast'"), ("nan", "nan was given"), ("", "needs a value")],
)
def test_a_refused_value_is_said_in_the_dialog_and_nothing_is_lost(opened, qtbot, text, reason):
    session, view = opened
    before = session.current.history
    view.control.choose(0)
    view.control.edit_value()
    dialog = view.control.editor.dialog
    dialog.editor.box.setText(text)
    qtbot.keyClick(dialog.editor.box, Qt.Key.Key_Return)
    assert dialog.isVisible() and not dialog.reason.isHidden() and reason in dialog.reason.text()
    assert dialog.editor.box.text() == text
    settle(view)
    assert session.current.history is before and acts(session) == [event.acts for event in EVENTS]
    assert session.undo_stack.count() == 0
    dialog.reject()


def test_a_flag_is_dragged_to_another_step(opened, qtbot):
    session, view = opened
    canvas, start = view.canvas, flag(view, 0)
    target = QPoint(round(canvas.position_of(60.0).x()), start.y())
    by = round(canvas.step_at(target.toPointF()) - canvas.step_at(start.toPointF()))
    qtbot.mousePress(canvas.viewport(), Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(canvas.viewport(), target)
    assert canvas.panels[0].overlay.moving == 40 + by and 15 < by < 25
    canvas.grab()
    qtbot.mouseRelease(canvas.viewport(), Qt.MouseButton.LeftButton, pos=target)
    settle(view)
    assert_is(session, EVENTS[0].replace(step=40 + by), *EVENTS[1:])
    assert view.control.index == 0 and canvas.panels[0].overlay.moving is None
    assert session.undo_stack.undoText().startswith("move of lr to step")


def test_escape_lets_a_dragged_flag_go_back(opened, qtbot):
    session, view = opened
    canvas, start = view.canvas, flag(view, 0)
    qtbot.mousePress(canvas.viewport(), Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(canvas.viewport(), start + QPoint(90, 0))
    qtbot.keyClick(canvas, Qt.Key.Key_Escape)
    qtbot.mouseRelease(canvas.viewport(), Qt.MouseButton.LeftButton, pos=start + QPoint(90, 0))
    settle(view)
    assert_is(session, *EVENTS)
    assert session.undo_stack.count() == 0


def test_a_double_click_on_a_flag_opens_it_and_elsewhere_shows_all_steps(opened, qtbot):
    session, view = opened
    view.set_window(20.0, 130.0)
    view.flush()
    qtbot.mouseDClick(view.canvas.viewport(), Qt.MouseButton.LeftButton, pos=flag(view, 1))
    dialog = view.control.editor.dialog
    assert isinstance(dialog.editor.box, QComboBox) and dialog.editor.value() is False
    assert view.window_of_steps is not None
    dialog.reject()
    middle = view.canvas.position_of(60.0).toPoint()
    qtbot.mouseDClick(view.canvas.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    assert view.window_of_steps is None and view.control.editor.dialog is None
    assert acts(session) == [event.acts for event in EVENTS]


def test_the_menu_of_a_line_removes_its_change_or_all(opened, qtbot, monkeypatch):
    session, view = opened
    monkeypatch.setattr("gui.views.timeline.marks.QMenu.popup", lambda menu, place: None)
    place = view.canvas.position_of(80.0, 1).toPoint()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, view.canvas.viewport().mapToGlobal(place))
    QApplication.sendEvent(view.canvas.viewport(), event)
    assert view.control.index == 1
    actions = {action.text().partition("\t")[0].replace("&", ""): action for action in view.control._menu.actions()}
    assert list(actions)[:1] == ["step 80: clip by global norm switched off"]
    actions["Remove"].trigger()
    settle(view)
    assert_is(session, EVENTS[0], EVENTS[2])
    actions["Remove all"].trigger()
    settle(view)
    assert_is(session)
    session.undo_stack.undo()
    session.undo_stack.undo()
    settle(view)
    assert_is(session, *EVENTS)


def test_keys_choose_move_and_remove_the_change_of_the_step_shown(opened, qtbot):
    session, view = opened
    canvas = view.canvas
    session.show_step(10)
    qtbot.keyClick(canvas, Qt.Key.Key_Right, Qt.KeyboardModifier.ControlModifier)
    assert view.control.index == 0 and session.cursor == 40
    qtbot.keyClick(canvas, Qt.Key.Key_Period, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(canvas, Qt.Key.Key_Comma)
    settle(view)
    assert_is(session, EVENTS[0].replace(step=49), *EVENTS[1:])
    assert view.control.mark.first == 49
    qtbot.keyClick(canvas, Qt.Key.Key_Escape)
    assert view.control.mark is None
    session.show_step(80)
    qtbot.keyClick(canvas, Qt.Key.Key_M)
    dialog = view.control.editor.dialog
    assert dialog.step.value() == 80
    dialog.step.setValue(100)
    qtbot.keyClick(dialog.step, Qt.Key.Key_Return)
    settle(view)
    assert_is(session, EVENTS[0].replace(step=49), EVENTS[1].replace(step=100), EVENTS[2])
    session.show_step(100)
    qtbot.keyClick(canvas, Qt.Key.Key_Delete)
    settle(view)
    assert_is(session, EVENTS[0].replace(step=49), EVENTS[2])


def test_a_change_cannot_be_moved_onto_another_of_the_same_setting(opened):
    session, view = opened
    said = []
    session.message.connect(lambda sentence, details: said.append(sentence))
    view.control.choose(0)
    view.control.move(80)
    settle(view)
    assert "step 120: the same setting is changed there already" in said[0]
    assert_is(session, *EVENTS)


def test_a_change_that_another_one_needs_cannot_go(sessions, qtbot):
    lines = Event(20, "optimizer", "lines", "torch.optim.SGD(params, lr=0.001, momentum=0.9)", LINES)
    simulation = Simulation(Experiment(optimizer=LINES, events=[lines, Event(30, "momentum", "momentum", 0.5, 0.9)]))
    simulation.advance(50)
    session = sessions(simulation)
    view = TimelineView(session, DARK)
    qtbot.addWidget(view)
    said = []
    session.message.connect(lambda sentence, details: said.append(sentence))
    view.show()
    view.flush()
    view.control.choose(0)
    view.control.edit_value()
    dialog = view.control.editor.dialog
    assert isinstance(dialog.editor.box, QPlainTextEdit)
    dialog.editor.box.setPlainText("torch.optim.SGD(params, lr=0.001)")
    dialog._on_ok()
    assert "the change at step 30" in dialog.reason.text() and "momentum" in dialog.reason.text()
    dialog.reject()
    view.control.remove()
    assert "the change at step 30" in said[0]
    assert len(session.current.events) == 2


def test_a_long_run_is_worked_out_again_while_the_window_lives_on(sessions, qtbot):
    simulation = Simulation(Experiment(optimizer=LINES, events=[Event(10, *RATE, 0.1, 0.05)]))
    simulation.advance(3000)
    session = sessions(simulation)
    session.show_step(2500)
    session.edit_events(session.current, [Event(10, *RATE, 0.2)])
    # the worker hands control back long before the whole run is there
    qtbot.waitUntil(lambda: session.engine.late_for(session.current) > 0.0)
    assert session.current.history.count < 3000
    qtbot.waitUntil(lambda: session.current.history.count == 3000, timeout=30_000)
    qtbot.waitUntil(lambda: session.cursor == 2500)
    session.engine.settle()
    assert session.engine.late_for(session.current) == 0.0
    np.testing.assert_array_equal(session.current.history.path(), reference(Event(10, *RATE, 0.2), steps=3000))
    session.edit_events(session.current, [])
    qtbot.waitUntil(lambda: session.engine.late_for(session.current) > 0.0)
    # closing meanwhile waits for one slice, not for the run
    session.close()
    assert not session.engine._thread.isRunning()


def test_an_edit_that_makes_the_run_diverge_can_be_taken_back_whole(opened):
    session, view = opened
    # a step of 1e300 leaves the range of numbers at once
    session.edit_events(session.current, [Event(20, *RATE, 1e300)])
    settle(view)
    assert session.current.trouble and session.current.history.count < STEPS
    session.undo_stack.undo()
    settle(view)
    assert not session.current.trouble
    assert_is(session, *EVENTS)


def test_the_list_works_by_keys_alone(sessions, qtbot):
    simulation = Simulation(Experiment(optimizer=LINES, events=EVENTS))
    simulation.advance(STEPS)
    session = sessions(simulation)
    dialog = ChangesDialog(session)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    table = dialog.table
    rows = [[table.item(row, column).text() for column in range(4)] for row in range(table.rowCount())]
    assert rows == [
        ["40", "lr", "0.05", "0.1"],
        ["80", "clip by global norm", "on", "off"],
        ["120", "lr", "0.1", "0.02"],
    ]
    qtbot.keyClick(table, Qt.Key.Key_Down)
    qtbot.keyClick(table, Qt.Key.Key_Down)
    qtbot.keyClick(table, Qt.Key.Key_Return)
    edit = dialog.editor.dialog
    edit.editor.box.setText("0.03")
    qtbot.keyClick(edit.editor.box, Qt.Key.Key_Return)
    session.engine.settle()
    assert_is(session, *EVENTS[:2], EVENTS[2].replace(value=0.03))
    assert table.item(2, 3).text() == "0.03" and table.currentRow() == 2
    dialog.remove()
    session.engine.settle()
    assert_is(session, *EVENTS[:2])
    dialog.buttons["all"].click()
    session.engine.settle()
    assert_is(session)
    assert table.rowCount() == 0 and not dialog.buttons["all"].isEnabled()
    for button in dialog.findChildren(QPushButton):
        assert button.accessibleName() and button.toolTip()


def test_edits_are_undone_one_by_one_and_slider_moves_together(sessions, qtbot):
    session = sessions(Experiment(optimizer=LINES))
    session.engine.advance(session.current, STEPS)
    for value in (0.1, 0.2, 0.3):
        session.change(*RATE, value)
    session.engine.settle()
    assert session.undo_stack.count() == 1
    (event,) = session.current.events
    session.edit_events(session.current, [event.replace(value=0.4)], "edit of lr")
    session.edit_events(session.current, [], "removal of lr")
    session.engine.settle()
    assert [session.undo_stack.text(k) for k in (1, 2)] == ["edit of lr", "removal of lr"]
    session.undo_stack.undo()
    session.engine.settle()
    assert [e.value for e in session.current.events] == [0.4]
    session.undo_stack.undo()
    session.undo_stack.undo()
    session.engine.settle()
    assert session.current.events == []
