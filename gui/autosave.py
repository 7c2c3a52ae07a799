"""Autosave and recovery: what was open is kept beside the settings, and offered again after a crash."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QObject, QStandardPaths, QTimer, Slot

from core.simulation import Experiment, ExperimentError
from gui.session import Session

AUTOSAVE_MILLISECONDS = 15_000


def autosave_folder() -> Path:
    """Where autosaves stand (made when missing)."""
    location = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.AppDataLocation)
    folder = Path(location or ".") / "autosave"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Autosave(QObject):
    """Writes the current run's experiment every few seconds when it has changed; removed on an orderly end."""

    def __init__(self, session: Session, folder: Path | None = None) -> None:
        super().__init__(session)
        self.session = session
        self.path = (folder or autosave_folder()) / f"{os.getpid()}-{id(self):x}.json"
        self._last: Experiment | None = None
        self._first = session.current.simulation.experiment
        self._timer = QTimer(self)
        self._timer.setInterval(AUTOSAVE_MILLISECONDS)
        self._timer.timeout.connect(self.save)
        self._timer.start()

    @Slot()
    def save(self) -> None:
        """Write now if anything is new; a folder that cannot be written is said once."""
        experiment = self.session.current.simulation.experiment
        if experiment in (self._last, self._first):
            return
        try:
            experiment.save(self.path)
        except OSError as error:
            self._timer.stop()
            self.session.message.emit(f"Autosave is off: {self.path.parent}: {error.strerror or error}", "")
            return
        self._last = experiment

    def finish(self) -> None:
        """An orderly end: nothing to recover."""
        self._timer.stop()
        self.path.unlink(missing_ok=True)


def recoverable(folder: Path | None = None) -> list[tuple[Path, Experiment]]:
    """Autosaves left behind by programs that are gone, newest first (unreadable ones are passed over and stay)."""
    found = []
    for path in (folder or autosave_folder()).glob("*.json"):
        owner = path.stem.partition("-")[0]
        if owner.isdigit() and _alive(int(owner)):
            continue
        try:
            found.append((path, Experiment.load(path)))
        except ExperimentError:
            continue
    return sorted(found, key=lambda item: item[0].stat().st_mtime, reverse=True)


def _alive(pid: int) -> bool:
    if pid == os.getpid():
        return True
    if os.name != "posix":
        # without signals the age decides: a running program has saved within the last minute or so
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
