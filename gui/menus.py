"""Menus, their actions and dialogs. Each question to the user is one function, so that tests can answer it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QAction, QActionGroup, QDesktopServices, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QDialog, QFileDialog, QMenu, QMessageBox, QWidget

from core.simulation.experiment import ProblemSettings
from gui.documents import Documents
from gui.layouts import LAYOUTS
from gui.views.pipeline.restart import settled

if TYPE_CHECKING:
    from gui.data_dialog import DataDialog
    from gui.main_window import MainWindow

_TABLES = (
    "Table (*.csv);;Table with units and settings in # lines (*.csv);;NumPy (*.npz);;JSON lines (*.jsonl);;"
    "Parquet (*.parquet)"
)


class Menus(QObject):
    """Builds the menu bar of a main window and carries its actions out."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.window = window
        self.session = window.session
        self.documents = Documents(self.session, window, self.show_error)
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
        add(menu, self.tr("&New experiment"), "Ctrl+N", self.tr("Start afresh with the example"), self.documents.new)
        add(menu, self.tr("&Open…"), "Ctrl+O", self.tr("Open an experiment file"), self.documents.open)
        menu.addMenu(self.documents.recent)
        menu.addMenu(self.documents.examples)
        add(menu, self.tr("Own &data…"), "Ctrl+D", self.tr("Train a model on a table of your own"), self.open_data)
        menu.addSeparator()
        add(menu, self.tr("&Save"), "Ctrl+S", self.tr("Save the experiment with its live changes"), self.documents.save)
        add(
            menu,
            self.tr("Save &as…"),
            "Ctrl+Shift+S",
            self.tr("Save the experiment under a name"),
            self.documents.save_as,
        )
        menu.addSeparator()
        add(menu, self.tr("&Export plots…"), "Ctrl+E", self.tr("A view as PNG, SVG or PDF"), self.export_plots)
        add(menu, self.tr("Export &trace…"), "Ctrl+T", self.tr("All steps as a table"), self.export_trace)
        add(
            menu,
            self.tr("Export a&nimation…"),
            "Ctrl+Shift+E",
            self.tr("Steps as GIF, MP4, WebP or animated PNG"),
            self.export_animation,
        )
        scripts = menu.addMenu(self.tr("Copy as s&cript"))
        for name, framework in (("PyTorch", "torch"), ("Keras", "keras"), ("optax", "optax"), ("NumPy", "numpy")):
            action = add(scripts, name, "", self.tr("A program that prints the same steps"), self._on_script)
            action.setData(framework)
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
        self._add(
            menu,
            self.tr("&Live changes…"),
            "Ctrl+L",
            self.tr("What was changed while the run went on, to be edited, moved or removed"),
            self.show_changes,
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

    @Slot()
    def show_changes(self) -> QDialog:
        """The list of the current run's live changes."""
        from gui.views.timeline.changes_dialog import ChangesDialog

        dialog: ChangesDialog | None = self.window.findChild(ChangesDialog)
        if dialog is None:
            dialog = ChangesDialog(self.session, self.window)
        dialog.show()
        dialog.raise_()
        dialog.activateWindow()
        return dialog

    # own data -------------------------------------------------------------------------------------------------

    def open_any(self, name: str) -> None:
        """Open what was dropped: a table as data, a Python file as a function, the rest as an experiment."""
        from gui.data_dialog import is_data_file

        if is_data_file(name):
            self.show_data_dialog(name)
        elif name.lower().endswith(".py"):
            self.documents.open_python(name)
        else:
            self.documents.open_file(name)

    @Slot()
    def open_data(self) -> None:
        """The dialog for own data, without a file yet."""
        self.show_data_dialog("")

    def show_data_dialog(self, path: str) -> DataDialog:
        """The dialog for own data on the file at ``path``."""
        from gui.data_dialog import DataDialog

        dialog = DataDialog(self.session.current.simulation.experiment.problem, path, self.window)
        dialog.chosen.connect(self._on_data)
        dialog.open()
        return dialog

    @Slot(object)
    def _on_data(self, problem: ProblemSettings) -> None:
        kept = settled(self.session.current.simulation.experiment, keep_problem=False)
        self.session.rebuild(**{**kept, "problem": problem, "start": None})

    # export ---------------------------------------------------------------------------------------------------

    @Slot()
    def export_plots(self) -> None:
        """The export dialog, on the first view."""
        self.export_view("surface")

    def export_view(self, name: str) -> None:
        """The export dialog, on the view ``name``."""
        from gui.export.dialog import ExportDialog

        self.session.pause()
        dialog = ExportDialog(self.window, name)
        dialog.exec()
        dialog.deleteLater()

    @Slot()
    def export_trace(self) -> None:
        """Ask for a file and write every step to it."""
        self.session.pause()
        name, chosen = QFileDialog.getSaveFileName(self.window, self.tr("Export trace"), "trace.csv", self.tr(_TABLES))
        if name:
            if not Path(name).suffix:
                name += chosen[chosen.rfind(".") : chosen.rfind(")")] or ".csv"
            self.write_trace(name, chosen)

    def write_trace(self, name: str, kind: str = "") -> bool:
        """Write the history of the current run to ``name``; a CSV gets '#' lines when ``kind`` speaks of them."""
        from core.export import write_table
        from core.traces import TraceError

        run = self.session.current
        try:
            write_table(run.history, name, run.simulation.experiment, header="#" in kind)
        except (OSError, TraceError) as error:
            self.show_error(f"{name}: could not be written: {error}", "")
            return False
        self.session.message.emit(self.tr("Written to {0}").format(name), "")
        return True

    @Slot()
    def export_animation(self) -> None:
        """The dialog for an animation of the current run."""
        from gui.export.animation_dialog import AnimationDialog

        self.session.pause()
        dialog = AnimationDialog(self.window)
        dialog.exec()
        dialog.deleteLater()

    @Slot()
    def _on_script(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.copy_script(str(action.data()))

    def copy_script(self, framework: str) -> bool:
        """The experiment as a script on the clipboard, or the reason why the framework cannot take these steps.

        A model's data is too large for that: then a file is asked for, and the data goes beside it.
        """
        from core.export.scripts import ScriptError, make_script

        self.session.pause()
        run = self.session.current
        name = ""
        try:
            script = make_script(run.simulation.experiment, framework, max(run.history.count, 100))
            if script.arrays:
                name, _ = QFileDialog.getSaveFileName(
                    self.window, self.tr("Save script with its data"), f"{framework}_run.py", self.tr("Python (*.py)")
                )
                if not name:
                    return False
                file = Path(name).with_suffix(".py")
                written = make_script(
                    run.simulation.experiment, framework, max(run.history.count, 100), f"{file.stem}.npz"
                ).write(file)
                self.session.message.emit(self.tr("Written to {0}").format(", ".join(map(str, written))), "")
                return True
        except ScriptError as error:
            self.show_error(self.tr("No script: {0}").format(error), "")
            return False
        except OSError as error:
            self.show_error(f"{name}: {error.strerror or error}", "")
            return False
        QGuiApplication.clipboard().setText(script.text)
        self.session.message.emit(self.tr("Copied to the clipboard"), "")
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


def _delete_on_close() -> Any:
    from PySide6.QtCore import Qt

    return Qt.WidgetAttribute.WA_DeleteOnClose
