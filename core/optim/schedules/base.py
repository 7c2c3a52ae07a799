"""Learning-rate schedules: pure functions of the base rate and the number of steps applied before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.declare import Declared


class Schedule(Declared):
    """A rule lr_t = rate(base, k), k = 0 for the first step. Subclasses declare their parameters like transforms.

    ``parts`` are schedules inside this one. A schedule that also moves the momentum sets ``moves_momentum`` and
    says in ``momentum(k)`` to what. One that watches the loss sets ``watches``, and keeps what it remembers in a
    memory that the optimizer hands it (so that going back in time works).
    """

    moves_momentum: bool = False
    watches: bool = False
    parts: Sequence[Schedule] = ()

    def rate(self, base: float, k: int) -> float:
        """The learning rate of the step that has k applied steps before it."""
        raise NotImplementedError(f"{type(self).__name__} has to implement rate")

    def momentum(self, k: int) -> float | None:
        """The momentum (or beta1) of that step, None when the schedule leaves it alone."""
        return None

    def remember(self) -> dict[str, Any]:
        """The memory of a watching schedule before the first step."""
        return {}

    def watched_rate(self, base: float, k: int, memory: dict[str, Any]) -> float:
        """The rate of a watching schedule, given its memory."""
        return self.rate(base, k)

    def observe(self, memory: dict[str, Any], base: float, loss: float) -> dict[str, Any]:
        """The memory after the loss of one more step has been reported (a new dictionary)."""
        return memory

    def settings(self) -> dict[str, Any]:
        """Name, values and parts as plain data: equal settings mean equal schedules."""
        found: dict[str, Any] = {"name": self.name, **self.values()}
        if self.parts:
            found["parts"] = [part.settings() for part in self.parts]
        return found
