"""Restart and rewind as commands that can be undone: the run takes the dropped steps again, which gives the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QUndoCommand

if TYPE_CHECKING:
    from gui.run import Run
    from gui.session import Session


class Rewind(QUndoCommand):
    """The current run was taken back to ``step``. Undoing takes the steps anew that were dropped: a run is a pure
    function of its experiment, so they are the same to the last bit.
    """

    def __init__(self, session: Session, step: int, text: str) -> None:
        super().__init__(text)
        self._session = session
        self._run: Run = session.current
        self._step = step
        self._count = self._run.history.count

    def redo(self) -> None:
        self._show_run()
        self._session.rewind(self._step)

    def undo(self) -> None:
        self._show_run()
        missing = self._count - self._run.history.count
        if missing > 0:
            self._session.pause()
            self._session.following = True
            self._session.engine.advance(self._run, missing)

    def _show_run(self) -> None:
        if self._session.current is not self._run:
            self._session.make_current(self._run)


def rewind(session: Session, step: int, text: str) -> None:
    """Take the current run back to before ``step``, so that it can be undone; nothing where nothing would go."""
    if step < session.current.history.count:
        session.pause()
        session.engine.settle()
        session.undo_stack.push(Rewind(session, step, text))
