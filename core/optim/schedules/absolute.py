"""Schedules that state rates themselves (optax, Keras, TF1), not factors of a base rate."""

from __future__ import annotations

from typing import Any

from core.optim.schedules.base import Schedule


class AbsoluteSchedule(Schedule):
    """A rule lr_t = at(k) with its own numbers; ``base`` is the largest of them, what a person calls the rate.

    When the base learning rate is changed live the whole curve is scaled with it: at(k) · lr / base.
    """

    base: float

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.base = self.largest()

    def at(self, k: int) -> float:
        """The scheduled number for the step that has ``k`` applied steps before it."""
        raise NotImplementedError(f"{type(self).__name__} has to implement at")

    def largest(self) -> float:
        """The largest of the numbers the schedule was given; stands for the base learning rate."""
        raise NotImplementedError(f"{type(self).__name__} has to implement largest")

    def rate(self, base: float, k: int) -> float:
        found = self.at(k)
        return found if base == self.base or self.base == 0.0 else found * (base / self.base)
