"""Weights put elsewhere by hand at a step: an event like any other, exact, replayed, undone, refused when wrong."""

import numpy as np
import pytest

from core.export.scripts import ScriptError, experiment_script
from core.simulation import Event, Experiment, ProblemSettings, Simulation
from core.simulation.experiment import ExperimentError

MOMENTUM = "torch.optim.SGD(params, lr=0.1, momentum=0.9)"
SETTINGS = Experiment(problem=ProblemSettings(expression="x**2 + 3*y**2"), optimizer=MOMENTUM, start=[1.0, -2.0])


def by_hand(steps, moved):
    """Momentum as PyTorch's documentation gives it; ``moved`` maps steps to the weights put there before them."""
    w, v, path = np.array([1.0, -2.0]), np.zeros(2), []
    for step in range(steps):
        w = np.array(moved.get(step, w))
        path.append(w)
        v = 0.9 * v + np.array([2.0, 6.0]) * w
        w = w - 0.1 * v
    return np.array(path)


def test_the_optimizer_goes_on_from_the_weights_put_there():
    simulation = Simulation(SETTINGS)
    simulation.advance(4)
    simulation.change("weights", "value", [0.5, 0.25])
    simulation.advance(4)
    np.testing.assert_allclose(simulation.history.path(), by_hand(8, {4: [0.5, 0.25]}), rtol=1e-12)
    np.testing.assert_array_equal(simulation.history.weights(4), [0.5, 0.25])


def test_of_an_earlier_step_the_run_is_worked_out_again_and_back():
    simulation = Simulation(SETTINGS)
    simulation.advance(300)
    before = simulation.history.path().copy(), simulation.digest
    for step in (299, 0, 257):
        simulation.set_events([Event(step, "weights", "value", [3.0, 1.0])])
        assert simulation.step == 300
        np.testing.assert_allclose(simulation.history.path(), by_hand(300, {step: [3.0, 1.0]}), rtol=1e-9, atol=1e-12)
        history = simulation.history
        closed = history.expected(step) + history.rows(step).sum(axis=0)
        np.testing.assert_allclose(closed, history.applied(step), atol=1e-14)
    simulation.set_events([])
    np.testing.assert_array_equal(simulation.history.path(), before[0])
    assert simulation.digest == before[1]


def test_the_file_holds_it_and_replays_the_same_bits(tmp_path):
    simulation = Simulation(SETTINGS.replace(storage="float32"))
    simulation.advance(5)
    simulation.change("weights", "value", [0.1, 1 / 3])
    simulation.advance(5)
    simulation.to_save().save(tmp_path / "run.json")
    again = Simulation(Experiment.load(tmp_path / "run.json"))
    again.advance(10)
    assert again.digest == simulation.digest and not again.check_replay()
    np.testing.assert_array_equal(again.history.weights(5), np.array([0.1, 1 / 3], np.float32).astype(np.float64))
    # going back over it, and a fork from behind it, meet the same weights
    simulation.seek(6)
    np.testing.assert_array_equal(simulation.weights, again.history.weights(6))
    np.testing.assert_array_equal(again.fork(8).history.path(), again.history.path()[:8])


@pytest.mark.parametrize("steps", [5, 256])
@pytest.mark.parametrize(
    ("target", "key", "value"),
    [
        ("weights", "value", [0.5, 0.25]),
        ("learning_rate", "learning_rate", 0.03),
        ("optimizer", "lines", "torch.optim.SGD(params, lr=0.01)"),
    ],
)
def test_a_fork_made_right_after_a_change_goes_on_as_its_own_file_says(steps, target, key, value):
    simulation = Simulation(SETTINGS)
    simulation.advance(steps)
    simulation.change(target, key, value)
    fork = simulation.fork()
    for run in (simulation, fork):
        run.advance(3)
    replay = Simulation(fork.experiment)
    replay.advance(steps + 3)
    assert fork.digest == simulation.digest == replay.digest
    np.testing.assert_array_equal(fork.history.path(), simulation.history.path())


def test_a_fork_at_a_step_whose_weights_were_moved_begins_with_them():
    simulation = Simulation(SETTINGS)
    simulation.advance(9)
    simulation.set_events([Event(4, "weights", "value", [3.0, 1.0])])
    fork = simulation.fork(4)
    fork.advance(5)
    np.testing.assert_array_equal(fork.history.path(), simulation.history.path())


@pytest.mark.parametrize(
    ("value", "said"), [([1.0], "1 number was given"), ([1.0, np.inf], "not a finite"), ("x", "2 numbers is needed")]
)
def test_what_is_no_weights_is_refused_and_nothing_changes(value, said):
    simulation = Simulation(SETTINGS)
    simulation.advance(3)
    digest = simulation.digest
    with pytest.raises(ExperimentError, match=said):
        simulation.change("weights", "value", value)
    with pytest.raises(ExperimentError, match=said):
        simulation.set_events([Event(1, "weights", "value", value)])
    assert simulation.digest == digest and simulation.experiment.events == []


def test_a_script_says_that_it_cannot_hold_it():
    experiment = SETTINGS.replace(events=[Event(2, "weights", "value", [1.0, 1.0])])
    with pytest.raises(ScriptError, match="step 2 the weights were put elsewhere"):
        experiment_script(experiment, "torch", 5)
