"""Shares frames among the views: while runs go on, each frame refreshes the leading view and one other in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Slot

if TYPE_CHECKING:
    from gui.views.base import View

FRAME_MILLISECONDS = 16


class FrameScheduler(QObject):
    """Views ask for a refresh; while paused all get it at once, while running the costs are spread over frames.

    Drawing everything every frame takes longer than a frame lasts, so the window would stutter as a whole; in turn
    each view is at most a few frames old and the surface moves smoothly.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.sharing = False
        self._waiting: list[View] = []
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._on_frame)

    def request(self, view: View) -> None:
        """Have ``view.flush`` called in one of the next frames."""
        if view not in self._waiting:
            self._waiting.append(view)
        if not self._timer.isActive():
            self._timer.start(0)

    def forget(self, view: View) -> None:
        """``view`` is going away."""
        if view in self._waiting:
            self._waiting.remove(view)

    @Slot()
    def _on_frame(self) -> None:
        if self.sharing:
            others = [view for view in self._waiting if not view.every_frame]
            due = [view for view in self._waiting if view.every_frame] + others[:1]
        else:
            due = list(self._waiting)
        for view in due:
            self._waiting.remove(view)
            view.flush()
        if self._waiting and not self._timer.isActive():
            self._timer.start(FRAME_MILLISECONDS)
