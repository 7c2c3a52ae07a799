"""At most one value a frame: what a dragged slider sends on, the last value always."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot

FRAME_MILLISECONDS = 16


class Throttle(QObject):
    """``send`` as often as you like; ``ready`` comes at once for the first value, then once a frame with the newest."""

    ready = Signal(object)

    def __init__(self, parent: QObject | None = None, milliseconds: int = FRAME_MILLISECONDS) -> None:
        super().__init__(parent)
        self._waiting: list[Any] = []
        self._timer = QTimer(self)
        self._timer.setInterval(milliseconds)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._on_frame)

    @property
    def busy(self) -> bool:
        """True while a frame has not passed since the last value was sent."""
        return self._timer.isActive()

    def send(self, value: Any) -> None:
        """Pass ``value`` on, now or with the next frame; a newer one takes its place."""
        if self._timer.isActive():
            self._waiting = [value]
        else:
            self._timer.start()
            self.ready.emit(value)

    @Slot()
    def flush(self) -> None:
        """Pass on what is waiting, now."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._timer.start()
            self.ready.emit(waiting[0])

    @Slot()
    def _on_frame(self) -> None:
        self.flush()
