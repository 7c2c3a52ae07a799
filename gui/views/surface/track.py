"""A run's path in the plane of the picture: thinned, and brought up to date at the cost of the new rows only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.problems.lines import Line
from core.problems.planes import Plane
from core.simulation import History

Float64 = NDArray[np.float64]
MOST_POINTS = 3000
MOST_NUMBERS = 1_500_000


class PathTrack:
    """Coordinates ``a``, ``b`` of the weights before the steps ``steps``, multiples of ``every``.

    Both are the plane's; on a line ``a`` is its parameter and ``b`` the loss recorded in that step.
    """

    def __init__(self) -> None:
        self._history: History | None = None
        self._cut: Plane | Line | None = None
        self._seen = 0
        self._first = 0
        self.every = 1
        self.steps: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.a: Float64 = np.empty(0)
        self.b: Float64 = np.empty(0)

    def update(self, history: History, cut: Plane | Line) -> bool:
        """Take over new rows; all of them when the run or the cut is another. True when anything changed."""
        count = history.count
        if history is not self._history or cut is not self._cut or count < self._seen:
            self._history, self._cut, self._seen = history, cut, 0
            self.every = 1
            # older rows of a large model would have to be worked out again
            self._first = history.held_from
            self.steps, self.a, self.b = np.empty(0, dtype=np.int64), np.empty(0), np.empty(0)
        elif count == self._seen:
            return False
        most = max(64, min(MOST_POINTS, MOST_NUMBERS // history.size))
        every = self.every
        while (count - self._first) // every > most:
            every *= 2
        if every != self.every:
            keep = self.steps % every == 0
            self.steps, self.a, self.b = self.steps[keep], self.a[keep], self.b[keep]
            self.every = every
        start = int(self.steps[-1]) + every if len(self.steps) else -(-self._first // every) * every
        if start < count:
            rows = history.path(start, count, every)
            if isinstance(cut, Line):
                a, b = cut.project(rows), np.array(history.scalar("loss")[start:count:every], dtype=np.float64)
            else:
                a, b = cut.project(rows)
            self.steps = np.concatenate([self.steps, np.arange(start, count, every)])
            self.a, self.b = np.concatenate([self.a, a]), np.concatenate([self.b, b])
        self._seen = count
        return True

    def before(self, step: int) -> int:
        """How many of the points belong to steps up to ``step``."""
        return int(np.searchsorted(self.steps, step, side="right"))
