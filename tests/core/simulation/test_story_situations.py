"""The story in the situations people meet: each claim is worked out here from the rule of the optimizer."""

import math
import re

import numpy as np
import pytest

from core.optim.transform import Transform
from core.simulation import Experiment, ProblemSettings, Simulation
from core.simulation.story import story
from tests.gui.synthetic import Bowl, simulate

RATE = ("learning_rate", {"learning_rate": 0.1})
CLIP = "torch.nn.utils.clip_grad_norm_(p, max_norm=4.0)\n"


def run(lines, steps, expression="x**2 + 10*y**2", start=(1.0, 1.0), **settings):
    experiment = Experiment(
        problem=ProblemSettings("expression", expression=expression), optimizer=lines, start=list(start), **settings
    )
    simulation = Simulation(experiment)
    simulation.advance(steps)
    return simulation


def tell(simulation, step=-1):
    history, experiment = simulation.history, simulation.experiment
    step = step % history.count
    return story(history, step, storage=experiment.storage, arithmetic=experiment.arithmetic)


def stated(text):
    """(ratio, degrees) of the opening."""
    found = re.search(r"is (\S+) (?:times )?as long as -lr\*g, and turned by (\S+) degrees", text)
    top, _, bottom = found[1].replace(",", "").partition("/")
    return float(top) / float(bottom or 1.0), float(found[2])


def ratio_and_angle(expected, applied):
    cosine = expected @ applied / np.linalg.norm(expected) / np.linalg.norm(applied)
    return np.linalg.norm(applied) / np.linalg.norm(expected), math.degrees(math.acos(min(1.0, cosine)))


def test_a_clip_that_acts_and_one_that_lets_pass():
    # g = (2, 20), of norm sqrt(404); then far down the valley below the limit
    simulation = run(CLIP + "torch.optim.SGD(p, lr=0.02)", 60)
    norm = math.sqrt(404.0)
    assert f"clip by global norm: a norm of {norm:.4g} was over the limit of 4." in tell(simulation, 0)
    length = np.linalg.norm(simulation.history.gradient(59))
    assert length < 4.0
    assert f"Clip by global norm let the gradient pass: its norm of {length:.4g} is within" in tell(simulation, 59)


def test_adams_first_step_is_one_learning_rate_for_every_weight():
    text = tell(run("torch.optim.Adam(p, lr=0.05)", 1))
    # lr sign(g) for g = (2, 20): from atan(10) to 45 degrees, sqrt(2) / sqrt(404) of the length
    ratio, turn = stated(text)
    assert ratio == pytest.approx(math.sqrt(2.0 / 404.0), rel=0.02)
    assert turn == pytest.approx(math.degrees(math.atan(10.0)) - 45.0, abs=0.5)
    assert "All of the difference is the work of second-moment scaling and bias correction 2:" in text
    assert "First moment and bias correction 1 cancel each other in this step." in text
    assert "Every weight moves by the same amount, one learning rate: of the gradient only the signs are left." in text


def test_adam_late_names_the_largest_of_its_two_averages():
    simulation = run("torch.optim.Adam(p, lr=0.05)", 31)
    history = simulation.history
    m = v = np.zeros(2)
    for g in history.vectors("gradient", 0, 31):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    m_hat, v_hat = m / (1 - 0.9**31), v / (1 - 0.999**31)
    applied = -0.05 * m_hat / (np.sqrt(v_hat) + 1e-8)
    first = np.linalg.norm(-0.05 * m_hat + 0.05 * g)
    second = np.linalg.norm(applied + 0.05 * m_hat)
    text = tell(simulation)
    ratio, turn = stated(text)
    wanted = ratio_and_angle(-0.05 * g, applied)
    assert ratio == pytest.approx(wanted[0], rel=0.02) and turn == pytest.approx(wanted[1], abs=0.5)
    largest = "first moment and bias correction 1" if first > second else "second-moment scaling and bias correction 2"
    assert re.search(rf"(Most of the difference is the work of|The largest cause is) {largest}:", text)
    assert "Every weight moves by the same amount" not in text


def test_momentum_carries_on_over_the_valley_floor():
    simulation = run("torch.optim.SGD(p, lr=0.02, momentum=0.9)", 9)
    g, a = simulation.history.gradient(8), simulation.history.applied(8)
    velocity = np.zeros(2)
    for gradient in simulation.history.vectors("gradient", 0, 9):
        velocity = 0.9 * velocity + gradient
    np.testing.assert_allclose(a, -0.02 * velocity, rtol=1e-9)
    assert g @ a > 0.0
    text = tell(simulation)
    assert "It goes uphill, as far as this gradient can tell." in text
    assert "momentum: the earlier gradients it mixes in point the other way and outweigh this one." in text


@pytest.mark.parametrize("name", ["l2", "decoupled_decay"])
def test_the_two_decays_are_told_apart(name):
    # w = (2, 2), g = (1, 1), lambda = 0.5: both add lr * lambda * w = lr * 1 to a step of lr * 1
    transforms = [(name, {"weight_decay": 0.5}), RATE] if name == "l2" else [RATE, (name, {"weight_decay": 0.5})]
    simulation = simulate(*transforms, objective=Bowl({"w": (2,)}, curvature=0.5, start=[2.0, 2.0]), steps=1)
    text = story(simulation.history, 0)
    assert "the applied step points where -lr*g points, and is 2 times as long." in text
    wanted = {
        "l2": "All of the difference is the work of L2 added to gradient: the penalty on the weights adds a gradient",
        "decoupled_decay": "All of the difference is the work of decoupled weight decay: it pulls the weights towards",
    }
    assert wanted[name] in text


