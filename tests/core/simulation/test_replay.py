"""A run is a function of its experiment: changed, edited, saved, opened and replayed it gives the same bits."""

import math
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.declare import SettingError
from core.simulation import Event, Experiment, ProblemSettings, Recorded, Simulation
from core.simulation.event_lists import moved, with_value, without

LINES = """torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)
opt = torch.optim.AdamW(params, lr=0.01, weight_decay=0.01)
torch.optim.lr_scheduler.StepLR(opt, step_size=30)"""
OTHER = "torch.nn.utils.clip_grad_norm_(params, max_norm=2.0)\ntorch.optim.AdamW(params, lr=0.02, betas=(0.8, 0.9))"
RATE = ("learning_rate", "learning_rate")


def numbers(low, high):
    return st.floats(low, high, allow_nan=False).map(lambda value: float(value))


CHANGES = st.one_of(
    st.tuples(st.just(RATE), numbers(1e-5, 0.1)),
    st.tuples(st.just(("clip_by_global_norm", "max_norm")), numbers(0.01, 10.0) | st.just(math.inf)),
    st.tuples(st.just(("clip_by_global_norm", "enabled")), st.booleans()),
    st.tuples(st.just(("first_moment bias_correction_1", "beta1")), numbers(0.0, 0.99)),
    st.tuples(st.just(("second_moment bias_correction_2", "beta2")), numbers(0.5, 0.999)),
    st.tuples(st.just(("decoupled_decay", "weight_decay")), numbers(0.0, 0.5)),
    st.tuples(
        st.just(("learning_rate", "schedule")),
        st.none() | numbers(0.5, 1.0).map(lambda gamma: {"name": "ExponentialLR", "gamma": gamma}),
    ),
    st.tuples(st.just(("optimizer", "lines")), st.just(OTHER)),
    st.tuples(st.just(("weights", "value")), st.lists(numbers(-2.0, 2.0), min_size=2, max_size=2)),
    st.tuples(st.just(("problem", "noise")), numbers(0.0, 1.0)),
)


@settings(max_examples=8, deadline=None)
@given(
    changes=st.lists(st.tuples(st.integers(0, 4), CHANGES), min_size=50, max_size=50),
    storage=st.sampled_from(["float64", "float32", "float16", "bfloat16"]),
    arithmetic=st.sampled_from(["float64", "float32"]),
    back=st.integers(0, 40),
)
def test_fifty_live_changes_saved_opened_and_replayed_give_the_same_bits(changes, storage, arithmetic, back):
    simulation = Simulation(Experiment(optimizer=LINES, seed=7, storage=storage, arithmetic=arithmetic))
    for place, (steps, ((target, key), value)) in enumerate(changes):
        simulation.advance(steps)
        simulation.change(target, key, value)
        if place == 25:
            # going back and on again leaves no trace
            here = simulation.step
            simulation.seek(max(here - back, 0))
            simulation.advance(here - simulation.step)
    simulation.advance(5)
    text = simulation.to_save().to_bytes()
    opened = Experiment.from_bytes(text)
    assert opened == simulation.to_save() and opened.to_bytes() == text
    replayed = Simulation(opened)
    replayed.advance(simulation.step)
    for kind in ("weights", "gradient", "applied"):
        ours, theirs = simulation.history.vectors(kind), replayed.history.vectors(kind)
        assert ours.tobytes() == theirs.tobytes(), kind
    for step in range(simulation.step):
        assert replayed.history.rows(step).tobytes() == simulation.history.rows(step).tobytes()
    assert replayed.digest == simulation.digest and replayed.check_replay() == ""


