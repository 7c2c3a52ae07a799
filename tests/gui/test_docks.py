"""Views are made when they are first seen; a staged window is painted first and looks the same in the end."""

import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QWidget

from core.simulation import Experiment
from gui.main_window import MainWindow
from gui.session import Session
from gui.view_table import TABLE, view_class


@pytest.fixture
def opened(qtbot):
    made = []

    def make(**settings):
        window = MainWindow(Session(Experiment()), "light", **settings)
        window.resize(1280, 800)
        made.append(window)
        window.show()
        return window

    yield make
    for window in made:
        window.close()
        window.deleteLater()


def test_the_table_says_what_the_classes_say():
    for entry in TABLE:
        found = view_class(entry.name)
        assert (found.name, found.title) == (entry.name, entry.title)


def test_what_the_first_frame_needs_is_light():
    code = "import gui.app, gui.main_window, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert not {"pyqtgraph", "contourpy", "PIL", "OpenGL", "scipy", "pandas", "pyarrow"} & set(done.stdout.split())


def test_only_what_is_seen_is_made(opened, qtbot):
    window = opened()
    front = {"pipeline", "surface", "timeline", "vectors", "ledger"}
    assert {view.name for view in window.views.made()} == {*front, "log"}
    window.docks["runs"].raise_()
    qtbot.waitUntil(lambda: window.docks["runs"].view is not None)
    assert window.docks["runs"].widget() is window.views["runs"] and window.views["runs"].seen
    assert window.docks["tape"].view is None
    assert window.views["tape"] is window.docks["tape"].view


def test_the_log_has_what_was_said_before_it_was_seen(opened):
    window = opened()
    window.session.message.emit("said early", "")
    assert "said early" in window.views["log"].text.toPlainText()


def places(docks):
    """Where docks, their first lines and what is below them stand; the one ends where the other begins."""
    found = {}
    for dock in docks:
        header, card = dock.titleBarWidget().geometry(), dock.widget().geometry()
        assert header.bottom() + 1 == card.top()
        found[dock.entry.name] = (dock.geometry(), header, card)
    return found


def test_a_staged_window_is_filled_after_its_first_frame_and_nothing_moves(opened, qtbot):
    window = opened(staged=True)
    assert [view.name for view in window.views.made()] == ["log"]
    seen = [dock for dock in window.docks.values() if dock.in_front]
    before = places(seen)
    with qtbot.waitSignal(window.filled, timeout=20_000):
        pass
    assert set(before) == {view.name for view in window.views.made()} - {"log"}
    assert places(seen) == before


class OtherWindows(QObject):
    """Notes every window that is shown."""

    def __init__(self, parent):
        super().__init__(parent)
        self.names = []

    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.names.append(type(watched).__name__)
        return False


def test_no_part_of_a_view_is_a_window_of_its_own_on_the_way(opened, qtbot, qapp):
    """A widget shown before it has a parent opens a window for a moment: it flashes, takes the focus away, and may
    be painted while it is being moved."""
    watcher = OtherWindows(qapp)
    qapp.installEventFilter(watcher)
    window = opened()
    for name in window.views:
        window.docks[name].raise_()
        window.views[name].flush()
    qapp.removeEventFilter(watcher)
    assert watcher.names == ["MainWindow"]


def test_floating_hidden_and_tabbed_docks_come_back_as_they_were(opened, qtbot):
    first = opened()
    first.docks["vectors"].setFloating(True)
    first.docks["vectors"].resize(420, 310)
    first.docks["timeline"].hide()
    first.docks["runs"].raise_()
    qtbot.waitUntil(lambda: first.docks["runs"].in_front)
    first.close()
    second = opened()
    vectors = second.docks["vectors"]
    assert vectors.isFloating() and vectors.size() == first.docks["vectors"].size()
    qtbot.waitUntil(lambda: vectors.view is not None and vectors.view.isVisible())
    assert second.docks["timeline"].isHidden() and second.docks["timeline"].view is None
    qtbot.waitUntil(lambda: second.docks["runs"].in_front and second.docks["runs"].view is not None)
    assert not second.docks["ledger"].in_front
    second.apply_layout("Learn")
    qtbot.waitUntil(lambda: not vectors.isFloating() and second.docks["timeline"].view is not None)


def test_full_screen_and_back_by_key(opened, qtbot):
    window = opened()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.keyClick(window, Qt.Key.Key_F11)
    qtbot.waitUntil(window.isFullScreen)
    qtbot.keyClick(window, Qt.Key.Key_F11)
    qtbot.waitUntil(lambda: not window.isFullScreen())
