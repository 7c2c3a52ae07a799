"""The pipeline shows the chain as it is, and what is done to a card, a line or a setting reaches the core."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QSlider,
    QSpinBox,
    QWidget,
)

from core.optim import emit_optimizer, parse_optimizer
from core.simulation import Event, Experiment, ProblemSettings, Simulation, measures
from gui.session import Session
from gui.theme import APPLIED, DARK, LIGHT, cause_color
from gui.views.pipeline import PipelineView
from gui.views.pipeline.plan import cards_of, moved, row_stepped, stepped, structure, values_of
from gui.views.pipeline.restart import settled
from gui.widgets.card import Grip
from tests.gui.on_screen import settle

ADAM = (
    "torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)\n"
    "opt = torch.optim.Adam(params, lr=0.06, weight_decay=0.02)\n"
    "torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.995)"
)
ORDER = [
    "frozen_mask",
    "clip_by_global_norm",
    "l2",
    "first_moment",
    "bias_correction_1",
    "second_moment",
    "bias_correction_2",
    "learning_rate",
    "rounding",
]


@pytest.fixture
def opened(screen):
    """Opens the view on an experiment."""

    def make(lines=ADAM, steps=0, size=(270, 900), **settings):
        session = Session(Experiment(optimizer=lines, **settings))
        session.current.simulation.advance(steps)
        session.show_step(steps - 1)
        return session, screen.view(PipelineView, session, size)

    return make


def optimizer(session):
    return session.current.simulation.optimizer


def control(view, target, key):
    row = target.split()[0].split(".")[0]
    return view.chain.blocks[row].sliders()[target, key]


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
        assert transform.formula in block.header.title.toolTip()
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


# order ----------------------------------------------------------------------------------------------------------


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


# code -----------------------------------------------------------------------------------------------------------


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


# problem --------------------------------------------------------------------------------------------------------


def test_a_parameter_of_the_problem_acts_live(opened):
    session, view = opened("torch.optim.SGD(params, lr=0.01)", steps=4, problem=ProblemSettings("quadratic"))
    slider = view.problem.sliders["condition"]
    slider.field.entered.emit("7")
    settle(view)
    objective = session.current.simulation.objective
    assert objective.values["condition"] == 7.0
    assert session.current.history.count == 4 and session.current.events[-1].target == "problem"


def test_another_problem_restarts_with_the_settings_as_they_are(opened):
    session, view = opened(steps=4)
    session.change("learning_rate", "learning_rate", 0.125)
    settle(view)
    index = view.problem.choice.findData("himmelblau")
    view.problem.choice.setCurrentIndex(index)
    view.problem.choice.activated.emit(index)
    settle(view)
    simulation = session.current.simulation
    assert simulation.objective.name == "himmelblau" and session.current.history.count == 0
    simulation.advance(1)
    assert simulation.history.scalar("base_learning_rate")[0] == 0.125


def test_an_own_formula_becomes_the_problem(opened, qtbot):
    session, view = opened(steps=2)
    index = view.problem.choice.count() - 1
    view.problem.choice.setCurrentIndex(index)
    view.problem.choice.activated.emit(index)
    assert view.problem.formula.isVisible()
    view.problem.formula.setText("(a - x)**2 + 3*y**2 +")
    qtbot.keyClick(view.problem.formula, Qt.Key.Key_Return)
    assert view.problem.expression.trouble.isVisible() and session.current.simulation.objective.name == "rosenbrock"
    view.problem.formula.setText("(a - x)**2 + 3*y**2")
    qtbot.keyClick(view.problem.formula, Qt.Key.Key_Return)
    settle(view)
    objective = session.current.simulation.objective
    assert not view.problem.expression.trouble.isVisible()
    assert objective.formula == "(a - x)**2 + 3*y**2" and objective.values["a"] == 1.0
    assert float(objective.value([0.0, 1.0])) == 4.0
    assert "a" in view.problem.sliders


def test_start_seed_and_types_restart_the_run(opened):
    session, view = opened(steps=3)
    view.problem.form.start.entered.emit("0.5; -0.25")
    settle(view)
    np.testing.assert_array_equal(session.current.simulation.weights, [0.5, -0.25])
    view.problem.form.start.entered.emit("0.5")
    assert "2 weights; 1 numbers were given" in view.problem.trouble.text()
    view.problem.form.start.entered.emit("a, b")
    assert "separated by commas" in view.problem.trouble.text()
    view.problem.form.seed.setValue(7)
    settle(view)
    assert session.current.simulation.experiment.seed == 7
    view.problem.form.storage.setCurrentText("float16")
    view.problem.form.storage.activated.emit(0)
    settle(view)
    assert session.current.simulation.weights.dtype == np.float16
    view.problem.form.arithmetic.setCurrentText("float32")
    view.problem.form.arithmetic.activated.emit(0)
    settle(view)
    experiment = session.current.simulation.experiment
    assert (experiment.storage, experiment.arithmetic, experiment.seed) == ("float16", "float32", 7)
    assert experiment.start == [0.5, -0.25]


def test_a_model_shows_its_data_and_settings(opened):
    session, view = opened("torch.optim.SGD(params, lr=0.1)", problem=ProblemSettings("logistic_regression"))
    assert view.problem.data_row.isVisible() and view.problem.data_row.box.currentText() == "breast_cancer"
    assert not view.problem.form.start.isEnabled() and "31 weights" in view.problem.form.start.placeholderText()
    view.problem.sliders["standardise"].switch.click()
    settle(view)
    assert session.current.simulation.objective.options["standardise"] is False
    said = []
    session.message.connect(lambda sentence, details: said.append(sentence))
    view.problem.data_row.box.setEditText("no_such_table.csv")
    view.problem.data_row.box.activated.emit(0)
    settle(view)
    assert "no_such_table.csv" in said[0]
    assert view.problem.data_row.box.currentText() == "breast_cancer"
    assert session.current.simulation.objective.name == "logistic_regression"


def test_settled_replays_to_the_settings_of_now():
    simulation = Simulation(Experiment(optimizer=ADAM))
    simulation.advance(3)
    simulation.change("learning_rate", "learning_rate", 0.5)
    simulation.advance(2)
    simulation.change("optimizer", "lines", "torch.optim.SGD(params, lr=0.001, momentum=0.5)")
    simulation.change("momentum", "momentum", 0.8)
    simulation.advance(2)
    simulation.change("momentum", "momentum", 0.7)
    simulation.change("momentum", "enabled", False)
    simulation.change("problem", "noise", 0.0)
    fields = settled(simulation.experiment)
    assert fields["optimizer"].startswith("torch.optim.SGD") and fields["recorded"] is None
    # what the lines said stays the value before: a slider's drag is told as one change
    assert [(event.step, event.key, event.old, event.value) for event in fields["events"]] == [
        (0, "momentum", 0.5, 0.7),
        (0, "enabled", True, False),
    ]
    again = Simulation(simulation.experiment.replace(**fields))
    again.advance(1)
    assert again.optimizer.settings() == simulation.optimizer.settings()
    assert again.objective.values == simulation.objective.values


def test_settled_keeps_the_order_of_what_depends_on_each_other():
    events = [
        Event(5, "momentum", "enabled", True),
        Event(3, "optimizer", "order", "a b"),
        Event(9, "optimizer", "order", "b a"),
    ]
    fields = settled(Experiment(events=events))
    assert [(event.key, event.value) for event in fields["events"]] == [("enabled", True), ("order", "b a")]


@pytest.mark.parametrize(
    "problem", [ProblemSettings("rosenbrock"), ProblemSettings("expression", {"a": 2.0}, "a*x**2")]
)
def test_another_theme_leaves_the_sliders_of_the_problem(opened, problem):
    _, view = opened(problem=problem)
    assert view.problem.sliders and all(slider.isVisible() for slider in view.problem.sliders.values())
    view.set_theme(LIGHT)
    view.flush()
    QApplication.processEvents()
    assert all(slider.isVisible() for slider in view.problem.sliders.values())
    assert not view.problem.formula.isModified()


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
