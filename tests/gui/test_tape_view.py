"""The tape view: values and derivatives are the formula's, played by keys; every None of the ways has its reason."""

import re

import numpy as np
import pytest
from PySide6.QtCore import Qt

from core.simulation import Experiment, ProblemSettings, Simulation
from gui.session import Session
from gui.theme import LIGHT
from gui.views.tape import TapeView


@pytest.fixture
def shown(screen):
    """Opens the view on an expression at its start."""

    def make(expression="", start=(2.0, 3.0), variables=(), steps=1, problem=None, size=(620, 460)):
        settings = problem or ProblemSettings("expression", expression=expression, variables=list(variables))
        start = list(start) if problem is None else None
        simulation = Simulation(Experiment(problem=settings, start=start, optimizer="torch.optim.SGD(p, lr=0.01)"))
        simulation.advance(steps)
        session = Session.on(simulation)
        session.show_step(0)
        return session, screen.view(TapeView, session, size)

    return make


def results(view):
    """Way -> its lines of results, as text."""
    found = {}
    view.tabs.setCurrentWidget(view.ways)
    view.flush()
    for label in view.ways.labels:
        if not label.isHidden():
            blocks = re.findall(r"<pre[^>]*>(.*?)</pre>", label.text(), re.S)
            name = re.search(r"<b>(.*?)</b>", label.text())[1]
            lines = blocks[1].replace("→ ", "").replace("&#x27;", "'").split("\n")
            found[name] = [line.strip() for line in lines]
    return found


def role(view, name, wanted):
    box = view.ways.roles[name]
    box.setCurrentIndex(box.findData(wanted))


def test_values_forward_and_derivatives_backward_by_keys(shown, qtbot):
    # (x * y)**2 at (2, 3) is 36; d/d(xy) = 12, d/dx = 36, d/dy = 24
    _, view = shown("(x*y)**2")
    picture = view.picture
    assert [node.text for node in picture.operations] == ["t1 = x · y", "t2 = square(t1)"]
    view.canvas.setFocus()
    view.slider.setValue(0)
    assert "Before the first operation" in view.words.text()
    qtbot.keyClick(view.canvas, Qt.Key.Key_Right)
    assert view.words.text() == "Forward 1 of 2: t1 = x · y = 6"
    qtbot.keyClick(view.canvas, Qt.Key.Key_Right)
    assert view.words.text() == "Forward 2 of 2: t2 = square(t1) = 36: the loss."
    qtbot.keyClick(view.canvas, Qt.Key.Key_Right)
    assert "Backward 1 of 2: it begins with t2, the loss itself" in view.words.text()
    qtbot.keyClick(view.canvas, Qt.Key.Key_Right)
    assert view.words.text() == (
        "Backward 2 of 2: the loss changes by 12 per unit of t1 = 1 (of t2) × 12 (t2 per unit of t1)."
    )
    qtbot.keyClick(view.canvas, Qt.Key.Key_Left)
    assert "Backward 1 of 2" in view.words.text()
    x, y = picture.nodes[:2]
    assert float(x.adjoint) == 36.0 and float(y.adjoint) == 24.0
    view.canvas.node_clicked.emit(x.number)
    assert view.words.text() == ("x = 2. The loss changes by 36 per unit of x = 12 (of t1) × 3 (t1 per unit of x).")


def test_a_value_used_twice_collects_from_both(shown):
    # f = sin(x) * x: t1 = sin x; x is used by both
    _, view = shown("sin(x)*x + 0*y")
    x = view.picture.nodes[0]
    assert float(x.adjoint) == pytest.approx(np.cos(2.0) * 2.0 + np.sin(2.0))
    view.canvas.node_clicked.emit(x.number)
    assert "what they send back is added up" in view.words.text()


def test_playing_goes_through_all_operations_and_stops(shown, qtbot):
    _, view = shown("(x*y)**2")
    view._timer.setInterval(1)
    qtbot.keyClick(view.play, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: view.slider.value() == view.slider.maximum() == 4 and not view._timer.isActive())
    assert view.play.text().startswith("▶")


def test_zoom_by_keys_stays_while_steps_go_by(shown, qtbot):
    session, view = shown("(x*y)**2", steps=3)
    before = view.canvas.transform().m11()
    qtbot.keyClick(view.canvas, Qt.Key.Key_Minus)
    zoomed = view.canvas.transform().m11()
    assert zoomed < before
    session.show_step(2)
    view.flush()
    assert view.canvas.transform().m11() == zoomed
    value = float(view.picture.nodes[0].value)
    assert value == session.current.history.weights(2)[0]
    qtbot.keyClick(view.canvas, Qt.Key.Key_F)
    assert view.canvas.transform().m11() == before


