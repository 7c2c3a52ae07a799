"""The whole window, driven by mouse and keys; what it shows equals the core's numbers."""

import gc
import threading
import weakref

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QSettings, Qt
from PySide6.QtWidgets import QMessageBox

from core.simulation import Experiment, Simulation
from core.traces import TraceError, read_trace, write_trace
from gui.layouts import LAYOUTS
from gui.main_window import MainWindow
from gui.session import Session
from tests.gui.on_screen import take

LINES = "torch.nn.utils.clip_grad_norm_(params, max_norm=4.0)\ntorch.optim.Adam(params, lr=0.05)"


@pytest.fixture
def window(screen):
    return screen.window(Experiment(optimizer=LINES))


def test_space_runs_and_pauses_and_arrows_step(window, qtbot):
    bar = window.transport
    bar.run_action.trigger()
    qtbot.waitUntil(lambda: window.session.current.history.count > 5)
    assert "Pause" in bar.run_action.text()
    bar.run_action.trigger()
    window.session.engine.settle()
    assert window.session.state == "paused" and "Run" in bar.run_action.text()
    at = window.session.cursor
    bar.back_action.trigger()
    assert window.session.cursor == at - 1
    bar.end_action.trigger()
    assert window.session.cursor == window.session.current.history.count - 1


def test_the_scrub_slider_shows_any_step(window, qtbot):
    take(window, 40)
    window.transport.slider.setValue(17)
    assert window.session.cursor == 17
    assert "17" in window.transport.place.text() and "39" in window.transport.place.text()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_shows_its_views(window, qtbot, layout):
    take(window, 5)
    window.apply_layout(layout)
    named = {view for _, cells in LAYOUTS[layout] for _, views in cells for view in views[:1]}
    qtbot.waitUntil(lambda: all(window.docks[name].isVisible() for name in named if name in window.docks))


def test_layout_and_theme_come_back(qtbot):
    first = MainWindow(Session(Experiment(optimizer=LINES)))
    first.set_theme("light")
    first.show()
    first.docks["timeline"].hide()
    first.close()
    second = MainWindow(Session(Experiment(optimizer=LINES)))
    second.show()
    assert second.theme.name == "light"
    assert second.docks["timeline"].isHidden() and not second.docks["surface"].isHidden()
    second.close()
    first.deleteLater()
    second.deleteLater()


def test_save_open_and_replay_give_the_same_run(window, qtbot, tmp_path):
    take(window, 30)
    window.session.change("learning_rate", "learning_rate", 0.2)
    take(window, 30)
    path = str(tmp_path / "session.json")
    documents = window.menus.documents
    assert documents.save_file(path)
    before = window.session.current.history.path().copy()
    window.session.rebuild(seed=5)
    documents.ask_save = lambda: QMessageBox.StandardButton.Discard
    assert documents.open_file(path)
    qtbot.waitUntil(lambda: window.session.current.history.count == 60)
    np.testing.assert_array_equal(window.session.current.history.path(), before)
    assert window.session.current.simulation.check_replay() == ""
    assert path in documents._recent_files()


def test_a_broken_file_changes_nothing(window, qtbot, tmp_path):
    said = []
    window.menus.documents._show_error = lambda sentence, details: said.append(sentence)
    path = tmp_path / "broken.json"
    path.write_text('{"seed": "x"}')
    before = window.session.current.simulation
    assert not window.menus.documents.open_file(str(path))
    assert window.session.current.simulation is before and "at seed" in said[0]


def test_saving_where_it_cannot_be_saved_keeps_everything(window, qtbot, tmp_path):
    said = []
    window.menus.documents._show_error = lambda sentence, details: said.append(sentence)
    take(window, 3)
    assert not window.menus.documents.save_file(str(tmp_path / "no" / "folder.json"))
    assert "could not be saved" in said[0] and window.session.current.history.count == 3


def test_a_file_changed_by_another_window_is_not_overwritten_without_asking(window, qtbot, tmp_path):
    path = str(tmp_path / "shared.json")
    documents = window.menus.documents
    assert documents.save_file(path)
    Experiment(seed=77, comment="theirs").save(path)
    asked = []
    documents.ask_overwrite = lambda name: asked.append(name) or False
    assert not documents.save_file(path)
    assert asked == [path] and Experiment.load(path).seed == 77


def test_trace_export_equals_the_history(window, qtbot, tmp_path):
    take(window, 25)
    assert window.menus.exports.write_trace(str(tmp_path / "t.npz"))
    history, _ = read_trace(tmp_path / "t.npz")
    np.testing.assert_array_equal(history.path(), window.session.current.history.path())


def test_undo_takes_a_live_change_back(window, qtbot):
    session = window.session
    take(window, 10)
    session.change("learning_rate", "learning_rate", 0.3)
    session.engine.settle()
    take(window, 10)
    changed = session.current.history.path().copy()
    session.undo_stack.undo()
    session.engine.settle()
    straight = Simulation(Experiment(optimizer=LINES))
    straight.advance(session.current.history.count)
    assert session.current.events == []
    np.testing.assert_array_equal(session.current.history.path(), straight.history.path())
    session.undo_stack.redo()
    session.engine.settle()
    np.testing.assert_array_equal(session.current.history.path(), changed)


