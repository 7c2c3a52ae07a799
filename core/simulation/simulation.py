"""Stepping: runs an experiment, records every step, goes back to any of them, and forks."""

from __future__ import annotations

import hashlib
import platform
import time
from copy import copy
from typing import Any

import numpy as np

from core.declare import SettingError
from core.optim import Optimizer
from core.optim.dtypes import resolve_dtype
from core.optim.layout import Array, Layout
from core.optim.ledger import StepLedger
from core.problems.objective import Objective
from core.simulation.build import apply_event, build_objective, build_optimizer, current_value
from core.simulation.checkpoint import Checkpoint, Checkpoints
from core.simulation.event_lists import first_difference
from core.simulation.experiment import Event, Experiment, ExperimentError, Recorded
from core.simulation.history import History
from core.simulation.plain import plain
from core.simulation.recorded import RecordedLedger
from core.simulation.sentences import diverged, other_digits
from core.simulation.start import given_weights, start_weights

DEFAULT_BUDGET = 512 << 20
"""Bytes of recorded vectors (and a quarter of it for checkpoints) a run may keep in memory."""


class Simulation:
    """One run of an experiment. ``step`` counts the steps taken; ``weights`` is the flat state after them.

    ``budget`` bounds the memory of recorded vectors in bytes: beyond it those of the oldest steps are let go and worked
    out again, from the nearest checkpoint, when they are asked for.
    ``trusted`` are the Python files that the user has allowed to run (see core.simulation.build).
    ``trouble`` is '' or a sentence saying why the run cannot go on (it diverged); rewinding clears it.
    ``goal`` is the step that a run had reached which is being worked out again (0: none); see ``set_events``.
    """

    def __init__(
        self, experiment: Experiment, budget: int = DEFAULT_BUDGET, trusted: frozenset[str] = frozenset()
    ) -> None:
        self.experiment = experiment
        self.budget = budget
        self.trusted = trusted
        self._first_objective = build_objective(experiment, trusted)
        variables = self._first_objective.variables
        self.layout = Layout([v.name for v in variables], [v.shape for v in variables])
        self.history = History(self.layout, budget)
        self.history.recall = self._recall
        self.trouble = ""
        self._prepare()

    def _prepare(self) -> None:
        """Start afresh: the state before step 0, with the events of step 0 already acting."""
        experiment = self.experiment
        self.objective = self._first_objective
        self.step = 0
        self.trouble = ""
        self.goal = 0
        self.weights = start_weights(experiment, self.objective)
        self._hash = hashlib.sha256(self.weights.tobytes())
        self.optimizer = self._optimizer(experiment.optimizer)
        self._checkpoints = Checkpoints.none_of(self.layout.size)
        self._events = sorted(experiment.events, key=lambda event: event.step)
        self._next_event = 0
        self._last_ledger: StepLedger | None = None

    def _optimizer(self, lines: str) -> Optimizer:
        optimizer = build_optimizer(lines, self.experiment.storage, self.experiment.arithmetic)
        optimizer.check_variables(self.layout.names, self.layout.shapes)
        return optimizer

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
        if self._checkpoints.due(self.step):
            self._remember()
        weights = self.weights
        compute = weights if self.experiment.arithmetic == self.experiment.storage else self._widen(weights)
        with np.errstate(all="ignore"):
            loss, gradient = self.objective.value_and_gradient(compute, self.step, self.experiment.seed)
        ledger, stored = self.optimizer.step_flat(weights, gradient, self.layout, loss=loss, evaluate=self._evaluate)
        with np.errstate(all="ignore"):
            self.history.append(weights, ledger.blocks[0].gradient, loss, ledger)
        self._last_ledger = ledger
        self.weights = stored
        self._hash.update(stored.tobytes())
        self.step += 1
        if not np.isfinite(stored).all():
            self.trouble = diverged(self.objective, self.history, self.step - 1, loss, gradient)

    def _widen(self, weights: Array) -> Array:
        return weights.astype(resolve_dtype(self.experiment.arithmetic))

    def _evaluate(self, weights: Array) -> tuple[float, Array]:
        """Loss and gradient at other weights on this step's batch (LBFGS, SAM)."""
        return self.objective.value_and_gradient(weights, self.step, self.experiment.seed)

    def _apply_due_events(self) -> None:
        while self._next_event < len(self._events) and self._events[self._next_event].step <= self.step:
            self._apply(self._events[self._next_event])
            self._next_event += 1

    def _apply(self, event: Event) -> None:
        if event.target == "weights":
            where = f"weights at step {event.step}"
            self.weights = given_weights(event.value, self.objective, self.experiment.storage, where)
        elif event.target == "problem":
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
        value = plain(value)
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
        if target == "weights":
            return None
        if target == "problem":
            if key not in self.objective.values:
                known = ", ".join(self.objective.values) or "none"
                raise ExperimentError(f"{self.objective.name} has no parameter {key!r}; it has: {known}")
            return self.objective.values[key]
        return current_value(self.optimizer, target, key)

    def set_events(self, events: list[Event], seconds: float | None = None) -> None:
        """Replace the live changes (one edited, removed, brought back) and work the run out again from the first
        difference, up to the step it had reached. Raises before anything has changed.

        With ``seconds`` it stops after about that time; ``catch_up`` goes on. A run that diverges on the way keeps the
        step it had reached as its ``goal``, so that taking the change back brings all of it back.
        """
        new, old, reached = self.checked_events(events), self._events, self.step
        first = first_difference(new, old)
        if first is None:
            self._events = new
            self.experiment = self.experiment.replace(events=list(new))
            return
        before = self.experiment, self._checkpoints
        # who still reads the former history, and asks for vectors that were let go, gets those of the former run
        former = copy(self)
        former.history = History(self.layout)
        self.history.recall = former._recall
        try:
            self.experiment = self.experiment.replace(events=list(new))
            # a checkpoint of the very step could hold the state of another chain
            self._checkpoints = self._checkpoints.holding(self._checkpoints.up_to(first - 1))
            past = self._at(min(first, reached))
        except Exception:
            self.experiment, self._checkpoints = before
            self.history.recall = self._recall
            raise
        self.goal = max(self.goal, reached)
        self._take_over(past, self.history.fork(past.step))
        self.catch_up(seconds)
        # a change of the very step that comes next shows at once
        self._apply_due_events()

    def checked_events(self, events: list[Event]) -> list[Event]:
        """``events`` in the order in which they act, each with the value that it will really change from.

        They act on a fresh optimizer, to find out what is wrong with them: SettingError says which one and why. Reads
        this simulation without changing it, so that another thread may ask.
        """
        trial = self._afresh(self.experiment.replace(events=[e.replace(value=plain(e.value)) for e in events]))
        found = []
        for event in trial._events:
            if event.step < 0:
                raise SettingError(f"step {event.step}: steps count from 0")
            try:
                found.append(event.replace(old=trial._old_value(event.target, event.key)))
                trial._apply(event)
            except ValueError as error:
                kind = ExperimentError if isinstance(error, ExperimentError) else SettingError
                raise kind(f"the change at step {event.step}: {error}") from error
        return found

    @property
    def late(self) -> bool:
        """True while steps are missing that the run had before it was worked out again."""
        return self.step < self.goal and not self.trouble

    def catch_up(self, seconds: float | None = None) -> None:
        """Go on towards ``goal``, for about ``seconds``."""
        self.advance(max(self.goal - self.step, 0), seconds)

    # replay ---------------------------------------------------------------------------------------------------

    @property
    def digest(self) -> str:
        """SHA-256 over the stored weights after every step so far: two runs with the same digest took the same path."""
        return self._hash.hexdigest()

    def to_save(self) -> Experiment:
        """The experiment with how far it has come and the digest of its trajectory."""
        return self.experiment.replace(recorded=Recorded(self.step, self.digest, np.__version__, platform.machine()))

    def check_replay(self) -> str:
        """'' when the replayed steps are those recorded (or there is nothing to compare yet), else a sentence."""
        recorded = self.experiment.recorded
        if recorded is None or self.step != recorded.steps or recorded.digest in ("", self.digest):
            return ""
        return other_digits(recorded)

    # time -------------------------------------------------------------------------------------------------------

    def ledger(self, step: int) -> RecordedLedger:
        """The ledger of a recorded step."""
        return RecordedLedger(self.history, step)

    def optimizer_at(self, step: int) -> Optimizer:
        """An optimizer with the settings (not the state) that were in force in step ``step``: for its formulas."""
        optimizer = self._optimizer(self.experiment.optimizer)
        for event in sorted(self.experiment.events, key=lambda event: event.step):
            if event.step > step:
                break
            if event.target == "optimizer" and event.key == "lines":
                optimizer = self._optimizer(str(event.value))
            elif event.target not in ("problem", "weights"):
                apply_event(optimizer, event)
        return optimizer

    def objective_at(self, step: int) -> Objective:
        """The problem with the values that were in force in step ``step``."""
        objective = self._first_objective
        for event in sorted(self.experiment.events, key=lambda event: event.step):
            if event.target == "problem" and event.step <= step:
                objective = objective.with_values(**{event.key: event.value})
        return objective

    def retake(self, step: int) -> StepLedger:
        """The ledger of a recorded step with the state behind it, taken once more: for counterfactuals.

        Reads this simulation without changing it, so that another thread may ask.
        """
        if not 0 <= step < self.history.count:
            raise IndexError(f"step {step} is not in the history: it holds steps 0 to {self.history.count - 1}")
        past = self._at(step)
        past.advance(1)
        if past._last_ledger is None or past.step != step + 1:
            raise RuntimeError(f"step {step} cannot be taken again: {past.trouble or 'the run stops before it'}")
        return past._last_ledger

    def seek(self, step: int) -> None:
        """Make ``step`` the current one: forward by running, backward by replaying from the nearest checkpoint.

        Later rows leave the history (events stay in the experiment and act again when they are reached).
        """
        if step < 0:
            raise ValueError(f"step {step} is before the start of the run; the first step is 0")
        self.goal = 0
        if step >= self.step:
            self.advance(step - self.step)
            return
        past = self._at(step)
        history = self.history.fork(step)
        self._take_over(past, history)

    def fork(self, step: int | None = None, **changes: Any) -> Simulation:
        """A new run with the same past up to ``step`` (default: now), then other settings.

        ``changes``: ``learning_rate=0.1`` or ``optimizer="lines"``, or ROW__KEY=value ('clip_by_value__clip_value').
        The past's vectors are shared, not copied.
        """
        step = self.step if step is None else step
        if not 0 <= step <= self.step:
            raise ValueError(f"cannot fork at step {step}: the run holds steps 0 to {self.step}")
        other = self._at(step)
        other._take_over(other, self.history.fork(step))
        # where the weights were put by hand in this very step, the fork begins with them
        kept = [e for e in self._events if e.step < step or (e.step == step and step in (self.step, _by_hand(e)))]
        other._events = kept
        # those of this very step have yet to act on the fork
        other._next_event = sum(event.step < step for event in kept)
        other.experiment = self.experiment.replace(events=list(kept))
        for key, value in changes.items():
            target, name = _change_target(key)
            other.change(target, name, value)
        return other

    def _at(self, step: int) -> Simulation:
        """A simulation of the same experiment before ``step``, replayed from the checkpoint at or before it.

        Its history holds the replayed stretch only. Reads this simulation without changing it, so that another
        thread may ask.
        """
        checkpoints = self._checkpoints.up_to(step)
        other = self._afresh(self.experiment)
        if checkpoints:
            checkpoint = checkpoints[-1]
            other.step = checkpoint.step
            other._apply_due_events()
            other.weights = checkpoint.weights
            other._hash = checkpoint.digest.copy()
            other.optimizer.restore(checkpoint.optimizer)
            other.history.start_at(checkpoint.step)
        other._checkpoints = other._checkpoints.holding(checkpoints)
        other.advance(step - other.step)
        return other

    def _afresh(self, experiment: Experiment) -> Simulation:
        """A simulation of ``experiment`` on the same problem, at its start, with a history of its own."""
        other = object.__new__(type(self))
        other.experiment = experiment
        other._first_objective = self._first_objective
        other.layout = self.layout
        other.budget = self.budget
        other.trusted = self.trusted
        other.history = History(self.layout)
        other._prepare()
        return other

    def _take_over(self, other: Simulation, history: History) -> None:
        """Go on from the state of ``other`` with ``history`` as the past."""
        self.objective, self.optimizer, self.weights = other.objective, other.optimizer, other.weights
        self._hash = other._hash
        self.step, self.trouble = other.step, other.trouble
        self._events, self._next_event = other._events, other._next_event
        self._checkpoints = other._checkpoints
        self.history = history
        history.recall = self._recall

    def _recall(self, start: int, stop: int) -> History:
        """The rows ``start`` .. ``stop - 1``, whose vectors the history has let go, worked out once more."""
        past = self._at(start)
        replay = past.history = History(self.layout)
        replay.start_at(start)
        past.advance(stop - start)
        return replay

    def _remember(self) -> None:
        """Keep what is needed to go on from here."""
        here = Checkpoint(self.step, self.weights, self.optimizer.snapshot(), self._hash.copy())
        each = 8 * self.layout.size * (1 + self.optimizer.state_vectors)
        self._checkpoints = self._checkpoints.and_one(here, each, self.budget // 4)


def _by_hand(event: Event) -> int:
    """The step of an event that puts weights elsewhere; -1 for others."""
    return event.step if event.target == "weights" else -1


def _change_target(key: str) -> tuple[str, str]:
    if key == "optimizer":
        return "optimizer", "lines"
    if "__" in key:
        row, _, name = key.partition("__")
        return row, name
    return "learning_rate", key
