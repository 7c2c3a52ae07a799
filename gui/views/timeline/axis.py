"""Axes of the timeline: few round numbers that fit, on a linear or a logarithmic scale, and steps with separators."""

from __future__ import annotations

import math

import numpy as np
import pyqtgraph as pg

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


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
    """(labelled, unlabelled) places of an axis in log10 units: decades, or round values when less than one fits."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return [], []
    decades = high - low
    first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
    if last - first >= 1:
        stride = max(math.ceil((last - first + 1) / max(count, 1.0)), 1)
        major = [float(k) for k in range(first, last + 1) if k % stride == 0]
        if stride == 1 and decades <= 8:
            minor = [k + m for k in range(first - 1, last + 1) for m in _MINOR if low <= k + m <= high]
        else:
            minor = [float(k) for k in range(first, last + 1) if k % stride] if decades < 200 else []
        return (major or [float(first)]), minor
    values = linear_ticks(10.0**low, 10.0**high, max(count, 2.0)) if low > -300 and high < 300 else []
    return [math.log10(value) for value in values if value > 0.0], []


_MINOR = [math.log10(m) for m in range(2, 10)]


def short_number(value: float, digits: int = 4) -> str:
    """A number in few characters: 0.05, 1200, 3.2·10⁻⁷."""
    if value == 0.0 or not math.isfinite(value):
        return "0" if value == 0.0 else str(value).replace("inf", "∞")
    magnitude = abs(value)
    if 1e-4 <= magnitude < 1e5:
        return f"{value:.{digits}g}" if magnitude < 10**digits else f"{value:.0f}"
    text = f"{value:.{max(digits - 2, 0)}e}"
    mantissa, _, exponent = text.partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPTS)
    return power if mantissa == "1" else f"−{power}" if mantissa == "-1" else f"{mantissa}·{power}"


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
        if self.log:
            major, minor = log_ticks(low, high, count)
        else:
            major, minor = linear_ticks(low, high, count, self._degrees), []
        # labels whose middle is at the very edge would be cut off
        edge = (high - low) * min(5.0 / max(size, 1.0), 0.2)
        inside = [value for value in major if low + edge <= value <= high - edge]
        return [(1.0, inside or major), (0.1, minor)]

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
        """The label stands behind the numbers, in their line, where it costs no height."""
        if self.label is not None:
            bounds = self.label.boundingRect()
            self.label.setPos(self.size().width() + 2.0, (self.size().height() - bounds.height()) / 2.0)
            self.picture = None

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        step = max(nice_step(maxVal - minVal, size / 90.0), 1.0)
        first, last = math.ceil(minVal / step - 1e-9), math.floor(maxVal / step + 1e-9)
        return [(step, [k * step for k in range(first, min(last, first + 1000) + 1)])]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        return [f"{value:,.0f}" for value in values]
