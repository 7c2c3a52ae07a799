"""The problem in the pipeline: its parameters, formula, data, start, seed and types, and starting again with them."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
)

from core.simulation import Event, Experiment, ProblemSettings, Simulation
from gui.theme import LIGHT
from gui.views.pipeline.restart import settled
from tests.gui.on_screen import settle
from tests.gui.pipeline_driver import ADAM, opener


@pytest.fixture
def opened(screen):
    return opener(screen)


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
