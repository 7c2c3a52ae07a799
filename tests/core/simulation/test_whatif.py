"""Counterfactuals of recorded steps: taken again from the state they had, said in words, the run untouched."""

import re

import numpy as np
import pytest

from core.declare import SettingError
from core.simulation import Experiment, ProblemSettings, Simulation
from core.simulation.whatif import unmissed, without
from core.simulation.wording import plain
from tests.gui.synthetic import Bowl, simulate

RATE = ("learning_rate", {"learning_rate": 0.1})
LINES = "torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)\ntorch.optim.SGD(params, lr=0.001, momentum=0.9)"


def test_without_clipping_the_step_is_the_plain_one():
    clip = ("clip_by_global_norm", {"max_norm": 1.0, "convention": "optax"})
    simulation = simulate(clip, RATE, objective=Bowl({"w": (2,)}, start=[3.0, 4.0]), steps=4)
    found = without(simulation, 0, "clip_by_global_norm")
    np.testing.assert_allclose(found.without, [-0.3, -0.4], rtol=1e-15)
    assert plain(found.sentence()) == "Without clip by global norm this step would have been 5 times as long."
    assert simulation.step == 4 and simulation.history.count == 4


def test_a_clip_that_adam_undoes_would_not_be_missed():
    lines = "torch.nn.utils.clip_grad_norm_(params, 1.0)\ntorch.optim.{}"
    slope = ProblemSettings(name="expression", expression="300*x + 400*y")
    for optimizer, undone in (("Adam(params, lr=0.001)", True), ("SGD(params, lr=0.001)", False)):
        simulation = Simulation(Experiment(problem=slope, start=[0.0, 0.0], optimizer=lines.format(optimizer)))
        simulation.advance(1)
        found = [one.row for one in unmissed(simulation, 0)]
        assert found == (["clip_by_global_norm"] if undone else [])


@pytest.mark.parametrize("step", [0, 3, 57, 299])
def test_the_state_is_that_of_the_step(step):
    simulation = Simulation(Experiment(optimizer=LINES))
    simulation.advance(300)
    digest = simulation.digest
    found = without(simulation, step, "clip_by_global_norm")
    # by hand: the buffer of the step before, rebuilt from the recorded gradients
    buffer = np.zeros(2)
    for k in range(step):
        g = simulation.history.gradient(k)
        buffer = 0.9 * buffer + g * min(1.0, 4.0 / (np.linalg.norm(g) + 1e-6))
    wanted = -0.001 * (0.9 * buffer + simulation.history.gradient(step))
    np.testing.assert_allclose(found.without, wanted, rtol=1e-9)
    np.testing.assert_array_equal(found.applied, simulation.history.applied(step))
    assert simulation.digest == digest


def test_it_is_another_number_than_the_rows():
    simulation = Simulation(Experiment(optimizer=LINES))
    simulation.advance(50)
    found = without(simulation, 40, "momentum")
    row = simulation.history.rows(40)[simulation.history.schema(40).names.index("momentum")]
    g = simulation.history.gradient(40)
    np.testing.assert_allclose(found.without, -0.001 * g * min(1.0, 4.0 / (np.linalg.norm(g) + 1e-6)), rtol=1e-9)
    assert re.fullmatch(
        r"Without momentum this step would have been \S+ times as long, and turned by \S+ degrees\.",
        plain(found.sentence()),
    )
    assert np.linalg.norm(row) > 0.0


def test_words_for_special_ends():
    # the clip does not act
    idle = simulate(("clip_by_value", {"clip_value": 100.0}), RATE, objective=Bowl({"w": (2,)}, start=1.0), steps=1)
    assert plain(without(idle, 0, "clip_by_value").sentence()).endswith("would have been the same.")
    # nothing but momentum moves a weight at the minimum
    chain = ("momentum", {"momentum": 0.5}), ("learning_rate", {"learning_rate": 1.0})
    still = simulate(*chain, objective=Bowl({"w": (2,)}, start=[1.0, 0.0]), steps=2)
    assert plain(without(still, 1, "momentum").sentence()).endswith("would not have moved anything.")


def test_live_changes_act_in_the_step_taken_again():
    simulation = Simulation(Experiment(optimizer=LINES))
    simulation.advance(10)
    simulation.change("learning_rate", "learning_rate", 0.01)
    simulation.advance(2)
    found = without(simulation, 10, "clip_by_global_norm")
    ratio = np.linalg.norm(found.without) / np.linalg.norm(without(simulation, 9, "clip_by_global_norm").without)
    assert ratio > 3.0


def test_what_cannot_be_left_out_or_does_not_exist():
    simulation = simulate(RATE, objective=Bowl({"w": (2,)}), steps=1)
    with pytest.raises(SettingError, match="without storing"):
        without(simulation, 0, "rounding")
    with pytest.raises(IndexError, match="steps 0 to 0"):
        simulation.retake(1)


def test_a_step_that_hardly_differs():
    # Adam does not see the scale of the gradient: clipping the first step changes only what epsilon does
    lines = LINES.replace("SGD(params, lr=0.001, momentum=0.9)", "Adam(params, lr=0.05)")
    simulation = Simulation(Experiment(optimizer=lines))
    simulation.advance(1)
    found = without(simulation, 0, "clip_by_global_norm")
    change = np.linalg.norm(found.without - found.applied) / np.linalg.norm(found.applied)
    assert 0.0 < change < 1e-6
    assert plain(found.sentence()).endswith(f"would have been the same to within {float(f'{100 * change:.2g}'):.4g} %.")
