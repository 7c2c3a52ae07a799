"""What is open as a file: new, open, save, recent, recovery. Each question is one function, so tests can answer it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QMenu, QMessageBox, QWidget

from core.commands.sources import DEFAULT_OPTIMIZER
from core.simulation import Experiment, ExperimentError, ProblemSettings
from core.simulation.build import NotTrusted
from gui.autosave import recoverable
from gui.opening import experiment_at
from gui.resources import resource_path
from gui.session import Session
from gui.views.pipeline.restart import settled

MAX_RECENT = 8


class Documents(QObject):
    """Files of a session; ``window`` is the parent of its questions, ``show_error`` brings bad news to the user."""

    recovered = Signal()
    """What a crash interrupted is open again; its autosave is about to go."""

    def __init__(self, session: Session, window: QWidget, show_error: Callable[[str, str], None]) -> None:
        super().__init__(window)
        self.session = session
        self.window = window
        self._show_error = show_error
        self._stamp = None if session.file is None else _stamp_of(session.file)
        self.recent = QMenu(self.tr("Open &recent"), window)
        self.recent.aboutToShow.connect(self._fill_recent)
        self.examples = QMenu(self.tr("&Examples"), window)
        self.examples.setToolTipsVisible(True)
        self.examples.aboutToShow.connect(self._fill_examples)

    @Slot()
    def new(self) -> None:
        """Back to the example."""
        if self.may_close():
            self.session.file = None
            self.session.open_experiment(Experiment(optimizer=DEFAULT_OPTIMIZER))

    @Slot()
    def open(self) -> None:
        """Ask for an experiment file and open it."""
        name, _ = QFileDialog.getOpenFileName(
            self.window, self.tr("Open"), "", self.tr("Experiments and traces (*.json *.npz);;All files (*)")
        )
        if name:
            self.open_file(name)

    def open_file(self, name: str) -> bool:
        """Open the experiment at ``name``; on a mistake in it the user is told and nothing changes."""
        if not self.may_close():
            return False
        try:
            experiment = experiment_at(name)
            if not self.open_asking(experiment):
                return False
        except (ExperimentError, ValueError) as error:
            self._show_error(str(error), "")
            return False
        self.session.file = None if name.lower().endswith(".npz") else name
        self._stamp = _stamp_of(name)
        self._remember(name)
        self.session.run_changed.emit()
        return True

    def open_asking(self, experiment: Experiment) -> bool:
        """Open an experiment; one on a Python file only when the user allows its code to run."""
        try:
            self.session.open_experiment(experiment)
        except NotTrusted as error:
            if not self.ask_trust(error.path):
                return False
            self.session.open_experiment(experiment, trusted=frozenset([error.path]))
        return True

    def open_python(self, name: str) -> bool:
        """Take the function ``loss`` of a Python file as the problem, when the user allows its code to run."""
        path = str(Path(name).resolve())
        if not self.ask_trust(path):
            return False
        problem = ProblemSettings("python_file", python=path)
        kept = settled(self.session.current.simulation.experiment, keep_problem=False)
        fields = {**kept, "problem": problem, "start": None}
        return self.session.rebuild(trusted=frozenset([path]), **fields)

    def ask_trust(self, path: str) -> bool:
        """The question whether a Python file may run."""
        buttons = QMessageBox.StandardButton
        answer = QMessageBox.warning(
            self.window,
            self.tr("Run this file?"),
            self.tr(
                "{0} is Python code. It would run with all your rights: it could read or delete your files. "
                "Run it only if you trust where it comes from."
            ).format(path),
            buttons.Yes | buttons.No,
            buttons.No,
        )
        return answer == buttons.Yes

    def _changed_behind(self, name: str) -> bool:
        """Whether the session's file is no longer what was read or written here (another window saved it)."""
        ours = self.session.file is not None and Path(name).resolve() == Path(self.session.file).resolve()
        return ours and self._stamp is not None and _stamp_of(name) not in (None, self._stamp)

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
        """After a crash: offer what was open then, newest first. What cannot be opened stays for another time."""
        for path, experiment in recoverable():
            if not self.ask_recovery(experiment):
                path.unlink(missing_ok=True)
                continue
            try:
                opened = self.open_asking(experiment)
            except ValueError as error:
                self._show_error(str(error), "")
                return
            if opened:
                self.recovered.emit()
                path.unlink(missing_ok=True)
            return

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
        # what was recorded is true only while nobody steps; a worker that is at it too long must not keep from saving
        idle = self.session.engine.settle(finish=False)
        kept = run.simulation.to_save() if idle else run.simulation.experiment
        try:
            kept.save(name)
        except OSError as error:
            self._show_error(f"{name}: could not be saved: {error.strerror or error}", "")
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
    def _fill_examples(self) -> None:
        if not self.examples.isEmpty():
            return
        for path in sorted(resource_path("cases").glob("*.json")):
            experiment = Experiment.load(path)
            action = self.examples.addAction(experiment.comment or path.stem)
            action.setStatusTip(experiment.optimizer.splitlines()[-1])
            action.setData(str(path))
            action.triggered.connect(self._on_example)

    @Slot()
    def _on_example(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.open_example(str(action.data()))

    def open_example(self, name: str) -> None:
        """Open an example as an unnamed experiment, so that saving cannot change it."""
        if self.may_close():
            self.session.file = None
            self.session.open_experiment(Experiment.load(name))

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


def _stamp_of(name: str) -> tuple[int, int, int] | None:
    """What tells one state of a file from another."""
    try:
        found = Path(name).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
