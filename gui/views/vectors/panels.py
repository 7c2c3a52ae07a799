"""What the vectors view draws: panels of values, and the scale they share or each have."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gui.widgets.signed_scale import LINEAR, SYMLOG, SignedScale, floor_step, threshold_for
from gui.widgets.steady import SteadyBound, SteadyChoice, SteadyRange

Float64 = NDArray[np.float64]
SCALES = ("auto", "linear", "symlog", "separate")
APART = 25.0
"""Sizes further apart than this are not readable on one linear scale."""
TOGETHER = 0.4
"""Closer than this share of it they are again; between the two the scale stays what it was."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Values of one panel, (n,), with its title, colour and row name ('computed', 'applied', 'difference' or a row)."""

    name: str
    title: str
    color: str
    values: Float64

    @property
    def largest(self) -> float:
        """Largest finite magnitude."""
        return largest(self.values)


@dataclass(frozen=True, slots=True)
class PanelScale:
    """How panels are drawn: 'linear', 'symlog' or 'separate', one magnification a panel (1 unless separate), and the
    range of what is drawn.
    """

    kind: str
    signed: SignedScale
    factors: tuple[float, ...]
    low: float
    high: float

    def drawn(self, panel: int, values: Float64) -> Float64:
        """Places of ``values`` of a panel along its axis."""
        return self.signed.places(values * self.factors[panel])


class ScaleKeeper:
    """Chooses the scale, calmly: see ``PanelScale``. ``kind`` is what the user wants, one of SCALES."""

    def __init__(self, separate: str = SYMLOG, distance: float = APART) -> None:
        self.kind = "auto"
        self._distance = distance
        self._apart = separate
        """What 'auto' takes for sizes far apart: 'symlog' or 'separate'."""
        self._choice = SteadyChoice()
        self._range = SteadyRange()
        self._threshold = SteadyBound()
        self._bounds: dict[str, SteadyBound] = {}

    def reset(self) -> None:
        """Forget everything that keeps the picture calm."""
        self._choice.reset()
        self._range.reset()
        self._threshold.reset()
        self._bounds.clear()

    def update(self, panels: list[Panel], running: bool) -> PanelScale:
        """The scale for these panels."""
        kind = self.kind
        if kind == "auto":
            kind = self._choice.update(self._wanted(panels), running)
        if kind == "separate":
            return self._separate(panels, running)
        low = min((lowest(panel.values) for panel in panels), default=0.0)
        high = max((highest(panel.values) for panel in panels), default=0.0)
        low, high = self._range.update(low, high, running)
        if low == high:
            low, high = -1.0, 1.0
        signed = SignedScale()
        if kind == SYMLOG:
            sizes = [panel.largest for panel in panels[:2] if panel.largest > 0.0]
            smallest = min(sizes, default=1.0)
            # a bound that shrinks late would hide what becomes small: the threshold is bounded from below instead
            needed = 1.0 / threshold_for(smallest, max(-low, high))
            signed = SignedScale(SYMLOG, 1.0 / self._decade(needed, running))
        return PanelScale(kind, signed, (1.0,) * len(panels), low, high)

    def _decade(self, needed: float, running: bool) -> float:
        bound = self._threshold.update(needed, running)
        return 10.0 ** round(math.log10(bound))

    def _wanted(self, panels: list[Panel]) -> str:
        sizes = [panel.largest for panel in panels[:2]]
        if len(sizes) < 2 or min(sizes) <= 0.0:
            return LINEAR
        distance = max(panel.largest for panel in panels) / min(sizes)
        if distance > self._distance:
            return self._apart
        if distance < TOGETHER * self._distance or self._choice.value is None:
            return LINEAR
        return self._choice.value

    def _separate(self, panels: list[Panel], running: bool) -> PanelScale:
        """Each panel magnified by a round factor, so that it fills what the largest one does."""
        bounds = []
        for panel in panels:
            bound = self._bounds.setdefault(panel.name, SteadyBound())
            bounds.append(bound.update(panel.largest, running) or 0.0)
        top = max(bounds, default=0.0)
        if top <= 0.0:
            return PanelScale("separate", SignedScale(), (1.0,) * len(panels), -1.0, 1.0)
        factors = tuple(round_factor(top / bound) if bound > 0.0 else 1.0 for bound in bounds)
        return PanelScale("separate", SignedScale(), factors, -top, top)


def round_factor(value: float) -> float:
    """The largest of 1, 2 or 5 times a power of ten not above ``value``; 1 for less than 1."""
    found = floor_step(value)
    return found if 1.0 <= found < math.inf else 1.0


def largest(values: Float64) -> float:
    """Largest finite magnitude, 0 for none."""
    return max(-lowest(values), highest(values))


def lowest(values: Float64) -> float:
    """Smallest finite value, at most 0."""
    return float(np.min(values, initial=0.0, where=np.isfinite(values)))


def highest(values: Float64) -> float:
    """Largest finite value, at least 0."""
    return float(np.max(values, initial=0.0, where=np.isfinite(values)))
