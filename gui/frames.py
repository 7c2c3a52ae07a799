"""Shares frames among the views: while runs go on, each frame refreshes the leading view and one other in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Slot

if TYPE_CHECKING:
    from gui.views.base import View

LATE_MILLISECONDS = 60
"""When views that wait get their turn although no frame has come: steps may take long."""
OTHERS_EVERY = 2
"""While the leading view is drawn in every frame, one of the others is drawn in every second one."""


class FrameScheduler(QObject):
    """Views ask for a refresh; while paused all get it at once, while running the costs are spread over frames.

    Drawing everything every frame takes longer than a frame lasts, so the window would stutter as a whole; in turn
    each view is at most a few frames old and the surface moves smoothly. The engine calls ``draw`` between two slices
    of work; while paused, what is asked for is drawn when the events at hand are done.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.sharing = False
        self._turn = 0
        self._waiting: list[View] = []
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.draw)

    def request(self, view: View) -> None:
        """Have ``view.flush`` called in one of the next frames."""
        if view not in self._waiting:
            self._waiting.append(view)
        if self.sharing:
            # the engine's next frame is at hand
            if not self._timer.isActive():
                self._timer.start(LATE_MILLISECONDS)
        elif not self._timer.isActive() or self._timer.interval():
            self._timer.start(0)

    def forget(self, view: View) -> None:
        """``view`` is going away."""
        if view in self._waiting:
            self._waiting.remove(view)

    @Slot()
    def draw(self) -> None:
        """Refresh the views whose turn it is."""
        self._timer.stop()
        if self.sharing:
            leading = [view for view in self._waiting if view.every_frame]
            others = [view for view in self._waiting if not view.every_frame]
            self._turn += 1
            due = leading + (others[:1] if not leading or self._turn % OTHERS_EVERY == 0 else [])
        else:
            due = list(self._waiting)
        for view in due:
            self._waiting.remove(view)
            view.flush()
        if self._waiting and not self._timer.isActive():
            self._timer.start(LATE_MILLISECONDS)
