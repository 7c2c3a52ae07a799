"""The picture of a model holds the model's own predictions, its data and its metrics."""

import numpy as np
import pytest

from core.simulation import Experiment, ProblemSettings
from gui.session import Session
from gui.theme import LIGHT
from gui.views.fit import FitView
from gui.views.fit_jobs import MetricsJob, make_fit


@pytest.fixture
def opened(screen):
    """Opens the view on a problem after some steps of Adam."""

    def make(problem, steps=0):
        session = Session(Experiment(optimizer="torch.optim.Adam(params, lr=0.05)", problem=problem))
        session.current.simulation.advance(steps)
        session.show_step(steps - 1)
        return session, screen.view(FitView, session, (420, 460))

    return make


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def test_a_boundary_is_the_sigmoid_of_the_weights(qtbot, opened):
    problem = ProblemSettings("logistic_regression", data="moons(rows=100, seed=2)", options={"standardise": False})
    session, view = opened(problem, 30)
    qtbot.waitUntil(lambda: view.fit is not None and not session.engine.busy)
    fit, history = view.fit, session.current.history
    assert fit.kind == "boundary" and fit.values.shape == (72, 72, 2)
    w1, w2, b = history.weights(29)
    x, y = np.meshgrid(fit.grid_x, fit.grid_y)
    np.testing.assert_allclose(fit.values[:, :, 1], sigmoid(w1 * x + w2 * y + b), rtol=1e-10)
    assert (len(fit.train), len(fit.test)) == (80, 20)
    assert len(view.train_points.points()) == 80 and len(view.test_points.points()) == 20
    samples = session.current.simulation.objective.samples
    np.testing.assert_array_equal(fit.train, samples.train_x)
    z = samples.test_x @ [w1, w2] + b
    accuracy = np.mean((z > 0) == (samples.test_y > 0.5))
    view.flush()
    steps, values = view._metrics.column("test accuracy")
    assert steps.tolist() == list(range(30)) and values[29] == accuracy
    assert f"test {accuracy:.4g}" in view.note.text()


def test_a_line_is_drawn_in_the_unit_of_its_data(qtbot, opened):
    session, view = opened(ProblemSettings("linear_regression", data="linear(rows=50, seed=1)"), 200)
    qtbot.waitUntil(lambda: view.fit is not None and not session.engine.busy)
    x, y = view.curve.getData()
    assert view.fit.kind == "curve"
    # made up as 2x + 1 with noise 0.1: the fit of 40 points comes near
    np.testing.assert_allclose(y, 2 * x + 1, atol=0.15)
    samples = session.current.simulation.objective.samples
    slope, intercept = np.polyfit(
        *samples.dataset.features[samples.train_rows].T, samples.dataset.targets[samples.train_rows], 1
    )
    np.testing.assert_allclose(y, slope * x + intercept, atol=0.05)


def test_many_features_are_shown_as_predicted_against_true_or_as_counts(qtbot, opened):
    session, view = opened(ProblemSettings("linear_regression", data="diabetes"), 5)
    qtbot.waitUntil(lambda: view.fit is not None and not session.engine.busy)
    objective = session.current.simulation.objective
    fit = view.fit
    assert fit.kind == "predicted"
    weights = session.current.history.weights(4)
    rows = objective.samples.test_rows
    np.testing.assert_array_equal(fit.test[:, 0], objective.samples.dataset.targets[rows])
    wanted = (objective.samples.test_x @ weights[:-1] + weights[-1]) * objective.samples.target_scale
    np.testing.assert_allclose(fit.test[:, 1], wanted + objective.samples.target_mean, rtol=1e-10)
    session.rebuild(problem=ProblemSettings("softmax_regression", data="iris"), start=None)
    view.flush()
    qtbot.waitUntil(lambda: view.fit is not None and view.fit.kind == "confusion", timeout=10_000)
    assert view.fit.values.sum() == 30 and view.fit.on_test
    # all weights 0: every class equally likely, the first is chosen
    assert (view.fit.values[:, 1:] == 0).all()
    assert len(view.counts) == np.count_nonzero(view.fit.values)


def test_functions_have_no_picture_and_themes_change(opened):
    session, view = opened(ProblemSettings(), 3)
    assert view.stack.currentWidget() is view.empty
    view.set_theme(LIGHT)
    session.rebuild(problem=ProblemSettings("rnn"), start=None)
    view.flush()
    view.finish()
    objective = session.current.simulation.objective
    fit = make_fit(objective, session.current.simulation.weights)
    dataset = objective.samples.dataset
    rows = objective.samples.test_rows
    assert fit.kind == "predicted"
    np.testing.assert_array_equal(fit.test[:, 0], dataset.targets[rows])


def test_metrics_go_on_where_they_stopped(opened):
    session, _ = opened(ProblemSettings("logistic_regression", data="moons(rows=60, seed=2)"))
    simulation = session.current.simulation
    simulation.advance(10)
    first = MetricsJob(simulation, simulation.history)
    assert first.advance(5.0)
    simulation.advance(10)
    second = MetricsJob(simulation, simulation.history, first)
    assert second.advance(5.0) and second.steps == list(range(20))
    assert second.rows[15] == simulation.objective.metrics(simulation.history.weights(15))
