"""Curves of any length at the cost of the screen's width: extremes in a pyramid, means from running sums.

Both follow a column that grows at its end: ``update`` looks at the new values only, ``query`` costs as much as it
returns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]
BASE = 8
"""Values in a block of the lowest level; each further level joins two blocks of the one below."""


class Pyramid:
    """Smallest and largest value of blocks of 8, 16, 32 ... values of a growing column.

    Values that are not finite are gaps (with ``positive`` those not above 0, too, as on a logarithmic axis): they take
    part in no extreme, and a block of nothing but gaps is nan. Every other value lies between the extremes of the
    block that holds it, so no spike disappears at any magnification.
    """

    def __init__(self, positive: bool = False) -> None:
        self.positive = positive
        self.count = 0
        self._values: Float64 = np.empty(0)
        self._low: list[Float64] = []
        self._high: list[Float64] = []
        self._done: list[int] = []

    @property
    def values(self) -> Float64:
        """The column, gaps as nan, (count,), a view."""
        return self._values[: self.count]

    def update(self, values: Float64) -> None:
        """Take over the values behind the first ``count`` (those before must be what they were)."""
        new = len(values)
        if new < self.count:
            raise ValueError(f"the column shrank from {self.count} to {new} values; a pyramid only grows")
        if len(self._values) < new:
            grown = np.empty(max(new, 2 * len(self._values), 1024))
            grown[: self.count] = self._values[: self.count]
            self._values = grown
        fresh = values[self.count :]
        drawn = np.isfinite(fresh)
        if self.positive:
            drawn &= fresh > 0.0
        self._values[self.count : new] = np.where(drawn, fresh, np.nan)
        self.count = new
        self._extend()

    def _extend(self) -> None:
        level, blocks = 0, self.count // BASE
        while blocks:
            if level == len(self._done):
                self._low.append(np.empty(0))
                self._high.append(np.empty(0))
                self._done.append(0)
            done = self._done[level]
            if done == blocks:
                return
            for table in (self._low, self._high):
                if len(table[level]) < blocks:
                    grown = np.empty(max(blocks, 2 * len(table[level]), 64))
                    grown[:done] = table[level][:done]
                    table[level] = grown
            if level == 0:
                low = high = self._values[done * BASE : blocks * BASE].reshape(-1, BASE)
            else:
                low = self._low[level - 1][2 * done : 2 * blocks].reshape(-1, 2)
                high = self._high[level - 1][2 * done : 2 * blocks].reshape(-1, 2)
            # fmin and fmax prefer numbers to nan; reduced by columns, which is many times faster than by rows
            self._low[level][done:blocks] = _fold(np.fmin, low)
            self._high[level][done:blocks] = _fold(np.fmax, high)
            self._done[level] = blocks
            level, blocks = level + 1, blocks // 2

    def query(self, start: int, stop: int, bins: int) -> tuple[Float64, Float64]:
        """What to draw of the values start..stop-1 with about ``bins`` places: (x, y), x being indices.

        Up to 2 * bins values come back as they are (gaps as nan). Of more, each block gives its smallest and its
        largest value, at one third and two thirds of the block; there are between bins / 2 and bins blocks, and
        incomplete ones at either end are given for the part that exists.
        """
        start, stop = max(start, 0), min(stop, self.count)
        if stop <= start:
            return np.empty(0), np.empty(0)
        if stop - start <= 2 * max(bins, 1):
            return np.arange(start, stop, dtype=np.float64), self._values[start:stop].copy()
        size = 2
        while (stop - start) > size * bins:
            size *= 2
        first = start // size
        low, high = self._blocks(size, first, -(-stop // size))
        x = np.empty(2 * len(low))
        places = np.arange(first, first + len(low), dtype=np.float64) * size
        x[0::2] = places + (size - 1) / 3.0
        x[1::2] = places + 2.0 * (size - 1) / 3.0
        # the block that is not full yet: its two points stay within the values that exist
        np.minimum(x, self.count - 1.0, out=x)
        y = np.empty(2 * len(low))
        y[0::2] = low
        y[1::2] = high
        return x, y

    def _blocks(self, size: int, first: int, last: int) -> tuple[Float64, Float64]:
        """Extremes of the blocks first..last-1 of ``size`` values; the last one may be incomplete."""
        whole = min(last, self.count // size)
        if size < BASE:
            part = self._values[first * size : whole * size].reshape(-1, size)
            low, high = _fold(np.fmin, part), _fold(np.fmax, part)
        else:
            level = (size // BASE).bit_length() - 1
            if whole > first:
                low, high = self._low[level][first:whole], self._high[level][first:whole]
            else:
                low = high = np.empty(0)
        if whole < last:
            rest = self._values[whole * size : self.count]
            low = np.append(low, np.fmin.reduce(rest))
            high = np.append(high, np.fmax.reduce(rest))
        return low, high

    def extremes(self, start: int, stop: int) -> tuple[float, float]:
        """Smallest and largest finite value among start..stop-1; (nan, nan) when there is none."""
        _, y = self.query(start, stop, 512)
        if not len(y) or np.isnan(y).all():
            return float("nan"), float("nan")
        return float(np.nanmin(y)), float(np.nanmax(y))


def _fold(reduce: np.ufunc, blocks: Float64) -> Float64:
    """``reduce`` over the columns of (blocks, few)."""
    result = blocks[:, 0]
    for k in range(1, blocks.shape[1]):
        result = reduce(result, blocks[:, k])
    return np.array(result, dtype=np.float64)


class RunningMean:
    """Means of any stretch of a growing column from sums kept up to each value; gaps (not finite) do not count.

    With ``log`` it is the mean of log10 of the values, those not above 0 being gaps.
    """

    def __init__(self, log: bool = False) -> None:
        self.log = log
        self.count = 0
        self._sums: Float64 = np.zeros(1024)
        self._numbers: Float64 = np.zeros(1024)

    def update(self, values: Float64) -> None:
        """Take over the values behind the first ``count`` (those before must be what they were)."""
        old, new = self.count, len(values)
        if new < old:
            raise ValueError(f"the column shrank from {old} to {new} values; running sums only grow")
        if len(self._sums) < new + 1:
            self._sums = _grown(self._sums, old + 1, new + 1)
            self._numbers = _grown(self._numbers, old + 1, new + 1)
        fresh = values[old:]
        if self.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                fresh = np.log10(fresh)
        finite = np.isfinite(fresh)
        self._sums[old + 1 : new + 1] = self._sums[old] + np.cumsum(np.where(finite, fresh, 0.0))
        self._numbers[old + 1 : new + 1] = self._numbers[old] + np.cumsum(finite)
        self.count = new

    def means(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> Float64:
        """The mean of the finite values of each stretch starts[i]..stops[i]-1, cut at the ends; nan without any."""
        low = np.clip(starts, 0, self.count)
        high = np.clip(stops, 0, self.count)
        numbers = self._numbers[high] - self._numbers[low]
        sums = self._sums[high] - self._sums[low]
        result = np.full(np.shape(sums), np.nan)
        np.divide(sums, numbers, out=result, where=numbers > 0)
        return result

    def binned(self, start: int, stop: int, bins: int, window: int = 1) -> tuple[Float64, Float64]:
        """Middles and means of at most ``bins`` + 1 equal stretches of start..stop-1.

        The stretches stand on multiples of their length, so that they stay where they are while the column grows;
        each mean reaches over at least ``window`` values around its stretch.
        """
        start, stop = max(start, 0), min(stop, self.count)
        if stop <= start:
            return np.empty(0), np.empty(0)
        size = max(-(-(stop - start) // max(bins, 1)), 1)
        begins = np.arange(start // size, -(-stop // size), dtype=np.int64) * size
        ends = np.minimum(begins + size, stop)
        reach = max(window - size, 0) // 2
        return (begins + ends - 1) / 2.0, self.means(begins - reach, ends + reach)


def _grown(data: Float64, used: int, needed: int) -> Float64:
    grown = np.zeros(max(needed, 2 * len(data)))
    grown[:used] = data[:used]
    return grown
