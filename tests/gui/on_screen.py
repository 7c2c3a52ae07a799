"""Puts views and windows on the screen of a test and takes them away again; waits until they show what they should."""

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QWidget

from gui.main_window import MainWindow
from gui.session import Session
from gui.theme import DARK


def settle(view):
    """Wait for the worker, then until the view is laid out and shows what there is."""
    view.session.engine.settle()
    for _ in range(3):
        QCoreApplication.processEvents()
    view.flush()
    QCoreApplication.processEvents()
    view.flush()


class Screen:
    """What a test has opened, in the order in which it was opened."""

    def __init__(self, qtbot):
        self.qtbot = qtbot
        self.sessions = []
        self.hosts = []
        self.windows = []

    def session(self, session):
        """Close this session at the end; returns it."""
        if session not in self.sessions:
            self.sessions.append(session)
        return session

    def view(self, kind, session, size, theme=DARK, prepare=None):
        """A view of the session, shown and laid out; ``prepare(view)`` is called before it is shown."""
        self.session(session)
        # within a plain widget: the offscreen platform warns about size hints of windows
        host = QWidget()
        self.hosts.append(host)
        view = kind(session, theme, host)
        if prepare is not None:
            prepare(view)
        host.resize(*size)
        view.resize(*size)
        host.show()
        settle(view)
        return view

    def window(self, experiment=None, theme="dark", size=(1280, 800), steps=0, **settings):
        """The program's window with a new session, filled; ``steps`` steps are taken."""
        window = MainWindow(Session(experiment), theme, **settings)
        self.windows.append(window)
        window.resize(*size)
        window.show()
        self.qtbot.waitExposed(window)
        if steps:
            take(window, steps)
        return window

    def close(self):
        """Close everything without a question; nothing of it is left afterwards."""
        for window in self.windows:
            window.session.file = None
            window.close()
            window.deleteLater()
        for host in self.hosts:
            host.close()
            host.deleteLater()
        for session in self.sessions:
            session.close()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def take(window, steps):
    """Have the window's current run take exactly these steps, and wait for their report."""
    history = window.session.current.history
    target = history.count + steps
    window.session.engine.advance(window.session.current, steps)
    window.session.engine.settle()
    assert history.count == target
