"""Axes for signed numbers: linear, or symmetric-logarithmic so that steps a million times apart stay readable."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import ArrayLike, NDArray

Float64 = NDArray[np.float64]
LINEAR = "linear"
SYMLOG = "symlog"


@dataclass(frozen=True, slots=True)
class SignedScale:
    """Maps values to places along an axis.

    'symlog': sign(x) log10(1 + |x| / threshold), near-linear within the threshold, a decade takes one unit far out.
    """

    kind: str = LINEAR
    threshold: float = 1.0

    def places(self, values: ArrayLike) -> Float64:
        """Where values stand."""
        x = np.asarray(values, dtype=np.float64)
        if self.kind == LINEAR:
            return x
        with np.errstate(all="ignore"):
            places: Float64 = np.sign(x) * np.log10(1.0 + np.abs(x) / self.threshold)
        return places

    def place(self, value: float) -> float:
        """Where one value stands."""
        return float(self.places(value))

    def values(self, places: ArrayLike) -> Float64:
        """The inverse of ``places``."""
        y = np.asarray(places, dtype=np.float64)
        if self.kind == LINEAR:
            return y
        with np.errstate(all="ignore"):
            values: Float64 = np.sign(y) * self.threshold * (10.0 ** np.abs(y) - 1.0)
        return values

    def ticks(self, low: float, high: float, most: int) -> list[float]:
        """Values for ticks between the values ``low`` and ``high``: 0 and powers of ten, at most ``most``."""
        largest = max(abs(low), abs(high))
        if not math.isfinite(largest) or largest <= 0.0:
            return [0.0]
        first = math.ceil(math.log10(self.threshold) - 1e-9)
        last = math.floor(math.log10(largest) + 1e-9)
        sides = (low < 0.0) + (high > 0.0)
        every = max(1, math.ceil(sides * (last - first + 1) / max(most - 1, 1)))
        powers = [10.0**k for k in range(last, first - 1, -every)]
        both = [-p for p in powers if -p >= low * (1 + 1e-9)] + [p for p in powers if p <= high * (1 + 1e-9)]
        return sorted([0.0, *both])


def threshold_for(smallest: float, largest: float) -> float:
    """A power of ten one or two decades below the smaller of two sizes, at most twelve decades below the larger."""
    wanted = max(smallest / 30.0, largest * 1e-12)
    return 10.0 ** math.floor(math.log10(wanted)) if wanted > 0.0 else 1.0


class SignedAxis(pg.AxisItem):
    """An axis in a SignedScale; ``factor`` divides the numbers shown (a magnified panel's axis tells true values)."""

    def __init__(self, orientation: str, **arguments: Any) -> None:
        super().__init__(orientation, **arguments)
        self.signed_scale = SignedScale()
        self.factor = 1.0
        self.enableAutoSIPrefix(False)
        # a label may reach a little into the gap beside its panel
        self.setStyle(autoReduceTextSpace=False, hideOverlappingLabels=14)

    def set_signed_scale(self, scale: SignedScale, factor: float = 1.0) -> None:
        """Take over a scale; redraws when it is another one."""
        if (scale, factor) == (self.signed_scale, self.factor):
            return
        self.signed_scale, self.factor = scale, factor
        self.picture = None
        self.update()

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        if self.signed_scale.kind == LINEAR:
            return self._linear_ticks(minVal, maxVal, size)
        low, high = self.signed_scale.values([minVal, maxVal])
        room = 52.0 if self.orientation in ("top", "bottom") else 22.0
        ticks = self.signed_scale.ticks(float(low), float(high), max(int(size / room), 2))
        places = [self.signed_scale.place(tick) for tick in ticks]
        return [(1.0, _apart(places, room * (maxVal - minVal) / max(size, 1.0)))]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        shown = self.signed_scale.values(values) / self.factor
        if self.signed_scale.kind != LINEAR:
            return [tick_text(float(value)) for value in shown]
        largest = float(np.abs(shown).max(initial=0.0))
        return [tick_text(float(value), spacing / self.factor, largest) for value in shown]

    def _linear_ticks(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        room = 56.0 if self.orientation in ("top", "bottom") else 26.0
        step = tick_step((high - low) / self.factor, max(int(size / room), 2))
        # a number beside the zero says what the axis measures, however narrow it is
        step = min(step, floor_step(max(-low, high) / self.factor)) * self.factor
        if not step > 0.0 or not math.isfinite(step):
            return []
        first, last = math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6)
        return [(step, [k * step for k in range(first, last + 1)])]


def _apart(places: list[float], least: float) -> list[float]:
    """Those of the sorted ``places`` that are ``least`` apart, 0 and the outer ones first."""
    kept: list[float] = []
    for place in [0.0, *sorted(places, key=abs, reverse=True)]:
        if place in places and all(abs(place - other) >= least for other in kept):
            kept.append(place)
    return sorted(kept)


def tick_step(length: float, most: int) -> float:
    """The smallest of 1, 2 or 5 times a power of ten that makes at most ``most`` steps of ``length``."""
    if not length > 0.0 or not math.isfinite(length):
        return 0.0
    least = length / most
    power = 10.0 ** math.floor(math.log10(least))
    if power == 0.0:
        return 0.0
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0, 20.0) if step * power >= least * (1 - 1e-9))


def floor_step(value: float) -> float:
    """The largest of 1, 2 or 5 times a power of ten not above ``value``; inf when there is none."""
    if not value > 0.0 or not math.isfinite(value):
        return math.inf
    power = 10.0 ** math.floor(math.log10(value) + 1e-9)
    return max(step * power for step in (1.0, 2.0, 5.0) if step * power <= value * (1.0 + 1e-9)) or math.inf


def tick_text(value: float, step: float = 0.0, largest: float = 0.0) -> str:
    """A number at an axis: as many digits as ``step`` asks for, a real minus, exponents below 0.001 and from 100000 on.

    ``largest`` is the largest number of the same axis, so that all of them are written alike.
    """
    if step > 0.0 and abs(value) < 1e-9 * step:
        value = 0.0
    if value == 0.0:
        return "0"
    size = abs(value)
    if 1e-3 <= max(size, step, largest) < 1e5:
        digits = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0.0 else 0
        text = f"{value:.{digits}f}" if step > 0.0 else f"{value:g}"
    else:
        text = _exponent_text(value, step)
    return text.replace("-", "\u2212")


def _exponent_text(value: float, step: float) -> str:
    if step > 0.0:
        digits = max(0, math.floor(math.log10(abs(value)) + 1e-9) - math.floor(math.log10(step) + 1e-9))
        mantissa, exponent = f"{value:.{min(digits, 6)}e}".split("e")
    else:
        mantissa, exponent = f"{value:.6e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent)}"
