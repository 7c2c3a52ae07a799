"""Which rows a step sees: mini-batches as a pure function of the seed and the step number."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.intp]


@dataclass
class Batches:
    """Mini-batches of ``size`` out of ``count`` rows; ``size`` 0 or above ``count`` means all rows, in order.

    Without replacement every epoch is one shuffle cut into batches, the last of which may be smaller (as PyTorch's
    DataLoader without drop_last); with replacement every step draws anew.
    """

    count: int
    size: int = 0
    replacement: bool = False
    _epoch: tuple[int, int, Rows] | None = field(default=None, repr=False)

    @property
    def full(self) -> bool:
        """Whether every step sees all rows."""
        return self.size <= 0 or (self.size >= self.count and not self.replacement)

    @property
    def per_epoch(self) -> int:
        """Steps in which every row is seen once (on average, with replacement)."""
        return 1 if self.full else -(-self.count // self.size)

    def rows(self, step: int, seed: int) -> Rows | None:
        """Row numbers of the batch, or None for all rows."""
        if self.full:
            return None
        if self.replacement:
            return np.random.default_rng((seed, step)).integers(0, self.count, self.size)
        epoch, place = divmod(step, self.per_epoch)
        remembered = self._epoch
        if remembered is None or remembered[:2] != (seed, epoch):
            order = np.random.default_rng((seed, epoch)).permutation(self.count)
            remembered = self._epoch = (seed, epoch, order)
        return remembered[2][place * self.size : (place + 1) * self.size]
