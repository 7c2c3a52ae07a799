"""The application: binding check, display check, collection of garbage in the GUI thread, exceptions to the user."""

from __future__ import annotations

import gc
import os
import sys
import threading
import traceback
from types import TracebackType
from typing import Any

from gui.binding import check_binding
from gui.plots import configure_plots

COLLECT_MILLISECONDS = 1000


def display_problem() -> str:
    """'' when a window can be opened here, else why not."""
    if os.environ.get("QT_QPA_PLATFORM") or not sys.platform.startswith("linux"):
        return ""
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return ""
    return "there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)"


def run_window(path: str | None) -> int:
    """Open the window on ``path`` and run until it is closed; without a display, run headless and say so."""
    trouble = check_binding()
    if trouble:
        print(f"stepscope: {trouble}", file=sys.stderr)
        return 1
    reason = display_problem()
    from core.commands.sources import REQUEST_ERRORS
    from core.traces import TraceError

    if reason:
        from gui.export.render import run_headless

        try:
            return run_headless(path, reason)
        except (*REQUEST_ERRORS, TraceError) as error:
            print(f"stepscope: {error}", file=sys.stderr)
            return 2
    # most of what is imported and built now stays: looking for garbage among it takes time and finds none
    gc.disable()
    application = make_application(plots=False)
    keeper = GarbageKeeper()
    from gui.main_window import MainWindow

    try:
        window = MainWindow.open(path, staged=True)
    except (*REQUEST_ERRORS, TraceError) as error:
        keeper.stop()
        print(f"stepscope: {error}", file=sys.stderr)
        return 2
    catcher = ExceptionCatcher(window)
    if path is None:
        window.filled.connect(window.hints.welcome)
    window.show()
    window.menus.documents.offer_recovery()
    try:
        return int(application.exec())
    finally:
        catcher.uninstall()
        keeper.stop()


def make_application(*, plots: bool = True) -> Any:
    """The QApplication; the existing one when there is one. Without ``plots`` pyqtgraph is not loaded yet."""
    from PySide6.QtCore import QLocale, Qt
    from PySide6.QtGui import QIcon
    from PySide6.QtWidgets import QApplication

    if QApplication.instance() is None:
        # pyqtgraph compiles its shaders once for all 3-D views, whose contexts must therefore share them
        QApplication.setAttribute(Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    application = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(application, QApplication)
    application.setApplicationName("Stepscope")
    application.setOrganizationName("Stepscope")
    application.setDesktopFileName("stepscope")
    QLocale.setDefault(QLocale.c())
    from gui.resources import icon_path
    from gui.translations import install_translations

    install_translations(application)
    application.setWindowIcon(QIcon(icon_path("stepscope.svg")))
    application.setStyle("Fusion")
    if plots:
        configure_plots()
    return application


class GarbageKeeper:
    """Collects garbage in the GUI thread only: elsewhere Python would destroy Qt objects from the wrong thread."""

    def __init__(self) -> None:
        from PySide6.QtCore import QTimer

        gc.disable()
        self._timer = QTimer()
        self._timer.setInterval(COLLECT_MILLISECONDS)
        self._timer.timeout.connect(_collect)
        self._timer.start()

    def stop(self) -> None:
        """Hand collection back to Python."""
        self._timer.stop()
        gc.enable()


def _collect() -> None:
    counts, limits = gc.get_count(), gc.get_threshold()
    for generation in (2, 1, 0):
        if counts[generation] > limits[generation] > 0:
            gc.collect(generation)
            return


class ExceptionCatcher:
    """Brings exceptions of slots and threads to the user as a message; the program goes on living."""

    def __init__(self, window: Any) -> None:
        self._window = window
        self._old = sys.excepthook, threading.excepthook
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception

    def uninstall(self) -> None:
        """Put the former hooks back."""
        sys.excepthook, threading.excepthook = self._old

    def _on_exception(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            self._window.close()
            return
        details = "".join(traceback.format_exception(kind, error, trace))
        print(details, file=sys.stderr)
        self._window.session.message.emit(f"Unexpected: {error or kind.__name__}", details)

    def _on_thread_exception(self, arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            self._on_exception(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)
