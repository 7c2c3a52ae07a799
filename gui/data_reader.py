"""Reads a data file in a thread of its own, with progress, and can be told to stop."""

from __future__ import annotations

import threading
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QThread, Signal, Slot

from core.problems.array_files import dataset_from_arrays
from core.problems.datasets import table_at
from core.problems.objective import ProblemError
from core.problems.tables import TableCancelled

ARRAYS = (".npz", ".npy")
PERCENT = 100
WAIT_MILLISECONDS = 10_000


class _Reading(QObject):
    """Lives in the thread."""

    progressed = Signal(int)
    finished = Signal(object, str)

    def __init__(self, path: Path, delimiter: str, stop: threading.Event) -> None:
        super().__init__()
        self._path, self._delimiter, self._stop = path, delimiter, stop
        self._said = -1

    @Slot()
    def work(self) -> None:
        """Read; ``finished`` carries a Table or Dataset, or None with what is wrong ('' after a cancel)."""
        try:
            found: object
            if self._path.suffix.lower() in ARRAYS:
                found = dataset_from_arrays(self._path)
            else:
                found = table_at(self._path, self._progress, self._delimiter)
        except TableCancelled:
            self.finished.emit(None, "")
        except (ProblemError, MemoryError, OSError) as error:
            self.finished.emit(None, str(error) or "there is not enough memory for this file")
        else:
            self.finished.emit(found, "")

    def _progress(self, part: float) -> bool:
        percent = int(PERCENT * part)
        if percent != self._said:
            self._said = percent
            self.progressed.emit(percent)
        return not self._stop.is_set()


class DataReader(QObject):
    """One file at a time; lives in the GUI thread."""

    progressed = Signal(int)
    """Percent done."""
    finished = Signal(object, str)
    """A Table or Dataset; or None and what is wrong ('' when it was stopped)."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thread: QThread | None = None
        self._reading: _Reading | None = None
        self._stop = threading.Event()

    @property
    def busy(self) -> bool:
        """True while a file is read."""
        return self._thread is not None

    def read(self, path: str, delimiter: str = "") -> None:
        """Begin with another file ('': find its delimiter out); one that is still being read is given up."""
        self.stop()
        self._stop = threading.Event()
        self._thread = QThread()
        self._reading = _Reading(Path(path).expanduser(), delimiter, self._stop)
        self._reading.moveToThread(self._thread)
        queued = Qt.ConnectionType.QueuedConnection
        self._thread.started.connect(self._reading.work, queued)
        self._reading.progressed.connect(self._on_progressed, queued)
        self._reading.finished.connect(self._on_finished, queued)
        self._thread.start()

    def stop(self) -> None:
        """Give up what is being read, and wait until the thread has ended."""
        self._stop.set()
        if self._thread is not None and self._reading is not None:
            self._reading.progressed.disconnect(self._on_progressed)
            self._reading.finished.disconnect(self._on_finished)
            self._end()

    def _end(self) -> None:
        assert self._thread is not None
        self._thread.quit()
        if not self._thread.wait(WAIT_MILLISECONDS):
            raise RuntimeError("the thread that reads a data file did not end within 10 seconds")
        self._thread = self._reading = None

    @Slot(int)
    def _on_progressed(self, percent: int) -> None:
        self.progressed.emit(percent)

    @Slot(object, str)
    def _on_finished(self, found: object, trouble: str) -> None:
        self._end()
        self.finished.emit(found, trouble)