def test_an_unused_variable(shown):
    _, view = shown("x**2", variables=["x", "y"])
    found = results(view)
    assert found["GradientTape"] == [
        "[4, None]",
        "None for y: the variable 'y' was not used while the tape was recording",
    ]
    assert found["gradients_function"] == ["[4, None]", "None for y: the result does not depend on it"]
    assert found["implicit_gradients"] == ["[(4, x)]", "y is not in the list: the function did not use it"]


def test_an_integer_variable_a_tensor_and_a_watched_one(shown):
    """x² y at (2, 3): derivatives 12 and 4, second derivatives ((6, 4), (4, 0))."""
    _, view = shown("x**2*y")
    results(view)
    role(view, "y", "integer")
    found = results(view)
    assert found["GradientTape"][0] == "[12, None]" and "integer type" in found["GradientTape"][1]
    assert found["gradients_function"][0] == "[12, None]" and "hand in a float" in found["gradients_function"][1]
    assert found["implicit_gradients"][0] == "[(12, x), (None, y)]"
    assert found["implicit_gradients"][1].startswith("None for y: the variable 'y' is of integer type (int64)")
    role(view, "y", "constant")
    found = results(view)
    assert found["GradientTape"][0] == "[12, None]" and "not watched" in found["GradientTape"][1]
    role(view, "y", "watched")
    found = results(view)
    assert found["GradientTape"] == ["[12, 4]"]
    assert "tape.watch([y])" in view.ways.labels[0].text()
    assert found["implicit_gradients"] == [
        "[(12, x)]", "y is not in the list: it is a tensor, not a variable (watching it is the tape's affair)"
    ]  # fmt: skip
    assert found["Second derivatives"] == ["[6, 4]", "[[6, 4], [4, 0]]"]


def test_a_frozen_variable_and_none_at_all(shown):
    _, view = shown("x**2*y")
    results(view)
    role(view, "y", "frozen")
    assert results(view)["implicit_value_and_gradients"] == ["(12, [(12, x)])"]
    role(view, "x", "frozen")
    found = results(view)
    assert found["implicit_gradients"][0].startswith("ValueError: no trainable variable")
    assert found["Second derivatives"] == ["[[6, 4], [4, 0]]"]


def test_second_derivatives_of_a_straight_function_are_none(shown):
    _, view = shown("3*x + 2*y")
    lines = results(view)["Second derivatives"]
    assert lines[0] == "[None, None]" and "not connected to the target" in lines[1] and lines[-1] == "[[0, 0], [0, 0]]"


def test_a_model_shows_arrays_and_a_hint_instead_of_ways(shown):
    model = ProblemSettings("mlp", data="moons(rows=60, seed=3)", options={"layers": [3]})
    session, view = shown(problem=model)
    assert "for each of the" in view.words.text()
    inputs = {node.label: node for node in view.picture.nodes if node.kind == "input"}
    gradient = session.current.history.gradient(0)
    np.testing.assert_allclose(np.ravel(inputs["W1"].adjoint), gradient[: inputs["W1"].adjoint.size], rtol=1e-9)
    assert results(view) == {} and not view.ways._hint.isHidden()
    view.set_theme(LIGHT)
    session.rebuild(problem=ProblemSettings(), start=None)
    view.flush()
    assert set(view.ways.roles) == {"x", "y"}


@pytest.mark.parametrize(
    ("expression", "start", "words"),
    [
        ("sqrt(x) + y**2", (-1.0, 2.0), "nan begins at t1 = sqrt(x), of x = −1."),
        ("log(x)*y", (0.0, 2.0), "inf begins at t1 = log(x), of x = 0."),
        ("sqrt(x) + y", (0.0, 1.0), "The values are finite; inf begins in the derivative of t1 = sqrt(x), at x = 0."),
        ("exp(x)*y", (1000.0, 0.0), "inf begins at t1 = exp(x), of x = 1000."),
    ],
)
def test_it_says_where_nan_or_inf_begins(shown, expression, start, words):
    """sqrt(-1) is nan, log(0) and exp(1000) are infinite, sqrt'(0) = 1/(2 sqrt(0)) is."""
    _, view = shown(expression, start=start, steps=0)
    view.flush()
    assert view.words.text().startswith(words)


def test_nothing_is_said_of_finite_values(shown):
    _, view = shown("sqrt(x) + y**2", start=(4.0, 2.0))
    view.flush()
    assert view.words.text().startswith("Backward")
