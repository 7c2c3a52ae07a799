"""A slice of the loss along a line: its points, the job that works them out, and the heights they are drawn at."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.problems.lines import Line
from core.problems.objective import Objective
from core.problems.surfaces import line_values

Float64 = NDArray[np.float64]
KINDS = ("linear", "log10")
LEVELS = (33, 129, 513)
"""Points of the curve, each level twice as fine as the one before or finer; all of them fall on the last one's."""
STEEP = 6.0
MARGIN_BELOW, MARGIN_ABOVE = 0.08, 0.16


def heights(kind: str, losses: ArrayLike) -> Float64:
    """Where losses are drawn: at themselves, or at their logarithm to base 10 (nan where there is none)."""
    values = np.asarray(losses, dtype=np.float64)
    if kind == "linear":
        return np.where(np.isfinite(values), values, np.nan)
    with np.errstate(all="ignore"):
        return np.where((values > 0) & np.isfinite(values), np.log10(values), np.nan)


@dataclass(frozen=True, eq=False)
class Curve:
    """Losses (n,) at the parameters ``t`` (n,) of ``line``; ``complete``: no finer curve will follow."""

    line: Line
    t: Float64
    losses: Float64
    complete: bool

    def height_at(self, kind: str, t: float) -> float:
        """The height of the curve at ``t``, between its points along straight lines; nan beyond them."""
        found = np.interp(t, self.t, heights(kind, self.losses), left=np.nan, right=np.nan)
        return float(found)

    def gaps(self, kind: str) -> Float64:
        """The stretches (k, 2) of ``t`` that have no height: nothing is drawn there."""
        missing = ~np.isfinite(heights(kind, self.losses))
        edges = np.flatnonzero(np.diff(np.concatenate([[False], missing, [False]]).astype(np.int8)))
        half = (self.t[1] - self.t[0]) / 2
        return np.stack([self.t[edges[::2]] - half, self.t[edges[1::2] - 1] + half], axis=1)

    def limits(self, kind: str, others: Float64) -> tuple[float, float] | None:
        """The range of heights to look at, with room around, so that curve and ``others`` are seen; None for none."""
        own = heights(kind, self.losses)
        own, others = own[np.isfinite(own)], others[np.isfinite(others)]
        values = np.concatenate([own, others])
        if not len(values):
            return None
        low, high = float(values.min()), float(values.max())
        if len(own):
            # a pole at the edge must not press everything else flat; the path is always seen
            upper = low + STEEP * (float(np.quantile(own, 0.75)) - low)
            high = min(high, max(upper, float(others.max(initial=low)))) if upper > low else high
        extent = max(high - low, 1e-9 * max(abs(low), abs(high)), 1e-300)
        return low - MARGIN_BELOW * extent, high + MARGIN_ABOVE * extent


class CurveJob:
    """Losses along a line from ``left`` to ``right``, coarse to fine: ``curve`` is the finest so far."""

    def __init__(
        self, objective: Objective, line: Line, left: float, right: float, step: int | None = None, seed: int = 0
    ) -> None:
        self.curve: Curve | None = None
        self.line = line
        self._objective, self._step, self._seed = objective, step, seed
        self._t = np.linspace(left, right, LEVELS[-1])
        self._losses = np.full(LEVELS[-1], np.nan)
        self._known = np.zeros(LEVELS[-1], dtype=bool)
        self._level = 0
        self._at_once = 8

    def advance(self, seconds: float) -> bool:
        """See gui.worker.Job."""
        end = time.perf_counter() + seconds
        while self._level < len(LEVELS):
            stride = (LEVELS[-1] - 1) // (LEVELS[self._level] - 1)
            open_ones = np.arange(0, LEVELS[-1], stride)
            open_ones = open_ones[~self._known[open_ones]]
            start = time.perf_counter()
            part = open_ones[: self._at_once]
            with np.errstate(all="ignore"):
                self._losses[part] = line_values(self._objective, self.line, self._t[part], self._step, self._seed)
            self._known[part] = True
            if len(part) == len(open_ones):
                self._level += 1
                done = self._level == len(LEVELS)
                self.curve = Curve(self.line, self._t[::stride].copy(), self._losses[::stride].copy(), done)
            now = time.perf_counter()
            if now - start < seconds / 8:
                self._at_once *= 2
            if now + (now - start) > end:
                break
        return self._level == len(LEVELS)
