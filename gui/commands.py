"""Undo and redo: live changes and rebuilt runs as commands on a QUndoStack."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QUndoCommand

from core.optim.optimizer import Optimizer
from core.simulation import Event, Simulation

if TYPE_CHECKING:
    from gui.run import Run
    from gui.session import Session

translate = QCoreApplication.translate

CHANGE_ID = 1
TOGETHER = 1.0
"""Numbers given to one setting no more than so many seconds apart are one drag of its slider."""


def describe(event: Event, optimizer: Optimizer) -> str:
    """'clip by value: c 1 → 2' for menus and tool tips, in words of the chain at hand."""
    if event.target == "weights":
        return translate("commands", "weights moved by hand at step {0}").format(event.step)
    if event.key == "lines":
        return translate("commands", "other optimizer lines")
    if event.key == "order":
        return translate("commands", "chain re-ordered")
    if event.key == "enabled":
        words = translate("commands", "{0} switched on") if event.value else translate("commands", "{0} switched off")
        return words.format(event.target.replace("_", " "))
    first, symbol = event.target.partition(" ")[0], event.key
    name = first.partition(".")[0]
    if name in optimizer.chain.row_names:
        transform = optimizer.transform(name)
        owner = getattr(transform, "schedule", None) if first.endswith(".schedule") else transform
        name = transform.label
        symbol = next((p.symbol for p in getattr(owner, "parameters", ()) if p.key == event.key), event.key)
    return f"{name}: {symbol} {_short(event.old)} → {_short(event.value)}"


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class ChangeEvents(QUndoCommand):
    """A run's live changes became others; undoing works the run out again without the change.

    Changes of one setting at one step, or shortly after one another (a slider being dragged), become one command;
    edits of changes made before, which have a ``name``, are one command each.
    """

    def __init__(self, session: Session, run: Run, before: list[Event], after: list[Event], name: str = "") -> None:
        super().__init__()
        self._name = name
        self._session, self._run = session, run
        self._before, self._after = before, after
        self._done = True
        changed = [event for event in after if event not in before] or [e for e in before if e not in after]
        self._event = changed[0] if changed else None
        self._time = time.monotonic()
        self._tell()

    def _tell(self) -> None:
        if self._name:
            self.setText(self._name)
            return
        optimizer = self._run.simulation.optimizer
        self.setText(
            describe(self._event, optimizer) if self._event is not None else translate("commands", "live change")
        )

    def id(self) -> int:
        return CHANGE_ID

    def mergeWith(self, other: QUndoCommand) -> bool:
        if not isinstance(other, ChangeEvents) or other._run is not self._run or self._name or other._name:
            return False
        mine, its = self._event, other._event
        if mine is None or its is None or (mine.target, mine.key) != (its.target, its.key):
            return False
        numbers = isinstance(mine.value, float) and isinstance(its.value, float)
        if mine.step != its.step and not (numbers and other._time - self._time <= TOGETHER):
            return False
        self._after, self._time = other._after, other._time
        self._event = Event(mine.step, mine.target, mine.key, its.value, mine.old)
        self._tell()
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
