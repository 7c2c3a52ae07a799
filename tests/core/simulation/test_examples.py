"""The ready-made experiments show what their titles say."""

from pathlib import Path

import numpy as np
import pytest

from core.simulation import Experiment, Simulation

CASES = Path(__file__).parents[3] / "resources" / "cases"


def applied(name, steps):
    simulation = Simulation(Experiment.load(CASES / f"{name}.json"))
    simulation.advance(steps)
    return simulation.history.vectors("applied")


@pytest.mark.parametrize("path", sorted(CASES.glob("*.json")), ids=lambda p: p.stem)
def test_every_example_runs_and_has_a_title(path):
    experiment = Experiment.load(path)
    simulation = Simulation(experiment)
    assert simulation.advance(20) == 20 and experiment.comment


def test_clipping_is_the_example_everyone_knows():
    simulation = Simulation(Experiment.load(CASES / "clipping.json"))
    simulation.advance(1)
    history = simulation.history
    rows = dict(zip(history.schema(0).names, history.rows(0)[:, 0], strict=True))
    assert (history.expected(0)[0], rows["clip_by_value"], history.applied(0)[0]) == (-0.5, 0.4, -0.1)


# the values of the public cases ADA-01, REG-01, MOM-02, MOM-01 and PREC-01
def test_the_first_step_of_adam_is_the_sign():
    np.testing.assert_allclose(applied("adam_first_step", 1)[0], [-0.01, -0.009999900001], rtol=1e-9)


def test_decay_in_adam_and_adamw():
    # with the default epsilon of 1e-8 the values for epsilon 0 hold to about 1e-8
    np.testing.assert_allclose(applied("l2_in_adam", 2)[:, 0], [-0.1, -0.09997731255], rtol=1e-7)
    np.testing.assert_allclose(applied("decoupled_decay", 2)[:, 0], [-0.6, -0.57], rtol=1e-7)


def test_nesterov_looks_one_step_ahead():
    np.testing.assert_allclose(applied("nesterov", 3)[:, 0], [-0.38, -0.542, -0.6878], rtol=1e-12)


def test_the_rate_inside_the_velocity_acts_late():
    # Keras' boundary belongs to the lower piece: the first step has 0.1, all later ones 0.01
    np.testing.assert_allclose(applied("lr_inside_velocity", 2)[:, 0], [-0.1, -0.1], rtol=1e-6)


def test_float16_never_moves():
    assert not applied("float16_lost_updates", 50).any()


def test_the_ridge_is_never_left():
    simulation = Simulation(Experiment.load(CASES / "saddle_ridge.json"))
    simulation.advance(11)
    path = simulation.history.path()
    assert not path[:, 1].any() and path[10, 0] == pytest.approx(0.1073741824)


def test_without_zero_grad_the_gradients_add_up():
    # x**2 from 2: gradients 4, then 3.6 on top of it; lr 0.05
    np.testing.assert_allclose(applied("zero_grad_missing", 2)[:, 0], [-0.2, -0.05 * (4 + 3.6)], rtol=1e-12)


def test_a_clip_behind_the_step_clips_nothing():
    np.testing.assert_allclose(applied("clip_after_step", 2)[:, 0], [-0.5, -0.5], rtol=1e-12)
