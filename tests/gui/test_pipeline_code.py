"""Lines pasted into the pipeline, and its chain written as lines of four frameworks."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from core.optim import emit_optimizer
from tests.gui.on_screen import settle
from tests.gui.pipeline_driver import control, opener, optimizer


@pytest.fixture
def opened(screen):
    return opener(screen)


def test_pasted_lines_act_from_the_next_step(opened, qtbot):
    session, view = opened(steps=6)
    edit = view.code.box.edit
    edit.setPlainText("tf.keras.optimizers.SGD(learning_rate=0.001, momentum=0.9, clipnorm=1.0)")
    qtbot.keyClick(edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    settle(view)
    assert optimizer(session).dialect == "keras" and view.note.text() == "Keras"
    assert "momentum" in view.chain.blocks
    event = session.current.events[-1]
    assert (event.step, event.key) == (6, "lines")
    assert session.current.history.count == 6


def test_what_cannot_be_read_is_said_at_its_place_and_the_text_stays(opened, qtbot):
    session, view = opened()
    text = "torch.nn.utils.clip_grad_norm_(params, max_norm=1.0)\ntorch.optim.Adam(params, leaning_rate=0.06)"
    view.code.box.edit.setPlainText(text)
    view.code.apply_button.click()
    settle(view)
    assert view.code.box.trouble.isVisible() and "leaning_rate" in view.code.box.trouble.text()
    assert "line 2, column" in view.code.box.trouble.text()
    (mark,) = view.code.box.edit.extraSelections()
    assert mark.cursor.selectedText() == "leaning_rate" and mark.cursor.blockNumber() == 1
    assert view.code.box.text() == text and session.current.events == []
    assert view.note.text() == ""
    view.code.box.edit.setPlainText(text.replace("leaning_rate", "lr"))
    qtbot.waitUntil(lambda: not view.code.box.trouble.isVisible())
    assert view.note.text() == "PyTorch" and view.code.edited


def test_groups_that_fit_no_variable_are_said_at_the_lines(opened):
    session, view = opened()
    text = "torch.optim.SGD([{'params': [a]}, {'params': [b], 'lr': 1.0}], lr=0.1)"
    view.code.box.edit.setPlainText(text)
    view.code.apply_button.click()
    settle(view)
    assert view.code.box.trouble.isVisible()
    assert "not clear which parameter group 'p' belongs to" in view.code.box.trouble.text()
    assert view.code.box.text() == text and session.current.events == []


def test_restarting_with_lines_begins_at_the_first_step(opened):
    session, view = opened(steps=12)
    session.change("learning_rate", "learning_rate", 0.5)
    settle(view)
    view.code.box.edit.setPlainText("torch.optim.SGD(params, lr=0.002)")
    view.code.restart_button.click()
    settle(view)
    experiment = session.current.simulation.experiment
    assert experiment.optimizer == "torch.optim.SGD(params, lr=0.002)" and experiment.events == []
    assert session.current.history.count == 0 and optimizer(session).learning_rate == 0.002


def test_an_empty_box_says_what_to_do(opened):
    _, view = opened()
    view.code.box.edit.setPlainText("  ")
    view.code.apply_button.click()
    assert "paste some" in view.code.box.trouble.text()


def test_text_being_written_is_not_overwritten(opened):
    session, view = opened(steps=2)
    view.code.box.edit.setPlainText("torch.optim.SGD(params, lr=")
    session.change("optimizer", "lines", "torch.optim.SGD(params, lr=0.1)")
    settle(view)
    assert view.code.box.text() == "torch.optim.SGD(params, lr="
    assert "momentum" not in view.chain.blocks and len(view.chain.blocks) == 3


def test_the_chain_is_written_in_four_dialects(opened):
    session, view = opened()
    view.dialects_section.button.click()
    view.flush()
    assert view.dialects.code.toPlainText() == emit_optimizer(optimizer(session), "torch")
    view.dialects.copy_button.click()
    assert QGuiApplication.clipboard().text() == emit_optimizer(optimizer(session), "torch")
    view.dialects.set_dialect("keras")
    with pytest.raises(ValueError) as error:
        emit_optimizer(optimizer(session), "keras")
    assert view.dialects.code.toPlainText() == "" and not view.dialects.copy_button.isEnabled()
    assert str(error.value).rstrip(".") in view.dialects.reason.text()
    view.dialects.set_dialect("torch")
    control(view, "learning_rate", "learning_rate").field.entered.emit("0.25")
    settle(view)
    assert "lr=0.25" in view.dialects.code.toPlainText()
