"""Autosave and recovery: what was open is kept beside the settings, and offered again after a crash."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, QStandardPaths, QTimer, Slot

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
    """Writes the current run's experiment every few seconds when it has changed; removed on an orderly end.

    A lock beside the file tells other programs that this one is alive; the lock of one that has crashed is void.
    """

    def __init__(self, session: Session, folder: Path | None = None) -> None:
        super().__init__(session)
        self.session = session
        self.path = (folder or autosave_folder()) / f"{os.getpid()}-{id(self):x}.json"
        self._lock = _lock_of(self.path)
        self._lock.tryLock(0)
        self._last: Experiment | None = None
        self._first: Experiment | None = session.current.simulation.experiment
        self._timer = QTimer(self)
        self._timer.setInterval(AUTOSAVE_MILLISECONDS)
        self._timer.timeout.connect(self.save)
        self._timer.start()

    @Slot()
    def save(self) -> None:
        """Write now if anything is new; a folder that cannot be written is said once, and tried again."""
        experiment = self.session.current.simulation.experiment
        if experiment in (self._last, self._first):
            return
        try:
            experiment.save(self.path)
        except OSError as error:
            if not self._told:
                self._told = True
                said = self.tr("Autosave does not work: {0}: {1}").format(self.path.parent, error.strerror or error)
                self.session.message.emit(said, "")
            return
        self._told = False
        self._last, self._first = experiment, None

    def finish(self) -> None:
        """An orderly end: nothing to recover."""
        self._timer.stop()
        self.path.unlink(missing_ok=True)
        self._lock.unlock()

    _told = False


def recoverable(folder: Path | None = None) -> list[tuple[Path, Experiment]]:
    """Autosaves left behind by programs that are gone, newest first (unreadable ones are passed over and stay)."""
    found = []
    for path in (folder or autosave_folder()).glob("*.json"):
        lock = _lock_of(path)
        if not lock.tryLock(0):
            continue
        lock.unlock()
        try:
            found.append((path, Experiment.load(path)))
        except ExperimentError:
            continue
    return sorted(found, key=lambda item: item[0].stat().st_mtime, reverse=True)


def _lock_of(path: Path) -> QLockFile:
    lock = QLockFile(str(path.with_suffix(".lock")))
    # only the end of its program makes a lock void, not its age
    lock.setStaleLockTime(0)
    return lock