def test_a_drag_during_the_run_is_taken_back_at_once_and_named_as_on_the_card(window, qtbot, monkeypatch):
    # however slow the machine is, this is one drag
    monkeypatch.setattr("gui.commands.TOGETHER", np.inf)
    session = window.session
    was = session.current.simulation.optimizer.transform("learning_rate").learning_rate
    for value in (0.2, 0.25, 0.3):
        take(window, 4)
        session.change("learning_rate", "learning_rate", value)
        session.engine.settle()
    assert len(session.current.events) == 3 and session.undo_stack.count() == 1
    assert session.undo_stack.undoText() == f"learning rate: lr {was:g} → 0.3"
    session.undo_stack.undo()
    session.engine.settle()
    assert session.current.events == []


def test_forks_and_races_share_start_and_past(window, qtbot):
    session = window.session
    take(window, 20)
    parent = session.current
    session.show_step(12)
    fork = session.without("clip_by_global_norm")
    assert fork is session.current and fork.forked_at == 12 and len(session.runs) == 2
    take(window, 5)
    assert np.shares_memory(fork.history.weights(3), parent.history.weights(3))
    (racer,) = session.race(["torch.optim.SGD(params, lr=0.001)"])
    take(window, 5)
    np.testing.assert_array_equal(racer.history.weights(0), parent.history.weights(0))
    session.remove_run(racer)
    assert racer not in session.runs


def test_closed_windows_leave_nothing_behind(qtbot):
    """No thread, window, session, view or simulation outlives its window (50 in a row were measured so)."""
    before = threading.active_count()
    left = []
    for _ in range(5):
        made = MainWindow(Session(Experiment(optimizer=LINES)), "light")
        made.show()
        made.session.run()
        qtbot.waitUntil(lambda made=made: made.session.current.history.count > 3)
        made.close()
        things = (made, made.session, made.views["surface"], made.views["timeline"], made.session.current.simulation)
        left += [weakref.ref(thing) for thing in things]
        made.deleteLater()
        del made, things
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QCoreApplication.processEvents()
        gc.collect()
    assert [ref() for ref in left if ref() is not None] == []
    assert threading.active_count() <= before
    assert QSettings().value("docks") is not None


def test_the_error_of_a_slot_is_shown_and_the_window_lives(window, qtbot):
    shown = []
    window.menus.show_error = lambda sentence, details: shown.append((sentence, details))
    window.session.message.emit("something broke", "Traceback: details")
    assert shown == [("something broke", "Traceback: details")]
    window.session.message.emit("only a note", "")
    assert window.statusBar().currentMessage() == "only a note"


def test_a_long_message_says_that_it_goes_on(window, qtbot):
    bar = window.statusBar()
    window.session.message.emit("short", "")
    assert bar.shown() == "short"
    sentence = "The run diverged because " + "of this and of that, " * 40
    window.session.message.emit(sentence, "")
    assert bar.shown().endswith("…") and sentence.startswith(bar.shown()[:-1])
    assert len(bar.shown()) > 40 and bar.accessibleDescription() == sentence
    assert bar.room().right() < window.status.x()
    image = bar.grab().toImage()
    ratio = image.devicePixelRatio()
    middle = image.height() // 2
    background = image.pixelColor(1, 1)
    inked = {
        round(x / ratio)
        for x in range(round((window.status.x() + 1) * ratio))
        for y in range(middle - 4, middle + 5)
        if image.pixelColor(x, y) != background
    }
    assert inked and max(inked) <= bar.room().right()


def test_a_trace_opens_as_the_run_it_was_recorded_from(qtbot, tmp_path):
    simulation = Simulation(Experiment(optimizer=LINES, seed=3))
    simulation.advance(15)
    path = str(tmp_path / "run.npz")
    write_trace(simulation.history, path, simulation.experiment)
    window = MainWindow.open(path)
    window.show()
    qtbot.waitUntil(lambda: window.session.current.history.count == 15)
    np.testing.assert_array_equal(window.session.current.history.path(), simulation.history.path())
    window.close()
    window.deleteLater()


def test_a_trace_without_its_experiment_says_what_reads_it(tmp_path):
    simulation = Simulation(Experiment(optimizer=LINES))
    simulation.advance(3)
    path = str(tmp_path / "bare.npz")
    write_trace(simulation.history, path)
    with pytest.raises(TraceError, match="explain"):
        MainWindow.open(path)


def test_the_known_example_opens_from_the_menu(window, qtbot):
    window.menus.documents._fill_examples()
    titles = [action.text() for action in window.menus.documents.examples.actions()]
    assert any("clipped at 1" in title for title in titles)
    action = next(a for a in window.menus.documents.examples.actions() if "clipped at 1" in a.text())
    window.menus.documents.open_example(action.data())
    window.session.step_forward()
    qtbot.waitUntil(lambda: window.session.current.history.count == 1)
    assert window.session.current.history.applied(0)[0] == -0.1


def test_the_names_of_runs_can_be_read_in_the_table(window, qtbot):
    take(window, 5)
    window.session.fork(3)
    view = window.views["runs"]
    window.docks["runs"].setFloating(True)
    window.docks["runs"].resize(760, 300)
    qtbot.waitUntil(lambda: view.isVisible() and view.table.viewport().width() > 700)
    view.refresh()
    table = view.table
    for row in range(2):
        index = view.model.index(row, 1)
        wanted = table.fontMetrics().horizontalAdvance(str(index.data()))
        assert table.columnWidth(1) >= min(wanted, table.horizontalHeader().maximumSectionSize())
        assert str(index.data()) in index.data(Qt.ItemDataRole.ToolTipRole)
