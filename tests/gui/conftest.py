"""Fixtures for tests with windows: the application, theme, deferred deletes, and guards against left-over threads."""

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["PYQTGRAPH_QT_LIB"] = "PySide6"

import gc
import threading

import pytest


@pytest.fixture(scope="session")
def qapp_cls():
    from PySide6.QtWidgets import QApplication

    return QApplication


@pytest.fixture(scope="session")
def qapp(qapp_args, qapp_cls, pytestconfig):
    """The application as the program makes it (pyqtgraph configured, settings kept away from the user's)."""
    from gui.app import make_application

    application = make_application()
    import pyqtgraph as pg

    # pyqtgraph drops moves that follow one another within 10 ms; a test sends them as fast as the machine goes
    pg.setConfigOption("mouseRateLimit", -1)
    return application


@pytest.fixture(autouse=True)
def _own_settings(tmp_path, qapp):
    """Settings of every test live in its own folder."""
    from PySide6.QtCore import QSettings

    QSettings.setDefaultFormat(QSettings.Format.IniFormat)
    QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, str(tmp_path / "settings"))


@pytest.fixture(autouse=True)
def _no_leftovers(qapp):
    """No thread outlives its test; deleted widgets are really gone before the next one starts."""
    from PySide6.QtCore import QCoreApplication, QEvent

    before = set(threading.enumerate())
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    QCoreApplication.processEvents()
    gc.collect()
    left = [thread for thread in threading.enumerate() if thread not in before and thread.is_alive()]
    assert not left, f"threads left running: {left}"


@pytest.fixture
def screen(qtbot):
    """Opens views and windows (see tests.gui.on_screen); everything is closed at the end."""
    from tests.gui.on_screen import Screen

    made = Screen(qtbot)
    yield made
    made.close()
