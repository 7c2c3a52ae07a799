"""The pipeline shows the chain as it is, and what is done to a card or a setting reaches the core."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QSlider,
    QSpinBox,
    QWidget,
)

from core.optim import parse_optimizer
from core.simulation import Experiment, Simulation, measures
from gui.theme import APPLIED, DARK, LIGHT, cause_color
from gui.views.pipeline.plan import cards_of, structure, values_of
from gui.widgets.readable import with_hats
from tests.gui.on_screen import settle
from tests.gui.pipeline_driver import ADAM, ORDER, control, opener, optimizer


@pytest.fixture
def opened(screen):
    return opener(screen)


# what is shown --------------------------------------------------------------------------------------------------


def test_transforms_of_one_group_are_one_card_and_the_learning_rate_has_its_own():
    cards = cards_of(parse_optimizer(ADAM))
    assert [(card.title, card.rows) for card in cards] == [
        ("frozen variables", ("frozen_mask",)),
        ("clip by global norm", ("clip_by_global_norm",)),
        ("Adam", ("l2", "first_moment", "bias_correction_1", "second_moment", "bias_correction_2")),
        ("learning rate", ("learning_rate",)),
        ("rounding", ("rounding",)),
    ]


def test_a_setting_that_rows_share_is_one_slider_for_all_of_them():
    values = values_of(cards_of(parse_optimizer(ADAM)))
    assert values["first_moment bias_correction_1", "beta1"] == 0.9
    assert values["second_moment bias_correction_2", "beta2"] == 0.999
    assert values["learning_rate.schedule", "gamma"] == 0.995
    assert ("bias_correction_1", "beta1") not in values
    # without a group label, too
    values = values_of(cards_of(parse_optimizer("optax.adam(1e-3)")))
    assert values["first_moment bias_correction_1", "beta1"] == 0.9


def test_penalties_are_never_taken_for_one_another():
    values = values_of(cards_of(parse_optimizer("torch.optim.AdamW(params, lr=0.1, weight_decay=0.01)")))
    assert values["decoupled_decay", "weight_decay"] == 0.01


def test_structure_does_not_depend_on_values():
    first = cards_of(parse_optimizer("torch.optim.Adam(params, lr=0.1)"))
    second = cards_of(parse_optimizer("torch.optim.Adam(params, lr=0.2, betas=(0.8, 0.99))"))
    third = cards_of(parse_optimizer("torch.optim.SGD(params, lr=0.1)"))
    assert structure(first) == structure(second) != structure(third)


def test_cards_show_colour_switch_and_values(opened):
    session, view = opened()
    assert list(view.chain.blocks) == ORDER
    for row, block in view.chain.blocks.items():
        transform = optimizer(session).transform(row)
        assert block.header.swatch.color == cause_color(transform.cause)
        assert block.header.switch.isChecked() is transform.enabled
        assert with_hats(transform.formula) in block.header.title.toolTip()
    assert control(view, "clip_by_global_norm", "max_norm").value() == 4.0
    assert control(view, "learning_rate.schedule", "gamma").value() == 0.995
    assert view.note.text() == "PyTorch" and view.code.box.text() == ADAM


def test_the_numbers_of_the_step_shown_stand_beside_the_titles(opened):
    session, view = opened(steps=20)
    session.show_step(3)
    view.flush()
    history = session.current.history
    figures, shares = history.figures(3), measures.row_shares(history, 3)
    assert view.chain.blocks["clip_by_global_norm"].header.figure.text() == f"×{figures['clip_factor']:.3g}"
    assert view.chain.blocks["learning_rate"].header.figure.text() == f"lr {0.06 * 0.995**3:.3g}"
    assert view.chain.blocks["first_moment"].header.figure.text() == f"{100 * shares['first_moment']:.0f} %"
    assert "‖u‖" in view.chain.blocks["clip_by_global_norm"].header.figure.toolTip()


# live changes ---------------------------------------------------------------------------------------------------


def test_a_slider_acts_on_the_running_optimizer(opened, qtbot):
    session, view = opened(steps=10)
    slider = control(view, "learning_rate", "learning_rate").slider
    qtbot.mouseClick(slider, Qt.MouseButton.LeftButton, pos=QPoint(slider.width() // 2, slider.height() // 2))
    qtbot.waitUntil(lambda: bool(session.current.events))
    settle(view)
    value = control(view, "learning_rate", "learning_rate").value()
    assert optimizer(session).learning_rate == value != 0.06
    event = session.current.events[-1]
    assert (event.step, event.target, event.key, event.value) == (10, "learning_rate", "learning_rate", value)


def test_dragging_floods_neither_the_worker_nor_the_events(opened, qtbot):
    session, view = opened(steps=10)
    calls = []
    right = session.change
    session.change = lambda *arguments: (calls.append(arguments), right(*arguments))
    slider = control(view, "clip_by_global_norm", "max_norm").slider
    middle = slider.height() // 2
    qtbot.mousePress(slider, Qt.MouseButton.LeftButton, pos=QPoint(8, middle))
    for x in range(9, 80):
        qtbot.mouseMove(slider, QPoint(x, middle))
    qtbot.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=QPoint(79, middle))
    settle(view)
    assert 1 <= len(calls) < 71
    assert optimizer(session).transform("clip_by_global_norm").max_norm == calls[-1][2]
    assert calls[-1][2] == control(view, "clip_by_global_norm", "max_norm").value()
    assert len(session.current.events) == 1


def test_a_shared_setting_reaches_all_its_rows(opened):
    session, view = opened()
    shared = control(view, "first_moment bias_correction_1", "beta1")
    shared.field.entered.emit("0.75")
    settle(view)
    chain = optimizer(session)
    assert [chain.transform(row).beta1 for row in ("first_moment", "bias_correction_1")] == [0.75, 0.75]
    assert control(view, "first_moment bias_correction_1", "beta1") is shared


def test_switching_a_cause_off_empties_its_row(opened, qtbot):
    session, view = opened(steps=3)
    qtbot.mouseClick(view.chain.blocks["clip_by_global_norm"].header.switch, Qt.MouseButton.LeftButton)
    settle(view)
    assert not optimizer(session).transform("clip_by_global_norm").enabled
    session.current.simulation.advance(3)
    assert not session.current.history.vectors("clip_by_global_norm", 3).any()
    assert not view.chain.blocks["clip_by_global_norm"].header.title.isEnabled()
    assert view.chain.blocks["learning_rate"].header.switch.isHidden()


def test_changes_from_elsewhere_are_taken_over(opened):
    session, view = opened(steps=5)
    session.change("learning_rate", "learning_rate", 0.3)
    settle(view)
    assert control(view, "learning_rate", "learning_rate").value() == 0.3
    session.undo_stack.undo()
    settle(view)
    assert control(view, "learning_rate", "learning_rate").value() == 0.06


def test_what_the_core_refuses_goes_back(opened, qtbot):
    session, view = opened()
    said = []
    session.message.connect(lambda sentence, details: said.append(sentence))
    view.chain.changed.emit("first_moment", "beta1", 7.0)
    settle(view)
    assert "beta1" in said[0] and optimizer(session).transform("first_moment").beta1 == 0.9
    control(view, "learning_rate", "learning_rate").field.entered.emit("-3")
    assert view.trouble.isVisible() and "must be at least 0" in view.trouble.text()


def test_reset_goes_back_to_what_the_lines_say(opened):
    session, view = opened()
    slider = control(view, "learning_rate", "learning_rate")
    assert slider.home == 0.06
    slider.field.entered.emit("0.5")
    settle(view)
    slider.reset_button.click()
    settle(view)
    assert optimizer(session).learning_rate == 0.06


def test_another_schedule_from_the_learning_rate_card(opened):
    session, view = opened(steps=4)
    editor = view.chain.blocks["learning_rate"].schedule
    index = editor.choice.findData("StepLR")
    editor.choice.setCurrentIndex(index)
    editor.choice.activated.emit(index)
    settle(view)
    assert optimizer(session).transform("learning_rate").schedule.name == "StepLR"
    control(view, "learning_rate.schedule", "step_size").field.entered.emit("2")
    settle(view)
    session.current.simulation.advance(2)
    assert session.current.history.scalar("learning_rate")[5] == pytest.approx(0.06 * 0.1 ** (5 // 2))
    editor = view.chain.blocks["learning_rate"].schedule
    editor.choice.setCurrentIndex(0)
    editor.choice.activated.emit(0)
    settle(view)
    assert optimizer(session).transform("learning_rate").schedule is None
    assert view.chain.blocks["learning_rate"].schedule.lists == []


def test_parts_of_a_schedule_have_sliders(opened):
    lines = (
        "opt = torch.optim.SGD(params, lr=0.001)\n"
        "a = torch.optim.lr_scheduler.LinearLR(opt, start_factor=0.5, total_iters=4)\n"
        "b = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.9)\n"
        "torch.optim.lr_scheduler.SequentialLR(opt, [a, b], milestones=[10])"
    )
    session, view = opened(lines)
    control(view, "learning_rate.schedule.1", "gamma").field.entered.emit("0.5")
    settle(view)
    assert optimizer(session).transform("learning_rate").schedule.parts[1].gamma == 0.5


def test_conventions_are_behind_a_button(opened):
    _, view = opened()
    block = view.chain.blocks["clip_by_global_norm"]
    convention = control(view, "clip_by_global_norm", "convention")
    assert not convention.isVisible()
    block.more_button.click()
    assert convention.isVisible()


# manners --------------------------------------------------------------------------------------------------------


def test_nothing_is_wider_than_a_narrow_column(opened):
    _, view = opened(steps=5, size=(262, 700))
    view.dialects_section.button.click()
    view.flush()
    assert view.inner.minimumSizeHint().width() <= view.scroll.viewport().width()


def test_every_control_has_a_name_and_a_tool_tip_and_can_be_reached(opened):
    _, view = opened(steps=5)
    view.dialects_section.button.click()
    for block in view.chain.blocks.values():
        block.more_button.setChecked(True)
    view.flush()
    controls = (QAbstractButton, QComboBox, QLineEdit, QPlainTextEdit, QSlider, QSpinBox)
    for widget in view.inner.findChildren(QWidget):
        # the parts that Qt itself puts into spin and combo boxes carry no names of their own
        if (
            isinstance(widget, controls)
            and widget.isVisible()
            and not isinstance(widget.parent(), QComboBox | QSpinBox)
        ):
            assert widget.accessibleName(), widget
            assert widget.toolTip() or not widget.isEnabled(), widget.accessibleName()
            assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus, widget.accessibleName()


def test_selecting_a_row_marks_its_card(opened, qtbot):
    session, view = opened(steps=3)
    qtbot.mouseClick(view.chain.blocks["l2"].header, Qt.MouseButton.LeftButton, pos=QPoint(60, 8))
    assert session.selected_row == "l2"
    view.flush()
    assert DARK.accent in view.chain.cards[2].styleSheet()
    session.select(row=None)
    view.flush()
    assert DARK.accent not in view.chain.cards[2].styleSheet()


def test_another_theme_recolours(opened):
    _, view = opened()
    view.set_theme(LIGHT)
    view.flush()
    assert LIGHT.card in view.chain.cards[0].styleSheet()
    assert APPLIED


def test_another_run_shows_its_own_chain(opened):
    session, view = opened(steps=2)
    session.add_run(Simulation(Experiment(optimizer="torch.optim.SGD(params, lr=0.01)")), "plain")
    view.flush()
    assert list(view.chain.blocks) == ["frozen_mask", "learning_rate", "rounding"]
    assert view.code.box.text() == "torch.optim.SGD(params, lr=0.01)"
    session.make_current(session.runs[0])
    view.flush()
    assert list(view.chain.blocks) == ORDER and view.code.box.text() == ADAM
