"""Live changes that reach several rows at once, choose a schedule, or reach into one."""

import math

import numpy as np
import pytest

from core.declare import SettingError
from core.optim import parse_optimizer
from core.optim.schedules import SCHEDULES
from core.simulation import Event, Experiment, Simulation
from core.simulation.build import apply_event, current_value, schedule_from

ADAM = "torch.optim.Adam(params, lr=0.05)"
SEQUENCE = """opt = torch.optim.SGD(params, lr=0.1)
s1 = torch.optim.lr_scheduler.LinearLR(opt, start_factor=0.5, total_iters=4)
s2 = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.9)
sched = torch.optim.lr_scheduler.SequentialLR(opt, [s1, s2], milestones=[10])"""


def test_one_change_reaches_all_rows_that_share_a_setting():
    simulation = Simulation(Experiment(optimizer=ADAM))
    simulation.advance(5)
    simulation.change("first_moment bias_correction_1", "beta1", 0.5)
    assert [simulation.optimizer.transform(row).beta1 for row in ("first_moment", "bias_correction_1")] == [0.5, 0.5]
    simulation.advance(5)
    assert simulation.experiment.events[0].old == 0.9
    other = Simulation(simulation.experiment)
    other.advance(10)
    np.testing.assert_array_equal(other.history.path(), simulation.history.path())


def test_all_rows_change_or_none():
    optimizer = parse_optimizer("torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)\n" + ADAM)
    with pytest.raises(SettingError, match="no parameter 'beta1'"):
        apply_event(optimizer, Event(0, "first_moment clip_by_global_norm", "beta1", 0.3))
    assert optimizer.transform("first_moment").beta1 == 0.9


def test_parameter_groups_that_share_a_setting_change_together():
    lines = "torch.optim.SGD([{'params': a, 'lr': 0.1}, {'params': b}], lr=0.01, momentum=0.9)"
    optimizer = parse_optimizer(lines)
    assert len(optimizer.groups) == 2
    apply_event(optimizer, Event(0, "momentum", "momentum", 0.5))
    assert [optimizer.transform("momentum", group).momentum for group in (0, 1)] == [0.5, 0.5]
    apply_event(optimizer, Event(0, "learning_rate", "learning_rate", 0.3))
    assert [optimizer.transform("learning_rate", group).learning_rate for group in (0, 1)] == [0.3, 0.01]


def test_another_schedule_acts_from_the_next_step_on():
    simulation = Simulation(Experiment(problem=Experiment().problem, optimizer="torch.optim.SGD(params, lr=0.001)"))
    simulation.advance(3)
    simulation.change("learning_rate", "schedule", {"name": "ExponentialLR", "gamma": 0.5})
    simulation.advance(2)
    simulation.change("learning_rate.schedule", "gamma", 0.9)
    simulation.advance(1)
    simulation.change("learning_rate", "schedule", None)
    simulation.advance(1)
    rates = simulation.history.scalar("learning_rate")
    # the schedule counts the steps of the run, as one that had been there from the start would
    want = [1e-3] * 3 + [1e-3 * 0.5**3, 1e-3 * 0.5**4, 1e-3 * 0.9**5, 1e-3]
    assert list(rates) == pytest.approx(want, rel=1e-14)
    again = Simulation(simulation.experiment)
    again.advance(7)
    np.testing.assert_array_equal(again.history.scalar("learning_rate"), rates)


def test_a_change_of_schedule_remembers_the_old_one():
    optimizer = parse_optimizer(SEQUENCE)
    old = current_value(optimizer, "learning_rate", "schedule")
    before = [optimizer.transform("learning_rate").rate(k) for k in range(30)]
    apply_event(optimizer, Event(0, "learning_rate", "schedule", None))
    assert current_value(optimizer, "learning_rate", "schedule") is None
    apply_event(optimizer, Event(0, "learning_rate", "schedule", old))
    assert [optimizer.transform("learning_rate").rate(k) for k in range(30)] == before


def test_parts_of_a_schedule_can_be_changed():
    optimizer = parse_optimizer(SEQUENCE)
    apply_event(optimizer, Event(0, "learning_rate.schedule.1", "gamma", 0.5))
    rate = optimizer.transform("learning_rate")
    assert rate.rate(11) == pytest.approx(0.05, rel=1e-14) and rate.rate(0) == pytest.approx(0.05)
    assert current_value(optimizer, "learning_rate.schedule.1", "gamma") == 0.5
    with pytest.raises(SettingError, match="has no part '7'; it has 2 parts"):
        apply_event(optimizer, Event(0, "learning_rate.schedule.7", "gamma", 0.5))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "NoSuch"}, "no schedule 'NoSuch'; there are: StepLR"),
        ("StepLR", "a schedule is"),
        ({"name": "LambdaLR"}, "paste its line"),
        ({"name": "ReduceLROnPlateau"}, "watches the loss"),
        ({"name": "StepLR", "step_size": -1}, "step_size must be"),
        ({"name": "StepLR", "speed": 1}, "no parameter 'speed'"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused_and_the_old_one_stays(settings, message):
    optimizer = parse_optimizer("opt = torch.optim.SGD(params, lr=0.1)\ntorch.optim.lr_scheduler.StepLR(opt, 30)")
    with pytest.raises(SettingError, match=message):
        apply_event(optimizer, Event(0, "learning_rate", "schedule", settings))
    assert current_value(optimizer, "learning_rate", "schedule")["name"] == "StepLR"


def test_only_a_learning_rate_has_a_schedule():
    optimizer = parse_optimizer(ADAM)
    with pytest.raises(SettingError, match="first_moment has no schedule"):
        apply_event(optimizer, Event(0, "first_moment", "schedule", None))
    with pytest.raises(SettingError, match="learning_rate has no schedule to change"):
        apply_event(optimizer, Event(0, "learning_rate.schedule", "gamma", 0.5))


@pytest.mark.parametrize("name", list(SCHEDULES))
def test_settings_of_a_schedule_make_the_same_schedule(name):
    try:
        made = SCHEDULES[name]()
    except TypeError:
        # those made of parts or of a function of the user's
        return
    again = schedule_from(made.settings())
    assert again.settings() == made.settings()
    for k in (0, 1, 7, 100):
        assert again.rate(0.1, k) == made.rate(0.1, k) and math.isfinite(again.rate(0.1, k))