@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_any_edits_give_the_run_that_the_edited_experiment_gives(data):
    simulation = Simulation(Experiment(optimizer=LINES, seed=7))
    for steps, ((target, key), value) in data.draw(
        st.lists(st.tuples(st.integers(1, 30), CHANGES), min_size=3, max_size=8)
    ):
        simulation.advance(steps)
        simulation.change(target, key, value)
    simulation.advance(10)
    reached = simulation.step
    for _ in range(data.draw(st.integers(1, 4))):
        events = simulation.experiment.events
        if not events:
            break
        chosen = data.draw(st.sampled_from(events))
        kind = data.draw(st.sampled_from(["remove", "move", "value"]))
        try:
            if kind == "remove":
                simulation.set_events(without(events, [chosen]))
            elif kind == "move":
                simulation.set_events(moved(events, [chosen], data.draw(st.integers(-40, 40))))
            elif chosen.target == "learning_rate" and chosen.key == "learning_rate":
                simulation.set_events(with_value(events, chosen, data.draw(numbers(1e-5, 0.1))))
        except SettingError:
            # a change that needs another one, a step before the first: nothing has changed
            assert simulation.experiment.events == events
        assert simulation.step == reached
    fresh = Simulation(simulation.experiment)
    assert fresh.checked_events(fresh.experiment.events) == simulation.experiment.events
    fresh.advance(reached)
    assert fresh.history.path().tobytes() == simulation.history.path().tobytes()
    assert fresh.digest == simulation.digest


def test_later_changes_tell_what_they_really_changed_from():
    simulation = Simulation(Experiment(optimizer=LINES))
    for value in (0.02, 0.03, 0.04):
        simulation.advance(10)
        simulation.change(*RATE, value)
    simulation.advance(10)
    first, second, third = simulation.experiment.events
    simulation.set_events([first, third])
    assert [(e.value, e.old) for e in simulation.experiment.events] == [(0.02, 0.01), (0.04, 0.02)]
    simulation.set_events([first, second, third])
    assert [(e.value, e.old) for e in simulation.experiment.events] == [(0.02, 0.01), (0.03, 0.02), (0.04, 0.03)]


def test_a_long_run_is_worked_out_again_in_pieces():
    simulation = Simulation(Experiment(optimizer=LINES))
    simulation.advance(900)
    simulation.set_events([Event(100, *RATE, 0.02)], seconds=0.0)
    assert simulation.late and 100 <= simulation.step < 900
    while simulation.late:
        simulation.catch_up(0.005)
    straight = Simulation(simulation.experiment)
    straight.advance(900)
    assert simulation.step == 900 and simulation.digest == straight.digest
    simulation.set_events([], seconds=0.0)
    simulation.seek(50)
    assert not simulation.late and simulation.step == 50


def test_who_still_reads_the_former_history_gets_the_former_vectors():
    # without a budget all chunks but the newest are let go
    simulation = Simulation(Experiment(optimizer=LINES), budget=0)
    simulation.advance(4200)
    former = simulation.history
    assert former.held_from > 1000
    want = Simulation(simulation.experiment)
    want.advance(1001)
    simulation.set_events([Event(500, *RATE, 0.09)], seconds=0.0)
    assert former.weights(1000).tobytes() == want.history.weights(1000).tobytes()


def test_forks_share_the_memory_of_the_past():
    simulation = Simulation(Experiment(optimizer=LINES))
    simulation.advance(3000)
    for at in (1, 1500, 3000):
        fork = simulation.fork(at, learning_rate=0.02)
        for step in (0, at // 2, at - 1):
            for kind in ("weights", "gradient", "applied", "rows"):
                assert np.shares_memory(getattr(fork.history, kind)(step), getattr(simulation.history, kind)(step))
        # going on, each writes to memory of its own
        before = simulation.history.path().tobytes()
        fork.advance(200)
        simulation.seek(3000)
        assert simulation.history.path().tobytes() == before


def test_values_that_json_lacks_survive_the_file(tmp_path):
    events = [
        Event(1, "clip_by_global_norm", "max_norm", math.inf, 4.0),
        Event(2, "clip_by_global_norm", "max_norm", 1.0, math.inf),
        Event(3, "optimizer", "lines", "inf", "-inf"),
    ]
    experiment = Experiment(problem=ProblemSettings(values={"a": -math.inf}), events=events)
    experiment.save(tmp_path / "e.json")
    assert Experiment.load(tmp_path / "e.json") == experiment


def test_numbers_of_numpy_become_plain_ones():
    simulation = Simulation(Experiment(optimizer=LINES))
    simulation.change(*RATE, np.float32(0.5))
    simulation.change("clip_by_global_norm", "enabled", np.bool_(False))
    simulation.change("weights", "value", np.array([1.0, 2.0]))
    events = simulation.experiment.events
    assert [event.value for event in events] == [0.5, False, [1.0, 2.0]]
    assert [type(event.value) for event in events] == [float, bool, list]
    assert Experiment.from_bytes(simulation.to_save().to_bytes()).events == events


RECORDED = Recorded(50, "0123", "1.0", "other")


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"comment": "better words"}, True),
        ({"events": [Event(10, *RATE, 0.5), Event(50, *RATE, 0.1)]}, True),
        ({"events": []}, False),
        ({"events": [Event(10, *RATE, 0.5, 0.3)]}, True),
        ({"events": [Event(10, *RATE, 0.6)]}, False),
        ({"seed": 3}, False),
        ({"seed": 0}, True),
        ({"optimizer": OTHER}, False),
        ({"start": [1.0, 2.0]}, False),
        ({"seed": 3, "recorded": RECORDED}, True),
    ],
)
def test_what_was_recorded_goes_when_the_steps_become_others(changes, kept):
    experiment = Experiment(optimizer=LINES, events=[Event(10, *RATE, 0.5)], recorded=RECORDED)
    assert (experiment.replace(**changes).recorded is not None) is kept


