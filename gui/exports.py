"""What leaves the window: figures, tables, animations and scripts. Each question to the user is one function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

if TYPE_CHECKING:
    from gui.main_window import MainWindow

_TABLES = (
    "Table (*.csv);;Table with units and settings in # lines (*.csv);;NumPy (*.npz);;JSON lines (*.jsonl);;"
    "Parquet (*.parquet)"
)


class Exports(QObject):
    """Exports of a window's runs and views; ``show_error`` brings bad news to the user."""

    def __init__(self, window: MainWindow, show_error: Callable[[str, str], None]) -> None:
        super().__init__(window)
        self._window = window
        self._session = window.session
        self._show_error = show_error

    @Slot()
    def plots(self) -> None:
        """The export dialog, on the first view."""
        self.view("surface")

    def view(self, name: str) -> None:
        """The export dialog, on the view ``name``."""
        from gui.export.dialog import ExportDialog

        self._session.pause()
        dialog = ExportDialog(self._window, name)
        dialog.exec()
        dialog.deleteLater()

    @Slot()
    def trace(self) -> None:
        """Ask for a file and write every step to it."""
        self._session.pause()
        name, chosen = QFileDialog.getSaveFileName(self._window, self.tr("Export trace"), "trace.csv", self.tr(_TABLES))
        if name:
            if not Path(name).suffix:
                name += chosen[chosen.rfind(".") : chosen.rfind(")")] or ".csv"
            self.write_trace(name, chosen)

    def write_trace(self, name: str, kind: str = "") -> bool:
        """Write the history of the current run to ``name``; a CSV gets '#' lines when ``kind`` speaks of them."""
        from core.export import write_table
        from core.traces import TraceError

        run = self._session.current
        try:
            write_table(run.history, name, run.simulation.experiment, header="#" in kind)
        except (OSError, TraceError) as error:
            self._show_error(f"{name}: could not be written: {error}", "")
            return False
        self._session.message.emit(self.tr("Written to {0}").format(name), "")
        return True

    @Slot()
    def animation(self) -> None:
        """The dialog for an animation of the current run."""
        from gui.export.animation_dialog import AnimationDialog

        self._session.pause()
        dialog = AnimationDialog(self._window)
        dialog.exec()
        dialog.deleteLater()

    def copy_script(self, framework: str) -> bool:
        """The experiment as a script on the clipboard, or the reason why the framework cannot take these steps.

        A model's data is too large for that: then a file is asked for, and the data goes beside it.
        """
        from core.export.scripts import ScriptError, make_script

        self._session.pause()
        run = self._session.current
        name = ""
        try:
            script = make_script(run.simulation.experiment, framework, max(run.history.count, 100))
            if script.arrays:
                name, _ = QFileDialog.getSaveFileName(
                    self._window, self.tr("Save script with its data"), f"{framework}_run.py", self.tr("Python (*.py)")
                )
                if not name:
                    return False
                file = Path(name).with_suffix(".py")
                written = make_script(
                    run.simulation.experiment, framework, max(run.history.count, 100), f"{file.stem}_data.npz"
                ).write(file)
                self._session.message.emit(self.tr("Written to {0}").format(", ".join(map(str, written))), "")
                return True
        except ScriptError as error:
            self._show_error(self.tr("No script: {0}").format(error), "")
            return False
        except OSError as error:
            self._show_error(f"{name}: {error.strerror or error}", "")
            return False
        QGuiApplication.clipboard().setText(script.text)
        self._session.message.emit(self.tr("Copied to the clipboard"), "")
        return True
