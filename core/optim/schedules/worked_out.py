"""A rate that pasted code works out from the step: own schedule classes, tf.cond, arithmetic of decays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core.declare import SettingError
from core.optim.schedules.absolute import AbsoluteSchedule

PROBES = (*range(200), *(round(200 * 1.05**i) for i in range(1, 100)))
"""Steps among which the largest rate is looked for."""


class EachEpoch(AbsoluteSchedule):
    """A rate that is set once an epoch of n steps."""

    name = "EachEpoch"
    label = "set once an epoch"
    formula = "lr_t = f(⌊k/n⌋)"
    source = "keras.callbacks with fit(..., steps_per_epoch=n)"

    def __init__(self, inner: AbsoluteSchedule, steps: int) -> None:
        self.inner, self.steps = inner, steps
        self.parts = (inner,)
        super().__init__()
        self.formula = f"{inner.formula}, k counting epochs of {steps} steps"

    def at(self, k: int) -> float:
        return self.inner.at(k // self.steps)

    def largest(self) -> float:
        return self.inner.largest()

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "steps": self.steps}


class WorkedOutRate(AbsoluteSchedule):
    """lr_t = f(k), f a function of the text that is more than one formula; each step is worked out once."""

    name = "WorkedOutRate"
    label = "own schedule"
    formula = "lr_t = f(k)"
    source = "learning rates that the code works out from the step"

    def __init__(self, function: Callable[[int], float], text: str, title: str = "") -> None:
        self.function, self.text, self.title = function, text, title
        self._known: dict[int, float] = {}
        super().__init__()
        self.label = title or self.label
        self.formula = f"lr_t = {text}"

    def __deepcopy__(self, memo: dict[int, Any]) -> WorkedOutRate:
        return WorkedOutRate(self.function, self.text, self.title)

    def at(self, k: int) -> float:
        found = self._known.get(k)
        if found is None:
            found = float(self.function(k))
            self._known[k] = found
        return found

    def largest(self) -> float:
        """The largest of the rates, as far as they can be worked out: a table may end somewhere."""
        found = self.at(0)
        for k in PROBES:
            try:
                found = max(found, self.at(k))
            except SettingError:
                break
        return found

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "function": self.text}
