"""Menus, their actions and dialogs. Each question to the user is one function, so that tests can answer it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QSettings, QUrl, Slot
from PySide6.QtGui import QAction, QActionGroup, QDesktopServices, QKeySequence
from PySide6.QtWidgets import QFileDialog, QMenu, QMessageBox, QWidget

from core.simulation import Experiment, ExperimentError
from core.traces import TraceError, write_trace
from gui.autosave import recoverable
from gui.export.dialog import ExportDialog
from gui.layouts import LAYOUTS

if TYPE_CHECKING:
    from gui.main_window import MainWindow

MAX_RECENT = 8


class Menus(QObject):
    """Builds the menu bar of a main window and carries its actions out."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.window = window
        self.session = window.session
        self._stamp = None if self.session.file is None else _stamp_of(self.session.file)
        bar = window.menuBar()
        self._file_menu(bar.addMenu(self.tr("&File")))
        self._edit_menu(bar.addMenu(self.tr("&Edit")))
        self._run_menu(bar.addMenu(self.tr("&Run")))
        self._view_menu(bar.addMenu(self.tr("&View")))
        self._help_menu(bar.addMenu(self.tr("&Help")))

    def _add(self, menu: QMenu, text: str, key: str, tip: str, slot: Callable[..., Any]) -> QAction:
        action = QAction(text, self.window)
        if key:
            action.setShortcut(QKeySequence(key))
        action.setStatusTip(tip)
        action.setToolTip(tip)
        action.triggered.connect(slot)
        menu.addAction(action)
        return action

    def _file_menu(self, menu: QMenu) -> None:
        add = self._add
        add(menu, self.tr("&New experiment"), "Ctrl+N", self.tr("Start afresh with the example"), self.new)
        add(menu, self.tr("&Open…"), "Ctrl+O", self.tr("Open an experiment file"), self.open)
        self.recent = menu.addMenu(self.tr("Open &recent"))
        self.recent.aboutToShow.connect(self._fill_recent)
        menu.addSeparator()
        add(menu, self.tr("&Save"), "Ctrl+S", self.tr("Save the experiment with its live changes"), self.save)
        add(menu, self.tr("Save &as…"), "Ctrl+Shift+S", self.tr("Save the experiment under a name"), self.save_as)
        menu.addSeparator()
        add(menu, self.tr("&Export plots…"), "Ctrl+E", self.tr("A view as PNG, SVG or PDF"), self.export_plots)
        add(menu, self.tr("Export &trace…"), "Ctrl+T", self.tr("All steps as CSV or npz"), self.export_trace)
        menu.addSeparator()
        add(menu, self.tr("&Quit"), "Ctrl+Q", self.tr("Close the window"), self.window.close)

    def _edit_menu(self, menu: QMenu) -> None:
        stack = self.session.undo_stack
        for action, key, tip in (
            (stack.createUndoAction(self.window, self.tr("&Undo")), "Ctrl+Z", self.tr("Take the last change back")),
            (stack.createRedoAction(self.window, self.tr("&Redo")), "Ctrl+Shift+Z", self.tr("Make it again")),
        ):
            action.setShortcut(QKeySequence(key))
            action.setStatusTip(tip)
            menu.addAction(action)

    def _run_menu(self, menu: QMenu) -> None:
        bar = self.window.transport
        for action in (bar.run_action, bar.step_action, bar.back_action, bar.restart_action, bar.end_action):
            entry = self._add(menu, str(action.data()), "", action.statusTip(), action.trigger)
            entry.setText(f"{action.data()}\t{action.shortcut().toString()}")
        menu.addSeparator()
        self._add(menu, self.tr("&Fork here"), "Ctrl+F", self.tr("A new run from the step shown"), self.fork_here)
        self._add(
            menu, self.tr("Re&wind here"), "Ctrl+R", self.tr("Take the run back to the step shown"), self.rewind_here
        )

    def _view_menu(self, menu: QMenu) -> None:
        for name, dock in self.window.docks.items():
            action = dock.toggleViewAction()
            action.setStatusTip(self.tr("Show or hide this view"))
            action.setData(name)
            menu.addAction(action)
        menu.addSeparator()
        layouts = menu.addMenu(self.tr("&Layout"))
        for number, name in enumerate(LAYOUTS, start=1):
            action = self._add(
                layouts, self.tr(name), f"Ctrl+{number}", self.tr("Arrange the views so"), self._on_layout
            )
            action.setData(name)
        themes = menu.addMenu(self.tr("&Theme"))
        group = QActionGroup(self)
        for choice in ("system", "light", "dark"):
            action = self._add(themes, self.tr(choice.capitalize()), "", self.tr("Colours"), self._on_theme)
            action.setCheckable(True)
            action.setData(choice)
            action.setChecked(choice == self.window.theme_choice)
            group.addAction(action)
        self._add(menu, self.tr("&Full screen"), "F11", self.tr("The whole screen, or back"), self._on_full_screen)

    def _help_menu(self, menu: QMenu) -> None:
        self._add(menu, self.tr("&Keys"), "?", self.tr("Which keys do what"), self.show_keys)
        self._add(menu, self.tr("&About"), "", self.tr("What this is"), self.show_about)

    @Slot()
    def fork_here(self) -> None:
        """A new run from the step shown."""
        self.session.fork()

    @Slot()
    def rewind_here(self) -> None:
        """Drop everything behind the step shown."""
        self.session.rewind(self.session.cursor)

    # files ----------------------------------------------------------------------------------------------------

    @Slot()
    def new(self) -> None:
        """Back to the example."""
        from core.commands.sources import DEFAULT_OPTIMIZER

        if self.may_close():
            self.session.file = None
            self.session.open_experiment(Experiment(optimizer=DEFAULT_OPTIMIZER))

    @Slot()
    def open(self) -> None:
        """Ask for an experiment file and open it."""
        name, _ = QFileDialog.getOpenFileName(
            self.window, self.tr("Open"), "", self.tr("Experiments (*.json);;All files (*)")
        )
        if name:
            self.open_file(name)

    def open_file(self, name: str) -> bool:
        """Open the experiment at ``name``; on a mistake in it the user is told and nothing changes."""
        if not self.may_close():
            return False
        try:
            experiment = Experiment.load(name)
            self.session.open_experiment(experiment)
        except (ExperimentError, ValueError) as error:
            self.show_error(str(error), "")
            return False
        self.session.file = name
        self._stamp = _stamp_of(name)
        self._remember(name)
        self.session.run_changed.emit()
        return True

    def _changed_behind(self, name: str) -> bool:
        """Whether the session's file is no longer what was read or written here (another window saved it)."""
        return name == self.session.file and self._stamp is not None and _stamp_of(name) not in (None, self._stamp)

    def ask_overwrite(self, name: str) -> bool:
        """The question whether to write over somebody else's changes."""
        buttons = QMessageBox.StandardButton
        answer = QMessageBox.question(
            self.window,
            self.tr("Write over it?"),
            self.tr("{0} was changed by another program since it was opened here.").format(name),
            buttons.Yes | buttons.No,
        )
        return answer == buttons.Yes

    def offer_recovery(self) -> None:
        """After a crash: offer what was open then, newest first."""
        for path, experiment in recoverable():
            if self.ask_recovery(experiment):
                self.session.open_experiment(experiment)
                path.unlink(missing_ok=True)
                return
            path.unlink(missing_ok=True)

    def ask_recovery(self, experiment: Experiment) -> bool:
        """The question whether to bring back what a crash interrupted."""
        buttons = QMessageBox.StandardButton
        answer = QMessageBox.question(
            self.window,
            self.tr("Bring it back?"),
            self.tr("Stepscope did not end in order. An experiment on {0} was open; bring it back?").format(
                experiment.problem.name
            ),
            buttons.Yes | buttons.No,
        )
        return answer == buttons.Yes

    @Slot()
    def save(self) -> bool:
        """Save to the file the session came from, or ask for one."""
        if self.session.file is None:
            return self.save_as()
        return self.save_file(self.session.file)

    @Slot()
    def save_as(self) -> bool:
        """Ask for a name and save there."""
        name, _ = QFileDialog.getSaveFileName(
            self.window, self.tr("Save"), "experiment.json", self.tr("Experiments (*.json)")
        )
        return bool(name) and self.save_file(name)

    def save_file(self, name: str) -> bool:
        """Write the current run's experiment to ``name``; False, and a message, when that fails."""
        run = self.session.current
        if self._changed_behind(name) and not self.ask_overwrite(name):
            return False
        try:
            self.session.engine.settle()
            run.simulation.to_save().save(name)
        except OSError as error:
            self.show_error(f"{name}: could not be saved: {error.strerror or error}", "")
            return False
        self.session.file = name
        self._stamp = _stamp_of(name)
        run.saved = run.simulation.experiment
        self._remember(name)
        self.session.run_changed.emit()
        return True

    def may_close(self) -> bool:
        """Whether what is open may go: asks when a file would lose changes."""
        run = self.session.current
        if self.session.file is None or run.simulation.experiment == run.saved:
            return True
        answer = self.ask_save()
        if answer == QMessageBox.StandardButton.Save:
            return self.save()
        return answer == QMessageBox.StandardButton.Discard

    def ask_save(self) -> QMessageBox.StandardButton:
        """The question whether to save first."""
        buttons = QMessageBox.StandardButton
        return QMessageBox.question(
            self.window,
            self.tr("Save changes?"),
            self.tr("{0} has changes that are not saved.").format(Path(str(self.session.file)).name),
            buttons.Save | buttons.Discard | buttons.Cancel,
        )

    def _remember(self, name: str) -> None:
        settings = QSettings()
        recent = [str(Path(name).resolve()), *self._recent_files()]
        settings.setValue("recent", list(dict.fromkeys(recent))[:MAX_RECENT])

    @staticmethod
    def _recent_files() -> list[str]:
        value = QSettings().value("recent")
        if isinstance(value, str):
            return [value]
        return [str(name) for name in value] if isinstance(value, list) else []

    @Slot()
    def _fill_recent(self) -> None:
        self.recent.clear()
        for name in self._recent_files():
            action = self.recent.addAction(name)
            action.setData(name)
            action.triggered.connect(self._on_recent)
        if self.recent.isEmpty():
            self.recent.addAction(self.tr("Nothing yet")).setEnabled(False)

    @Slot()
    def _on_recent(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.open_file(str(action.data()))

    # export ---------------------------------------------------------------------------------------------------

    @Slot()
    def export_plots(self) -> None:
        """The export dialog, on the first view."""
        self.export_view("surface")

    def export_view(self, name: str) -> None:
        """The export dialog, on the view ``name``."""
        self.session.pause()
        dialog = ExportDialog(self.window, name)
        dialog.exec()
        dialog.deleteLater()

    @Slot()
    def export_trace(self) -> None:
        """Ask for a file and write every step to it."""
        self.session.pause()
        name, chosen = QFileDialog.getSaveFileName(
            self.window, self.tr("Export trace"), "trace.csv", self.tr("Table (*.csv);;NumPy (*.npz)")
        )
        if name:
            if not Path(name).suffix:
                name += ".npz" if "npz" in chosen else ".csv"
            self.write_trace(name)

    def write_trace(self, name: str) -> bool:
        """Write the history of the current run to ``name``."""
        run = self.session.current
        try:
            write_trace(run.history, name, run.simulation.experiment)
        except (OSError, TraceError) as error:
            self.show_error(f"{name}: could not be written: {error}", "")
            return False
        self.session.message.emit(self.tr("Written to {0}").format(name), "")
        return True

    def show_view_menu(self, name: str, button: QWidget) -> None:
        """The small menu behind a card's dots."""
        menu = QMenu(button)
        menu.addAction(self.tr("Export this view…")).setData("export")
        menu.addAction(self.tr("Copy as picture")).setData("copy")
        menu.addAction(self.tr("Float or dock")).setData("float")
        menu.addAction(self.tr("Hide")).setData("hide")
        chosen = menu.exec(button.mapToGlobal(button.rect().bottomLeft()))
        menu.deleteLater()
        if chosen is not None:
            self.do_view_action(name, str(chosen.data()))

    def do_view_action(self, name: str, action: str) -> None:
        """'export', 'copy', 'float' or 'hide' a view."""
        dock = self.window.docks[name]
        if action == "export":
            self.export_view(name)
        elif action == "copy":
            from PySide6.QtGui import QGuiApplication

            from gui.export.figure import image_of

            QGuiApplication.clipboard().setImage(image_of(self.window.views[name].figure(), 2.0))
            self.session.message.emit(self.tr("Copied to the clipboard"), "")
        elif action == "float":
            dock.setFloating(not dock.isFloating())
        elif action == "hide":
            dock.hide()

    # view and help --------------------------------------------------------------------------------------------

    @Slot()
    def _on_layout(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.window.apply_layout(str(action.data()))

    @Slot()
    def _on_theme(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.window.set_theme(str(action.data()))

    @Slot()
    def _on_full_screen(self) -> None:
        if self.window.isFullScreen():
            self.window.showNormal()
        else:
            self.window.showFullScreen()

    def show_error(self, sentence: str, details: str) -> None:
        """A message that stays until it is read; details fold out."""
        box = QMessageBox(QMessageBox.Icon.Warning, "Stepscope", sentence, QMessageBox.StandardButton.Ok, self.window)
        if details:
            box.setDetailedText(details)
        box.setAttribute(_delete_on_close())
        box.open()

    @Slot()
    def show_keys(self) -> None:
        """Every key the menus and the transport know."""
        rows = []
        for action in self.window.findChildren(QAction):
            key = action.shortcut().toString()
            if key:
                name = str(action.data() or "") if not action.text().isascii() else action.text().replace("&", "")
                rows.append(f"<tr><td><b>{key}</b>&nbsp;&nbsp;</td><td>{name or action.statusTip()}</td></tr>")
        text = "<table>" + "".join(sorted(set(rows))) + "</table>"
        self._inform(self.tr("Keys"), text)

    @Slot()
    def show_about(self) -> None:
        """What this is."""
        self._inform(
            self.tr("About Stepscope"),
            self.tr(
                "<b>Stepscope 0.1</b><br>Shows why the step an optimizer takes is not the gradient that was computed."
            ),
        )

    def _inform(self, title: str, text: str) -> None:
        box = QMessageBox(QMessageBox.Icon.NoIcon, title, text, QMessageBox.StandardButton.Ok, self.window)
        box.setAttribute(_delete_on_close())
        box.open()

    def open_folder(self, path: Path) -> None:
        """Show a folder in the system's file manager."""
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))


def _stamp_of(name: str) -> tuple[int, int] | None:
    """What tells one state of a file from another."""
    try:
        found = Path(name).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _delete_on_close() -> Any:
    from PySide6.QtCore import Qt

    return Qt.WidgetAttribute.WA_DeleteOnClose
