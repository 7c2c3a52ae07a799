"""Cards and rows of the pipeline are moved by mouse and keys, and the chain says when it has become its own."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication

from core.optim import parse_optimizer
from gui.views.pipeline.plan import cards_of, moved, row_stepped, stepped
from gui.widgets.card import Grip
from tests.gui.on_screen import settle
from tests.gui.pipeline_driver import ADAM, ORDER, control, opener, optimizer


@pytest.fixture
def opened(screen):
    return opener(screen)


def test_moving_names_in_a_list():
    assert moved(list("abcde"), ["b", "c"], 0) == list("bcade")
    assert moved(list("abcde"), ["a"], 99) == list("bcdea")


def test_stepping_passes_whole_cards_and_never_the_last():
    cards = cards_of(parse_optimizer(ADAM))
    assert stepped(cards, 1, 1) == [ORDER[0], *ORDER[2:7], ORDER[1], *ORDER[7:]]
    assert stepped(cards, 2, -1) == [ORDER[0], *ORDER[2:7], ORDER[1], *ORDER[7:]]
    assert stepped(cards, 0, -1) is None and stepped(cards, 3, 1) is None and stepped(cards, 4, -1) is None


def test_a_card_is_moved_by_keys_and_keeps_the_focus(opened, qtbot):
    session, view = opened(steps=3)
    grip = view.chain.cards[1].findChild(Grip)
    grip.setFocus()
    qtbot.keyClick(grip, Qt.Key.Key_Down)
    settle(view)
    assert list(optimizer(session).chain.row_names) == [ORDER[0], *ORDER[2:7], ORDER[1], *ORDER[7:]]
    assert list(view.chain.blocks) == list(optimizer(session).chain.row_names)
    assert session.current.events[-1].key == "order"
    assert view.chain.blocks["clip_by_global_norm"].grip.hasFocus()
    session.current.simulation.advance(3)
    assert session.current.history.schema(5).names == optimizer(session).chain.row_names


def test_a_card_is_moved_by_dragging(opened, qtbot):
    session, view = opened()
    grip = view.chain.cards[2].findChild(Grip)
    target = view.chain.cards[0].mapToGlobal(QPoint(20, 2))
    qtbot.mousePress(grip, Qt.MouseButton.LeftButton)
    qtbot.mouseMove(grip, grip.mapFromGlobal(target))
    assert view.chain._line.isVisible()
    qtbot.mouseRelease(grip, Qt.MouseButton.LeftButton, pos=grip.mapFromGlobal(target))
    settle(view)
    assert list(optimizer(session).chain.row_names) == [*ORDER[2:7], *ORDER[:2], *ORDER[7:]]
    assert view.chain._line.isHidden()


def test_a_drag_that_ends_where_it_began_changes_nothing(opened, qtbot):
    session, view = opened()
    grip = view.chain.cards[1].findChild(Grip)
    qtbot.mousePress(grip, Qt.MouseButton.LeftButton)
    qtbot.mouseMove(grip, QPoint(5, 14))
    qtbot.mouseRelease(grip, Qt.MouseButton.LeftButton, pos=QPoint(5, 14))
    settle(view)
    assert session.current.events == []


def test_code_of_now_is_copied_with_one_click_although_it_is_folded(opened):
    _, view = opened(size=(270, 500))
    assert not view.dialects_section.opened
    control(view, "learning_rate", "learning_rate").field.entered.emit("0.25")
    settle(view)
    view.dialects.copy_button.click()
    assert "lr=0.25" in QGuiApplication.clipboard().text()
    assert parse_optimizer(QGuiApplication.clipboard().text()).learning_rate == 0.25
    assert not view.dialects_section.opened


def row_grip(view, row):
    return view.chain.blocks[row].grip


def drag_row(qtbot, view, row, onto):
    """Drag the grip of ``row`` to just above the line of ``onto``."""
    grip, header = row_grip(view, row), view.chain.blocks[onto].header
    target = grip.mapFromGlobal(header.mapToGlobal(QPoint(20, 2)))
    qtbot.mousePress(grip, Qt.MouseButton.LeftButton)
    qtbot.mouseMove(grip, target)
    assert view.chain._line.isVisible()
    qtbot.mouseRelease(grip, Qt.MouseButton.LeftButton, pos=target)


def test_a_row_is_dragged_out_of_its_card_and_the_chain_says_that_it_is_its_own(opened, qtbot):
    session, view = opened(steps=3)
    assert view.own_chain.isHidden()
    drag_row(qtbot, view, "l2", "clip_by_global_norm")
    settle(view)
    wanted = [ORDER[0], ORDER[2], ORDER[1], *ORDER[3:]]
    assert list(optimizer(session).chain.row_names) == wanted == list(view.chain.blocks)
    assert view.own_chain.isVisible()
    assert "no longer what PyTorch Adam does" in view.own_chain.label.text()
    assert view.note.text() == "PyTorch, own chain"
    # what the sentence is about: the decay is clipped together with the gradient from now on
    session.current.simulation.advance(1)
    history = session.current.history
    u = history.gradient(3) + 0.02 * history.weights(3)
    clipped = np.linalg.norm(u) > 4.0
    assert clipped == bool(history.vectors("clip_by_global_norm", 3).any())
    view.own_chain.button.click()
    settle(view)
    assert list(optimizer(session).chain.row_names) == ORDER and view.own_chain.isHidden()
    assert view.note.text() == "PyTorch"


def test_a_card_of_one_row_is_dragged_into_another_card(opened, qtbot):
    session, view = opened()
    drag_row(qtbot, view, "clip_by_global_norm", "first_moment")
    settle(view)
    assert list(optimizer(session).chain.row_names) == [ORDER[0], ORDER[2], ORDER[1], *ORDER[3:]]
    assert [card.title for card in view.chain.plans][1:4] == ["L2 added to gradient", "clip by global norm", "Adam"]


def test_rows_and_cards_move_by_key_from_any_control_in_them(opened, qtbot):
    session, view = opened(size=(270, 1300))
    alt = Qt.KeyboardModifier.AltModifier
    slider = control(view, "first_moment bias_correction_1", "beta1").slider
    slider.setFocus()
    before = slider.value()
    qtbot.keyClick(slider, Qt.Key.Key_Up, alt | Qt.KeyboardModifier.ShiftModifier)
    settle(view)
    assert list(optimizer(session).chain.row_names) == [*ORDER[:2], ORDER[3], ORDER[2], *ORDER[4:]]
    assert row_grip(view, "first_moment").hasFocus()
    qtbot.keyClick(row_grip(view, "first_moment"), Qt.Key.Key_Down)
    settle(view)
    assert list(optimizer(session).chain.row_names) == ORDER
    qtbot.keyClick(row_grip(view, "first_moment"), Qt.Key.Key_Up, alt)
    settle(view)
    assert list(optimizer(session).chain.row_names) == [ORDER[0], *ORDER[2:7], ORDER[1], *ORDER[7:]]
    assert control(view, "first_moment bias_correction_1", "beta1").slider.value() == before
    # another order of the same framework's rows: clipping after Adam is nothing torch.optim has
    assert view.own_chain.isVisible()


def test_a_row_never_passes_the_store():
    assert row_stepped(list("abcd"), "c", 1) is None and row_stepped(list("abcd"), "d", -1) is None
    assert row_stepped(list("abcd"), "a", -1) is None
    assert row_stepped(list("abcd"), "b", 1) == list("acbd")


def test_what_the_framework_has_as_well_is_not_called_a_chain_of_ones_own(opened, qtbot):
    session, view = opened("torch.optim.SGD(params, lr=0.1, momentum=0.9, weight_decay=0.01)")
    session.change("l2", "enabled", False)
    settle(view)
    assert view.own_chain.isHidden()
