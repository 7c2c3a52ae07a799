"""The session: owns the runs, the current step and the selection, and tells views by signal."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QUndoStack

from core.simulation import Event, Experiment, Simulation
from gui.commands import ChangeEvents, Rebuild
from gui.finite_watch import FiniteWatch
from gui.frames import FrameScheduler
from gui.run import Run
from gui.run_names import racer_name, run_name
from gui.worker import Engine

LATE_TOLD_SECONDS = 1.0
"""How often is told how far a run has come that is worked out again."""
EDIT_SECONDS = 0.03
"""How long the steps behind an edited change are worked out at once; the others follow a slice a frame."""


class Session(QObject):
    """All that the views share. Views read ``current.history`` and ``cursor`` and call the methods below; they know
    nothing of one another. ``cursor`` is the step shown; while ``following`` it is the newest one.
    """

    history_changed = Signal()
    """Rows were added to (or taken from) some run."""
    cursor_changed = Signal(int)
    """Another step is shown."""
    run_changed = Signal()
    """Another run is current, or the current one was rebuilt: problem, variables or rows may differ."""
    runs_changed = Signal()
    """The list of runs, a name, a colour or visibility changed."""
    settings_changed = Signal()
    """A value in the pipeline or problem changed (by a slider, an undo, a replay)."""
    selection_changed = Signal()
    """Another variable, component or ledger row is selected."""
    state_changed = Signal(str)
    """'running', 'paused' or 'trouble'."""
    theme_changed = Signal()
    message = Signal(str, str)
    """(sentence, details) for the user; details may be ''."""

    def __init__(
        self, experiment: Experiment | None = None, parent: QObject | None = None, simulation: Simulation | None = None
    ) -> None:
        super().__init__(parent)
        self.engine = Engine(self)
        self.frames = FrameScheduler(self)
        self.watch = FiniteWatch(self)
        self.runs: list[Run] = []
        self.cursor = 0
        self.following = True
        self.state = "paused"
        self.selected_row: str | None = None
        self.selected_variable: str | None = None
        self.selected_component: int | None = None
        self._asked: deque[str | None] = deque()
        """For each call the worker has not reported yet: '' a live change, None one by the undo stack, else the name
        of an edit."""
        self._told = 0.0
        self._return_to: int | None = None
        """The step that was shown before the run was worked out again."""
        self.file: str | None = None
        self.undo_stack = QUndoStack(self)
        self.undo_stack.setUndoLimit(200)
        self._next_id = 0
        self._current: Run | None = None
        self.engine.frame.connect(self.frames.draw)
        self.engine.progressed.connect(self._on_progressed)
        self.engine.changed.connect(self._on_changed)
        self.engine.failed.connect(self._on_failed)
        self.engine.job_failed.connect(self._on_job_failed)
        try:
            if simulation is not None:
                self.add_run(simulation, run_name(simulation.experiment))
            else:
                self.open_experiment(experiment or Experiment())
        except BaseException:
            # Qt ends the program when an object goes whose thread still runs
            self.engine.close()
            raise

    @classmethod
    def on(cls, simulation: Simulation) -> Session:
        """A session around a simulation that exists already."""
        return cls(simulation=simulation)

    # runs -----------------------------------------------------------------------------------------------------

    @property
    def current(self) -> Run:
        """The run that views show in detail."""
        assert self._current is not None
        return self._current

    def open_experiment(self, experiment: Experiment, name: str = "", trusted: frozenset[str] = frozenset()) -> Run:
        """Replace all runs by one new run of ``experiment`` (raises ExperimentError before anything changes).

        ``trusted``: Python files that the user has just allowed to run; NotTrusted for others.
        """
        simulation = Simulation(experiment, trusted=trusted)
        self.pause()
        for run in self.runs:
            self.engine.give_up(run)
        self.engine.settle(finish=False)
        self.runs = []
        self.undo_stack.clear()
        run = self.add_run(simulation, name or run_name(experiment))
        if experiment.recorded is not None:
            simulation.goal = experiment.recorded.steps
            self.engine.catch_up(run)
        return run

    def add_run(
        self, simulation: Simulation, name: str, parent: Run | None = None, forked_at: int | None = None
    ) -> Run:
        """Add a run and make it current."""
        taken = {run.color_index for run in self.runs}
        color = next(i for i in range(len(self.runs) + 1) if i not in taken)
        run = Run(
            self._next_id, simulation, name, color, parent=None if parent is None else parent.id, forked_at=forked_at
        )
        self._next_id += 1
        run.events = list(simulation.experiment.events)
        run.saved = simulation.experiment
        self.runs.append(run)
        self.make_current(run)
        self.runs_changed.emit()
        return run

    def make_current(self, run: Run) -> None:
        """Show another run in detail."""
        self._current = run
        self.following = True
        self.cursor = max(run.history.count - 1, 0)
        self.run_changed.emit()
        self.cursor_changed.emit(self.cursor)
        self._set_state("trouble" if run.trouble else "paused" if self.state == "trouble" else self.state)

    # transport ------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Let every visible run go on: those behind catch up, then all take their steps side by side."""
        if self.current.trouble:
            self.message.emit(self.current.trouble, "")
            return
        self.following = True
        self._set_state("running")
        self.engine.start([run for run in self.runs if run.visible or run is self.current])

    def pause(self) -> None:
        """Stop after the slice at work."""
        self.engine.stop()
        if self.state == "running":
            self._set_state("paused")

    def step_forward(self) -> None:
        """Show the next step; at the newest one, take one more."""
        if self.cursor < self.current.history.count - 1:
            self.show_step(self.cursor + 1)
            return
        self.pause()
        self.following = True
        self.engine.advance(self.current, 1)

    def step_back(self) -> None:
        """Show the step before."""
        self.pause()
        self.show_step(self.cursor - 1)

    def show_step(self, step: int) -> None:
        """Scrub: show ``step`` in all views (the run itself stays where it is)."""
        last = max(self.current.history.count - 1, 0)
        step = min(max(step, 0), last)
        self.following = step == last
        self._return_to = None
        if step != self.cursor:
            self.cursor = step
            self.cursor_changed.emit(step)

    def restart(self) -> None:
        """Take the current run back to its first step; live changes of the run act again as they are reached."""
        self.rewind(0)

    def rewind(self, step: int) -> None:
        """Take the current run back to before ``step``; later rows are dropped."""
        self.pause()
        self._call("", self.current, "seek", step)

    # changes --------------------------------------------------------------------------------------------------

    def change(self, target: str, key: str, value: Any) -> None:
        """A live change of the current run, from its newest step on (see core.simulation.Event)."""
        self._call("", self.current, "change", target, key, value)

    def rebuild(self, *, trusted: frozenset[str] = frozenset(), **settings: Any) -> bool:
        """Start the current run afresh with other experiment fields (problem, optimizer, start, storage, seed).

        Returns False, with a message to the user and nothing changed, when the settings cannot be used.
        """
        run = self.current
        try:
            simulation = Simulation(
                run.simulation.experiment.replace(**settings), trusted=run.simulation.trusted | trusted
            )
        except Exception as error:
            self.message.emit(str(error), "")
            return False
        running = self.state == "running"
        before = run.simulation
        self.put_simulation(run, simulation)
        self.undo_stack.push(Rebuild(self, run, before, simulation, self.tr("other {0}").format(", ".join(settings))))
        if running:
            self.run()
        return True

    def put_simulation(self, run: Run, simulation: Simulation) -> None:
        """Let ``run`` be another simulation (a rebuilt one, or a former one brought back)."""
        self.pause()
        self.engine.give_up(run)
        self.engine.settle(finish=False)
        run.simulation = simulation
        run.trouble = simulation.trouble
        run.events = list(simulation.experiment.events)
        if run.parent is None:
            run.name = run_name(simulation.experiment)
        self.engine.catch_up(run)
        self.make_current(run)
        self.runs_changed.emit()
        self.settings_changed.emit()

    def put_events(self, run: Run, events: list[Event]) -> None:
        """Replace the live changes of ``run``; it is worked out again from the first difference (not on undo)."""
        self._call(None, run, "set_events", events, EDIT_SECONDS)

    def edit_events(self, run: Run, events: list[Event], text: str = "") -> None:
        """The same as an edit by the user, which can be undone; ``text`` names it in menus."""
        self._call(text or self.tr("edited live change"), run, "set_events", events, EDIT_SECONDS)

    def _call(self, kind: str | None, run: Run, method: str, *arguments: Any) -> None:
        """Have the worker do it between two steps, and remember what the report will be about."""
        if self.engine.call(run, method, *arguments):
            self._asked.append(kind)

    # forks ----------------------------------------------------------------------------------------------------

    def fork(self, step: int | None = None, **changes: Any) -> Run | None:
        """A new run with the current one's past up to ``step`` (default: the step shown), then ``changes``.

        See Simulation.fork for their form. None, and a message, when it cannot be made.
        """
        parent = self.current
        self.pause()
        self.engine.settle(finish=False)
        at = min(self.cursor if step is None else step, parent.simulation.step)
        try:
            simulation = parent.simulation.fork(at, **changes)
        except ValueError as error:
            self.message.emit(str(error), "")
            return None
        number = 1 + sum(run.parent == parent.id for run in self.runs)
        return self.add_run(simulation, self.tr("{0}, fork {1} at {2}").format(parent.name, number, at), parent, at)

    def without(self, row: str, step: int | None = None) -> Run | None:
        """'Without this cause': a fork at the step shown in which the transform of ``row`` is switched off."""
        run = self.fork(step, **{f"{row}__enabled": False})
        if run is not None:
            run.name = self.tr("without {0}").format(row.replace("_", " "))
            self.runs_changed.emit()
        return run

    def race(self, optimizers: list[str]) -> list[Run]:
        """Runs of other optimizer lines from the same start and the same batches as the current one."""
        parent = self.current
        experiment = parent.simulation.experiment
        made = []
        for lines in optimizers:
            try:
                simulation = Simulation(
                    experiment.replace(optimizer=lines, events=[]), trusted=parent.simulation.trusted
                )
            except ValueError as error:
                self.message.emit(str(error), "")
                continue
            made.append(self.add_run(simulation, racer_name(lines), parent, 0))
        return made

    def remove_run(self, run: Run) -> None:
        """Close a run; the last one stays."""
        if len(self.runs) == 1:
            self.message.emit(self.tr("The last run cannot be closed."), "")
            return
        self.pause()
        self.engine.give_up(run)
        self.engine.settle(finish=False)
        self.runs.remove(run)
        self.undo_stack.clear()
        if run is self._current:
            self.make_current(self.runs[-1])
        self.runs_changed.emit()

    def set_visible(self, run: Run, visible: bool) -> None:
        """Show or hide a run in the views."""
        run.visible = visible
        self.runs_changed.emit()
        self.history_changed.emit()

    def select(self, *, row: str | None = None, variable: str | None = None, component: int | None = None) -> None:
        """Select a ledger row, a variable, or a component of the flat vector (None: no particular one)."""
        self.selected_row, self.selected_variable, self.selected_component = row, variable, component
        self.selection_changed.emit()

    def close(self) -> None:
        """Stop the worker and wait for its thread; afterwards nothing runs any more."""
        self.engine.close()

    # what the worker reports ----------------------------------------------------------------------------------

    @Slot(int, int)
    def _on_progressed(self, run_id: int, count: int) -> None:
        run = self._run(run_id)
        if run is None:
            return
        said = run.simulation.check_replay() if run.simulation.experiment.recorded and not run.checked else ""
        if said:
            run.checked = True
            self.message.emit(said, "")
        trouble = run.simulation.trouble
        if trouble != run.trouble:
            run.trouble = trouble
            if trouble:
                if run is self._current:
                    self.pause()
                    self._set_state("trouble")
                self.message.emit(trouble, "")
            elif run is self._current:
                self._set_state("paused")
        if run.simulation.late and self.engine.late_for(run):
            # painting every slice would take longer than the slices do
            if time.monotonic() - self._told < LATE_TOLD_SECONDS:
                return
            self._told = time.monotonic()
        self.history_changed.emit()
        if run is self._current:
            self._keep_cursor(run)

    def _keep_cursor(self, run: Run) -> None:
        """Follow the newest step, or stay at the one shown, which comes back once it has been worked out again."""
        last = max(run.history.count - 1, 0)
        if self.cursor > last and run.simulation.late and not self.following:
            self._return_to = max(self.cursor, self._return_to or 0)
        step = last if self.following or self.cursor > last else self.cursor
        if self._return_to is not None:
            step = min(self._return_to, last)
            if last >= self._return_to or not run.simulation.late:
                self._return_to = None
        if step != self.cursor:
            self.cursor = step
            self.cursor_changed.emit(step)

    @Slot(int, object)
    def _on_changed(self, run_id: int, events: tuple[Event, ...]) -> None:
        kind = self._asked.popleft() if self._asked else ""
        run = self._run(run_id)
        if run is None:
            return
        before, run.events = run.events, list(events)
        if before != run.events and kind is not None:
            self.undo_stack.push(ChangeEvents(self, run, before, run.events, kind))
        self.engine.catch_up(run)
        self.settings_changed.emit()
        self._on_progressed(run_id, run.history.count)

    @Slot(int, str, str)
    def _on_failed(self, run_id: int, sentence: str, details: str) -> None:
        self.engine.stop()
        if self.state == "running":
            self._set_state("paused")
        self.message.emit(sentence, details)
        self.settings_changed.emit()

    @Slot(str, str, str)
    def _on_job_failed(self, slot: str, sentence: str, details: str) -> None:
        self.message.emit(sentence, details)

    def _run(self, run_id: int) -> Run | None:
        return next((run for run in self.runs if run.id == run_id), None)

    def _set_state(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self.frames.sharing = state == "running"
            self.state_changed.emit(state)
