"""Files of a session: two windows on one, disks that are full, folders that cannot be written, crashes."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QMessageBox, QWidget

from core.simulation import Event, Experiment, Simulation
from gui.autosave import Autosave, recoverable
from gui.documents import Documents
from gui.session import Session

LINES = "torch.optim.Adam(params, lr=0.05)"
RATE = ("learning_rate", "learning_rate")


class Desk:
    """A session with its documents, and what was said to the user."""

    def __init__(self, qtbot, experiment=None):
        self.session = Session(experiment or Experiment(optimizer=LINES))
        self.window = QWidget()
        qtbot.addWidget(self.window)
        self.said = []
        self.documents = Documents(self.session, self.window, lambda sentence, details: self.said.append(sentence))
        self.documents.ask_save = lambda: QMessageBox.StandardButton.Discard

    def take(self, steps):
        self.session.engine.advance(self.session.current, steps)
        self.session.engine.settle()

    def change(self, value):
        self.session.change(*RATE, value)
        self.session.engine.settle()


@pytest.fixture
def desk(qtbot):
    made = []

    def make(experiment=None):
        made.append(Desk(qtbot, experiment))
        return made[-1]

    yield make
    for one in made:
        one.session.close()


def test_the_second_of_two_windows_asks_before_it_writes_over_the_first(desk, tmp_path):
    path = tmp_path / "shared.json"
    Experiment(optimizer=LINES).save(path)
    first, second = desk(), desk()
    for number, one in enumerate((first, second)):
        assert one.documents.open_file(str(path))
        one.take(10)
        one.change(0.1 * (number + 1))
    assert first.documents.save()
    asked = []
    # under whichever name the file is called
    other_name = os.path.join(str(tmp_path), ".", "shared.json")
    for name in (str(path), other_name):
        second.documents.ask_overwrite = lambda name: asked.append(name) or False
        assert not second.documents.save_file(name)
        assert Experiment.load(path).events[0].value == 0.1
    assert asked == [str(path), other_name]
    # what the second one has is not lost, and may go to another file or over the first
    assert second.session.current.events[0].value == 0.2
    assert second.documents.save_file(str(tmp_path / "mine.json"))
    second.documents.ask_overwrite = lambda name: True
    second.session.file = str(path)
    second.documents._stamp = (0, 0, 0)
    assert second.documents.save()
    assert Experiment.load(path).events[0].value == 0.2


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
def test_a_save_that_fails_is_said_and_loses_nothing(desk, tmp_path, monkeypatch, reason, call):
    path = tmp_path / "e.json"
    one = desk()
    one.take(5)
    assert one.documents.save_file(str(path))
    old = path.read_bytes()
    one.change(0.2)

    def fails(*arguments, **named):
        raise OSError(reason, os.strerror(reason))

    with monkeypatch.context() as patch:
        patch.setattr(f"core.simulation.experiment.os.{call}", fails)
        assert not one.documents.save()
    assert one.said == [f"{path}: could not be saved: {os.strerror(reason)}"]
    assert path.read_bytes() == old and [p.name for p in tmp_path.iterdir() if p.suffix] == ["e.json"]
    # it still counts as changed, and the next try succeeds
    asked = []
    one.documents.ask_save = lambda: asked.append(1) or QMessageBox.StandardButton.Cancel
    assert not one.documents.may_close() and asked
    assert one.documents.save() and Experiment.load(path).events[0].value == 0.2


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_is_read_only(desk, tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    one = desk()
    one.take(3)
    assert not one.documents.save_file(str(folder / "e.json"))
    assert "could not be saved" in one.said[0] and one.session.current.history.count == 3
    folder.chmod(0o755)


def test_a_file_saved_while_the_run_is_worked_out_again_is_true(desk, tmp_path):
    events = [Event(10, *RATE, 0.1, 0.05)]
    simulation = Simulation(Experiment(optimizer=LINES, events=events))
    simulation.advance(3000)
    one = desk(simulation.to_save())
    # opening goes a slice a frame: this one is not there yet
    assert one.session.current.history.count < 3000
    assert one.documents.save_file(str(tmp_path / "early.json"))
    saved = Experiment.load(tmp_path / "early.json")
    again = Simulation(saved)
    again.advance(saved.recorded.steps)
    assert saved.events == events and again.digest == saved.recorded.digest
    one.session.engine.settle()
    assert one.session.current.history.count == 3000
    np.testing.assert_array_equal(one.session.current.history.path(), simulation.history.path())


def test_closing_while_running_saves_nothing_torn(desk, tmp_path, qtbot):
    one = desk()
    path = str(tmp_path / "e.json")
    assert one.documents.save_file(path)
    one.session.run()
    qtbot.waitUntil(lambda: one.session.current.history.count > 50)
    assert one.session.state == "running" and one.documents.save()
    one.session.close()
    saved = Experiment.load(path)
    again = Simulation(saved)
    again.advance(saved.recorded.steps)
    assert saved.recorded.steps > 50 and again.digest == saved.recorded.digest
    # the history that is left behind has whole rows only
    history = one.session.current.history
    again.advance(history.count - again.step)
    np.testing.assert_array_equal(history.path(), again.history.path())


CRASHES = """
import os, sys
os.environ["QT_QPA_PLATFORM"] = "offscreen"
from pathlib import Path
from PySide6.QtCore import QCoreApplication
application = QCoreApplication([])
from core.simulation import Experiment
from gui.autosave import Autosave
from gui.session import Session
session = Session(Experiment(optimizer="torch.optim.Adam(params, lr=0.05)"))
session.engine.advance(session.current, 7)
session.change("learning_rate", "learning_rate", 0.25)
session.engine.settle()
keeper = Autosave(session, Path(sys.argv[1]))
keeper._first = None
keeper.save()
print("saved", flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX")
def test_what_a_killed_program_had_open_is_offered_once(desk, tmp_path, monkeypatch):
    done = subprocess.run(
        [sys.executable, "-c", CRASHES, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "saved", done.stderr
    ((path, experiment),) = recoverable(tmp_path)
    assert experiment.events[0].acts == (7, *RATE, 0.25)
    monkeypatch.setattr("gui.documents.recoverable", lambda: recoverable(tmp_path))
    one = desk()
    kept = []
    one.documents.recovered.connect(lambda: kept.append(path.exists()))
    one.documents.ask_recovery = lambda experiment: True
    one.documents.offer_recovery()
    # the new autosave is written before the old one goes
    assert kept == [True] and not path.exists()
    assert one.session.current.events[0].value == 0.25
    assert recoverable(tmp_path) == []


def test_what_a_living_window_has_open_is_not_offered(desk, tmp_path):
    one = desk()
    keeper = Autosave(one.session, tmp_path)
    one.change(0.2)
    keeper.save()
    assert Experiment.load(keeper.path).events[0].value == 0.2
    assert recoverable(tmp_path) == []
    # back at what it was opened with is news as well, once something else stands in the file
    one.session.undo_stack.undo()
    one.session.engine.settle()
    keeper.save()
    assert Experiment.load(keeper.path).events == []
    keeper.finish()
    assert list(tmp_path.glob("*.json")) == [] and list(tmp_path.glob("*.lock")) == []


def test_an_autosave_that_fails_is_said_once_and_tried_again(desk, tmp_path, monkeypatch):
    one = desk()
    said = []
    one.session.message.connect(lambda sentence, details: said.append(sentence))
    keeper = Autosave(one.session, tmp_path)
    one.change(0.2)

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("core.simulation.experiment.os.fsync", full)
        keeper.save()
        keeper.save()
    assert len(said) == 1 and os.strerror(errno.ENOSPC) in said[0]
    keeper.save()
    assert Experiment.load(keeper.path).events[0].value == 0.2
    keeper.finish()


def test_an_autosave_that_cannot_be_opened_stays(desk, tmp_path, monkeypatch):
    path = tmp_path / "1-x.json"
    Experiment(optimizer="torch.optim.Nothing(params)").save(path)
    monkeypatch.setattr("gui.documents.recoverable", lambda: recoverable(tmp_path))
    one = desk()
    before = one.session.current
    one.documents.ask_recovery = lambda experiment: True
    one.documents.offer_recovery()
    assert one.said and path.exists() and one.session.current is before
