"""Columns: one number a step, growing while others read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]


class Column:
    """A growing array of one number a step."""

    __slots__ = ("_data", "fill")

    def __init__(self, fill: float = np.nan) -> None:
        self.fill = fill
        self._data: Float64 = np.full(1024, fill)

    def put(self, index: int, value: float) -> None:
        """Set the value of step ``index``; steps never set keep the fill value."""
        if index >= len(self._data):
            grown = np.full(max(2 * len(self._data), index + 1), self.fill)
            grown[: len(self._data)] = self._data
            self._data = grown
        self._data[index] = value

    def view(self, stop: int) -> Float64:
        """The first ``stop`` values, without copying (a column never set that far is filled up in a copy)."""
        data = self._data
        if len(data) >= stop:
            return data[:stop]
        filled = np.full(stop, self.fill)
        filled[: len(data)] = data
        return filled

    @classmethod
    def of(cls, values: Any) -> Column:
        """A column holding ``values``."""
        column = cls()
        column._data = np.array(values, dtype=np.float64)
        return column

    def copy(self, stop: int) -> Column:
        """An independent column with the first ``stop`` values."""
        other = Column(self.fill)
        other._data = np.full(max(1024, 2 * stop), self.fill)
        values = self.view(stop)
        other._data[: len(values)] = values
        return other