def test_an_edited_run_is_not_blamed_on_the_processor():
    simulation = Simulation(Experiment(optimizer=LINES, events=[Event(10, *RATE, 0.5)]))
    simulation.advance(50)
    opened = Simulation(Experiment.from_bytes(simulation.to_save().to_bytes()))
    opened.advance(50)
    assert opened.check_replay() == ""
    opened.set_events([])
    assert opened.step == 50 and opened.check_replay() == ""
    altered = opened.experiment.replace(recorded=RECORDED)
    told = Simulation(altered)
    told.advance(50)
    assert "another numpy or processor" in told.check_replay()
    # where numpy and the machine are the same they are not to blame
    here = opened.to_save().recorded
    altered = opened.experiment.replace(recorded=Recorded(50, "0" * 64, here.numpy, here.machine))
    told = Simulation(altered)
    told.advance(50)
    assert "another numpy" not in told.check_replay() and "were changed since then" in told.check_replay()


def test_an_exception_in_a_step_of_an_edit_changes_nothing():
    simulation = Simulation(Experiment(optimizer=LINES))
    simulation.advance(100)
    before, path = simulation.experiment, simulation.history.path().tobytes()
    with pytest.raises(SettingError, match=r"the change at step 40: .*max_norm must be at least 0"):
        simulation.set_events([Event(20, *RATE, 0.5), Event(40, "clip_by_global_norm", "max_norm", -1.0)])
    with pytest.raises(SettingError, match="steps count from 0"):
        simulation.set_events([Event(-1, *RATE, 0.5)])
    assert simulation.experiment == before and simulation.history.path().tobytes() == path
    simulation.advance(10)
    straight = Simulation(before)
    straight.advance(110)
    assert simulation.digest == straight.digest


@pytest.mark.skipif(os.name != "posix", reason="links and permissions of POSIX")
def test_saving_keeps_links_and_permissions(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    Experiment(seed=1).save(real)
    real.chmod(0o640)
    link.symlink_to(real)
    Experiment(seed=2).save(link)
    assert link.is_symlink() and Experiment.load(real).seed == 2
    assert real.stat().st_mode & 0o777 == 0o640
    plain = tmp_path / "plain.txt"
    plain.write_text("")
    Experiment().save(tmp_path / "new.json")
    # who may read it is decided as for any new file
    assert (tmp_path / "new.json").stat().st_mode == plain.stat().st_mode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "new.json", "plain.txt", "real.json"]


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_disk_that_is_full_keeps_the_old_file(tmp_path):
    import resource

    path = tmp_path / "e.json"
    Experiment(seed=1).save(path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError) as caught:
            Experiment(seed=2, comment="x" * 20_000).save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.filename == str(path) and caught.value.strerror
    assert Experiment.load(path).seed == 1 and [p.name for p in tmp_path.iterdir()] == ["e.json"]