def test_a_gradient_lost_to_float16():
    # 2e-8 is below half of the smallest number of float16, 2**-24
    simulation = run("torch.optim.SGD(p, lr=1.0)", 1, "1e-8*(x**2 + y**2)", storage="float16", arithmetic="float16")
    assert not simulation.history.gradient(0).any() and np.float16(2e-8) == 0.0
    text = tell(simulation)
    assert "the gradient is zero here" in text
    assert f"Computed in float16, a gradient below {2.0**-25:.4g} becomes zero" in text
    assert "Computed in" not in tell(run("torch.optim.SGD(p, lr=1.0)", 1, "0*x + 0*y"))


def test_bfloat16_weights_that_do_not_move():
    # around 1 bfloat16 has steps of 2**-8 below and 2**-7 above; updates of 0.001 are less than half of either
    text = tell(run("torch.optim.SGD(p, lr=0.0005)", 1, "x**2 + y**2", storage="bfloat16"))
    assert f"-lr*g has length {0.001 * math.sqrt(2):.4g}, yet nothing moved." in text
    assert "Rounding to bfloat16 swallowed the updates of both weights (up to 0.001)" in text
    text = tell(run("torch.optim.SGD(p, lr=0.0005)", 1, "x**2 + 100*y**2", storage="bfloat16"))
    assert "swallowed the updates of 1 of 2 weights (up to 0.001)" in text


def test_the_first_step_of_a_warm_up_from_zero():
    lines = "opt = torch.optim.SGD(p, lr=0.02)\ntorch.optim.lr_scheduler.LambdaLR(opt, lambda t: min(1.0, t / 10))"
    simulation = run(lines, 4)
    text = tell(simulation, 0)
    assert f"-lr*g has length {0.02 * math.sqrt(404.0):.4g}, yet nothing moved." in text
    assert text.endswith("Learning rate took all of it away: the schedule gives 0 here, not 0.02.")
    assert "All of the difference is the work of learning rate: the schedule gives 0.006 here, not 0.02." in tell(
        simulation, 3
    )


class Freeze(Transform):
    """The first two weights are not trained."""

    name = "frozen_mask"
    label = "frozen variables"
    cause = "frozen variables"
    formula = "u ← 0 where frozen"

    def update(self, u, state, ctx):
        return np.where(np.arange(len(u)) < 2, 0.0, u)


def test_a_frozen_variable():
    bowl = Bowl({"a": (2,), "b": (2,)}, start=[3.0, 4.0, 1.0, 1.0])
    text = story(simulate(Freeze(), RATE, objective=bowl, steps=1).history, 0)
    ratio, turn = stated(text)
    assert ratio == pytest.approx(math.sqrt(2.0 / 27.0), rel=0.01)
    assert turn == pytest.approx(math.degrees(math.acos(math.sqrt(2.0 / 27.0))), abs=0.5)
    assert "All of the difference is the work of frozen variables: these weights are not trained." in text
    assert "Nearly all of the difference is in a." in text
    text = story(simulate(Freeze(), RATE, objective=Bowl({"a": (2,)}, start=[3.0, 4.0]), steps=1).history, 0)
    assert text.endswith("Frozen variables took all of it away: these weights are not trained.")


def test_a_step_that_the_loss_scaler_skips():
    lines = "scaler = torch.cuda.amp.GradScaler(init_scale=65536.0)\ntorch.optim.SGD(p, lr=0.01)"
    simulation = run(lines, 1, storage="float32", arithmetic="float16")
    # 65536 * 2 is beyond 65504, the largest number of float16
    assert np.isinf(simulation.history.gradient(0)).all()
    text = tell(simulation)
    assert "this step was skipped. Skip if not finite stopped it: 2 of 2 components of the scaled gradient" in text
    assert "No weight changed" in text and "The loss was scaled by 65,536, which was too much here." in text


def test_collecting_gradients_without_an_update():
    simulation = simulate(("accumulate", {"steps": 4}), RATE, objective=Bowl({"w": (2,)}, start=[3.0, 4.0]), steps=4)
    assert "-lr*g has length 0.5, yet nothing moved." in story(simulation.history, 0)
    assert "put the gradient aside until enough of them are collected." in story(simulation.history, 2)
    assert simulation.history.applied(3).any()
    assert "nothing moved" not in story(simulation.history, 3)


def test_nesterov_looks_ahead_from_the_first_step_on():
    simulation = run("torch.optim.SGD(p, lr=0.02, momentum=0.9, nesterov=True)", 1)
    np.testing.assert_allclose(simulation.history.applied(0), -0.02 * 1.9 * np.array([2.0, 20.0]))
    text = tell(simulation)
    assert "the applied step points where -lr*g points, and is 1.9 times as long." in text
    assert text.endswith("Nesterov look-ahead: it goes ahead by one more step of the velocity.")


def test_radam_starts_as_descent_with_momentum():
    """Its second moment is left out until enough gradients have been seen: three rows that undo one another."""
    simulation = run("torch.optim.RAdam(p, lr=0.001)", 2)
    np.testing.assert_allclose(simulation.history.applied(0), [-0.002, -0.02], rtol=1e-9)
    text = tell(simulation, 0)
    assert "in the end the step is -lr*g" in text
    assert "Second-moment scaling, bias correction 2 and rectification cancel each other in this step." in text
    assert "All of the difference is the work of first moment and bias correction 1:" in tell(simulation, 1)


def test_climbing_is_called_climbing():
    text = tell(run("torch.optim.SGD(p, lr=0.01, maximize=True)", 1))
    assert "maximise: it climbs instead of descending, with the sign turned round." in text
    assert "keeps only the sign" not in text
