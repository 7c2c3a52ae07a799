"""Everything can be done by keyboard alone, and everything that can be used has a name for screen readers."""

import numpy as np
import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QAction, QShortcut
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QGraphicsView,
    QLineEdit,
    QPlainTextEdit,
    QScrollBar,
    QTabBar,
    QTextEdit,
)

from core.simulation import Experiment
from gui.key_map import key_text, plain
from gui.layouts import LAYOUTS
from gui.mnemonics import with_mnemonics
from tests.gui.on_screen import take

LINES = "torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)\ntorch.optim.Adam(params, lr=0.05)"
CONTROLS = (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QAbstractItemView,
    QComboBox,
    QGraphicsView,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
)


@pytest.fixture
def window(screen, qtbot):
    made = screen.window(Experiment(optimizer=LINES))
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    return made


def entries(window):
    return [action for _, actions in window.menus.sections() for action in actions]


def part_of_another(widget):
    """The line in a spin box or an editable list, a scroll bar, the tabs of docks, what Qt made for itself."""
    parent = widget.parent()
    return (
        isinstance(widget, QScrollBar | QTabBar)
        or widget.objectName().startswith("qt_")
        or isinstance(parent, QAbstractSpinBox | QComboBox | QLineEdit | QTabBar)
        or (parent is not None and isinstance(parent.parent(), QComboBox))
        or widget.inherits("QTableCornerButton")
        or widget.inherits("QHeaderView")
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_control_has_a_name_and_is_reached_by_tab(window, qtbot, layout):
    take(window, 5)
    window.apply_layout(layout)
    first = LAYOUTS[layout][0][1][0][1][0]
    qtbot.waitUntil(lambda: window.docks[first].isVisible() and not window.views.missing())
    nameless, out_of_reach = [], []
    for kind in CONTROLS:
        for widget in window.findChildren(kind):
            if not widget.isVisible() or part_of_another(widget):
                continue
            place = f"{type(widget).__name__} {widget.accessibleName()!r} in {type(widget.parent()).__name__}"
            if not widget.accessibleName() and not getattr(widget, "text", str)():
                nameless.append(place)
            # what only shows something has nothing to be reached for
            reached = widget.focusPolicy() & Qt.FocusPolicy.TabFocus or isinstance(widget, QGraphicsView)
            if widget.isEnabled() and not reached:
                out_of_reach.append(place)
    assert not nameless
    assert not out_of_reach


def test_every_action_is_in_a_menu_with_a_letter_or_key_and_a_tip(window):
    listed = entries(window)
    assert len(listed) > 35
    for action in listed:
        assert action.text(), action
        assert "&" in action.text() or action.shortcuts(), f"{action.text()} has no letter and no key"
        assert action.statusTip(), f"{action.text()} does not say what it does"
    own = [a for a in window.findChildren(QAction) if a.shortcuts() and a.parent() in (window, window.transport)]
    assert {id(action) for action in own} <= {id(action) for action in listed}


def test_no_two_entries_of_a_menu_share_a_letter(window):
    menus = window.menus.tree
    for actions in (window.menuBar().actions(), *(menu.actions() for top in menus for menu in (top, *menus[top]))):
        letters = [a.text()[a.text().index("&") + 1].lower() for a in actions if "&" in a.text()]
        assert len(letters) == len(set(letters)), f"{[a.text() for a in actions]}"


def test_no_key_means_two_things(window):
    """Keys of the window meet those of any view; those of two views never meet."""
    for view in window.views.values():
        assert view is not None
    whole, inside = {}, {}
    for action in window.findChildren(QAction):
        for key in action.shortcuts():
            name = key.toString()
            if action.shortcutContext() == Qt.ShortcutContext.WindowShortcut:
                assert whole.setdefault(name, action) is action, f"{name}: {action.text()} and {whole[name].text()}"
            else:
                inside[name] = action.text()
    for shortcut in window.findChildren(QShortcut):
        for key in QShortcut.keys(shortcut):
            inside[key.toString()] = shortcut.whatsThis()
    assert not whole.keys() & inside.keys()


def test_the_key_map_lists_every_key_and_can_be_searched(window, qtbot):
    dialog = window.menus.show_keys()
    rows = {}
    for k in range(dialog.tree.topLevelItemCount()):
        section = dialog.tree.topLevelItem(k)
        for row in range(section.childCount()):
            rows.setdefault(section.child(row).text(0), section.child(row).text(1))
    for action in window.findChildren(QAction):
        if action.shortcuts():
            assert plain(action.text()) in rows[key_text(action.shortcuts())]
    for shortcut in window.findChildren(QShortcut):
        assert rows[key_text(shortcut.keys())] == shortcut.whatsThis() != ""
    qtbot.keyClicks(dialog.search, "undo")
    shown = [
        dialog.tree.topLevelItem(k).child(row).text(1)
        for k in range(dialog.tree.topLevelItemCount())
        for row in range(dialog.tree.topLevelItem(k).childCount())
        if not dialog.tree.topLevelItem(k).child(row).isHidden()
    ]
    assert shown and all("undo" in text.lower() for text in shown)
    dialog.close()


def test_views_are_reached_by_key(window, qtbot):
    qtbot.keyClick(window, Qt.Key.Key_8, Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(lambda: window.views["inspector"].seen)
    assert window.docks["inspector"].isAncestorOf(QApplication.focusWidget())
    qtbot.keyClick(window, Qt.Key.Key_F6)
    assert window.docks["pipeline"].isAncestorOf(QApplication.focusWidget())
    qtbot.keyClick(window, Qt.Key.Key_F6, Qt.KeyboardModifier.ShiftModifier)
    assert window.docks["inspector"].isAncestorOf(QApplication.focusWidget())


def test_letters_of_a_menu():
    assert with_mnemonics(["Loss surface", "Ledger", "Log", "3-D"]) == ["&Loss surface", "L&edger", "L&og", "&3-D"]
    assert with_mnemonics(["a", "A"]) == ["&a", "A"]


# restart ----------------------------------------------------------------------------------------------------------


def test_a_restart_by_mistake_is_taken_back_to_the_last_bit(window, qtbot):
    session = window.session
    take(window, 20)
    session.change("learning_rate", "learning_rate", 0.2)
    take(window, 20)
    before, events = session.current.history.path().copy(), list(session.current.events)
    qtbot.keyClick(window, Qt.Key.Key_Home)
    session.engine.settle()
    assert session.current.history.count == 0 and session.undo_stack.undoText() == "restart"
    session.undo_stack.undo()
    session.engine.settle()
    np.testing.assert_array_equal(session.current.history.path(), before)
    assert session.current.events == events
    session.undo_stack.redo()
    session.engine.settle()
    assert session.current.history.count == 0


def test_a_rewind_is_taken_back(window):
    session = window.session
    take(window, 30)
    before = session.current.history.path().copy()
    session.show_step(12)
    window.menus.rewind_here()
    session.engine.settle()
    assert session.current.history.count == 12
    take(window, 3)
    session.undo_stack.undo()
    session.engine.settle()
    np.testing.assert_array_equal(session.current.history.path(), before)


def test_keys_on_a_control_of_the_transport_do_not_restart(window, qtbot):
    take(window, 20)
    bar = window.transport
    for control in (bar.slider, bar.speed):
        control.setFocus()
        qtbot.keyClick(control, Qt.Key.Key_Home)
        window.session.engine.settle()
        assert window.session.current.history.count == 20
    assert window.session.cursor == 0 and bar.speed.currentIndex() == 0


def test_space_runs_after_a_click_on_a_switch_and_switches_after_tab(window, qtbot):
    switch = next(b for b in window.findChildren(QAbstractButton) if b.accessibleName() == "clip by global norm acts")
    qtbot.mouseClick(switch, Qt.MouseButton.LeftButton)
    assert switch.hasFocus() and not switch.isChecked()
    qtbot.keyClick(switch, Qt.Key.Key_Space)
    assert window.session.state == "running" and not switch.isChecked()
    window.session.pause()
    window.setFocus()
    switch.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(switch, Qt.Key.Key_Space)
    assert window.session.state == "paused" and switch.isChecked()


def test_after_a_number_is_entered_space_runs_and_undo_takes_it_back(window, qtbot):
    session = window.session
    field = next(f for f in window.findChildren(QLineEdit) if f.accessibleName() == "learning rate lr, exact")
    qtbot.mouseClick(field, Qt.MouseButton.LeftButton)
    field.selectAll()
    qtbot.keyClicks(field, "0.25 ")
    assert field.text() == "0.25 " and session.state == "paused"
    qtbot.keyClick(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert session.undo_stack.count() == 0
    field.selectAll()
    qtbot.keyClicks(field, "0.25")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    session.engine.settle()
    assert [e.value for e in session.current.events] == [0.25]
    qtbot.keyClick(field, Qt.Key.Key_Space)
    assert session.state == "running" and float(field.text()) == 0.25
    session.pause()
    session.engine.settle()
    qtbot.keyClick(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    session.engine.settle()
    assert session.current.events == [] and session.undo_stack.canRedo()
    qtbot.waitUntil(lambda: float(field.text()) == 0.05)
    qtbot.keyClick(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    session.engine.settle()
    assert [e.value for e in session.current.events] == [0.25]


def test_a_restart_of_nothing_leaves_nothing_to_undo(window):
    window.transport.restart_action.trigger()
    assert window.session.undo_stack.count() == 0


# first start ------------------------------------------------------------------------------------------------------


def test_hints_are_shown_once_and_again_from_the_menu(window, qtbot):
    assert window.hints.card is None
    window.hints.welcome()
    card = window.hints.card
    assert card.isVisible() and window.session.state == "running"
    assert window.rect().contains(card.geometry())
    window.session.pause()
    window.set_theme("light")
    assert window.theme.card in card.styleSheet()
    qtbot.keyClick(card.button, Qt.Key.Key_Escape)
    assert card.isHidden() and QSettings().value("hints/seen") is not None
    window.hints.welcome()
    assert card.isHidden() and window.session.state == "paused"
    next(a for a in entries(window) if "hints" in a.text()).trigger()
    assert window.hints.card.isVisible() and window.session.state == "paused"
    window.hints.card.button.click()
    assert window.hints.card.isHidden()
