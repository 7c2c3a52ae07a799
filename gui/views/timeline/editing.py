"""What is done to live changes by hand: another value, another step, removed; each one command that can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from core.simulation.build import parameter_of
from core.simulation.event_lists import moved, with_value, without
from core.simulation.experiment import Event
from gui.run import Run
from gui.session import Session
from gui.views.timeline.events import event_text, setting_text
from gui.views.timeline.value_editor import ChangeDialog


class ChangeEditor(QObject):
    """Edits the live changes of the current run; ``window`` is the parent of its dialogs.

    Several changes given at once are one drag of a slider: they move together, and its value is that of the last.
    """

    def __init__(self, session: Session, window: QWidget) -> None:
        super().__init__(window)
        self.session = session
        self.window = window
        self.dialog: ChangeDialog | None = None

    def open(self, changes: Sequence[Event], focus: str) -> ChangeDialog:
        """The dialog for these changes, with the keyboard on 'value' or 'step'."""
        run, last = self.session.current, changes[-1]
        simulation = run.simulation
        parameter = parameter_of(
            simulation.optimizer_at(last.step), simulation.objective_at(last.step), last.target, last.key
        )
        about = self.tr("{0}: it was {1} before.").format(
            setting_text(last, simulation.optimizer_at(last.step)), event_text(changes[0].old)
        )
        if len(changes) > 1:
            about += " " + self.tr(
                "One drag of {0} changes: the step is that of the first, the value the last."
            ).format(len(changes))

        def check(step: int, value: Any) -> str:
            return self.change(run, changes, step - changes[0].step, value)

        self.dialog = ChangeDialog(
            self.tr("Live change"), about, last.replace(step=changes[0].step), parameter, check, self.window
        )
        self.dialog.finished.connect(self._forget)
        self.dialog.focus_on(focus)
        self.dialog.open()
        return self.dialog

    def _forget(self) -> None:
        self.dialog = None

    def change(self, run: Run, changes: Sequence[Event], by: int, value: Any) -> str:
        """Move ``changes`` by so many steps and give the last one this value; '' or why that cannot be."""
        events, last = self._events(run), changes[-1]
        try:
            if value != last.value or type(value) is not type(last.value):
                events = with_value(events, last, value)
                last = last.replace(value=value)
            if by:
                events = moved(events, [*changes[:-1], last], by)
        except ValueError as error:
            return str(error)
        if by and value == changes[-1].value:
            text = self.tr("move of {0} to step {1}").format(self._name(run, last), f"{changes[0].step + by:,}")
        else:
            text = self.tr("edit of {0}").format(self._name(run, last))
        return self._take(run, events, text)

    def move(self, run: Run, changes: Sequence[Event], by: int) -> str:
        """Move ``changes`` by so many steps; '' or why that cannot be."""
        return self.change(run, changes, by, changes[-1].value)

    def remove(self, run: Run, changes: Sequence[Event]) -> str:
        """Take ``changes`` out; '' or why the others cannot be without them."""
        try:
            events = without(self._events(run), changes)
        except ValueError as error:
            return str(error)
        return self._take(run, events, self.tr("removal of {0}").format(self._name(run, changes[-1])))

    def remove_all(self, run: Run) -> str:
        """Take every live change out."""
        return self._take(run, [], self.tr("removal of all live changes"))

    def _events(self, run: Run) -> list[Event]:
        """The changes as they are once the worker has done what it was asked for."""
        self.session.engine.settle(finish=False)
        return list(run.simulation.experiment.events)

    def _take(self, run: Run, events: list[Event], text: str) -> str:
        try:
            checked = run.simulation.checked_events(events)
        except ValueError as error:
            return str(error)
        if [event.acts for event in checked] != [event.acts for event in run.simulation.experiment.events]:
            self.session.edit_events(run, checked, text)
        return ""

    def _name(self, run: Run, event: Event) -> str:
        return setting_text(event, run.simulation.optimizer_at(event.step))
