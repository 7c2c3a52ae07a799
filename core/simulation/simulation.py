"""Stepping: runs an experiment, records every step, goes back to any of them, and forks."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from core.optim import Optimizer
from core.optim.dtypes import resolve_dtype
from core.optim.layout import Array, Layout
from core.simulation.build import apply_event, build_objective, build_optimizer, current_value
from core.simulation.experiment import Event, Experiment, ExperimentError
from core.simulation.history import History
from core.simulation.recorded import RecordedLedger

CHECKPOINT_EVERY = 256


class Checkpoint:
    """All that a run needs to go on from ``step``."""

    __slots__ = ("lines", "optimizer", "settings", "step", "weights")

    def __init__(self, step: int, weights: Array, optimizer: Any) -> None:
        self.step = step
        self.weights = weights
        self.optimizer = optimizer


class Simulation:
    """One run of an experiment. ``step`` counts the steps taken; ``weights`` is the flat state after them.

    ``trouble`` is '' or a sentence saying why the run cannot go on (it diverged); rewinding clears it.
    """

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.objective = build_objective(experiment)
        variables = self.objective.variables
        self.layout = Layout([v.name for v in variables], [v.shape for v in variables])
        self.history = History(self.layout)
        self.trouble = ""
        self._prepare()

    def _prepare(self) -> None:
        """Start afresh: the state before step 0, with the events of step 0 already acting."""
        experiment = self.experiment
        self.step = 0
        self.trouble = ""
        self.weights = self._start_weights()
        self.optimizer = self._optimizer(experiment.optimizer)
        self._checkpoints: list[Checkpoint] = []
        self._events = sorted(experiment.events, key=lambda event: event.step)
        self._next_event = 0
        self._problem_values = dict(experiment.problem.values)

    def _optimizer(self, lines: str) -> Optimizer:
        return build_optimizer(lines, self.experiment.storage, self.experiment.arithmetic)

    def _start_weights(self) -> Array:
        given = self.experiment.start
        size = self.layout.size
        if given is None:
            start = np.asarray(self.objective.initial_weights(self.experiment.seed), dtype=np.float64)
        else:
            start = np.array(given, dtype=np.float64)
            if start.shape != (size,):
                raise ExperimentError(
                    f"start: {self.objective.name} has {size} weights, {start.size} starting values were given"
                )
        return start.astype(resolve_dtype(self.experiment.storage))

    # stepping -------------------------------------------------------------------------------------------------

    def advance(self, steps: int = 1, seconds: float | None = None) -> int:
        """Take up to ``steps`` steps, stopping after ``seconds`` or at trouble; returns how many were taken."""
        deadline = None if seconds is None else time.perf_counter() + seconds
        for taken in range(steps):
            if self.trouble or (deadline is not None and time.perf_counter() >= deadline):
                return taken
            self._take_step()
        return steps

    def _take_step(self) -> None:
        if self._next_event < len(self._events):
            self._apply_due_events()
        if self.step % CHECKPOINT_EVERY == 0:
            self._remember()
        weights = self.weights
        compute = weights if self.experiment.arithmetic == self.experiment.storage else self._widen(weights)
        with np.errstate(all="ignore"):
            loss, gradient = self.objective.value_and_gradient(compute, self.step, self.experiment.seed)
        ledger, stored = self.optimizer.step_flat(weights, gradient, self.layout, loss=loss, evaluate=self._evaluate)
        with np.errstate(all="ignore"):
            self.history.append(weights, gradient, loss, ledger)
        self.weights = stored
        self.step += 1
        if not np.isfinite(stored).all():
            self.trouble = self._explain_trouble(loss, gradient)

    def _widen(self, weights: Array) -> Array:
        return weights.astype(resolve_dtype(self.experiment.arithmetic))

    def _evaluate(self, weights: Array) -> tuple[float, Array]:
        """Loss and gradient at other weights on this step's batch (LBFGS, SAM)."""
        return self.objective.value_and_gradient(weights, self.step, self.experiment.seed)

    def _explain_trouble(self, loss: float, gradient: Array) -> str:
        step = self.step - 1
        if not np.isfinite(np.asarray(gradient, dtype=np.float64)).all():
            what = "the gradient is not finite any more"
        else:
            what = "the step left the range of numbers"
        rate = self.history.scalar("learning_rate")[step]
        return (
            f"The run diverged at step {step}: {what} (loss {loss:.6g}, learning rate {rate:.6g}). "
            "Go back before it and lower the learning rate, or clip the gradient."
        )

    def _apply_due_events(self) -> None:
        while self._next_event < len(self._events) and self._events[self._next_event].step <= self.step:
            self._apply(self._events[self._next_event])
            self._next_event += 1

    def _apply(self, event: Event) -> None:
        if event.target == "problem":
            self.objective = self.objective.with_values(**{event.key: event.value})
        elif event.target == "optimizer" and event.key == "lines":
            self.optimizer = self._optimizer(str(event.value))
        else:
            apply_event(self.optimizer, event)

    # live changes -----------------------------------------------------------------------------------------------

    def change(self, target: str, key: str, value: Any) -> Event:
        """Change a setting from the current step on; the event becomes part of the experiment.

        Changes of the same setting at the same step become one event. Raises before anything has changed.
        """
        self._apply_due_events()
        event = Event(self.step, target, key, value, self._old_value(target, key))
        self._apply(event)
        same = [e for e in self._events if (e.step, e.target, e.key) == (event.step, target, key)]
        if same:
            event = Event(self.step, target, key, value, same[0].old)
        events = [e for e in self._events if e not in same]
        self._next_event = 1 + sum(e.step <= self.step for e in events)
        self._events = sorted([*events, event], key=lambda e: e.step)
        self.experiment = self.experiment.replace(events=list(self._events))
        return event

    def _old_value(self, target: str, key: str) -> Any:
        if target == "problem":
            if key not in self.objective.values:
                known = ", ".join(self.objective.values) or "none"
                raise ExperimentError(f"{self.objective.name} has no parameter {key!r}; it has: {known}")
            return self.objective.values[key]
        return current_value(self.optimizer, target, key)

    # time -------------------------------------------------------------------------------------------------------

    def ledger(self, step: int) -> RecordedLedger:
        """The ledger of a recorded step."""
        return RecordedLedger(self.history, step)

    def seek(self, step: int) -> None:
        """Make ``step`` the current one: forward by running, backward by replaying from the nearest checkpoint.

        Later rows leave the history (events stay in the experiment and act again when they are reached).
        """
        if step < 0:
            raise ValueError(f"step {step} is before the start of the run; the first step is 0")
        if step >= self.step:
            self.advance(step - self.step)
            return
        target = self.history.fork(step)
        events = self._events
        self._restore(step)
        self._events = events
        self.experiment = self.experiment.replace(events=list(events))
        self.history = target

    def _restore(self, step: int) -> None:
        """The state before ``step``: replays from the checkpoint at or before it (recorded rows are not written)."""
        checkpoint = max((c for c in self._checkpoints if c.step <= step), key=lambda c: c.step, default=None)
        kept = [c for c in self._checkpoints if c.step <= step]
        objective_values = self.experiment.problem.values
        self._prepare()
        self.objective = build_objective(self.experiment) if objective_values or self._events else self.objective
        if checkpoint is not None:
            self._checkpoints = kept
            self.step = checkpoint.step
            while self._next_event < len(self._events) and self._events[self._next_event].step <= checkpoint.step:
                self._apply(self._events[self._next_event])
                self._next_event += 1
            self.weights = checkpoint.weights
            self.optimizer.restore(checkpoint.optimizer)
        full, self.history = self.history, History(self.layout)
        self.history.count = self.step
        self.advance(step - self.step)
        self.history = full

    def _remember(self) -> None:
        if not self._checkpoints or self._checkpoints[-1].step < self.step:
            self._checkpoints.append(Checkpoint(self.step, self.weights, self.optimizer.snapshot()))

    def fork(self, step: int | None = None, **changes: Any) -> Simulation:
        """A new run with the same past up to ``step`` (default: now), then other settings.

        ``changes``: ``learning_rate=0.1`` or ``optimizer="lines"``, or ROW__KEY=value ('clip_by_value__clip_value').
        """
        step = self.step if step is None else step
        if not 0 <= step <= self.step:
            raise ValueError(f"cannot fork at step {step}: the run holds steps 0 to {self.step}")
        past = [event for event in self._events if event.step < step or (event.step == step == self.step)]
        other = object.__new__(Simulation)
        other.experiment = self.experiment.replace(events=past)
        other.objective = build_objective(other.experiment)
        other.layout = self.layout
        other.history = self.history.fork(step)
        other._prepare()
        other._checkpoints = [c for c in self._checkpoints if c.step <= step]
        recorded = other.history
        other._restore(step)
        other.history = recorded
        for key, value in changes.items():
            target, name = _change_target(key)
            other.change(target, name, value)
        return other


def _change_target(key: str) -> tuple[str, str]:
    if key == "optimizer":
        return "optimizer", "lines"
    if "__" in key:
        row, _, name = key.partition("__")
        return row, name
    return "learning_rate", key
