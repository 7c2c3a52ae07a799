"""The session and its worker: pull protocol, transport, live changes, failures, and an orderly end."""

import threading

import numpy as np
import pytest
from PySide6.QtCore import QThread

from core.simulation import Experiment, Simulation
from core.simulation.experiment import ProblemSettings
from gui.session import Session
from gui.worker import Engine

SGD = "torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)\ntorch.optim.Adam(params, lr=0.05)"


@pytest.fixture
def session(qtbot):
    made = Session(Experiment(optimizer=SGD))
    yield made
    made.close()


def reference(steps, **settings):
    simulation = Simulation(Experiment(optimizer=SGD, **settings))
    simulation.advance(steps)
    return simulation


def test_steps_taken_in_the_thread_are_the_steps_of_the_core(session, qtbot):
    session.engine.advance(session.current, 50)
    qtbot.waitUntil(lambda: session.current.history.count == 50)
    np.testing.assert_array_equal(session.current.history.path(), reference(50).history.path())


def test_running_follows_and_pausing_stops(session, qtbot):
    session.run()
    assert session.state == "running"
    qtbot.waitUntil(lambda: session.cursor > 20)
    session.pause()
    session.engine.settle()
    stopped = session.current.history.count
    qtbot.wait(80)
    assert session.current.history.count == stopped and session.state == "paused"
    assert session.cursor == stopped - 1


def test_runs_side_by_side_stay_in_step(session, qtbot):
    """However fast they go, a race is level whenever it is looked at; a run that diverged does not hold it up."""
    first = session.current
    session.engine.advance(first, 40)
    session.engine.settle()
    levels = []
    racers = session.race(["torch.optim.SGD(params, lr=0.001)", "torch.optim.SGD(params, lr=1e3)"])
    runs = [first, racers[0]]
    session.make_current(first)
    session.engine.frame.connect(lambda: levels.append([run.simulation.step for run in runs]))
    session.run()
    qtbot.waitUntil(lambda: first.history.count > 60)
    session.pause()
    session.engine.settle()
    assert racers[1].trouble and racers[1].history.count < 40
    assert all(one == other for one, other in levels if one > 40)
    np.testing.assert_array_equal(first.history.path(), reference(first.history.count).history.path())


def test_slots_run_in_the_gui_thread(session, qtbot):
    seen = []
    session.history_changed.connect(lambda: seen.append(threading.current_thread() is threading.main_thread()))
    session.step_forward()
    qtbot.waitUntil(lambda: bool(seen))
    assert all(seen) and QThread.currentThread() is session.thread()


def test_scrubbing_leaves_the_run_where_it_is(session, qtbot):
    session.engine.advance(session.current, 30)
    session.engine.settle()
    assert session.cursor == 29
    session.step_back()
    session.show_step(7)
    assert session.cursor == 7 and not session.following
    session.step_forward()
    assert session.cursor == 8 and session.current.history.count == 30
    session.show_step(10_000)
    assert session.cursor == 29 and session.following


def test_a_live_change_acts_and_is_recorded(session, qtbot):
    session.engine.advance(session.current, 10)
    session.change("learning_rate", "learning_rate", 0.2)
    session.engine.advance(session.current, 10)
    session.engine.settle()
    assert session.current.history.count == 20
    (event,) = session.current.events
    assert (event.step, event.value, event.old) == (10, 0.2, 0.05)
    np.testing.assert_array_equal(session.current.history["learning_rate"], [0.05] * 10 + [0.2] * 10)


def test_a_refused_change_reaches_the_user_and_the_program_lives_on(session, qtbot):
    said = []
    session.message.connect(lambda sentence, details: said.append((sentence, details)))
    session.change("clip_by_global_norm", "max_norm", -1.0)
    qtbot.waitUntil(lambda: bool(said))
    assert "max_norm" in said[0][0] and "at least 0" in said[0][0]
    session.step_forward()
    qtbot.waitUntil(lambda: session.current.history.count == 1)


def test_an_exception_in_the_middle_of_a_step_tears_no_row(session, qtbot):
    said = []
    session.message.connect(lambda sentence, details: said.append((sentence, details)))
    session.engine.advance(session.current, 5)
    session.engine.settle()
    simulation = session.current.simulation
    right = simulation.objective.value_and_gradient

    def broken(*arguments):
        raise ZeroDivisionError("a broken problem")

    object.__setattr__(simulation.objective, "value_and_gradient", broken)
    session.run()
    qtbot.waitUntil(lambda: bool(said))
    assert "a broken problem" in said[0][0] and "ZeroDivisionError" in said[0][1]
    assert session.state == "paused" and session.current.history.count == 5
    object.__setattr__(simulation.objective, "value_and_gradient", right)
    session.engine.advance(session.current, 5)
    qtbot.waitUntil(lambda: session.current.history.count == 10)
    np.testing.assert_array_equal(session.current.history.path(), reference(10).history.path())


def test_divergence_is_said_and_rewinding_goes_on(session, qtbot):
    said = []
    session.message.connect(lambda sentence, details: said.append(sentence))
    session.rebuild(optimizer="torch.optim.SGD(params, lr=1e308)")
    session.run()
    qtbot.waitUntil(lambda: session.state == "trouble")
    assert "diverged" in said[-1]
    session.restart()
    qtbot.waitUntil(lambda: session.state == "paused")
    session.change("learning_rate", "learning_rate", 0.001)
    session.step_forward()
    qtbot.waitUntil(lambda: session.current.history.count == 1)


def test_unusable_settings_change_nothing(session, qtbot):
    said = []
    session.message.connect(lambda sentence, details: said.append(sentence))
    before = session.current.simulation
    assert not session.rebuild(optimizer="torch.optim.Nothing(params)")
    assert session.current.simulation is before and said


def test_closing_while_running_ends_the_thread(qtbot):
    for _ in range(10):
        made = Session(Experiment(optimizer=SGD))
        made.run()
        qtbot.waitUntil(lambda made=made: made.current.history.count > 0)
        made.close()
        assert not made.engine._thread.isRunning()
        made.close()
        made.run()
        made.step_forward()


@pytest.mark.parametrize(
    "problem", [ProblemSettings("no_such_problem"), ProblemSettings("linear_regression", data="gone.csv")]
)
def test_an_experiment_that_cannot_be_opened_leaves_no_thread(monkeypatch, problem):
    """A thread that goes on running would end the whole program in the middle of the message."""
    made = []

    class Watched(Engine):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr("gui.session.Engine", Watched)
    with pytest.raises(ValueError, match=r"no_such_problem|gone\.csv"):
        Session(Experiment(problem=problem))
    assert [engine._thread.isFinished() for engine in made] == [True]
