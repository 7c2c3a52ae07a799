"""What the timeline remembers of each history so that a refresh looks at new steps only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from core.simulation import measures
from core.simulation.chunks import Schema
from core.simulation.history import History
from core.simulation.pyramid import Pyramid, RunningMean

Float64 = NDArray[np.float64]
LOOK_AGAIN = 10_000


class Columns:
    """Pyramids and running means by history and column; they go when their history goes."""

    def __init__(self) -> None:
        self._pyramids: WeakKeyDictionary[History, dict[tuple[str, bool], Pyramid]] = WeakKeyDictionary()
        self._means: WeakKeyDictionary[History, dict[object, RunningMean]] = WeakKeyDictionary()
        self._causes: WeakKeyDictionary[History, tuple[int, Schema | None, tuple[str, ...]]] = WeakKeyDictionary()

        self.extra: WeakKeyDictionary[History, dict[str, Float64]] = WeakKeyDictionary()
        """Columns that others work out (the curvature); they only grow and may be shorter than the history."""

    def values(self, history: History, column: str) -> Float64 | None:
        """A measure or column, or an extra one; None when the run has no such column."""
        found = self.extra.get(history, {}).get(column)
        return found if found is not None else value_column(history, column)

    def causes(self, history: History) -> tuple[str, ...]:
        """The causes of the run in the order of the chain, looked up again only when its rows may have changed."""
        count = history.count
        newest = history.schema(count - 1) if count else None
        known = self._causes.get(history)
        if known is None or known[1] != newest or count - known[0] > LOOK_AGAIN:
            known = self._causes[history] = (count, newest, measures.causes(history))
        return known[2]

    def pyramid(self, history: History, column: str, positive: bool) -> Pyramid | None:
        """The pyramid of a measure or column, up to date; None when the run has no such column."""
        values = self.values(history, column)
        if values is None:
            return None
        table = self._pyramids.setdefault(history, {})
        pyramid = table.get((column, positive))
        if pyramid is None:
            pyramid = table[column, positive] = Pyramid(positive)
        pyramid.update(values)
        return pyramid

    def mean(self, history: History, column: str, log: bool) -> RunningMean | None:
        """Running means of a measure or column (of its log10), up to date; None when the run has no such column."""
        values = self.values(history, column)
        return None if values is None else self._mean(history, (column, log), values)

    def shares(
        self, history: History, columns: Mapping[str, Float64], low: float, high: float, bins: int, window: int
    ) -> tuple[Float64, Float64]:
        """Steps (bins,) and shares (causes, bins) of the stretch low..high, each the mean over ``window`` steps.

        ``columns`` holds the share of each cause, (count,).
        """
        x, rows = np.empty(0), []
        for cause, values in columns.items():
            stop = min(math.ceil(high) + 1, len(values))
            x, y = self._mean(history, ("share", cause), values).binned(int(low), stop, bins, window)
            rows.append(y)
        # the run may have grown between one column and the next
        shortest = min((len(y) for y in rows), default=0)
        return x[:shortest], np.array([y[:shortest] for y in rows]).reshape(len(rows), shortest)

    def _mean(self, history: History, key: object, values: Float64) -> RunningMean:
        table = self._means.setdefault(history, {})
        mean = table.get(key)
        if mean is None:
            mean = table[key] = RunningMean(log=isinstance(key, tuple) and key[1] is True)
        mean.update(values)
        return mean


def value_column(history: History, column: str) -> Float64 | None:
    """A measure or column of the history; None when the run has no such column."""
    try:
        return measures.column(history, column)
    except KeyError:
        return None
