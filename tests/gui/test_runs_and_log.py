"""Runs and log: lineage, digest, copying in full, keys; messages that stay readable."""

import csv
import io

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from core.simulation import Experiment
from gui.session import Session
from gui.theme import LIGHT
from gui.views.log import LogView
from gui.views.runs import RunsView
from gui.views.runs_model import LINEAGE, NAME, STATE, VISIBLE

LONG = "baseline of the long comparison for the paper, second revision"


@pytest.fixture
def opened(screen):
    """A session of three runs (a start, a fork of it, a fork of the fork), and what opens views of it."""
    session = screen.session(Session(Experiment(optimizer="torch.optim.Adam(p, lr=0.05)")))
    session.current.name = LONG
    session.current.simulation.advance(20)
    session.fork(12)
    session.current.simulation.advance(3)
    session.without("first_moment", 14)
    return session, lambda kind, size=(420, 300): screen.view(kind, session, size)


def test_the_table_copies_every_number_in_full(opened):
    session, make = opened
    view = make(RunsView)
    view.table.clearSelection()
    view.table.copy()
    rows = list(csv.DictReader(io.StringIO(QGuiApplication.clipboard().text()), delimiter="\t"))
    assert [row["Run"] for row in rows] == [run.name for run in session.runs]
    for row, run in zip(rows, session.runs, strict=True):
        assert float(row["Loss"]) == run.history.scalar("loss")[-1]
        assert int(row["Steps"]) == run.history.count
        assert row["Digest"] == run.simulation.digest and len(row["Digest"]) == 64
        assert row["Optimizer"] == "torch.optim.Adam(p, lr=0.05)"
    fork = session.runs[1].name
    assert rows[0]["From"] == ""
    assert rows[1]["From"] == f"{LONG} at 12"
    assert rows[2]["From"] == f"{fork} at 14 ← {LONG} at 12"


def test_a_closed_parent_is_said(opened):
    session, make = opened
    view = make(RunsView)
    session.remove_run(session.runs[1])
    view.flush()
    assert view.model.index(1, LINEAGE).data() == "a closed run at 14"
    assert view.model.index(1, LINEAGE).data(Qt.ItemDataRole.ToolTipRole) == "a closed run at 14"


def test_runs_by_keys_alone(opened, qtbot):
    session, make = opened
    view = make(RunsView)
    first, second, third = session.runs
    assert session.current is third
    view.table.setCurrentIndex(view.model.index(0, STATE))
    qtbot.keyClick(view.table, Qt.Key.Key_Return)
    assert session.current is first
    view.table.setCurrentIndex(view.model.index(1, VISIBLE))
    qtbot.keyClick(view.table, Qt.Key.Key_Space)
    assert not second.visible
    view.table.setCurrentIndex(view.model.index(2, NAME))
    view.close_action.trigger()
    assert session.runs == [first, second]


def test_racers_descend_from_the_run_they_were_started_from(opened):
    session, _ = opened
    session.make_current(session.runs[0])
    made = session.race(["torch.optim.SGD(p, lr=0.001)", "keras.optimizers.Adam(0.01)", "optax.sgd(0.001)"])
    assert [run.parent for run in made] == [session.runs[0].id] * 3


def test_a_message_that_names_a_step_is_not_given_another(opened):
    session, make = opened
    log = make(LogView)
    session.message.emit("The run diverged at step 34: the gradient is not finite any more.", "")
    session.message.emit("Written to run.csv", "")
    first, second = (line.split("  ", 1)[1] for line in log.text.toPlainText().splitlines())
    assert first == "The run diverged at step 34: the gradient is not finite any more."
    assert second == f"step {session.cursor}  Written to run.csv"


def test_messages_stay_readable(opened):
    session, make = opened
    log = make(LogView)
    session.message.emit("The run diverged.", "Traceback:\n  here\nValueError")
    for _ in range(3):
        session.message.emit("The last run cannot be closed.", "")
    lines = log.text.toPlainText().splitlines()
    assert len(lines) == 5 and lines[0].endswith("The run diverged.") and lines[1] == "    Traceback:"
    assert lines[4].endswith("The last run cannot be closed.   (×3)")
    assert log.note.text() == "4 messages"
    session.message.emit("Something went wrong.", "one\ntwo")
    session.message.emit("Something went wrong.", "one\ntwo")
    assert [line.strip() for line in log.text.toPlainText().splitlines()[6:]] == ["one", "two"]
    before = log.text.toPlainText()
    log.set_theme(LIGHT)
    assert log.text.toPlainText() == before
    block = log.text.document().firstBlock()
    assert block.begin().fragment().charFormat().foreground().color().name() == LIGHT.text


def test_who_reads_back_is_not_carried_off(opened):
    session, make = opened
    log = make(LogView)
    for k in range(60):
        session.message.emit(f"message {k}", "")
    bar = log.text.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0
    bar.setValue(5)
    session.message.emit("one more", "")
    assert bar.value() == 5
    bar.setValue(bar.maximum())
    session.message.emit("and another", "")
    assert bar.value() == bar.maximum()


def test_a_first_message_said_twice(opened):
    session, make = opened
    log = make(LogView)
    session.message.emit("hello", "")
    session.message.emit("hello", "")
    assert log.text.toPlainText().endswith("hello   (×2)") and log.text.document().blockCount() == 1
