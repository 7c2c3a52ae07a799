"""Several PyTorch schedulers that a loop steps by turns: what the one leaves is what the other goes on with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from core.declare import SettingError
from core.optim.schedules.torch_rig import Chainable, Container, Group, built


class AlternatingSchedule(Container):
    """All parts act on one rate; ``turns`` gives, for step 0, 1, 2 ..., the parts that are stepped right before it."""

    name = "AlternatingSchedule"
    label = "schedules stepped by turns"
    formula = "the part whose scheduler.step() the loop calls acts on the rate that the other has left"
    source = "where the scheduler.step() stand in a PyTorch loop"

    def __init__(self, parts: Sequence[Chainable], turns: Callable[[], Iterator[Sequence[int]]], text: str) -> None:
        self.parts = tuple(parts)
        self.turns, self.text = turns, text
        super().__init__()

    def played(self, base: float) -> Iterator[tuple[float, float | None]]:
        group = Group(base)
        made = [built(part, group) for part in self.parts]
        for turn in self.turns():
            for i in turn:
                made[i].step()
            yield group.lr, group.momentum
        raise SettingError(f"the loop that steps the schedulers ({self.text}) ends here")

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "lines": self.text}
