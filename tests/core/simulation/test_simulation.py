"""Stepping, going back, forks and live changes: every run is a pure function of its experiment."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.simulation import Event, Experiment, ProblemSettings, Simulation

QUADRATIC = ProblemSettings(name="expression", expression="0.5*(x**2 + 25*y**2)")
ADAM = "torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)\ntorch.optim.Adam(params, lr=0.05, weight_decay=0.02)"


def simulate(optimizer, steps, problem=QUADRATIC, start=(2.0, 1.0), **settings_):
    simulation = Simulation(Experiment(problem=problem, optimizer=optimizer, start=list(start), **settings_))
    simulation.advance(steps)
    return simulation


def same_rows(a, b, stop):
    for kind in ("weights", "gradient", "applied"):
        np.testing.assert_array_equal(a.history.vectors(kind, 0, stop), b.history.vectors(kind, 0, stop))
    np.testing.assert_array_equal(a.history["loss"][:stop], b.history["loss"][:stop])


def test_gradient_descent_follows_its_closed_form():
    simulation = simulate("torch.optim.SGD(params, lr=0.02)", 50)
    k = np.arange(50)
    np.testing.assert_allclose(simulation.history.path()[:, 0], 2.0 * 0.98**k, rtol=1e-12)
    np.testing.assert_allclose(simulation.history.path()[:, 1], 1.0 * 0.5**k, rtol=1e-12)


def test_the_known_clipping_example():
    line = "torch.nn.utils.clip_grad_value_(params, clip_value=1.0)\ntorch.optim.SGD(params, lr=0.25)"
    problem = ProblemSettings(name="expression", expression="5*x")
    ledger = simulate(line, 1, problem, (0.0,)).ledger(0)
    entry = ledger[next(iter(ledger))]
    rows = {row.name: float(row.contribution.sum()) for row in entry.rows}
    assert float(entry.expected.sum()) == -1.25
    assert rows["clip_by_value"] == 1.0
    assert rows["learning_rate"] == 0.0
    assert float(entry.applied.sum()) == -0.25
    assert float(np.abs(entry.residual).max()) == 0.0


def test_every_recorded_ledger_adds_up():
    simulation = simulate(ADAM, 300, ProblemSettings(name="rosenbrock"), (-1.2, 1.0), storage="float32")
    for step in range(300):
        ledger = simulation.ledger(step)
        entry = ledger["p"]
        largest = np.abs(entry.expected)
        running = entry.expected.copy()
        for row in entry.rows:
            running = running + row.contribution
            largest = np.maximum(largest, np.abs(running))
        total = [
            math.fsum([e, *(row.contribution[i] for row in entry.rows)]) - entry.applied[i]
            for i, e in enumerate(entry.expected)
        ]
        assert np.all(np.abs(total) <= 8 * np.spacing(largest))


def test_applied_is_the_difference_of_stored_weights():
    history = simulate(ADAM, 100, storage="float16").history
    path = history.path()
    np.testing.assert_array_equal(history.vectors("applied")[:-1], np.diff(path, axis=0))
    np.testing.assert_array_equal(path, path.astype(np.float16).astype(np.float64))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 700), st.integers(1, 60))
def test_seeking_back_and_running_again_gives_the_same_bits(back, again):
    straight = simulate(ADAM, 700)
    other = simulate(ADAM, 700)
    other.seek(back)
    assert other.step == back and other.history.count == back
    other.advance(again)
    same_rows(straight, other, min(back + again, 700))


events_strategy = st.lists(
    st.tuples(
        st.integers(0, 120),
        st.sampled_from(
            [
                ("learning_rate", "learning_rate", st.floats(1e-4, 0.2)),
                ("clip_by_global_norm", "max_norm", st.floats(0.1, 10)),
                ("clip_by_global_norm", "enabled", st.booleans()),
                ("first_moment", "beta1", st.floats(0, 0.99)),
                ("l2", "weight_decay", st.floats(0, 0.1)),
            ]
        ).flatmap(lambda item: st.tuples(st.just(item[0]), st.just(item[1]), item[2])),
    ),
    max_size=50,
)


@settings(max_examples=25, deadline=None)
@given(events_strategy)
def test_a_run_with_live_changes_replays_to_the_same_bits(changes):
    live = Simulation(Experiment(problem=QUADRATIC, optimizer=ADAM, start=[2.0, 1.0]))
    for step, (target, key, value) in sorted(changes, key=lambda change: change[0]):
        live.advance(step - live.step)
        live.change(target, key, value)
    live.advance(130 - live.step)
    saved = Experiment.from_bytes(live.experiment.to_bytes())
    replayed = Simulation(saved)
    replayed.advance(130)
    same_rows(live, replayed, 130)
    replayed.seek(37)
    replayed.advance(93)
    same_rows(live, replayed, 130)


def test_changes_of_one_setting_at_one_step_are_one_event():
    simulation = simulate(ADAM, 10)
    for value in (0.1, 0.2, 0.3):
        simulation.change("learning_rate", "learning_rate", value)
    assert simulation.experiment.events == [Event(10, "learning_rate", "learning_rate", 0.3, 0.05)]
    simulation.advance(1)
    assert simulation.history["learning_rate"][10] == 0.3


def test_a_change_in_the_past_keeps_later_events():
    simulation = simulate(ADAM, 10)
    simulation.change("learning_rate", "learning_rate", 0.3)
    simulation.seek(5)
    simulation.change("clip_by_global_norm", "max_norm", 2.0)
    assert [event.step for event in simulation.experiment.events] == [5, 10]
    simulation.advance(10)
    assert simulation.history["learning_rate"][9] == 0.05
    assert simulation.history["learning_rate"][10] == 0.3


def test_a_fork_shares_the_past_and_goes_its_own_way():
    simulation = simulate(ADAM, 400)
    fork = simulation.fork(300, learning_rate=0.5)
    assert fork.step == 300 and fork.history.count == 300
    assert np.shares_memory(fork.history.weights(10), simulation.history.weights(10))
    fork.advance(50)
    same_rows(simulation, fork, 300)
    assert not np.array_equal(fork.history.weights(320), simulation.history.weights(320))
    unchanged = simulation.fork(300)
    unchanged.advance(100)
    same_rows(simulation, unchanged, 400)


def test_without_a_cause_the_fork_is_the_optimizer_without_it():
    clipped = simulate(ADAM, 40)
    fork = clipped.fork(0, clip_by_global_norm__enabled=False)
    fork.advance(40)
    plain = simulate(ADAM.splitlines()[1], 40)
    np.testing.assert_array_equal(fork.history.path(), plain.history.path())


def test_divergence_is_said_and_can_be_rewound():
    simulation = simulate("torch.optim.SGD(params, lr=1e308)", 50)
    assert "diverged at step" in simulation.trouble and "lower the learning rate" in simulation.trouble
    stuck = simulation.history.count
    assert 1 <= stuck < 50
    assert simulation.advance(5) == 0
    assert np.isfinite(simulation.history.weights(0)).all()
    simulation.seek(0)
    assert simulation.trouble == ""
    simulation.change("learning_rate", "learning_rate", 0.02)
    assert simulation.advance(5) == 5


@pytest.mark.parametrize(
    ("settings_", "word"),
    [
        ({"problem": ProblemSettings(name="rosenbrok")}, "rosenbrock"),
        ({"problem": ProblemSettings(name="quadratic", values={"nothing": 1.0})}, "nothing"),
        ({"optimizer": "torch.optim.Adan(params)"}, "Ada"),
        ({"start": [1.0, 2.0, 3.0]}, "3 starting values"),
        ({"start": [1.0, float("nan")]}, "nan is not a finite number"),
        ({"start": [float("-inf"), 1.0]}, "-inf is not a finite number"),
    ],
)
def test_unusable_settings_are_named(settings_, word):
    with pytest.raises(ValueError, match=word):
        Simulation(Experiment(**settings_))


def test_a_refused_change_leaves_the_run_as_it_was():
    simulation = simulate(ADAM, 5)
    before = simulation.experiment
    for target, key, value in (
        ("clip_by_global_norm", "max_norm", -1.0),
        ("nothing", "max_norm", 1.0),
        ("learning_rate", "enabled", False),
        ("problem", "nothing", 1.0),
        ("optimizer", "lines", "torch.optim.Nothing()"),
        ("optimizer", "order", "learning_rate"),
    ):
        with pytest.raises(ValueError):
            simulation.change(target, key, value)
    assert simulation.experiment == before
    simulation.advance(20)
    same_rows(simulation, simulate(ADAM, 25), 25)


def test_breast_cancer_trains_below_a_tenth():
    problem = ProblemSettings(name="logistic_regression")
    simulation = Simulation(Experiment(problem=problem, optimizer="torch.optim.Adam(params, lr=0.05)", seed=1))
    assert simulation.layout.size == 31
    simulation.advance(600)
    assert float(simulation.objective.value(simulation.weights)) < 0.1
