"""PyTorch schedulers that a loop steps by turns, among them rates set by hand: each goes on with what is there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from core.declare import SettingError
from core.optim.schedules.torch_rig import Chainable, Container, Group, built

Action = int | tuple[str, float]
"""A part that is stepped, or ("=", rate), ("*", factor), ("/", divisor) for a rate that a line sets."""


class AlternatingSchedule(Container):
    """All parts act on one rate; ``turns`` gives, for step 0, 1, 2 ..., what is done right before it."""

    name = "AlternatingSchedule"
    label = "schedules stepped by turns"
    formula = "the part whose scheduler.step() the loop calls acts on the rate that the other has left"
    source = "where the scheduler.step() stand in a PyTorch loop"

    def __init__(self, parts: Sequence[Chainable], turns: Callable[[], Iterator[Sequence[Action]]], text: str) -> None:
        self.parts = tuple(parts)
        self.turns, self.text = turns, text
        super().__init__()

    def played(self, base: float) -> Iterator[tuple[float, float | None]]:
        group = Group(base)
        made = [built(part, group) for part in self.parts]
        for turn in self.turns():
            for action in turn:
                if isinstance(action, int):
                    made[action].step()
                else:
                    group.lr = self.changed(group.lr, *action)
            yield group.lr, group.momentum
        raise SettingError(f"the loop that steps the schedulers ({self.text}) ends here")

    def changed(self, rate: float, sign: str, number: float) -> float:
        """The rate after a line has set, multiplied or divided it."""
        if math.isnan(number):
            raise SettingError(f"the lines that set the rate ({self.text}) give none here")
        return number if sign == "=" else rate * number if sign == "*" else rate / number

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "lines": self.text}
