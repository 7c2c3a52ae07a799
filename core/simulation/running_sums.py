"""The running sums of a recorded ledger: the step d_k as it stood after each row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.simulation.measures import row_norms

Float64 = NDArray[np.float64]
NOISE = 8 * float(np.finfo(np.float64).eps)


def running_sums(expected: Float64, rows: Float64, applied: Float64) -> Float64:
    """d_0 = expected, d_1 .. d_n = applied, (rows + 1, size), from contributions (rows, size).

    A history keeps contributions only. Adding them up from the top loses what is small behind something large (a
    gradient of 1e20 clipped to 1), taking them off from the bottom loses what is small before it; so each value comes
    from the side on which the larger terms are not. What is below the noise of both is 0.
    """
    count = len(rows)
    table = np.empty((count + 1, expected.size))
    table[0] = expected
    table[-1] = applied
    if count < 2:
        return table
    with np.errstate(all="ignore"):
        forward = expected + np.cumsum(rows[:-1], axis=0)
        backward = applied - np.cumsum(rows[:0:-1], axis=0)[::-1]
        sizes = np.abs(rows)
        above = np.maximum(np.maximum.accumulate(sizes[:-1], axis=0), np.abs(expected))
        below = np.maximum(np.maximum.accumulate(sizes[:0:-1], axis=0)[::-1], np.abs(applied))
        sums = np.where(above <= below, forward, backward)
        sums[np.abs(sums) < NOISE * np.minimum(above, below)] = 0.0
    table[1:-1] = sums
    return table


def relative_effects(sums: Float64, sizes: Float64) -> Float64:
    """How much each row matters to the step it acts on: its length over that of the step before or after it, the
    longer. (rows,) from running sums (rows + 1, size) and lengths of contributions (rows,); 0 for rows of length 0.

    Measured against the step there and then, since after a clip by 10000 everything is small beside -lr * g.
    """
    with np.errstate(all="ignore"):
        lengths = row_norms(sums)
        longer = np.maximum(lengths[:-1], lengths[1:])
        found: Float64 = np.where(sizes == 0.0, 0.0, sizes / longer)
    return found
