"""Learning-rate schedules: pure functions of the base rate and the number of steps applied before."""

from __future__ import annotations

from core.declare import Declared


class Schedule(Declared):
    """A rule lr_t = rate(base, k), k = 0 for the first step. Subclasses declare their parameters like transforms."""

    def rate(self, base: float, k: int) -> float:
        """The learning rate of the step that has k applied steps before it."""
        raise NotImplementedError(f"{type(self).__name__} has to implement rate")
