"""Undo and redo: live changes and rebuilt runs as commands on a QUndoStack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QUndoCommand

from core.simulation import Event, Simulation

if TYPE_CHECKING:
    from gui.session import Run, Session

CHANGE_ID = 1


def describe(event: Event) -> str:
    """'clip by value: c 1 -> 2' for menus and tool tips."""
    if event.key == "lines":
        return "other optimizer lines"
    if event.key == "order":
        return "chain re-ordered"
    if event.key == "enabled":
        return f"{event.target.replace('_', ' ')} switched {'on' if event.value else 'off'}"
    return f"{event.key} {_short(event.old)} → {_short(event.value)}"


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class ChangeEvents(QUndoCommand):
    """A run's live changes became others; undoing works the run out again without the change.

    Changes of one setting at one step (a slider being dragged) become one command.
    """

    def __init__(self, session: Session, run: Run, before: list[Event], after: list[Event]) -> None:
        super().__init__()
        self._session, self._run = session, run
        self._before, self._after = before, after
        self._done = True
        changed = [event for event in after if event not in before] or [e for e in before if e not in after]
        self._place = (changed[0].step, changed[0].target, changed[0].key) if changed else None
        self.setText(describe(changed[0]) if changed else "live change")

    def id(self) -> int:
        return CHANGE_ID

    def mergeWith(self, other: QUndoCommand) -> bool:
        if not isinstance(other, ChangeEvents) or other._run is not self._run or other._place != self._place:
            return False
        self._after = other._after
        self.setText(other.text())
        return True

    def undo(self) -> None:
        self._session.put_events(self._run, self._before)

    def redo(self) -> None:
        if self._done:
            self._done = False
            return
        self._session.put_events(self._run, self._after)


class Rebuild(QUndoCommand):
    """A run was started afresh with other settings; undoing brings the former run back as it was."""

    def __init__(self, session: Session, run: Run, before: Simulation, after: Simulation, text: str) -> None:
        super().__init__(text)
        self._session, self._run = session, run
        self._before, self._after = before, after
        self._done = True

    def undo(self) -> None:
        self._session.put_simulation(self._run, self._before)

    def redo(self) -> None:
        if self._done:
            self._done = False
            return
        self._session.put_simulation(self._run, self._after)
