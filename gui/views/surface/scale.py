"""How losses become colours: linear, logarithmic or by rank, with the ticks of the colour bar. Pure numbers, no Qt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gui.widgets.numbers import real_minus

Float64 = NDArray[np.float64]
KINDS = ("log10", "linear", "rank")
COLORS = 254
"""Colour indices 0..253 hold the colours; the two above hold the stripes of regions that are not finite."""
STRIPES = (254, 255)
STRIPE_CELLS = 4
LOWEST_PART = 0.002
MAX_DECADES = 12.0
RANK_POINTS = 257


@dataclass(frozen=True, eq=False)
class LossScale:
    """A map from losses to 0..1. ``low`` and ``high`` are the losses at its ends; values beyond are held there.

    'log10' is the logarithm of ``loss - floor`` between ``decades`` (``floor`` is 0 for positive losses, else the
    lowest value known);
    'rank' goes by the part of the picture that lies lower, from the sorted ``quantiles``.
    """

    kind: str
    low: float
    high: float
    floor: float = 0.0
    quantiles: Float64 | None = None
    decades: tuple[float, float] = (0.0, 1.0)

    def normalised(self, values: ArrayLike) -> Float64:
        """Places on the scale, 0..1, nan where the loss is not finite."""
        z = np.asarray(values, dtype=np.float64)
        finite = np.isfinite(z)
        with np.errstate(all="ignore"):
            if self.kind == "rank" and self.quantiles is not None:
                places = np.linspace(0.0, 1.0, len(self.quantiles))
                t = np.interp(z, self.quantiles, places)
            elif self.kind == "log10":
                bottom, top = self.decades
                t = (np.log10(np.maximum(z - self.floor, 10.0**bottom)) - bottom) / (top - bottom)
            else:
                t = z / 2 - self.low / 2
                t = t / (self.high / 2 - self.low / 2)
        return np.where(finite, np.clip(t, 0.0, 1.0), np.nan)

    def loss_at(self, places: ArrayLike) -> Float64:
        """Losses at places 0..1 of the scale: the inverse of ``normalised``."""
        t = np.asarray(places, dtype=np.float64)
        if self.kind == "rank" and self.quantiles is not None:
            return np.interp(t, np.linspace(0.0, 1.0, len(self.quantiles)), self.quantiles)
        if self.kind == "log10":
            bottom, top = self.decades
            return np.asarray(self.floor + 10.0 ** (bottom + t * (top - bottom)))
        return self.low * (1.0 - t) + self.high * t

    def indices(self, values: ArrayLike) -> NDArray[np.uint8]:
        """Colour indices of a picture (rows, columns); diagonal stripes where the loss is not finite."""
        t = self.normalised(values)
        finite = np.isfinite(t)
        result = np.where(finite, np.rint(t * (COLORS - 1)), 0).astype(np.uint8)
        if not finite.all():
            rows, columns = np.nonzero(~finite)
            result[rows, columns] = np.where(((rows + columns) // STRIPE_CELLS) % 2, STRIPES[1], STRIPES[0])
        return result

    def ticks(self, most: int = 6) -> list[tuple[float, str]]:
        """(place, text) of the colour bar, from the bottom up; the texts are losses."""
        if self.kind == "linear":
            values = _round_steps(self.low, self.high, most)
            return [(float(self.normalised(v)), text) for v, text in zip(values, _texts(values), strict=True)]
        if self.kind == "rank":
            places = np.linspace(0.0, 1.0, most - 1)
            texts = _texts([float(v) for v in self.loss_at(places)])
            return [(float(t), text) for t, text in zip(places, texts, strict=True)]
        bottom, top = self.decades
        if top - bottom < 1.5:
            values = [v for v in _round_steps(10.0**bottom, 10.0**top, most) if v > 0]
            places = (np.log10(values) - bottom) / (top - bottom)
            return [(float(t), text) for t, text in zip(places, _texts(values), strict=True)]
        step = max(1, int(np.ceil((top - bottom) / (most - 1))))
        powers = range(int(np.ceil(bottom - 1e-9)), int(np.floor(top + 1e-9)) + 1, step)
        return [((power - bottom) / (top - bottom), _text(10.0**power)) for power in powers]

    def levels(self, count: int = 14) -> Float64:
        """Losses at which contour lines run: evenly spaced on the scale, without its ends."""
        return np.unique(self.loss_at((np.arange(count) + 0.5) / count))


def fit_scale(kind: str, values: ArrayLike, known_minimum: float | None = None) -> LossScale | None:
    """The scale of that kind for a picture's losses; None when none of them is finite.

    ``known_minimum`` is the lowest loss there can be, if known. With losses at or below zero the logarithm is taken
    of the distance from the lowest one.
    """
    if kind not in KINDS:
        raise ValueError(f"no colour scale {kind!r}; there are: {', '.join(KINDS)}")
    z = np.asarray(values, dtype=np.float64).reshape(-1)
    z = z[np.isfinite(z)]
    if not z.size:
        return None
    low, high = float(z.min()), float(z.max())
    if kind == "rank":
        quantiles = np.sort(z)[np.linspace(0, z.size - 1, min(z.size, RANK_POINTS)).astype(int)]
        if quantiles[0] < quantiles[-1]:
            return LossScale("rank", low, high, quantiles=quantiles)
        kind = "linear"
    if kind == "log10":
        floor = 0.0
        if low < 0.0:
            floor = low if known_minimum is None else min(low, known_minimum)
        with np.errstate(over="ignore"):
            above = z - floor
        above = above[above > 0.0]
        if above.size:
            top = float(above.max())
            # a few points next to a minimum must not take up half of the colours
            bottom = max(float(np.quantile(above, LOWEST_PART, method="lower")), top * 10.0**-MAX_DECADES)
            if 0.0 < bottom < top / (1 + 1e-9) and np.isfinite(top):
                decades = float(np.log10(bottom)), float(np.log10(top))
                return LossScale("log10", floor + bottom, floor + top, floor, decades=decades)
        kind = "linear"
    # halves, as they are worked with: the extent of losses near the largest number has none, that of the smallest is 0
    if not low / 2 < high / 2:
        room = abs(low) * 1e-3 or 1.0
        low, high = low - room, high + room
    return LossScale("linear", low, high)


def _round_steps(low: float, high: float, most: int) -> list[float]:
    """Round values within [low, high], at most ``most``."""
    extent = high - low
    if not np.isfinite(extent) or extent <= 0.0:
        return [low, high]
    rough = extent / max(most - 1, 1)
    power = 10.0 ** np.floor(np.log10(rough))
    if power == 0.0 or not np.isfinite(power):
        return [low, high]
    step = next(float(m * power) for m in (1.0, 2.0, 2.5, 5.0, 10.0) if m * power >= rough * (1 - 1e-9))
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [k * step for k in range(first, last + 1)][:most]


def _texts(values: list[float]) -> list[str]:
    """The values in as few digits as tell them apart."""
    texts = [_text(value) for value in values]
    digits = 4
    while len(set(texts)) < len(set(values)) and digits < 17:
        digits += 1
        texts = [_text(value, digits) for value in values]
    return texts


def _text(value: float, digits: int = 4) -> str:
    """A loss in few characters: '0.01', '2500', '1e6', '−959.6'."""
    if value == 0.0:
        return "0"
    if 1e-3 <= abs(value) < 1e4:
        return real_minus(f"{value:.{digits}g}")
    mantissa, _, exponent = f"{value:.{max(digits - 2, 0)}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    return real_minus(f"{mantissa}e{int(exponent)}")
