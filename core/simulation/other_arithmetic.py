"""Another optimizer on the weights and gradients of a recorded run: what it would have applied at every step.

Unlike a race the other one does not go its own way: at each step it gets what the run had, so every difference is a
difference of arithmetic, never of another place on the surface.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.declare import SettingError
from core.optim.aligned import RowPair, align_rows, rows_of
from core.optim.alike import RoundingBound, beyond, finished_step, unit_of, units_of
from core.optim.compare import counts, culprit_of, opposite
from core.optim.difference_words import HERE_THERE, pair_words
from core.optim.dtypes import FLOAT64, resolve_dtype
from core.optim.ledger import BlockLedger, StepLedger
from core.optim.optimizer import Optimizer
from core.simulation.build import apply_event, build_optimizer
from core.simulation.contrast import norm
from core.simulation.experiment import Event
from core.simulation.measures import row_norms
from core.simulation.simulation import Simulation

Float64 = NDArray[np.float64]
SPACING = 32
"""Steps between two snapshots, at first."""
SNAPSHOT_BYTES = 32_000_000
FEWEST_SNAPSHOTS, MOST_SNAPSHOTS = 16, 4096


@dataclass(frozen=True, eq=False)
class PairedRow(RowPair):
    """One cause of one step in both, with the row's name for people, and what sets the two apart in words ('' when
    they differ only through what came in).
    """

    label: str = ""
    words: str = ""

    @property
    def difference(self) -> Float64:
        """right - left."""
        return apart(self.left_contribution, self.right_contribution)


@dataclass(frozen=True, eq=False)
class StepPair:
    """One step in both arithmetics. The differences of ``rows`` add up to that of what was applied.

    ``bound`` is what rounding can make of the finished step, (size,), ``unit`` what part of a row's own size.
    ``differs``: the rules differ, not only the rounding of the last digits.
    """

    step: int
    left: Float64
    right: Float64
    rows: tuple[PairedRow, ...]
    bound: Float64
    unit: float
    differs: bool

    @property
    def difference(self) -> Float64:
        """right - left, of what was applied."""
        return apart(self.left, self.right)

    def largest(self) -> PairedRow | None:
        """The row whose two contributions are furthest apart."""
        sizes = [norm(row.difference) for row in self.rows]
        finite = [size if np.isfinite(size) else np.inf for size in sizes]
        return self.rows[int(np.argmax(finite))] if finite and max(finite) > 0.0 else None

    def first(self) -> PairedRow | None:
        """The first row, in the order of the chain, that differs by more than rounding."""
        found = culprit_of(self.rows, self.counts)
        return found if self.counts(found) else None

    def instead(self, row: PairedRow) -> PairedRow | None:
        """What the other chain has instead of a row that stands on one side only."""
        return opposite(self.rows, row, self.counts)

    def counts(self, row: PairedRow) -> bool:
        """Whether the two contributions differ by more than the rounding of the step."""
        return counts(row, self.bound, self.unit)


def apart(left: Float64, right: Float64) -> Float64:
    """right - left; 0 where both are the same infinity, or no number."""
    with np.errstate(all="ignore"):
        result: Float64 = right - left
    result[(left == right) | (np.isnan(left) & np.isnan(right))] = 0.0
    return result


class OtherArithmetic:
    """Steps the other optimizer along a recorded run; everything is read from the record, nothing changed.

    ``start`` is the first step compared: that of the newest optimizer lines, which begin with fresh averages.
    ``reached`` steps are done, counted from step 0; ``distances[k - start]`` is the length of the difference at step
    k, ``lengths`` that of the applied step. ``first_difference`` is the first step in which the rules differ, None
    while there is none; ``first_rounding`` the first one before it that differs in its last digits, ``rounding`` the
    longest such difference. ``ended`` says why a live change cannot be carried over, and then nothing beyond
    ``reached`` is compared.
    """

    def __init__(self, simulation: Simulation, lines: str) -> None:
        self.simulation = simulation
        self.lines = lines
        experiment = simulation.experiment
        self.events = [event for event in experiment.events if event.target != "problem"]
        newest = [event for event in self.events if (event.target, event.key) == ("optimizer", "lines")]
        self.start = newest[-1].step if newest else 0
        self.source = str(newest[-1].value) if newest else experiment.optimizer
        self.reached = self.start
        self.first_difference: int | None = None
        self.first_rounding: int | None = None
        self.rounding = 0.0
        self.ended = ""
        self._distances: list[float] = []
        self._lengths: list[float] = []
        self._bound = RoundingBound()
        self._right = build_optimizer(lines, experiment.storage, experiment.arithmetic)
        self._storage = resolve_dtype(experiment.storage)
        self._arithmetic = resolve_dtype(experiment.arithmetic)
        self._spacing = SPACING
        self._snapshots: list[tuple[int, Any, RoundingBound]] = []
        self._live = self._events_after_lines()
        self._scaled = build_optimizer(self.source, experiment.storage, experiment.arithmetic).loss_scale is not None

    @property
    def distances(self) -> Float64:
        """Lengths of the differences, one a step from ``start``."""
        return np.array(self._distances)

    @property
    def lengths(self) -> Float64:
        """Lengths of the applied steps, one a step from ``start``."""
        return np.array(self._lengths)

    def advance(self, stop: int, seconds: float | None = None) -> bool:
        """Compare on, up to step ``stop``; True when that is done (or no more can be)."""
        deadline = None if seconds is None else time.perf_counter() + seconds
        stop = min(stop, self.simulation.history.count)
        while self.reached < stop and not self.ended:
            self._remember()
            self._compare_next()
            if deadline is not None and time.perf_counter() >= deadline:
                break
        return self.reached >= stop or bool(self.ended)

    def pair(self, step: int, names: tuple[str, str] = HERE_THERE) -> StepPair:
        """Both ledgers of a step that has been compared, worked out once more from the snapshot before it.

        ``names`` is what the two are called in the words.
        """
        if not self.start <= step < self.reached:
            raise IndexError(f"step {step} has not been compared: steps {self.start} to {self.reached - 1} have")
        at, state, rounding = [item for item in self._snapshots if item[0] <= step][-1]
        right, rounding = self._fresh(at, state), copy(rounding)
        for k in range(at, step + 1):
            self._act(right, k)
            ledger = self._step(right, k)
            bound = rounding.next(ledger.blocks[0])
        history, left = self.simulation.history, self.simulation.optimizer_at(step)
        schema, table, block = history.schema(step), history.rows(step), ledger.blocks[0]
        ours = [
            (name, cause, np.array(table[k]))
            for k, (name, cause) in enumerate(zip(schema.names, schema.causes, strict=True))
        ]
        with np.errstate(all="ignore"):
            pairs = align_rows(ours, rows_of(block), history.expected(step), np.array(block.expected))
        base, rate = (float(history.scalar(name)[step]) for name in ("base_learning_rate", "learning_rate"))
        rows = tuple(_paired(pair, left, right, (base, rate), ledger, names) for pair in pairs)
        unit = units_of(self._arithmetic) * unit_of(self._arithmetic)
        applied = np.array(history.applied(step)), np.array(block.applied)
        return StepPair(step, *applied, rows, bound, unit, self._differ(step, block, bound))

    # internals -----------------------------------------------------------------------------------------------------

    def _events_after_lines(self) -> list[Event]:
        """Live changes of settings, in order, that act on the optimizer of the newest lines."""
        ordered = sorted(self.events, key=lambda event: event.step)
        places = [k for k, event in enumerate(ordered) if (event.target, event.key) == ("optimizer", "lines")]
        return ordered[places[-1] + 1 :] if places else ordered

    def _fresh(self, step: int, state: Any) -> Optimizer:
        """The other optimizer as it was before ``step`` (its own events still to come)."""
        experiment = self.simulation.experiment
        right = build_optimizer(self.lines, experiment.storage, experiment.arithmetic)
        for event in self._live:
            if event.step < step:
                apply_event(right, event)
        right.restore(state)
        return right

    def _act(self, right: Optimizer, step: int) -> None:
        for event in self._live:
            if event.step == step:
                apply_event(right, event)

    def _remember(self) -> None:
        """A snapshot every so many steps; when there are too many, every other one goes."""
        if (self.reached - self.start) % self._spacing:
            return
        self._snapshots.append((self.reached, self._right.snapshot(), copy(self._bound)))
        affordable = SNAPSHOT_BYTES // (8 * (self._right.state_vectors + 1) * max(self.simulation.layout.size, 1))
        if len(self._snapshots) > min(max(affordable, FEWEST_SNAPSHOTS), MOST_SNAPSHOTS):
            self._snapshots = self._snapshots[::2]
            self._spacing *= 2

    def _compare_next(self) -> None:
        step = self.reached
        try:
            self._act(self._right, step)
        except SettingError as error:
            self.ended = f"At step {step} a live change of the run has no counterpart in the other lines: {error}"
            return
        block = self._step(self._right, step).blocks[0]
        bound = self._bound.next(block)
        applied = self.simulation.history.applied(step)
        with np.errstate(all="ignore"):
            distance, length = row_norms(np.stack([apart(applied, block.applied), applied]))
        self._distances.append(float(distance))
        self._lengths.append(float(length))
        if self.first_difference is None and distance != 0.0:
            if self._differ(step, block, bound):
                self.first_difference = step
            else:
                self.rounding = max(self.rounding, float(distance))
                self.first_rounding = step if self.first_rounding is None else self.first_rounding
        self.reached = step + 1

    def _differ(self, step: int, block: BlockLedger, bound: Float64) -> bool:
        """Whether the rules differ in this step, and with them what is applied.

        Shorter types are stored in coarse steps: there the finished steps are compared as they were before that.
        """
        applied = self.simulation.history.applied(step)
        if not beyond(applied, block.applied, 0.0):
            return False
        if self._storage == FLOAT64:
            weights = self.simulation.history.weights(step)
            with np.errstate(invalid="ignore", over="ignore"):
                stored = 2.0 * np.spacing(np.nan_to_num(np.maximum(np.abs(weights), np.abs(weights + applied))))
            return beyond(applied, block.applied, np.maximum(bound, np.nan_to_num(stored)))
        with np.errstate(invalid="ignore", over="ignore"):
            finished = applied - self.simulation.history.rows(step)[-1]
        return beyond(finished, finished_step(block), bound)

    def _step(self, right: Optimizer, step: int) -> StepLedger:
        """The other optimizer's step from the weights and the gradient that the run had."""
        history = self.simulation.history
        weights = history.weights(step).astype(self._storage)
        evaluate = self._evaluation(step)
        with np.errstate(all="ignore"):
            if self._scaled and "loss_scale" in history.figures(step):
                # what is recorded is the gradient of the scaled loss
                _, gradient = evaluate(weights.astype(self._arithmetic))
            else:
                gradient = history.gradient(step).astype(self._arithmetic)
        loss = float(history.scalar("loss")[step])
        return right.step_flat(weights, gradient, history.layout, loss=loss, evaluate=evaluate)[0]

    def _evaluation(self, step: int) -> Callable[[Any], tuple[float, Any]]:
        """Loss and gradient at other weights on the batch of a step (LBFGS, SAM, loss scaling)."""
        simulation = self.simulation
        seed = simulation.experiment.seed

        def evaluate(weights: Any) -> tuple[float, Any]:
            changed = any(event.target == "problem" for event in simulation.experiment.events)
            objective = simulation.objective_at(step) if changed else simulation.objective
            return objective.value_and_gradient(weights, step, seed)

        return evaluate


def _paired(
    pair: RowPair,
    left: Optimizer,
    right: Optimizer,
    here: tuple[float, float],
    ledger: StepLedger,
    names: tuple[str, str],
) -> PairedRow:
    owner, name = (left, pair.left) if pair.left is not None else (right, pair.right)
    label = "−lr·g" if name in (None, "expected") else owner.transform(str(name)).label
    there = ledger.base_learning_rate, ledger.learning_rate
    words = pair_words(left, right, pair, here, there, names)
    contributions = np.array(pair.left_contribution), np.array(pair.right_contribution)
    return PairedRow(pair.cause, pair.left, pair.right, *contributions, pair.moved, pair.gap, label, words)
