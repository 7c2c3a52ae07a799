"""Axes of the timeline: few round numbers that fit, on a linear or a logarithmic scale, and steps with separators."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pyqtgraph as pg

from gui.widgets.numbers import real_minus

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


LEAST_APART = 3.0
"""Pixels: unlabelled ticks that would stand closer are left out."""
DEGREES = (1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 45.0, 90.0)


def nice_step(span: float, count: float, degrees: bool = False) -> float:
    """The smallest of 1, 2, 5 times a power of ten (with ``degrees`` of 15, 30, 45, 90) that divides ``span`` into at
    most ``count`` parts.
    """
    if not span > 0.0 or not math.isfinite(span):
        return 1.0
    raw = span / max(count, 1.0)
    if degrees and raw > 1.0:
        return next((step for step in DEGREES if step >= raw * 0.75), 90.0)
    power = 10.0 ** math.floor(math.log10(raw))
    for factor in (1.0, 2.0, 5.0, 10.0):
        if factor * power >= raw * (1.0 - 1e-9):
            return factor * power
    return 10.0 * power


def linear_ticks(low: float, high: float, count: float, degrees: bool = False) -> list[float]:
    """Round places from low to high, at most about ``count`` + 1."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return []
    step = nice_step(high - low, count, degrees)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [k * step for k in range(first, min(last, first + 1000) + 1)]


def log_ticks(low: float, high: float, count: float) -> tuple[list[float], list[float]]:
    """(labelled, unlabelled) places of an axis in log10 units, at most about ``count`` labelled.

    Every so many decades; where fewer than two would be labelled 1 and 3, or 1, 2 and 5 of each decade, or plain round
    values.
    """
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return [], []
    first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
    stride = max(math.ceil((last - first + 1) / max(count, 1.0)), 1)
    decades = [float(k) for k in range(first, last + 1) if k % stride == 0]
    minor: list[float] = []
    if stride > 1 and high - low < 200:
        minor = [float(k) for k in range(first, last + 1) if k % stride]
    elif high - low <= 6:
        minor = _between(low, high, range(2, 10))
    if len(decades) >= 2 or count < 2.0 or low < -300 or high > 300:
        return decades or ([float(first)] if first <= last else []), minor
    room = (high - low) / count
    for mantissas in ((1, 3), (1, 2, 5)):
        places = _between(low, high, mantissas)
        if len(places) >= 2 and min(b - a for a, b in pairwise(places)) >= 0.8 * room:
            return places, minor
    values = [math.log10(value) for value in linear_ticks(10.0**low, 10.0**high, count) if value > 0.0]
    values = _apart(values, 0.7 * room)
    return (values if len(values) > len(decades) else decades), minor


def _apart(places: list[float], least: float) -> list[float]:
    """The places without those that stand closer than ``least`` to one already kept (round values crowd on top)."""
    kept: list[float] = []
    for place in places:
        if not kept or place - kept[-1] >= least:
            kept.append(place)
    return kept


def _between(low: float, high: float, mantissas: Iterable[int]) -> list[float]:
    """log10 of each mantissa times a power of ten that lies in low..high, in rising order."""
    decades = range(math.floor(low), math.floor(high) + 1)
    places = sorted(k + math.log10(m) for k in decades for m in mantissas)
    return [place for place in places if low <= place <= high]


def short_number(value: float, digits: int = 4) -> str:
    """A number in few characters: 0.05, 1200, 3.2·10⁻⁷."""
    if value == 0.0 or not math.isfinite(value):
        return "0" if value == 0.0 else real_minus(str(value).replace("inf", "∞"))
    magnitude = abs(value)
    if 1e-4 <= magnitude < 1e5:
        return real_minus(f"{value:.{digits}g}" if magnitude < 10**digits else f"{value:.0f}")
    text = f"{value:.{max(digits - 2, 0)}e}"
    mantissa, _, exponent = text.partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPTS)
    return power if mantissa == "1" else f"−{power}" if mantissa == "-1" else real_minus(f"{mantissa}·{power}")


class ValueAxis(pg.AxisItem):
    """The left axis. In ``log`` mode the view's coordinates are log10 of the values."""

    def __init__(self, degrees: bool = False, pixels_per_label: float = 20.0) -> None:
        super().__init__("left")
        self.log = False
        self._degrees = degrees
        self._pixels = pixels_per_label
        self.enableAutoSIPrefix(False)
        self.setStyle(maxTextLevel=0, tickLength=-4, autoExpandTextSpace=False, hideOverlappingLabels=False)

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        low, high = min(minVal, maxVal), max(minVal, maxVal)
        count = max(size / self._pixels, 1.0)
        # labels at the very edge would run into those of the neighbour
        edge = (high - low) * min(5.0 / max(size, 1.0), 0.2)
        if self.log:
            major, _ = log_ticks(low + edge, high - edge, count)
            _, minor = log_ticks(low, high, count)
            if len(minor) * LEAST_APART > size:
                minor = []
        else:
            major, minor = linear_ticks(low + edge, high - edge, count, self._degrees), []
        return [(1.0, major), (0.1, minor)]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        if self.log:
            return [short_number(10.0**value, 6) if abs(value) < 300 else "" for value in values]
        if not len(values):
            return []
        step = float(np.min(np.diff(values))) if len(values) > 1 else abs(float(values[0])) or 1.0
        tiny = step * 1e-6
        return [short_number(0.0 if abs(value) < tiny else float(f"{value:.12g}"), 6) for value in values]


class StepAxis(pg.AxisItem):
    """The bottom axis: whole steps with thousands separators."""

    def __init__(self) -> None:
        super().__init__("bottom")
        self.enableAutoSIPrefix(False)
        self.setStyle(maxTextLevel=0, tickLength=-4, hideOverlappingLabels=False, autoExpandTextSpace=False)

    def resizeEvent(self, ev: object = None) -> None:
        """The label stands before the numbers, in their line, where it costs no height."""
        if self.label is not None:
            bounds = self.label.boundingRect()
            self.label.setPos(-bounds.width() - 14.0, self.size().height() - bounds.height() + 2.0)
            self.picture = None

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        step = max(nice_step(maxVal - minVal, size / 90.0), 1.0)
        first, last = math.ceil(minVal / step - 1e-9), math.floor(maxVal / step + 1e-9)
        return [(step, [k * step for k in range(first, min(last, first + 1000) + 1)])]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        return [f"{value:,.0f}" for value in values]
