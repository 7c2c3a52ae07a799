"""The curvature in the timeline: right values, worked out in slices, beside 2/lr."""

import numpy as np
import pytest

from core.problems.curvature import lanczos, lanczos_in_parts
from core.simulation import Experiment, ProblemSettings, Simulation
from gui.session import Session
from gui.views.timeline import TimelineView
from gui.views.timeline.sharpness import SharpnessJob, next_step


def rosenbrock_sharpness(x, y):
    """Largest eigenvalue of [[2 - 400(y - 3x²), -400x], [-400x, 200]] by the formula for 2x2 matrices."""
    a, b, d = 2 - 400 * (y - 3 * x * x), -400 * x, 200.0
    return (a + d) / 2 + np.sqrt(((a - d) / 2) ** 2 + b * b)


def test_every_early_step_and_ever_wider_distances():
    covered, looked_at = 0, []
    while covered < 10_000:
        looked_at.append(next_step(covered))
        covered = looked_at[-1] + 1
    assert looked_at[:64] == list(range(64))
    gaps = np.diff(looked_at)
    assert (gaps >= 1).all() and max(gaps[64:] / np.array(looked_at[65:])) < 0.025 and len(looked_at) < 500


def test_the_values_are_those_of_the_formula():
    simulation = Simulation(Experiment(optimizer="torch.optim.SGD(params, lr=0.0005)"))
    simulation.advance(200)
    job = SharpnessJob(simulation, simulation.history, np.empty(0))
    while not job.advance(0.002):
        pass
    path = simulation.history.path()
    wanted = rosenbrock_sharpness(path[:, 0], path[:, 1])
    np.testing.assert_allclose(job.values[:64], wanted[:64], rtol=1e-10)
    assert 190 <= len(job.values) <= 200
    # between the steps looked at: a straight line
    np.testing.assert_allclose(job.values, wanted[: len(job.values)], rtol=2e-2)


def test_changes_of_the_problem_count_from_their_step_on():
    problem = ProblemSettings(expression="0.5*a*x**2", values={"a": 3.0})
    simulation = Simulation(Experiment(optimizer="torch.optim.SGD(params, lr=0.01)", problem=problem))
    simulation.advance(10)
    simulation.change("problem", "a", 8.0)
    simulation.advance(10)
    job = SharpnessJob(simulation, simulation.history, np.empty(0))
    assert job.advance(5.0)
    np.testing.assert_allclose(job.values, [3.0] * 10 + [8.0] * 10, rtol=1e-12)


def test_lanczos_in_slices_is_lanczos():
    rng = np.random.default_rng(3)
    q, _ = np.linalg.qr(rng.standard_normal((80, 80)))
    eigenvalues = np.concatenate([[50.0, 20.0], rng.uniform(-1, 1, 77), [-9.0]])
    matrix = (q * eigenvalues) @ q.T
    parts, pauses = lanczos_in_parts(lambda v: matrix @ v, 80, 1), 0
    while True:
        try:
            next(parts)
            pauses += 1
        except StopIteration as end:
            found = end.value
            break
    assert pauses > 5
    np.testing.assert_allclose(found.values, [50.0, -9.0], rtol=1e-8)
    np.testing.assert_array_equal(found.values, lanczos(lambda v: matrix @ v, 80, 1).values)


def test_a_diverged_run_has_gaps_not_an_error():
    simulation = Simulation(Experiment(optimizer="torch.optim.SGD(params, lr=1.0)"))
    simulation.advance(50)
    job = SharpnessJob(simulation, simulation.history, np.empty(0))
    assert job.advance(5.0) and len(job.values) == simulation.history.count


@pytest.fixture
def timeline(screen):
    session = Session(Experiment(optimizer="torch.optim.SGD(params, lr=0.0005)"))
    session.current.simulation.advance(100)
    return session, screen.view(TimelineView, session, (600, 500))


def test_the_plot_fills_by_itself_and_stops_with_it(qtbot, timeline):
    session, view = timeline
    assert not session.engine.busy
    view.set_plots(["loss", "sharpness"])
    view.flush()
    assert session.engine.works_on("sharpness")
    history = session.current.history
    qtbot.waitUntil(lambda: not session.engine.busy, timeout=20_000)
    extra = view.columns.extra[history]
    x, y = history.path()[0]
    assert extra["sharpness"][0] == pytest.approx(rosenbrock_sharpness(x, y), rel=1e-10)
    np.testing.assert_allclose(extra["stability_limit"], 4000.0)
    view.flush()
    panel = next(panel for panel in view.canvas.panels if panel.spec.name == "sharpness")
    session.show_step(5)
    view.flush()
    x, y = history.path()[5]
    assert panel._value((session.current.id, "sharpness"), 5) == pytest.approx(rosenbrock_sharpness(x, y), rel=1e-10)
    session.current.simulation.advance(100)
    session.history_changed.emit()
    view.flush()
    assert session.engine.works_on("sharpness")
    view.shown = ["loss"]
    view.refresh()
    assert not session.engine.works_on("sharpness")
