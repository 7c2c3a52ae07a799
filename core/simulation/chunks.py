"""Chunks: the vectors of a stretch of steps in one piece of memory, under the names of their ledger rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]


class Schema:
    """The ledger rows of a stretch of the run: unique names, causes and labels, in chain order."""

    __slots__ = ("causes", "labels", "names")

    def __init__(self, names: Sequence[str], causes: Sequence[str], labels: Sequence[str]) -> None:
        self.names = tuple(names)
        self.causes = tuple(causes)
        self.labels = tuple(labels)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and (self.names, self.causes) == (other.names, other.causes)

    def __hash__(self) -> int:
        return hash((self.names, self.causes))


class Chunk:
    """Vectors of up to ``capacity`` steps from step ``start`` on, all with the same ledger rows."""

    __slots__ = ("applied", "capacity", "gradient", "held", "rows", "schema", "start", "used", "weights")

    def __init__(self, start: int, capacity: int, size: int, schema: Schema) -> None:
        self.start = start
        self.capacity = capacity
        self.used = 0
        self.schema = schema
        self.weights = np.empty((capacity, size))
        self.gradient = np.empty((capacity, size))
        self.applied = np.empty((capacity, size))
        self.rows = np.empty((capacity, len(schema.names), size))
        self.held = True

    @property
    def nbytes(self) -> int:
        """Bytes of its vectors."""
        return self.weights.nbytes + self.gradient.nbytes + self.applied.nbytes + self.rows.nbytes

    def husk(self) -> Chunk:
        """The same outline without vectors (readers that hold the chunk keep theirs)."""
        other = object.__new__(Chunk)
        other.start, other.capacity, other.used, other.schema = self.start, self.capacity, self.used, self.schema
        other.held = False
        return other

    def vectors(self, kind: str) -> Float64:
        """'weights', 'gradient', 'applied' or a ledger row's name as (capacity, size); zeros for rows it has not."""
        if kind in ("weights", "gradient", "applied"):
            result: Float64 = getattr(self, kind)
            return result
        if kind in self.schema.names:
            return self.rows[:, self.schema.names.index(kind)]
        return np.zeros_like(self.weights)

    def shared(self, used: int) -> Chunk:
        """A closed chunk over the same memory: it can be read up to ``used`` and never grows."""
        other = self.husk()
        other.capacity = other.used = used
        if not self.held:
            return other
        other.held = True
        other.weights, other.gradient = self.weights, self.gradient
        other.applied, other.rows = self.applied, self.rows
        return other
