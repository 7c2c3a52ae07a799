"""Schedules as a training loop drives them: stepped before the optimizer, twice, once an epoch, never, or by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Any

from core.declare import SettingError
from core.optim.schedules.absolute import AbsoluteSchedule
from core.optim.schedules.base import Schedule
from core.optim.schedules.formula import Formula
from core.optim.schedules.torch_cycles import CosineAnnealingWarmRestarts

PROBED = 10_000
"""Steps among which the largest rate of an own function is looked for."""


class SteppedSchedule(Schedule):
    """Another schedule at the place it has reached: ``counts`` says how often it was stepped before each step.

    ``counts`` are those of the first steps; they go on with ``stride`` more from each to the next ``every`` steps.
    """

    name = "SteppedSchedule"
    label = "stepped by the loop"
    formula = "the schedule after the calls of scheduler.step() so far"
    source = "where scheduler.step() stands in a PyTorch loop"

    def __init__(self, inner: Schedule, first: int, stride: int, every: int = 1, counts: Sequence[int] = ()) -> None:
        self.inner, self.first, self.stride, self.every = inner, first, stride, every
        self.counts = tuple(counts)
        self.parts = (inner,)
        self.moves_momentum = inner.moves_momentum
        super().__init__()
        self.label = f"{inner.label}, {self.words}"
        self.formula = f"{inner.formula}, {self.words}"

    @property
    def words(self) -> str:
        """How it is stepped, in words."""
        if self.counts:
            return "stepped where the loop steps it"
        if not self.stride:
            return "never stepped" if not self.first else f"stepped {self.first} times before training"
        beat = f"every {self.every} steps" if self.every > 1 else "each step"
        often = "once" if self.stride == 1 else f"{self.stride} times"
        return f"stepped {often} {beat}" + (f", from {self.first}" if self.first else "")

    def place(self, k: int) -> int:
        """How often scheduler.step() was called before step k."""
        known = self.counts
        if known:
            return known[k] if k < len(known) else known[-1] + (k - len(known) + 1) * self.stride
        return self.first + (k // self.every) * self.stride

    def rate(self, base: float, k: int) -> float:
        return self.inner.rate(base, self.place(k))

    def momentum(self, k: int) -> float | None:
        return self.inner.momentum(self.place(k))

    def settings(self) -> dict[str, Any]:
        found = {**super().settings(), "first": self.first, "stride": self.stride, "every": self.every}
        return {**found, "counts": self.counts} if self.counts else found


class Played:
    """Numbers that a loop gives step by step, worked out as far as they have been asked for, once for all threads."""

    def __init__(self, source: Callable[[], Iterator[float]], what: str) -> None:
        self.source, self.what = source, what
        self._known: list[float] = []
        self._next = source()
        self._lock = Lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> Played:
        return Played(self.source, self.what)

    def __getitem__(self, k: int) -> float:
        with self._lock:
            while len(self._known) <= k:
                found = next(self._next, None)
                if found is None or math.isnan(found):
                    raise SettingError(f"the lines that set {self.what} give none for step {len(self._known)}")
                self._known.append(found)
            return self._known[k]


class EpochSchedule(Schedule):
    """Warm restarts that ``scheduler.step(epoch + i / batches)`` puts at fractions of an epoch."""

    name = "EpochSchedule"
    label = "cosine with warm restarts, by fractions of an epoch"
    formula = "lr_min + (lr − lr_min)(1 + cos(π e_i/T_i))/2, e the epoch and its fraction"
    source = "torch.optim.lr_scheduler.CosineAnnealingWarmRestarts, step(epoch + i / iters)"

    def __init__(self, inner: CosineAnnealingWarmRestarts, epochs: Callable[[], Iterator[float]], text: str) -> None:
        self.inner, self.text = inner, text
        self.epochs = Played(epochs, "the epoch")
        self.parts = (inner,)
        super().__init__()

    def rate(self, base: float, k: int) -> float:
        return self.inner.at_epoch(base, self.epochs[k])

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "lines": self.text}


class HandSetRate(AbsoluteSchedule):
    """The rate that lines like ``group['lr'] = lr * 0.1`` set from step to step; a live change scales them all."""

    name = "HandSetRate"
    label = "set by hand"
    formula = "lr_t as the lines of the loop set it"
    source = "optimizer.param_groups[...]['lr'] = ... (PyTorch), optimizer.learning_rate = ... (Keras)"

    def __init__(self, rates: Callable[[], Iterator[float]], base: float, text: str) -> None:
        self.rates, self.constructed, self.text = Played(rates, "the rate"), base, text
        super().__init__()

    def largest(self) -> float:
        return self.constructed

    def at(self, k: int) -> float:
        return self.rates[k]

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "lines": self.text, "base": self.constructed}


class FunctionRate(AbsoluteSchedule):
    """A rate that a pasted function of the step gives (a LearningRateSchedule of one's own)."""

    name = "FunctionRate"
    label = "own schedule"
    formula = "lr_t = f(k)"
    source = "a subclass of keras.optimizers.schedules.LearningRateSchedule"

    def __init__(self, function: Formula, title: str) -> None:
        self.function, self.title = function, title
        super().__init__()
        self.label, self.formula = title, f"lr_t = {function.body}"

    def largest(self) -> float:
        return max(self.function(k) for k in range(PROBED))

    def at(self, k: int) -> float:
        return self.function(k)

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "function": self.function.text}


class RecursiveRate(AbsoluteSchedule):
    """A rate worked out from the step and the rate before it (Keras' LearningRateScheduler)."""

    name = "RecursiveRate"
    label = "set by a callback"
    formula = "lr_t = f(k, lr_(t−1))"
    source = "keras.callbacks.LearningRateScheduler"

    def __init__(self, function: Callable[[int, float], float | None], start: float, text: str) -> None:
        self.function, self.start, self.text = function, start, text
        self._known: list[float] = []
        super().__init__()
        self.formula = f"lr_t = {text}"

    def __deepcopy__(self, memo: dict[int, Any]) -> RecursiveRate:
        return RecursiveRate(self.function, self.start, self.text)

    def largest(self) -> float:
        """The rate of the constructor; where that is 0 (the callback sets it) the largest of the first epochs."""
        return self.start or max(self.at(k) for k in range(100)) if self.probe() is not None else self.start

    def probe(self) -> float | None:
        """The rate of the first step, None when the function cannot be worked out."""
        return self.function(0, self.start)

    def at(self, k: int) -> float:
        known = self._known
        while len(known) <= k:
            found = self.function(len(known), known[-1] if known else self.start)
            if found is None:
                raise SettingError(f"the rate {self.text} cannot be worked out at step {len(known)}")
            known.append(found)
        return known[k]

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "function": self.text, "base": self.start}
