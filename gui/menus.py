"""Menus, their actions and dialogs. Each question to the user is one function, so that tests can answer it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction, QActionGroup, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QDialog, QMenu, QMessageBox, QWidget

from core.simulation.experiment import ProblemSettings
from gui.documents import Documents
from gui.exports import Exports
from gui.layouts import LAYOUTS
from gui.mnemonics import with_mnemonics
from gui.rewinding import rewind
from gui.views.pipeline.restart import settled

if TYPE_CHECKING:
    from gui.data_dialog import DataDialog
    from gui.key_map import KeyMap
    from gui.main_window import MainWindow


class Menus(QObject):
    """Builds the menu bar of a main window and carries its actions out."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.window = window
        self.session = window.session
        self.documents = Documents(self.session, window, self.show_error)
        self.exports = Exports(window, self.show_error)
        self.tree: dict[QMenu, list[QMenu]] = {}
        """Every menu of the menu bar and those inside it. (Asking an action for its menu may destroy the menu.)"""
        self._file_menu(self._top_menu(self.tr("&File")))
        self._edit_menu(self._top_menu(self.tr("&Edit")))
        self._run_menu(self._top_menu(self.tr("&Run")))
        self._view_menu(self._top_menu(self.tr("&View")))
        self._help_menu(self._top_menu(self.tr("&Help")))

    def _top_menu(self, title: str) -> QMenu:
        menu = self.window.menuBar().addMenu(title)
        self.tree[menu] = []
        return menu

    def _inner_menu(self, menu: QMenu, inner: QMenu | str) -> QMenu:
        if isinstance(inner, QMenu):
            menu.addMenu(inner)
        else:
            inner = menu.addMenu(inner)
        self.tree[menu].append(inner)
        return inner

    def sections(self) -> list[tuple[str, list[QAction]]]:
        """The title of each menu and all that can be done from it."""
        found = []
        for menu, inner in self.tree.items():
            openers = {one.menuAction() for one in inner}
            actions = [action for action in menu.actions() if action not in openers and not action.isSeparator()]
            for one in inner:
                actions += [action for action in one.actions() if not action.isSeparator()]
            found.append((menu.title(), actions))
        return found

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
        self._inner_menu(menu, self.documents.recent)
        self._inner_menu(menu, self.documents.examples)
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
        add(menu, self.tr("Export &plots…"), "Ctrl+E", self.tr("A view as PNG, SVG or PDF"), self.exports.plots)
        add(menu, self.tr("Export &trace…"), "Ctrl+T", self.tr("All steps as a table"), self.exports.trace)
        add(
            menu,
            self.tr("Export ani&mation…"),
            "Ctrl+Shift+E",
            self.tr("Steps as GIF, MP4, WebP or animated PNG"),
            self.exports.animation,
        )
        scripts = self._inner_menu(menu, self.tr("Copy as s&cript"))
        for name, framework in (("&PyTorch", "torch"), ("&Keras", "keras"), ("&optax", "optax"), ("&NumPy", "numpy")):
            action = add(scripts, name, "", self.tr("A program that prints the same steps"), self._on_script)
            action.setData(framework)
        menu.addSeparator()
        add(menu, self.tr("&Quit"), "Ctrl+Q", self.tr("Close the window"), self.window.close)

    def _edit_menu(self, menu: QMenu) -> None:
        stack = self.session.undo_stack
        for action, keys, tip in (
            (stack.createUndoAction(self.window, self.tr("&Undo")), ["Ctrl+Z"], self.tr("Take the last change back")),
            (
                stack.createRedoAction(self.window, self.tr("&Redo")),
                ["Ctrl+Shift+Z", "Ctrl+Y"],
                self.tr("Make it again"),
            ),
        ):
            action.setShortcuts([QKeySequence(one) for one in keys])
            action.setStatusTip(tip)
            menu.addAction(action)

    def _run_menu(self, menu: QMenu) -> None:
        bar = self.window.transport
        for action in (bar.run_action, bar.step_action, bar.back_action, bar.restart_action, bar.end_action):
            menu.addAction(action)
        menu.addSeparator()
        self._add(menu, self.tr("&Fork here"), "Ctrl+F", self.tr("A new run from the step shown"), self.fork_here)
        self._add(
            menu,
            self.tr("Re&wind here"),
            "Ctrl+R",
            self.tr("Take the run back to the step shown; it can be undone"),
            self.rewind_here,
        )
        self._add(
            menu,
            self.tr("&Live changes…"),
            "Ctrl+L",
            self.tr("What was changed while the run went on, to be edited, moved or removed"),
            self.show_changes,
        )

    def _view_menu(self, menu: QMenu) -> None:
        docks = list(self.window.docks.items())
        titles = with_mnemonics([dock.windowTitle() for _, dock in docks])
        for (name, dock), title in zip(docks, titles, strict=True):
            action = dock.toggleViewAction()
            action.setText(title)
            action.setStatusTip(self.tr("Show or hide this view"))
            action.setData(name)
            menu.addAction(action)
        menu.addSeparator()
        going = self._inner_menu(menu, self.tr("&Go to"))
        for number, ((name, _), title) in enumerate(zip(docks, titles, strict=True), start=1):
            key = f"Alt+{number % 10}" if number <= 10 else ""
            action = self._add(going, title, key, self.tr("Show this view and give it the focus"), self._on_go_to)
            action.setData(name)
        self._add(going, self.tr("Next view"), "F6", self.tr("Give the focus to the next view seen"), self._on_next)
        self._add(going, self.tr("Previous view"), "Shift+F6", self.tr("Give it to the one before"), self._on_previous)
        layouts = self._inner_menu(menu, self.tr("La&yout"))
        names = with_mnemonics([self.tr(name) for name in LAYOUTS])
        for number, (name, text) in enumerate(zip(LAYOUTS, names, strict=True), start=1):
            action = self._add(layouts, text, f"Ctrl+{number}", self.tr("Arrange the views so"), self._on_layout)
            action.setData(name)
        themes = self._inner_menu(menu, self.tr("T&heme"))
        group = QActionGroup(self)
        choices = {"system": self.tr("&System"), "light": self.tr("&Light"), "dark": self.tr("&Dark")}
        for choice, text in choices.items():
            action = self._add(themes, text, "", self.tr("Colours"), self._on_theme)
            action.setCheckable(True)
            action.setData(choice)
            action.setChecked(choice == self.window.theme_choice)
            group.addAction(action)
        self._add(menu, self.tr("F&ull screen"), "F11", self.tr("The whole screen, or back"), self._on_full_screen)

    def _help_menu(self, menu: QMenu) -> None:
        self._add(menu, self.tr("&Keys"), "?", self.tr("Which keys do what"), self.show_keys).setShortcuts(
            [QKeySequence("?"), QKeySequence("F1")]
        )
        self._add(menu, self.tr("First &hints"), "", self.tr("What to try first"), self.window.hints.open)
        self._add(menu, self.tr("&About"), "", self.tr("What this is"), self.show_about)

    @Slot()
    def fork_here(self) -> None:
        """A new run from the step shown."""
        self.session.fork()

    @Slot()
    def rewind_here(self) -> None:
        """Drop everything behind the step shown."""
        step = self.session.cursor
        rewind(self.session, step, self.tr("rewind to step {0}").format(f"{step:,}"))

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

    def show_view_menu(self, name: str, button: QWidget) -> None:
        """The small menu behind a card's dots."""
        menu = QMenu(button)
        menu.addAction(self.tr("&Export this view…")).setData("export")
        menu.addAction(self.tr("&Copy as picture")).setData("copy")
        menu.addAction(self.tr("&Float or dock")).setData("float")
        menu.addAction(self.tr("&Hide")).setData("hide")
        chosen = menu.exec(button.mapToGlobal(button.rect().bottomLeft()))
        menu.deleteLater()
        if chosen is not None:
            self.do_view_action(name, str(chosen.data()))

    def do_view_action(self, name: str, action: str) -> None:
        """'export', 'copy', 'float' or 'hide' a view."""
        dock = self.window.docks[name]
        if action == "export":
            self.exports.view(name)
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
    def _on_script(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.exports.copy_script(str(action.data()))

    @Slot()
    def _on_go_to(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.window.go_to(str(action.data()))

    @Slot()
    def _on_next(self) -> None:
        self.window.go_on(1)

    @Slot()
    def _on_previous(self) -> None:
        self.window.go_on(-1)

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
    def show_keys(self) -> KeyMap:
        """Every key there is, in the menus and in the views."""
        from gui.key_map import KeyMap

        dialog = KeyMap(self.sections(), list(self.window.views.values()), self.window)
        dialog.open()
        return dialog

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


def _delete_on_close() -> Any:
    from PySide6.QtCore import Qt

    return Qt.WidgetAttribute.WA_DeleteOnClose
