"""A transform in some steps only, as the counters of a pasted loop decide (``if step > 100: clip``)."""

from __future__ import annotations

from typing import Any

from core.optim.layout import Array
from core.optim.schedules.stepped import Played
from core.optim.transform import State, StepContext, Transform
from core.optim.transforms.nested import Nested


class Timed(Nested):
    """The inner transform in the steps for which ``acts`` holds 1; in the others u passes unchanged.

    ``lines`` are what decides. The row has a name of its own, so that nobody takes it for one that always acts.
    """

    def __init__(self, inner: Transform, acts: Played, lines: str) -> None:
        self.acts, self.lines = acts, lines
        super().__init__(inner)
        self.name = f"timed_{inner.name}"
        self.label = f"{inner.label}, in some steps"

    def condition(self) -> dict[str, Any]:
        return {"lines": self.lines}

    def update(self, u: Array, state: State, ctx: StepContext) -> Array:
        return self.inner.update(u, state, ctx) if self.acts[ctx.step] else u
