"""Sharpness against eigenvalues known in closed form or from the whole Hessian."""

import math

import numpy as np
import pytest

from core.problems import problem
from core.simulation import Experiment, ProblemSettings, Simulation, measures
from core.simulation.sharpness import SharpnessJob, _lanczos, objective_at, places, sharpness_at


def test_a_quadratic_has_its_condition_number():
    assert sharpness_at(problem("quadratic", condition=37.0), np.array([3.0, -2.0])) == pytest.approx(37.0, rel=1e-9)


def test_rosenbrock_from_its_second_derivatives():
    x, y = -1.2, 1.0
    # f = (1 - x)² + 100 (y - x²)²
    hessian = np.array([[2 + 1200 * x * x - 400 * y, -400 * x], [-400 * x, 200.0]])
    want = np.linalg.eigvalsh(hessian)[-1]
    assert sharpness_at(problem("rosenbrock"), np.array([x, y])) == pytest.approx(want, rel=1e-9)


def test_a_saddle_gives_the_largest_not_the_steepest():
    # f = x² - 5 y²: eigenvalues 2 and -10
    assert sharpness_at(problem("saddle", curvature=5.0), np.array([0.3, 0.1])) == pytest.approx(2.0, rel=1e-9)


def test_lanczos_agrees_with_the_whole_hessian():
    model = problem("logistic_regression")
    weights = np.random.default_rng(1).normal(size=model.size) * 0.3
    want = np.linalg.eigvalsh(model.hessian(weights))[-1]
    assert _lanczos(model, weights) == pytest.approx(want, rel=1e-4)
    assert sharpness_at(model, weights) == pytest.approx(want, rel=1e-9)


def test_weights_that_are_not_finite_have_none():
    assert math.isnan(sharpness_at(problem("rosenbrock"), np.array([np.inf, 0.0])))
    assert math.isnan(sharpness_at(problem("rosenbrock"), np.array([1e200, 0.0])))


def test_places_are_few_nested_and_coarse_first():
    for count in (1, 5, 160, 161, 1000, 123_457):
        chosen = places(0, count, 160)
        assert 1 <= len(chosen) <= 161 and chosen[0] == 0 and max(chosen) < count
        assert len(set(chosen)) == len(chosen)
    assert set(places(0, 1000, 100)) <= set(places(0, 1000, 400))
    assert set(places(0, 1100, 160)) >= set(places(0, 1000, 160))
    assert sorted(places(500, 540, 160)) == list(range(500, 540))
    assert places(0, 0, 10) == []


def test_a_job_fills_in_what_was_asked_for():
    simulation = Simulation(Experiment(optimizer="torch.optim.SGD(params, lr=0.001)"))
    simulation.advance(40)
    job = SharpnessJob(simulation.history, simulation.objective, [], [0, 16, 32, 900])
    while not job.advance(0.0):
        pass
    assert sorted(job.found) == [0, 16, 32]
    for step, value in job.found.items():
        want = np.linalg.eigvalsh(simulation.objective.hessian(simulation.history.weights(step)))[-1]
        assert value == pytest.approx(want, rel=1e-12)


def test_a_live_change_of_the_problem_counts_from_its_step_on():
    simulation = Simulation(
        Experiment(
            problem=ProblemSettings("quadratic", {"condition": 10.0}), optimizer="torch.optim.SGD(params, lr=0.01)"
        )
    )
    simulation.advance(5)
    simulation.change("problem", "condition", 20.0)
    simulation.advance(5)
    simulation.change("problem", "condition", 30.0)
    simulation.advance(5)
    events = simulation.experiment.events
    found = [objective_at(simulation.objective, events, step).values["condition"] for step in (4, 5, 9, 10, 14)]
    assert found == [10.0, 20.0, 20.0, 30.0, 30.0]


def test_the_limit_is_two_over_the_rate_of_the_step():
    lines = "opt = torch.optim.SGD(params, lr=0.001)\ntorch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.5)"
    simulation = Simulation(Experiment(optimizer=lines))
    simulation.advance(4)
    assert measures.stability_limit(simulation.history) == pytest.approx([2e3, 4e3, 8e3, 1.6e4])
